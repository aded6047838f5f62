//! Queries to a server about itself: its identity, the end of its log, its files.
//!
//! <https://dev.mysql.com/doc/refman/en/show-binary-log-status.html>, <https://dev.mysql.com/doc/refman/en/show-binary-logs.html>,
//! <https://mariadb.com/docs/server/reference/sql-statements/administrative-sql-statements/show/show-binlog-status>

use super::connection::Connection;
use super::options::ConnectOptions;
use super::socket::SocketHandle;
use crate::error::{Error, ErrorKind, Result};
use crate::position::{GtidSet, GtidState};
use crate::protocol::TextRow;
use crate::schema::NameCase;
use std::str::FromStr;

/// The product family of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavor {
    /// MySQL, and servers derived from it.
    Mysql,
    /// MariaDB.
    Mariadb,
}

/// The identity of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The product family.
    pub flavor: Flavor,
    /// Major, minor, patch.
    pub version: (u16, u16, u16),
    /// `server_id`.
    pub server_id: u32,
    /// `server_uuid`; if there is none, MariaDB's `server_uid`; otherwise the server id.
    pub id: String,
    /// The meaning of letter case in names of tables.
    pub name_case: NameCase,
}

/// A file of the server's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinlogFile {
    /// Its name.
    pub name: String,
    /// Its number of bytes; the last file grows.
    pub size: u64,
}

/// A server, with a connection for queries.
pub struct Server {
    connection: Connection,
    identity: Identity,
}

impl Server {
    /// Connects, logs in, and queries the identity of the server.
    pub fn open(options: ConnectOptions) -> Result<Self> {
        Self::open_watched(options, drop)
    }

    /// Like [`Self::open`]; `watch` receives a handle that ends the connection from another thread,
    /// even while connecting.
    pub fn open_watched(options: ConnectOptions, watch: impl FnOnce(SocketHandle)) -> Result<Self> {
        let mut connection = Connection::open(options, watch)?;
        // Names of files and tables may contain any characters.
        connection.query("SET NAMES utf8mb4")?;
        let identity = identify(&mut connection)?;
        Ok(Self { connection, identity })
    }

    /// The identity of the server.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The connection.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Returns the connection and the identity of the server.
    pub(super) fn into_parts(self) -> (Connection, Identity) {
        (self.connection, self.identity)
    }

    /// Returns the GTID position of an offset in MariaDB's log; `None` if no transaction ends
    /// there, and for MySQL, which has no such function.
    ///
    /// <https://mariadb.com/docs/server/reference/sql-functions/secondary-functions/miscellaneous-functions/binlog_gtid_pos>
    pub fn gtids_at(&mut self, file: &str, offset: u64) -> Result<Option<GtidState>> {
        if self.identity.flavor == Flavor::Mysql {
            return Ok(None);
        }
        let file = file.replace('\\', "\\\\").replace('\'', "''");
        let sql = format!("SELECT BINLOG_GTID_POS('{file}', {offset})");
        let position = self.connection.query_value(&sql)?;
        position.map(|text| Ok(GtidState::Mariadb(gtids(&text)?))).transpose()
    }

    /// The time of its clock, in microseconds since 1970 UTC.
    pub fn clock(&mut self) -> Result<i64> {
        let sql = "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)";
        let now = self.connection.query_value(sql)?.and_then(|now| now.parse().ok());
        now.ok_or_else(|| Error::malformed("the server's clock is not a number"))
    }

    /// The file and the offset of the current end of its log.
    pub fn end_of_log(&mut self) -> Result<(String, u64)> {
        end_of_log(&self.log_status()?)
    }

    /// The current end of the log, and the GTID set that the server shows with it, which may belong
    /// to an earlier position.
    pub(super) fn end_and_gtids(&mut self) -> Result<((String, u64), GtidSet)> {
        let row = self.log_status()?;
        Ok((end_of_log(&row)?, gtids(cell(&row, 4).unwrap_or_default())?))
    }

    /// The GTIDs of all transactions in its log until now; `None` if the server does not assign
    /// GTIDs.
    pub fn executed(&mut self) -> Result<Option<GtidState>> {
        if !self.has_gtids()? {
            return Ok(None);
        }
        Ok(match self.identity.flavor {
            Flavor::Mysql => {
                let set = self.connection.query_value("SELECT @@global.gtid_executed")?;
                Some(GtidState::Mysql(gtids(&set.unwrap_or_default())?))
            }
            Flavor::Mariadb => {
                let position = self.connection.query_value("SELECT @@global.gtid_binlog_pos")?;
                Some(GtidState::Mariadb(gtids(&position.unwrap_or_default())?))
            }
        })
    }

    /// True if a dump may begin at an offset of 4 GiB or more: for MySQL, this requires GTIDs.
    pub fn takes_large_offsets(&mut self) -> Result<bool> {
        Ok(self.identity.flavor == Flavor::Mysql && self.has_gtids()?)
    }

    /// True if all new transactions have GTIDs.
    pub(crate) fn has_gtids(&mut self) -> Result<bool> {
        match self.identity.flavor {
            Flavor::Mariadb => Ok(true),
            Flavor::Mysql => {
                let mode = self.connection.query_value("SELECT @@global.gtid_mode")?;
                Ok(mode.is_some_and(|mode| mode.eq_ignore_ascii_case("ON")))
            }
        }
    }

    /// `binlog_do_db` and `binlog_ignore_db`: the lists of databases whose changes are the only
    /// ones logged, or are not logged.
    pub fn database_filters(&mut self) -> Result<Vec<String>> {
        let row = self.log_status()?;
        let lists = [2, 3].into_iter().filter_map(|index| cell(&row, index));
        Ok(lists.filter(|list| !list.is_empty()).map(str::to_owned).collect())
    }

    fn log_status(&mut self) -> Result<TextRow> {
        let is_new = self.identity.flavor == Flavor::Mysql && self.identity.version >= (8, 2, 0);
        let sql = if is_new { "SHOW BINARY LOG STATUS" } else { "SHOW MASTER STATUS" };
        let rows = self.connection.query(sql).map_err(needs_privilege)?;
        rows.into_iter().next().ok_or_else(no_log)
    }

    /// The files of its log, in order.
    pub fn binlogs(&mut self) -> Result<Vec<BinlogFile>> {
        let rows = self.connection.query("SHOW BINARY LOGS").map_err(|error| {
            match error.server_code() {
                Some(NO_BINARY_LOGGING) => no_log(),
                _ => needs_privilege(error),
            }
        })?;
        rows.iter()
            .map(|row| {
                let name = cell(row, 0).unwrap_or_default().to_owned();
                Ok(BinlogFile { name, size: number(row, 1, "the size of a log file")? })
            })
            .collect()
    }
}

fn identify(connection: &mut Connection) -> Result<Identity> {
    // The version in the greeting may be that of a proxy.
    let version = connection.query_value("SELECT VERSION()")?.unwrap_or_default();
    let flavor = match version.contains("MariaDB") {
        true => Flavor::Mariadb,
        false => Flavor::Mysql,
    };
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    let mut part = || parts.next().flatten().unwrap_or_default();
    let version = (part(), part(), part());
    let server_id = connection.query_value("SELECT @@global.server_id")?.unwrap_or_default();
    let rows = connection.query(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'lower_case_table_names')",
    )?;
    let value = |name| {
        let row = rows.iter().find(|row| cell(row, 0) == Some(name))?;
        cell(row, 1).filter(|value| !value.is_empty())
    };
    let id = value("server_uuid").or(value("server_uid")).unwrap_or(&server_id).to_owned();
    let case = value("lower_case_table_names").and_then(|case| case.parse().ok());
    let name_case = case.map_or(NameCase::Unknown, NameCase::of);
    let server_id = server_id
        .parse()
        .map_err(|_| Error::malformed("the server's server_id is not a 32-bit number"))?;
    Ok(Identity { flavor, version, server_id, id, name_case })
}

/// File and offset from SHOW BINARY LOG STATUS.
fn end_of_log(row: &TextRow) -> Result<(String, u64)> {
    let file = cell(row, 0).unwrap_or_default().to_owned();
    Ok((file, number(row, 1, "the offset of the log's end")?))
}

pub(super) fn cell(row: &TextRow, index: usize) -> Option<&str> {
    row.get(index)?.as_deref()
}

/// Parses GTIDs as the server prints them.
pub(super) fn gtids<T: FromStr<Err = Error>>(text: &str) -> Result<T> {
    text.parse().map_err(|error: Error| error.of_kind(ErrorKind::Malformed))
}

pub(super) fn number(row: &TextRow, index: usize, what: &str) -> Result<u64> {
    let text = cell(row, index).unwrap_or_default();
    text.parse().map_err(|_| Error::malformed(format!("{what} is not a number")))
}

pub(super) fn no_log() -> Error {
    Error::new(ErrorKind::Server, "the server writes no binary log: start it with log_bin")
}

fn needs_privilege(error: Error) -> Error {
    match error.server_code() {
        Some(ACCESS_DENIED_FOR_OPERATION) => error.advise(
            "GRANT REPLICATION CLIENT (MariaDB: BINLOG MONITOR) ON *.* TO the user permits this query",
        ),
        _ => error,
    }
}

/// A privilege is missing.
pub(super) const ACCESS_DENIED_FOR_OPERATION: u16 = 1227;
const NO_BINARY_LOGGING: u16 = 1381;
