//! A reader: the batches and items of a log, with the progress and the counts.

use super::batch::ChangeBatch;
use super::index_rule::ReadRule;
use super::options::{DecodeOptions, ReadOptions};
use super::parts::Parts;
use super::pipeline::{NoOutput, Pipeline, Waiter};
use super::resume::{Progress, TableKey, Tracker};
use super::segment_decoder::Output;
use super::stats::Stats;
use super::unlogged_changes::Reaction;
use crate::cancel::CancelToken;
use crate::change::{Item, MarkKind};
use crate::error::{Error, Result};
use crate::net::Server;
use crate::position::Position;
use crate::schema::{NameCase, folded};
use crate::source::{
    ForeignKeyQuestion, InputFile, LiveCounters, LiveFeed, LiveOptions, LiveStart, LogItem,
    LogOptions, Segments, Start,
};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The result of a wait for a batch.
#[derive(Debug)]
pub enum Poll {
    /// A batch.
    Batch(ChangeBatch),
    /// Something that is not a row.
    Item(LogItem),
    /// Nothing yet: the time is up.
    Pending,
    /// The end of the input.
    End,
}

/// Reads files, or the log of a server, into batches. Its threads live as long as it does.
pub struct Reader {
    pipeline: Pipeline,
    /// An output that was received and not returned yet.
    next: Option<Result<Output, NoOutput>>,
    live: Option<Arc<LiveCounters>>,
    tracker: Tracker,
    lag: Option<i64>,
    /// Returned rows of the current transaction, if its items are returned.
    transaction_rows: Option<u64>,
    stats: Stats,
    /// Rows and batches in `stats` from the segment that is being returned.
    returned: (u64, u64),
    warnings: Vec<String>,
    total_bytes: Option<u64>,
    /// The number of complete segments.
    segments: u64,
    ended: bool,
}

impl Reader {
    /// Starts to read `files`, in log order.
    pub fn try_new(files: Vec<InputFile>, mut options: ReadOptions) -> Result<Self> {
        options.carry_what_is_asked_for();
        if options.uses_indexes {
            options.cut.segment_rule = Some(Arc::new(ReadRule(options.decode.clone())));
        }
        let log = Segments::try_new(files, options.cut.clone())?;
        let total_bytes = log.total_bytes();
        // Until the first batch, the position is the start position.
        let position = match &options.cut.start {
            Start::Position(start) => Some(Arc::new(Position::clone(start))),
            _ => None,
        };
        let (threads, cancel) = (options.threads, CancelToken::default());
        let pipeline = Pipeline::start(threads, false, options.decode, cancel, || Ok((log, None)))?;
        Ok(Self::of(pipeline, position, total_bytes))
    }

    /// Starts to read a server's log with a dump: from a connected server, or from the first server
    /// that answers.
    pub fn live(
        server: Option<Server>,
        start: LiveStart,
        mut live: LiveOptions,
        mut options: ReadOptions,
    ) -> Result<Self> {
        let mut position = None;
        match &start {
            LiveStart::Earliest | LiveStart::Latest | LiveStart::Gtids(_) => {}
            LiveStart::Time(time) => options.cut.start = Start::Time(*time),
            LiveStart::Position(start) => position = Some(Arc::new(Position::clone(start))),
        }
        adapt(&mut live, &mut options);
        let cut = options.cut.clone();
        let not_folded = options.decode.tables.not_folded().map(str::to_owned);
        let (counters, cancel) = (Arc::clone(&live.counters), live.cancel.clone());
        // This is not done in the caller's thread, because it may wait for the server.
        let open = move || {
            let (feed, begin) = LiveFeed::start(server, &start, live)?;
            if let Some(pattern) = not_folded.filter(|_| begin.name_case == NameCase::Folded) {
                return Err(Error::config(format!(
                    "the server has lower_case_table_names=1 or 2, so its log has the names of tables in lower case, and {pattern:?} \
                     matches none: write {:?}",
                    folded(&pattern)
                )));
            }
            let position = Arc::new(begin.position.clone());
            Ok((Segments::live(Box::new(feed), begin, cut)?, Some(position)))
        };
        Self::of_live((options.threads, options.decode), (cancel, counters), position, open)
    }

    /// Starts to read parts that `open` provides, the first of which begins at `position`. The options are the result of
    /// [`adapt`].
    pub fn of_parts<P: Parts + 'static>(
        live: &LiveOptions,
        options: ReadOptions,
        position: Option<Arc<Position>>,
        open: impl FnOnce(LogOptions) -> Result<(P, Option<Arc<Position>>)> + Send + 'static,
    ) -> Result<Self> {
        let (cancel, counters) = (live.cancel.clone(), Arc::clone(&live.counters));
        let cut = options.cut;
        let decode = (options.threads, options.decode);
        Self::of_live(decode, (cancel, counters), position, move || open(cut))
    }

    fn of_live<P: Parts + 'static>(
        (threads, decode): (usize, DecodeOptions),
        (cancel, counters): (CancelToken, Arc<LiveCounters>),
        position: Option<Arc<Position>>,
        open: impl FnOnce() -> Result<(P, Option<Arc<Position>>)> + Send + 'static,
    ) -> Result<Self> {
        let pipeline = Pipeline::start(threads, true, decode, cancel, open)?;
        let mut reader = Self::of(pipeline, position, None);
        reader.live = Some(counters);
        Ok(reader)
    }

    fn of(pipeline: Pipeline, position: Option<Arc<Position>>, total_bytes: Option<u64>) -> Self {
        let mut tracker = Tracker::default();
        tracker.begin(position);
        Self {
            pipeline,
            next: None,
            live: None,
            tracker,
            lag: None,
            transaction_rows: None,
            stats: Stats::default(),
            returned: (0, 0),
            warnings: Vec::new(),
            total_bytes,
            segments: 0,
            ended: false,
        }
    }

    /// Waits for the next batch, at most for `timeout`. After an error or the end it returns
    /// [`Poll::End`].
    pub fn poll(&mut self, timeout: Duration) -> Result<Poll> {
        if self.ended {
            return Ok(Poll::End);
        }
        if !self.pipeline.is_in_this_process() {
            return Err(Error::config(
                "the reader was created before a fork, and its threads are in the parent process: create a reader in this process",
            ));
        }
        let deadline = Instant::now() + timeout;
        loop {
            match self.next.take().unwrap_or_else(|| self.pipeline.receive(deadline)) {
                Ok(Output::Batch(mut batch, reach)) => {
                    let table = (Arc::clone(&batch.database), Arc::clone(&batch.table));
                    batch.segment = self.segments;
                    (batch.before, batch.progress) = self.tracker.deliver(table, reach);
                    let count = batch.batch.num_rows() as u64;
                    if let Some(rows) = &mut self.transaction_rows {
                        *rows += count;
                    }
                    if count > 0 {
                        self.count_batch(count, batch.committed);
                        return Ok(Poll::Batch(batch));
                    }
                }
                Ok(Output::Item(mut item)) => {
                    let progress = self.tracker.pass_item(&item.position);
                    if !progress.is_base() {
                        item.position = Arc::new(progress.position());
                    }
                    self.count_rows(&mut item.item);
                    return Ok(Poll::Item(item));
                }
                Ok(Output::Note(mut item)) => {
                    if let Some(progress) = self.tracker.progress() {
                        item.position = Arc::new(progress.position());
                    }
                    return Ok(Poll::Item(item));
                }
                Ok(Output::End { position, open, stats, warnings }) => {
                    self.end_segment(position, open, &stats, warnings);
                }
                Err(NoOutput::TimedOut) => return Ok(Poll::Pending),
                Err(NoOutput::End) => {
                    self.end();
                    return Ok(Poll::End);
                }
                Err(NoOutput::Failed(error)) => {
                    self.end();
                    return Err(error);
                }
            }
        }
    }

    /// A wait for the next batch, for a thread that does not hold the reader; `None` if [`Self::poll`] has a result now.
    ///
    /// A batch that has arrived remains here, so the position and the counts are those of the batches that were returned.
    pub fn waiter(&mut self) -> Option<Waiter> {
        while !self.ended && self.next.is_none() && self.pipeline.is_in_this_process() {
            match self.pipeline.receive(Instant::now()) {
                Ok(Output::End { position, open, stats, warnings }) => {
                    self.end_segment(position, open, &stats, warnings);
                }
                Ok(Output::Batch(batch, reach)) if batch.batch.num_rows() == 0 => {
                    self.tracker.deliver((batch.database, batch.table), reach);
                }
                Err(NoOutput::TimedOut) => return Some(self.pipeline.waiter()),
                output => self.next = Some(output),
            }
        }
        None
    }

    fn end_segment(
        &mut self,
        position: Arc<Position>,
        open: Option<Vec<(TableKey, u64)>>,
        stats: &Stats,
        warnings: Vec<String>,
    ) {
        self.tracker.end(position, open);
        self.segments += 1;
        // The batches of the segment have set the lag, if there were any.
        if self.returned.1 == 0 {
            self.note_lag(stats.time_span.map(|(_, committed)| committed));
        }
        self.stats.add(stats);
        // The rows were counted batch by batch.
        let (rows, batches) = std::mem::take(&mut self.returned);
        self.stats.rows = self.stats.rows.saturating_sub(rows);
        self.stats.batches = self.stats.batches.saturating_sub(batches);
        self.warnings.extend(warnings);
    }

    fn count_batch(&mut self, rows: u64, committed: Option<i64>) {
        self.stats.rows += rows;
        self.stats.batches += 1;
        self.returned.0 += rows;
        self.returned.1 += 1;
        self.note_lag(committed);
    }

    fn note_lag(&mut self, committed: Option<i64>) {
        if let Some(committed) = committed {
            let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            self.lag = Some(now.as_micros() as i64 - committed);
        }
    }

    /// Sets the number of rows of a transaction: several threads may have decoded them.
    fn count_rows(&mut self, item: &mut Item) {
        let Item::Transaction(mark) = item else { return };
        match mark.kind {
            MarkKind::Begin => self.transaction_rows = Some(0),
            MarkKind::End | MarkKind::Rollback | MarkKind::Prepare => {
                mark.rows = self.transaction_rows.take();
            }
        }
    }

    /// The next batch, without items; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<ChangeBatch>> {
        loop {
            match self.poll(Duration::from_secs(3600))? {
                Poll::Batch(batch) => return Ok(Some(batch)),
                Poll::End => return Ok(None),
                Poll::Pending | Poll::Item(_) => {}
            }
        }
    }

    /// The position at which to resume: no row is returned twice. `None` before the read has
    /// started.
    pub fn position(&self) -> Option<Position> {
        self.progress().map(Progress::position)
    }

    /// The progress from which [`Self::position`] builds a position.
    pub fn progress(&self) -> Option<&Progress> {
        self.tracker.progress()
    }

    /// The counters of the connection, if a server's log is read.
    pub fn live_counters(&self) -> Option<&Arc<LiveCounters>> {
        self.live.as_ref()
    }

    /// The time in microseconds from the commit of the last returned transaction to the moment when
    /// it was returned, by the clock of this machine.
    pub fn lag(&self) -> Option<i64> {
        self.lag
    }

    /// Rows and batches that were returned; all other counts are of the segments that were returned completely.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Warnings for the caller since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// The size of the input, if known.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// True if the end was reached.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Stops the threads and waits for them.
    pub fn close(&mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.ended = true;
        self.pipeline.end();
    }
}

/// Adapts the options of a connection and those of decoding to each other.
pub fn adapt(live: &mut LiveOptions, options: &mut ReadOptions) {
    options.carry_what_is_asked_for();
    live.heartbeats = options.cut.include.heartbeats;
    live.goal.clone_from(&options.cut.goal);
    let unlogged = &options.decode.unlogged;
    let is_known = options.cut.history.is_some() || unlogged.foreign_keys.get().is_some();
    if matches!(unlogged.known(), Reaction::Error | Reaction::Item) && !is_known {
        live.foreign_keys = Some(ForeignKeyQuestion {
            tables: options.decode.tables.clone(),
            answer: Arc::clone(&unlogged.foreign_keys),
        });
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.end();
    }
}
