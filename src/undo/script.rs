//! The script: batches in, pieces of SQL out.

use super::Direction;
use super::block::{Block, Runs};
use super::changes::Changes;
use super::header::{self, Facts};
use super::options::UndoOptions;
use super::part::{self, Steps};
use super::sql_writer::{self, SqlWriter};
use super::table::{Counted, Table, TableCounts};
use crate::columnar::TablePlan;
use crate::error::{Error, Result};
use crate::platform;
use crate::reader::ChangeBatch;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

/// SQL under construction, then SQL that is returned in pieces.
pub struct UndoScript {
    options: UndoOptions,
    runs: Runs,
    /// The text of the last block, whose memory is used again.
    text: Vec<u8>,
    /// The tables of plans that occurred since the last block.
    tables: Vec<Arc<Table>>,
    plans: Vec<Arc<TablePlan>>,
    counts: BTreeMap<(Arc<str>, Arc<str>), Counted>,
    /// The segment of the last batch.
    segment: u64,
    is_mariadb: bool,
    blocks: Vec<Written>,
    file: Option<File>,
    /// The number of bytes in the temporary file.
    len: u64,
    /// The number of bytes that blocks have in memory.
    in_memory: u64,
    transactions: u64,
    longest: usize,
    /// The state of the output: `None` before it starts.
    output: Option<Output>,
}

/// A piece of the SQL.
#[derive(Debug)]
pub enum Piece {
    /// Text.
    Text(Vec<u8>),
    /// The place of text in the temporary file.
    Stored {
        /// The offset.
        start: u64,
        /// The number of bytes.
        size: u64,
    },
}

/// A block that was written.
struct Written {
    first: i64,
    last: i64,
    head: Vec<u8>,
    text: Stored,
    len: u64,
}

/// The text of a block.
enum Stored {
    Memory(Vec<u8>),
    /// Its offset in the temporary file.
    File(u64),
}

/// The next part of the output.
struct Output {
    notes: Vec<String>,
    /// True after the header.
    is_started: bool,
    /// The number of blocks that were returned.
    blocks: usize,
    /// True if the BEGIN of the current block's first transaction was returned.
    is_block_started: bool,
    /// The number of bytes of the current block that were returned.
    within: u64,
    /// The open transaction.
    open: Option<i64>,
    is_ended: bool,
}

impl UndoScript {
    /// Creates a script without changes.
    pub fn new(options: UndoOptions) -> Self {
        Self {
            options,
            runs: Runs::default(),
            text: Vec::new(),
            tables: Vec::new(),
            plans: Vec::new(),
            counts: BTreeMap::new(),
            segment: 0,
            is_mariadb: false,
            blocks: Vec::new(),
            file: None,
            len: 0,
            in_memory: 0,
            transactions: 0,
            longest: 0,
            output: None,
        }
    }

    /// Writes changes for this script, in the threads that read the log.
    pub fn sql_writer(&self) -> SqlWriter {
        SqlWriter::new(self.options.clone(), self.runs.spare.clone())
    }

    /// Adds the changes of a batch. `with_effects` are the numbers of the rows whose effects are added next, ascending.
    ///
    /// # Errors
    /// A change cannot be reversed: its image lacks columns, or a value has no literal.
    pub fn add(&mut self, change: &ChangeBatch, with_effects: &[usize]) -> Result<()> {
        if self.output.is_some() {
            return Err(Error::config("the script is complete: no batch can be added"));
        }
        if change.segment != self.segment {
            self.segment = change.segment;
            if self.runs.bytes() >= MIN_BLOCK {
                self.end_block()?;
            }
        }
        self.write(change, Steps { with_effects, ..Steps::default() })
    }

    /// Adds changes that the log does not contain, in the order of the log: effects of changes in the last batch.
    ///
    /// The envelope of a row is that of the change that caused it. `steps` order the effects of one change, and are negative.
    ///
    /// # Errors
    /// As for `add`.
    pub fn add_effects(&mut self, effects: &ChangeBatch, steps: &[i64]) -> Result<()> {
        if self.output.is_some() || steps.len() != effects.batch.num_rows() {
            return Err(Error::config(
                "effects follow the batch that caused them, with a step each",
            ));
        }
        self.write(effects, Steps { of_effects: steps, ..Steps::default() })
    }

    /// The rows of a batch whose transactions and connections are selected.
    pub fn picked(&self, change: &ChangeBatch) -> Result<Vec<usize>> {
        let changes = Changes::try_new(&change.batch, self.options.direction)?;
        let rows = 0..change.batch.num_rows();
        let is_picked =
            |row: &usize| self.options.picked.has(changes.gtid(*row), changes.thread(*row));
        Ok(rows.filter(is_picked).collect())
    }

    fn write(&mut self, change: &ChangeBatch, steps: Steps<'_>) -> Result<()> {
        let number = self.table(&change.plan)?;
        let Some(table) = self.tables.get(number).map(Arc::clone) else { return Ok(()) };
        self.is_mariadb = change.plan.is_mariadb();
        let parts = match &change.written {
            Some(written) => sql_writer::parts(written)?,
            None => part::parts(change, steps, &table, &self.options, &self.runs.spare)?
                .into_iter()
                .map(Arc::new)
                .collect(),
        };
        let mut is_empty = true;
        let counted = self.counts.entry(change.plan.key()).or_default();
        for part in parts {
            is_empty &= part.runs.is_empty();
            counted.counts.add(part.counts);
            self.longest = self.longest.max(part.longest);
            self.runs.push(part);
        }
        if is_empty && counted.counts == TableCounts::default() {
            self.counts.remove(&change.plan.key());
        } else {
            counted.key = table.key.as_ref().map(|key| {
                let names = key.iter().filter_map(|index| change.plan.names.get(*index));
                names.map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
            });
        }
        Ok(())
    }

    /// Ends the script. `notes` are lines of the header's comment.
    pub fn finish(&mut self, notes: Vec<String>) -> Result<()> {
        if self.output.is_none() {
            self.end_block()?;
            self.output = Some(Output {
                notes,
                is_started: false,
                blocks: 0,
                is_block_started: false,
                within: 0,
                open: None,
                is_ended: false,
            });
        }
        Ok(())
    }

    /// The counts by database and table.
    pub fn counts(&self) -> impl Iterator<Item = ((&str, &str), TableCounts)> {
        self.counts.iter().map(|((database, table), counted)| {
            ((database.as_ref(), table.as_ref()), counted.counts)
        })
    }

    /// The number of transactions of the complete script.
    pub const fn transactions(&self) -> u64 {
        self.transactions
    }

    /// Returns the next piece; `None` after the last one, and if there are no changes. Text has at most about one MiB. With
    /// `as_places`, the pieces that are in the temporary file are not read.
    pub fn next_piece(&mut self, as_places: bool) -> Result<Option<Piece>> {
        let Some(output) = self.output.as_mut().filter(|output| !output.is_ended) else {
            return Ok(None);
        };
        let mut piece = Vec::new();
        if !output.is_started {
            output.is_started = true;
            if self.blocks.is_empty() || self.options.is_dry {
                output.is_ended = true;
                return Ok(None);
            }
            let facts = Facts {
                direction: self.options.direction,
                is_mariadb: self.is_mariadb,
                foreign_key_checks: self.options.foreign_key_checks,
                transactions: self.transactions,
                longest: self.longest,
                counts: &self.counts,
                notes: &output.notes,
            };
            header::write(&facts, &mut piece);
            return Ok(Some(Piece::Text(piece)));
        }
        while piece.len() < PIECE {
            let number = match self.options.direction {
                Direction::Undo => self.blocks.len().checked_sub(output.blocks + 1),
                Direction::Redo => Some(output.blocks),
            };
            let Some(block) = number.and_then(|number| self.blocks.get(number)) else {
                piece.extend_from_slice(b"COMMIT;\n");
                header::write_end(&mut piece);
                output.is_ended = true;
                break;
            };
            if !output.is_block_started && output.open != Some(block.first) {
                if output.open.is_some() {
                    piece.extend_from_slice(b"COMMIT;\n");
                }
                piece.extend_from_slice(&block.head);
            }
            output.is_block_started = true;
            let (from, left) = (output.within, block.len - output.within);
            let is_place = as_places && matches!(block.text, Stored::File(_));
            let size = match is_place {
                true if piece.is_empty() => left,
                true => break,
                false => left.min(PIECE as u64),
            };
            output.within += size;
            if output.within == block.len {
                (output.within, output.is_block_started) = (0, false);
                output.blocks += 1;
                output.open = Some(block.last);
            }
            match &block.text {
                Stored::File(start) if is_place => {
                    return Ok(Some(Piece::Stored { start: start + from, size }));
                }
                Stored::File(start) => {
                    let end = piece.len();
                    piece.resize(end + size as usize, 0);
                    if let (Some(file), Some(buffer)) = (&self.file, piece.get_mut(end..)) {
                        platform::read_exact_at(file, buffer, start + from)
                            .map_err(|error| Error::io("cannot read the temporary file", error))?;
                    }
                }
                Stored::Memory(text) => {
                    let rest = text.get(from as usize..).unwrap_or_default();
                    piece.extend_from_slice(rest.get(..size as usize).unwrap_or_default());
                }
            }
        }
        Ok(Some(Piece::Text(piece)))
    }

    /// The temporary file, if there is one.
    pub const fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    fn end_block(&mut self) -> Result<()> {
        let (direction, mut text) = (self.options.direction, std::mem::take(&mut self.text));
        let Some(block) = self.runs.take_block(direction, &mut text)? else { return Ok(()) };
        self.tables.clear();
        self.plans.clear();
        let Block { first, last, head, transactions } = block;
        let is_continued = self.blocks.last().is_some_and(|before| match self.options.direction {
            Direction::Undo => before.first == last,
            Direction::Redo => before.last == first,
        });
        self.transactions += transactions - u64::from(is_continued);
        let len = text.len() as u64;
        let text = if self.options.is_dry || self.in_memory + len <= self.options.memory {
            let kept = if self.options.is_dry { Vec::new() } else { std::mem::take(&mut text) };
            self.in_memory += kept.len() as u64;
            self.reuse(text);
            Stored::Memory(kept)
        } else {
            let start = self.write_to_file(&text)?;
            self.reuse(text);
            Stored::File(start)
        };
        self.blocks.push(Written { first, last, head, text, len });
        Ok(())
    }

    /// Appends text to the temporary file. Returns its offset.
    fn write_to_file(&mut self, text: &[u8]) -> Result<u64> {
        let failed = |error| Error::io("cannot write to the temporary folder", error);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile().map_err(failed)?),
        };
        let start = self.len;
        platform::write_all_at(file, text, start).map_err(failed)?;
        self.len += text.len() as u64;
        Ok(start)
    }

    /// Keeps the memory of a text for the next block.
    fn reuse(&mut self, text: Vec<u8>) {
        if text.capacity() <= MAX_SPARE {
            self.text = text;
        }
    }

    /// The number of a plan's table in `tables`.
    fn table(&mut self, plan: &Arc<TablePlan>) -> Result<usize> {
        if let Some(known) = self.plans.iter().rposition(|known| Arc::ptr_eq(known, plan)) {
            return Ok(known);
        }
        self.tables.push(Arc::new(Table::try_new(plan)?));
        self.plans.push(Arc::clone(plan));
        Ok(self.plans.len() - 1)
    }
}

/// The smallest size of a block that is not the last one.
const MIN_BLOCK: usize = 4 << 20;

/// The memory of a larger block is not used again.
const MAX_SPARE: usize = 32 << 20;

/// The size of pieces.
const PIECE: usize = 1 << 20;
