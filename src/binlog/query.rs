//! Query_event: a statement and the settings with which it was executed.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Query__event.html>
//!
//! ```text
//! thread id 4 | exec time 4 | database length 1 | error code 2 | variables length 2
//! | status variables { code 1, value } ... | database, NUL | statement
//! ```

use crate::binlog::query_kind::QueryKind;
use crate::binlog::{Compressed, EventType};
use crate::error::DecodeError;
use crate::wire::{Inflater, Reader, Result};

/// A statement. In MariaDB's Query_compressed event, `sql` is compressed until [`Query::inflate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// The connection that executed it.
    pub thread_id: u32,
    /// The duration in seconds.
    pub exec_time: u32,
    /// The error with which it ended; usually 0.
    pub error_code: u16,
    /// The default database.
    pub database: &'a [u8],
    /// The text, in the client's character set.
    pub sql: &'a [u8],
    /// The settings, not decoded.
    status_variables: &'a [u8],
}

impl<'a> Query<'a> {
    /// Decodes a body without its checksum.
    pub fn decode(body: &'a [u8]) -> Result<Self> {
        Self::decode_with(body, 0)
    }

    /// Decodes the body of an Execute_load_query event: `LOAD DATA`, logged as text.
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Execute__load__query__event.html>
    pub fn decode_load(body: &'a [u8]) -> Result<Self> {
        // file id 4 | start and end of the file name in the text 4, 4 | REPLACE or IGNORE 1
        Self::decode_with(body, 13)
    }

    /// `more`: the number of bytes of the post-header after those of a Query event.
    fn decode_with(body: &'a [u8], more: usize) -> Result<Self> {
        let mut reader = Reader::new(body);
        let thread_id = reader.u32("query thread id")?;
        let exec_time = reader.u32("query exec time")?;
        let database_len = reader.u8("query database length")?;
        let error_code = reader.u16("query error code")?;
        let variables_len = reader.u16("query status variables length")?;
        reader.take(more, "load query post-header")?;
        let status_variables = reader.take(usize::from(variables_len), "query status variables")?;
        let database = reader.take(usize::from(database_len), "query database")?;
        match reader.u8("end of query database")? {
            0 => {}
            value => {
                let value = u64::from(value);
                return Err(DecodeError::Invalid { what: "end of query database", value });
            }
        }
        let sql = reader.rest();
        Ok(Self { thread_id, exec_time, error_code, database, sql, status_variables })
    }

    /// Returns the event with plain text: inflates the text if the event's type means that it is
    /// compressed.
    pub fn inflate<'i>(self, event_type: EventType, inflater: &'i mut Inflater) -> Result<Query<'i>>
    where
        'a: 'i,
    {
        if !event_type.is_mariadb_compressed() {
            return Ok(self);
        }
        let sql = Compressed::decode(self.sql)?.inflate(inflater, "the compressed statement")?;
        Ok(Query { sql, ..self })
    }

    /// Iterates over the settings. Codes from 128 on have one meaning in MariaDB and others
    /// elsewhere.
    pub const fn status_variables(&self, is_mariadb: bool) -> StatusVariables<'a> {
        StatusVariables { reader: Reader::new(self.status_variables), is_mariadb }
    }

    /// The effect of the statement on the transaction.
    pub fn kind(&self) -> QueryKind {
        QueryKind::of(self.sql)
    }
}

/// A setting with which the statement was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatusVariable<'a> {
    /// Bits of `OPTION_AUTO_IS_NULL` and others.
    Flags2(u32),
    /// Bits of `sql_mode`.
    SqlMode(u64),
    /// The catalog, always `std`.
    Catalog(&'a [u8]),
    /// `auto_increment_increment` and `auto_increment_offset`, if they are not 1.
    AutoIncrement {
        /// The increment.
        increment: u16,
        /// The offset.
        offset: u16,
    },
    /// Collation ids.
    Charset {
        /// `character_set_client`: the character set of the statement's text.
        client: u16,
        /// `collation_connection`.
        connection: u16,
        /// `collation_server`.
        server: u16,
    },
    /// `time_zone`, if the statement depends on it.
    TimeZone(&'a [u8]),
    /// The number of `lc_time_names`.
    LcTimeNames(u16),
    /// The collation id of the default database.
    CharsetDatabase(u16),
    /// The tables that a multi-table update changes, as bits.
    TableMapForUpdate(u64),
    /// The number of bytes of the event on the first source.
    MasterDataWritten(u32),
    /// The account of `DEFINER`.
    Invoker {
        /// Its name.
        user: &'a [u8],
        /// Its host.
        host: &'a [u8],
    },
    /// The names of the databases that the statement changes, each followed by NUL; `None` if they
    /// are too many for the list.
    UpdatedDatabases(Option<&'a [u8]>),
    /// The microseconds of the header's timestamp.
    Microseconds(u32),
    /// `explicit_defaults_for_timestamp`
    ExplicitDefaultsForTimestamp(bool),
    /// The transaction number of the DDL's commit, as in a Xid event.
    DdlXid(u64),
    /// `default_collation_for_utf8mb4`
    DefaultCollationForUtf8mb4(u16),
    /// `sql_require_primary_key`
    SqlRequirePrimaryKey(u8),
    /// `default_table_encryption`
    DefaultTableEncryption(u8),
    /// MariaDB: the microseconds of the header's timestamp.
    MariadbHrNow(u32),
    /// MariaDB: the transaction number of the DDL's commit.
    MariadbXid(u64),
    /// MariaDB: flags of the GTID event, with the group that started a two-phase ALTER TABLE.
    MariadbGtidFlags {
        /// The flags.
        flags: u8,
        /// The sequence number of the group in which the ALTER started.
        start_alter_seq: Option<u64>,
    },
    /// MariaDB: pairs of the ids of a character set and of its default collation, 2 bytes each.
    MariadbCharsetCollations(&'a [u8]),
    /// A setting that is not needed here.
    Other {
        /// Its code.
        code: u8,
    },
}

/// Iterates over the settings of a [`Query`]. Ends early at an unknown code or an incomplete value:
/// the text does not depend on them.
#[derive(Debug, Clone)]
pub struct StatusVariables<'a> {
    reader: Reader<'a>,
    is_mariadb: bool,
}

impl<'a> StatusVariables<'a> {
    /// The number of bytes that are not read yet. If it is more than 0 at the end of the iteration,
    /// the iteration ended early.
    pub const fn left(&self) -> usize {
        self.reader.left()
    }
}

impl<'a> Iterator for StatusVariables<'a> {
    type Item = StatusVariable<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.reader;
        let variable = decode_variable(&mut reader, self.is_mariadb).ok().flatten()?;
        self.reader = reader;
        Some(variable)
    }
}

/// Returns the next variable; `None` at the end, and at an unknown code.
fn decode_variable<'a>(
    reader: &mut Reader<'a>,
    is_mariadb: bool,
) -> Result<Option<StatusVariable<'a>>> {
    use StatusVariable as V;
    if reader.is_empty() {
        return Ok(None);
    }
    let what = "status variable";
    let code = reader.u8(what)?;
    Ok(Some(match code {
        0 => V::Flags2(reader.u32(what)?),
        1 => V::SqlMode(reader.u64(what)?),
        2 => {
            let catalog = len8_str(reader)?;
            reader.u8(what)?; // its NUL
            V::Catalog(catalog)
        }
        3 => V::AutoIncrement { increment: reader.u16(what)?, offset: reader.u16(what)? },
        4 => V::Charset {
            client: reader.u16(what)?,
            connection: reader.u16(what)?,
            server: reader.u16(what)?,
        },
        5 => V::TimeZone(len8_str(reader)?),
        6 => V::Catalog(len8_str(reader)?),
        7 => V::LcTimeNames(reader.u16(what)?),
        8 => V::CharsetDatabase(reader.u16(what)?),
        9 => V::TableMapForUpdate(reader.u64(what)?),
        10 => V::MasterDataWritten(reader.u32(what)?),
        11 => V::Invoker { user: len8_str(reader)?, host: len8_str(reader)? },
        12 => match reader.u8(what)? {
            TOO_MANY_DATABASES => V::UpdatedDatabases(None),
            count => V::UpdatedDatabases(Some(nul_strs(reader, count)?)),
        },
        13 => V::Microseconds(reader.u24(what)?),
        16 => V::ExplicitDefaultsForTimestamp(reader.u8(what)? != 0),
        17 => V::DdlXid(reader.u64(what)?),
        18 => V::DefaultCollationForUtf8mb4(reader.u16(what)?),
        19 => V::SqlRequirePrimaryKey(reader.u8(what)?),
        20 => V::DefaultTableEncryption(reader.u8(what)?),
        // 21 is Percona's "do not rewrite DDL", 128 the wsrep flag of its XtraDB Cluster
        21 => one_byte(reader, code)?,
        128 if !is_mariadb => one_byte(reader, code)?,
        128 => V::MariadbHrNow(reader.u24(what)?),
        129 if is_mariadb => V::MariadbXid(reader.u64(what)?),
        130 if is_mariadb => {
            let flags = reader.u8(what)?;
            let start_alter_seq = match flags & GTID_ENDS_ALTER {
                0 => None,
                _ => Some(reader.u64(what)?),
            };
            V::MariadbGtidFlags { flags, start_alter_seq }
        }
        131 if is_mariadb => {
            let count = reader.u8(what)?;
            V::MariadbCharsetCollations(reader.take(usize::from(count) * 4, what)?)
        }
        _ => return Ok(None),
    }))
}

fn len8_str<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8]> {
    let len = reader.u8("status variable")?;
    reader.take(usize::from(len), "status variable")
}

/// Returns `count` texts that each end with NUL, as they are stored.
fn nul_strs<'a>(reader: &mut Reader<'a>, count: u8) -> Result<&'a [u8]> {
    let start = reader.as_slice();
    for _ in 0..count {
        reader.nul_str("status variable")?;
    }
    Reader::new(start).take(start.len() - reader.left(), "status variable")
}

fn one_byte<'a>(reader: &mut Reader<'a>, code: u8) -> Result<StatusVariable<'a>> {
    reader.u8("status variable")?;
    Ok(StatusVariable::Other { code })
}

/// The count that means more than 16 databases (`OVER_MAX_DBS_IN_EVENT_MTS`).
const TOO_MANY_DATABASES: u8 = 254;

/// The group commits or rolls back a two-phase ALTER TABLE (`FL_COMMIT_ALTER_E1`, `FL_ROLLBACK_ALTER_E1`).
const GTID_ENDS_ALTER: u8 = 0x0c;

#[cfg(test)]
mod tests {
    use super::*;
    use StatusVariable as V;

    fn body(variables: &[u8], database: &[u8], sql: &[u8]) -> Vec<u8> {
        let mut body = vec![8, 0, 0, 0, 1, 0, 0, 0, database.len() as u8, 5, 0];
        body.extend((variables.len() as u16).to_le_bytes());
        body.extend(variables);
        body.extend(database);
        body.push(0);
        body.extend(sql);
        body
    }

    fn variables(bytes: &[u8], is_mariadb: bool) -> (Vec<V<'_>>, usize) {
        let mut iter = StatusVariables { reader: Reader::new(bytes), is_mariadb };
        let all = iter.by_ref().collect();
        (all, iter.left())
    }

    #[test]
    fn parts() {
        let body = body(b"\0\x01\0\0\0", b"shop", b"BEGIN");
        let query = Query::decode(&body).unwrap();
        assert_eq!((query.thread_id, query.exec_time, query.error_code), (8, 1, 5));
        assert_eq!((query.database, query.sql), (&b"shop"[..], &b"BEGIN"[..]));
        assert_eq!(query.status_variables(false).collect::<Vec<_>>(), [V::Flags2(1)]);
        assert_eq!(query.kind(), QueryKind::Begin);
        for end in 0..body.len() - 5 {
            assert!(Query::decode(&body[..end]).is_err());
        }
    }

    #[test]
    fn all_variables() {
        let bytes = b"\0\x01\0\0\0\x01\x20\0\0\0\0\0\0\x01\x02\x03std\0\x03\x02\0\x01\0\x04\x2d\0\x2d\0\xff\0\
            \x05\x03UTC\x06\x03std\x07\x01\0\x08\xff\0\x09\x01\0\0\0\0\0\0\0\x0a\x09\0\0\0\
            \x0b\x01u\x02hh\x0c\x02a\0bc\0\x0c\xfe\x0d\x40\xe2\x01\x10\x01\x11\x09\0\0\0\0\0\0\0\
            \x12\xff\0\x13\x01\x14\0\x15\x01\x80\x01";
        let (all, left) = variables(bytes, false);
        assert_eq!(left, 0);
        assert_eq!(
            all,
            [
                V::Flags2(1),
                V::SqlMode(1 << 56 | 0x20),
                V::Catalog(b"std"),
                V::AutoIncrement { increment: 2, offset: 1 },
                V::Charset { client: 45, connection: 45, server: 255 },
                V::TimeZone(b"UTC"),
                V::Catalog(b"std"),
                V::LcTimeNames(1),
                V::CharsetDatabase(255),
                V::TableMapForUpdate(1),
                V::MasterDataWritten(9),
                V::Invoker { user: b"u", host: b"hh" },
                V::UpdatedDatabases(Some(b"a\0bc\0")),
                V::UpdatedDatabases(None),
                V::Microseconds(123_456),
                V::ExplicitDefaultsForTimestamp(true),
                V::DdlXid(9),
                V::DefaultCollationForUtf8mb4(255),
                V::SqlRequirePrimaryKey(1),
                V::DefaultTableEncryption(0),
                V::Other { code: 21 },
                V::Other { code: 128 },
            ]
        );
    }

    #[test]
    fn mariadb_variables() {
        let bytes = b"\x80\x40\xe2\x01\x81\x09\0\0\0\0\0\0\0\x82\x02\x82\x04\x07\0\0\0\0\0\0\0\
            \x83\x01\x21\0\xe0\0";
        assert_eq!(
            variables(bytes, true),
            (
                vec![
                    V::MariadbHrNow(123_456),
                    V::MariadbXid(9),
                    V::MariadbGtidFlags { flags: 2, start_alter_seq: None },
                    V::MariadbGtidFlags { flags: 4, start_alter_seq: Some(7) },
                    V::MariadbCharsetCollations(&[0x21, 0, 0xe0, 0]),
                ],
                0
            )
        );
    }

    #[test]
    fn bad_variables_do_not_hide_the_text() {
        for bad in [
            &b"\0\x01\0\0\0\x63\x01\x02"[..], // unknown code
            b"\0\x01\0\0\0\x05\x09UTC",       // cut
            b"\0\x01\0\0\0\x0c\x02a\0b",      // cut list of names
            b"\0\x01\0\0\0\x0c\xff",
        ] {
            let body = body(bad, b"db", b"COMMIT");
            let query = Query::decode(&body).unwrap();
            assert_eq!(query.sql, b"COMMIT");
            let mut iter = query.status_variables(false);
            assert_eq!(iter.by_ref().collect::<Vec<_>>(), [V::Flags2(1)]);
            assert!(iter.left() > 0 && iter.next().is_none());
        }
    }

    #[test]
    fn lengths_that_do_not_fit() {
        let mut body = body(b"", b"db", b"");
        body[11] = 200;
        assert!(Query::decode(&body).is_err());
        body[11] = 0;
        body[8] = 1;
        assert!(Query::decode(&body).is_err());
    }
}
