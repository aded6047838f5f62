//! Rows that the actions of foreign keys change and that no event contains, before MySQL 9.6 and in MariaDB.
//!
//! The log shows when this may have happened:
//!
//! * MySQL: rows of a table are deleted, or get another key, whose Table_map event has the flag that a foreign key refers to
//!   it, and whose rows event has neither the flag of `foreign_key_checks=0` nor the one of MySQL 9.6 that such rows are logged.
//!   The flag of the table is also set for RESTRICT, and if the statement uses another table that a foreign key refers to, so
//!   the actions must come from elsewhere.
//! * MariaDB: the statement maps each table that an action may change, and has no rows of it, unless its triggers or the
//!   statement itself change other rows of it; a table that refers to itself is mapped twice. An update maps these tables
//!   whatever columns change. A statement also maps the tables that its triggers write into, and the second table of a
//!   multi-table statement.
//!
//! The actions come from a history, from `schemas=`, or from the server whose log is read.

mod finding;
mod mariadb;
mod merge_tables;
mod statement_tables;

use super::map_cache::MapCache;
use super::parent::Parent;
use crate::binlog::{EventType, FormatDescription, RowsEvent, RowsKind, STMT_END};
use crate::change::UnloggedChange;
use crate::ddl::TableName;
use crate::error::{Error, Result};
use crate::history::{Actions, ChildAction};
use crate::reader::options::DecodeOptions;
use crate::reader::unlogged_changes::{Reaction, UnloggedCount, UnloggedCounts};
use crate::schema::full_name;
use crate::wire::Inflater;
use finding::Finding;
pub(super) use statement_tables::StatementTables;

/// The parts of a rows event that are checked.
pub(super) struct ParentRows<'e> {
    pub(super) event_type: EventType,
    pub(super) kind: RowsKind,
    pub(super) flags: u16,
    pub(super) body: &'e [u8],
    pub(super) map: usize,
}

/// Checks rows events and statements.
pub(super) struct Watch<'w> {
    pub(super) options: &'w DecodeOptions,
    pub(super) maps: &'w mut MapCache,
    pub(super) statement: &'w mut StatementTables,
    pub(super) counts: &'w mut UnloggedCounts,
    /// Changes that are returned as items.
    pub(super) items: &'w mut Vec<UnloggedChange>,
    pub(super) format: &'w FormatDescription,
    /// The number of the present rows event in its transaction.
    pub(super) number: u32,
}

impl Watch<'_> {
    /// Checks a rows event of any table.
    pub(super) fn on_rows(&mut self, rows: &ParentRows<'_>) -> Result<()> {
        self.statement.first.get_or_insert(self.number);
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

    /// Checks a rows event of MySQL.
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

    /// Reports that rows may have changed without an event.
    fn found(
        &mut self,
        parent: &Parent,
        kind: RowsKind,
        action: Option<&ChildAction>,
        is_known: bool,
    ) -> Result<()> {
        match self.reaction(is_known) {
            Reaction::Ignore => {}
            Reaction::Item => self.add_item(parent, kind, action),
            reaction => {
                let finding = Finding { parent: &parent.name, kind, action, is_known };
                let message = || match reaction {
                    Reaction::Error => format!("{finding}{}", finding.advice()),
                    _ => format!("{finding}{}", finding.hint()),
                };
                self.report(&parent.name, reaction, message)?;
            }
        }
        Ok(())
    }

    fn reaction(&self, is_known: bool) -> Reaction {
        let unlogged = &self.options.unlogged;
        if is_known { unlogged.known() } else { unlogged.unknown() }
    }

    /// Returns an error, or counts a warning for a table whose rows events may have changed rows of other tables.
    fn report(
        &mut self,
        table: &TableName,
        reaction: Reaction,
        message: impl FnOnce() -> String,
    ) -> Result<()> {
        if reaction == Reaction::Error {
            return Err(Error::unsupported(message()));
        }
        let entry = self.counts.entry(full_name(&table.database, &table.table));
        entry.or_insert_with(|| UnloggedCount { events: 0, message: message() }).events += 1;
        Ok(())
    }

    /// Adds an item for the statement so far.
    fn add_item(&mut self, parent: &Parent, kind: RowsKind, action: Option<&ChildAction>) {
        let keys = self.maps.foreign_keys(self.options);
        let is_delete = kind == RowsKind::Delete;
        let reached = keys.iter().flat_map(|keys| keys.reached_from(&parent.name, is_delete));
        let foreign_keys: Vec<_> = reached.cloned().collect();
        let children = foreign_keys.iter().map(|key| &key.child);
        let mut changed: Vec<TableName> = Vec::new();
        for child in children.chain(action.map(|action| &action.child)).chain(&parent.possible) {
            if !changed.contains(child) {
                changed.push(child.clone());
            }
        }
        self.items.push(UnloggedChange {
            table: parent.name.clone(),
            kind: Some(kind),
            foreign_keys,
            changed,
            rows_events: self.rows_events(),
        });
    }

    /// The rows events that an item is for: in MySQL the present one, in MariaDB those of the statement.
    fn rows_events(&self) -> Option<(u32, u32)> {
        let statement = &self.statement;
        match self.format.is_mariadb {
            false => Some((self.number, self.number)),
            true if statement.is_continued => None,
            true => statement.first.map(|first| (first, self.number)),
        }
    }
}

/// In the flags of a rows event: the session has `foreign_key_checks=0`.
const NO_FOREIGN_KEY_CHECKS: u16 = 0x2;

/// In the flags of a rows event, MySQL 9.6 and later: rows that actions of foreign keys change are logged.
const LOGS_CHILDREN: u16 = 0x10;
