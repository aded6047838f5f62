//! The columns whose values in existing rows an ALTER TABLE changes, or may change: the log has no row events for this.
//!
//! The types before and after the statement decide, by a list of changes that keep every value. Any other change of a type
//! counts as a change of values.
//!
//! | before | after | |
//! |---|---|---|
//! | integer | integer that holds all values | keeps |
//! | integer | any integer, DECIMAL | keeps under a strict `sql_mode`, or the server refuses it |
//! | integer | DECIMAL of as many digits, DOUBLE (not from BIGINT), FLOAT (from TINYINT, SMALLINT) | keeps |
//! | DECIMAL | DECIMAL of as many digits on both sides of the point | keeps; fewer before the point under a strict `sql_mode` |
//! | FLOAT, DOUBLE | the same type or DOUBLE, without `(M,D)` | keeps |
//! | BIT | BIT of as many bits | keeps; fewer under a strict `sql_mode` |
//! | DATE | DATE, DATETIME | keeps |
//! | TIME, DATETIME, TIMESTAMP | the same type with as many digits of a second | keeps |
//! | CHAR, VARCHAR | VARCHAR or TEXT at least as long; CHAR to CHAR | keeps, if the characters are the same |
//! | TEXT | TEXT at least as long | keeps, if the characters are the same |
//! | BINARY | BINARY of the same length, VARBINARY or BLOB at least as long | keeps |
//! | VARBINARY, BLOB | the same type, or BLOB, at least as long | keeps |
//! | ENUM, SET | the same members, new ones at the end | keeps |
//! | ENUM | the same members in any order, and others | keeps under a strict `sql_mode` |
//! | JSON, GEOMETRY, VECTOR, UUID, INET4, INET6 | the same type | keeps |
//! | NULL | NOT NULL | keeps under a strict `sql_mode`, not for TIMESTAMP |
//! | not AUTO_INCREMENT | AUTO_INCREMENT | keeps under NO_AUTO_VALUE_ON_ZERO, if the column is NOT NULL |
//! | an integer that is the primary key, by the log | AUTO_INCREMENT | probably keeps: nearly always it was AUTO_INCREMENT before |
//! | the source of a generated column | another type | changes the generated column |
//!
//! A column without a name in the log is identified by its place, so that `FIRST`, `AFTER` and DROP COLUMN change its values.
//!
//! "The characters are the same": the character set does not change, or has all characters, or the `sql_mode` is
//! strict. If neither the statement nor a history contains the character set, it probably does not change.

use super::settings::Settings;
use super::{Catalog, TableState};
use crate::charset::Charset;
use crate::ddl::alter_table::{Action, Clauses};
use crate::ddl::body::Body;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::cursor::Cursor;
use crate::ddl::data_type::DataType;
use crate::ddl::key::{KeyColumn, KeyKind};
use crate::ddl::token::Token;
use crate::ddl::{DdlSession, ParsedStatement, TableName};
use crate::position::Position;
use crate::schema::{Column, ColumnType, GeometryType, TableSchema};
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

    /// The name that the column has before the statement.
    pub fn name_before(&self) -> &str {
        &self.from
    }
}

const UNKNOWN: &str =
    "gets a type, and the log does not contain the type before (a table history has it: history=)";
const NOT_NULL: &str = "becomes NOT NULL, so that NULL becomes another value";
const AUTO_INCREMENT: &str = "becomes AUTO_INCREMENT, so that 0 and NULL become numbers";
const MAYBE_AUTO_INCREMENT: &str = "is defined with AUTO_INCREMENT, and the log does not contain whether it was before (a table \
                                    history has it: history=). If not, 0 and NULL become numbers";
const CHARSET: &str = "gets the character set of the table, which the log does not contain (a table history has it: history=). \
                       If that lacks characters of the column's own, these are lost";
const MOVES: &str =
    "is at another place in the table, or moves others, and the log does not name the columns";
const TYPE: &str = "gets a type that may change values";
const GENERATED: &str = "is generated from a column that gets another type";

/// Returns the columns of `table` whose existing values an ALTER TABLE changes or may change. `catalog` has the structures
/// before the statement.
pub fn altered_columns(
    catalog: Option<&Catalog>,
    table: &TableName,
    statement: &ParsedStatement,
    session: &DdlSession,
) -> Vec<AlteredColumn> {
    // A statement that is not understood counts as a change of rows already.
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
    after.apply_parsed(statement, session, &Position::default());
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

/// The reason why values of a column change; `None` if they stay. `is_exact`: `before` is a definition in SQL; otherwise it is
/// from the log, which does not contain all of it.
fn change_of(
    before: &ColumnDefinition,
    is_exact: bool,
    after: &ColumnDefinition,
    session: &DdlSession,
) -> Option<&'static str> {
    let is_strict = session.is_strict();
    let may_hold_null = !before.not_null && after.not_null;
    let is_timestamp = matches!(after.data_type, DataType::Plain(ColumnType::Timestamp2 { .. }));
    if after.auto_increment && !(is_exact && before.auto_increment) {
        let keeps_zero = session.sql_mode & NO_AUTO_VALUE_ON_ZERO != 0;
        if may_hold_null || !keeps_zero {
            return Some(AUTO_INCREMENT);
        }
    }
    if may_hold_null && (!is_strict || is_timestamp) {
        return Some(NOT_NULL);
    }
    let types = Types { before, after, is_strict, session };
    let keeps = is_exact && is_same_type(before, after) || types.keep(is_exact);
    (!keeps).then_some(TYPE)
}

fn is_same_type(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
    let is_wide = before.zerofill || after.zerofill;
    let plain = |column: &ColumnDefinition| match &column.data_type {
        DataType::Integer { column_type, .. } if !is_wide => DataType::Plain(column_type.clone()),
        data_type => data_type.clone(),
    };
    plain(before) == plain(after)
        && (before.unsigned, before.zerofill, before.digits)
            == (after.unsigned, after.zerofill, after.digits)
        && before.charset.charset == after.charset.charset
        && before.charset.is_unknown == after.charset.is_unknown
        && !before.charset.is_unknown
}

/// A column's types before and after.
struct Types<'t> {
    before: &'t ColumnDefinition,
    after: &'t ColumnDefinition,
    is_strict: bool,
    session: &'t DdlSession,
}

impl Types<'_> {
    /// True if every value stays, or the server refuses the statement.
    fn keep(&self, is_exact: bool) -> bool {
        use ColumnType as T;
        use DataType::{Enum, Plain, Set};
        let Self { before, after, is_strict, .. } = *self;
        let loses_sign = after.unsigned && !before.unsigned;
        if let Some(from) = integer(&before.data_type) {
            return match &after.data_type {
                Plain(T::Decimal { precision, scale }) => {
                    let digits = DIGITS.get(from).copied().unwrap_or(u8::MAX);
                    is_strict || !loses_sign && precision.saturating_sub(*scale) >= digits
                }
                Plain(T::Double) => from <= INT && after.digits.is_none() && !loses_sign,
                Plain(T::Float) => from <= SMALLINT && after.digits.is_none() && !loses_sign,
                to => integer(to).is_some_and(|to| {
                    let is_narrower = to < from || to == from && before.unsigned != after.unsigned;
                    is_strict || !loses_sign && !is_narrower
                }),
            };
        }
        match (&before.data_type, &after.data_type) {
            (
                Plain(T::Decimal { precision, scale }),
                Plain(T::Decimal { precision: to, scale: to_scale }),
            ) => {
                let whole = precision.saturating_sub(*scale);
                let is_wide = to.saturating_sub(*to_scale) >= whole && !loses_sign;
                to_scale >= scale && (is_strict || is_wide)
            }
            (Plain(T::Float), Plain(T::Float | T::Double))
            | (Plain(T::Double), Plain(T::Double)) => {
                let is_same = is_exact
                    && before.digits == after.digits
                    && before.data_type == after.data_type;
                (after.digits.is_none() || is_same) && (is_strict || !loses_sign)
            }
            (Plain(T::Bit { bits }), Plain(T::Bit { bits: to })) => is_strict || to >= bits,
            (Plain(T::Year), Plain(T::Year))
            | (Plain(T::Date), Plain(T::Date | T::DateTime2 { .. })) => true,
            (Plain(T::Time2 { fsp }), Plain(T::Time2 { fsp: to }))
            | (Plain(T::DateTime2 { fsp }), Plain(T::DateTime2 { fsp: to }))
            | (Plain(T::Timestamp2 { fsp }), Plain(T::Timestamp2 { fsp: to })) => to >= fsp,
            // Servers convert an ENUM by its text. Under a strict `sql_mode` no two members are equal in its collation.
            (Enum(members), Enum(to)) => {
                let has_all = || members.iter().all(|member| to.contains(member));
                (to.starts_with(members) || is_strict && has_all()) && self.keep_members(members)
            }
            (Set(members), Set(to)) => to.starts_with(members) && self.keep_members(members),
            (DataType::Geometry(kind), DataType::Geometry(to)) => {
                kind == to || *to == GeometryType::Geometry
            }
            (DataType::Vector { dimension }, DataType::Vector { dimension: to }) => dimension == to,
            (DataType::Json, DataType::Json)
            | (DataType::Uuid, DataType::Uuid)
            | (DataType::Inet4, DataType::Inet4)
            | (DataType::Inet6, DataType::Inet6) => true,
            _ => self.keep_text(),
        }
    }

    /// True if members of an ENUM or SET are the same in the new character set.
    fn keep_members(&self, members: &[String]) -> bool {
        let is_binary = |column: &ColumnDefinition| column.charset.charset == Some(Charset::Binary);
        let is_ascii = members.iter().all(|member| member.is_ascii());
        is_ascii && is_binary(self.before) == is_binary(self.after) || self.keep_characters()
    }

    /// True if all characters of the column before are characters of the column after.
    fn keep_characters(&self) -> bool {
        let (before, after) = (self.before.charset.charset, self.after.charset.charset);
        let is_binary = |charset| charset == Some(Charset::Binary);
        let has_all = matches!(
            after,
            Some(Charset::Utf8mb4 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32)
        );
        before.is_some()
            && is_binary(before) == is_binary(after)
            && (before == after || self.is_strict || has_all)
    }

    /// CHAR, VARCHAR, TEXT and their binary forms.
    fn keep_text(&self) -> bool {
        let Self { before, after, session, .. } = *self;
        if !self.keep_characters() {
            return false;
        }
        let width = |column: &ColumnDefinition| {
            column.charset.charset.map_or(4, Charset::max_char_bytes) as u64
        };
        let is_binary = before.charset.charset == Some(Charset::Binary);
        let is_padded = session.sql_mode & PAD_CHAR_TO_FULL_LENGTH != 0;
        match (&before.data_type, &after.data_type) {
            (
                DataType::Char { length, varying: false },
                DataType::Char { length: to, varying: false },
            ) => to == length || !is_binary && to > length,
            (DataType::Char { length, varying }, DataType::Char { length: to, varying: true }) => {
                to >= length && (*varying || is_binary || !is_padded)
            }
            (
                DataType::Char { length, varying },
                DataType::Text { length_bytes: to, length: to_length },
            ) => {
                text_bytes(*to, *to_length) >= length.saturating_mul(width(after))
                    && (*varying || is_binary || !is_padded)
            }
            (
                DataType::Text { length_bytes, length },
                DataType::Text { length_bytes: to, length: to_length },
            ) => {
                // Without a character set in the statement, the table's own: the text does not grow, unless that is UTF-16.
                let is_utf8 =
                    matches!(before.charset.charset, Some(Charset::Utf8mb3 | Charset::Utf8mb4));
                let keeps_size = before.charset.charset == after.charset.charset
                    || after.charset.charset.is_none() && is_utf8;
                let growth = if keeps_size { 1 } else { width(after) };
                let bytes = text_bytes(*length_bytes, *length);
                text_bytes(*to, *to_length) >= bytes.saturating_mul(growth) || *to == LONG
            }
            _ => false,
        }
    }
}

/// Integers by their size, TINYINT to BIGINT.
fn integer(data_type: &DataType) -> Option<usize> {
    let (DataType::Plain(column_type) | DataType::Integer { column_type, .. }) = data_type else {
        return None;
    };
    match column_type {
        ColumnType::Tiny => Some(0),
        ColumnType::Short => Some(SMALLINT),
        ColumnType::Int24 => Some(2),
        ColumnType::Long => Some(INT),
        ColumnType::LongLong => Some(4),
        _ => None,
    }
}

const SMALLINT: usize = 1;
const INT: usize = 3;

/// The digits of the largest number of an integer.
const DIGITS: [u8; 5] = [3, 5, 8, 10, 20];

/// The longest value of a TEXT or BLOB, in bytes; of TEXT(n), at least.
const fn text_bytes(length_bytes: u8, length: u64) -> u64 {
    match length_bytes {
        0 => length,
        bytes => (1 << (8 * bytes as u64)) - 1,
    }
}

/// The bytes of the length of a LONGTEXT or LONGBLOB.
const LONG: u8 = 4;

/// Bits of `sql_mode`.
const NO_AUTO_VALUE_ON_ZERO: u64 = 1 << 19;
const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
