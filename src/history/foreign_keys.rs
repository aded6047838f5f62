//! Foreign keys whose actions change rows of a child table when a parent's row is deleted or gets another key.
//!
//! Before MySQL 9.6, and in MariaDB, the storage engine carries these actions out, and the binary log has no events for the
//! rows that they change. In: CREATE TABLE statements (of `schemas=`, of a catalog, of a server). Out: for a parent, the
//! tables that its deletes and updates can change. Called by `reader` and `source::live`.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/create-table-foreign-keys.html>, <https://mariadb.com/kb/en/foreign-keys/>

#[cfg(test)]
mod tests;

use super::catalog::{Catalog, TableState};
use super::schemas::Schemas;
use crate::ddl::TableName;
use crate::ddl::create_table::CreateTable;
use crate::ddl::cursor::Cursor;
use crate::ddl::key::{KeyColumn, KeyKind, is_same_name};
use crate::ddl::token::Result;
use std::collections::BTreeSet;
use std::iter;

/// The foreign keys of some tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForeignKeys {
    keys: Vec<ForeignKey>,
    /// The tables of which all foreign keys are known.
    described: BTreeSet<(String, String)>,
    /// Tables of a catalog that may have other foreign keys. Their structure is not known, or they are known only because a
    /// foreign key refers to them.
    open: Vec<TableName>,
}

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// The table that has it.
    pub child: TableName,
    /// The columns of the child.
    pub columns: Vec<String>,
    /// The table that it refers to.
    pub parent: TableName,
    /// The columns of the parent.
    pub parent_columns: Vec<String>,
    /// The action on rows of the child when their parent is deleted.
    pub on_delete: ReferentialAction,
    /// The action on rows of the child when their parent's key changes.
    pub on_update: ReferentialAction,
}

/// The action of a foreign key on rows of the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReferentialAction {
    /// RESTRICT or NO ACTION: the statement fails.
    #[default]
    Restrict,
    /// CASCADE: the rows are deleted, or get the new key.
    Cascade,
    /// SET NULL.
    SetNull,
    /// SET DEFAULT.
    SetDefault,
}

/// The effects that deletes and updates of a parent can have on tables that are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actions {
    /// The table and the action of a DELETE, if there is one.
    pub delete: Option<ChildAction>,
    /// The tables and actions of an UPDATE, with the columns of the parent's key that the foreign key refers to.
    pub update: Vec<(Vec<String>, ChildAction)>,
}

/// A table whose rows change, and the action that changes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildAction {
    /// The table.
    pub child: TableName,
    /// `ON DELETE CASCADE`, for example.
    pub action: String,
}

impl ReferentialAction {
    /// From its name in information_schema.
    pub fn parse(name: &str) -> Self {
        match name.to_ascii_uppercase().as_str() {
            "CASCADE" => Self::Cascade,
            "SET NULL" => Self::SetNull,
            "SET DEFAULT" => Self::SetDefault,
            _ => Self::Restrict,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        }
    }
}

impl ForeignKeys {
    /// The foreign keys of all tables in a catalog.
    pub fn of_catalog(catalog: &Catalog) -> Self {
        let mut keys = Self::default();
        for (database, table, state) in catalog.tables() {
            if let TableState::Known(definition) = state {
                keys.add_table(database, table, definition.create());
            }
            if !keys.describes(database, table) {
                keys.open.push(TableName { database: database.into(), table: table.into() });
            }
        }
        for key in &keys.keys {
            let TableName { database, table } = &key.parent;
            if !keys.describes(database, table) && !keys.open.contains(&key.parent) {
                keys.open.push(key.parent.clone());
            }
        }
        keys
    }

    /// The foreign keys of all tables whose structure was given.
    pub fn of_schemas(schemas: &Schemas) -> Self {
        let mut keys = Self::default();
        for (database, table, create) in schemas.tables() {
            keys.add_table(database, table, create);
        }
        keys
    }

    /// True if the foreign keys of a table are known.
    pub fn describes(&self, database: &str, table: &str) -> bool {
        self.described.contains(&(database.to_lowercase(), table.to_lowercase()))
    }

    /// Marks all foreign keys of a table as known.
    fn describe(&mut self, table: &TableName) {
        self.described.insert((table.database.to_lowercase(), table.table.to_lowercase()));
    }

    /// Adds those of a table from the output of SHOW CREATE TABLE; returns the tables that they refer to.
    pub fn add_statement(&mut self, table: &TableName, statement: &str) -> Vec<TableName> {
        let mut given = Schemas::default();
        if given.add_table(&table.database, &table.table, statement).is_err() {
            return Vec::new();
        }
        let before = self.keys.len();
        for (database, table, create) in given.tables() {
            self.add_table(database, table, create);
        }
        self.keys.iter().skip(before).map(|key| key.parent.clone()).collect()
    }

    /// Adds a foreign key.
    pub fn add(&mut self, key: ForeignKey) {
        self.keys.push(key);
    }

    /// The effects of deletes and updates of a parent on tables that `is_read` accepts, also through other tables. `None` if
    /// no known foreign key refers to the parent.
    pub fn actions_of(
        &self,
        parent: &TableName,
        is_read: &dyn Fn(&TableName) -> bool,
    ) -> Option<Actions> {
        let mut actions = Actions::default();
        let mut is_parent = false;
        for key in self.keys.iter().filter(|key| is_same_table(&key.parent, parent)) {
            is_parent = true;
            if actions.delete.is_none() {
                actions.delete = self.effect(key, true, is_read, &mut Vec::new());
            }
            if let Some(action) = self.effect(key, false, is_read, &mut Vec::new()) {
                actions.update.push((key.parent_columns.clone(), action));
            }
        }
        is_parent.then_some(actions)
    }

    /// The tables that are read and that change if a row of an open table does: the open tables, and those that actions reach
    /// from them.
    pub fn changed_by_open(&self, is_read: &dyn Fn(&TableName) -> bool) -> Vec<&TableName> {
        let mut found: Vec<&TableName> = Vec::new();
        for open in &self.open {
            let reached = [true, false].map(|is_delete| self.reached_from(open, is_delete));
            let children = reached.into_iter().flatten().map(|key| &key.child);
            for table in iter::once(open).chain(children) {
                if is_read(table) && !found.contains(&table) {
                    found.push(table);
                }
            }
        }
        found
    }

    /// The foreign keys whose actions can change rows after a delete or an update of a parent, also through other tables.
    pub fn reached_from(&self, parent: &TableName, is_delete: bool) -> Vec<&ForeignKey> {
        let mut seen = Vec::new();
        for key in self.keys.iter().filter(|key| is_same_table(&key.parent, parent)) {
            self.effect(key, is_delete, &|_| false, &mut seen);
        }
        let mut reached: Vec<&ForeignKey> = Vec::new();
        for (key, _) in seen {
            if !reached.iter().any(|other| std::ptr::eq(*other, key)) {
                reached.push(key);
            }
        }
        reached
    }

    /// The first of the tables that a foreign key's action changes and that are read.
    fn effect<'k>(
        &'k self,
        key: &'k ForeignKey,
        is_delete: bool,
        is_read: &dyn Fn(&TableName) -> bool,
        seen: &mut Vec<(&'k ForeignKey, bool)>,
    ) -> Option<ChildAction> {
        let (event, action) = match is_delete {
            true => ("DELETE", key.on_delete),
            false => ("UPDATE", key.on_update),
        };
        let is_seen = seen.iter().any(|(k, delete)| std::ptr::eq(*k, key) && *delete == is_delete);
        if action == ReferentialAction::Restrict || is_seen {
            return None;
        }
        seen.push((key, is_delete));
        if is_read(&key.child) {
            let action = format!("ON {event} {}", action.name());
            return Some(ChildAction { child: key.child.clone(), action });
        }
        let is_delete = is_delete && action == ReferentialAction::Cascade;
        let is_next = |next: &&ForeignKey| {
            let is_touched = |name: &String| key.columns.iter().any(|own| is_same_name(own, name));
            is_same_table(&next.parent, &key.child)
                && (is_delete || next.parent_columns.iter().any(is_touched))
        };
        let mut next = self.keys.iter().filter(is_next);
        next.find_map(|next| self.effect(next, is_delete, is_read, seen))
    }

    fn add_table(&mut self, database: &str, table: &str, create: &CreateTable) {
        let child = TableName { database: database.to_owned(), table: table.to_owned() };
        let before = self.keys.len();
        let keys = create.keys.iter().filter(|key| key.kind == KeyKind::Foreign);
        let inline = keys.map(|key| {
            let columns = key.parts.iter().filter_map(|part| match part {
                KeyColumn::Column { name, .. } => Some(name.clone()),
                _ => None,
            });
            (columns.collect(), key.references.as_str())
        });
        let constraints = create.constraints.iter().filter(|one| !one.columns.is_empty());
        let settled = constraints.map(|one| (one.columns.clone(), one.text.as_str()));
        for (columns, text) in inline.chain(settled) {
            match ForeignKey::parse(&child, columns, text) {
                // A statement that was not normalized by a server contains it in both places.
                Ok(key) if self.keys.iter().skip(before).any(|other| *other == key) => {}
                Ok(key) => self.keys.push(key),
                // Some of its keys are not known.
                Err(_) => return,
            }
        }
        self.describe(&child);
    }
}

impl ForeignKey {
    /// From `REFERENCES table (columns) ON DELETE action ON UPDATE action`.
    fn parse(child: &TableName, columns: Vec<String>, text: &str) -> Result<Self> {
        let mut cursor = Cursor::new(text)?;
        cursor.expect("REFERENCES")?;
        let (database, table) = cursor.qualified_name()?;
        let database = database.unwrap_or_else(|| child.database.clone());
        let mut parent_columns = Vec::new();
        if cursor.accept_sign('(')? {
            loop {
                parent_columns.push(cursor.name()?);
                cursor.accept_parens()?;
                cursor.accept_any(&["ASC", "DESC"])?;
                if !cursor.accept_sign(',')? {
                    break;
                }
            }
            cursor.expect_sign(')')?;
        }
        if cursor.accept("MATCH")? {
            cursor.name()?;
        }
        let mut key = Self {
            child: child.clone(),
            columns,
            parent: TableName { database, table },
            parent_columns,
            on_delete: ReferentialAction::Restrict,
            on_update: ReferentialAction::Restrict,
        };
        while cursor.accept("ON")? {
            let is_delete = cursor.accept("DELETE")?;
            if !is_delete {
                cursor.expect("UPDATE")?;
            }
            let action = if cursor.accept("CASCADE")? {
                ReferentialAction::Cascade
            } else if cursor.accept_all(&["SET", "NULL"])? {
                ReferentialAction::SetNull
            } else if cursor.accept_all(&["SET", "DEFAULT"])? {
                ReferentialAction::SetDefault
            } else if cursor.accept_all(&["NO", "ACTION"])? {
                ReferentialAction::Restrict
            } else {
                cursor.expect("RESTRICT")?;
                ReferentialAction::Restrict
            };
            match is_delete {
                true => key.on_delete = action,
                false => key.on_update = action,
            }
        }
        Ok(key)
    }
}

/// The case of names is ignored: it differs between what a statement says and what a server with `lower_case_table_names`
/// logs.
fn is_same_table(one: &TableName, other: &TableName) -> bool {
    is_same_name(&one.database, &other.database) && is_same_name(&one.table, &other.table)
}
