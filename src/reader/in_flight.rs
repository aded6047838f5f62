//! The bytes of the input that are cut into segments and not yet decoded.
//!
//! Segments are small, except those of one large event: without a limit in bytes there would be one or more for each thread.
//! Called by `pipeline`.

use crate::cancel::CancelToken;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bytes of the segments that are cut and not yet decoded.
#[derive(Debug)]
pub(super) struct InFlight {
    bytes: Mutex<usize>,
    left: Condvar,
    limit: usize,
}

impl InFlight {
    /// Starts with no bytes and allows at most `limit`. A single segment may be larger.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { bytes: Mutex::new(0), left: Condvar::new(), limit })
    }

    /// Waits until `bytes` more are allowed, as long as the permit lives; `None` if `cancel` is cancelled.
    pub(super) fn enter(self: &Arc<Self>, bytes: usize, cancel: &CancelToken) -> Option<Permit> {
        let mut sum = self.lock();
        while *sum > 0 && sum.saturating_add(bytes) > self.limit {
            if cancel.is_cancelled() {
                return None;
            }
            sum = self.left.wait_timeout(sum, STOP_CHECK).unwrap_or_else(PoisonError::into_inner).0;
        }
        *sum += bytes;
        Some(Permit { bytes, of: Arc::clone(self) })
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        // The sum is valid even after a panic.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
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
        *self.of.lock() -= self.bytes;
        self.of.left.notify_all();
    }
}

/// The interval between two checks whether the wait must stop.
const STOP_CHECK: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_the_limit_or_one_alone() {
        let (running, stop) = (CancelToken::default(), CancelToken::default());
        stop.cancel();
        let in_flight = InFlight::new(100);
        let large = in_flight.enter(1000, &stop).unwrap();
        assert!(in_flight.enter(1, &stop).is_none());
        drop(large);
        let first = in_flight.enter(60, &stop).unwrap();
        let second = in_flight.enter(40, &stop).unwrap();
        assert!(in_flight.enter(1, &stop).is_none());
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| in_flight.enter(50, &running).is_some());
            drop(first);
            waiting.join().unwrap()
        });
        assert!(waiting);
        drop(second);
        assert_eq!(*in_flight.lock(), 0);
    }
}
