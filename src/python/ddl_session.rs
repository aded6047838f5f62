//! The session of a statement, from keywords: server, SQL mode, character set, collation.

use crate::charset::{Charset, Collation};
use crate::ddl::{DdlSession, SqlServer};
use crate::error::{Error, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// `sql_mode`, in the form that the server prints, or as a number.
#[derive(Default)]
pub(super) struct SqlModeKeyword(u64);

impl<'py> FromPyObject<'_, 'py> for SqlModeKeyword {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bits) = value.extract::<u64>() {
            return Ok(Self(bits));
        }
        let text = value.extract::<String>().map_err(|_| {
            PyTypeError::new_err("sql_mode is a str such as 'ANSI_QUOTES', or a number")
        })?;
        Ok(Self(bits(&text)?))
    }
}

fn bits(text: &str) -> Result<u64> {
    let mut all = 0;
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let known = MODES.iter().find(|(mode, _)| mode.eq_ignore_ascii_case(name));
        let (_, bits) =
            known.ok_or_else(|| Error::config(format!("sql_mode: no server has {name:?}")))?;
        all |= bits;
    }
    Ok(all)
}

/// The session of a statement. `server` is the result of `server()`, or that of the history.
pub(super) fn session(
    server: SqlServer,
    sql_mode: &SqlModeKeyword,
    charset: Option<&str>,
    default_collation: Option<&str>,
) -> Result<DdlSession> {
    let mut session = DdlSession::new(server);
    session.sql_mode = sql_mode.0;
    session.client = charset
        .map(|name| {
            let charset = Charset::from_name(name);
            let collation = charset
                .and_then(|charset| charset.default_collation(server.is_mariadb, server.version));
            collation.ok_or_else(|| {
                Error::config(format!("charset: no character set has the name {name:?}"))
            })
        })
        .transpose()?;
    session.server_collation = default_collation
        .map(|name| {
            let collation = Collation::from_name(name, None, server.is_mariadb);
            collation.ok_or_else(|| {
                Error::config(format!("default_collation: no collation has the name {name:?}"))
            })
        })
        .transpose()?;
    Ok(session)
}

/// Parses `mysql-8.4` or `mariadb-11.8.2`; without a number it is a current version.
pub(super) fn server(text: &str) -> Result<SqlServer> {
    let unknown = || {
        Error::config(format!(
            "⟦server={text}⟧: 'mysql' or 'mariadb' is needed, with its version: 'mysql-8.4', 'mariadb-11.8'"
        ))
    };
    let (name, version) = text.split_once('-').unwrap_or((text, ""));
    let is_mariadb = match name.to_ascii_lowercase().as_str() {
        "mysql" => false,
        "mariadb" => true,
        _ => return Err(unknown()),
    };
    if version.is_empty() {
        return Ok(if is_mariadb { MARIADB_OF_TODAY } else { MYSQL_OF_TODAY });
    }
    // The text after the numbers belongs to a distribution.
    let numbers =
        version.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap_or_default();
    let mut parts = numbers.split('.').map(str::parse::<u16>);
    let major = parts.next().and_then(Result::ok).ok_or_else(unknown)?;
    let mut part = || parts.next().map_or(Ok(0), |part| part.map_err(|_| unknown()));
    Ok(SqlServer { is_mariadb, version: (major, part()?, part()?) })
}

/// The server if the caller does not specify one.
pub(super) const MYSQL_OF_TODAY: SqlServer = SqlServer { is_mariadb: false, version: (9, 7, 0) };
const MARIADB_OF_TODAY: SqlServer = SqlServer { is_mariadb: true, version: (11, 8, 0) };

/// <https://dev.mysql.com/doc/refman/en/sql-mode.html>, <https://mariadb.com/kb/en/sql-mode/>; the
/// bits are those in the Query event.
const MODES: [(&str, u64); 36] = [
    ("REAL_AS_FLOAT", 1),
    ("PIPES_AS_CONCAT", 1 << 1),
    ("ANSI_QUOTES", 1 << 2),
    ("IGNORE_SPACE", 1 << 3),
    ("IGNORE_BAD_TABLE_OPTIONS", 1 << 4),
    ("ONLY_FULL_GROUP_BY", 1 << 5),
    ("NO_UNSIGNED_SUBTRACTION", 1 << 6),
    ("NO_DIR_IN_CREATE", 1 << 7),
    // Modes that include others: a server prints these in addition.
    ("POSTGRESQL", 1 << 8 | 0b1110),
    ("ORACLE", 1 << 9 | 0b1110),
    ("MSSQL", 1 << 10 | 0b1110),
    ("DB2", 1 << 11 | 0b1110),
    ("MAXDB", 1 << 12 | 0b1110),
    ("NO_KEY_OPTIONS", 1 << 13),
    ("NO_TABLE_OPTIONS", 1 << 14),
    ("NO_FIELD_OPTIONS", 1 << 15),
    ("MYSQL323", 1 << 16),
    ("MYSQL40", 1 << 17),
    ("ANSI", 1 << 18 | 0b10_1111),
    ("NO_AUTO_VALUE_ON_ZERO", 1 << 19),
    ("NO_BACKSLASH_ESCAPES", 1 << 20),
    ("STRICT_TRANS_TABLES", 1 << 21),
    ("STRICT_ALL_TABLES", 1 << 22),
    ("NO_ZERO_IN_DATE", 1 << 23),
    ("NO_ZERO_DATE", 1 << 24),
    ("ALLOW_INVALID_DATES", 1 << 25),
    ("ERROR_FOR_DIVISION_BY_ZERO", 1 << 26),
    ("TRADITIONAL", 1 << 27),
    ("NO_AUTO_CREATE_USER", 1 << 28),
    ("HIGH_NOT_PRECEDENCE", 1 << 29),
    ("NO_ENGINE_SUBSTITUTION", 1 << 30),
    ("PAD_CHAR_TO_FULL_LENGTH", 1 << 31),
    ("EMPTY_STRING_IS_NULL", 1 << 32),
    ("SIMULTANEOUS_ASSIGNMENT", 1 << 33),
    ("TIME_ROUND_FRACTIONAL", 1 << 34),
    ("TIME_TRUNCATE_FRACTIONAL", 1 << 32),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_bits() {
        assert_eq!(bits("").unwrap(), 0);
        assert_eq!(bits("ansi_quotes, NO_BACKSLASH_ESCAPES").unwrap(), 1 << 20 | 4);
        assert_eq!(bits("ANSI").unwrap() & 4, 4);
        assert!(bits("ANSY").unwrap_err().message().contains("ANSY"));
    }

    #[test]
    fn servers_by_name() {
        let of = |text: &str| server(text).map(|server| (server.is_mariadb, server.version)).ok();
        assert_eq!(of("mysql-8.4"), Some((false, (8, 4, 0))));
        assert_eq!(of("MariaDB-11.8.9-MariaDB-log"), Some((true, (11, 8, 9))));
        assert_eq!(of("mysql"), Some((false, (9, 7, 0))));
        assert_eq!(of("mysql-8"), Some((false, (8, 0, 0))));
        for text in ["", "postgres-9", "mysql-x", "mysql-8.99999", "mysql-."] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
