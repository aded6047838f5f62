//! The rule by which a walk skips segments of files that have an index.

use crate::binlog::FormatDescription;
use crate::index::Index;
use std::fmt;
use std::sync::Arc;

/// Database and table.
pub type SkippedTable = (Arc<str>, Arc<str>);

/// Decides which segments contain no row that a read returns.
pub trait SegmentRule: fmt::Debug + Send + Sync {
    /// For each segment: the tables of which the read would have seen rows, if it returns none of them; `None` if the segment must
    /// be read.
    fn skipped(&self, index: &Index, format: &FormatDescription) -> Vec<Option<Vec<SkippedTable>>>;
}
