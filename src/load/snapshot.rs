//! Opens a snapshot of a server's tables, and determines its position in the log.
//!
//! | server | position |
//! |---|---|
//! | MariaDB | the position of the session's own snapshot: exact |
//! | MySQL 8 and later, with the privileges for `performance_schema.log_status` | this table before and after the snapshot is opened: exact if both are the same |
//! | other MySQL with GTIDs | a position before the snapshot, such that the snapshot contains all transactions before it |
//! | any, with [`Locks::Brief`] | the end of the log under FLUSH TABLES WITH READ LOCK: exact |
//!
//! XA COMMIT writes to the log before it commits, and the first two do not wait for it. After an XA COMMIT on the server
//! since its start, MySQL with GTIDs uses the third. Otherwise, and on MySQL with neither GTIDs nor these privileges, there
//! is no position without a lock.
//!
//! <https://dev.mysql.com/doc/refman/en/performance-schema-log-status-table.html>,
//! <https://dev.mysql.com/doc/refman/en/flush.html#flush-tables-with-read-lock>,
//! <https://mariadb.com/docs/server/reference/sql-statements/transactions/start-transaction>

use crate::error::{Error, ErrorKind, Result};
use crate::net::{Flavor, Server};
use crate::position::Position;
use std::cmp::Ordering;

/// The locks that may be used to open a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Locks {
    /// None.
    #[default]
    None,
    /// FLUSH TABLES WITH READ LOCK, until the snapshot is open: all writes on the server wait.
    Brief,
}

/// The position of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The snapshot contains all transactions before this position.
    pub position: Position,
    /// True if the snapshot contains no transaction from the position on. Otherwise it may contain some.
    pub is_exact: bool,
}

impl Snapshot {
    /// Starts a transaction that reads a snapshot, over this connection.
    ///
    /// # Errors
    /// The server has no binary log; the account may not query its position, or not lock tables; or there is no position
    /// without a lock.
    pub fn open(server: &mut Server, locks: Locks) -> Result<Self> {
        let snapshot = match (locks, server.identity().flavor) {
            (Locks::Brief, _) => Self::under_lock(server),
            (Locks::None, Flavor::Mariadb) => Self::of_mariadb(server),
            (Locks::None, Flavor::Mysql) => Self::of_mysql(server),
        }?;
        match snapshot.position.visible {
            Some(true) => Ok(snapshot),
            _ => Err(no_position(server)),
        }
    }

    /// Moves an earlier position to one of which it is known that the snapshot contains all transactions before it.
    pub(super) fn move_to(&mut self, reached: &Position) {
        if self.position.compare(reached) == Some(Ordering::Less) {
            (self.position, self.is_exact) = (reached.clone(), false);
        }
    }

    /// Replaces the position by an earlier one, which was the end of the log: the snapshot must contain all transactions before it.
    ///
    /// # Errors
    /// It does not contain them yet, because a server writes transactions to its log before it commits them.
    pub(super) fn move_back_to(&mut self, earlier: &Position) -> Result<()> {
        if self.position.is_before(&earlier.file, earlier.offset) {
            return Err(Error::new(
                ErrorKind::ServerLag,
                format!(
                    "the server has transactions in its log up to {earlier}, and a SELECT sees those before {} only: a commit waits, \
                     for example for the acknowledgement of a replica",
                    self.position
                ),
            ));
        }
        (self.position, self.is_exact) = (earlier.clone(), false);
        Ok(())
    }

    fn of_mariadb(server: &mut Server) -> Result<Self> {
        server.open_snapshot()?;
        Ok(Self { position: server.snapshot_position()?, is_exact: true })
    }

    fn of_mysql(server: &mut Server) -> Result<Self> {
        let Some(mut before) = server.of_log_status()? else { return Self::after_position(server) };
        for _ in 0..MAX_TRIES {
            server.open_snapshot()?;
            let after = server.of_log_status()?;
            // The snapshot is open: XA COMMIT is counted when it begins.
            if !server.has_no_xa()? {
                server.connection().query("ROLLBACK")?;
                return Self::after_position(server);
            }
            if after.as_ref() == Some(&before) {
                return Ok(Self { position: before, is_exact: true });
            }
            server.connection().query("ROLLBACK")?;
            before = after.unwrap_or(before);
        }
        server.open_snapshot()?;
        before.visible = Some(server.has_no_xa()?);
        Ok(Self { position: before, is_exact: false })
    }

    /// Opens the snapshot after a position of the log such that it contains all transactions before it.
    fn after_position(server: &mut Server) -> Result<Self> {
        let position = server.position_in_file()?;
        server.open_snapshot()?;
        Ok(Self { position, is_exact: false })
    }

    fn under_lock(server: &mut Server) -> Result<Self> {
        // A privilege that is missing must not stop writes first.
        server.end_of_log()?;
        // While it waits for a running statement, new statements that write wait too.
        server.connection().query(&format!("SET SESSION lock_wait_timeout = {MAX_LOCK_WAIT}"))?;
        server.connection().query("FLUSH TABLES WITH READ LOCK").map_err(explain_lock)?;
        let opened = server.open_snapshot().and_then(|()| server.locked_position());
        server.connection().query("UNLOCK TABLES")?;
        let mut position = opened?;
        server.complete_gtids(&mut position)?;
        Ok(Self { position, is_exact: true })
    }
}

fn explain_lock(error: Error) -> Error {
    match error.server_code() {
        Some(LOCK_WAIT_TIMEOUT) => error.advise(format!(
            "a running statement did not end within {MAX_LOCK_WAIT} s, and all writes wait for the lock: try again at a quieter time"
        )),
        Some(ACCESS_DENIED_FOR_OPERATION | ACCESS_DENIED) => error.advise(
            "⟦locks=brief⟧ needs FLUSH TABLES WITH READ LOCK: GRANT RELOAD ON *.* TO the user",
        ),
        _ => error,
    }
}

fn no_position(server: &Server) -> Error {
    let cause = match (server.identity().flavor, server.identity().version) {
        (Flavor::Mariadb, _) => "an XA transaction was committed since the server started",
        (Flavor::Mysql, version) if version < (8, 0, 0) => "gtid_mode is OFF",
        (Flavor::Mysql, _) => {
            "gtid_mode is OFF, and the user lacks BACKUP_ADMIN ON *.* and SELECT ON performance_schema.log_status, or an XA \
             transaction was committed since the server started"
        }
    };
    Error::new(
        ErrorKind::Server,
        format!(
            "it is not known at which position of the log a snapshot is, because {cause}: use ⟦locks=brief⟧, which holds FLUSH \
             TABLES WITH READ LOCK for a moment, or read rows without columns of the log, with ⟦envelope=[]⟧"
        ),
    )
}

/// While three sessions write all the time, about every third snapshot has an exact position.
const MAX_TRIES: usize = 20;

/// Seconds.
const MAX_LOCK_WAIT: u32 = 5;

const ACCESS_DENIED: u16 = 1045;
const ACCESS_DENIED_FOR_OPERATION: u16 = 1227;
const LOCK_WAIT_TIMEOUT: u16 = 1205;
