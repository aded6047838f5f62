//! MariaDB: tables that a statement maps and that an action of a foreign key may change.

use super::statement_tables::{Pending, StatementTable};
use super::{NO_FOREIGN_KEY_CHECKS, ParentRows, Watch};
use crate::binlog::RowsKind;
use crate::ddl::TableName;
use crate::error::Result;
use crate::history::ChildAction;
use std::sync::Arc;

impl Watch<'_> {
    /// MariaDB: checks the tables that the statement maps. Those of which it has rows, for example of a trigger, may also have
    /// changed without an event, if the actions of foreign keys are known.
    pub(super) fn on_mariadb_parent(
        &mut self,
        map: usize,
        kind: RowsKind,
        rows: Option<&ParentRows<'_>>,
    ) -> Result<()> {
        let has_actions = self.has_actions(map)?;
        for index in 0..self.statement.tables.len() {
            let Some(table) = self.statement.tables.get(index) else { break };
            let child = table.map;
            let may_change = match child == map {
                true => table.is_mapped_twice,
                false => table.seen.is_none() || has_actions,
            };
            let is_settled = self.statement.unrelated.contains(&(map, child));
            if !may_change
                || is_settled
                || !self.maps.is_wanted(child)
                || self.is_pending(child, map, kind)?
            {
                continue;
            }
            if let Some(pending) = self.pending_of(child, map, kind, rows)? {
                self.statement.pending.push(pending);
            }
        }
        Ok(())
    }

    /// True if known foreign keys that refer to a table have actions on tables that are read.
    fn has_actions(&mut self, map: usize) -> Result<bool> {
        let parent = self.maps.parent(map, self.format, self.options)?;
        Ok(parent.is_some_and(|parent| !parent.is_idle))
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
            // The cause may be a trigger, a statement of several tables, or an update of other
            // columns.
            let has_effects =
                actions.is_some_and(|one| one.delete.is_some() || !one.update.is_empty());
            if !has_effects {
                self.statement.unrelated.push((map, child));
            }
            return Ok(None);
        }
        let columns = parent.key_columns.clone();
        let (has_keys, is_delete) = (columns.is_some(), kind == RowsKind::Delete);
        if !is_delete && !self.are_changed(&parent, rows, columns) {
            return Ok(None);
        }
        let action = ChildAction { child: table.name.clone(), action: String::new() };
        pending(action, (is_delete || has_keys) && !parent.has_triggers)
    }

    /// MariaDB: checks for tables that the statement maps, but of which it has no rows when it
    /// ends.
    pub(super) fn on_statement_end(&mut self, flags: u16) -> Result<()> {
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
                let is_possible = table.seen.is_none() || action.child == parent.name;
                table.map == child && (is_possible || !action.action.is_empty())
            });
            if is_open {
                parents.push(parent.name.clone());
                self.found(&parent, kind, Some(&action), is_known)?;
            }
        }
        Ok(())
    }
}
