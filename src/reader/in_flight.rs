//! The limits, in bytes, of the segments that are being decoded, and of the outputs that wait for the caller.
//!
//! Segments are small, except those of one large event, and a segment of compressed transactions can have many large batches:
//! without these limits the memory of a reader would grow with the number of its threads, and with the input. Called by
//! `pipeline`.

use crate::cancel::CancelToken;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bytes of the segments that are being decoded.
#[derive(Debug)]
pub(super) struct InFlight {
    bytes: Mutex<usize>,
    left: Condvar,
    limit: usize,
}

impl InFlight {
    /// Starts with no bytes. The next segment is cut while there are fewer than `limit`.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { bytes: Mutex::new(0), left: Condvar::new(), limit })
    }

    /// Waits until the next segment may be cut; false if `cancel` is cancelled.
    pub(super) fn wait(&self, cancel: &CancelToken) -> bool {
        wait_until(&self.left, lock(&self.bytes), cancel, |sum| *sum < self.limit).is_some()
    }

    /// Counts `bytes` as long as the permit lives.
    pub(super) fn enter(self: &Arc<Self>, bytes: usize) -> Permit {
        *lock(&self.bytes) += bytes;
        Permit { bytes, of: Arc::clone(self) }
    }
}

/// The bytes of a segment count until this is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    bytes: usize,
    of: Arc<InFlight>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        *lock(&self.of.bytes) -= self.bytes;
        self.of.left.notify_all();
    }
}

/// The outputs that wait for the caller. The thread whose outputs the caller receives next never waits for the others.
#[derive(Debug)]
pub(super) struct Backlog {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    limit: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: usize,
    /// The number of parts of the input whose outputs the caller has received, or is receiving.
    parts: u64,
}

impl Backlog {
    /// Starts with no outputs. Together they may have `limit` bytes, or one of them may be larger.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), changed: Condvar::new(), limit })
    }

    /// Waits until an output of `bytes` may be sent, and counts it; false if `cancel` is cancelled. `part`: the number of its
    /// part of the input, from 0. `has_none` returns true if no output of this part waits.
    pub(super) fn enter(
        &self,
        bytes: usize,
        part: u64,
        has_none: impl Fn() -> bool,
        cancel: &CancelToken,
    ) -> bool {
        let may_enter = |waiting: &Waiting| {
            waiting.bytes == 0
                || waiting.bytes.saturating_add(bytes) <= self.limit
                || (waiting.parts > part && has_none())
        };
        match wait_until(&self.changed, lock(&self.waiting), cancel, may_enter) {
            Some(mut waiting) => {
                waiting.bytes += bytes;
                true
            }
            None => false,
        }
    }

    /// Waits until the outputs are no larger than the limit; false if `cancel` is cancelled.
    pub(super) fn wait(&self, cancel: &CancelToken) -> bool {
        let is_within = |waiting: &Waiting| waiting.bytes <= self.limit;
        wait_until(&self.changed, lock(&self.waiting), cancel, is_within).is_some()
    }

    /// The caller has received an output of `bytes`.
    pub(super) fn leave(&self, bytes: usize) {
        lock(&self.waiting).bytes -= bytes;
        self.changed.notify_all();
    }

    /// The caller receives the outputs of the next part.
    pub(super) fn begin_part(&self) {
        lock(&self.waiting).parts += 1;
        self.changed.notify_all();
    }
}

/// Waits until a value has a property; `None` if `cancel` is cancelled first.
fn wait_until<'v, T>(
    changed: &Condvar,
    mut value: MutexGuard<'v, T>,
    cancel: &CancelToken,
    is_so: impl Fn(&T) -> bool,
) -> Option<MutexGuard<'v, T>> {
    while !is_so(&value) {
        if cancel.is_cancelled() {
            return None;
        }
        value = changed.wait_timeout(value, STOP_CHECK).unwrap_or_else(PoisonError::into_inner).0;
    }
    Some(value)
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    // The sums are valid even after a panic.
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The interval between two checks whether the wait must stop.
const STOP_CHECK: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn cancelled() -> CancelToken {
        let stop = CancelToken::default();
        stop.cancel();
        stop
    }

    #[test]
    fn up_to_the_limit_or_one_alone() {
        let (running, stop) = (CancelToken::default(), cancelled());
        let in_flight = InFlight::new(100);
        let large = in_flight.enter(1000);
        assert!(!in_flight.wait(&stop));
        drop(large);
        let first = in_flight.enter(60);
        assert!(in_flight.wait(&stop));
        let second = in_flight.enter(40);
        assert!(!in_flight.wait(&stop));
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| in_flight.wait(&running));
            drop(first);
            waiting.join().unwrap()
        });
        assert!(waiting);
        drop(second);
        assert_eq!(*lock(&in_flight.bytes), 0);
    }

    #[test]
    fn outputs_wait_for_those_before_them() {
        let (running, stop) = (CancelToken::default(), cancelled());
        let (some, none) = (|| false, || true);
        let backlog = Backlog::new(100);
        // A single output may be larger.
        assert!(backlog.enter(1000, 1, some, &stop));
        assert!(!backlog.enter(1, 0, none, &stop));
        // The caller receives part 0: its outputs come one by one, however many others wait.
        backlog.begin_part();
        assert!(backlog.enter(1, 0, none, &stop));
        assert!(!backlog.enter(1, 0, some, &stop));
        assert!(!backlog.enter(1, 1, none, &stop));
        let entered = std::thread::scope(|scope| {
            let entered = scope.spawn(|| backlog.enter(99, 1, some, &running));
            backlog.leave(1000);
            entered.join().unwrap()
        });
        assert!(entered);
        assert_eq!(lock(&backlog.waiting).bytes, 100);
    }
}
