//! The source of an initial load: the rows and the log of one server.

use super::chunk::{Chunk, ReleasedChunk};
use super::loader::Loader;
use super::rows::TableRows;
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::position::{LoadProgress, Position};
use crate::reader::{Output, Parts};
use crate::source::{LiveFeed, LiveOptions, LiveStart, LogOptions, ReplacedTables, Segments};
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

    /// The progress without the rows of replaced tables, which are read again; `None` if no rows of them were read. With
    /// `completed`, rows of tables that were read completely are read again too.
    fn without_replaced(
        &self,
        load: &LoadProgress,
        replaced: &ReplacedTables,
        completed: bool,
    ) -> Option<LoadProgress>;

    /// Waits for the end of a chunk, and returns the progress with all its batches.
    fn end_chunk(&mut self, chunk: Self::Released) -> Result<LoadProgress>;

    /// The log from a position, up to a goal if there is one.
    fn log(&mut self, from: &Position, goal: Option<Position>) -> Result<Self::Log>;

    /// Reports the end of the load.
    fn log_end(&self, load: Option<&LoadProgress>);

    /// Sets the token that cancels the reading of the log.
    fn cancel_with(&mut self, cancel: &CancelToken);
}

/// A part of the log.
pub(super) trait LoadLog: Parts {
    /// The position after all parts that were returned.
    fn position(&self) -> &Position;

    /// The tables that statements in it replaced.
    fn take_replaced_tables(&mut self) -> ReplacedTables;
}

impl LoadLog for Segments {
    fn position(&self) -> &Position {
        Self::position(self)
    }

    fn take_replaced_tables(&mut self) -> ReplacedTables {
        Self::take_replaced_tables(self)
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

    fn without_replaced(
        &self,
        load: &LoadProgress,
        replaced: &ReplacedTables,
        completed: bool,
    ) -> Option<LoadProgress> {
        self.loader.without_replaced(load, replaced, completed)
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
            log.observe_replaced_tables();
        }
        Ok(log)
    }

    fn log_end(&self, load: Option<&LoadProgress>) {
        self.loader.log_end(load);
    }

    fn cancel_with(&mut self, cancel: &CancelToken) {
        self.live.cancel = cancel.clone();
    }
}
