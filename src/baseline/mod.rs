//! A baseline: the structures of a server's tables, and the position of the log at which the tables
//! have these structures.
//!
//! Input: a connection. Output: a script of CREATE DATABASE and CREATE TABLE statements, as SHOW
//! CREATE TABLE prints them, and its position. Called by `source` for an empty history, and by
//! `python::history`.
//!
//! No lock is taken. The structures are read between two positions of the log, and then the log
//! between the two is searched: tables that a statement in it may have changed are read again,
//! until the log contains no such statement.
//!
//! | file | does |
//! |---|---|
//! | `structures.rs` | queries the structures |
//! | `shown_table.rs` | queries one table |
//! | `table_now.rs` | queries one table, and the metadata that the log will contain |
//! | `touched.rs` | finds the tables that statements between two positions of the log may change |
//!
//! <https://dev.mysql.com/doc/refman/en/show-create-table.html>, <https://mariadb.com/kb/en/show-create-table/>

mod foreign_keys;
mod shown_table;
mod structures;
mod table_now;
mod touched;

use crate::cancel::CancelToken;
use crate::change::TableFilter;
use crate::ddl::{DdlSession, SqlServer, TableName};
use crate::error::{Error, ErrorKind, Result};
use crate::history::{Baseline as HistoryBaseline, Schemas};
use crate::net::{Flavor, Server};
use crate::position::Position;
pub use foreign_keys::foreign_keys;
pub use shown_table::ShownTable;
use structures::Structures;
pub use structures::selects_database;
pub use table_now::TableNow;
use touched::Touched;

/// The structures of a server's tables at one position of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// CREATE DATABASE, USE and CREATE TABLE statements, in UTF-8; quotes and backslashes as `sql_mode=''` reads them.
    pub script: String,
    /// The position at which the tables have these structures: the end of the log when the last
    /// structure was read.
    pub position: Position,
    /// The time of that position by the server's clock, in microseconds since 1970 UTC.
    pub timestamp: i64,
    /// The server whose SQL the script contains.
    pub server: SqlServer,
    /// `lower_case_table_names`: 0 if names that differ in letter case are different names.
    pub lower_case_table_names: u8,
    /// The number of tables in the script.
    pub tables: usize,
    /// Tables whose structure the server does not return, each with the reason.
    pub missing: Vec<(TableName, String)>,
    /// True if the account can see all tables; `None` if it has roles that may permit this.
    pub sees_all: Option<bool>,
}

/// The options of a baseline.
#[derive(Debug, Clone)]
pub struct BaselineOptions {
    /// The tables to read. Those of `mysql`, `sys`, `information_schema` and `performance_schema`
    /// are included only if a pattern contains the name of the database without a wildcard.
    pub tables: TableFilter,
    /// The server id for reading the log. No other replica or reader may have it.
    pub server_id: u32,
}

impl Baseline {
    /// Reads the structures over a connection that is not used otherwise. `cancel` is checked
    /// between tables.
    ///
    /// # Errors
    /// The server has no binary log; the account may not query its end, or may not read it; the
    /// tables change faster than they are read; a transaction takes too long to commit; `cancel` is
    /// cancelled.
    pub fn take(
        server: &mut Server,
        options: &BaselineOptions,
        cancel: &CancelToken,
    ) -> Result<Self> {
        structures::prepare(server)?;
        let mut structures = Structures::new(server, &options.tables)?;
        // All DDL before it is visible: MySQL logs CREATE TABLE a moment before other sessions see the table.
        let mut place = server.position_in_file()?;
        let mut touched = Touched::Everything;
        for _ in 0..MAX_ROUNDS {
            structures.read(server, &touched, cancel)?;
            let end = server.position_in_file()?;
            touched = touched::between(server, &place, &end, options.server_id)?;
            place = end;
            if touched.is_nothing() {
                let timestamp = server.clock()?;
                let identity = server.identity();
                let server = SqlServer {
                    is_mariadb: identity.flavor == Flavor::Mariadb,
                    version: identity.version,
                };
                return Ok(Self {
                    script: structures.script(server),
                    position: place,
                    timestamp,
                    server,
                    lower_case_table_names: structures.lower_case_table_names,
                    tables: structures.len(),
                    sees_all: structures.sees_all,
                    missing: structures.into_missing(),
                });
            }
            log::info!(target: LOG, "tables were changed while their structures were read: reading these again");
        }
        Err(Error::new(
            ErrorKind::Server,
            format!(
                "the tables change faster than their structures are read: statements changed them in each of {MAX_ROUNDS} \
                 rounds; take the baseline at a quieter time, or of fewer tables"
            ),
        ))
    }

    /// Warnings for the user: tables that are missing although the log may contain them, and
    /// members that may be wrong.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        if self.sees_all == Some(false) {
            lacks.push(
                "the account has no SELECT on *.*: tables that it may not see are not in the baseline; GRANT SELECT ON *.* \
                 TO the user, or accept that the history does not contain them"
                    .to_owned(),
            );
        }
        for (table, why) in &self.missing {
            lacks.push(format!("{table} is not in the baseline: {why}"));
        }
        let mut given = Schemas::default();
        if given.add_text(&self.script).is_ok() {
            for (database, table, column) in given.doubtful_members() {
                lacks.push(format!(
                    "a member of {database}.{table}.{column} contains '?', which servers also print for characters above U+FFFF: \
                     if it is such a character, add another baseline with the table's CREATE TABLE statement that contains the character"
                ));
            }
        }
        lacks
    }

    /// Returns the baseline for a history.
    pub fn given(&self) -> HistoryBaseline {
        HistoryBaseline::of_all_tables(self.script.clone(), DdlSession::new(self.server))
    }
}

/// The target of its log messages.
const LOG: &str = "binarrow::live";

/// The maximum number of rounds in which changed tables are read again.
const MAX_ROUNDS: usize = 30;
