//! Markers: everything between the rows that is not a row. Statements, begins and ends of transactions, heartbeats.

use super::live::LOG;
use super::logged_statement::LoggedStatement;
use super::segment::{LogItem, PlacedItem, Span};
use super::walk::{LoneStatement, Statement, Target, Walk};
use crate::change::{
    AlterContext, AlteredTables, EventGroup, Include, Item, MarkKind, OnlineChanges,
    SkippedStatement, StatementContext, Transaction, TransactionMark, Uncertainty, XaState,
};
use crate::ddl::{Ddl, TableName};
use crate::error::Result;
use crate::history::Catalog;
use crate::position::{Position, Xid};
use crate::schema::NameCase;
use std::sync::Arc;

/// A marker, and its offset in the file of the surrounding spans.
#[derive(Debug)]
pub(super) struct MarkerAt {
    pub(super) offset: u64,
    item: LogItem,
}

/// A marker of the open transaction. The position to resume at after it is known at the end of the transaction.
#[derive(Debug)]
pub(super) struct PendingMarker {
    pub(super) offset: u64,
    /// Rows events of the transaction before it.
    pub(super) rows_before: u32,
    item: Item,
}

/// The end of a transaction, for its markers.
pub(super) struct Ending {
    kind: MarkKind,
    xa: Option<(XaState, Box<Xid>)>,
    /// True if its rows, if any, are returned. They are then between two markers, the first of which is its begin.
    begins: bool,
}

impl Ending {
    pub(super) fn of(kind: MarkKind, xa: Option<(XaState, Box<Xid>)>) -> Self {
        Self { kind, xa, begins: true }
    }

    /// A marker without rows.
    pub(super) fn alone(kind: MarkKind, state: XaState, xid: Box<Xid>) -> Self {
        Self { kind, xa: Some((state, xid)), begins: false }
    }
}

/// The markers between spans.
pub(super) fn placed(markers: Vec<MarkerAt>, spans: &[Span]) -> Vec<PlacedItem> {
    let place = |MarkerAt { offset, item }| {
        let spans_before = spans.partition_point(|span| span.offset < offset);
        PlacedItem { spans_before, item }
    };
    markers.into_iter().map(place).collect()
}

/// Creates markers from the steps of a walk.
pub(super) struct Markers {
    include: Include,
    /// The marks of online schema-change tools in the log so far.
    online: OnlineChanges,
    /// The statements so far that may change values of columns.
    altered: AlteredTables,
    /// The markers of the open transaction.
    pending: Vec<PendingMarker>,
}

impl Markers {
    /// The markers that a read includes.
    pub(super) fn new(include: Include) -> Self {
        Self {
            include,
            online: OnlineChanges::default(),
            altered: AlteredTables::default(),
            pending: Vec::new(),
        }
    }

    /// Processes a statement of the open transaction, or one without a transaction; `catalog` was
    /// in force before it. A statement that cannot be parsed becomes a warning.
    pub(super) fn observe(
        &mut self,
        statement: &Statement,
        catalog: Option<&Catalog>,
        walk: &mut Walk,
    ) {
        let Some(file) = walk.context().map(|context| Arc::clone(&context.name)) else { return };
        let (offset, rows_before) = (statement.offset, statement.rows_before);
        if statement.is_skipped {
            if self.include.skipped_statements {
                let item = Item::SkippedStatement(SkippedStatement {
                    database: statement.logged.database.clone(),
                    statement: statement.logged.text.clone(),
                });
                self.pending.push(PendingMarker { offset, rows_before, item });
            }
            return;
        }
        let is_temporary = statement.target == Target::Temporary;
        if is_temporary || !walk.is_live() && !self.include.statements() {
            return;
        }
        match self.items_of(statement, &file, catalog, walk) {
            Ok(items) => {
                let pending = |item| PendingMarker { offset, rows_before, item };
                self.pending.extend(items.into_iter().map(pending));
            }
            Err(error) if self.include.schema_changes || self.include.truncates => {
                let message = error.message();
                walk.warn_once(format!(
                    "{file}:{offset}: {message}; no SchemaChange is returned for it"
                ));
            }
            Err(_) => {}
        }
    }

    fn items_of(
        &mut self,
        statement: &Statement,
        file: &Arc<str>,
        catalog: Option<&Catalog>,
        walk: &mut Walk,
    ) -> Result<Vec<Item>> {
        let Statement { offset, logged: LoggedStatement { text, session, parsed, .. }, .. } =
            statement;
        let name_case = walk.name_case();
        let folds = name_case == NameCase::Folded;
        let Some(mut ddl) = parsed.ddl()? else {
            if let Some(trigger) = parsed.trigger().cloned() {
                self.online.observe_trigger(if folds { trigger.folded() } else { trigger });
            }
            let tables = parsed.repaired_tables().iter();
            let tables = tables.map(|name| if folds { name.folded() } else { name.clone() });
            return Ok(self.include.repaired(tables.collect(), name_case));
        };
        if folds {
            ddl = ddl.folded();
        }
        ddl.rows = ddl.rows.under(session.is_strict());
        if walk.is_live() {
            log::info!(target: LOG, "{ddl} at {file}:{offset}");
        }
        let tools = self.online.tools_of(&ddl, text, self.include.tables.online());
        // False for the first of the two events of MariaDB's ALTER TABLE, and for an ALTER TABLE that is rolled back.
        let takes_effect = !walk.transaction().is_some_and(|group| group.without_effect);
        let mut altered = Vec::new();
        if (self.include.emptied || self.include.schema_changes) && takes_effect {
            let (place, tables) = ((file, *offset), &self.include.tables);
            let context = AlterContext { place, catalog, tables, name_case };
            altered = self.altered.observe(&ddl, parsed, session, (&tools, &context));
        }
        self.online.observe(&ddl);
        if self.include.schema_changes || self.include.truncates {
            self.warn_of_uncertain_tables(&ddl, statement, file, walk);
        }
        let context = StatementContext { text, tools: &tools, altered: &altered, name_case };
        let mut items = self.include.items_of(ddl, &context);
        if statement.target == Target::Unsure {
            for item in &mut items {
                if let Item::Emptied(emptied) = item {
                    emptied.uncertainty.get_or_insert(Uncertainty::Temporary);
                }
            }
        }
        Ok(items)
    }

    /// The warnings of markers that may concern other tables.
    fn warn_of_uncertain_tables(
        &self,
        ddl: &Ddl,
        statement: &Statement,
        file: &str,
        walk: &mut Walk,
    ) {
        for name in self.include.in_other_case(ddl, walk.name_case()) {
            walk.warn_once(format!(
                "statements contain the table name {name} in other letter case than ⟦tables⟧. They are returned, because on a server \
                 with lower_case_table_names=1 or 2 this is the same table. Set lower_case_table_names to its value on the server"
            ));
        }
        let is_wanted =
            |name: &&TableName| self.include.tables.accepts(&name.database, &name.table);
        if statement.target == Target::Unsure
            && let Some(name) = ddl.tables.iter().find(is_wanted)
        {
            walk.warn(format!(
                "{file}:{}: the statement changes {name} and uses a temporary table, which may have this name",
                statement.offset
            ));
        }
    }

    /// The markers of the open transaction, which has ended.
    pub(super) fn take_pending(&mut self) -> Vec<PendingMarker> {
        std::mem::take(&mut self.pending)
    }

    /// The markers of a transaction that has ended; the position of the walk is after it, `before` is before it.
    pub(super) fn of_transaction(
        &self,
        (group, end): (&EventGroup, u64),
        ending: &Ending,
        pending: Vec<PendingMarker>,
        (before, walk): (Position, &Walk),
    ) -> Vec<MarkerAt> {
        let start = group.transaction.start;
        let place = Around::new(&group.transaction, before, walk);
        let mark = |kind| {
            Item::Transaction(TransactionMark {
                kind,
                gtid: group.gtid.clone(),
                original_commit_timestamp: group.transaction.original_commit_timestamp,
                rows: None,
                xa: ending.xa.as_ref().map(|(state, xid)| (*state, Xid::clone(xid))),
            })
        };
        let is_alone = group.is_statement() && ending.xa.is_none();
        let has_marks = self.include.transactions && !is_alone;
        let mut markers = Vec::with_capacity(pending.len() + 2);
        if has_marks && ending.begins {
            markers.push(place.within(start, mark(MarkKind::Begin)));
        }
        markers.extend(pending.into_iter().map(|PendingMarker { offset, rows_before, item }| {
            match is_alone {
                true => place.after(offset, item),
                false if rows_before == 0 => place.within(start, item),
                false => place.within(offset, item),
            }
        }));
        if has_marks {
            markers.push(place.after(end, mark(ending.kind)));
        }
        markers
    }

    /// True if the open transaction has markers so far, or if each transaction has some.
    pub(super) fn are_due(&self) -> bool {
        self.has_some(&self.pending)
    }

    /// True if a transaction with these markers has any.
    pub(super) fn has_some(&self, pending: &[PendingMarker]) -> bool {
        self.include.transactions || !pending.is_empty()
    }

    /// The markers of a transaction in which the input ends, and whose rows are returned nevertheless.
    pub(super) fn of_unfinished(&mut self, group: &EventGroup, walk: &Walk) -> Vec<MarkerAt> {
        let pending = self.take_pending();
        if !self.has_some(&pending) {
            return Vec::new();
        }
        let (ending, before) = (Ending::of(MarkKind::End, None), walk.position().clone());
        let mut markers = self.of_transaction((group, u64::MAX), &ending, pending, (before, walk));
        // The transaction has no end.
        markers.retain(|marker| marker.offset < u64::MAX);
        markers
    }

    /// The markers of a statement without a transaction; the position of the walk is after it, `before` is before it.
    pub(super) fn of_statement(
        statement: &LoneStatement,
        pending: Vec<PendingMarker>,
        (before, walk): (Position, &Walk),
    ) -> Vec<MarkerAt> {
        let place = Around::new(&statement.transaction, before, walk);
        pending.into_iter().map(|marker| place.after(marker.offset, marker.item)).collect()
    }

    /// The marker of a heartbeat, if heartbeats are included.
    pub(super) fn of_heartbeat(&self, offset: u64, walk: &Walk) -> Option<MarkerAt> {
        if !self.include.heartbeats || walk.transaction().is_some() {
            return None;
        }
        let position = Arc::new(walk.position().clone());
        let item = LogItem {
            item: Item::Heartbeat,
            commit_version: None,
            commit_timestamp: None,
            before: Arc::clone(&position),
            position,
        };
        Some(MarkerAt { offset, item })
    }
}

/// The properties that all markers of one transaction share.
struct Around {
    commit_version: i64,
    commit_timestamp: i64,
    before: Arc<Position>,
    after: Arc<Position>,
}

impl Around {
    fn new(transaction: &Transaction, before: Position, walk: &Walk) -> Self {
        Self {
            commit_version: walk.commit_version(transaction.start),
            commit_timestamp: transaction.commit_timestamp,
            before: Arc::new(before),
            after: Arc::new(walk.position().clone()),
        }
    }

    /// A marker that is not the last one of its transaction.
    fn within(&self, offset: u64, item: Item) -> MarkerAt {
        self.at(offset, item, &self.before)
    }

    /// The last marker of its transaction.
    fn after(&self, offset: u64, item: Item) -> MarkerAt {
        self.at(offset, item, &self.after)
    }

    fn at(&self, offset: u64, item: Item, position: &Arc<Position>) -> MarkerAt {
        let item = LogItem {
            item,
            commit_version: Some(self.commit_version),
            commit_timestamp: Some(self.commit_timestamp),
            before: Arc::clone(&self.before),
            position: Arc::clone(position),
        };
        MarkerAt { offset, item }
    }
}

impl MarkerAt {
    /// The markers around rows at another place: before or after all of these rows.
    pub(super) fn around(self, rows_at: u64) -> Self {
        let offset = if self.offset <= rows_at { 0 } else { u64::MAX };
        Self { offset, ..self }
    }
}
