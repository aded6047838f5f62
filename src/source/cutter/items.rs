//! What is not a row, in its place between the rows: statements, where transactions begin and end, heartbeats.

use super::temporary::Target;
use super::{Cutter, Stop};
use crate::binlog::{EventHeader, EventType, Query};
use crate::change::{
    AlterContext, AlteredTables, Doubt, Group, Include, Item, MarkKind, OnlineChanges,
    SkippedStatement, Transaction, TransactionMark, XaState,
};
use crate::error::Result;
use crate::history::{Catalog, Ddl, DdlSession, TableName, repaired_tables};
use crate::position::{Position, Xid};
use crate::schema::NameCase;
use crate::source::live::LOG;
use crate::source::segment::{FileContext, LogItem, PlacedItem, Span};
use crate::wire::Inflater;
use std::sync::Arc;

/// An item, and where it stands in the file of the spans around it.
#[derive(Debug)]
pub(super) struct AtOffset {
    pub(super) offset: u64,
    item: LogItem,
}

/// An item of the group that is open: where to resume after it is known at the group's end.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) offset: u64,
    /// Rows events of the group before it.
    pub(super) rows_before: u32,
    pub(super) item: Item,
}

/// How a group ends, as far as its items are concerned.
pub(super) struct Ending {
    pub(super) kind: MarkKind,
    pub(super) xa: Option<(XaState, Xid)>,
    /// Whether its rows, if any, are given: between two items, of which the first says that it begins.
    pub(super) begins: bool,
}

impl Ending {
    pub(super) fn of(kind: MarkKind, xa: Option<(XaState, Xid)>) -> Self {
        Self { kind, xa, begins: true }
    }

    /// An item of its own.
    pub(super) fn alone(kind: MarkKind, state: XaState, xid: Xid) -> Self {
        Self { kind, xa: Some((state, xid)), begins: false }
    }
}

/// The items among the spans that they stand between.
pub(super) fn placed(items: Vec<AtOffset>, spans: &[Span]) -> Vec<PlacedItem> {
    let place = |AtOffset { offset, item }| {
        let spans_before = spans.partition_point(|span| span.offset < offset);
        PlacedItem { spans_before, item }
    };
    items.into_iter().map(place).collect()
}

/// Looks at statements for items.
pub(super) struct Statements<'c> {
    pub(super) include: &'c Include,
    /// The marks of online schema-change tools in the log so far.
    pub(super) online: &'c mut OnlineChanges,
    /// The statements so far that may change values of columns.
    pub(super) altered: &'c mut AlteredTables,
    /// The structures before the statement, where a history is given.
    pub(super) catalog: Option<&'c Catalog>,
    /// False for the first of the two events of MariaDB's ALTER TABLE, and for one that is undone.
    pub(super) takes_effect: bool,
    pub(super) context: &'c FileContext,
    /// Whether DDL is told of in the log of a live read.
    pub(super) is_live: bool,
    /// The meaning of letter case in names of tables.
    pub(super) name_case: NameCase,
    /// The tables that the statement concerns.
    pub(super) target: Target,
}

impl Statements<'_> {
    /// Takes a Query event, and `place`: its offset, and how many rows events its group has before it. What is not understood
    /// becomes a warning.
    pub(super) fn meet(
        &mut self,
        event: (&EventHeader, &[u8]),
        (offset, rows_before): (u64, u32),
        (met, warnings): (&mut Vec<Met>, &mut Vec<String>),
    ) {
        if !self.is_live && !self.include.statements() {
            return;
        }
        match self.items(event, offset, warnings) {
            Ok(items) => {
                met.extend(items.into_iter().map(|item| Met { offset, rows_before, item }));
            }
            Err(error) if self.include.schema_changes || self.include.truncates => {
                let (file, message) = (&self.context.name, error.message());
                let warning =
                    format!("{file}:{offset}: {message}, and no SchemaChange stands for it");
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            Err(_) => {}
        }
    }

    /// Takes in a statement that is skipped although it may change rows, as `meet` does for others.
    pub(super) fn pass_over(
        &self,
        (header, body): (&EventHeader, &[u8]),
        (offset, rows_before): (u64, u32),
        (met, _): (&mut Vec<Met>, &mut Vec<String>),
    ) {
        if !self.include.skipped_statements {
            return;
        }
        let mut inflater = Inflater::default();
        let query = match header.event_type {
            EventType::EXECUTE_LOAD_QUERY => Query::decode_load(body),
            event_type => {
                Query::decode(body).and_then(|query| query.inflate(event_type, &mut inflater))
            }
        };
        // It was decoded before, when it was classified.
        if let Ok(query) = query {
            let database = String::from_utf8_lossy(query.database).into_owned();
            let statement = query.text().into_owned();
            let item = Item::SkippedStatement(SkippedStatement { database, statement });
            met.push(Met { offset, rows_before, item });
        }
    }

    fn items(
        &mut self,
        (header, body): (&EventHeader, &[u8]),
        offset: u64,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Item>> {
        let mut inflater = Inflater::default();
        let query = Query::decode(body)?.inflate(header.event_type, &mut inflater)?;
        let session = DdlSession::of(&query, &self.context.format);
        let mode = session.quote_mode();
        let text = query.text();
        let database = String::from_utf8_lossy(query.database);
        let folds = self.name_case == NameCase::Folded;
        let Some(mut ddl) = Ddl::parse(&text, &database, mode)? else {
            self.online.meet(&text, &database, mode, folds, None);
            let mut tables = repaired_tables(&text, &database, mode);
            if folds {
                tables = tables.iter().map(TableName::folded).collect();
            }
            return Ok(self.include.repaired(tables, self.name_case));
        };
        if folds {
            ddl = ddl.folded();
        }
        ddl.rows = ddl.rows.under(session.is_strict());
        if self.is_live {
            log::info!(target: LOG, "{ddl} at {}:{offset}", self.context.name);
        }
        let tools = self.online.tools_of(&ddl, &text, self.include.tables.online());
        if self.include.emptied && self.takes_effect {
            let place = (&self.context.name, offset);
            let context = AlterContext {
                place,
                catalog: self.catalog,
                tables: &self.include.tables,
                name_case: self.name_case,
            };
            ddl.altered = self.altered.meet(&ddl, (&text, &database), &session, (&tools, &context));
        }
        self.online.meet(&text, &database, mode, folds, Some(&ddl));
        if self.include.schema_changes || self.include.truncates {
            self.warn_of_doubts(&ddl, offset, warnings);
        }
        let mut items = self.include.items_of(ddl, &text, &tools, self.name_case);
        if self.target == Target::Unsure {
            for item in &mut items {
                if let Item::Emptied(emptied) = item {
                    emptied.doubt.get_or_insert(Doubt::Temporary);
                }
            }
        }
        Ok(items)
    }

    /// The warnings of items that may concern other tables.
    fn warn_of_doubts(&self, ddl: &Ddl, offset: u64, warnings: &mut Vec<String>) {
        let file = &self.context.name;
        for name in self.include.in_other_case(ddl, self.name_case) {
            let message = format!(
                "statements name the table {name} in other letter case than tables= does. They are returned, because on a server \
                 with lower_case_table_names=1 or 2 this is the same table. Set lower_case_table_names to its value on the server"
            );
            if !warnings.contains(&message) {
                warnings.push(message);
            }
        }
        let is_wanted =
            |name: &&TableName| self.include.tables.accepts(&name.database, &name.table);
        if self.target == Target::Unsure
            && let Some(name) = ddl.tables.iter().find(is_wanted)
        {
            warnings.push(format!(
                "{file}:{offset}: the statement names {name} and uses a temporary table, which may have this name"
            ));
        }
    }
}

impl Cutter {
    /// The items of a group that has ended; the position is behind it.
    pub(super) fn items_of(
        &self,
        group: &Group,
        (ending, end): (Ending, u64),
        met: Vec<Met>,
        before: Position,
    ) -> Vec<AtOffset> {
        let start = group.transaction.start;
        let place = Place::new(self, &group.transaction, before, self.position.clone());
        let mark = |kind| {
            Item::Transaction(TransactionMark {
                kind,
                gtid: group.gtid.clone(),
                original_commit_timestamp: group.transaction.original_commit_timestamp,
                rows: None,
                xa: ending.xa.clone(),
            })
        };
        let is_alone = group.is_statement() && ending.xa.is_none();
        let has_marks = self.options.include.transactions && !is_alone;
        let mut items = Vec::with_capacity(met.len() + 2);
        if has_marks && ending.begins {
            items.push(place.within(start, mark(MarkKind::Begin)));
        }
        items.extend(met.into_iter().map(|Met { offset, rows_before, item }| match is_alone {
            true => place.behind(offset, item),
            false if rows_before == 0 => place.within(start, item),
            false => place.within(offset, item),
        }));
        if has_marks {
            items.push(place.behind(end, mark(ending.kind)));
        }
        items
    }

    /// The items of a group that the input ends in, whose rows are given all the same.
    pub(super) fn note_unfinished(&mut self, group: &Group) {
        let met = std::mem::take(&mut self.met);
        if !self.options.include.transactions && met.is_empty() {
            return;
        }
        let ending = Ending::of(MarkKind::End, None);
        let before = self.position.clone();
        let mut items = self.items_of(group, (ending, u64::MAX), met, before);
        // It has no end.
        items.retain(|item| item.offset < u64::MAX);
        self.items.extend(items);
    }

    /// A statement without a group around it, in logs without GTIDs.
    pub(super) fn pass_statement(
        &mut self,
        header: &EventHeader,
        offset: u64,
        end: u64,
    ) -> Result<()> {
        let met = std::mem::take(&mut self.met);
        let before = (!met.is_empty() || self.has_met_ddl()).then(|| self.position.clone());
        if self.exceeds_limit(end) {
            self.finished = true;
            return Ok(());
        }
        self.count_transaction();
        self.position.offset = end;
        let Some(before) = before else { return Ok(()) };
        let transaction =
            Transaction::new(offset, i64::from(header.timestamp) * 1_000_000, header.server_id);
        let time = transaction.commit_timestamp;
        let is_after = matches!(self.options.stop, Stop::Time(stop) if time > stop);
        if is_after || self.is_past_stop(end.saturating_sub(1)) {
            self.forget_met_ddl();
            return Ok(());
        }
        if let Err(error) = self.commit_lone_ddl(offset, time) {
            self.position = before;
            return Err(error);
        }
        if !self.is_wanted_of(None, time) {
            return Ok(());
        }
        let place = Place::new(self, &transaction, before, self.position.clone());
        self.items.extend(met.into_iter().map(|met| place.behind(met.offset, met.item)));
        Ok(())
    }

    /// The server said that it lives.
    pub(super) fn note_heartbeat(&mut self, offset: u64) {
        if !self.options.include.heartbeats {
            return;
        }
        let position = Arc::new(self.position.clone());
        let item = LogItem {
            item: Item::Heartbeat,
            commit_version: None,
            commit_timestamp: None,
            before: Arc::clone(&position),
            position,
        };
        self.items.push(AtOffset { offset, item });
    }
}

/// What the items of one transaction have in common.
struct Place {
    commit_version: i64,
    commit_timestamp: i64,
    before: Arc<Position>,
    after: Arc<Position>,
}

impl Place {
    fn new(cutter: &Cutter, transaction: &Transaction, before: Position, after: Position) -> Self {
        Self {
            commit_version: cutter.commit_version(transaction.start),
            commit_timestamp: transaction.commit_timestamp,
            before: Arc::new(before),
            after: Arc::new(after),
        }
    }

    /// An item with more of its transaction behind it.
    fn within(&self, offset: u64, item: Item) -> AtOffset {
        self.at(offset, item, &self.before)
    }

    /// The last of its transaction.
    fn behind(&self, offset: u64, item: Item) -> AtOffset {
        self.at(offset, item, &self.after)
    }

    fn at(&self, offset: u64, item: Item, position: &Arc<Position>) -> AtOffset {
        let item = LogItem {
            item,
            commit_version: Some(self.commit_version),
            commit_timestamp: Some(self.commit_timestamp),
            before: Arc::clone(&self.before),
            position: Arc::clone(position),
        };
        AtOffset { offset, item }
    }
}

impl AtOffset {
    /// The same around rows that stand elsewhere: before or behind all of them.
    pub(super) fn around(self, rows_at: u64) -> Self {
        let offset = if self.offset <= rows_at { 0 } else { u64::MAX };
        Self { offset, ..self }
    }
}

/// How many items a segment has at most: each has its positions, and a position may hold a long GTID set.
pub(super) const MAX_ITEMS: usize = 512;
