//! Files that are read from or to a GTID set: errors if files are missing, or if the log cannot be compared with the set.

use crate::change::{EventGroup, LoggedGtid};
use crate::error::{Error, Result};
use crate::position::{GtidSet, GtidState, MariadbGtidPosition, Position};
use crate::source::options::{LogOptions, Start, Stop};

/// Checks that the GTID set of the start contains the transactions `before` the first file. Returns a warning if they are missing and
/// gaps are allowed.
///
/// # Errors
/// Older files are missing; or the files are of the other kind of server.
pub(super) fn check_start(
    options: &LogOptions,
    before: &GtidState,
    file: &str,
) -> Result<Option<String>> {
    let Start::Gtids(done) = &options.start else { return Ok(None) };
    if before.is_empty() {
        return Ok(None);
    }
    check_kind("start", done, before, file)?;
    let wanted = match &options.stop {
        Stop::Gtids(wanted) => Some(wanted),
        _ => None,
    };
    let Some(missing) = missing(before, done, wanted) else { return Ok(None) };
    let message = format!(
        "transactions before the first file, {file}, are missing: {missing}. Neither the start nor the files contain them"
    );
    match options.allow_gaps {
        true => Ok(Some(message)),
        false => Err(Error::config(format!(
            "{message}: add the older files; ⟦gaps=allow⟧ continues without these transactions"
        ))),
    }
}

/// Checks that a transaction can be compared with the GTID set of the start.
///
/// # Errors
/// It has no GTID, or one of the other kind of server.
pub(super) fn check_comparable(options: &LogOptions, group: &EventGroup, file: &str) -> Result<()> {
    let Start::Gtids(done) = &options.start else { return Ok(()) };
    if done.is_empty() {
        return Ok(());
    }
    let kind = match &group.gtid {
        Some(LoggedGtid::Mysql(_)) => GtidState::Mysql(GtidSet::default()),
        Some(LoggedGtid::Mariadb(_)) => GtidState::Mariadb(MariadbGtidPosition::new()),
        None => {
            return Err(Error::config(format!(
                "the start is a GTID set, and the transaction at {file}:{} has no GTID: pass the start as file:offset, or as a \
                 Position",
                group.transaction.start
            )));
        }
    };
    check_kind("start", done, &kind, file)
}

/// Checks at the end of the last file that the files contain the GTID set of the stop. Returns a warning if they do not and gaps are
/// allowed.
///
/// # Errors
/// Newer files are missing.
pub(super) fn check_stop(options: &LogOptions, here: &Position) -> Result<Option<String>> {
    let Stop::Gtids(wanted) = &options.stop else { return Ok(None) };
    // A read that starts at file:offset knows the GTIDs from the next file on.
    let Some(read) = here.gtid_set.as_ref().filter(|read| !read.covers(wanted)) else {
        return Ok(None);
    };
    let Some(missing) = missing(wanted, read, None) else { return Ok(None) };
    let message = format!("the files end at {here} before the stop: they do not contain {missing}");
    match options.allow_gaps {
        true => Ok(Some(message)),
        false => Err(Error::config(format!(
            "{message}. Add the newer files, or pass a stop that they contain; ⟦gaps=allow⟧ ends the read there"
        ))),
    }
}

/// An error if two GTID sets are of different kinds of servers.
fn check_kind(keyword: &str, given: &GtidState, log: &GtidState, file: &str) -> Result<()> {
    match (given, log) {
        (given, _) if given.is_empty() => Ok(()),
        (GtidState::Mysql(_), GtidState::Mysql(_)) => Ok(()),
        (GtidState::Mariadb(_), GtidState::Mariadb(_)) => Ok(()),
        (GtidState::Mysql(_), GtidState::Mariadb(_)) => Err(Error::config(format!(
            "the {keyword} is a GTID set of MySQL, and {file} is of MariaDB"
        ))),
        (GtidState::Mariadb(_), GtidState::Mysql(_)) => Err(Error::config(format!(
            "the {keyword} is a GTID position of MariaDB, and {file} is of MySQL"
        ))),
    }
}

/// The transactions of `before` that are not in `done`, as text; of them those that `wanted` contains, if it is given.
fn missing(before: &GtidState, done: &GtidState, wanted: Option<&GtidState>) -> Option<String> {
    match before {
        GtidState::Mysql(before) => {
            let mut missing = before.clone();
            if let GtidState::Mysql(done) = done {
                missing.subtract(done);
            }
            if let Some(GtidState::Mysql(wanted)) = wanted {
                let mut others = missing.clone();
                others.subtract(wanted);
                missing.subtract(&others);
            }
            (!missing.is_empty()).then(|| shortened(&missing.to_string()))
        }
        GtidState::Mariadb(before) => {
            let last = |state: &GtidState, domain_id| match state {
                GtidState::Mariadb(position) => position.last(domain_id).map(|gtid| gtid.seq),
                GtidState::Mysql(_) => None,
            };
            let mut missing = MariadbGtidPosition::new();
            for gtid in before.iter() {
                let read = last(done, gtid.domain_id);
                let is_wanted =
                    wanted.is_none_or(|wanted| last(wanted, gtid.domain_id).max(read) > read);
                if read.is_none_or(|read| gtid.seq > read) && is_wanted {
                    missing.update(gtid);
                }
            }
            (!missing.is_empty()).then(|| shortened(&format!("up to {missing}")))
        }
    }
}

/// The set of a server that had many sources can be very long.
fn shortened(set: &str) -> String {
    match set.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{} ...", set.get(..end).unwrap_or_default()),
        None => set.to_owned(),
    }
}

/// Characters of a GTID set in a message: about five sources.
const MAX_SHOWN: usize = 256;
