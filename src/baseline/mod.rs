//! A baseline: the structures of a server's tables, and the place of its log where they are so.
//!
//! In: a connection. Out: a script of CREATE DATABASE and CREATE TABLE statements, as SHOW CREATE TABLE prints them, and the
//! position that it is of. Called by `source`, where a history is empty, and by `python::history`.
//!
//! No lock is taken. The structures are read between two places of the log, and the log between the two is looked through:
//! tables that a statement touched there are read again, until nothing touched what was read.
//!
//! | file | does |
//! |---|---|
//! | `structures.rs` | asks for the structures |
//! | `table_now.rs` | asks for one table, and what the log will tell of it |
//! | `touched.rs` | finds the tables that the log between two places touches |
//!
//! <https://dev.mysql.com/doc/refman/en/show-create-table.html>, <https://mariadb.com/kb/en/show-create-table/>

mod foreign_keys;
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
use structures::Structures;
pub use table_now::TableNow;
use touched::Touched;

/// The structures of a server's tables at one place of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// CREATE DATABASE, USE and CREATE TABLE statements, in UTF-8; quotes and backslashes as `sql_mode=''` reads them.
    pub script: String,
    /// Where the structures are so: the end of the log when the last of them was read.
    pub position: Position,
    /// When that was, by the server's clock, in microseconds since 1970 UTC.
    pub timestamp: i64,
    /// Whose text it is.
    pub server: SqlServer,
    /// `lower_case_table_names`: 0 where names with other cases are other names.
    pub lower_case_table_names: u8,
    /// How many tables the script has.
    pub tables: usize,
    /// Tables whose structure the server does not tell, each with its reason.
    pub untold: Vec<(TableName, String)>,
    /// Whether the account sees all tables; `None` where it has roles, which may let it.
    pub sees_all: Option<bool>,
}

/// What is read.
#[derive(Debug, Clone)]
pub struct BaselineOptions {
    /// Which tables. Those of `mysql`, `sys`, `information_schema` and `performance_schema` only where a pattern names the
    /// database without a wildcard.
    pub tables: TableFilter,
    /// The id under which the log is asked for; it must be nobody else's.
    pub server_id: u32,
}

impl Baseline {
    /// Reads the structures over a connection that is used for nothing else then. `cancel` is checked between tables.
    ///
    /// # Errors
    /// The server has no binary log; the account may not ask for its end, or read it; the tables change faster than they
    /// are read; a transaction takes too long to commit; `cancel` is cancelled.
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
                let timestamp = clock(server)?;
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
                    untold: structures.into_untold(),
                });
            }
            log::info!(target: LOG, "tables were changed while their structures were read: reading those again");
        }
        Err(Error::new(
            ErrorKind::Server,
            format!(
                "the tables change faster than their structures are read: statements changed them in each of {MAX_ROUNDS} \
                 rounds; take the baseline at a quieter time, or of fewer tables"
            ),
        ))
    }

    /// What it does not hold, though it might: for the user to know of.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        if self.sees_all == Some(false) {
            lacks.push(
                "the account has no SELECT on *.*: tables that it may not see are not in the baseline; GRANT SELECT ON *.* \
                 TO the user, or mind that the history does not know them"
                    .to_owned(),
            );
        }
        for (table, why) in &self.untold {
            lacks.push(format!("{table} is not in the baseline: {why}"));
        }
        let mut given = Schemas::default();
        if given.add_text(&self.script).is_ok() {
            for (database, table, column) in given.doubtful_members() {
                lacks.push(format!(
                    "a member of {database}.{table}.{column} holds '?', which servers print for characters beyond U+FFFF too: \
                     if it is one, give the table's CREATE TABLE statement with the character itself as another baseline"
                ));
            }
        }
        lacks
    }

    /// What a history takes in.
    pub fn given(&self) -> HistoryBaseline {
        HistoryBaseline::whole(self.script.clone(), DdlSession::new(self.server))
    }
}

/// Microseconds since 1970 UTC.
fn clock(server: &mut Server) -> Result<i64> {
    let now = server
        .connection()
        .query_value("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)")?;
    let now = now.and_then(|now| now.parse().ok());
    now.ok_or_else(|| Error::malformed("the server's clock is no number"))
}

/// What it logs is logged as.
const LOG: &str = "binarrow::live";

/// How often tables that were changed meanwhile are read again.
const MAX_ROUNDS: usize = 30;
