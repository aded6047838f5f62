//! Counters of a live read, which other threads can read while it runs.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::SystemTime;

/// Counters of a live read.
#[derive(Debug, Default)]
pub struct LiveCounters {
    reconnects: AtomicU64,
    events: AtomicU64,
    bytes: AtomicU64,
    /// The time when the server last sent an event, in microseconds since 1970 UTC.
    received_at: AtomicI64,
}

impl LiveCounters {
    /// The number of connections that were opened after one was lost.
    pub fn reconnects(&self) -> u64 {
        self.reconnects.load(Ordering::Relaxed)
    }

    /// The number of events that the server sent, including heartbeats.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// The number of bytes of these events.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The time when the server last sent an event, in microseconds since 1970 UTC.
    pub fn received_at(&self) -> Option<i64> {
        Some(self.received_at.load(Ordering::Relaxed)).filter(|at| *at != 0)
    }

    pub(super) fn reconnected(&self) {
        self.reconnects.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a received event of `len` bytes.
    pub(super) fn received(&self, len: usize) {
        self.bytes.fetch_add(len as u64, Ordering::Relaxed);
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that an event was received now. It is not called for each event, because reading the
    /// clock takes longer than counting.
    pub(super) fn heard(&self) {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        self.received_at.store(now.as_micros() as i64, Ordering::Relaxed);
    }
}
