//! Finds out if a server copies a table for an ALTER TABLE that also gives it another name.
//!
//! MariaDB, and MySQL before 8.0, then give the copy the new name, and remove the old table: foreign keys that refer to it still
//! have the old name, and its own foreign keys are lost. The rules are those of the servers' defaults:
//! <https://dev.mysql.com/doc/refman/5.7/en/innodb-online-ddl-operations.html>,
//! <https://mariadb.com/kb/en/innodb-online-ddl-operations-with-the-inplace-alter-algorithm/>

use super::definition::TableDefinition;
use super::settings::Settings;
use crate::charset::Charset;
use crate::ddl::alter_action::Action;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::data_type::DataType;
use crate::ddl::key::KeyKind;

/// True if the server copies the table. `stated` is what the ALGORITHM of the statement says.
pub(super) fn is_copied(
    stated: Option<bool>,
    actions: &[Action],
    before: &TableDefinition,
    after: &TableDefinition,
    settings: &Settings<'_>,
) -> bool {
    let server = settings.session.server;
    if !server.is_mariadb && server.version >= (8, 0, 0) {
        return false;
    }
    let is_in_place = |from: &str, to: &str| match (column(before, from), column(after, to)) {
        (Some(old), Some(new)) => is_in_place(old, new, settings),
        _ => true,
    };
    let copies = |action: &Action| match action {
        Action::AddColumn { column, .. } => column.expression.is_some(),
        Action::Change { from, column, .. } => !is_in_place(from, &column.name),
        Action::Convert(_) => {
            let mut columns = before.create().columns.iter();
            columns.any(|column| !is_in_place(&column.name, &column.name))
        }
        Action::AddCheck(_) => server.is_mariadb,
        // With foreign_key_checks=1.
        Action::AddKey(key) => key.kind == KeyKind::Foreign,
        Action::Versioning(true) => true,
        _ => false,
    };
    stated.unwrap_or_else(|| actions.iter().any(copies))
}

fn column<'a>(definition: &'a TableDefinition, name: &str) -> Option<&'a ColumnDefinition> {
    let create = definition.create();
    create.column_index(name).and_then(|at| create.columns.get(at))
}

/// True if values of a column need not be converted.
fn is_in_place(old: &ColumnDefinition, new: &ColumnDefinition, settings: &Settings<'_>) -> bool {
    let is_mariadb = settings.is_mariadb();
    let width = |column: &ColumnDefinition| {
        settings.collation_of(column).map_or(1, |own| own.charset().max_char_bytes()) as u64
    };
    let is_type_same = match (&old.data_type, &new.data_type) {
        (
            DataType::Char { length: from, varying: true },
            DataType::Char { length: to, varying: true },
        ) => {
            // MySQL stores the lengths of longer values in two bytes.
            let is_long = |length: u64, column| length.saturating_mul(width(column)) > 255;
            from <= to && (is_mariadb || is_long(*from, old) == is_long(*to, new))
        }
        (DataType::Enum(from), DataType::Enum(to)) | (DataType::Set(from), DataType::Set(to)) => {
            to.starts_with(from)
        }
        // A display width is not stored.
        (
            DataType::Plain(from) | DataType::Integer { column_type: from, .. },
            DataType::Plain(to) | DataType::Integer { column_type: to, .. },
        ) => from == to,
        (from, to) => from == to,
    };
    let charset = |column: &ColumnDefinition| settings.collation_of(column).map(|c| c.charset());
    let is_charset_same = match (charset(old), charset(new)) {
        _ if !is_mariadb => settings.collation_of(old) == settings.collation_of(new),
        (Some(Charset::Utf8mb3), Some(Charset::Utf8mb4)) => true,
        (from, to) => from == to,
    };
    is_type_same
        && is_charset_same
        && (old.unsigned, old.digits) == (new.unsigned, new.digits)
        && old.expression == new.expression
        && (old.auto_increment || !new.auto_increment)
}
