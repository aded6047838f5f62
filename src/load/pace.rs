//! Limits the number of rows that are read per second.

use crate::cancel::CancelToken;
use crate::error::Result;
use std::time::{Duration, Instant};

/// Waits after rows so that no more than a number of them are read per second.
#[derive(Debug)]
pub(super) struct Pace {
    rows_per_second: u32,
    since: Instant,
    rows: u64,
}

impl Pace {
    pub(super) fn new(rows_per_second: u32) -> Self {
        Self { rows_per_second: rows_per_second.max(1), since: Instant::now(), rows: 0 }
    }

    /// The number of rows to read before the next wait.
    pub(super) fn step(&self) -> i64 {
        i64::from((self.rows_per_second / STEPS_PER_SECOND).max(1))
    }

    /// Waits after more rows.
    pub(super) fn wait(&mut self, rows: u64, cancel: &CancelToken) -> Result<()> {
        self.rows += rows;
        let due = Duration::from_secs_f64(self.rows as f64 / f64::from(self.rows_per_second));
        while let Some(left) = due.checked_sub(self.since.elapsed()) {
            cancel.check()?;
            std::thread::sleep(left.min(CANCEL_CHECK));
        }
        Ok(())
    }
}

const STEPS_PER_SECOND: u32 = 10;

const CANCEL_CHECK: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_take_their_time() {
        let mut pace = Pace::new(1_000);
        let cancel = CancelToken::default();
        assert_eq!(pace.step(), 100);
        pace.wait(60, &cancel).unwrap();
        assert!(pace.since.elapsed() >= Duration::from_millis(60));
        cancel.cancel();
        pace.wait(1_000_000, &cancel).unwrap_err();
        assert_eq!(Pace::new(0).step(), 1);
    }
}
