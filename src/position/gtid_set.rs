//! Sets of MySQL's GTIDs.
//!
//! <https://dev.mysql.com/doc/refman/en/replication-gtids-concepts.html>
//!
//! ```text
//! text       uuid:1-3:5,uuid:7:tag:1-2           both ends of a range included
//! binary v0  n 8 | { uuid 16, intervals 8, { start 8, end 8 (not included) } }
//! binary v1  1, n 6, 1 | { uuid 16, tag varint length + bytes, intervals 8, { start 8, end 8 } }
//! ```

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::str::FromStr;

use super::gtid::{MAX_GNO, Tsid, decode_tag, is_tag, parse_uuid, write_uuid};
use super::gtid_interval::{
    Interval, decode_intervals, difference, insert, limit, merge, parse_interval,
};
use super::varint::encode_varint;
use crate::error::{DecodeError, Error};
use crate::wire::{Reader, Result};

/// A set of transactions.
#[derive(Clone, PartialEq, Eq, Default, Hash)]
pub struct GtidSet {
    sources: BTreeMap<Tsid, Vec<Interval>>,
}

impl GtidSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { sources: BTreeMap::new() }
    }

    /// True if it contains no transaction.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The number of transactions in it.
    pub fn len(&self) -> u64 {
        self.sources.values().flatten().map(|interval| interval.end - interval.start).sum()
    }

    /// Adds one transaction. A number outside 1 to 2^63 - 2 is an error.
    pub fn add(&mut self, tsid: &Tsid, gno: u64) -> Result<()> {
        if gno == 0 || gno > MAX_GNO {
            return Err(DecodeError::Invalid { what: "GTID number", value: gno });
        }
        let interval = Interval { start: gno, end: gno + 1 };
        match self.sources.get_mut(tsid) {
            Some(intervals) => insert(intervals, interval),
            None => {
                self.sources.insert(tsid.clone(), vec![interval]);
            }
        }
        Ok(())
    }

    /// True if it contains the transaction.
    pub fn contains(&self, tsid: &Tsid, gno: u64) -> bool {
        self.sources.get(tsid).is_some_and(|intervals| {
            let after = intervals.partition_point(|interval| interval.end <= gno);
            intervals.get(after).is_some_and(|interval| interval.start <= gno)
        })
    }

    /// Adds all transactions of `other`.
    pub fn union(&mut self, other: &Self) {
        for (tsid, added) in &other.sources {
            match self.sources.entry(tsid.clone()) {
                Entry::Vacant(entry) => {
                    entry.insert(added.clone());
                }
                Entry::Occupied(mut entry) => {
                    let merged = merge(entry.get(), added);
                    entry.insert(merged);
                }
            }
        }
    }

    /// Removes all transactions of `other`.
    pub fn subtract(&mut self, other: &Self) {
        self.sources.retain(|tsid, intervals| {
            if let Some(removed) = other.sources.get(tsid) {
                *intervals = difference(intervals, removed);
            }
            !intervals.is_empty()
        });
    }

    /// True if `other` contains all its transactions.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.sources.iter().all(|(tsid, intervals)| match other.sources.get(tsid) {
            Some(others) => difference(intervals, others).is_empty(),
            None => false,
        })
    }

    /// True if `other` contains none of its transactions.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.sources.iter().all(|(tsid, intervals)| match other.sources.get(tsid) {
            Some(others) => difference(intervals, others) == *intervals,
            None => true,
        })
    }

    /// Decodes the binary form, of version 0 or 1: the body of a Previous_gtids event.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let head = reader.u64("GTID set count")?;
        let tagged = match head >> 56 {
            0 => false,
            1 if head & 0xff == 1 => true,
            value => return Err(DecodeError::Unsupported { what: "GTID set format", value }),
        };
        let count = if tagged { head >> 8 & 0xffff_ffff_ffff } else { head };
        limit("GTID set count", count, reader.left(), if tagged { 25 } else { 24 })?;

        let mut set = Self::new();
        for _ in 0..count {
            let uuid = reader.array("GTID set uuid")?;
            let tag = if tagged { decode_tag(&mut reader)? } else { "" };
            let intervals = decode_intervals(&mut reader)?;
            if intervals.is_empty() {
                continue;
            }
            match set.sources.entry(Tsid::new(uuid, tag)) {
                Entry::Vacant(entry) => {
                    entry.insert(intervals);
                }
                Entry::Occupied(_) => {
                    return Err(DecodeError::Invalid { what: "repeated GTID set uuid", value: 0 });
                }
            }
        }
        reader.finish("GTID set")?;
        Ok(set)
    }

    /// Appends the binary form: version 0, or version 1 if there is a tag. Servers before 8.3 do not know version 1.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let tagged = self.sources.keys().any(|tsid| tsid.tag.is_some());
        let count = self.sources.len() as u64;
        out.extend(if tagged { 1 << 56 | count << 8 | 1 } else { count }.to_le_bytes());
        for (tsid, intervals) in &self.sources {
            out.extend(tsid.uuid);
            if tagged {
                let tag = tsid.tag.as_deref().unwrap_or_default();
                encode_varint(out, tag.len() as u64);
                out.extend(tag.bytes());
            }
            out.extend((intervals.len() as u64).to_le_bytes());
            for interval in intervals {
                out.extend(interval.start.to_le_bytes());
                out.extend(interval.end.to_le_bytes());
            }
        }
    }
}

/// The form that servers print, on one line: sorted, with ranges merged, and each UUID once.
impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last: Option<&[u8; 16]> = None;
        for (tsid, intervals) in &self.sources {
            if last != Some(&tsid.uuid) {
                f.write_str(if last.is_some() { "," } else { "" })?;
                write_uuid(f, &tsid.uuid)?;
                last = Some(&tsid.uuid);
            }
            if let Some(tag) = &tsid.tag {
                write!(f, ":{tag}")?;
            }
            for interval in intervals {
                match interval.end - 1 {
                    end if end == interval.start => write!(f, ":{end}")?,
                    end => write!(f, ":{}-{end}", interval.start)?,
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GtidSet({self})")
    }
}

/// Reads the form of servers, and others: with white space between items, in any letter case, UUIDs with or without dashes, a
/// UUID more than once, ranges in any order.
impl FromStr for GtidSet {
    type Err = Error;

    fn from_str(text: &str) -> std::result::Result<Self, Error> {
        let mut set = Self::new();
        // Servers ignore empty items, too.
        for source in text.split(',').map(str::trim).filter(|source| !source.is_empty()) {
            set.add_source(source)
                .ok_or_else(|| Error::config(format!("{source:?} is not part of a GTID set")))?;
        }
        Ok(set)
    }
}

impl GtidSet {
    /// Adds one `uuid:1-3:tag:5`. Returns `None` for other text.
    fn add_source(&mut self, source: &str) -> Option<()> {
        let mut items = source.split(':').map(str::trim);
        let mut tsid = Tsid::untagged(parse_uuid(items.next()?)?);
        let mut needs_interval = true;
        for item in items {
            if item.starts_with(|c: char| c.is_ascii_digit()) {
                let interval = parse_interval(item)?;
                insert(self.sources.entry(tsid.clone()).or_default(), interval);
                needs_interval = false;
            } else {
                let tag = item.to_ascii_lowercase();
                if needs_interval && tsid.tag.is_some() || !is_tag(tag.as_bytes()) {
                    return None;
                }
                tsid.tag = Some(tag.into());
                needs_interval = true;
            }
        }
        (!needs_interval).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const A: &str = "55778904-0299-11f1-b1b8-4ef0c4956feb";
    const B: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn set(text: &str) -> GtidSet {
        text.parse().unwrap()
    }

    #[test]
    fn text() {
        for (input, canonical) in [
            (String::new(), String::new()),
            (" \n".into(), String::new()),
            (format!("{A}:1-3:5"), format!("{A}:1-3:5")),
            (format!("{A}:5:1-3:4"), format!("{A}:1-5")),
            (format!("{A}:1-5:7-9"), format!("{A}:1-5:7-9")),
            (format!("{A} : 1 - 3 ,\n{B}:7, {A}:9"), format!("{B}:7,{A}:1-3:9")),
            (A.to_uppercase().replace('-', "") + ":1", format!("{A}:1")),
            (format!("{A}:1:Other:7:tag:1-2:1"), format!("{A}:1:other:7:tag:1-2")),
            (format!("{A}:9223372036854775806,"), format!("{A}:9223372036854775806")),
        ] {
            assert_eq!(set(&input).to_string(), canonical);
            assert_eq!(set(&canonical), set(&input));
        }
    }

    #[test]
    fn text_refused() {
        for bad in [
            A.to_owned(),
            format!("{A}:"),
            format!("{A}:0"),
            format!("{A}:3-1"),
            format!("{A}:+1"),
            format!("{A}:1-"),
            format!("{A}:1-2-3"),
            format!("{A}:9223372036854775807"),
            format!("{A}:18446744073709551615"),
            format!("{A}:99999999999999999999"),
            format!("{A}:tag"),
            format!("{A}:tag:tag2:1"),
            format!("{A}:1:t-g:1"),
            format!("{A}:{}:1", "a".repeat(33)),
            format!("{}:1", &A[1..]),
            format!("{}:1", A.replacen('-', "_", 1)),
            "nonsense:1".to_owned(),
            "0-1-5".to_owned(),
        ] {
            assert!(bad.parse::<GtidSet>().is_err(), "{bad}");
        }
        assert!(format!("{A}:{}:1", "a".repeat(32)).parse::<GtidSet>().is_ok());
    }

    #[test]
    fn tags_keep_apart() {
        let both = set(&format!("{A}:1-5:tag_a:1"));
        assert!(both.contains(&Tsid::untagged(parse_uuid(A).unwrap()), 5));
        let tagged = Tsid::new(parse_uuid(A).unwrap(), "tag_a");
        assert!(both.contains(&tagged, 1) && !both.contains(&tagged, 2));
        assert_eq!(both.len(), 6);
        assert_eq!(
            crate::position::Gtid { tsid: tagged, gno: 1 }.to_string(),
            format!("{A}:tag_a:1")
        );
    }

    #[test]
    fn binary() {
        let mut out = Vec::new();
        set(&format!("{A}:1-3:5")).encode(&mut out);
        let mut expected = vec![1, 0, 0, 0, 0, 0, 0, 0];
        expected.extend(parse_uuid(A).unwrap());
        for number in [2u64, 1, 4, 5, 6] {
            expected.extend(number.to_le_bytes());
        }
        assert_eq!(out, expected);

        let mut out = Vec::new();
        set(&format!("{A}:1:mytag:7")).encode(&mut out);
        assert_eq!(&out[..8], &[1, 2, 0, 0, 0, 0, 0, 1]);
        assert_eq!(&out[8 + 16..][..1], &[0]);
        assert_eq!(&out[8 + 16 + 1 + 24 + 16..][..6], b"\x0amytag");
        for end in 0..out.len() {
            assert!(GtidSet::decode(&out[..end]).is_err());
        }
        out.push(0);
        assert!(GtidSet::decode(&out).is_err());
        assert_eq!(GtidSet::decode(&[0; 8]), Ok(GtidSet::new()));
    }

    #[test]
    fn binary_refused() {
        let one = |start: u64, end: u64, more: &[u64]| {
            let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0];
            bytes.extend([7; 16]);
            bytes.extend((1 + more.len() as u64 / 2).to_le_bytes());
            for number in [start, end].iter().chain(more) {
                bytes.extend(number.to_le_bytes());
            }
            GtidSet::decode(&bytes)
        };
        assert!(one(1, 2, &[3, 4]).is_ok());
        assert!(one(1, 1 << 63, &[]).is_err());
        assert!(one(1, (1 << 63) - 1, &[]).is_ok());
        for (start, end, more) in [
            (0, 2, &[][..]),
            (2, 2, &[]),
            (3, 2, &[]),
            (1, 2, &[2, 3]),
            (1, 5, &[3, 7]),
            (5, 7, &[1, 2]),
        ] {
            assert!(one(start, end, more).is_err(), "{start} {end} {more:?}");
        }
        for count in [1 << 40, 0x00ff_ffff_ffff_ffff, 1 << 56 | 1 << 30 | 1, 2 << 56 | 2] {
            let mut bytes = u64::to_le_bytes(count).to_vec();
            bytes.extend([0; 48]);
            assert!(GtidSet::decode(&bytes).is_err());
        }
    }

    /// The simplest model: a set of single transactions.
    type Model = BTreeSet<(Tsid, u64)>;

    fn tsid() -> impl Strategy<Value = Tsid> {
        (0u8..2, 0usize..3).prop_map(|(uuid, tag)| Tsid::new([uuid; 16], ["", "a", "b_1"][tag]))
    }

    fn model() -> impl Strategy<Value = Model> {
        prop::collection::vec((tsid(), 1u64..30), 0..60).prop_map(|all| all.into_iter().collect())
    }

    fn from_model(model: &Model) -> GtidSet {
        let mut set = GtidSet::new();
        for (tsid, gno) in model {
            set.add(tsid, *gno).unwrap();
        }
        set
    }

    proptest! {
        #[test]
        fn algebra(a in model(), b in model()) {
            let (set_a, set_b) = (from_model(&a), from_model(&b));
            prop_assert_eq!(set_a.len(), a.len() as u64);

            let mut union = set_a.clone();
            union.union(&set_b);
            prop_assert_eq!(&union, &from_model(&(&a | &b)));

            let mut rest = set_a.clone();
            rest.subtract(&set_b);
            prop_assert_eq!(&rest, &from_model(&(&a - &b)));

            prop_assert_eq!(set_a.is_subset(&set_b), a.is_subset(&b));
            prop_assert!(rest.is_subset(&set_a) && set_b.is_subset(&union));
            prop_assert_eq!(set_a.is_disjoint(&set_b), a.is_disjoint(&b));
            for (tsid, gno) in &b {
                prop_assert_eq!(set_a.contains(tsid, *gno), a.contains(&(tsid.clone(), *gno)));
            }
        }

        #[test]
        fn order_does_not_matter(all in prop::collection::vec((tsid(), 1u64..30), 0..60)) {
            let mut set = GtidSet::new();
            for (tsid, gno) in &all {
                set.add(tsid, *gno).unwrap();
            }
            prop_assert_eq!(set, from_model(&all.into_iter().collect()));
        }

        #[test]
        fn round_trips(a in model()) {
            let set = from_model(&a);
            prop_assert_eq!(&set.to_string().parse::<GtidSet>().unwrap(), &set);
            let mut bytes = Vec::new();
            set.encode(&mut bytes);
            prop_assert_eq!(&GtidSet::decode(&bytes).unwrap(), &set);
        }

        #[test]
        fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200), text in ".*") {
            let _ = GtidSet::decode(&bytes);
            let _ = text.parse::<GtidSet>();
        }
    }
}
