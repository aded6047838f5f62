//! Rows that the actions of foreign keys change and that no event contains, before MySQL 9.6 and in MariaDB.
//!
//! The log shows when this may have happened:
//!
//! * MySQL: rows of a table are deleted, or get another key, whose Table_map event has the flag that a foreign key refers to
//!   it, and whose rows event has neither the flag of `foreign_key_checks=0` nor the one of MySQL 9.6 that such rows are logged.
//!   The flag of the table is also set for RESTRICT, so the actions must come from elsewhere.
//! * MariaDB: the statement maps each table that an action may change, and has no rows of it; a table that refers to itself
//!   is mapped twice. An update maps these tables whatever columns change. A statement also maps the tables that its
//!   triggers write into, and the second table of a multi-table statement.
//!
//! The actions come from a history, from `schemas=`, or from the server whose log is read.

use super::map_cache::MapCache;
use super::options::DecodeOptions;
use crate::binlog::{EventType, FormatDescription, RowsEvent, RowsKind, STMT_END, TableMap};
use crate::columnar::RowCells;
use crate::ddl::TableName;
use crate::error::{Error, Result};
use crate::history::{Actions, Catalog, ChildAction, ForeignKeys};
use crate::schema::full_name;
use crate::source::RowsSeen;
use crate::wire::Inflater;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The reaction to rows that may have changed without an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// The read ends with an error.
    Error,
    /// A warning, once for each parent.
    Warn,
    /// The check is off.
    Ignore,
}

/// The keyword `unlogged_changes`, and the foreign keys that are known from sources other than a history.
#[derive(Debug, Clone, Default)]
pub struct UnloggedChanges {
    /// The caller's choice.
    pub asked: Option<Reaction>,
    /// True if the reader keeps a mirror of a table: a known action is then an error by default.
    pub is_mirror: bool,
    /// Foreign keys from `schemas=`, or from the server once it is connected.
    pub foreign_keys: Arc<OnceLock<Arc<ForeignKeys>>>,
}

impl UnloggedChanges {
    /// The reaction if an action is known to change rows of a table that is read.
    pub fn known(&self) -> Reaction {
        self.asked.unwrap_or(if self.is_mirror { Reaction::Error } else { Reaction::Warn })
    }

    /// True if the check is off.
    pub(super) fn is_ignored(&self) -> bool {
        self.asked == Some(Reaction::Ignore)
    }

    /// The reaction if the actions are not known.
    pub(super) fn unknown(&self) -> Reaction {
        self.asked.unwrap_or(Reaction::Warn)
    }
}

/// The number of changes to a parent with possible effects that no event contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnloggedCount {
    /// Rows events of the parent, or statements in MariaDB.
    pub events: u64,
    /// The message for the first one.
    pub message: String,
}

/// Counts by parent (`database.table`).
pub type UnloggedCounts = BTreeMap<String, UnloggedCount>;

/// The known facts about a table as a parent.
#[derive(Debug)]
pub(super) struct Parent {
    name: TableName,
    /// The actions on tables that are read; `None` if no known foreign key refers to it.
    actions: Option<Actions>,
    /// The names of its columns, if they are known.
    columns: Vec<Option<Arc<str>>>,
    /// The indexes of the columns of all its keys, if they are known: a foreign key refers to some of them.
    key_columns: Option<Vec<usize>>,
    cells: Option<RowCells>,
    /// True if the log says that it has triggers (MariaDB).
    has_triggers: bool,
    /// True if it is a MERGE table; `None` if its engine is not known.
    is_merge: Option<bool>,
    /// True if its changes have no effects to check for, except those that MariaDB's statement shows.
    is_idle: bool,
}

/// A statement: its tables, and in MariaDB the tables that may have changed without an event.
#[derive(Debug, Default)]
pub(super) struct StatementTables {
    tables: Vec<StatementTable>,
    pending: Vec<Pending>,
}

#[derive(Debug)]
struct StatementTable {
    map: usize,
    /// The rows events of the statement so far.
    seen: RowsSeen,
    /// The number of them in the previous pieces of the log.
    before: RowsSeen,
    is_mapped_twice: bool,
}

/// A table that changes of another one may affect, unless the statement logs rows of it by its end.
#[derive(Debug)]
struct Pending {
    child: usize,
    parent: Arc<Parent>,
    kind: RowsKind,
    action: ChildAction,
    is_known: bool,
}

/// The parts of a rows event that are checked.
pub(super) struct ParentRows<'e> {
    pub(super) event_type: EventType,
    pub(super) kind: RowsKind,
    pub(super) flags: u16,
    pub(super) body: &'e [u8],
    pub(super) map: usize,
}

impl Parent {
    /// True if a table with these flags in its map can be a parent.
    pub(super) fn may_be(flags: u16, format: &FormatDescription) -> bool {
        format.is_mariadb || flags & REFERENCED != 0 || format.version < FLAGS_PARENTS
    }

    /// The known facts about the table of a map.
    pub(super) fn of(
        map: &TableMap<'_>,
        format: &FormatDescription,
        options: &DecodeOptions,
        catalog: Option<&Catalog>,
        keys: Option<&ForeignKeys>,
    ) -> Result<Self> {
        let log = map.schema(format)?;
        let name = TableName { database: log.database.to_string(), table: log.table.to_string() };
        let is_merge = match catalog {
            Some(catalog) => catalog.is_merge(&name.database, &name.table),
            None => options.plan.schemas.is_merge(&name.database, &name.table),
        };
        let is_read = |table: &TableName| options.tables.accepts(&table.database, &table.table);
        let actions = keys.and_then(|keys| keys.actions_of(&name, &is_read));
        let cells = RowCells::of(&log.columns, format.is_mariadb);
        let width = log.columns.len();
        // Names that the log leaves out. A structure that does not fit is an error when its rows are read.
        let completed = match catalog {
            Some(catalog) => catalog.schema(&name.database, &name.table).ok(),
            None => options.plan.schemas.complete(log.clone(), map, format).ok(),
        };
        let table = completed.filter(|table| table.columns.len() == width).unwrap_or(log);
        let is_referenced = map.flags & REFERENCED != 0;
        let is_idle = match &actions {
            Some(actions) => actions.delete.is_none() && actions.update.is_empty(),
            None => format.is_mariadb || !is_referenced,
        };
        let parts = table.indexes.iter().flat_map(|index| &index.parts);
        let key_columns: Vec<_> = parts.map(|part| part.column).collect();
        Ok(Self {
            name,
            actions,
            key_columns: Some(key_columns).filter(|columns| !columns.is_empty()),
            columns: table.columns.into_iter().map(|column| column.name).collect(),
            cells,
            has_triggers: map.flags & HAS_TRIGGERS != 0,
            is_merge,
            is_idle,
        })
    }

    pub(super) fn name(&self) -> &TableName {
        &self.name
    }

    pub(super) fn is_merge(&self) -> Option<bool> {
        self.is_merge
    }

    /// The indexes of columns; `None` if one of the names is not known.
    fn places(&self, names: &[String]) -> Option<Vec<usize>> {
        let place = |name: &String| {
            let is_called = |own: &Option<Arc<str>>| {
                own.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name))
            };
            self.columns.iter().position(is_called)
        };
        names.iter().map(place).collect()
    }
}

impl StatementTables {
    pub(super) fn clear(&mut self) {
        self.tables.clear();
        self.pending.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.tables.len()
    }

    /// The map of a table without rows events.
    pub(super) fn rowless(&self, index: usize) -> Option<usize> {
        self.tables.get(index).filter(|table| table.seen.is_none()).map(|table| table.map)
    }

    /// The map of a table with rows events.
    pub(super) fn with_rows(&self, index: usize) -> Option<usize> {
        self.tables.get(index).filter(|table| !table.seen.is_none()).map(|table| table.map)
    }

    /// Takes in a Table_map event of the statement.
    pub(super) fn add(&mut self, map: usize) {
        match self.tables.iter_mut().find(|table| table.map == map) {
            Some(table) => table.is_mapped_twice = true,
            None => self.carry(map, RowsSeen::default(), false),
        }
    }

    /// Takes in a table of the statement, with its rows in the previous pieces of the log.
    pub(super) fn carry(&mut self, map: usize, before: RowsSeen, is_mapped_twice: bool) {
        if self.tables.len() < MAX_TABLES {
            self.tables.push(StatementTable { map, seen: before, before, is_mapped_twice });
        }
    }
}

/// Checks rows events and statements.
pub(super) struct Watch<'w> {
    pub(super) options: &'w DecodeOptions,
    pub(super) maps: &'w mut MapCache,
    pub(super) statement: &'w mut StatementTables,
    pub(super) counts: &'w mut UnloggedCounts,
    pub(super) format: &'w FormatDescription,
}

impl Watch<'_> {
    /// Checks a rows event of any table.
    pub(super) fn on_rows(&mut self, rows: &ParentRows<'_>) -> Result<()> {
        let is_effective = rows.kind != RowsKind::Write && rows.flags & NO_FOREIGN_KEY_CHECKS == 0;
        let statement = &mut *self.statement;
        if let Some(table) = statement.tables.iter_mut().find(|table| table.map == rows.map) {
            table.seen.add(rows.kind);
        }
        if rows.flags & STMT_END != 0 {
            self.on_merge_tables()?;
        }
        if !self.format.is_mariadb {
            if rows.flags & STMT_END != 0 {
                self.statement.clear();
            }
            return match is_effective && rows.flags & LOGS_CHILDREN == 0 {
                true => self.on_parent(rows),
                false => Ok(()),
            };
        }
        if is_effective {
            self.on_mariadb_parent(rows.map, rows.kind, Some(rows))?;
        }
        match rows.flags & STMT_END {
            0 => Ok(()),
            _ => self.on_statement_end(rows.flags),
        }
    }

    /// MySQL.
    fn on_parent(&mut self, rows: &ParentRows<'_>) -> Result<()> {
        let parent = self.maps.parent(rows.map, self.format, self.options)?;
        let Some(parent) = parent.filter(|parent| !parent.is_idle) else { return Ok(()) };
        let is_delete = rows.kind == RowsKind::Delete;
        let Some(actions) = &parent.actions else {
            let columns = parent.key_columns.clone();
            return match is_delete || self.are_changed(&parent, Some(rows), columns) {
                true => self.found(&parent, rows.kind, None, false),
                false => Ok(()),
            };
        };
        match self.action_of(&parent, actions, rows.kind, Some(rows)) {
            Some(action) => self.found(&parent, rows.kind, Some(action), true),
            None => Ok(()),
        }
    }

    /// The action that a rows event of a parent causes.
    fn action_of<'a>(
        &self,
        parent: &Parent,
        actions: &'a Actions,
        kind: RowsKind,
        rows: Option<&ParentRows<'_>>,
    ) -> Option<&'a ChildAction> {
        if kind == RowsKind::Delete {
            return actions.delete.as_ref();
        }
        let mut updates = actions.update.iter();
        let is_changed = |(columns, _): &&(Vec<String>, ChildAction)| {
            self.are_changed(parent, rows, parent.places(columns))
        };
        updates.find(is_changed).map(|(_, action)| action)
    }

    /// True if an update changes one of the columns, or if this is not known.
    fn are_changed(
        &self,
        parent: &Parent,
        rows: Option<&ParentRows<'_>>,
        columns: Option<Vec<usize>>,
    ) -> bool {
        let (Some(rows), Some(columns), Some(cells)) = (rows, columns, &parent.cells) else {
            return true;
        };
        let id_width = self.format.table_id_width(rows.event_type);
        let mut inflater = Inflater::default();
        let Ok(event) = RowsEvent::decode(rows.body, rows.event_type, id_width) else {
            return true;
        };
        match event.inflate(rows.event_type, &mut inflater) {
            Ok(event) => cells.are_changed(&event, &columns),
            Err(_) => true,
        }
    }

    /// MariaDB: tables that the statement maps and of which it has no rows yet.
    fn on_mariadb_parent(
        &mut self,
        map: usize,
        kind: RowsKind,
        rows: Option<&ParentRows<'_>>,
    ) -> Result<()> {
        for index in 0..self.statement.tables.len() {
            let Some(table) = self.statement.tables.get(index) else { break };
            let child = table.map;
            let may_change = match child == map {
                true => table.is_mapped_twice,
                false => table.seen.is_none(),
            };
            if !may_change || !self.maps.is_wanted(child) || self.is_pending(child, map, kind)? {
                continue;
            }
            if let Some(pending) = self.pending_of(child, map, kind, rows)? {
                self.statement.pending.push(pending);
            }
        }
        Ok(())
    }

    fn is_pending(&mut self, child: usize, map: usize, kind: RowsKind) -> Result<bool> {
        if self.statement.pending.is_empty() {
            return Ok(false);
        }
        let parent = self.maps.parent(map, self.format, self.options)?;
        let name = parent.map(|parent| parent.name.clone());
        Ok(self.statement.pending.iter().any(|pending| {
            pending.child == child
                && pending.kind == kind
                && Some(&pending.parent.name) == name.as_ref()
        }))
    }

    /// The effect that rows of a parent may have on a table that the statement maps.
    fn pending_of(
        &mut self,
        child: usize,
        map: usize,
        kind: RowsKind,
        rows: Option<&ParentRows<'_>>,
    ) -> Result<Option<Pending>> {
        let Some(table) = self.maps.parent(child, self.format, self.options)? else {
            return Ok(None);
        };
        let Some(parent) = self.maps.parent(map, self.format, self.options)? else {
            return Ok(None);
        };
        let keys = self.maps.foreign_keys(self.options);
        let is_child = |name: &TableName| *name == table.name;
        let actions = keys.as_deref().and_then(|keys| keys.actions_of(&parent.name, &is_child));
        let action =
            actions.as_ref().and_then(|actions| self.action_of(&parent, actions, kind, rows));
        let pending = |action, is_known| {
            Ok(Some(Pending { child, parent: Arc::clone(&parent), kind, action, is_known }))
        };
        if let Some(action) = action {
            return pending(action.clone(), true);
        }
        if keys.is_some_and(|keys| keys.describes(&table.name.database, &table.name.table)) {
            // A trigger, a statement of several tables, or an update of other columns.
            return Ok(None);
        }
        let columns = parent.key_columns.clone();
        let (is_told, is_delete) = (columns.is_some(), kind == RowsKind::Delete);
        if !is_delete && !self.are_changed(&parent, rows, columns) {
            return Ok(None);
        }
        let action = ChildAction { child: table.name.clone(), action: String::new() };
        pending(action, (is_delete || is_told) && !parent.has_triggers)
    }

    /// MariaDB: tables that the statement has no rows of by its end.
    fn on_statement_end(&mut self, flags: u16) -> Result<()> {
        let found = match flags & NO_FOREIGN_KEY_CHECKS {
            0 => self.report_pending(),
            _ => Ok(()),
        };
        self.statement.clear();
        found
    }

    fn report_pending(&mut self) -> Result<()> {
        // Parents whose rows were in the previous pieces.
        for index in 0..self.statement.tables.len() {
            let Some(StatementTable { map, before, .. }) = self.statement.tables.get(index) else {
                break;
            };
            let (map, before) = (*map, *before);
            for kind in [RowsKind::Delete, RowsKind::Update] {
                if before.has(kind) {
                    self.on_mariadb_parent(map, kind, None)?;
                }
            }
        }
        let mut found = std::mem::take(&mut self.statement.pending);
        // One for each parent.
        found.sort_by_key(|pending| !pending.is_known);
        let mut parents: Vec<TableName> = Vec::new();
        for Pending { child, parent, kind, action, is_known } in found {
            if parents.contains(&parent.name) {
                continue;
            }
            let mut tables = self.statement.tables.iter();
            let is_open = tables.any(|table| {
                table.map == child && (table.seen.is_none() || action.child == parent.name)
            });
            if is_open {
                parents.push(parent.name.clone());
                self.found(&parent, kind, Some(&action), is_known)?;
            }
        }
        Ok(())
    }

    /// Reports that rows may have changed without an event.
    fn found(
        &mut self,
        parent: &Parent,
        kind: RowsKind,
        action: Option<&ChildAction>,
        is_known: bool,
    ) -> Result<()> {
        let unlogged = &self.options.unlogged;
        let reaction = if is_known { unlogged.known() } else { unlogged.unknown() };
        let name = full_name(&parent.name.database, &parent.name.table);
        let entry = self.counts.entry(name);
        let finding = Finding { parent: &parent.name, kind, action, is_known };
        match reaction {
            Reaction::Ignore => Ok(()),
            Reaction::Error => {
                let message = format!("{finding}{}", finding.advice());
                Err(Error::unsupported(message))
            }
            Reaction::Warn => {
                let count = entry.or_insert_with(|| UnloggedCount {
                    events: 0,
                    message: format!("{finding}{}", finding.hint()),
                });
                count.events += 1;
                Ok(())
            }
        }
    }
}

/// The text that describes a possible change.
struct Finding<'f> {
    parent: &'f TableName,
    kind: RowsKind,
    action: Option<&'f ChildAction>,
    is_known: bool,
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = self.parent;
        let done = match self.kind {
            RowsKind::Delete => "deletes rows",
            _ => "updates rows",
        };
        write!(f, "the log {done} of {parent}, ")?;
        match self.action {
            Some(ChildAction { child, action }) if !action.is_empty() => {
                write!(
                    f,
                    "and a foreign key of {child} has {action}: no event contains the rows of {child} that this changes"
                )
            }
            Some(ChildAction { child, .. }) if self.is_known => write!(
                f,
                "and the statement opens {child} without logging rows of it, as it does for the action of a foreign key: no \
                 event contains the rows of {child} that this changes"
            ),
            Some(ChildAction { child, .. }) => write!(
                f,
                "and the statement opens {child} without logging rows of it. If this is for the action of a foreign key, and not \
                 for a trigger, no event contains the rows of {child} that it changes"
            ),
            None => write!(
                f,
                "which a foreign key refers to. If its action is CASCADE, SET NULL or SET DEFAULT, rows of other tables change, \
                 and no event contains them"
            ),
        }
    }
}

impl Finding<'_> {
    /// The advice in an error.
    fn advice(&self) -> String {
        match self.action {
            Some(ChildAction { child, .. }) => format!(
                ". Copy {child} again and continue after this transaction, or continue with unlogged_changes='warn'"
            ),
            None => format!("{}, or continue with unlogged_changes='warn'", self.hint()),
        }
    }

    /// The hint in a warning.
    fn hint(&self) -> &'static str {
        match (self.action, self.is_known) {
            (Some(_), true) => {
                ". MySQL 9.6 and later log such rows, unless innodb_native_foreign_keys=ON"
            }
            _ => ". Provide the structures of the tables with history= or schemas= to find out",
        }
    }
}

/// In the flags of a Table_map event, MySQL 5.6 and later: a foreign key refers to the table.
const REFERENCED: u16 = 0x2;

/// In the flags of a Table_map event, MariaDB: the table has triggers.
const HAS_TRIGGERS: u16 = 0x4000;

/// In the flags of a rows event: the session has `foreign_key_checks=0`.
const NO_FOREIGN_KEY_CHECKS: u16 = 0x2;

/// In the flags of a rows event, MySQL 9.6 and later: rows that actions of foreign keys change are logged.
const LOGS_CHILDREN: u16 = 0x10;

/// The first version whose Table_map events have a flag for tables that foreign keys refer to.
const FLAGS_PARENTS: (u16, u16, u16) = (5, 6, 0);

/// The maximum number of tables that a statement maps: servers join 61, and cascades reach some more.
const MAX_TABLES: usize = 1024;
