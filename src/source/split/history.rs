//! Adds to ranges the structures of tables that their tasks need.

use super::{FileOf, PreparedPart, Split};
use crate::cancel::CancelToken;
use crate::change::TableFilter;
use crate::error::Result;
use crate::history::SchemaHistory;
use crate::position::{Position, PreparedRange};
use crate::source::file_list::InputFile;
use crate::source::follower::{SchemaFollower, follow as follow_statements};
use crate::source::options::{LogOptions, Start};
use crate::source::table_history::TableHistory;
use crate::source::walk::Walk;
use std::sync::Arc;

/// Adds to every range the structures of the wanted tables, so that its task needs no history. `splits` are in log order, and
/// linked. Ranges that the history does not cover are followed first.
pub fn add_history(
    splits: &mut [Split],
    history: &Arc<SchemaHistory>,
    tables: &TableFilter,
    options: &LogOptions,
    file: &FileOf<'_>,
    cancel: &CancelToken,
) -> Result<()> {
    let ends = splits.iter().map(Split::range).collect::<Result<Vec<_>>>()?;
    let covered = history.covered()?;
    let is_covered = |(start, end): &(Position, Position)| {
        covered.iter().any(|timeline| timeline.contains(start) && timeline.contains(end))
    };
    if !ends.iter().all(is_covered) {
        let start = ends
            .first()
            .map_or(Start::Earliest, |(start, _)| Start::Position(Box::new(start.clone())));
        follow(splits, start, history, (options, file), cancel)?;
    }
    let covered = history.covered()?;
    for (split, (start, end)) in splits.iter_mut().zip(&ends) {
        // A file's first events belong to no transaction: the history may begin after them.
        let is_covered = covered.iter().any(|timeline| timeline.contains(start));
        let begins_later = covered
            .iter()
            .map(|timeline| &timeline.from)
            .find(|from| !is_covered && from.file == start.file && from.offset > start.offset);
        let start = begins_later.unwrap_or(start);
        let end = if end.offset < start.offset { start } else { end };
        split.history = Some(
            history
                .schema_snapshot(start, end, |database, table| tables.accepts(database, table))?
                .to_text()?,
        );
        split.prepared = prepared_parts(&split.start()?.prepared, start, history, tables)?;
    }
    Ok(())
}

/// The structures for transactions that were prepared before `start`, if they are other structures.
fn prepared_parts(
    prepared: &[PreparedRange],
    start: &Position,
    history: &Arc<SchemaHistory>,
    tables: &TableFilter,
) -> Result<Vec<PreparedPart>> {
    let mut parts = Vec::new();
    for range in prepared {
        let at = Position {
            server: start.server.clone(),
            ..Position::in_file(range.file.as_str(), range.start)
        };
        let snapshot =
            history.schema_snapshot(&at, &at, |database, table| tables.accepts(database, table))?;
        if snapshot
            != history
                .schema_snapshot(start, start, |database, table| tables.accepts(database, table))?
        {
            let (xid, history) = (range.xid.to_string(), snapshot.to_text()?);
            parts.push(PreparedPart { xid, history });
        }
    }
    Ok(parts)
}

/// Follows the statements in the files of `splits`, without their rows.
fn follow(
    splits: &[Split],
    start: Start,
    history: &Arc<SchemaHistory>,
    (options, file): (&LogOptions, &FileOf<'_>),
    cancel: &CancelToken,
) -> Result<()> {
    let mut files: Vec<InputFile> = Vec::new();
    let mut last = None;
    for split in splits {
        if last != Some(&split.path) {
            files.push(file(&split.path, split.place).named(&split.file()?));
            last = Some(&split.path);
        }
    }
    let history = Some(TableHistory::Shared(Arc::clone(history)));
    // Statements that change rows have no effect here.
    let options = LogOptions { start, history, skip_statements: true, ..options.clone() };
    let mut walk = Walk::over_files(files, options)?;
    walk.cancel_with(cancel);
    let mut follower = SchemaFollower::new(&mut walk)?;
    follow_statements(&mut walk, &mut follower)
}
