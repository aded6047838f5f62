//! One chunk of an initial load: a thread reads it, while the log before it is read.

use super::certificate::Counting;
use super::rows::TableRows;
use crate::cancel::CancelToken;
use crate::columnar::TablePlan;
use crate::error::{Error, ErrorKind, Result};
use crate::position::{LoadProgress, Position, RowsRead};
use crate::reader::{ChangeBatch, Output, Progress, Reach, Stats, TableKey, TableStats, Upto};
use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The rows of a chunk.
pub(super) trait ChunkRows {
    /// Reads rows until a batch is full; `None` after the last one.
    fn next_batch(&mut self, cancel: &CancelToken) -> Result<Option<RecordBatch>>;

    /// The rows of the table that were read, with all batches until now.
    fn read(&self) -> RowsRead;

    /// A place in the log after all changes that the rows contain; `None` if that is the position of the snapshot.
    fn end_of_changes(&mut self) -> Result<Option<(String, u64)>>;

    /// The zero dates that became NULL since the last call: the name of the column, and their number.
    fn take_zero_dates(&mut self) -> Vec<(String, u64)>;

    /// The plan of all batches.
    fn plan(&self) -> &Arc<TablePlan>;
}

impl ChunkRows for TableRows {
    fn next_batch(&mut self, cancel: &CancelToken) -> Result<Option<RecordBatch>> {
        Self::next_batch(self, cancel)
    }

    fn read(&self) -> RowsRead {
        Self::read(self)
    }

    fn end_of_changes(&mut self) -> Result<Option<(String, u64)>> {
        Self::end_of_changes(self)
    }

    fn take_zero_dates(&mut self) -> Vec<(String, u64)> {
        Self::take_zero_dates(self)
    }

    fn plan(&self) -> &Arc<TablePlan> {
        Self::plan(self)
    }
}

/// A chunk that is being read.
pub(super) struct Chunk<R = TableRows> {
    /// The position of its snapshot.
    pub(super) position: Position,
    base: Sender<Arc<Position>>,
    outputs: Receiver<Result<Output>>,
    thread: JoinHandle<ChunkEnd<R>>,
}

/// The end of a chunk.
pub(super) struct ChunkEnd<R> {
    /// The source of the rows, if the connection can be used again.
    pub(super) open: Option<R>,
    /// The progress with all batches that were sent.
    pub(super) load: LoadProgress,
    /// The number of rows in these batches.
    pub(super) rows: u64,
    /// The error that ended it early.
    pub(super) failure: Option<Error>,
}

/// A batch, and the rows of the table that were read with it.
struct Read {
    batch: RecordBatch,
    read: RowsRead,
}

impl<R: ChunkRows + Send + 'static> Chunk<R> {
    /// Starts to read; `position` is that of the snapshot.
    pub(super) fn start(reading: Reading<R>, position: Position) -> Result<Self> {
        let (base, its_base) = bounded(1);
        let (output, outputs) = bounded(BATCHES_AHEAD);
        let thread = std::thread::Builder::new()
            .name("binarrow-load".into())
            .spawn(move || reading.run(&its_base, &output))
            .map_err(|error| Error::io("cannot start a thread", error))?;
        Ok(Self { position, base, outputs, thread })
    }

    /// The log before the chunk was read, up to `base`: its rows can be returned now.
    pub(super) fn release(
        self,
        base: Arc<Position>,
    ) -> (Receiver<Result<Output>>, ReleasedChunk<R>) {
        // If the thread has ended, its error is in its end.
        drop(self.base.send(base));
        (self.outputs, ReleasedChunk(self.thread))
    }
}

/// A chunk whose rows are being returned.
pub(super) struct ReleasedChunk<R>(JoinHandle<ChunkEnd<R>>);

impl<R> ReleasedChunk<R> {
    /// Waits for the end.
    pub(super) fn end(self) -> Result<ChunkEnd<R>> {
        self.0.join().map_err(|_| {
            Error::new(ErrorKind::Internal, "a defect of binarrow in a load; please report it")
        })
    }
}

/// The thread's part.
pub(super) struct Reading<R> {
    rows: R,
    load: LoadProgress,
    table: usize,
    cancel: CancelToken,
    /// Counts the rows, for a certificate.
    counting: Option<Counting>,
}

impl<R: ChunkRows> Reading<R> {
    /// `table` is the index of the table in `load`.
    pub(super) fn new(rows: R, mut load: LoadProgress, table: usize, cancel: CancelToken) -> Self {
        // A load that continues inside of this chunk numbers its rows from the next chunk on.
        load.chunks += 1;
        Self { rows, load, table, cancel, counting: None }
    }

    /// Counts the rows, if there is a certificate.
    pub(super) fn counted(self, counting: Option<Counting>) -> Self {
        Self { counting, ..self }
    }

    /// Reads and returns all rows.
    pub(super) fn run(
        mut self,
        base: &Receiver<Arc<Position>>,
        output: &Sender<Result<Output>>,
    ) -> ChunkEnd<R> {
        let mut stats = Stats::default();
        let failure = self.read(base, output, &mut stats).err();
        if let Some(counting) = self.counting {
            self.load.counted = Some(counting.count);
        }
        let open = failure.is_none().then_some(self.rows);
        ChunkEnd { open, load: self.load, rows: stats.loaded_rows, failure }
    }

    /// Reads until the base is known; then returns batches.
    fn read(
        &mut self,
        base: &Receiver<Arc<Position>>,
        output: &Sender<Result<Output>>,
        stats: &mut Stats,
    ) -> Result<()> {
        let mut early = VecDeque::new();
        let mut bytes = 0;
        let mut has_ended = false;
        let mut failure = None;
        while base.is_empty() && !has_ended && bytes < MAX_EARLY_BYTES {
            match self.next() {
                Ok(Some(read)) => {
                    bytes += read.batch.get_array_memory_size();
                    early.push_back(read);
                }
                Ok(None) => has_ended = true,
                Err(error) => (failure, has_ended) = (Some(error), true),
            }
        }
        let mut before = base.recv().map_err(|_| Error::cancelled())?;
        loop {
            let read = match early.pop_front() {
                Some(read) => read,
                None if has_ended => break,
                None => match self.next() {
                    Ok(Some(read)) => read,
                    Ok(None) => break,
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                },
            };
            if read.read == RowsRead::All
                && let Err(error) = self.keep_end_of_changes()
            {
                failure = Some(error);
                break;
            }
            if let Some(counting) = &mut self.counting
                && let Err(error) = counting.add(&read.batch)
            {
                failure = Some(error);
                break;
            }
            let after = self.after(&before, read.read);
            self.count(stats, &read.batch);
            let sent = self.output(read.batch, Arc::clone(&before), Arc::clone(&after));
            output.send(Ok(sent)).map_err(|_| Error::cancelled())?;
            before = after;
        }
        if failure.is_none() {
            failure = self.keep_end_of_changes().err();
        }
        if failure.is_none() {
            before = self.after(&before, self.rows.read());
        }
        for (column, count) in self.rows.take_zero_dates() {
            *stats.zero_dates.entry(column).or_default() += count;
        }
        let end = Output::End {
            position: before,
            open: None,
            stats: Box::new(stats.clone()),
            warnings: Vec::new(),
        };
        output.send(Ok(end)).map_err(|_| Error::cancelled())?;
        failure.map_or(Ok(()), Err)
    }

    fn next(&mut self) -> Result<Option<Read>> {
        let batch = self.rows.next_batch(&self.cancel)?;
        Ok(batch.map(|batch| Read { batch, read: self.rows.read() }))
    }

    /// Stores the place after all changes that the rows contain, before a position shows that the table has no more chunks: a
    /// reader that is stopped there opens none, and continues with the log.
    fn keep_end_of_changes(&mut self) -> Result<()> {
        if let Some(end) = self.rows.end_of_changes()? {
            if let Some(counting) = &mut self.counting {
                counting.count.until = Some(end.clone());
            }
            self.load.consistent_from = Some(end);
        }
        Ok(())
    }

    /// The position after a batch.
    fn after(&mut self, before: &Position, read: RowsRead) -> Arc<Position> {
        if let Some(counting) = &mut self.counting {
            counting.count.is_last = read == RowsRead::All;
            self.load.counted = Some(counting.count.clone());
        }
        if let Some(table) = self.load.tables.get_mut(self.table) {
            table.read = read;
        }
        Arc::new(Position { load: Some(Arc::new(self.load.clone())), ..before.clone() })
    }

    fn output(&self, batch: RecordBatch, before: Arc<Position>, after: Arc<Position>) -> Output {
        let plan: &Arc<TablePlan> = self.rows.plan();
        let key: TableKey = (Arc::clone(&plan.table.database), Arc::clone(&plan.table.table));
        let batch = ChangeBatch {
            database: Arc::clone(&key.0),
            table: Arc::clone(&key.1),
            batch,
            plan: Arc::clone(plan),
            // The reader sets both.
            before: Progress::at(Arc::clone(&before)),
            progress: Progress::at(Arc::clone(&before)),
            committed: None,
            segment: 0,
            written: None,
        };
        let upto = Upto::Place { end: after, tables: Arc::new([key]), count: 1 };
        Output::Batch(batch, Reach { base: before, gtids: None, upto })
    }

    fn count(&self, stats: &mut Stats, batch: &RecordBatch) {
        let plan = self.rows.plan();
        let rows = batch.num_rows() as u64;
        stats.rows += rows;
        stats.loaded_rows += rows;
        stats.batches += 1;
        stats.matched_masks.extend(plan.matched_masks.iter().cloned());
        let table = (Arc::clone(&plan.table.database), Arc::clone(&plan.table.table));
        let loaded_bytes = batch.get_array_memory_size() as u64;
        let read =
            TableStats { inserts: rows, loaded: rows, loaded_bytes, ..TableStats::default() };
        stats.tables.entry(table).or_default().add(&read);
    }
}

/// The maximum number of batches that wait for the reader.
const BATCHES_AHEAD: usize = 1;

/// The number of bytes after which a chunk waits for the log before it.
const MAX_EARLY_BYTES: usize = 32 << 20;
