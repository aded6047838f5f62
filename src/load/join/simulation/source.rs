//! The model as the source of a load: chunks at snapshots, and the log.

use super::faults::Fault;
use super::rows::{ModelRows, batch, key_of, plan};
use super::server::{Place, TABLES};
use super::shared::{Shared, move_to, place_of, position_of};
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::load::chunk::{ChunkEnd, Reading};
use crate::load::load_source::{LoadLog, LoadSource};
use crate::position::{LoadProgress, Position, RowsRead, TableLoad};
use crate::reader::{ChangeBatch, Output, Part, Parts, Progress, Reach, Upto};
use crate::source::{SpentSegment, commit_version};
use crossbeam_channel::{Receiver, bounded, unbounded};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The source that a reader connects to. A reader that is started again has another one.
pub(super) struct ModelSource {
    pub(super) shared: Shared,
    /// True before the first chunk of a reader that was started again.
    pub(super) resumes: bool,
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
            let (snapshot, _) = self.shared.open_snapshot();
            let tables = (0..TABLES).map(|table| TableLoad::new("d", table.to_string()));
            let load = LoadProgress { tables: tables.collect(), ..LoadProgress::default() };
            *position = Arc::new(Position { load: Some(Arc::new(load)), ..snapshot.position });
        }
        let load = position.load.as_deref().cloned().unwrap_or_default();
        let Some((index, table)) = load.next() else { return Ok(None) };
        let (mut snapshot, tables) = self.shared.open_snapshot();
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
        drop(server);
        self.shared.set_exact(load.chunks + 1, snapshot.is_exact);
        let version =
            commit_version(place.file, place.offset) - i64::from(fault != Fault::VersionOfPosition);
        let rows: Vec<_> = keys(after).map(|key| (key, tables[index][&key])).collect();
        let rows = ModelRows {
            shared: self.shared.clone(),
            rows: rows.into_iter(),
            left: self.shared.chunk_rows,
            has_ended: false,
            last: None,
            is_exact: snapshot.is_exact,
            version,
            ordinal: i64::from(load.chunks) << 32,
            plan: plan(index),
        };
        let reading = Reading::new(rows, load, index, CancelToken::default());
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
        Ok(chunk.load)
    }

    fn log(&mut self, from: &Position, goal: Option<Position>) -> Result<ModelLog> {
        let goal = goal.map(|goal| place_of(&goal));
        Ok(ModelLog { shared: self.shared.clone(), position: from.clone(), goal })
    }

    fn complete(&self, _position: &Position) -> Result<()> {
        Ok(())
    }

    fn cancel_with(&mut self, _cancel: &CancelToken) {}
}

/// The log, from a position on.
pub(super) struct ModelLog {
    shared: Shared,
    position: Position,
    goal: Option<Place>,
}

impl Parts for ModelLog {
    fn next_part(&mut self) -> Result<Option<Part>> {
        let mut server = self.shared.server();
        server.run();
        let from = place_of(&self.position);
        let first = server.log.partition_point(|entry| entry.start < from);
        while server.log.len() == first && self.goal.is_none() && !server.has_finished() {
            server.step();
        }
        let most = 1 + server.random.below(3) as usize;
        let is_before = |end: Place| self.goal.is_none_or(|goal| end <= goal);
        let entries = server.log.iter().skip(first).take(most);
        let (output, outputs) = unbounded();
        let base = Arc::new(self.position.clone());
        let mut end = from;
        for entry in entries.take_while(|entry| is_before(entry.end)) {
            end = entry.end;
            let version = commit_version(entry.start.file, entry.start.offset);
            let mut rows: BTreeMap<usize, Vec<_>> = BTreeMap::new();
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
