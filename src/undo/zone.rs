//! The time zone of the times in comments.

/// The offsets from UTC of a time zone, by the times from which they apply. UTC if there are none.
#[derive(Debug, Clone, Default)]
pub struct Zone {
    /// Microseconds since 1970 UTC, in ascending order, and the offset in seconds.
    pub offsets: Vec<(i64, i32)>,
}

impl Zone {
    /// The offset in seconds at a time; `None` for UTC.
    pub(super) fn offset(&self, micros: i64) -> Option<i32> {
        let next = self.offsets.partition_point(|(from, _)| *from <= micros);
        let first = self.offsets.first();
        self.offsets.get(next.wrapping_sub(1)).or(first).map(|(_, seconds)| *seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::Zone;

    #[test]
    fn an_offset_applies_from_its_time_on() {
        let zone = Zone { offsets: vec![(0, 3600), (100, 7200)] };
        let found = [-5, 0, 99, 100, i64::MAX].map(|micros| zone.offset(micros));
        assert_eq!(found, [Some(3600), Some(3600), Some(3600), Some(7200), Some(7200)]);
        assert_eq!(Zone::default().offset(7), None);
    }
}
