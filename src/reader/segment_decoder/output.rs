//! The output of decoding.

use crate::position::Position;
use crate::reader::batch::ChangeBatch;
use crate::reader::resume::{Reach, TableKey};
use crate::reader::stats::Stats;
use crate::source::LogItem;
use std::sync::Arc;

/// The output of decoding, in order.
#[derive(Debug)]
pub enum Output {
    /// Rows of one table, and the part of the table's changes that they complete.
    Batch(ChangeBatch, Reach),
    /// An item that is not a row.
    Item(LogItem),
    /// An item whose place among the rows of its transaction does not matter: the position does not change.
    Note(LogItem),
    /// The end of the segment.
    End {
        /// The position at which to resume.
        position: Arc<Position>,
        /// The changes in it, by table, of a transaction that continues in the next segment.
        open: Option<Vec<(TableKey, u64)>>,
        /// The counts of the segment.
        stats: Box<Stats>,
        /// Warnings for the reader.
        warnings: Vec<String>,
    },
}

impl Output {
    /// The bytes of its rows in memory.
    pub(in crate::reader) fn bytes(&self) -> usize {
        match self {
            Self::Batch(ChangeBatch { written: Some(written), .. }, _) => written.bytes,
            Self::Batch(batch, _) => batch.batch.get_array_memory_size(),
            Self::Item(_) | Self::Note(_) | Self::End { .. } => 0,
        }
    }

    /// The output for the start of the read, before any segment is decoded.
    pub(in crate::reader) fn begin(position: Arc<Position>) -> Self {
        Self::End { position, open: None, stats: Box::default(), warnings: Vec::new() }
    }
}

/// A function that receives an output. Returns false if no more output is needed; so do all
/// functions that have it as an argument.
pub(super) type Emit<'e> = dyn FnMut(Output) -> bool + 'e;
