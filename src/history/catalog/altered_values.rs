//! The columns whose values in existing rows an ALTER TABLE changes, or may change: the log has no row events for this.
//!
//! The types before and after the statement decide: see `type_change`.

use super::settings::Settings;
use super::type_change::{AUTO_INCREMENT, NOT_NULL, TYPE, change_of, is_same_type};
use super::{Catalog, TableState};
use crate::charset::Charset;
use crate::ddl::alter_action::{Action, Clauses};
use crate::ddl::body::Body;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::cursor::Cursor;
use crate::ddl::key::{KeyColumn, KeyKind};
use crate::ddl::token::Token;
use crate::ddl::{DdlSession, ParsedStatement, TableName};
use crate::position::Position;
use crate::schema::{Column, ColumnType, TableSchema};
use std::sync::Arc;

/// A column whose values in existing rows an ALTER TABLE changes, or may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlteredColumn {
    /// Its name after the statement.
    pub name: Arc<str>,
    /// Its name before the statement.
    from: Arc<str>,
    effect: Effect,
}

/// The type that a statement gives to a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewType {
    /// The type as a statement writes it.
    pub sql: String,
    /// The character set: `Some(None)` if the column has none, `None` if the statement does not contain it.
    pub charset: Option<Option<&'static str>>,
    /// False for NOT NULL.
    pub nullable: bool,
    /// True for AUTO_INCREMENT.
    pub auto_increment: bool,
    /// The members of an ENUM or SET.
    pub members: Vec<String>,
}

impl NewType {
    fn of(after: &ColumnDefinition) -> Self {
        let members = after.data_type.members();
        // As in the structures of servers, bytes have no character set.
        let charset =
            |own: Charset| (own != Charset::Binary || !members.is_empty()).then(|| own.name());
        Self {
            sql: after.full_type(),
            charset: (!after.charset.is_unknown).then(|| after.charset.charset.and_then(charset)),
            nullable: !after.not_null,
            auto_increment: after.auto_increment,
            members: members.to_vec(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    /// Values change, or may change.
    Changes(&'static str),
    /// The type before the statement decides.
    Redefined(Box<ColumnDefinition>, DdlSession),
    /// It becomes NOT NULL, without a strict `sql_mode`.
    NotNull,
    /// This column or others may have another place in the table.
    Moves,
}

/// The reason why existing values of a column change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueChange {
    /// They change, or may change.
    Possible(&'static str),
    /// They change only in a rare case, which the log cannot exclude.
    Unlikely(&'static str),
}

impl AlteredColumn {
    /// A column that gets the name of a column that an earlier statement removed or renamed.
    pub fn takes_name(name: &str) -> Self {
        let effect =
            Effect::Changes("takes the name of a column that was removed or renamed before");
        Self { name: name.into(), from: name.into(), effect }
    }

    fn moves(name: &str) -> Self {
        Self { name: name.into(), from: name.into(), effect: Effect::Moves }
    }

    /// The reason why values change; `None` if they stay. `before`: the structure of the table before the statement, if it is
    /// known. `has_names`: false if the columns have no names in the log.
    pub fn reason(&self, before: Option<&TableSchema>, has_names: bool) -> Option<ValueChange> {
        use ValueChange::{Possible, Unlikely};
        match self.effect {
            Effect::Changes(why) => return Some(Possible(why)),
            Effect::Moves => return (!has_names).then_some(Possible(MOVES)),
            _ => {}
        }
        let is_it = |column: &Column| {
            column.name.as_ref().is_some_and(|name| name.to_lowercase() == self.from.to_lowercase())
        };
        let found = before.and_then(|table| {
            let index = table.columns.iter().position(is_it)?;
            Some((
                table.columns.get(index)?,
                matches!(&*table.primary_key, [part] if part.column == index),
            ))
        });
        let Some((known, is_key)) = found else { return Some(Possible(UNKNOWN)) };
        let Effect::Redefined(after, session) = &self.effect else {
            return known.nullable.then_some(Possible(NOT_NULL));
        };
        let Some(before) = logged(known, session) else { return Some(Possible(UNKNOWN)) };
        let why = change_of(&before, false, after, session)?;
        let why = if why == AUTO_INCREMENT { MAYBE_AUTO_INCREMENT } else { why };
        // Nearly always such a key was AUTO_INCREMENT already, and columns have the character set of their table.
        let mut likely = (**after).clone();
        if is_key && known.column_type.is_integer() && !known.nullable {
            likely.auto_increment = false;
        }
        let is_text = before.charset.charset.is_some_and(|charset| charset != Charset::Binary);
        if is_text && likely.charset.charset.is_none() {
            likely.charset = before.charset.clone();
        }
        Some(match change_of(&before, false, &likely, session) {
            Some(_) => Possible(why),
            None if why == MAYBE_AUTO_INCREMENT => Unlikely(why),
            None => Unlikely(CHARSET),
        })
    }

    /// The type that the statement gives to the column, if the type before decides whether values change, and the log does not
    /// contain this type. `before`, `has_names`: as for `reason`.
    pub fn undecided_type(&self, before: Option<&TableSchema>, has_names: bool) -> Option<NewType> {
        let Effect::Redefined(after, session) = &self.effect else { return None };
        let without_auto_increment = || {
            let after = Box::new(ColumnDefinition { auto_increment: false, ..(**after).clone() });
            let effect = Effect::Redefined(after, session.clone());
            Self { effect, ..self.clone() }.reason(before, has_names)
        };
        let is_undecided = match self.reason(before, has_names)? {
            ValueChange::Possible(why) if why == UNKNOWN => true,
            ValueChange::Possible(why) if why == MAYBE_AUTO_INCREMENT => {
                !matches!(without_auto_increment(), Some(ValueChange::Possible(_)))
            }
            _ => false,
        };
        (is_undecided && !after.is_generated).then(|| NewType::of(after))
    }

    /// The name that the column has before the statement.
    pub fn name_before(&self) -> &str {
        &self.from
    }
}

const UNKNOWN: &str =
    "gets a type, and the log does not contain the type before (a table history has it: ⟦history⟧)";
const MAYBE_AUTO_INCREMENT: &str = "is defined with AUTO_INCREMENT, and the log does not contain whether it was before (a table \
                                    history has it: ⟦history⟧). If not, 0 and NULL become numbers";
const CHARSET: &str = "gets the character set of the table, which the log does not contain (a table history has it: ⟦history⟧). \
                       If that lacks characters of the column's own, these are lost";
const MOVES: &str =
    "is at another place in the table, or moves others, and the log does not name the columns";
const GENERATED: &str = "is generated from a column that gets another type";

/// Returns the columns of `table` whose existing values an ALTER TABLE changes or may change. `catalog` has the structures
/// before the statement.
pub fn altered_columns(
    catalog: Option<&Catalog>,
    table: &TableName,
    statement: &ParsedStatement,
    session: &DdlSession,
) -> Vec<AlteredColumn> {
    // A statement that cannot be parsed counts as a change of rows already.
    let Ok(Body::AlterTable(alter)) = &statement.body else { return Vec::new() };
    let Ok(Clauses { actions, .. }) = &alter.clauses else { return Vec::new() };
    let concerns = |action: &Action| match action {
        Action::Change { .. } | Action::Convert(_) | Action::AddPeriod(_) => true,
        Action::AddColumn { place, .. } => place.is_some(),
        Action::DropColumn { .. } => true,
        Action::AddKey(key) => key.kind == KeyKind::Primary,
        _ => false,
    };
    if !actions.iter().any(concerns) {
        return Vec::new();
    }
    let known = catalog.and_then(|catalog| followed(catalog, table, (statement, actions), session));
    known.unwrap_or_else(|| undecided(actions, session))
}

/// The columns that change, by the structures before and after the statement; `None` if one of the two is not known.
fn followed(
    catalog: &Catalog,
    table: &TableName,
    (statement, actions): (&ParsedStatement, &[Action]),
    session: &DdlSession,
) -> Option<Vec<AlteredColumn>> {
    let Some(TableState::Known(before)) = catalog.find(&table.database, &table.table) else {
        return None;
    };
    let mut new_table = table.clone();
    for action in actions {
        if let Action::Rename((database, name)) = action {
            new_table.table.clone_from(name);
            new_table.database = database.clone().unwrap_or(new_table.database);
        }
    }
    let mut after = catalog.clone();
    after.apply_statement(statement, session, &Position::default());
    let Some(TableState::Known(after)) = after.find(&new_table.database, &new_table.table) else {
        return None;
    };
    let new_name = |name: &str| {
        let renamed = actions.iter().find_map(|action| match action {
            Action::Change { from, column, .. } => {
                from.eq_ignore_ascii_case(name).then(|| column.name.to_string())
            }
            Action::RenameColumn { from, to, .. } => {
                from.eq_ignore_ascii_case(name).then(|| to.clone())
            }
            _ => None,
        });
        renamed.unwrap_or_else(|| name.to_owned())
    };
    let (before, after) = (before.create(), after.create());
    let mut altered = Vec::new();
    let mut add = |name: &Arc<str>, from: &Arc<str>, why| {
        let effect = Effect::Changes(why);
        altered.push(AlteredColumn { name: Arc::clone(name), from: Arc::clone(from), effect });
    };
    let generated: Vec<_> =
        after.columns.iter().filter(|column| column.expression.is_some()).collect();
    for old in &before.columns {
        let new = after.column_index(&new_name(&old.name));
        let Some(new) = new.and_then(|index| after.columns.get(index)) else { continue };
        if old == new {
            continue;
        }
        if let Some(why) = change_of(old, true, new, session) {
            add(&new.name, &old.name, why);
        }
        if is_same_type(old, new) {
            continue;
        }
        // Servers write the names of columns out in expressions.
        let name = new.name.to_lowercase();
        for column in &generated {
            let expression = column.expression.as_deref().unwrap_or_default();
            let is_old = before.column_index(&column.name).is_some();
            if is_old && expression.to_lowercase().contains(&name) {
                add(&column.name, &column.name, GENERATED);
            }
        }
    }
    Some(altered)
}

/// The columns that change, if the structure before the statement is not known yet.
fn undecided(actions: &[Action], session: &DdlSession) -> Vec<AlteredColumn> {
    let settings =
        Settings { session, database: None, current: None, makes_keys: true, is_script: false };
    let mut altered = Vec::new();
    for action in actions {
        match action {
            Action::Change { from, column, .. } => {
                let mut column = column.clone();
                column.not_null |= column.primary;
                let name = Arc::clone(&column.name);
                let effect = match settings.settle(&mut column, None) {
                    Ok(()) => Effect::Redefined(column, session.clone()),
                    Err(_) => Effect::Changes(TYPE),
                };
                altered.push(AlteredColumn { name, from: from.as_str().into(), effect });
            }
            Action::AddColumn { column, place: Some(_), .. } => {
                altered.push(AlteredColumn::moves(&column.name));
            }
            Action::DropColumn { name, .. } => altered.push(AlteredColumn::moves(name)),
            Action::AddKey(key) if key.kind == KeyKind::Primary && !session.is_strict() => {
                for part in &key.parts {
                    if let KeyColumn::Column { name, .. } = part {
                        let name: Arc<str> = name.as_str().into();
                        let from = Arc::clone(&name);
                        altered.push(AlteredColumn { name, from, effect: Effect::NotNull });
                    }
                }
            }
            _ => {}
        }
    }
    altered
}

/// A column of the log as a definition; `None` if too little of it is known.
fn logged(column: &Column, session: &DdlSession) -> Option<ColumnDefinition> {
    let column_type = &column.column_type;
    let lacks = column_type.is_integer() && column.unsigned.is_none()
        || column_type.is_character() && column.collation.is_none()
        || matches!(column_type, ColumnType::Enum { .. } | ColumnType::Set { .. })
            && column.members.is_none()
        // MariaDB's old forms have digits of a second that the log does not contain.
        || session.server.is_mariadb
            && matches!(
                column_type,
                ColumnType::TimeOld { fsp: None }
                    | ColumnType::DateTimeOld { fsp: None }
                    | ColumnType::TimestampOld { fsp: None }
            );
    if lacks {
        return None;
    }
    let sql = column.sql_type();
    let mut cursor = Cursor::new(&sql).ok()?;
    let mut definition = ColumnDefinition::parse_named(&mut cursor, "c".to_owned(), 1, &|cursor| {
        matches!(cursor.peek(), Token::End)
    })
    .ok()?;
    definition.not_null = !column.nullable;
    definition.null = column.nullable;
    let settings =
        Settings { session, database: None, current: None, makes_keys: true, is_script: false };
    settings.settle(&mut definition, column.collation).ok()?;
    Some(definition)
}
