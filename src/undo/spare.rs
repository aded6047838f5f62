//! Reuse of memory.

use super::Direction;
use super::run::Part;
use super::run_writer::RunWriter;
use std::sync::{Arc, Mutex};

/// Memory that is reused for other changes. The threads that read the log share it, so that tables without changes have none.
#[derive(Debug, Clone, Default)]
pub(super) struct Spare {
    parts: Arc<Mutex<Vec<Part>>>,
    writers: Arc<Mutex<Vec<RunWriter>>>,
}

impl Spare {
    /// Returns an empty part.
    pub(super) fn part(&self) -> Part {
        take(&self.parts).unwrap_or_default()
    }

    /// Returns a writer with an empty part. All writers have the same direction.
    pub(super) fn writer(&self, direction: Direction) -> RunWriter {
        let part = self.part();
        match take(&self.writers) {
            Some(writer) => writer.with_part(part),
            None => RunWriter::new(direction, part),
        }
    }

    /// Keeps a part, unless there are many or it is large.
    pub(super) fn give_part(&self, mut part: Part) {
        if part.text.capacity() <= MAX_SPARE {
            part.clear();
            give(&self.parts, part);
        }
    }

    /// Keeps a writer that is finished, unless there are many or it is large.
    pub(super) fn give_writer(&self, writer: RunWriter) {
        if writer.memory() <= MAX_SPARE {
            give(&self.writers, writer);
        }
    }
}

fn take<T>(spare: &Mutex<Vec<T>>) -> Option<T> {
    spare.lock().ok()?.pop()
}

fn give<T>(spare: &Mutex<Vec<T>>, one: T) {
    if let Ok(mut spare) = spare.lock()
        && spare.len() < MAX_SPARES
    {
        spare.push(one);
    }
}

/// Larger memory is not used again.
const MAX_SPARE: usize = 16 << 20;

/// The maximum number of parts, and of writers, whose memory is used again.
const MAX_SPARES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: usize) -> Part {
        Part { text: Vec::with_capacity(bytes), ..Part::default() }
    }

    #[test]
    fn memory_is_limited() {
        let spare = Spare::default();
        spare.give_part(part(MAX_SPARE + 1));
        assert_eq!(spare.part().text.capacity(), 0);
        for _ in 0..2 * MAX_SPARES {
            spare.give_part(part(8));
            spare.give_writer(RunWriter::new(Direction::Undo, Part::default()));
        }
        let kept = (0..2 * MAX_SPARES).filter(|_| spare.part().text.capacity() > 0).count();
        let writers = spare.writers.lock().unwrap().len();
        assert_eq!((kept, writers), (MAX_SPARES, MAX_SPARES));
    }
}
