//! The changes of one table in the order of the log, as runs of SQL in the order of the script.

use super::Direction;
use super::joined::Joined;
use super::run::{Order, Part, Run};
use super::statement::{Form, Kind};
use super::table::Table;
use std::ops::Range;

/// Writes runs. The changes of a run are written in reverse order when it ends, if they are reversed.
#[derive(Debug)]
pub(super) struct RunWriter {
    direction: Direction,
    joined: Joined,
    part: Part,
    open: Option<Run>,
    /// The comment of the last run's transaction.
    comment: Range<usize>,
    /// The changes of the open run that are not in the part.
    pending: Vec<Pending>,
    /// Their text, and the text of the next change.
    text: Vec<u8>,
}

/// The text of a change.
#[derive(Debug)]
struct Pending {
    /// The place where it ends.
    end: usize,
    form: (Form, bool),
}

impl RunWriter {
    /// `part` is an empty part, whose memory is used.
    pub(super) fn new(direction: Direction, part: Part) -> Self {
        Self {
            direction,
            joined: Joined::default(),
            part,
            open: None,
            comment: 0..0,
            pending: Vec::new(),
            text: Vec::new(),
        }
    }

    /// The approximate number of bytes so far.
    pub(super) fn bytes(&self) -> usize {
        self.part.text.len() + self.text.len()
    }

    /// Begins a change: ends the run if it cannot contain the change. `is_separate`: other changes may be before this one.
    /// Returns the vector to which its text is appended.
    #[inline]
    pub(super) fn begin(
        &mut self,
        table: &Table,
        order: Order,
        is_separate: bool,
        comment: impl FnOnce(&mut Vec<u8>),
    ) -> &mut Vec<u8> {
        let continues = self
            .open
            .as_ref()
            .is_some_and(|run| !is_separate && run.last.is_directly_before(order));
        if !continues {
            self.begin_run(table, order, comment);
        }
        &mut self.text
    }

    #[cold]
    fn begin_run(&mut self, table: &Table, order: Order, comment: impl FnOnce(&mut Vec<u8>)) {
        self.end_run(table);
        let part = &mut self.part;
        if part.runs.last().is_none_or(|run| run.first.version != order.version) {
            let start = part.comments.len();
            comment(&mut part.comments);
            self.comment = start..part.comments.len();
        }
        let start = part.text.len();
        let comment = self.comment.clone();
        self.open = Some(Run { first: order, last: order, text: start..start, comment });
    }

    /// Ends a change, whose text was appended.
    #[inline]
    pub(super) fn end(&mut self, table: &Table, order: Order, kind: Kind, form: (Form, bool)) {
        let counts = &mut self.part.counts;
        match kind {
            Kind::Insert => counts.inserts += 1,
            Kind::Update(_) => counts.updates += 1,
            Kind::Delete => counts.deletes += 1,
        }
        if let Some(run) = &mut self.open {
            run.last = order;
        }
        match self.direction {
            Direction::Redo => {
                self.joined.push(table, form, &self.text, &mut self.part.text);
                self.text.clear();
            }
            Direction::Undo => {
                self.pending.push(Pending { end: self.text.len(), form });
                if self.text.len() >= MAX_PENDING {
                    self.end_run(table);
                }
            }
        }
    }

    /// Sets an empty part, whose memory is used. The writer is new or finished.
    pub(super) fn with_part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Returns the changes so far.
    pub(super) fn finish(&mut self, table: &Table) -> Part {
        self.end_run(table);
        self.part.longest = std::mem::take(&mut self.joined.longest);
        std::mem::take(&mut self.part)
    }

    /// The number of bytes of memory that it has, besides its part.
    pub(super) const fn memory(&self) -> usize {
        self.text.capacity() + self.pending.capacity() * size_of::<Pending>()
    }

    fn end_run(&mut self, table: &Table) {
        let Some(mut run) = self.open.take() else { return };
        let out = &mut self.part.text;
        for (number, Pending { end, form }) in self.pending.iter().enumerate().rev() {
            let before = number.checked_sub(1).and_then(|before| self.pending.get(before));
            let start = before.map_or(0, |before| before.end);
            self.joined.push(table, *form, self.text.get(start..*end).unwrap_or_default(), out);
        }
        self.pending.clear();
        self.text.clear();
        self.joined.close(out);
        run.text.end = out.len();
        self.part.runs.push(run);
    }
}

/// The text of a run that is reversed is at most about this long. It is several times as long as the longest statement of several
/// rows, so that few statements are shorter because of it.
const MAX_PENDING: usize = 1 << 20;
