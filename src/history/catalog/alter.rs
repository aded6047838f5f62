//! ALTER TABLE: the actions of a statement, in the order in which servers take them.

use super::definition::{TableDefinition, max_prefix};
use super::settings::{Result, Settings};
use crate::charset::Collation;
use crate::ddl::alter_action::{Action, Name, Place};
use crate::ddl::charset_clause::CharsetClause;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::create_table::CreateTable;
use crate::ddl::data_type::DataType;
use crate::ddl::key::{Key, KeyColumn, KeyKind, is_same_name};
use std::collections::{HashMap, HashSet};

/// What became of a table.
pub(super) struct Altered {
    pub(super) definition: TableDefinition,
    /// Its new name.
    pub(super) renamed: Option<Name>,
    /// A table that it gave a partition to.
    pub(super) made: Option<Name>,
    /// A table that became a partition of it.
    pub(super) taken: Option<Name>,
}

/// A column that stays, or takes the place of one.
struct Kept {
    column: ColumnDefinition,
    /// Its name before, in lower case.
    from: Option<String>,
    /// Whether the statement says all of it, and so its size too.
    is_stated: bool,
}

/// A column that is put somewhere.
enum Placed {
    New(Box<ColumnDefinition>),
    /// By its name before, in lower case.
    Old(String),
}

/// What a statement does to one column that is there.
#[derive(Default)]
struct Change {
    dropped: bool,
    is_stated: bool,
    definition: Option<Box<ColumnDefinition>>,
}

impl TableDefinition {
    /// Carries the actions of an ALTER TABLE out.
    pub(super) fn altered(&self, actions: Vec<Action>, settings: &Settings<'_>) -> Result<Altered> {
        let mut alter = Alter {
            old: &self.create,
            new: self.create.clone(),
            settings,
            changes: HashMap::new(),
            placed: Vec::new(),
            added: HashSet::new(),
            new_keys: Vec::new(),
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
}

struct Alter<'a> {
    old: &'a CreateTable,
    new: CreateTable,
    settings: &'a Settings<'a>,
    /// By the columns' names before, in lower case.
    changes: HashMap<String, Change>,
    /// Columns that are put somewhere after the others are, in the statement's order: new ones, and those that are there.
    placed: Vec<(Placed, Option<Place>)>,
    /// Names of the columns that are added, in lower case.
    added: HashSet<String>,
    new_keys: Vec<Key>,
    /// The clause of CONVERT TO CHARACTER SET.
    convert: Option<CharsetClause>,
    renamed: Option<Name>,
    made: Option<Name>,
    taken: Option<Name>,
}

impl Alter<'_> {
    /// The table's own character set goes first: new columns take it wherever it stands.
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
            // Which of the two is the table's own then depends on the server, and on their order.
            (Some(convert), Some(default)) if *convert != default => {
                Err("its columns are converted to one collation, and its default is another".into())
            }
            _ => Ok(()),
        }
    }

    fn has_column(&self, name: &str) -> bool {
        self.old.column_index(name).is_some()
    }

    /// The change of a column that must be there; `None` where it need not be.
    fn change(&mut self, name: &str, if_exists: bool) -> Result<Option<&mut Change>> {
        match (self.has_column(name), if_exists) {
            (true, _) => Ok(Some(self.changes.entry(name.to_lowercase()).or_default())),
            (false, true) => Ok(None),
            (false, false) => Err(format!("the table has no column `{name}`")),
        }
    }

    /// The definition that a column gets, beginning with the one that it has.
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
                    // IF NOT EXISTS of a column that comes later takes its name for one that is there.
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

    fn add_key(&mut self, key: Key) {
        let is_there = |key: &Key| {
            let first = match key.parts.first() {
                Some(KeyColumn::Column { name, .. }) => Some(name),
                _ => None,
            };
            let name = key.name.as_ref().or(key.constraint.as_ref()).or(first);
            match (key.kind, name) {
                (KeyKind::Primary, _) => {
                    self.old.keys.iter().any(|key| key.kind == KeyKind::Primary)
                }
                (KeyKind::Foreign, Some(name)) => self.old.constraints.iter().any(|constraint| {
                    constraint.name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
                }),
                (_, Some(name)) => {
                    self.old.keys.iter().chain(&self.new_keys).any(|key| key.is_called(name))
                }
                (_, None) => false,
            }
        };
        if !key.if_not_exists || !is_there(&key) {
            self.new.constraints.extend(key.foreign_key());
            self.new_keys.push(key);
        }
    }

    fn drop_constraint(&mut self, name: &str, may_be_key: bool) {
        let is_called =
            |own: &Option<String>| own.as_deref().is_some_and(|own| is_same_name(own, name));
        let before = self.new.constraints.len();
        self.new.constraints.retain(|constraint| !is_called(&constraint.name));
        if !may_be_key || before != self.new.constraints.len() {
            return;
        }
        // The name of a CHECK or of a foreign key that the server gave is not kept: what it does not find is one of those.
        self.new.keys.retain(|key| match key.kind {
            KeyKind::Primary => !name.eq_ignore_ascii_case("PRIMARY"),
            KeyKind::Unique => !key.is_called(name),
            _ => true,
        });
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

    /// Whether the key by which MariaDB told rows apart now may be NULL: then it sorts keys, and else only with new ones.
    fn loses_handle(&self, indexes: &HashMap<String, usize>) -> bool {
        let (Some(first), Some(new)) = (self.old.keys.first(), self.new.keys.first()) else {
            return false;
        };
        let is_dropped =
            first.name != new.name && self.old.keys.iter().any(|key| key.name == new.name);
        if first.kind != KeyKind::Unique || is_dropped {
            return false;
        }
        let (mut is_handle, mut is_null) = (true, false);
        for part in &first.parts {
            let KeyColumn::Column { name, prefix: 0, .. } = part else { return false };
            let lower = name.to_lowercase();
            let old = self.old.column_index(&lower).and_then(|at| self.old.columns.get(at));
            let stays = indexes.get(&lower).copied().or_else(|| self.new.column_index(&lower));
            let column = stays.and_then(|at| self.new.columns.get(at));
            is_handle &= old.is_some_and(|column| column.not_null);
            is_null |= column.is_some_and(|column| !column.not_null);
        }
        is_handle && is_null
    }

    /// The columns in their new order.
    fn columns(&mut self) -> Result<Vec<Kept>> {
        let mut kept = Vec::with_capacity(self.old.columns.len() + self.placed.len());
        for old in &self.old.columns {
            let lower = old.name.to_lowercase();
            let change = self.changes.remove(&lower).unwrap_or_default();
            if change.dropped {
                continue;
            }
            let from = Some(lower);
            match change.definition {
                None => kept.push(Kept { column: old.clone(), from, is_stated: false }),
                Some(column) => {
                    kept.push(Kept { column: *column, from, is_stated: change.is_stated });
                }
            }
        }
        if kept.len() + self.placed.len() > MAX_COLUMNS {
            return Err(format!("more than {MAX_COLUMNS} columns"));
        }
        // One by one: each finds the others where those before it have put them.
        for (placed, place) in std::mem::take(&mut self.placed) {
            let column = match placed {
                Placed::New(column) => Kept { column: *column, from: None, is_stated: true },
                Placed::Old(from) => {
                    let at = kept.iter().position(|kept| kept.from.as_ref() == Some(&from));
                    let Some(at) = at else { continue };
                    kept.remove(at)
                }
            };
            match place {
                None => kept.push(column),
                Some(Place::First) => kept.insert(0, column),
                Some(Place::After(name)) => {
                    let at = kept.iter().position(|kept| is_same_name(&kept.column.name, &name));
                    let at = at.ok_or_else(|| format!("the table has no column `{name}`"))?;
                    kept.insert(at + 1, column);
                }
            }
        }
        self.put_hidden_key_first(&mut kept);
        Ok(kept)
    }

    /// The column of MySQL's `sql_generate_invisible_primary_key` stays the first, whatever else is put FIRST.
    fn put_hidden_key_first(&self, kept: &mut Vec<Kept>) {
        let is_hidden_key = |column: &ColumnDefinition| {
            !self.settings.is_mariadb()
                && &*column.name == "my_row_id"
                && column.auto_increment
                && !column.visible
        };
        let Some(first) = self.old.columns.first().filter(|column| is_hidden_key(column)) else {
            return;
        };
        let from = Some(first.name.to_lowercase());
        if let Some(at) = kept.iter().position(|kept| kept.from == from).filter(|at| *at > 0) {
            let column = kept.remove(at);
            kept.insert(0, column);
        }
    }

    /// Foreign keys follow their columns, too.
    fn map_constraints(&mut self, indexes: &HashMap<String, usize>) {
        let CreateTable { constraints, columns, .. } = &mut self.new;
        constraints.retain_mut(|constraint| {
            constraint.columns.iter_mut().all(|name| {
                let column = indexes.get(&name.to_lowercase());
                let column = column.and_then(|index| columns.get(*index));
                column.map(|column| *name = column.name.to_string()).is_some()
            })
        });
    }

    /// Keys follow their columns: to other names, to shorter ones, and away; and to new columns of the same name.
    fn map_keys(&mut self, indexes: &HashMap<String, usize>) -> Result<()> {
        let (settings, old) = (self.settings, self.old);
        let new_index: HashMap<String, usize> = (self.new.columns.iter().enumerate())
            .map(|(index, column)| (column.name.to_lowercase(), index))
            .filter(|(name, _)| self.added.contains(name))
            .collect();
        let CreateTable { keys, columns, versioned, .. } = &mut self.new;
        let mut message = None;
        for key in keys {
            let has_prefixes =
                matches!(key.kind, KeyKind::Primary | KeyKind::Unique | KeyKind::Index);
            key.parts.retain_mut(|part| {
                let KeyColumn::Column { name, prefix, .. } = part else { return true };
                let lower = name.to_lowercase();
                let stays = indexes.get(&lower).and_then(|index| columns.get(*index));
                let new = || new_index.get(&lower).and_then(|index| columns.get(*index));
                let Some(column) = stays.or_else(new) else {
                    return *versioned && lower.starts_with("row_");
                };
                *name = column.name.to_string();
                let can_have_prefix = matches!(
                    column.data_type,
                    DataType::Char { .. } | DataType::Text { .. } | DataType::Geometry(_)
                );
                if stays.is_none() && can_have_prefix && has_prefixes && *prefix == 0 {
                    // As long as the column was that it had.
                    match old.column_index(&lower).and_then(|at| old.columns.get(at)) {
                        Some(ColumnDefinition {
                            data_type: DataType::Char { length, .. }, ..
                        }) => {
                            *prefix = *length;
                        }
                        _ => message = Some(format!("the key of `{name}` goes to another column")),
                    }
                }
                if can_have_prefix
                    && has_prefixes
                    && *prefix == 0
                    && !settings.is_mariadb()
                    && stays.is_some()
                    && let Some(old) = old.column_index(&lower).and_then(|at| old.columns.get(at))
                {
                    *prefix = member_prefix(old, settings);
                }
                if !can_have_prefix
                    || max_prefix(column, settings).is_some_and(|longest| *prefix > longest)
                {
                    *prefix = 0;
                }
                true
            });
        }
        self.new.keys.retain(|key| !key.parts.is_empty());
        message.map_or(Ok(()), Err)
    }
}

/// The prefix that MySQL makes of an ENUM or SET in a key when the column becomes text: as long as it was in the key, but for
/// one whose text is as long.
fn member_prefix(old: &ColumnDefinition, settings: &Settings<'_>) -> u64 {
    let width = settings.collation_of(old).map_or(1, |own| own.charset().max_char_bytes()) as u64;
    let lengths = |members: &[String]| -> Vec<u64> {
        members.iter().map(|member| member.trim_end_matches(' ').chars().count() as u64).collect()
    };
    let (bytes, characters) = match &old.data_type {
        DataType::Enum(members) => {
            let longest = lengths(members).into_iter().max().unwrap_or(0);
            (if members.len() < 256 { 1 } else { 2 }, longest)
        }
        DataType::Set(members) => {
            let bytes = match members.len() {
                ..=8 => 1,
                9..=16 => 2,
                17..=24 => 3,
                25..=32 => 4,
                _ => 8,
            };
            let commas = (members.len() as u64).saturating_sub(1);
            (bytes, lengths(members).into_iter().sum::<u64>().saturating_add(commas))
        }
        _ => return 0,
    };
    match characters.saturating_mul(width) == bytes {
        true => 0,
        false => bytes / width.max(1),
    }
}

/// What no server goes beyond: the time that a statement takes is bounded by it.
const MAX_COLUMNS: usize = 4096;
