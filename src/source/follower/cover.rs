//! If a history ends before the start of a read, the log between the two is followed first, without its rows.

use super::follow::{follow, statements};
use super::in_force::InForce;
use super::{SchemaFollower, TableHistory};
use crate::error::{Error, ErrorKind, Result};
use crate::history::{HistoryView, ParsedDdl, SchemaHistory};
use crate::position::Position;
use crate::schema::NameCase;
use crate::source::live::LOG;
use crate::source::options::{Start, Stop};
use crate::source::walk::{LogFiles, Walk};
use std::cmp::Ordering;
use std::sync::Arc;

impl SchemaFollower {
    /// Finds the structures of tables at the first event of a transaction, unless they are known.
    pub(crate) fn begin(&mut self, offset: u64, walk: &mut Walk) -> Result<()> {
        if self.in_force.is_some() {
            return Ok(());
        }
        self.begin_at(offset, walk).map_err(|error| with_name_advice(error, walk.files()))
    }

    fn begin_at(&mut self, offset: u64, walk: &mut Walk) -> Result<()> {
        let Some(history) = self.history.clone() else { return Ok(()) };
        let start = Position { offset, prepared: Vec::new(), ..walk.position().clone() };
        let (view, by_gtid) = match &history {
            // For files that are read from a GTID set, it is the view at the start of the first file.
            TableHistory::View(view) | TableHistory::Part(view, _) => {
                let by_gtid = start.by_gtid && !matches!(walk.options().start, Start::Gtids(_));
                ((**view).clone(), by_gtid)
            }
            TableHistory::Shared(history) => {
                self.begin_history(&start, walk)?;
                view_at(history, start, walk)?
            }
        };
        let in_force = InForce::new(history, view, by_gtid);
        // A history without a baseline of a server does not contain it.
        if in_force.folds_names() {
            walk.learn_name_case(NameCase::Folded);
        }
        self.in_force = Some(in_force);
        self.enter_file(walk)
    }
}

/// The view at a place, and true if the place is known by GTID only.
fn view_at(
    history: &Arc<SchemaHistory>,
    start: Position,
    walk: &mut Walk,
) -> Result<(HistoryView, bool)> {
    // Transactions that were read from another server may be after this place.
    let by_gtid = start.by_gtid;
    let read = walk.already_read().cloned().or(start.gtid_set.clone()).filter(|_| by_gtid);
    let by_file = Position { gtid_set: start.gtid_set.clone().filter(|_| !by_gtid), ..start };
    // The events between the two concern only the file.
    let complete_from = Position { offset: walk.complete_from(), ..by_file.clone() };
    let timelines = history.covered()?;
    if timelines.is_empty() {
        return Err(Error::config(format!(
            "the table history (source {:?}) is empty: first take a baseline, of the server or of CREATE TABLE text, at \
             a position before the first row: ⟦history.baseline⟧",
            history.source()
        )));
    }
    for place in [&by_file, &complete_from] {
        if timelines.iter().any(|timeline| timeline.contains(place)) {
            let mut view = history.view_at(place)?;
            view.reach(&by_file)?;
            return Ok((view, false));
        }
    }
    let near = timelines.iter().rev().find(|timeline| timeline.fits(&by_file));
    if let Some(reached) = near.map(|timeline| &timeline.reached)
        && reached.compare(&by_file) == Some(Ordering::Less)
    {
        log::info!(
            target: LOG,
            "the table history reaches to {reached}: the log from there to {by_file} is followed first"
        );
        let view = TableHistory::View(Box::new(history.view_at(reached)?));
        read_between(walk, (reached, &by_file), |second| {
            let mut follower = SchemaFollower::by(Some(view), second)?;
            follow(second, &mut follower)
        })?;
        log::info!(target: LOG, "the table history reaches to {by_file}");
        return Ok((history.view_at(&by_file)?, false));
    }
    let Some(read) = read else { return history.view_at(&by_file).map(|view| (view, false)) };
    let mut view = history.view_at(&Position {
        server: by_file.server.clone(),
        gtid_set: Some(read.clone()),
        ..Position::default()
    })?;
    view.move_to(&Position { gtid_set: Some(read), ..by_file })?;
    Ok((view, true))
}

/// The statements between two places of the log that change tables.
pub(super) fn statements_between(
    walk: &mut Walk,
    from: &Position,
    to: &Position,
) -> Result<Vec<ParsedDdl>> {
    read_between(walk, (from, to), |second| {
        second.want_statements();
        statements(second)
    })
}

/// Reads the log between two places by a second walk.
fn read_between<T>(
    walk: &mut Walk,
    (from, to): (&Position, &Position),
    read: impl FnOnce(&mut Walk) -> Result<T>,
) -> Result<T> {
    let lacks = |what: String| {
        Error::schema(format!(
            "the table history ends at {from}, but the read begins at {to}: statements that changed tables in between are not \
             known, because {what}; start at an older position, or take a new baseline"
        ))
    };
    let (options, is_live) = (walk.options(), walk.is_live());
    let options = options.without_rows(Start::Earliest, Stop::Position(Box::new(to.clone())));
    let has_file = walk.files().list().iter().any(|file| *file.name == *from.file);
    if !is_live && !has_file {
        return Err(lacks(format!(
            "{} is not among the files: add the files from this one on before the others",
            from.file
        )));
    }
    let server = if is_live { to.server.clone() } else { from.server.clone() };
    let from = Position { server, ..from.clone() };
    let mut second = walk.second(&from, options).map_err(|error| match error.kind() {
        ErrorKind::PositionPurged => {
            lacks(format!("the server no longer has this part of the log ({})", error.message()))
        }
        _ => error,
    })?;
    let read = read(&mut second);
    walk.end_second(second);
    read
}

/// Adds advice if the open file does not have a server's name, so that no history can contain it.
pub(super) fn with_name_advice(error: Error, files: &LogFiles) -> Error {
    match files.current().filter(|file| !file.numbered) {
        Some(file) if matches!(error.kind(), ErrorKind::Schema | ErrorKind::Config) => {
            error.advise(format_args!(
                "a history needs the name that the file {name:?} has in the server's log, and the files do not contain it: \
                 pass it, read_binlog({{'binlog.000001': '{name}'}}), or add the file before it",
                name = file.given
            ))
        }
        _ => error,
    }
}
