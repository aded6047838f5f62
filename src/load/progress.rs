//! Reports the progress of a load: rows of the estimated number, rows per second, and the time that is left.

use super::LOG;
use crate::ddl::TableName;
use std::time::{Duration, Instant};

/// The progress of the table that is being loaded.
pub(super) struct Progress {
    table: TableName,
    rows: u64,
    /// The server's estimate of the number of rows, which may be wrong by half.
    estimate: u64,
    since: Instant,
    reported: Instant,
}

impl Progress {
    /// Begins with a table.
    pub(super) fn new(table: TableName, estimate: u64) -> Self {
        let now = Instant::now();
        Self { table, rows: 0, estimate, since: now, reported: now }
    }

    /// The table that is being loaded.
    pub(super) fn table(&self) -> &TableName {
        &self.table
    }

    /// True if it is that of this table.
    pub(super) fn is_of(&self, table: &TableName) -> bool {
        self.table == *table
    }

    /// Adds rows that were read.
    pub(super) fn add(&mut self, rows: u64) {
        self.rows += rows;
        if self.reported.elapsed() >= INTERVAL {
            self.reported = Instant::now();
            log::info!(target: LOG, "{}", self.text(self.since.elapsed()));
        }
    }

    fn text(&self, elapsed: Duration) -> String {
        let speed = self.rows as f64 / elapsed.as_secs_f64().max(1e-3);
        let left = match self.estimate.checked_sub(self.rows) {
            Some(left @ 1..) => format!(
                " of about {}, about {:.0} s left",
                self.estimate,
                left as f64 / speed.max(1.0)
            ),
            _ => String::new(),
        };
        format!("{}: {} rows loaded{left}, {speed:.0} rows per second", self.table, self.rows)
    }
}

/// The time between two reports.
const INTERVAL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let now = Instant::now();
        let table = TableName { database: "shop".into(), table: "orders".into() };
        let mut progress =
            Progress { table, rows: 2000, estimate: 10_000, since: now, reported: now };
        let elapsed = Duration::from_secs(4);
        assert_eq!(
            progress.text(elapsed),
            "shop.orders: 2000 rows loaded of about 10000, about 16 s left, 500 rows per second"
        );
        progress.rows = 12_000;
        assert_eq!(progress.text(elapsed), "shop.orders: 12000 rows loaded, 3000 rows per second");
        progress.add(0);
        assert_eq!(progress.rows, 12_000);
    }
}
