//! Applies an ALTER TABLE: its actions, in the order of the servers.

mod columns;
mod keys;

use self::columns::{Kept, Placed};
use super::definition::TableDefinition;
use super::settings::{Result, Settings};
use crate::charset::Collation;
use crate::ddl::alter_action::{Action, ColumnPlace, Name};
use crate::ddl::charset_clause::CharsetClause;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::create_table::CreateTable;
use crate::ddl::data_type::DataType;
use crate::ddl::key::{Constraint, Key, KeyKind};
use std::collections::{HashMap, HashSet};

/// A table after the statement.
pub(super) struct Altered {
    pub(super) definition: TableDefinition,
    /// Its new name.
    pub(super) renamed: Option<Name>,
    /// A table that was created from one of its partitions.
    pub(super) made: Option<Name>,
    /// A table that became one of its partitions.
    pub(super) taken: Option<Name>,
}

/// The change of an existing column.
#[derive(Default)]
struct Change {
    dropped: bool,
    is_stated: bool,
    definition: Option<Box<ColumnDefinition>>,
}

/// Applies the actions of an ALTER TABLE.
pub(super) fn altered(
    before: &TableDefinition,
    actions: Vec<Action>,
    settings: &Settings<'_>,
) -> Result<Altered> {
    let mut alter = Alter {
        old: &before.create,
        new: before.create.clone(),
        settings,
        changes: HashMap::new(),
        placed: Vec::new(),
        added: HashSet::new(),
        new_keys: Vec::new(),
        new_foreign_keys: Vec::new(),
        convert: None,
        renamed: None,
        made: None,
        taken: None,
    };
    alter.charset(&actions)?;
    for action in actions {
        alter.action(action)?;
    }
    alter.finish()
}

struct Alter<'a> {
    old: &'a CreateTable,
    new: CreateTable,
    settings: &'a Settings<'a>,
    /// By the columns' names before, in lower case.
    changes: HashMap<String, Change>,
    /// The new and the moved columns, in the order of the statement. They are placed after the changes of the others.
    placed: Vec<(Placed, Option<ColumnPlace>)>,
    /// Names of the columns that are added, in lower case.
    added: HashSet<String>,
    new_keys: Vec<Key>,
    /// The constraints of new foreign keys, with the columns' names after the statement.
    new_foreign_keys: Vec<Constraint>,
    /// The clause of CONVERT TO CHARACTER SET.
    convert: Option<CharsetClause>,
    renamed: Option<Name>,
    made: Option<Name>,
    taken: Option<Name>,
}

impl Alter<'_> {
    /// Applies the character set of the table first: new columns get it, in any order of the actions.
    fn charset(&mut self, actions: &[Action]) -> Result<()> {
        let mut default = None;
        for action in actions {
            let (Action::Convert(clause) | Action::DefaultCharset(clause)) = action else {
                continue;
            };
            let named = self.settings.clause(clause, None)?;
            let collation = named.or_else(|| self.settings.default_charset());
            self.new.charset = self.settings.written_out(collation)?;
            match action {
                Action::Convert(_) => self.convert = Some(self.new.charset.clone()),
                _ => default = Some(self.new.charset.clone()),
            }
        }
        match (&self.convert, default) {
            // Which of the two becomes the default of the table depends on the server, and on their order.
            (Some(convert), Some(default)) if *convert != default => {
                Err("its columns are converted to one collation, and its default is another".into())
            }
            _ => Ok(()),
        }
    }

    fn has_column(&self, name: &str) -> bool {
        self.old.column_index(name).is_some()
    }

    /// The change of an existing column. `None` if it does not exist, with `if_exists`.
    fn change(&mut self, name: &str, if_exists: bool) -> Result<Option<&mut Change>> {
        match (self.has_column(name), if_exists) {
            (true, _) => Ok(Some(self.changes.entry(name.to_lowercase()).or_default())),
            (false, true) => Ok(None),
            (false, false) => Err(format!("the table has no column `{name}`")),
        }
    }

    /// The new definition of a column, at first a copy of the old one.
    fn redefined(&mut self, name: &str) -> Result<&mut ColumnDefinition> {
        let index = self.old.column_index(name);
        let old = index.and_then(|index| self.old.columns.get(index)).cloned();
        let change = self.change(name, false)?;
        let (Some(change), Some(old)) = (change, old) else {
            return Err(format!("the table has no column `{name}`"));
        };
        Ok(change.definition.get_or_insert_with(|| Box::new(old)))
    }

    fn action(&mut self, action: Action) -> Result<()> {
        match action {
            Action::AddColumn { mut column, place, if_not_exists } => {
                let lower = column.name.to_lowercase();
                if if_not_exists && (self.has_column(&lower) || self.added.contains(&lower)) {
                    return Ok(());
                }
                self.added.insert(lower);
                self.new_keys.extend(column.keys());
                self.settle(&mut column)?;
                self.placed.push((Placed::New(column), place));
            }
            Action::Change { from, mut column, place, if_exists } => {
                let keys: Vec<_> = column.keys().collect();
                self.settle(&mut column)?;
                let lower = from.to_lowercase();
                if self.settings.is_mariadb() && self.added.contains(&lower) {
                    return Err(format!("`{from}` is added and changed at once"));
                }
                if if_exists && !self.has_column(&lower) {
                    // A later IF NOT EXISTS of this name adds nothing.
                    self.added.insert(column.name.to_lowercase());
                }
                let Some(change) = self.change(&from, if_exists)? else { return Ok(()) };
                (change.definition, change.is_stated) = (Some(column), true);
                if place.is_some() {
                    self.placed.push((Placed::Old(from.to_lowercase()), place));
                }
                self.new_keys.extend(keys);
            }
            Action::DropColumn { name, if_exists } => {
                if let Some(change) = self.change(&name, if_exists)? {
                    change.dropped = true;
                }
            }
            Action::RenameColumn { from, to, if_exists } => {
                if !if_exists || self.has_column(&from) {
                    self.redefined(&from)?.name = to.into();
                }
            }
            Action::Default { name, default, if_exists } => {
                if !if_exists || self.has_column(&name) {
                    self.redefined(&name)?.default = default;
                }
            }
            Action::ColumnVisible { name, visible } => self.redefined(&name)?.visible = visible,
            Action::AddKey(key) => self.add_key(key),
            Action::AddCheck(check) => self.new.constraints.push(check),
            Action::DropPrimary { if_exists } => {
                let before = self.new.keys.len();
                self.new.keys.retain(|key| key.kind != KeyKind::Primary);
                if before == self.new.keys.len() && !if_exists {
                    return Err("the table has no primary key".into());
                }
            }
            Action::DropKey { name, if_exists } => {
                let before = self.new.keys.len();
                self.new.keys.retain(|key| !key.is_called(&name));
                if before == self.new.keys.len() && !if_exists {
                    return Err(format!("the table has no key `{name}`"));
                }
            }
            Action::DropConstraint { name, may_be_key } => self.drop_constraint(&name, may_be_key),
            Action::RenameKey { from, to, if_exists } => {
                let old = self.old.keys.iter().position(|key| key.is_called(&from));
                let old = old.and_then(|at| self.old.keys.get(at));
                let same = |key: &&mut Key| old.is_some_and(|old| old.name == key.name);
                match self.new.keys.iter_mut().find(same) {
                    Some(key) => key.name = Some(to),
                    None if if_exists => {}
                    None => return Err(format!("the table has no key `{from}`")),
                }
            }
            Action::KeyVisible { name, visible } => {
                match self.new.keys.iter_mut().find(|key| key.is_called(&name)) {
                    Some(key) => key.visible = visible,
                    None => return Err(format!("the table has no key `{name}`")),
                }
            }
            Action::Rename(name) => self.renamed = Some(name),
            Action::Convert(_)
            | Action::DefaultCharset(_)
            | Action::Exchange(_)
            | Action::OtherRows(_) => {}
            Action::Comment(text) => {
                self.new.comment = Some(text).filter(|text| !text.is_empty()).map(Into::into);
            }
            Action::Engine(engine) => self.new.engine = Some(engine),
            Action::Versioning(is_on) => self.versioning(is_on),
            Action::AddPeriod(period) => self.new.periods.push(period),
            Action::DropPeriod(name) => {
                self.new.periods.retain(|period| period.name.to_lowercase() != name.to_lowercase());
            }
            Action::PartitionToTable(name) => self.made = Some(name),
            Action::TableToPartition(name) => self.taken = Some(name),
        }
        Ok(())
    }

    fn settle(&self, column: &mut ColumnDefinition) -> Result<()> {
        let default = self.settings.clause(&self.new.charset, None)?;
        self.settings.settle(column, default)
    }

    fn versioning(&mut self, is_on: bool) {
        self.new.versioned = is_on;
        if is_on {
            return;
        }
        self.new.periods.retain(|period| !period.name.eq_ignore_ascii_case("SYSTEM_TIME"));
        for column in &self.old.columns {
            if column.row_period.is_some() {
                self.changes.entry(column.name.to_lowercase()).or_default().dropped = true;
            }
        }
    }

    fn finish(mut self) -> Result<Altered> {
        let columns = self.columns()?;
        let mut indexes = HashMap::new();
        self.new.columns.clear();
        let mut stated = Vec::with_capacity(columns.len());
        for Kept { column, from, is_stated } in columns {
            let is_text = matches!(column.data_type, DataType::Text { .. })
                && self.settings.collation_of(&column) != Some(Collation::BINARY);
            if self.convert.is_some()
                && is_stated
                && from.is_some()
                && is_text
                && !self.settings.is_mariadb()
            {
                return Err(format!(
                    "column `{}`: the size of a text that CONVERT TO and the same statement's MODIFY or CHANGE are for",
                    column.name
                ));
            }
            stated.push(is_stated);
            indexes.extend(from.map(|from| (from, self.new.columns.len())));
            self.new.columns.push(column);
        }
        if self.new.columns.is_empty() {
            return Err("no column is left".into());
        }
        self.settings.settle_timestamps(&mut self.new.columns);
        self.new.reindex().map_err(|name| format!("two columns `{name}`"))?;
        if let Some(clause) = self.convert.take() {
            let to = self.settings.clause(&clause, None)?;
            let to = to.ok_or("the character set of its database is not known")?;
            for (column, is_stated) in self.new.columns.iter_mut().zip(stated) {
                self.settings.convert(column, to, is_stated)?;
            }
        }
        self.map_keys(&indexes)?;
        self.map_constraints(&indexes);
        if let Some((Some(database), _)) = &self.renamed {
            // Names in a new foreign key are in the database that the table goes to.
            for constraint in &mut self.new_foreign_keys {
                if let Some(text) = constraint.with_database(database) {
                    constraint.text = text;
                }
            }
        }
        self.new.constraints.append(&mut self.new_foreign_keys);
        for period in &mut self.new.periods {
            for end in [&mut period.start, &mut period.end] {
                let column = indexes.get(&end.to_lowercase());
                if let Some(column) = column.and_then(|index| self.new.columns.get(*index)) {
                    *end = column.name.to_string();
                }
            }
        }
        let is_sorted =
            !self.settings.is_mariadb() || !self.new_keys.is_empty() || self.loses_handle(&indexes);
        let mut definition = TableDefinition { create: self.new };
        definition.settle_keys(self.new_keys, is_sorted, self.settings)?;
        let Self { renamed, made, taken, .. } = self;
        Ok(Altered { definition, renamed, made, taken })
    }
}
