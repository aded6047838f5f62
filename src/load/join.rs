//! An initial load, joined with the log: chunks of existing rows, each at the position of its snapshot in the log.
//!
//! ```text
//! snapshot 1 ─ chunk 1 ─ log up to snapshot 2 ─ chunk 2 ─ log up to snapshot 3 ─ … ─ last chunk ─ the log from there on
//! ```
//!
//! The log is read up to the position of a snapshot and no further, then the rows of the chunk are returned. So a change is
//! returned before the chunk that contains it, or after a chunk that does not. The snapshot of a chunk is opened when
//! the rows of the chunk before were read, so positions never go back.
//!
//! If the position of a snapshot is only known to be before it, the changes between the two are in the chunk and are returned
//! again after it. From [`LoadProgress::consistent_from`] on, no such change is left.
//!
//! Rows are in the order of their key, and each batch ends at a key. A load that was interrupted continues after the last key,
//! with a new snapshot.

use super::load_options::LoadOptions;
use super::load_source::{LoadLog, LoadSource, ServerSource};
use super::loader::Loader;
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::net::Server;
use crate::position::Position;
use crate::reader::{Output, Part, Parts, ReadOptions, Reader, Stats, adapt};
use crate::source::{LiveOptions, LogOptions, SpentSegment};
use crossbeam_channel::{Receiver, bounded};
use std::sync::Arc;

/// Starts to read the existing rows of a server's tables, and then its log.
///
/// # Errors
/// The threads cannot be started. Errors of the server are those of the reader.
pub fn load(
    server: Server,
    start: Option<Box<Position>>,
    mut live: LiveOptions,
    mut options: ReadOptions,
    load: LoadOptions,
) -> Result<Reader> {
    adapt(&mut live, &mut options);
    let position = start.map(|start| Arc::new(*start));
    let begin = position.clone();
    let loader = Loader::new(server, &live, &options, load)?;
    let source_live = live.clone();
    let open = move |cut: LogOptions| {
        let source = ServerSource { live: source_live, cut, loader };
        Ok((Join::new(source, begin.clone().unwrap_or_default()), begin))
    };
    Reader::of_parts(&live, options, position, open)
}

/// The parts of a load and of the log.
struct Join<S: LoadSource> {
    source: S,
    /// The position that was reached; without a file before the first snapshot.
    position: Arc<Position>,
    next: Next<S>,
}

/// The input that is read next.
enum Next<S: LoadSource> {
    /// The snapshot of the next chunk.
    Chunk,
    /// The log up to the snapshot of a chunk.
    LogBefore(Box<S::Log>, Box<S::Chunk>),
    /// Nothing before a chunk's thread has ended.
    AfterChunk(S::Released),
    /// The log up to the position at which the rows are consistent.
    LogUntilConsistent(Box<S::Log>),
    /// The log.
    Log(Box<S::Log>),
    /// Nothing.
    End,
}

impl<S: LoadSource> Parts for Join<S> {
    fn next_part(&mut self) -> Result<Option<Part>> {
        loop {
            let part = match std::mem::replace(&mut self.next, Next::End) {
                Next::Chunk => self.open_chunk()?,
                Next::LogBefore(mut log, chunk) => match log.next_part()? {
                    None => match self.end_log(&mut *log) {
                        true => Some(self.release(*chunk)),
                        // The rows of the chunk may be those of another table.
                        false => None,
                    },
                    part => {
                        self.next = Next::LogBefore(log, chunk);
                        part
                    }
                },
                Next::AfterChunk(chunk) => {
                    let load = Some(Arc::new(self.source.end_chunk(chunk)?));
                    self.position = Arc::new(Position { load, ..Position::clone(&self.position) });
                    self.next = Next::Chunk;
                    None
                }
                Next::LogUntilConsistent(mut log) => match log.next_part()? {
                    None => match self.end_log(&mut *log) {
                        true => Some(self.complete()?),
                        false => None,
                    },
                    part => {
                        self.next = Next::LogUntilConsistent(log);
                        part
                    }
                },
                Next::Log(mut log) => match log.next_part()? {
                    None => return Ok(None),
                    part => {
                        self.next = Next::Log(log);
                        part
                    }
                },
                Next::End => return Ok(None),
            };
            if part.is_some() {
                return Ok(part);
            }
        }
    }

    fn recycle(&mut self, spent: SpentSegment) {
        match &mut self.next {
            Next::LogBefore(log, _) | Next::LogUntilConsistent(log) | Next::Log(log) => {
                log.recycle(spent);
            }
            Next::Chunk | Next::AfterChunk(_) | Next::End => {}
        }
    }

    fn cancel_with(&mut self, cancel: &CancelToken) {
        self.source.cancel_with(cancel);
    }
}

impl<S: LoadSource> Join<S> {
    fn new(source: S, position: Arc<Position>) -> Self {
        Self { source, position, next: Next::Chunk }
    }

    /// Opens the snapshot of the next chunk. Without one, the load is complete.
    fn open_chunk(&mut self) -> Result<Option<Part>> {
        let Some(chunk) = self.source.next_chunk(&mut self.position)? else {
            return self.after_last_chunk();
        };
        let snapshot = S::snapshot(&chunk);
        match self.position.is_before(&snapshot.file, snapshot.offset) {
            false => Ok(Some(self.release(chunk))),
            true => {
                let log = self.source.log(&self.position, Some(snapshot.clone()))?;
                self.next = Next::LogBefore(Box::new(log), Box::new(chunk));
                Ok(None)
            }
        }
    }

    /// Moves the position to the end of a part of the log. Returns false if rows must be read again before anything else, because
    /// another table has the name of theirs.
    fn end_log(&mut self, log: &mut S::Log) -> bool {
        let before = std::mem::replace(&mut self.position, Arc::new(log.position().clone()));
        let is_same = before.load == self.position.load;
        if !is_same {
            self.next = Next::Chunk;
        }
        is_same
    }

    fn release(&mut self, chunk: S::Chunk) -> Part {
        let (outputs, released) = S::release(chunk, Arc::clone(&self.position));
        self.next = Next::AfterChunk(released);
        Part::Decoded(outputs)
    }

    fn after_last_chunk(&mut self) -> Result<Option<Part>> {
        let load = self.position.load.clone();
        let consistent = load.as_ref().and_then(|load| load.consistent_from.clone());
        match consistent.filter(|(file, offset)| self.position.is_before(file, *offset)) {
            Some((file, offset)) => {
                let goal = Position {
                    file,
                    offset,
                    gtid_set: None,
                    load: None,
                    ..Position::clone(&self.position)
                };
                let log = self.source.log(&self.position, Some(goal))?;
                self.next = Next::LogUntilConsistent(Box::new(log));
                Ok(None)
            }
            None => self.complete().map(Some),
        }
    }

    /// The load is complete: positions are those of the log only.
    fn complete(&mut self) -> Result<Part> {
        self.source.complete(&self.position)?;
        self.position = Arc::new(Position { load: None, ..Position::clone(&self.position) });
        self.next = Next::Log(Box::new(self.source.log(&self.position, None)?));
        Ok(Part::Decoded(one(Output::End {
            position: Arc::clone(&self.position),
            open: None,
            stats: Box::new(Stats::default()),
            warnings: Vec::new(),
        })))
    }
}

/// A channel with one output.
fn one(output: Output) -> Receiver<Result<Output>> {
    let (sender, receiver) = bounded(1);
    // There is room for it.
    drop(sender.send(Ok(output)));
    receiver
}

#[cfg(test)]
mod simulation;
