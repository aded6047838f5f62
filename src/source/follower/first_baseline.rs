//! The first baseline of an empty history, when a server's log is read: the current structures, and the DDL in the log from the
//! start to now.

use super::cover::statements_between;
use super::{SchemaFollower, TableHistory};
use crate::baseline::Baseline;
use crate::binlog::FIRST_EVENT_AT;
use crate::error::{Error, Result};
use crate::history::{Catalog, ParsedDdl, SchemaHistory, TableState, tables_before};
use crate::position::Position;
use crate::source::live::LOG;
use crate::source::options::Start;
use crate::source::walk::Walk;
use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Instant;

impl SchemaFollower {
    /// Reads the current structures, before the log is read: the earlier this happens, the fewer statements change them in
    /// between.
    pub(super) fn take_first_baseline(&mut self, walk: &mut Walk) -> Result<()> {
        let Some(TableHistory::Shared(history)) = &self.history else { return Ok(()) };
        if walk.has_ended() || !history.is_empty()? {
            return Ok(());
        }
        let Some(feed) = walk.files_mut().feed() else { return Ok(()) };
        let started = Instant::now();
        let taken = feed.structures()?;
        log::info!(
            target: LOG,
            "the table history is empty: the structures of {} tables were read as of {} in {:.2} s",
            taken.tables,
            taken.position,
            started.elapsed().as_secs_f64()
        );
        taken.lacks().into_iter().for_each(|message| walk.warn(message));
        self.first_baseline = Some(Box::new(taken));
        let start = walk.position().clone();
        // In a read by GTID or by time, the offset in the file is known only when the first event arrives, and so are the
        // GTIDs before the file. Without these GTIDs, a read of another server could not continue with the history.
        let is_complete_file = start.offset == FIRST_EVENT_AT && start.gtid_set.is_none();
        let is_by_time = matches!(walk.options().start, Start::Time(_));
        match start.file.is_empty() || is_by_time || is_complete_file {
            true => Ok(()),
            false => self.begin_history(&start, walk),
        }
    }

    /// Begins the history at `start`, unless another process has done so.
    pub(super) fn begin_history(&mut self, start: &Position, walk: &mut Walk) -> Result<()> {
        let Some(TableHistory::Shared(history)) = &self.history else { return Ok(()) };
        let Some(taken) = self.first_baseline.take() else {
            return match !walk.is_live() && history.is_empty()? {
                true => Err(empty(history)),
                false => Ok(()),
            };
        };
        if !history.claim(walk.files().cancel())? {
            return Ok(());
        }
        let begins = begin_claimed(history, start, &taken, walk);
        let published = history.publish();
        begins.and(published)
    }
}

fn begin_claimed(
    history: &Arc<SchemaHistory>,
    start: &Position,
    taken: &Baseline,
    walk: &mut Walk,
) -> Result<()> {
    let start = Position { prepared: Vec::new(), ..start.clone() };
    if start.compare(&taken.position) != Some(Ordering::Less) {
        return history.begin_with(taken.given(), &taken.position, taken.timestamp);
    }
    let started = Instant::now();
    log::info!(target: LOG, "the log from {start} to {} is followed first", taken.position);
    let statements = statements_between(walk, &start, &taken.position)?;
    let unknown = begin(history, &start, taken, &statements)?;
    log::info!(
        target: LOG,
        "the table history begins at {start}: {} statements up to {} change tables, {} tables are unknown at first \
         ({:.2} s)",
        statements.len(),
        taken.position,
        unknown.len(),
        started.elapsed().as_secs_f64()
    );
    if !unknown.is_empty() {
        let (from, now, all) = (&start, &taken.position, listed(&unknown));
        walk.warn(format!(
            "the table history begins now, but the read begins at {from}: the structures of these tables before statements between \
             {from} and {now} changed them are not known, and their rows from there on raise SchemaError: {all}; leave \
             them out (⟦exclude_tables⟧), or start later"
        ));
    }
    Ok(())
}

/// Writes the known structures; returns the tables that are unknown at the start.
fn begin(
    history: &Arc<SchemaHistory>,
    start: &Position,
    taken: &Baseline,
    statements: &[ParsedDdl],
) -> Result<Vec<String>> {
    let Some(first) = statements.first() else {
        // Its current structure is the one at the start.
        history.begin_with(taken.given(), start, taken.timestamp)?;
        history.view_at(start)?.reach(&taken.position)?;
        return Ok(Vec::new());
    };
    let before = tables_before(&taken.given().catalog()?, statements);
    let unknown = unknown_tables(&before);
    history.begin(&before, start, first.logged.timestamp.min(taken.timestamp))?;
    let mut view = history.view_at(start)?;
    for ddl in statements {
        view.follow(ddl)?;
    }
    view.reach(&taken.position)?;
    history.begin_with(taken.given(), &taken.position, taken.timestamp)?;
    Ok(unknown)
}

fn unknown_tables(catalog: &Catalog) -> Vec<String> {
    let unknown = catalog.tables().filter(|(_, _, state)| matches!(state, TableState::Unknown(_)));
    unknown.map(|(database, table, _)| format!("{database}.{table}")).collect()
}

fn listed(tables: &[String]) -> String {
    let shown = tables.get(..MOST_SHOWN).unwrap_or(tables).join(", ");
    match tables.len().saturating_sub(MOST_SHOWN) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

fn empty(history: &SchemaHistory) -> Error {
    Error::config(format!(
        "the table history {:?} (source {:?}) is empty, and files do not contain the structures of tables at their beginning: \
         take a baseline at the position where the read begins, ⟦history.baseline=text, position⟧, or of the server, and \
         read from its position on",
        history.place(),
        history.source()
    ))
}

/// The maximum number of tables that a warning names.
const MOST_SHOWN: usize = 20;
