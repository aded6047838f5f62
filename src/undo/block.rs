//! The changes of a part of the log as one text: ordered, in transactions, with several rows per
//! INSERT.

use super::Direction;
use super::part::{Order, Part, Unit};
use super::statement::Form;
use super::table::Table;
use crate::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// The text of changes, in any order.
#[derive(Debug, Default)]
pub(super) struct Units {
    places: Vec<Place>,
    parts: Vec<Part>,
    /// The part that contains the comment of a transaction, and its number there.
    comments: HashMap<i64, (usize, usize)>,
    bytes: usize,
    /// The last place of all texts before.
    last: Option<Order>,
}

/// The place of a change's text.
#[derive(Debug, Clone)]
struct Place {
    order: Order,
    part: usize,
    /// The number of the change in the part.
    number: usize,
    table: usize,
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
    pub(super) text: Vec<u8>,
    /// The number of transactions.
    pub(super) transactions: u64,
    /// The longest statement.
    pub(super) longest: usize,
}

impl Units {
    /// Adds changes of a table.
    pub(super) fn push(&mut self, table: usize, part: Part) {
        let number = self.parts.len();
        for (comment, (version, _)) in part.comments.iter().enumerate() {
            self.comments.entry(*version).or_insert((number, comment));
        }
        let units = part.units.iter().enumerate();
        self.places.extend(units.map(|(unit, Unit { order, .. })| Place {
            order: *order,
            part: number,
            number: unit,
            table,
        }));
        self.bytes += part.text.len();
        self.parts.push(part);
    }

    /// The number of bytes of the texts.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns all changes as a block, and removes them. `None` if there are none.
    pub(super) fn take_block(
        &mut self,
        direction: Direction,
        tables: &[Arc<Table>],
    ) -> Result<Option<Block>> {
        let is_ordered = self.places.is_sorted_by_key(|place| place.order);
        if !is_ordered {
            self.places.sort_by_key(|place| place.order);
        }
        let (Some(first), Some(last)) = (self.places.first(), self.places.last()) else {
            return Ok(None);
        };
        if self.last.is_some_and(|last| last > first.order) {
            return Err(Error::new(
                ErrorKind::Internal,
                "changes of the log were not read in its order",
            ));
        }
        let (first, last) = (first.order, last.order);
        self.last = Some(last);
        let (first, last) = match direction {
            Direction::Undo => (last.version, first.version),
            Direction::Redo => (first.version, last.version),
        };
        let mut writer = Writer {
            units: self,
            tables,
            out: Vec::with_capacity(self.bytes + self.bytes / 8),
            open: None,
            longest: 0,
        };
        let mut transactions = 1;
        let mut version = first;
        let mut write = |place: &Place| {
            if place.order.version != version {
                version = place.order.version;
                transactions += 1;
                writer.close();
                writer.out.extend_from_slice(b"COMMIT;\n");
                writer.units.write_head(version, &mut writer.out);
            }
            writer.write(place);
        };
        match direction {
            Direction::Undo => self.places.iter().rev().for_each(&mut write),
            Direction::Redo => self.places.iter().for_each(&mut write),
        }
        writer.close();
        let (text, longest) = (writer.out, writer.longest);
        let mut head = Vec::new();
        self.write_head(first, &mut head);
        self.places.clear();
        self.parts.clear();
        self.comments.clear();
        self.bytes = 0;
        Ok(Some(Block { first, last, head, text, transactions, longest }))
    }

    fn write_head(&self, version: i64, out: &mut Vec<u8>) {
        let comment = self.comments.get(&version).and_then(|(part, number)| {
            self.parts.get(*part)?.comments.get(*number).map(|(_, comment)| comment.as_slice())
        });
        out.extend_from_slice(b"\n-- ");
        out.extend_from_slice(comment.unwrap_or_default());
        out.extend_from_slice(b"\nSTART TRANSACTION;\n");
    }
}

struct Writer<'u> {
    units: &'u Units,
    tables: &'u [Arc<Table>],
    out: Vec<u8>,
    /// The table and mode of the INSERT that more rows may follow, its number of rows, and its
    /// start.
    open: Option<(usize, bool, usize, usize)>,
    longest: usize,
}

impl Writer<'_> {
    fn write(&mut self, place: &Place) {
        let Some(part) = self.units.parts.get(place.part) else { return };
        let Some(unit) = part.units.get(place.number) else { return };
        let text = part.text.get(unit.text.clone()).unwrap_or_default();
        let is_lenient = unit.written.is_lenient;
        match (unit.written.form, &mut self.open) {
            (Form::Row, Some((table, lenient, rows, start)))
                if *table == place.table
                    && *lenient == is_lenient
                    && *rows < MAX_ROWS
                    && self.out.len() - *start + text.len() < MAX_INSERT =>
            {
                *rows += 1;
                self.out.extend_from_slice(b",\n");
                self.out.extend_from_slice(text);
            }
            (form, _) => {
                self.close();
                if is_lenient {
                    self.out.extend_from_slice(b"SET sql_mode = @binarrow_lenient;\n");
                }
                let start = self.out.len();
                if form == Form::Row {
                    let head = self.tables.get(place.table).map(|table| table.insert.as_slice());
                    self.out.extend_from_slice(head.unwrap_or_default());
                }
                self.out.extend_from_slice(text);
                self.open = Some((place.table, is_lenient, 1, start));
                if form == Form::Statement {
                    self.close();
                }
            }
        }
    }

    /// Ends a statement.
    fn close(&mut self) {
        let Some((_, is_lenient, _, start)) = self.open.take() else { return };
        self.longest = self.longest.max(self.out.len() - start);
        self.out.extend_from_slice(b";\n");
        if is_lenient {
            self.out.extend_from_slice(b"SET sql_mode = @binarrow_strict;\n");
        }
    }
}

/// The maximum number of rows of an INSERT.
const MAX_ROWS: usize = 500;

/// The maximum number of bytes of an INSERT of several rows.
const MAX_INSERT: usize = 256 << 10;
