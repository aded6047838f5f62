//! The SQL of the changes in a part of the log, in order and divided into transactions.

use super::Direction;
use super::run::{Order, Part, Run};
use super::spare::Spare;
use crate::error::{Error, ErrorKind, Result};
use std::sync::Arc;

/// The text of changes, in any order.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The order of each run, with the number of its part and its number in the part.
    places: Vec<(Order, usize, usize)>,
    parts: Vec<Arc<Part>>,
    bytes: usize,
    /// The last place of all texts before.
    last: Option<Order>,
    /// The memory of earlier parts.
    pub(super) spare: Spare,
}

/// A text without the begin of its first transaction and the end of its last one.
#[derive(Debug)]
pub(super) struct Block {
    /// The version of the first transaction.
    pub(super) first: i64,
    /// The version of the last transaction.
    pub(super) last: i64,
    /// The begin of the first transaction.
    pub(super) head: Vec<u8>,
    /// The number of transactions.
    pub(super) transactions: u64,
}

impl Runs {
    /// Adds changes.
    pub(super) fn push(&mut self, part: Arc<Part>) {
        let number = self.parts.len();
        let runs = part.runs.iter().enumerate();
        self.places.extend(runs.map(|(run, Run { first, .. })| (*first, number, run)));
        self.bytes += part.text.len();
        self.parts.push(part);
    }

    /// The number of bytes of the texts.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes all changes to `out`, and clears the block. `None` if there are no changes.
    pub(super) fn take_block(
        &mut self,
        direction: Direction,
        out: &mut Vec<u8>,
    ) -> Result<Option<Block>> {
        self.places.sort_by_key(|(order, ..)| *order);
        let (Some(first), Some(last)) = (self.places.first(), self.places.last()) else {
            return Ok(None);
        };
        if self.last.is_some_and(|last| last > first.0) {
            return Err(Error::new(
                ErrorKind::Internal,
                "changes of the log were not read in its order",
            ));
        }
        let is_undo = direction == Direction::Undo;
        let (first, last) = if is_undo { (last, first) } else { (first, last) };
        let (first, last) = (first.0.version, last.0.version);
        out.clear();
        out.reserve(self.bytes + self.bytes / 8);
        let mut head = Vec::new();
        let mut version = None;
        let (mut transactions, mut end) = (0, self.last);
        for at in 0..self.places.len() {
            let at = if is_undo { self.places.len() - 1 - at } else { at };
            let Some((part, run)) = self.run(at) else { continue };
            end = end.max(Some(run.last));
            if version != Some(run.first.version) {
                let comment = part.comments.get(run.comment.clone()).unwrap_or_default();
                match version.replace(run.first.version) {
                    None => write_head(comment, &mut head),
                    Some(_) => {
                        out.extend_from_slice(b"COMMIT;\n");
                        write_head(comment, out);
                    }
                }
                transactions += 1;
            }
            out.extend_from_slice(part.text.get(run.text.clone()).unwrap_or_default());
        }
        self.last = end;
        self.places.clear();
        self.bytes = 0;
        self.parts
            .drain(..)
            .filter_map(Arc::into_inner)
            .for_each(|part| self.spare.give_part(part));
        Ok(Some(Block { first, last, head, transactions }))
    }

    fn run(&self, place: usize) -> Option<(&Part, &Run)> {
        let (_, part, run) = self.places.get(place)?;
        let part = self.parts.get(*part)?;
        Some((part, part.runs.get(*run)?))
    }
}

fn write_head(comment: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\n-- ");
    out.extend_from_slice(comment);
    out.extend_from_slice(b"\nSTART TRANSACTION;\n");
}
