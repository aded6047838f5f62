//! The log to which the rows of a replica belong: that of its source.
//!
//! The position of a snapshot on the replica is a set of GTIDs. Its place in the source's log is the end of the longest part of the
//! log whose transactions are all in the set. The snapshot may contain transactions after this place, if the replica committed them
//! in another order; the position is then not exact.
//!
//! The set contains transactions of the source only, or the rows are not those of the source at any moment.

use super::snapshot::Snapshot;
use crate::error::{Error, ErrorKind, Result};
use crate::net::{DumpOptions, Flavor, Identity, Server, random_id};
use crate::position::{GtidState, MariadbGtid, MariadbGtidPosition, Position};
use crate::source::{Connecting, LiveOptions, RangeBounds, file_start, range_end};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The log of the source of the server that returns the rows.
#[derive(Clone)]
pub struct SourceLog {
    live: LiveOptions,
    /// Event codes that may be skipped although they cannot be decoded.
    skip_events: Vec<u8>,
}

impl std::fmt::Debug for SourceLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SourceLog")
    }
}

impl SourceLog {
    /// The log of the server to which the connector leads.
    pub(super) fn new(live: &LiveOptions, skip_events: Vec<u8>) -> Self {
        let mut live =
            LiveOptions { goal: None, until: None, counters: Arc::default(), ..live.clone() };
        live.dump.ends = true;
        Self { live, skip_events }
    }

    /// Replaces the position of a snapshot on the replica by its place in the log. `reached` is the position up to which the log was
    /// read: the snapshot must contain the transactions before it.
    ///
    /// # Errors
    /// The replica lags, has transactions of its own, or does not log what it replicates; a server has no GTIDs.
    pub(super) fn place(
        &self,
        replica: &mut Server,
        snapshot: &mut Snapshot,
        reached: Option<&Position>,
    ) -> Result<()> {
        let mut source = Connecting::new(&self.live).open()?;
        check(replica, &mut source)?;
        let set = snapshot.position.gtid_set.clone();
        let set = set.unwrap_or_else(|| empty(replica.identity().flavor));
        check_domains(&set, replica)?;
        if let Some(reached) = reached {
            check_lag(&set, reached, replica)?;
        }
        self.check_own(replica, &mut source, &set)?;
        let place = match reached {
            Some(reached) => self.end_of(without_load(reached), &set)?,
            None => self.first_end_of(&set).map_err(|error| match error.kind() {
                // The log has other transactions of these numbers.
                ErrorKind::ServerIdentity => has_own(replica, &source, &set.to_string()),
                _ => error,
            })?,
        };
        let own = place.gtid_set.clone().unwrap_or_else(|| empty(replica.identity().flavor));
        if let Some(gtid) = other_of_number(&own, &set) {
            return Err(has_own(replica, &source, &gtid));
        }
        let is_exact = snapshot.is_exact && contains(&own, &set) && keeps_order(replica)?;
        *snapshot = Snapshot { position: Position { visible: Some(true), ..place }, is_exact };
        Ok(())
    }

    /// The end of the log now: after all transactions that a snapshot contains which is open.
    pub(super) fn end(&self) -> Result<(String, u64)> {
        Connecting::new(&self.live).open()?.end_of_log()
    }

    /// The end of the longest part of the log whose transactions are all in a set.
    fn first_end_of(&self, set: &GtidState) -> Result<Position> {
        let place = self.end_of(Position::after_gtids(set.clone()), set)?;
        match set {
            GtidState::Mysql(_) => Ok(place),
            // MariaDB sends the log after the set, and its transactions have no place before they end.
            GtidState::Mariadb(_) => self.end_of(file_start(&place.file, self.reading()?)?, set),
        }
    }

    /// The end of the longest part of the log, from a position on, whose transactions are all in a set.
    fn end_of(&self, start: Position, set: &GtidState) -> Result<Position> {
        let what = RangeBounds {
            start,
            stop: Some(Position::after_gtids(set.clone())),
            max_bytes: None,
            history: None,
            skip_events: self.skip_events.clone(),
        };
        Ok(range_end(what, self.reading()?)?.position)
    }

    /// The options of one read: two with the same server id end each other.
    fn reading(&self) -> Result<LiveOptions> {
        let dump = DumpOptions { server_id: random_id()?, ..self.live.dump.clone() };
        Ok(LiveOptions { dump, ..self.live.clone() })
    }

    /// Checks that the source has all transactions of a set. It sends a transaction before it counts it as executed.
    fn check_own(&self, replica: &Server, source: &mut Server, set: &GtidState) -> Result<()> {
        let since = Instant::now();
        loop {
            let flavor = source.identity().flavor;
            let executed = source.executed()?.unwrap_or_else(|| empty(flavor));
            if let Some(gtid) = other_of_number(&executed, set) {
                return Err(has_own(replica, source, &gtid));
            }
            if executed.covers(set) {
                return Ok(());
            }
            let (missing, is_own) = missing(&executed, set, replica);
            if is_own || since.elapsed() >= MAX_COMMIT {
                return Err(has_own(replica, source, &missing));
            }
            self.live.cancel.check()?;
            std::thread::sleep(PAUSE);
        }
    }
}

/// Checks that both servers assign GTIDs of the same form, and that the replica logs what it replicates.
fn check(replica: &mut Server, source: &mut Server) -> Result<()> {
    if replica.identity().flavor != source.identity().flavor {
        return Err(Error::config(
            "⟦rows_from⟧ is not a replica of the server: one is MySQL, the other is MariaDB",
        ));
    }
    for (server, name) in [(&mut *source, "the server"), (&mut *replica, "⟦rows_from⟧")] {
        if !server.has_gtids()? {
            return Err(Error::config(format!(
                "{name} has gtid_mode=OFF: the rows of a replica need GTIDs on both servers, by which their place in the log is found"
            )));
        }
    }
    let sql =
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_replica_updates', 'log_slave_updates')";
    let logs = replica.connection().query(sql)?;
    let is_on =
        |row: &Vec<Option<String>>| row.get(1).is_some_and(|value| value.as_deref() == Some("ON"));
    match logs.first().is_some_and(is_on) {
        true => Ok(()),
        false => Err(Error::config(
            "⟦rows_from⟧ does not log what it replicates, so the place of its rows in the log is not known: start this replica with \
             log_replica_updates=ON (MariaDB: log_slave_updates=ON)",
        )),
    }
}

/// MariaDB: checks that the log of the replica has transactions of each domain that it replicates. A replica that was created
/// from a backup has none at first, and its GTIDs in the log are not those of its rows.
fn check_domains(set: &GtidState, replica: &mut Server) -> Result<()> {
    let GtidState::Mariadb(set) = set else { return Ok(()) };
    let applied = replica.connection().query_value("SELECT @@global.gtid_slave_pos")?;
    let applied: MariadbGtidPosition = applied.unwrap_or_default().parse()?;
    match applied.iter().find(|gtid| set.last(gtid.domain_id).is_none()) {
        None => Ok(()),
        Some(gtid) => Err(Error::new(
            ErrorKind::ServerLag,
            format!(
                "the replica {}, ⟦rows_from⟧, has no transaction of the domain {} in its log yet, so the place of its rows is not \
                 known: it is known after the next transaction of this domain",
                replica.identity().id,
                gtid.domain_id
            ),
        )),
    }
}

/// Checks that the replica has applied what was read from the log.
fn check_lag(set: &GtidState, reached: &Position, replica: &Server) -> Result<()> {
    match &reached.gtid_set {
        Some(read) if set.covers(read) => Ok(()),
        Some(_) => Err(Error::new(
            ErrorKind::ServerLag,
            format!(
                "the replica {}, ⟦rows_from⟧, has not applied all transactions before {reached} yet: check its replication, or wait for \
                 it longer (⟦reconnect⟧)",
                replica.identity().id
            ),
        )),
        None => Err(Error::config(format!(
            "{reached} has no GTIDs, so the place of the rows of ⟦rows_from⟧ in the log is not known: leave ⟦rows_from⟧ out"
        ))),
    }
}

/// True if the order of commits on the replica is that of its log, so that GTIDs and rows are of the same moment.
fn keeps_order(replica: &mut Server) -> Result<bool> {
    match replica.identity().flavor {
        Flavor::Mariadb => Ok(true),
        Flavor::Mysql => {
            let ordered =
                replica.connection().query_value("SELECT @@global.binlog_order_commits")?;
            Ok(ordered.as_deref() == Some("1"))
        }
    }
}

fn has_own(replica: &Server, source: &Server, gtid: &str) -> Error {
    Error::new(
        ErrorKind::ServerIdentity,
        format!(
            "{}, ⟦rows_from⟧, has transactions that {} lacks ({gtid}): it is not a replica of this server, or it was changed itself, so \
             its rows may differ. Leave ⟦rows_from⟧ out, or name another replica",
            replica.identity().id,
            source.identity().id
        ),
    )
}

fn without_load(reached: &Position) -> Position {
    Position { load: None, ahead: Vec::new(), ..reached.clone() }
}

fn empty(flavor: Flavor) -> GtidState {
    match flavor {
        Flavor::Mysql => GtidState::Mysql(Default::default()),
        Flavor::Mariadb => GtidState::Mariadb(Default::default()),
    }
}

/// True if a part of the log contains all transactions of a set: with MariaDB, the last one of each domain is the same.
fn contains(log: &GtidState, set: &GtidState) -> bool {
    match (log, set) {
        (GtidState::Mariadb(log), GtidState::Mariadb(set)) => {
            set.iter().all(|gtid| log.last(gtid.domain_id) == Some(gtid))
        }
        _ => log.covers(set),
    }
}

/// MariaDB: a transaction whose number the log gives to one of another server.
fn other_of_number(log: &GtidState, set: &GtidState) -> Option<String> {
    let (GtidState::Mariadb(log), GtidState::Mariadb(set)) = (log, set) else { return None };
    let is_other = |gtid: &MariadbGtid| {
        log.last(gtid.domain_id).is_some_and(|own| own.seq == gtid.seq && own != *gtid)
    };
    set.iter().find(is_other).map(|gtid| gtid.to_string())
}

/// Transactions of a set that are not executed, and whether they were made on the replica.
fn missing(executed: &GtidState, set: &GtidState, replica: &Server) -> (String, bool) {
    let text = first_missing(executed, set);
    let Identity { id, server_id, .. } = replica.identity();
    let is_own = match set {
        GtidState::Mysql(_) => text.contains(id.as_str()),
        GtidState::Mariadb(_) => {
            text.parse::<MariadbGtid>().is_ok_and(|gtid| gtid.server_id == *server_id)
        }
    };
    (text, is_own)
}

fn first_missing(executed: &GtidState, set: &GtidState) -> String {
    match (executed, set) {
        (GtidState::Mysql(executed), GtidState::Mysql(set)) => {
            let mut missing = set.clone();
            missing.subtract(executed);
            missing.to_string()
        }
        (GtidState::Mariadb(executed), GtidState::Mariadb(set)) => set
            .iter()
            .find(|gtid| !executed.contains(*gtid))
            .map_or_else(String::new, |gtid| gtid.to_string()),
        _ => set.to_string(),
    }
}

/// The time within which a server counts a transaction that it has sent as executed.
const MAX_COMMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_of_other_servers() {
        let of = |text: &str| -> GtidState { text.parse().unwrap() };
        let (log, set) = (of("0-1-7,1-1-3"), of("0-1-7"));
        assert!(contains(&log, &set) && other_of_number(&log, &set).is_none());
        // The order of the domains differs on the replica.
        let set = of("0-1-7,1-1-5");
        assert!(!contains(&log, &set) && other_of_number(&log, &set).is_none());
        assert_eq!(first_missing(&log, &set), "1-1-5");
        let set = of("0-2-7");
        assert_eq!(other_of_number(&log, &set).as_deref(), Some("0-2-7"));
        const UUID: &str = "55778904-0299-11f1-b1b8-4ef0c4956feb";
        let (log, set) = (of(&format!("{UUID}:1-5")), of(&format!("{UUID}:1-6")));
        assert!(!contains(&log, &set) && contains(&set, &log));
        assert_eq!(first_missing(&log, &set), format!("{UUID}:6"));
    }
}
