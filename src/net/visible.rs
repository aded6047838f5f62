//! A position of a server's log such that a SELECT that starts afterwards sees every transaction before it.
//!
//! MySQL moves the end of its log when transactions are written to it, and commits them in the storage engine afterwards. A
//! client that reads the end of the log and then the tables does not see the transactions in between, and a stream from there
//! does not contain them either.
//!
//! | server | position |
//! |---|---|
//! | MariaDB | that of a consistent snapshot, if XA was not used: `binlog_snapshot_file`, `binlog_snapshot_position` |
//! | MySQL with GTIDs, without current commits | the end of the log |
//! | MySQL with GTIDs | the end of the log, after the commits of that moment have finished; or GTIDs alone: `gtid_executed` |
//! | MySQL 8 and later without GTIDs | `performance_schema.log_status`, if it is granted and XA was not used |
//! | other MySQL | the end of the log, marked as not visible |
//!
//! <https://dev.mysql.com/doc/refman/en/performance-schema-log-status-table.html>,
//! <https://mariadb.com/docs/server/reference/sql-statements/transactions/start-transaction>

use super::dump::random_id;
use super::dump_place::LogEvent;
use super::log_range::LogRange;
use super::server::{Flavor, Server, cell, gtids, no_log, number};
use crate::binlog::{EventType, GtidEvent};
use crate::error::{Error, ErrorKind, Result};
use crate::position::{GtidSet, GtidState, Position};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

impl Server {
    /// The end of the part of the log that a SELECT that starts afterwards sees. Its file and offset and its GTID set are of the
    /// same place, or the file is empty. [`Position::visible`] is false if the server cannot guarantee this.
    pub fn position(&mut self) -> Result<Position> {
        match self.position_within(SHORT_WAIT)? {
            Found::At(position) => Ok(position),
            // No need to wait for transactions that are being committed: they are in no GTID set yet.
            Found::Waiting(_) => self.gtids_alone(),
        }
    }

    /// Like [`Self::position`], but always with a file and an offset.
    ///
    /// # Errors
    /// A transaction takes too long to commit; or GTIDs are on and the account may not read the log.
    pub fn position_in_file(&mut self) -> Result<Position> {
        let wait = self.connection().options().read_timeout;
        let position = match self.position_within(wait)? {
            Found::At(position) => position,
            Found::Waiting(gtids) => return Err(stuck(&gtids, wait)),
        };
        match position.gtids_alone() {
            None => Ok(position),
            Some(_) => Err(Error::new(
                ErrorKind::Server,
                "the account may not read the binary log: GRANT REPLICATION SLAVE ON *.* TO the user",
            )),
        }
    }

    fn position_within(&mut self, wait: Duration) -> Result<Found> {
        if self.identity().flavor == Flavor::Mariadb {
            return self.of_snapshot().map(Found::At);
        }
        match self.has_gtids()? {
            true => self.of_gtids(wait),
            false => self.without_gtids().map(Found::At),
        }
    }

    /// MariaDB: the position of a snapshot of the tables. The snapshot is ended again.
    fn of_snapshot(&mut self) -> Result<Position> {
        self.open_snapshot()?;
        let position = self.snapshot_position();
        self.connection().query("ROLLBACK")?;
        position
    }

    /// Starts a transaction that reads a snapshot of the tables.
    pub(crate) fn open_snapshot(&mut self) -> Result<()> {
        let connection = self.connection();
        connection.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        connection.query("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
        Ok(())
    }

    /// The end of the log while this session holds FLUSH TABLES WITH READ LOCK: nothing is being committed. On MariaDB,
    /// [`Self::complete_gtids`] completes it.
    pub(crate) fn locked_position(&mut self) -> Result<Position> {
        let end = self.end_of_log()?;
        let gtid_set = match self.identity().flavor {
            Flavor::Mariadb => None,
            Flavor::Mysql => self.executed()?,
        };
        Ok(self.visible(end, gtid_set))
    }

    /// MariaDB: adds the GTIDs before a position, for which the server reads the log. They do not change any more.
    pub(crate) fn complete_gtids(&mut self, position: &mut Position) -> Result<()> {
        if self.identity().flavor == Flavor::Mariadb {
            position.gtid_set = self.gtids_at(&position.file, position.offset)?;
        }
        Ok(())
    }

    /// MariaDB: the position of the open snapshot.
    pub(crate) fn snapshot_position(&mut self) -> Result<Position> {
        let shown = self.connection().query("SHOW STATUS LIKE 'binlog_snapshot_%'")?;
        let value = |name: &str| {
            let row = shown
                .iter()
                .find(|row| cell(row, 0).is_some_and(|shown| shown.eq_ignore_ascii_case(name)));
            row.filter(|row| cell(row, 1).is_some_and(|value| !value.is_empty()))
        };
        let (Some(file), Some(offset)) =
            (value("binlog_snapshot_file"), value("binlog_snapshot_position"))
        else {
            return Err(no_log());
        };
        let file = cell(file, 1).unwrap_or_default().to_owned();
        let offset = number(offset, 1, "the offset of a snapshot")?;
        let gtid_set = self.gtids_at(&file, offset)?;
        let position = self.visible((file, offset), gtid_set);
        Ok(Position { visible: Some(self.has_no_xa()?), ..position })
    }

    /// MySQL with GTIDs. `gtid_owned` contains the GTID of a transaction from before it is written
    /// to the log until other sessions see the transaction; then `gtid_executed` contains it.
    fn of_gtids(&mut self, wait: Duration) -> Result<Found> {
        let end = self.end_of_log()?;
        let first = self.owned()?;
        if first.is_empty() {
            let executed = self.gtid_executed()?;
            if self.end_of_log()? == end {
                // No transaction was written in the meantime, and none is being committed.
                return Ok(Found::At(self.visible(end, Some(GtidState::Mysql(executed)))));
            }
        }
        let started = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut left = first;
        while !left.is_empty() {
            if started.elapsed() >= wait {
                return Ok(Found::Waiting(left));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
            let owned = self.owned()?;
            left.retain(|gtid| owned.contains(gtid));
        }
        let mut executed = self.gtid_executed()?;
        let last = self.end_of_log()?;
        match self.gtids_after(&end, &last) {
            Ok(after) => {
                executed.subtract(&after);
                Ok(Found::At(self.visible(end, Some(GtidState::Mysql(executed)))))
            }
            // The account may not read the log, or may not open another connection.
            Err(error) if error.server_code().is_some() => self.gtids_alone().map(Found::At),
            Err(error) => Err(error),
        }
    }

    /// MySQL without GTIDs.
    fn without_gtids(&mut self) -> Result<Position> {
        let Some(position) = self.of_log_status()? else {
            let (end, executed) = self.end_and_gtids()?;
            let position = self.visible(end, Some(GtidState::Mysql(executed)));
            return Ok(Position { visible: Some(false), ..position });
        };
        Ok(Position { visible: Some(self.has_no_xa()?), ..position })
    }

    /// True if no XA transaction was committed since the server started. Snapshots and the log status are consistent for
    /// ordinary commits only: XA COMMIT is in the log before the storage engine commits, and neither waits for it.
    pub(crate) fn has_no_xa(&mut self) -> Result<bool> {
        let commits = self.connection().query("SHOW GLOBAL STATUS LIKE 'Com_xa_commit'")?;
        Ok(commits.first().and_then(|row| cell(row, 1)) == Some("0"))
    }

    /// The position in `performance_schema.log_status`; `None` if the server has no such table, or the account may not read it.
    pub(crate) fn of_log_status(&mut self) -> Result<Option<Position>> {
        if self.identity().version < (8, 0, 0) {
            return Ok(None);
        }
        let local = match self.connection().query_value(LOG_STATUS) {
            Ok(Some(local)) => local,
            Ok(None) => return Ok(None),
            Err(error) if error.server_code().is_some() => return Ok(None),
            Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                return Err(error.context("performance_schema.log_status").advise(format!(
                    "it waits for transactions that are being committed. {CAUSE}"
                )));
            }
            Err(error) => return Err(error),
        };
        let bad = |_| Error::malformed("performance_schema.log_status has an unexpected form");
        let status: LogStatus = serde_json::from_str(&local).map_err(bad)?;
        let executed = gtids(&status.gtid_executed)?;
        let end = (status.binary_log_file, status.binary_log_position);
        Ok(Some(self.visible(end, Some(GtidState::Mysql(executed)))))
    }

    /// Returns a position that is always visible, but has no file and offset.
    fn gtids_alone(&mut self) -> Result<Position> {
        let executed = self.gtid_executed()?;
        Ok(self.visible((String::new(), 0), Some(GtidState::Mysql(executed))))
    }

    fn gtid_executed(&mut self) -> Result<GtidSet> {
        let set = self.connection().query_value("SELECT @@GLOBAL.gtid_executed")?;
        gtids(&set.unwrap_or_default())
    }

    /// The GTIDs of transactions that are being written to the log or committed; on a replica, of those being applied too.
    fn owned(&mut self) -> Result<BTreeSet<String>> {
        let owned = self.connection().query_value("SELECT @@GLOBAL.gtid_owned")?;
        Ok(owned_gtids(&owned.unwrap_or_default()))
    }

    /// The GTIDs in the log between two positions; they are read over a separate connection.
    fn gtids_after(&mut self, from: &(String, u64), to: &(String, u64)) -> Result<GtidSet> {
        let mut found = GtidSet::new();
        if from == to {
            return Ok(found);
        }
        let [from, to] = [from, to].map(|(file, offset)| Position::in_file(file.as_str(), *offset));
        let mut log = LogRange::open(self, &from, &to, random_id()?)?;
        while let Some(LogEvent { header, body, .. }) = log.next()? {
            let gtid = match header.event_type {
                EventType::GTID => GtidEvent::decode(body)?.gtid(),
                EventType::GTID_TAGGED => GtidEvent::decode_tagged(body)?.gtid(),
                _ => None,
            };
            if let Some(gtid) = gtid {
                found.add(&gtid.tsid, gtid.gno)?;
            }
        }
        Ok(found)
    }

    fn visible(&self, (file, offset): (String, u64), gtid_set: Option<GtidState>) -> Position {
        let server = Some(self.identity().id.clone());
        Position { server, file, offset, gtid_set, visible: Some(true), ..Position::default() }
    }
}

/// The result within the time limit.
enum Found {
    At(Position),
    /// These transactions are still being committed.
    Waiting(BTreeSet<String>),
}

/// The column LOCAL of `log_status`.
#[derive(Deserialize)]
struct LogStatus {
    #[serde(default)]
    gtid_executed: String,
    binary_log_file: String,
    binary_log_position: u64,
}

/// Returns each GTID of `uuid:7#12:8#13,uuid:tag:1#14`, in which the numbers of the owning threads
/// follow `#`.
fn owned_gtids(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in text.split(',').map(str::trim) {
        let mut names = Vec::new();
        for part in source.split(':') {
            match part.split_once('#') {
                Some((number, _)) => drop(found.insert(format!("{}:{number}", names.join(":")))),
                None => names.push(part),
            }
        }
    }
    found
}

fn stuck(gtids: &BTreeSet<String>, wait: Duration) -> Error {
    let first = gtids.first().map_or("", String::as_str);
    Error::new(
        ErrorKind::Server,
        format!(
            "the transaction {first} has been committing for more than {} s, so no position is known before which all \
             transactions are visible. {CAUSE}",
            wait.as_secs_f32()
        ),
    )
}

const LOG_STATUS: &str = "SELECT LOCAL FROM performance_schema.log_status";

const CAUSE: &str = "With semisynchronous replication a commit waits until a replica acknowledges it (Rpl_semi_sync_source_status, \
                     rpl_semi_sync_source_timeout); a replica may be applying a large transaction. Try again when it has ended";

/// The maximum wait for commits if the GTIDs alone are an answer too.
const SHORT_WAIT: Duration = Duration::from_secs(1);

const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned() {
        let of = |text| owned_gtids(text).into_iter().collect::<Vec<_>>();
        assert!(of("").is_empty());
        assert_eq!(of("a:7#12"), ["a:7"]);
        assert_eq!(of("a:7#12:8#13#14,\nb:t:1#2"), ["a:7", "a:8", "b:t:1"]);
    }
}
