//! The progress of a walk: the position to resume at, and the transactions that were read already and may be sent
//! again.

use crate::change::{EventGroup, LoggedGtid};
use crate::error::Result;
use crate::position::{GtidSet, GtidState, MariadbGtidPosition, Position, PreparedRange, Xid};
use crate::source::delivered;

/// The progress of a walk in its log.
pub(super) struct LogProgress {
    /// The end of the last complete transaction.
    pub(super) position: Position,
    /// The transactions, by GTID, that were read already and may be sent again: in the log of another server.
    pub(super) already_read: Option<GtidState>,
}

impl LogProgress {
    /// True if a transaction was read already.
    pub(super) fn was_read(&self, gtid: Option<&LoggedGtid>) -> bool {
        self.already_read.as_ref().is_some_and(|read| contains(read, gtid))
    }

    /// MariaDB's sequence numbers need not increase: all transactions after the last one of a domain that was read are new,
    /// even if their numbers are lower.
    pub(super) fn reach_last_read(&mut self, gtid: Option<&LoggedGtid>) {
        if let (Some(GtidState::Mariadb(read)), Some(LoggedGtid::Mariadb(gtid))) =
            (&mut self.already_read, gtid)
            && read.last(gtid.domain_id) == Some(*gtid)
        {
            read.remove(gtid.domain_id);
        }
    }

    /// Takes the GTIDs before a file from the file.
    pub(super) fn take_gtids_before(&mut self, mut before: GtidState) {
        let covers =
            |read: &Option<GtidState>| read.as_ref().is_none_or(|read| before.covers(read));
        if self.position.by_gtid {
            if covers(&self.position.gtid_set) && covers(&self.already_read) {
                // All transactions that were read from the other server are before this file.
                self.position.by_gtid = false;
                self.already_read = None;
            } else if let Some(read) = &self.position.gtid_set {
                before.join(read);
            }
        }
        if before.is_empty() {
            // The stored form of an empty set, because the kind of server is not known.
            before = GtidState::Mysql(GtidSet::default());
        }
        self.position.gtid_set = Some(before);
    }

    /// Moves past a transaction that ends at `end`. `was_read`: it was read before the walk.
    pub(super) fn pass(
        &mut self,
        gtid: Option<&LoggedGtid>,
        end: u64,
        was_read: bool,
    ) -> Result<()> {
        match (&mut self.position.gtid_set, gtid) {
            (Some(GtidState::Mysql(set)), Some(LoggedGtid::Mysql(gtid))) => {
                set.add(&gtid.tsid, gtid.gno)?;
            }
            // A transaction that was read before is not after the position.
            (Some(GtidState::Mariadb(position)), Some(LoggedGtid::Mariadb(gtid)))
                if was_read && position.contains(*gtid) => {}
            (Some(GtidState::Mariadb(position)), Some(LoggedGtid::Mariadb(gtid))) => {
                position.update(*gtid);
            }
            // An empty set that was stored does not contain the kind of server.
            (Some(state), Some(LoggedGtid::Mariadb(gtid))) if state.is_empty() => {
                let mut position = MariadbGtidPosition::default();
                position.update(*gtid);
                *state = GtidState::Mariadb(position);
            }
            _ => {}
        }
        self.position.offset = end;
        self.pass_delivered(gtid);
        Ok(())
    }

    /// Updates `ahead` after the position has moved past a transaction.
    fn pass_delivered(&mut self, gtid: Option<&LoggedGtid>) {
        let position = &mut self.position;
        if position.ahead.is_empty() {
            return;
        }
        if let Some(gtid) = gtid {
            delivered::pass(&mut position.ahead, gtid);
        }
        let read = position.gtid_set.as_ref();
        position.ahead.retain(|each| !delivered::is_passed(each, position.offset, read));
    }

    /// The GTIDs with which a prepared transaction is requested again: see [`PreparedRange::again`].
    pub(super) fn gtids_before(&self, group: &EventGroup) -> Option<GtidState> {
        match (&group.gtid, &self.position.gtid_set) {
            (Some(LoggedGtid::Mysql(gtid)), Some(_)) => {
                let mut set = GtidSet::default();
                set.add(&gtid.tsid, gtid.gno).ok()?;
                Some(GtidState::Mysql(set))
            }
            (Some(LoggedGtid::Mariadb(_)), Some(before)) => Some(before.clone()),
            _ => None,
        }
    }

    /// Adds an XA transaction that is prepared from `start` to `end`.
    pub(super) fn prepare(&mut self, xid: Xid, start: u64, end: u64, again: Option<GtidState>) {
        let file = self.position.file.clone();
        self.position.prepared.retain(|prepared| prepared.xid != xid);
        self.position.prepared.push(PreparedRange { xid, file, start, end, again });
    }

    /// Removes an XA transaction that is committed or rolled back. False if it is not known to be
    /// prepared.
    pub(super) fn decide(&mut self, xid: &Xid) -> bool {
        let index = self.position.prepared.iter().position(|prepared| prepared.xid == *xid);
        index.map(|index| self.position.prepared.remove(index)).is_some()
    }
}

/// True if a set of GTIDs contains a transaction.
pub(super) fn contains(state: &GtidState, gtid: Option<&LoggedGtid>) -> bool {
    match (state, gtid) {
        (GtidState::Mysql(set), Some(LoggedGtid::Mysql(gtid))) => {
            set.contains(&gtid.tsid, gtid.gno)
        }
        (GtidState::Mariadb(position), Some(LoggedGtid::Mariadb(gtid))) => position.contains(*gtid),
        _ => false,
    }
}
