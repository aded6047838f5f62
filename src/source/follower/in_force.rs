//! The structures of tables in force along the log.

use crate::error::Result;
use crate::history::{Catalog, HistoryView, LoggedDdl, ParsedDdl, without_secrets};
use crate::position::{Position, Xid};
use crate::source::logged_statement::LoggedStatement;
use crate::source::segment::Span;
use crate::source::table_history::TableHistory;
use crate::source::walk::Statement;
use std::sync::Arc;

/// The state of a history while the log is read.
pub(super) struct InForce {
    pub(super) history: TableHistory,
    pub(super) view: HistoryView,
    /// True if the place is known by GTID only: statements of transactions that were read already
    /// and are sent again are in force.
    pub(super) by_gtid: bool,
    /// True if the log has changed since the last move of the view.
    pub(super) is_elsewhere: bool,
    /// The catalogs along the current segment.
    pub(super) catalogs: Catalogs,
    /// The catalog at the start of the read.
    at_start: Arc<Catalog>,
    /// The catalogs at the XA PREPARE of transactions that are still prepared.
    pub(super) prepared: Vec<(Xid, Arc<Catalog>)>,
}

/// Statements of the open transaction that change tables: they are in force once it is committed.
#[derive(Default)]
pub(super) struct PendingDdl {
    statements: Vec<PendingStatement>,
}

/// A statement that changes tables, and its place in its transaction.
struct PendingStatement {
    offset: u64,
    /// Rows events of the transaction before it.
    rows_before: u32,
    ddl: ParsedDdl,
}

/// The catalogs in force along a run of spans.
#[derive(Debug)]
pub(crate) struct Catalogs {
    /// The catalog at its start.
    first: Arc<Catalog>,
    /// The catalogs from an offset on.
    changes: Vec<(u64, Arc<Catalog>)>,
}

impl Catalogs {
    pub(super) fn of(first: Arc<Catalog>) -> Self {
        Self { first, changes: Vec::new() }
    }

    /// The catalogs of the spans so far. Later spans continue with the last catalog.
    pub(super) fn placed(&mut self, spans: &[Span]) -> Vec<(usize, Arc<Catalog>)> {
        let before = |offset: u64| spans.partition_point(|span| span.offset < offset);
        let mut placed = vec![(0, Arc::clone(&self.first))];
        if let Some((_, last)) = self.changes.last() {
            self.first = Arc::clone(last);
        }
        placed.extend(self.changes.drain(..).map(|(offset, catalog)| (before(offset), catalog)));
        placed
    }

    /// The catalogs of a separate run, whose spans are not in the current segment.
    pub(super) fn take(&mut self) -> Self {
        let taken =
            Self { first: Arc::clone(&self.first), changes: std::mem::take(&mut self.changes) };
        if let Some((_, last)) = taken.changes.last() {
            self.first = Arc::clone(last);
        }
        taken
    }

    /// The catalogs up to an offset.
    pub(crate) fn placed_up_to(&mut self, offset: u64) -> Vec<(usize, Arc<Catalog>)> {
        let count = self.changes.partition_point(|(from, _)| *from <= offset);
        if let Some((_, last)) = self.changes.drain(..count).next_back() {
            self.first = last;
        }
        vec![(0, Arc::clone(&self.first))]
    }
}

impl PendingDdl {
    /// Takes a statement of the open transaction, or one without a transaction.
    pub(super) fn observe(&mut self, statement: &Statement) {
        let LoggedStatement { database, text, session, parsed, .. } = &statement.logged;
        if parsed.changes_structures() {
            let masked = without_secrets(text, session.quote_mode());
            let has_secrets = masked != text.as_str();
            let logged = LoggedDdl {
                position: Position::default(),
                timestamp: statement.timestamp,
                database: database.clone(),
                statement: masked.into_owned(),
                session: session.clone(),
            };
            // The comment of a table may contain a secret: without it, the text is a different
            // statement.
            let ddl = match has_secrets {
                true => ParsedDdl::from(logged),
                false => ParsedDdl { logged, parsed: Arc::clone(parsed) },
            };
            let (offset, rows_before) = (statement.offset, statement.rows_before);
            self.statements.push(PendingStatement { offset, rows_before, ddl });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.statements.clear();
    }

    /// The offsets of statements that are between rows of the open transaction, each with the number of rows events before it.
    pub(super) fn cuts(&self) -> impl Iterator<Item = (u64, u32)> {
        let between = self.statements.iter().filter(|statement| statement.rows_before > 0);
        between.map(|statement| (statement.offset, statement.rows_before))
    }

    /// The statements, which are committed: `start` is the start of their transaction, `position` is after it. Each has the
    /// offset from which it is in force.
    pub(super) fn commit(
        &mut self,
        start: u64,
        timestamp: i64,
        position: &Position,
    ) -> impl Iterator<Item = (u64, ParsedDdl)> {
        let statements = std::mem::take(&mut self.statements).into_iter();
        statements.map(move |PendingStatement { offset, rows_before, ddl }| {
            let ParsedDdl { logged, parsed } = ddl;
            let logged = LoggedDdl { position: position.clone(), timestamp, ..logged };
            let ddl = ParsedDdl { logged, parsed };
            (if rows_before == 0 { start } else { offset }, ddl)
        })
    }
}

impl InForce {
    pub(super) fn new(history: TableHistory, view: HistoryView, by_gtid: bool) -> Self {
        let at_start = Arc::clone(view.catalog());
        let catalogs = Catalogs::of(Arc::clone(&at_start));
        let prepared = match &history {
            TableHistory::Part(_, prepared) => prepared.clone(),
            TableHistory::Shared(_) | TableHistory::View(_) => Vec::new(),
        };
        Self { history, view, by_gtid, is_elsewhere: false, catalogs, at_start, prepared }
    }

    /// True if the catalog is of a server whose names of tables are in lower case.
    pub(super) fn folds_names(&self) -> bool {
        self.view.catalog().lower_case_table_names() != 0
    }

    /// The catalog for the rows of an XA transaction that was prepared at a place before the start of the read. If the history
    /// does not contain the place, it is that at the start: until XA COMMIT, servers refuse statements that would change the
    /// tables of the transaction.
    ///
    /// <https://dev.mysql.com/doc/refman/8.4/en/xa-restrictions.html>
    pub(super) fn catalog_of_prepared(&self, place: &Position) -> Result<Arc<Catalog>> {
        if let TableHistory::Shared(history) = &self.history
            && history.covered()?.iter().any(|timeline| timeline.contains(place))
        {
            return history.catalog_at(place);
        }
        Ok(Arc::clone(&self.at_start))
    }

    /// Everything before `position` was read: structures that the history contains up to there are in force from there.
    pub(super) fn reach(&mut self, position: &Position) -> Result<()> {
        let before = Arc::clone(self.view.catalog());
        self.view.reach(position)?;
        if !Arc::ptr_eq(&before, self.view.catalog()) {
            self.catalogs.changes.push((position.offset, Arc::clone(self.view.catalog())));
        }
        Ok(())
    }

    /// A statement is in force from an offset.
    pub(super) fn follow(&mut self, from: u64, ddl: &ParsedDdl) -> Result<()> {
        self.view.follow(ddl)?;
        self.catalogs.changes.push((from, Arc::clone(self.view.catalog())));
        Ok(())
    }
}
