//! The transactions of a segment with their GTIDs, by the offsets of their first events.

use crate::change::LoggedGtid;

/// Transactions in the order of the log. The numbers of GTIDs are mostly consecutive, so eight bytes per transaction are enough.
#[derive(Debug, Clone, Default)]
pub struct GtidPlaces {
    /// The offset of the first event of each transaction.
    starts: Vec<u64>,
    runs: Vec<Run>,
}

/// Transactions with consecutive numbers, or without GTIDs.
#[derive(Debug, Clone)]
struct Run {
    /// The index of the first one.
    first: usize,
    /// Its GTID.
    gtid: Option<LoggedGtid>,
}

impl Run {
    /// True if the transaction with this index and GTID continues the run.
    fn has(&self, index: usize, gtid: Option<&LoggedGtid>) -> bool {
        let more = (index - self.first) as u64;
        match (&self.gtid, gtid) {
            (Some(LoggedGtid::Mysql(first)), Some(LoggedGtid::Mysql(gtid))) => {
                gtid.gno == first.gno + more && gtid.tsid == first.tsid
            }
            (Some(LoggedGtid::Mariadb(first)), Some(LoggedGtid::Mariadb(gtid))) => {
                Some(gtid.seq) == first.seq.checked_add(more)
                    && (gtid.domain_id, gtid.server_id) == (first.domain_id, first.server_id)
            }
            (first, gtid) => first.is_none() && gtid.is_none(),
        }
    }

    /// The GTID of the transaction with this index.
    fn gtid(&self, index: usize) -> Option<LoggedGtid> {
        let more = (index - self.first) as u64;
        let mut gtid = self.gtid.clone()?;
        match &mut gtid {
            LoggedGtid::Mysql(gtid) => gtid.gno += more,
            LoggedGtid::Mariadb(gtid) => gtid.seq += more,
        }
        Some(gtid)
    }
}

impl GtidPlaces {
    /// No transactions, with room for some.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { starts: Vec::with_capacity(count), runs: Vec::new() }
    }

    /// The number of transactions.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Adds the next transaction.
    pub(super) fn push(&mut self, start: u64, gtid: Option<&LoggedGtid>) {
        let index = self.starts.len();
        if !self.runs.last().is_some_and(|run| run.has(index, gtid)) {
            self.runs.push(Run { first: index, gtid: gtid.cloned() });
        }
        self.starts.push(start);
    }

    /// Removes all transactions.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.runs.clear();
    }

    /// Divides them: those that start at `offset` or after it are removed, and returned.
    pub(super) fn split_off(&mut self, offset: u64, mut rest: Self) -> Self {
        let count = self.starts.partition_point(|start| *start < offset);
        for (index, start) in self.starts.iter().enumerate().skip(count) {
            rest.push(*start, self.gtid(index).as_ref());
        }
        self.starts.truncate(count);
        self.runs.retain(|run| run.first < count);
        rest
    }

    /// The GTIDs of the transactions that start in a part of the file; `None` for one without a GTID.
    pub fn between(&self, from: u64, to: u64) -> impl Iterator<Item = Option<LoggedGtid>> {
        let [first, end] = [from, to].map(|at| self.starts.partition_point(|start| *start < at));
        (first..end).map(|index| self.gtid(index))
    }

    /// The GTID of the transaction that starts at an offset, if there is one and it has a GTID.
    pub fn at(&self, start: u64) -> Option<LoggedGtid> {
        self.gtid(self.starts.binary_search(&start).ok()?)
    }

    fn gtid(&self, index: usize) -> Option<LoggedGtid> {
        let runs = self.runs.partition_point(|run| run.first <= index);
        self.runs.get(runs.checked_sub(1)?)?.gtid(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::{Gtid, MariadbGtid, Tsid};
    use proptest::prelude::*;

    fn gtid() -> impl Strategy<Value = Option<LoggedGtid>> {
        let mysql = (0u8..2, 0usize..2, 1u64..5).prop_map(|(uuid, tag, gno)| {
            LoggedGtid::Mysql(Gtid { tsid: Tsid::new([uuid; 16], ["", "a"][tag]), gno })
        });
        let mariadb = (0u32..2, 1u32..3, 1u64..5).prop_map(|(domain_id, server_id, seq)| {
            LoggedGtid::Mariadb(MariadbGtid { domain_id, server_id, seq })
        });
        prop_oneof![Just(None), mysql.prop_map(Some), mariadb.prop_map(Some)]
    }

    proptest! {
        /// The model is a list with a GTID for each transaction.
        #[test]
        fn like_a_list(gtids in prop::collection::vec(gtid(), 0..60), from in 0u64..70, to in 0u64..70) {
            let mut places = GtidPlaces::default();
            for (index, gtid) in gtids.iter().enumerate() {
                places.push(index as u64 * 10, gtid.as_ref());
            }
            prop_assert_eq!(places.len(), gtids.len());
            let model = |from: u64, to: u64| -> Vec<_> {
                let of = |index: &usize| (from..to).contains(&(*index as u64 * 10));
                (0..gtids.len()).filter(of).map(|index| gtids[index].clone()).collect()
            };
            let list = |places: &GtidPlaces| places.between(0, u64::MAX).collect::<Vec<_>>();
            prop_assert_eq!(places.between(from * 9, to * 9).collect::<Vec<_>>(), model(from * 9, to * 9));
            for (index, gtid) in gtids.iter().enumerate() {
                prop_assert_eq!(&places.at(index as u64 * 10), gtid);
                prop_assert_eq!(places.at(index as u64 * 10 + 1), None);
            }
            let rest = places.split_off(from * 9, GtidPlaces::default());
            prop_assert_eq!(list(&places), model(0, from * 9));
            prop_assert_eq!(list(&rest), model(from * 9, u64::MAX));
        }
    }

    #[test]
    fn consecutive_numbers_are_one_run() {
        let mut places = GtidPlaces::default();
        for gno in 1..=1000 {
            let gtid = LoggedGtid::Mysql(Gtid { tsid: Tsid::untagged([7; 16]), gno });
            places.push(gno * 100, Some(&gtid));
        }
        assert_eq!(places.runs.len(), 1);
    }
}
