//! The structures of tables, where a history is given: the statements of the log that change them are followed here, in
//! the log's order, so that workers need nothing but their segment.

use super::Cutter;
use crate::binlog::{EventHeader, Query};
use crate::change::{Group, Outcome};
use crate::error::Result;
use crate::history::{Catalog, DdlSession, HistoryView, LoggedDdl, SchemaHistory, without_secrets};
use crate::position::{Position, PreparedRange, Xid};
use crate::source::segment::{FileContext, Span};
use crate::wire::Inflater;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the structures of tables come from.
#[derive(Debug, Clone)]
pub enum TableHistory {
    /// From a history, at whatever place the read begins.
    Shared(Arc<SchemaHistory>),
    /// From a place in one, which is that where the read begins.
    View(Box<HistoryView>),
    /// The same, and what was in force where XA transactions were prepared before, if that is something else.
    Part(Box<HistoryView>, Vec<(Xid, Arc<Catalog>)>),
    /// From nowhere yet: what changes tables is noted, and no row is decoded.
    Noted(Arc<Mutex<Vec<LoggedDdl>>>),
}

/// What a history says while the log is read.
pub(super) struct Structures {
    history: TableHistory,
    view: HistoryView,
    /// Whether the place is known by GTID alone: statements of transactions that come although they were read are in force.
    by_gtid: bool,
    /// Whether the log is another since the view moved last.
    is_elsewhere: bool,
    /// Statements of the group that is open: they are in force once it is committed.
    met: Vec<MetDdl>,
    /// Those of the segment at hand.
    pub(super) catalogs: Catalogs,
    /// What was in force where the read began.
    begun: Arc<Catalog>,
    /// In force where XA transactions were prepared that are not decided yet.
    prepared: Vec<(Xid, Arc<Catalog>)>,
}

/// A statement that changes tables, and its place in its group.
struct MetDdl {
    offset: u64,
    /// Rows events of the group before it.
    rows_before: u32,
    ddl: LoggedDdl,
}

/// The catalogs in force along a run of spans.
#[derive(Debug)]
pub(super) struct Catalogs {
    /// At its start.
    first: Arc<Catalog>,
    /// From an offset on.
    changes: Vec<(u64, Arc<Catalog>)>,
}

impl Catalogs {
    pub(super) fn of(first: Arc<Catalog>) -> Self {
        Self { first, changes: Vec::new() }
    }

    /// Those of the spans up to here; what comes later goes on from there.
    pub(super) fn placed(&mut self, spans: &[Span]) -> Vec<(usize, Arc<Catalog>)> {
        let before = |offset: u64| spans.partition_point(|span| span.offset < offset);
        let mut placed = vec![(0, Arc::clone(&self.first))];
        if let Some((_, last)) = self.changes.last() {
            self.first = Arc::clone(last);
        }
        placed.extend(self.changes.drain(..).map(|(offset, catalog)| (before(offset), catalog)));
        placed
    }

    /// Those of a run by itself, whose spans are none of the segment at hand.
    fn take(&mut self) -> Self {
        let taken =
            Self { first: Arc::clone(&self.first), changes: std::mem::take(&mut self.changes) };
        if let Some((_, last)) = taken.changes.last() {
            self.first = Arc::clone(last);
        }
        taken
    }

    /// Those up to an offset.
    pub(super) fn placed_up_to(&mut self, offset: u64) -> Vec<(usize, Arc<Catalog>)> {
        let count = self.changes.partition_point(|(from, _)| *from <= offset);
        if let Some((_, last)) = self.changes.drain(..count).next_back() {
            self.first = last;
        }
        vec![(0, Arc::clone(&self.first))]
    }
}

impl Structures {
    pub(super) fn new(history: TableHistory, view: HistoryView, by_gtid: bool) -> Self {
        let begun = Arc::clone(view.catalog());
        let catalogs = Catalogs::of(Arc::clone(&begun));
        let prepared = match &history {
            TableHistory::Part(_, prepared) => prepared.clone(),
            TableHistory::Shared(_) | TableHistory::View(_) | TableHistory::Noted(_) => Vec::new(),
        };
        let (met, is_elsewhere) = (Vec::new(), false);
        Self { history, view, by_gtid, is_elsewhere, met, catalogs, begun, prepared }
    }

    /// Takes a Query event of the open group, or one without a group: its offset, and how many rows events its group has
    /// before it.
    pub(super) fn meet(
        &mut self,
        (header, body): (&EventHeader, &[u8]),
        (offset, rows_before): (u64, u32),
        context: &FileContext,
    ) -> Result<()> {
        let mut inflater = Inflater::default();
        let query = Query::decode(body)?.inflate(header.event_type, &mut inflater)?;
        let session = DdlSession::of(&query, &context.format);
        let ddl = LoggedDdl {
            position: Position::default(),
            timestamp: i64::from(header.timestamp) * 1_000_000,
            database: String::from_utf8_lossy(query.database).into_owned(),
            statement: without_secrets(&query.text(), session.quote_mode()).into_owned(),
            session,
        };
        if Catalog::concerns(&ddl) {
            self.met.push(MetDdl { offset, rows_before, ddl });
        }
        Ok(())
    }

    /// The tables before the open group.
    pub(super) fn catalog(&self) -> &Arc<Catalog> {
        self.view.catalog()
    }

    /// True if the catalog is of a server whose names of tables are in lower case.
    pub(super) fn folds_names(&self) -> bool {
        self.view.catalog().lower_case_table_names() != 0
    }

    /// The catalog at another place.
    pub(super) fn catalog_at(&self, position: &Position) -> Result<Arc<Catalog>> {
        match &self.history {
            TableHistory::Shared(history) => history.catalog_at(position),
            TableHistory::View(_) | TableHistory::Part(..) | TableHistory::Noted(_) => {
                Ok(Arc::clone(&self.begun))
            }
        }
    }

    /// What was met of the open group is of none, or will be met again.
    pub(super) fn forget_met(&mut self) {
        self.met.clear();
    }

    /// Where rows of the open group stand on both sides of a statement.
    pub(super) fn cuts(&self) -> impl Iterator<Item = (u64, u32)> {
        self.met.iter().filter(|met| met.rows_before > 0).map(|met| (met.offset, met.rows_before))
    }

    /// All before `position` has been read; what the history was given for a place up to there is in force from there on.
    fn reach(&mut self, position: &Position) -> Result<()> {
        let before = Arc::clone(self.view.catalog());
        self.view.reach(position)?;
        if !Arc::ptr_eq(&before, self.view.catalog()) {
            self.catalogs.changes.push((position.offset, Arc::clone(self.view.catalog())));
        }
        Ok(())
    }

    /// The statements that were met are committed: `start` is their group's, `position` behind it.
    fn commit(&mut self, start: u64, timestamp: i64, position: &Position) -> Result<()> {
        for MetDdl { offset, rows_before, ddl } in std::mem::take(&mut self.met) {
            let ddl = LoggedDdl { position: position.clone(), timestamp, ..ddl };
            if let TableHistory::Noted(noted) = &self.history {
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(ddl);
                continue;
            }
            self.view.follow(&ddl)?;
            let from = if rows_before == 0 { start } else { offset };
            self.catalogs.changes.push((from, Arc::clone(self.view.catalog())));
        }
        Ok(())
    }
}

impl Cutter {
    /// The statements of a group that has ended are in force from now on, where they took effect; the position is behind it.
    pub(super) fn commit_ddl(
        &mut self,
        group: &Group,
        outcome: &Outcome,
        was_read: bool,
    ) -> Result<()> {
        let Some(structures) = &mut self.structures else { return Ok(()) };
        let takes_effect = matches!(outcome, Outcome::Committed) && !group.without_effect;
        if structures.met.is_empty() || !takes_effect || was_read && structures.by_gtid {
            return Ok(());
        }
        let transaction = &group.transaction;
        structures.commit(transaction.start, transaction.commit_timestamp, &self.position)
    }

    /// Whether statements of the open group change tables.
    pub(super) fn has_met_ddl(&self) -> bool {
        self.structures.as_ref().is_some_and(|structures| !structures.met.is_empty())
    }

    /// See [`Structures::forget_met`].
    pub(super) fn forget_met_ddl(&mut self) {
        if let Some(structures) = &mut self.structures {
            structures.forget_met();
        }
    }

    /// The same of a statement without a group around it.
    pub(super) fn commit_lone_ddl(&mut self, offset: u64, timestamp: i64) -> Result<()> {
        match &mut self.structures {
            Some(structures) if !structures.met.is_empty() => {
                structures.commit(offset, timestamp, &self.position)
            }
            _ => Ok(()),
        }
    }

    /// The catalog in force, for the rows of a prepared XA transaction.
    pub(super) fn note_prepared(&mut self, xid: &Xid) {
        let Some(structures) = &mut self.structures else { return };
        structures.prepared.retain(|(other, _)| other != xid);
        structures.prepared.push((xid.clone(), Arc::clone(structures.view.catalog())));
    }

    /// An XA transaction came to its end, and its rows are not given.
    pub(super) fn forget_prepared(&mut self, xid: &Xid) {
        if let Some(structures) = &mut self.structures {
            structures.prepared.retain(|(other, _)| other != xid);
        }
    }

    /// The catalogs for the rows of an XA transaction that was prepared before.
    pub(super) fn take_prepared(&mut self, range: &PreparedRange) -> Result<Option<Catalogs>> {
        let Some(structures) = &mut self.structures else { return Ok(None) };
        let index = structures.prepared.iter().position(|(xid, _)| *xid == range.xid);
        let catalog = match index {
            Some(index) => structures.prepared.swap_remove(index).1,
            None => self.catalog_of_prepared(range).map_err(|error| {
                error.advise(
                    "an XA transaction is committed here that was prepared there: begin the history before that place, or \
                     the reading behind this XA COMMIT",
                )
            })?,
        };
        Ok(Some(Catalogs::of(catalog)))
    }

    /// The catalogs of a transaction that goes out in pieces.
    pub(super) fn take_catalogs(&mut self) -> Option<Catalogs> {
        self.structures.as_mut().map(|structures| structures.catalogs.take())
    }

    /// All before `position` has been read.
    pub(super) fn reach(&mut self, position: &Position) -> Result<()> {
        match &mut self.structures {
            // Before the first new transaction the place in the other log is not known.
            Some(structures) if !structures.is_elsewhere => structures.reach(position),
            _ => Ok(()),
        }
    }

    /// A transaction begins at `start`: structures that the history was given for a place before it are in force there.
    pub(super) fn take_given(&mut self, start: u64) -> Result<()> {
        match &mut self.structures {
            Some(structures)
                if !structures.is_elsewhere
                    && structures.view.is_due(&self.position.file, start) =>
            {
                let place =
                    Position { offset: start, prepared: Vec::new(), ..self.position.clone() };
                structures.reach(&place)
            }
            _ => Ok(()),
        }
    }

    /// A file is open, and what the history says is of its log.
    pub(super) fn enter_file(&mut self) -> Result<()> {
        match (&mut self.structures, &self.open) {
            (Some(structures), Some(open)) if !structures.is_elsewhere => {
                structures.view.enter_file(&open.context.name, open.context.format.timestamp)
            }
            _ => Ok(()),
        }
    }

    /// The log goes on at another server, or in another order.
    pub(super) fn move_structures(&mut self) {
        if let Some(structures) = &mut self.structures {
            structures.is_elsewhere = true;
            structures.by_gtid = true;
        }
    }

    /// A transaction that was not read before begins where the position is, and at `start`.
    pub(super) fn settle_structures(&mut self, start: u64) -> Result<()> {
        match &mut self.structures {
            Some(structures) if structures.is_elsewhere => {
                structures.is_elsewhere = false;
                let place = Position { offset: start, ..self.position.clone() };
                structures.view.move_to(&place)?;
                self.enter_file()
            }
            _ => Ok(()),
        }
    }
}
