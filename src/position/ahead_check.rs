//! Checks that entries of `ahead` can belong to their position.

use std::collections::HashSet;

use super::ahead::Ahead;
use super::gtid_state::GtidState;
use super::position::Position;
use crate::error::Error;

/// Checks the entries of `ahead` of a position.
///
/// # Errors
/// They cannot be after the position: its text was edited, or is damaged.
pub(super) fn check_ahead(position: &Position) -> Result<(), Error> {
    let mut tables = HashSet::new();
    for entry in &position.ahead {
        check_entry(entry, position).map_err(|why| {
            Error::config(format!("not a stored position: an entry of `ahead` {why}"))
        })?;
        // Each resume by GTID may leave an entry by GTID alone, until the position has passed it.
        let mut by_offset = entry.tables.iter().filter(|_| entry.offset.is_some());
        if let Some((database, table)) = by_offset.find(|table| !tables.insert(*table)) {
            return Err(Error::config(format!(
                "not a stored position: `ahead` contains {database}.{table} twice"
            )));
        }
    }
    Ok(())
}

/// Checks one entry. An error completes the sentence "an entry of `ahead` ...".
fn check_entry(entry: &Ahead, position: &Position) -> Result<(), &'static str> {
    let count = |set: &GtidState| match set {
        GtidState::Mysql(set) => set.len(),
        GtidState::Mariadb(last) => last.iter().count() as u64,
    };
    let is_mysql = |set: &GtidState| matches!(set, GtidState::Mysql(_));
    let sets = || entry.gtid_set.iter().chain(&entry.next_gtid).filter(|set| !set.is_empty());
    let read = position.gtid_set.as_ref();
    if entry.tables.is_empty() {
        return Err("has no tables");
    }
    if entry.tables.iter().any(|(database, table)| database.is_empty() || table.is_empty()) {
        return Err("has a table without a name");
    }
    if entry.offset.is_none() && entry.by_gtid().is_none() {
        return Err("has neither an offset nor the GTIDs in its place");
    }
    // Readers ignore an entry without changes that the position has reached.
    if entry.changes > 0 && entry.offset.is_some_and(|offset| offset < position.offset) {
        return Err("is not after the position");
    }
    if entry.offset.is_some() && position.file.is_empty() {
        return Err("has an offset, and the position has no file");
    }
    if entry.next_gtid.as_ref().is_some_and(|next| entry.changes == 0 || count(next) != 1) {
        return Err("has a `next_gtid` that is not the transaction of its `changes`");
    }
    if read.is_none() && sets().next().is_some() {
        return Err("has GTIDs, and the position has none");
    }
    if let Some(read) = read.filter(|read| !read.is_empty())
        && sets().any(|set| is_mysql(set) != is_mysql(read))
    {
        return Err("has GTIDs of another kind of server than the position");
    }
    if let (Some(read), Some(next)) = (read, &entry.next_gtid)
        && entry.offset.is_some()
        && is_mysql(next)
        && (read.shares(next) || entry.gtid_set.as_ref().is_some_and(|set| set.shares(next)))
    {
        return Err("has a `next_gtid` that was delivered already");
    }
    // The position may have passed some of them since, but not all.
    if let (Some(read), Some(set)) = (read, &entry.gtid_set)
        && entry.changes == 0
        && entry.offset > Some(position.offset)
        && !position.by_gtid
        && !set.is_empty()
        && read.covers(set)
    {
        return Err("has GTIDs that are not after the position");
    }
    Ok(())
}
