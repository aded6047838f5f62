//! The source of an initial load: the rows and the log of one server.

use super::chunk::{Chunk, ReleasedChunk};
use super::loader::Loader;
use super::rows::TableRows;
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::position::{LoadProgress, Position};
use crate::reader::{Output, Parts};
use crate::source::{LiveFeed, LiveOptions, LiveStart, LogOptions, Segments};
use crossbeam_channel::Receiver;
use std::sync::Arc;

/// The rows and the log of one server.
pub(super) trait LoadSource: Send {
    /// A chunk that is being read.
    type Chunk: Send;
    /// A chunk whose rows are being returned.
    type Released: Send;
    type Log: LoadLog;

    /// Opens the next chunk; `None` after the last one. Moves `position` where this changes the load.
    fn next_chunk(&mut self, position: &mut Arc<Position>) -> Result<Option<Self::Chunk>>;

    /// The position of a chunk's snapshot.
    fn snapshot(chunk: &Self::Chunk) -> &Position;

    /// The log before the chunk was read, up to `base`: its rows can be returned now.
    fn release(
        chunk: Self::Chunk,
        base: Arc<Position>,
    ) -> (Receiver<Result<Output>>, Self::Released);

    /// Waits for the end of a chunk, and returns the progress with all its batches.
    fn end_chunk(&mut self, chunk: Self::Released) -> Result<LoadProgress>;

    /// The log from a position, up to a goal if there is one.
    fn log(&mut self, from: &Position, goal: Option<Position>) -> Result<Self::Log>;

    /// Reports the end of the load, at a position.
    fn complete(&self, position: &Position) -> Result<()>;

    /// Sets the token that cancels the reading of the log.
    fn cancel_with(&mut self, cancel: &CancelToken);
}

/// A part of the log.
pub(super) trait LoadLog: Parts {
    /// The position after all parts that were returned. Statements in them may have changed the progress of the load.
    fn position(&self) -> &Position;
}

impl LoadLog for Segments {
    fn position(&self) -> &Position {
        Self::position(self)
    }
}

/// A server.
pub(super) struct ServerSource {
    pub(super) live: LiveOptions,
    pub(super) cut: LogOptions,
    pub(super) loader: Loader,
}

impl LoadSource for ServerSource {
    type Chunk = Chunk;
    type Released = ReleasedChunk<TableRows>;
    type Log = Segments;

    fn next_chunk(&mut self, position: &mut Arc<Position>) -> Result<Option<Chunk>> {
        self.loader.next_chunk(position)
    }

    fn snapshot(chunk: &Chunk) -> &Position {
        &chunk.position
    }

    fn release(chunk: Chunk, base: Arc<Position>) -> (Receiver<Result<Output>>, Self::Released) {
        chunk.release(base)
    }

    fn end_chunk(&mut self, chunk: Self::Released) -> Result<LoadProgress> {
        let end = chunk.end()?;
        let load = end.load.clone();
        self.loader.take_back(end)?;
        Ok(load)
    }

    fn log(&mut self, from: &Position, goal: Option<Position>) -> Result<Segments> {
        let is_of_load = goal.is_some();
        let goal = goal.map(Box::new);
        let mut live = LiveOptions { goal: goal.clone(), ..self.live.clone() };
        live.connector = self.loader.connector();
        live.dump.ends |= goal.is_some();
        let start = LiveStart::Position(Box::new(from.clone()));
        let (feed, begin) = LiveFeed::start(None, &start, live)?;
        self.loader.check_server(begin.position.server.as_deref())?;
        let cut = LogOptions { goal, ..self.cut.clone() };
        let mut log = Segments::live(Box::new(feed), begin, cut)?;
        log.cancel_with(&self.live.cancel);
        if is_of_load {
            log.observe_replaced_tables(self.loader.on_replaced(from));
        }
        Ok(log)
    }

    fn complete(&self, position: &Position) -> Result<()> {
        self.loader.complete(position)
    }

    fn cancel_with(&mut self, cancel: &CancelToken) {
        self.live.cancel = cancel.clone();
    }
}
