//! Changes of a column's type, and whether the existing values stay.
//!
//! The list contains the changes that keep every value. Any other change of a type counts as a change of values.
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

use crate::charset::Charset;
use crate::ddl::DdlSession;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::data_type::DataType;
use crate::schema::{ColumnType, GeometryType};

pub(super) const NOT_NULL: &str = "becomes NOT NULL, so that NULL becomes another value";
pub(super) const AUTO_INCREMENT: &str = "becomes AUTO_INCREMENT, so that 0 and NULL become numbers";
pub(super) const TYPE: &str = "gets a type that may change values";

/// The reason why values of a column change; `None` if they stay. `is_exact`: `before` is a definition in SQL; otherwise it is
/// from the log, which does not contain all of it.
pub(super) fn change_of(
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

/// True if a column has the same type before and after.
pub(super) fn is_same_type(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
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
                let integer_digits = precision.saturating_sub(*scale);
                let is_wide = to.saturating_sub(*to_scale) >= integer_digits && !loses_sign;
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
