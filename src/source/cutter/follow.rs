//! Where a history does not reach to the start of a read yet: the log between is followed first, its rows unread.

use super::files::no_file;
use super::structures::{Structures, TableHistory};
use super::{Cutter, CutterOptions, Start, Stop};
use crate::binlog::FIRST_EVENT_AT;
use crate::change::Include;
use crate::error::{Error, ErrorKind, Result};
use crate::history::{HistoryView, SchemaHistory};
use crate::position::Position;
use crate::source::feed::Begin;
use crate::source::live::LOG;
use std::cmp::Ordering;
use std::sync::Arc;

impl Cutter {
    /// Finds the structures of tables where the first event of all stands that is of a transaction.
    pub(super) fn begin_structures(&mut self, offset: u64) -> Result<()> {
        self.structures_from(offset).map_err(|error| self.with_name_advice(error))
    }

    /// Adds advice if the file does not have a server's name, so that no history can contain it.
    fn with_name_advice(&self, error: Error) -> Error {
        match self.files.get(self.current).filter(|file| !file.numbered) {
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

    fn structures_from(&mut self, offset: u64) -> Result<()> {
        let Some(history) = self.options.history.clone() else { return Ok(()) };
        let start = Position { offset, prepared: Vec::new(), ..self.position.clone() };
        let (view, by_gtid) = match &history {
            // Of files that are read from a GTID set it is the view of the first file's start.
            TableHistory::View(view) | TableHistory::Part(view, _) => {
                let by_gtid = start.by_gtid && !matches!(self.options.start, Start::Gtids(_));
                ((**view).clone(), by_gtid)
            }
            TableHistory::Shared(history) => {
                self.begin_history(&start)?;
                self.view_at(history, start)?
            }
            TableHistory::Noted(_) => (HistoryView::detached(Arc::default()), false),
        };
        self.structures = Some(Structures::new(history, view, by_gtid));
        self.enter_file()
    }

    /// The view of a place, and whether only GTIDs tell that it is the place.
    fn view_at(
        &mut self,
        history: &Arc<SchemaHistory>,
        start: Position,
    ) -> Result<(HistoryView, bool)> {
        // What was read elsewhere may stand behind this place too.
        let by_gtid = start.by_gtid;
        let read = self.passed.clone().or(start.gtid_set.clone()).filter(|_| by_gtid);
        let by_file = Position { gtid_set: start.gtid_set.clone().filter(|_| !by_gtid), ..start };
        // What stands between the two tells of the file alone.
        let whole_from = Position { offset: self.whole_from, ..by_file.clone() };
        let epochs = history.covered()?;
        if epochs.is_empty() {
            return Err(Error::config(format!(
                "the table history (source {:?}) is empty: take a baseline first, of the server or of CREATE TABLE text, as of \
                 a position before the first row: history.baseline(...), or binarrow history baseline",
                history.source()
            )));
        }
        for place in [&by_file, &whole_from] {
            if epochs.iter().any(|epoch| epoch.contains(place)) {
                let mut view = history.view_at(place)?;
                view.reach(&by_file)?;
                return Ok((view, false));
            }
        }
        let near = epochs.iter().rev().find(|epoch| epoch.fits(&by_file));
        if let Some(reached) = near.map(|epoch| &epoch.reached)
            && reached.compare(&by_file) == Some(Ordering::Less)
        {
            log::info!(
                target: LOG,
                "the table history reaches to {reached}: the log from there to {by_file} is followed first"
            );
            let view = TableHistory::View(Box::new(history.view_at(reached)?));
            self.follow(view, reached, &by_file)?;
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

    /// The next file does not follow the one before: what stands between may have changed tables.
    pub(super) fn lose_structures(&mut self) {
        if matches!(self.options.history, Some(TableHistory::Shared(_))) {
            self.structures = None;
        }
    }

    /// Follows the log between two places.
    pub(super) fn follow(
        &mut self,
        history: TableHistory,
        from: &Position,
        to: &Position,
    ) -> Result<()> {
        let mut options = CutterOptions {
            start: Start::Position(Box::new(from.clone())),
            stop: Stop::Position(Box::new(to.clone())),
            is_unread: true,
            cut_at_commit: false,
            emit_uncommitted: false,
            max_latency: None,
            include: Include::default(),
            history: Some(history),
            limit: None,
            goal: None,
            ..self.options.clone()
        };
        let lacks = |what: String| {
            Error::schema(format!(
                "the table history reaches to {from}, and the reading begins at {to}: what changed tables between is not \
                 known, for {what}; let an older position be the start, or take a new baseline"
            ))
        };
        let is_live = self.feed.is_some();
        let mut follower = match &mut self.feed {
            Some(feed) => {
                options.start = Start::Earliest;
                let feed = feed.again(from).map_err(|error| match error.kind() {
                    ErrorKind::PositionPurged => {
                        lacks(format!("the server no longer has it ({})", error.message()))
                    }
                    _ => error,
                })?;
                let position = Position { server: to.server.clone(), ..from.clone() };
                Self::live(feed, Begin { position, ..Begin::default() }, options)?
            }
            None => {
                let has = |name: &str| self.files.iter().any(|file| *file.name == *name);
                if !has(&from.file) {
                    return Err(lacks(format!(
                        "{} is not among the files: put the files from there on before the others",
                        from.file
                    )));
                }
                Self::try_new(std::mem::take(&mut self.files), options)?
            }
        };
        follower.stop_when(&self.stopping);
        let followed = follower.follow_all();
        if !is_live {
            self.files = follower.into_files();
        }
        followed
    }

    pub(super) fn follow_all(&mut self) -> Result<()> {
        while let Some(segment) = self.next_segment()? {
            self.recycle(segment.bytes);
        }
        Ok(())
    }

    fn into_files(mut self) -> Vec<super::InputFile> {
        if let Some(open) = self.open.take() {
            self.put_back(self.current, open.window);
        }
        self.files
    }

    /// The file at hand is passed: where the next one is named, what is known goes on there.
    pub(super) fn reach_file(&mut self, name: &str) -> Result<()> {
        if self.structures.is_none() {
            return Ok(());
        }
        let begin = Position {
            file: name.to_owned(),
            offset: FIRST_EVENT_AT,
            begun: None,
            prepared: Vec::new(),
            ..self.position.clone()
        };
        self.reach(&begin).map_err(|error| self.with_name_advice(error))
    }

    /// The catalog for the rows of an XA transaction, which was prepared before the read began.
    pub(super) fn catalog_of_prepared(
        &self,
        prepared: &crate::position::PreparedRange,
    ) -> Result<Arc<crate::history::Catalog>> {
        let structures = self.structures.as_ref().ok_or_else(no_file)?;
        structures.catalog_at(&Position {
            server: self.position.server.clone(),
            ..Position::in_file(prepared.file.as_str(), prepared.start)
        })
    }
}
