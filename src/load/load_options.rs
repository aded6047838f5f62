//! The options of an initial load.

use super::certificate::CertificateFile;
use super::snapshot::Locks;
use crate::source::Connector;
use std::fmt;

/// The options of an initial load.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The locks that may be used to open snapshots.
    pub locks: Locks,
    /// The maximum number of rows of a chunk.
    pub chunk_rows: u64,
    /// The maximum number of rows per second; `None` for no limit.
    pub max_rows_per_second: Option<u32>,
    /// The file of the certificate.
    pub certificate: Option<CertificateFile>,
    /// The connections to a replica that returns the rows; `None` for those of the log.
    pub rows_from: Option<RowsFrom>,
}

/// The connections to the server of the rows, if it is another one than that of the log.
#[derive(Clone)]
pub struct RowsFrom(pub Connector);

impl fmt::Debug for RowsFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowsFrom")
    }
}

impl LoadOptions {
    /// The maximum number of rows that are read in one snapshot. With a limit of rows per second, its transaction is open for a
    /// second.
    pub(super) fn rows_of_snapshot(&self) -> u64 {
        self.max_rows_per_second.map_or(self.chunk_rows, |rows| self.chunk_rows.min(rows.into()))
    }
}
