//! The model as the source of a load: chunks at snapshots, and the log.

use super::faults::Fault;
use super::rows::{Held, ModelRows, STATEMENTS, batch, key_of, plan, statement_code};
use super::server::{Place, Statement, Tables, WITHOUT_KEY};
use super::shared::{Shared, move_to, place_of, position_of};
use crate::cancel::CancelToken;
use crate::change::TableFilter;
use crate::error::{Error, Result};
use crate::load::chunk::{ChunkEnd, Reading};
use crate::load::load_source::{LoadLog, LoadSource};
use crate::load::snapshot::Snapshot;
use crate::load::tables::without_replaced;
use crate::position::{LoadProgress, Position, RowsRead, TableLoad};
use crate::reader::{ChangeBatch, Output, Part, Parts, Progress, Reach, Upto};
use crate::source::{ReplacedTables, SpentSegment, commit_version};
use crossbeam_channel::{Receiver, bounded, unbounded};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The source that a reader connects to. A reader that is started again has another one.
pub(super) struct ModelSource {
    pub(super) shared: Shared,
    /// True before the first chunk of a reader that was started again.
    pub(super) resumes: bool,
    /// The open snapshot in which the table without a key is read.
    pub(super) first: Option<(Snapshot, Tables)>,
}

/// A chunk that is being read.
pub(super) struct ModelChunk {
    position: Position,
    reading: Reading<ModelRows>,
}

impl LoadSource for ModelSource {
    type Chunk = ModelChunk;
    type Released = ChunkEnd<ModelRows>;
    type Log = ModelLog;

    fn next_chunk(&mut self, position: &mut Arc<Position>) -> Result<Option<ModelChunk>> {
        if position.load.is_none() {
            *position = Arc::new(self.begin());
        }
        let load = position.load.as_deref().cloned().unwrap_or_default();
        let Some((number, table)) = load.next() else { return Ok(None) };
        let index: usize = table.table.parse().unwrap();
        let (mut snapshot, tables) = self.open(index)?;
        snapshot.move_to(position);
        let mut after = match &table.read {
            RowsRead::UpTo(key) => Some(key_of(key)),
            _ => None,
        };
        let keys = |after: Option<i64>| {
            let first = after.map_or(Bound::Unbounded, Bound::Excluded);
            tables[index].range((first, Bound::Unbounded)).map(|(key, _)| *key)
        };
        let fault = self.shared.fault;
        if after.is_some() {
            after = match fault {
                Fault::KeyLost => keys(after).next().or(after),
                Fault::KeyTwice => after.map(|key| key - 1),
                Fault::FollowingChunk if self.resumes => {
                    keys(after).take(self.shared.chunk_rows).last().or(after)
                }
                _ => after,
            };
        }
        self.resumes = false;
        let mut server = self.shared.server();
        let place = place_of(&snapshot.position);
        let moved = match fault {
            Fault::Early if snapshot.is_exact => {
                server.log.iter().rev().find(|one| one.end <= place).map(|one| one.start)
            }
            Fault::Late if snapshot.is_exact => {
                server.log.iter().find(|one| one.start >= place).map(|one| one.end)
            }
            _ => None,
        };
        let place = moved.unwrap_or(place);
        snapshot.position = Position { load: None, ..position_of(place) };
        match snapshot.is_exact {
            true => server.counts.exact_chunks += 1,
            false => server.counts.other_chunks += 1,
        }
        self.shared.set_exact(load.chunks + 1, snapshot.is_exact);
        let version =
            commit_version(place.file, place.offset) - i64::from(fault != Fault::VersionOfPosition);
        server.held = Some(index);
        server.counts.without_key += u64::from(index == WITHOUT_KEY);
        drop(server);
        let rows: Vec<_> = keys(after).map(|key| (key, tables[index][&key])).collect();
        let rows = ModelRows {
            shared: self.shared.clone(),
            rows: rows.into_iter(),
            left: if index == WITHOUT_KEY { usize::MAX } else { self.shared.chunk_rows },
            has_ended: false,
            last: None,
            is_exact: snapshot.is_exact,
            version,
            ordinal: i64::from(load.chunks) << 32,
            plan: plan(index),
            held: Some(Held(self.shared.clone())),
            is_keyless: index == WITHOUT_KEY,
        };
        let reading = Reading::new(rows, load, number, CancelToken::default());
        Ok(Some(ModelChunk { position: snapshot.position, reading }))
    }

    fn snapshot(chunk: &ModelChunk) -> &Position {
        &chunk.position
    }

    /// Reads the rows in this thread, so that steps are always in the same order.
    fn release(
        chunk: ModelChunk,
        base: Arc<Position>,
    ) -> (Receiver<Result<Output>>, Self::Released) {
        let (sender, its_base) = bounded(1);
        sender.send(base).unwrap();
        let (output, outputs) = unbounded();
        let end = chunk.reading.run(&its_base, &output);
        (outputs, end)
    }

    fn end_chunk(&mut self, chunk: Self::Released) -> Result<LoadProgress> {
        self.shared.server().counts.broken_chunks += u64::from(chunk.failure.is_some());
        // The snapshot ends with its connection.
        self.first.take_if(|_| chunk.failure.is_some());
        Ok(chunk.load)
    }

    fn log(&mut self, from: &Position, goal: Option<Position>) -> Result<ModelLog> {
        let goal = goal.map(|goal| place_of(&goal));
        let consistent = from.load.as_ref().and_then(|load| load.consistent_from.as_ref());
        let completed = consistent.is_some_and(|(file, offset)| from.is_before(file, *offset));
        Ok(ModelLog { shared: self.shared.clone(), position: from.clone(), goal, completed })
    }

    fn complete(&self, _position: &Position) -> Result<()> {
        Ok(())
    }

    fn cancel_with(&mut self, _cancel: &CancelToken) {}
}

impl ModelSource {
    /// The position at which a load begins, and its tables. The one without a key is read first, in this snapshot.
    fn begin(&mut self) -> Position {
        let (snapshot, tables) = self.shared.open_snapshot();
        let has_keyless = self.shared.server().has_keyless;
        let numbers = [WITHOUT_KEY, 0, 1];
        let numbers = numbers.iter().skip(usize::from(!has_keyless));
        let loads = numbers.map(|table| TableLoad::new("d", table.to_string())).collect();
        let load = LoadProgress { tables: loads, ..LoadProgress::default() };
        let position = snapshot.position.clone();
        self.first = has_keyless.then_some((snapshot, tables));
        Position { load: Some(Arc::new(load)), ..position }
    }

    /// The snapshot of a chunk. A statement between it and the lock of the table makes the SELECT fail: then there is another one.
    fn open(&mut self, table: usize) -> Result<(Snapshot, Tables)> {
        if table == WITHOUT_KEY {
            let first = self.first.take().ok_or_else(|| Error::config(NOT_FIRST))?;
            return Ok(match self.shared.fault {
                Fault::LaterSnapshot => (first.0, self.shared.open_snapshot().1),
                _ => first,
            });
        }
        loop {
            let opened = self.shared.open_snapshot();
            if !self.shared.server().is_changed(table) {
                return Ok(opened);
            }
        }
    }
}

/// The message if the rows of the table without a key cannot be read in the first snapshot any more.
pub(super) const NOT_FIRST: &str = "it cannot continue";

/// The log, from a position on.
pub(super) struct ModelLog {
    shared: Shared,
    position: Position,
    goal: Option<Place>,
    /// True if rows that were read completely may be later than the beginning.
    completed: bool,
}

impl ModelLog {
    /// Changes the progress of the load after a statement. Returns true if it is another one.
    fn replace(&mut self, statement: Statement) -> bool {
        let Some(load) = self.position.load.as_ref().filter(|_| self.goal.is_some()) else {
            return false;
        };
        let replaced = ReplacedTables::of_text(&statement.text(), "d");
        let filter = TableFilter::try_new(&["d.0", "d.1", "d.2"], &[]).unwrap();
        let new = without_replaced(&filter, load, &replaced, self.completed);
        let is_new = new.is_some() && self.shared.fault != Fault::ReplacedIgnored;
        if is_new {
            self.position.load = new.map(Arc::new);
        }
        is_new
    }
}

impl Parts for ModelLog {
    fn next_part(&mut self) -> Result<Option<Part>> {
        let shared = self.shared.clone();
        let mut server = shared.server();
        server.run();
        let from = place_of(&self.position);
        let first = server.log.partition_point(|entry| entry.start < from);
        while server.log.len() == first && self.goal.is_none() && !server.has_finished() {
            server.step();
        }
        let most = 1 + server.random.below(3) as usize;
        let goal = self.goal;
        let is_before = |end: Place| goal.is_none_or(|goal| end <= goal);
        let entries = server.log.iter().skip(first).take(most);
        let (output, outputs) = unbounded();
        let base = Arc::new(self.position.clone());
        let mut end = from;
        for entry in entries.take_while(|entry| is_before(entry.end)) {
            end = entry.end;
            let version = commit_version(entry.start.file, entry.start.offset);
            let mut rows: BTreeMap<usize, Vec<_>> = BTreeMap::new();
            if let Some(statement) = entry.statement {
                let is_loaded_again = self.replace(statement);
                let code = statement_code(statement, is_loaded_again);
                rows.entry(STATEMENTS).or_default().push((code, None, version, 0));
            }
            for (ordinal, change) in entry.changes.iter().enumerate() {
                let row = (change.key, change.value, version, ordinal as i64);
                rows.entry(change.table).or_default().push(row);
            }
            for (table, rows) in rows {
                let plan = plan(table);
                let batch = ChangeBatch {
                    database: Arc::clone(&plan.table.database),
                    table: Arc::clone(&plan.table.table),
                    batch: batch(&rows)?,
                    plan,
                    before: Progress::at(Arc::clone(&base)),
                    progress: Progress::at(Arc::clone(&base)),
                    committed: None,
                    segment: 0,
                    written: None,
                };
                let upto = Upto::Within { start: entry.end.offset, changes: 0 };
                let reach = Reach { base: Arc::clone(&base), gtids: None, upto };
                output.send(Ok(Output::Batch(batch, reach))).unwrap();
            }
        }
        if end == from {
            if let Some(goal) = self.goal {
                move_to(&mut self.position, goal);
            }
            return Ok(None);
        }
        move_to(&mut self.position, end);
        let position = Arc::new(self.position.clone());
        let end = Output::End { position, open: None, stats: Box::default(), warnings: Vec::new() };
        output.send(Ok(end)).unwrap();
        Ok(Some(Part::Decoded(outputs)))
    }

    fn recycle(&mut self, _spent: SpentSegment) {}

    fn cancel_with(&mut self, _cancel: &CancelToken) {}
}

impl LoadLog for ModelLog {
    fn position(&self) -> &Position {
        &self.position
    }
}
