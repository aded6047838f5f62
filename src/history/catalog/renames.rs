//! Gives a table another name, also in the foreign keys that refer to it.
//!
//! In: the name of a table before and after a statement. Out: the tables whose CREATE TABLE is different after it. Foreign keys
//! refer to names: a table that gets the name of a missing parent is the parent from then on.

#[cfg(test)]
mod tests;

use super::definition::TableDefinition;
use super::{Catalog, TableState};
use crate::ddl::TableName;
use crate::ddl::cursor::Cursor;
use crate::ddl::key::Constraint;
use crate::ddl::token::{Result, Token};
use crate::schema::quoted_name;
use std::sync::Arc;

impl Catalog {
    /// Gives a table another name; returns the tables that changed. If `keeps_parents`, foreign keys still refer to the old
    /// name.
    pub(super) fn rename_table(
        &mut self,
        from: &TableName,
        to: &TableName,
        keeps_parents: bool,
    ) -> Vec<TableName> {
        let is_parent = !keeps_parents && self.may_have_children(from);
        let renamed = self.renamed(from, to, is_parent);
        let mut changed = Vec::new();
        // A table that is not there is a view, or one that the history leaves out.
        if let Some(mut state) = self.take(from) {
            if let TableState::Known(definition) = &mut state {
                let definition = Arc::make_mut(definition);
                definition.rename(&to.table);
                definition.follow(&from.database, &to.database, &renamed);
            }
            self.put(to, state);
            changed.extend([from.clone(), to.clone()]);
        }
        if is_parent {
            self.follow_parent(&renamed, &mut changed);
        }
        changed
    }

    /// Changes the foreign keys that refer to a table, as if it had another name.
    pub(in crate::history) fn rename_parent(&mut self, from: &TableName, to: &TableName) {
        let renamed = self.renamed(from, to, true);
        self.follow_parent(&renamed, &mut Vec::new());
    }

    fn renamed<'a>(&self, from: &'a TableName, to: &'a TableName, is_parent: bool) -> Renamed<'a> {
        Renamed { from, to, is_parent, is_folded: self.lower_case_table_names() != 0 }
    }

    /// False if no foreign key follows the name of a table: only InnoDB has foreign keys.
    fn may_have_children(&self, name: &TableName) -> bool {
        match self.state(name) {
            Some(TableState::Known(definition)) => {
                let engine = definition.create().engine.as_deref();
                engine.is_none_or(|engine| engine.eq_ignore_ascii_case("InnoDB"))
            }
            _ => true,
        }
    }

    /// Changes the foreign keys of all tables that refer to a table.
    fn follow_parent(&mut self, renamed: &Renamed<'_>, changed: &mut Vec<TableName>) {
        let mut children = Vec::new();
        for (database, table, state) in self.tables() {
            let TableState::Known(definition) = state else { continue };
            if definition.is_changed_by(database, renamed) {
                let name = TableName { database: database.to_owned(), table: table.to_owned() };
                children.push((name, Arc::clone(definition)));
            }
        }
        for (name, mut definition) in children {
            Arc::make_mut(&mut definition).follow(&name.database, &name.database, renamed);
            self.put(&name, TableState::Known(definition));
            changed.push(name);
        }
    }
}

/// The name of a table before and after a statement.
struct Renamed<'a> {
    from: &'a TableName,
    to: &'a TableName,
    /// True if foreign keys that refer to the table get its new name.
    is_parent: bool,
    /// True if names do not differ by letter case.
    is_folded: bool,
}

impl Renamed<'_> {
    /// The name of a parent, as the server stores it, before and after the statement.
    fn parent(&self, name: TableName) -> (TableName, TableName) {
        let before = if self.is_folded { name.folded() } else { name };
        let is_it = self.is_parent && before == *self.from;
        let after = if is_it { self.to.clone() } else { before.clone() };
        (before, after)
    }
}

impl TableDefinition {
    /// True if a table in `database` has a foreign key that refers to the renamed table.
    fn is_changed_by(&self, database: &str, renamed: &Renamed<'_>) -> bool {
        let mut constraints = self.create.constraints.iter();
        constraints.any(|constraint| constraint.followed(database, database, renamed).is_some())
    }

    /// Changes the foreign keys of a table that was in the database `before`, and is in the database `after`.
    fn follow(&mut self, before: &str, after: &str, renamed: &Renamed<'_>) {
        for constraint in &mut self.create.constraints {
            if let Some(text) = constraint.followed(before, after, renamed) {
                constraint.text = text;
            }
        }
    }

    /// Removes the foreign keys that it has from `old`.
    pub(super) fn lose_foreign_keys(&mut self, old: &Self) {
        let is_old = |constraint: &Constraint| {
            old.create.constraints.iter().any(|other| other.name == constraint.name)
        };
        let constraints = &mut self.create.constraints;
        constraints.retain(|constraint| constraint.columns.is_empty() || !is_old(constraint));
    }
}

impl Constraint {
    /// Its text if that is different after a statement.
    fn followed(&self, before: &str, after: &str, renamed: &Renamed<'_>) -> Option<String> {
        let (name, rest) = self.parent(before)?;
        let (old, new) = renamed.parent(name);
        (old != new || before != after).then(|| reference(&new, after, &rest))
    }

    /// Its text with the database of the parent, for a table in `database`.
    pub(super) fn with_database(&self, database: &str) -> Option<String> {
        let (parent, rest) = self.parent(database)?;
        Some(reference(&parent, "", &rest))
    }

    /// The parent of a foreign key of a table in `database`, and the text after its name.
    fn parent(&self, database: &str) -> Option<(TableName, String)> {
        let read = || -> Result<(TableName, String)> {
            let mut cursor = Cursor::new(&self.text)?;
            cursor.expect("REFERENCES")?;
            let (own, table) = cursor.qualified_name()?;
            let database = own.unwrap_or_else(|| database.to_owned());
            Ok((TableName { database, table }, cursor.text_of(to_end)?))
        };
        if self.columns.is_empty() { None } else { read().ok() }
    }
}

fn to_end(cursor: &mut Cursor<'_>) -> Result<()> {
    while *cursor.peek() != Token::End {
        cursor.bump()?;
    }
    Ok(())
}

/// The text of a foreign key as SHOW CREATE TABLE prints it for a table in `database`.
fn reference(parent: &TableName, database: &str, rest: &str) -> String {
    let database = match parent.database == database {
        true => String::new(),
        false => format!("{}.", quoted_name(&parent.database)),
    };
    format!("REFERENCES {database}{} {rest}", quoted_name(&parent.table))
}
