//! Files that are read from or to a GTID set: errors if files are missing, or if the log cannot be compared with the set.

use super::{Cutter, Start, Stop};
use crate::change::{Group, GroupGtid};
use crate::error::{Error, Result};
use crate::position::{GtidSet, GtidState, MariadbGtidPosition};

impl Cutter {
    /// Checks that the GTID set of the start contains the transactions `before` the first file.
    ///
    /// # Errors
    /// Older files are missing, unless gaps are allowed; or the files are of the other kind of server.
    pub(super) fn check_start(&mut self, before: &GtidState) -> Result<()> {
        let Start::Gtids(done) = &self.options.start else { return Ok(()) };
        if self.feed.is_some() || self.current > 0 || before.is_empty() {
            return Ok(());
        }
        check_kind("start", done, before, &self.position.file)?;
        let wanted = match &self.options.stop {
            Stop::Gtids(wanted) => Some(wanted),
            _ => None,
        };
        let Some(missing) = missing(before, done, wanted) else { return Ok(()) };
        let message = format!(
            "transactions before the first file, {}, are missing: {missing}. Neither the start nor the files contain them",
            self.position.file
        );
        if self.options.allow_gaps {
            self.warn(message);
            return Ok(());
        }
        Err(Error::config(format!(
            "{message}: add the older files; gaps='allow' continues without these transactions"
        )))
    }

    /// Checks that a transaction can be compared with the GTID set of the start.
    ///
    /// # Errors
    /// It has no GTID, or one of the other kind of server.
    pub(super) fn check_comparable(&self, group: &Group) -> Result<()> {
        let Start::Gtids(done) = &self.options.start else { return Ok(()) };
        if self.feed.is_some() || done.is_empty() {
            return Ok(());
        }
        let kind = match &group.gtid {
            Some(GroupGtid::Mysql(_)) => GtidState::Mysql(GtidSet::default()),
            Some(GroupGtid::Mariadb(_)) => GtidState::Mariadb(MariadbGtidPosition::new()),
            None => {
                return Err(Error::config(format!(
                    "the start is a GTID set, and the transaction at {}:{} has no GTID: give the start as file:offset, or as a \
                     Position",
                    self.position.file, group.transaction.start
                )));
            }
        };
        check_kind("start", done, &kind, &self.position.file)
    }

    /// Checks at the end of the last file that the files contain the GTID set of the stop.
    ///
    /// # Errors
    /// Newer files are missing, unless gaps are allowed.
    pub(super) fn check_stop(&mut self) -> Result<()> {
        let Stop::Gtids(wanted) = &self.options.stop else { return Ok(()) };
        // A read that starts at file:offset knows the GTIDs from the next file on.
        let Some(read) = &self.position.gtid_set else { return Ok(()) };
        if self.feed.is_some() || self.finished || read.covers(wanted) {
            return Ok(());
        }
        let Some(missing) = missing(wanted, read, None) else { return Ok(()) };
        let message = format!(
            "the files end at {} before the stop: they do not contain {missing}",
            self.position
        );
        if self.options.allow_gaps {
            self.warn(message);
            return Ok(());
        }
        Err(Error::config(format!(
            "{message}. Add the newer files, or give a stop that they contain; gaps='allow' ends the read there"
        )))
    }
}

/// An error if two GTID sets are of different kinds of servers.
fn check_kind(keyword: &str, given: &GtidState, log: &GtidState, file: &str) -> Result<()> {
    match (given, log) {
        (given, _) if given.is_empty() => Ok(()),
        (GtidState::Mysql(_), GtidState::Mysql(_)) => Ok(()),
        (GtidState::Mariadb(_), GtidState::Mariadb(_)) => Ok(()),
        (GtidState::Mysql(_), GtidState::Mariadb(_)) => Err(Error::config(format!(
            "the {keyword} is a GTID set of MySQL, and {file} is of MariaDB"
        ))),
        (GtidState::Mariadb(_), GtidState::Mysql(_)) => Err(Error::config(format!(
            "the {keyword} is a GTID position of MariaDB, and {file} is of MySQL"
        ))),
    }
}

/// The transactions of `before` that are not in `done`, as text; of them those that `wanted` contains, if it is given.
fn missing(before: &GtidState, done: &GtidState, wanted: Option<&GtidState>) -> Option<String> {
    match before {
        GtidState::Mysql(before) => {
            let mut missing = before.clone();
            if let GtidState::Mysql(done) = done {
                missing.subtract(done);
            }
            if let Some(GtidState::Mysql(wanted)) = wanted {
                let mut others = missing.clone();
                others.subtract(wanted);
                missing.subtract(&others);
            }
            (!missing.is_empty()).then(|| shortened(&missing.to_string()))
        }
        GtidState::Mariadb(before) => {
            let last = |state: &GtidState, domain_id| match state {
                GtidState::Mariadb(position) => position.last(domain_id).map(|gtid| gtid.seq),
                GtidState::Mysql(_) => None,
            };
            let mut missing = MariadbGtidPosition::new();
            for gtid in before.iter() {
                let read = last(done, gtid.domain_id);
                let is_wanted =
                    wanted.is_none_or(|wanted| last(wanted, gtid.domain_id).max(read) > read);
                if read.is_none_or(|read| gtid.seq > read) && is_wanted {
                    missing.update(gtid);
                }
            }
            (!missing.is_empty()).then(|| shortened(&format!("up to {missing}")))
        }
    }
}

/// The set of a server that had many sources can be very long.
fn shortened(set: &str) -> String {
    match set.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{} ...", set.get(..end).unwrap_or_default()),
        None => set.to_owned(),
    }
}

/// Characters of a GTID set in a message: about five sources.
const MAX_SHOWN: usize = 256;
