//! A server that is asked about itself: which it is, where its log stands, which files it has.
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

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavor {
    /// MySQL, and those that are made of it.
    Mysql,
    /// MariaDB.
    Mariadb,
}

/// Which server it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Whose.
    pub flavor: Flavor,
    /// Major, minor, patch.
    pub version: (u16, u16, u16),
    /// `server_id`.
    pub server_id: u32,
    /// `server_uuid`, else MariaDB's `server_uid`, else the server id.
    pub id: String,
    /// The meaning of letter case in names of tables.
    pub name_case: NameCase,
}

/// A file of the server's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinlogFile {
    /// Its name.
    pub name: String,
    /// Its bytes; the last file grows.
    pub size: u64,
}

/// A server with a connection to ask it by.
pub struct Server {
    connection: Connection,
    identity: Identity,
}

impl Server {
    /// Connects, logs in, and asks which server it is.
    pub fn open(options: ConnectOptions) -> Result<Self> {
        Self::open_watched(options, drop)
    }

    /// The same; `watch` gets what ends the connection from another thread, while it is made too.
    pub fn open_watched(options: ConnectOptions, watch: impl FnOnce(SocketHandle)) -> Result<Self> {
        let mut connection = Connection::open(options, watch)?;
        // Names of files and tables are any characters.
        connection.query("SET NAMES utf8mb4")?;
        let identity = identify(&mut connection)?;
        Ok(Self { connection, identity })
    }

    /// Which server it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The connection.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// The connection, and which server it is.
    pub(super) fn into_parts(self) -> (Connection, Identity) {
        (self.connection, self.identity)
    }

    /// The GTID position of an offset in MariaDB's log; `None` where it is no transaction's end, and with MySQL, which has no such
    /// function.
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

    /// The file and offset at which its log ends now.
    pub fn end_of_log(&mut self) -> Result<(String, u64)> {
        end_of_log(&self.log_status()?)
    }

    /// The same, and the GTID set that the server shows with it, which may be of an earlier place.
    pub(super) fn end_and_gtids(&mut self) -> Result<((String, u64), GtidSet)> {
        let row = self.log_status()?;
        Ok((end_of_log(&row)?, gtids(cell(&row, 4).unwrap_or_default())?))
    }

    /// By GTID, all that its log had until now; `None` where it does not number transactions so.
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

    /// Whether a dump may begin at an offset of 4 GiB or more: of MySQL, where it has GTIDs.
    pub fn takes_large_offsets(&mut self) -> Result<bool> {
        Ok(self.identity.flavor == Flavor::Mysql && self.has_gtids()?)
    }

    /// Whether all new transactions have GTIDs.
    pub(super) fn has_gtids(&mut self) -> Result<bool> {
        match self.identity.flavor {
            Flavor::Mariadb => Ok(true),
            Flavor::Mysql => {
                let mode = self.connection.query_value("SELECT @@global.gtid_mode")?;
                Ok(mode.is_some_and(|mode| mode.eq_ignore_ascii_case("ON")))
            }
        }
    }

    /// `binlog_do_db` and `binlog_ignore_db`: lists of databases whose changes are all that it logs, or that it does not log.
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
    // The greeting's version may be a proxy's.
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
        .map_err(|_| Error::malformed("the server's server_id is no number of 32 bits"))?;
    Ok(Identity { flavor, version, server_id, id, name_case })
}

/// File and offset of SHOW BINARY LOG STATUS.
fn end_of_log(row: &TextRow) -> Result<(String, u64)> {
    let file = cell(row, 0).unwrap_or_default().to_owned();
    Ok((file, number(row, 1, "the offset of the log's end")?))
}

pub(super) fn cell(row: &TextRow, index: usize) -> Option<&str> {
    row.get(index)?.as_deref()
}

/// GTIDs as the server prints them.
pub(super) fn gtids<T: FromStr<Err = Error>>(text: &str) -> Result<T> {
    text.parse().map_err(|error: Error| error.of_kind(ErrorKind::Malformed))
}

pub(super) fn number(row: &TextRow, index: usize, what: &str) -> Result<u64> {
    let text = cell(row, index).unwrap_or_default();
    text.parse().map_err(|_| Error::malformed(format!("{what} is no number")))
}

pub(super) fn no_log() -> Error {
    Error::new(ErrorKind::Server, "the server writes no binary log: start it with log_bin")
}

fn needs_privilege(error: Error) -> Error {
    match error.server_code() {
        Some(ACCESS_DENIED_FOR_OPERATION) => error.advise(
            "GRANT REPLICATION CLIENT (MariaDB: BINLOG MONITOR) ON *.* TO the user lets it ask",
        ),
        _ => error,
    }
}

/// A privilege is missing.
pub(super) const ACCESS_DENIED_FOR_OPERATION: u16 = 1227;
const NO_BINARY_LOGGING: u16 = 1381;
