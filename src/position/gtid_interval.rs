//! The transactions of one source in a GTID set: intervals of numbers, in order, that neither overlap nor touch.

use super::gtid::MAX_GNO;
use super::number::parse_number;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// The numbers from `start` to `end`, without `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Interval {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Adds an interval. Usually it continues the last one.
pub(super) fn insert(intervals: &mut Vec<Interval>, mut new: Interval) {
    if let Some(last) = intervals.last_mut()
        && last.end == new.start
    {
        last.end = new.end;
        return;
    }
    let from = intervals.partition_point(|interval| interval.end < new.start);
    let to = intervals.partition_point(|interval| interval.start <= new.end);
    if let Some(joined) = intervals.get(from..to)
        && let (Some(first), Some(last)) = (joined.first(), joined.last())
    {
        new = Interval { start: new.start.min(first.start), end: new.end.max(last.end) };
    }
    intervals.splice(from..to, [new]);
}

/// Returns the numbers that are in one of the lists, or in both.
pub(super) fn merge(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut merged: Vec<Interval> = Vec::new();
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(left), Some(right)) if left.start <= right.start => a.next(),
            (_, Some(_)) => b.next(),
            (_, None) => a.next(),
        };
        match (next, merged.last_mut()) {
            (None, _) => return merged,
            (Some(next), Some(last)) if next.start <= last.end => last.end = last.end.max(next.end),
            (Some(next), _) => merged.push(*next),
        }
    }
}

/// Returns the numbers that are in `from` but not in `removed`.
pub(super) fn difference(from: &[Interval], removed: &[Interval]) -> Vec<Interval> {
    let mut left = Vec::with_capacity(from.len());
    let mut removed = removed.iter().peekable();
    for interval in from {
        let mut start = interval.start;
        while let Some(gap) = removed.peek().filter(|gap| gap.start < interval.end) {
            if start < gap.start {
                left.push(Interval { start, end: gap.start });
            }
            start = start.max(gap.end);
            if gap.end > interval.end {
                break; // it may reach into the next interval
            }
            removed.next();
        }
        if start < interval.end {
            left.push(Interval { start, end: interval.end });
        }
    }
    left
}

/// Reads `7` or `3-5`.
pub(super) fn parse_interval(text: &str) -> Option<Interval> {
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    let (start, end) = (parse_number(start.trim())?, parse_number(end.trim())?);
    (1 <= start && start <= end && end <= MAX_GNO).then(|| Interval { start, end: end + 1 })
}

/// Decodes the intervals of one source, with their count before them.
pub(super) fn decode_intervals(reader: &mut Reader<'_>) -> Result<Vec<Interval>> {
    let count = reader.u64("GTID interval count")?;
    let capacity = limit("GTID interval count", count, reader.left(), 16)?;
    let mut intervals = Vec::with_capacity(capacity);
    let mut lowest = 1;
    for _ in 0..count {
        let start = reader.u64("GTID interval start")?;
        let end = reader.u64("GTID interval end")?;
        if start < lowest {
            return Err(DecodeError::Invalid { what: "GTID interval start", value: start });
        }
        if end <= start || end > MAX_GNO + 1 {
            return Err(DecodeError::Invalid { what: "GTID interval end", value: end });
        }
        intervals.push(Interval { start, end });
        lowest = end + 1;
    }
    Ok(intervals)
}

/// Returns an error if `count` items of at least `size` bytes are more than the bytes that are left.
pub(super) fn limit(what: &'static str, count: u64, left: usize, size: usize) -> Result<usize> {
    let limit = left / size;
    match usize::try_from(count) {
        Ok(count) if count <= limit => Ok(count),
        _ => Err(DecodeError::Limit { what, value: count, limit: limit as u64 }),
    }
}
