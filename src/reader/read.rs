//! A reader: threads that cut and decode, and the queue that returns their batches in log order.

use super::batch::ChangeBatch;
use super::in_flight::{InFlight, Permit};
use super::options::ReadOptions;
use super::progress::{Progress, Tracker};
use super::segment_decoder::{Output, SegmentDecoder};
use super::stats::Stats;
use super::unlogged::Reaction;
use crate::change::{Item, MarkKind};
use crate::error::{Error, ErrorKind, Result};
use crate::net::Server;
use crate::position::Position;
use crate::schema::{NameCase, folded};
use crate::source::{
    ForeignKeyQuestion, InputFile, LiveControl, LiveFeed, LiveOptions, LiveStart, LogItem,
    MAX_SPARE_BYTES, Segment, Segments, Start,
};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
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

/// Reads files into batches. Its threads live as long as it does.
///
/// With one thread, that thread cuts and decodes. With more, one cuts and the others decode; each segment has a bounded
/// channel of its own, and the channels are drained in log order. A slow caller stops all threads. The bytes that are cut and
/// not yet decoded are limited too.
pub struct Reader {
    /// A channel for each segment, in log order.
    segments: Receiver<Receiver<Message>>,
    current: Option<Receiver<Message>>,
    threads: Vec<JoinHandle<()>>,
    stopping: Arc<AtomicBool>,
    live: Option<Arc<LiveControl>>,
    tracker: Tracker,
    lag: Option<i64>,
    /// Returned rows of the current transaction, if its items are returned.
    transaction_rows: Option<u64>,
    stats: Stats,
    /// Rows and batches in `stats` from the segment that is being returned.
    handed_out: (u64, u64),
    warnings: Vec<String>,
    total_bytes: Option<u64>,
    ended: bool,
    /// The process that the threads are in.
    process: u32,
}

type Message = Result<Output>;

/// A segment to decode, and where its output goes.
struct Job {
    segment: Segment,
    output: Sender<Message>,
    /// Given back when it is done.
    _permit: Permit,
}

impl Reader {
    /// Starts to read `files`, in log order.
    pub fn try_new(files: Vec<InputFile>, mut options: ReadOptions) -> Result<Self> {
        options.carry_what_is_asked_for();
        let log = Segments::try_new(files, options.cut.clone())?;
        let total_bytes = log.total_bytes();
        // Until the first batch, the position is the start position.
        let position = match &options.cut.start {
            Start::Position(start) => Some(Arc::new(Position::clone(start))),
            _ => None,
        };
        let mut reader = Self::start(options, None, move || Ok((log, None)))?;
        reader.tracker.begin(position);
        reader.total_bytes = total_bytes;
        Ok(reader)
    }

    /// Starts to read a server's log, as its dump brings it: that of a server that is connected, or of the first that answers.
    pub fn live(
        server: Option<Server>,
        start: LiveStart,
        mut live: LiveOptions,
        control: Arc<LiveControl>,
        mut options: ReadOptions,
    ) -> Result<Self> {
        options.carry_what_is_asked_for();
        let mut position = None;
        match &start {
            LiveStart::Time(time) => options.cut.start = Start::Time(*time),
            LiveStart::Position(start) => position = Some(Arc::new(Position::clone(start))),
            LiveStart::Earliest | LiveStart::Latest | LiveStart::Gtids(_) => {}
        }
        live.heartbeats = options.cut.include.heartbeats;
        live.goal.clone_from(&options.cut.goal);
        let unlogged = &options.decode.unlogged;
        let is_known = options.cut.history.is_some() || unlogged.foreign_keys.get().is_some();
        if unlogged.known() == Reaction::Error && !is_known {
            live.foreign_keys = Some(ForeignKeyQuestion {
                tables: options.decode.tables.clone(),
                answer: Arc::clone(&unlogged.foreign_keys),
            });
        }
        let cut = options.cut.clone();
        let not_folded = options.decode.tables.not_folded().map(str::to_owned);
        // The server may be waited for: that is no work for the caller's thread.
        let mut reader = Self::start(options, Some(Arc::clone(&control)), move || {
            let (feed, begin) = LiveFeed::start(server, &start, live, control)?;
            if let Some(pattern) = not_folded.filter(|_| begin.name_case == NameCase::Folded) {
                return Err(Error::config(format!(
                    "the server has lower_case_table_names=1 or 2, so its log has the names of tables in lower case, and {pattern:?} \
                     matches none: write {:?}",
                    folded(&pattern)
                )));
            }
            let position = Arc::new(begin.position.clone());
            Ok((Segments::live(Box::new(feed), begin, cut)?, Some(position)))
        })?;
        reader.tracker.begin(position);
        Ok(reader)
    }

    /// Starts the threads. `open` returns the segments of the log, and where they begin.
    fn start(
        options: ReadOptions,
        live: Option<Arc<LiveControl>>,
        open: impl FnOnce() -> Result<(Segments, Option<Arc<Position>>)> + Send + 'static,
    ) -> Result<Self> {
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(MAX_THREADS),
        };
        let stopping = Arc::new(AtomicBool::new(false));
        let mut handles = Vec::with_capacity(threads + 1);
        let decode = Arc::new(options.decode);
        let (segments_in, segments) = bounded(threads * SEGMENTS_AHEAD);
        // The bytes of decoded segments are used again.
        let (spent_in, spent) = bounded::<Vec<u8>>(threads * SEGMENTS_AHEAD);
        if threads == 1 {
            let stopping = Arc::clone(&stopping);
            handles.push(spawn("binarrow-decode", move || {
                let mut decoder = SegmentDecoder::new(decode);
                cut(open, &segments_in, &spent, &stopping, |segment, output| {
                    run(&mut decoder, segment, output, &spent_in, &stopping);
                    true
                });
            })?);
        } else {
            let (jobs_in, jobs) = bounded::<Job>(1);
            let in_flight = InFlight::new(MAX_IN_FLIGHT);
            for _ in 0..threads {
                let (jobs, spent) = (jobs.clone(), spent_in.clone());
                let (decode, stopping) = (Arc::clone(&decode), Arc::clone(&stopping));
                handles.push(spawn("binarrow-decode", move || {
                    let mut decoder = SegmentDecoder::new(decode);
                    while let Ok(Job { segment, output, _permit }) = jobs.recv() {
                        run(&mut decoder, segment, &output, &spent, &stopping);
                    }
                })?);
            }
            let stopping = Arc::clone(&stopping);
            handles.push(spawn("binarrow-cut", move || {
                cut(open, &segments_in, &spent, &stopping, |segment, output| {
                    in_flight.enter(segment.bytes.len(), &stopping).is_some_and(|permit| {
                        jobs_in
                            .send(Job { segment, output: output.clone(), _permit: permit })
                            .is_ok()
                    })
                });
            })?);
        }
        Ok(Self {
            segments,
            current: None,
            threads: handles,
            stopping,
            live,
            tracker: Tracker::default(),
            lag: None,
            transaction_rows: None,
            stats: Stats::default(),
            handed_out: (0, 0),
            warnings: Vec::new(),
            total_bytes: None,
            ended: false,
            process: std::process::id(),
        })
    }

    /// Waits for the next batch, at most for `timeout`. After an error or the end it returns [`Poll::End`].
    pub fn poll(&mut self, timeout: Duration) -> Result<Poll> {
        if self.process != std::process::id() && !self.ended {
            return Err(Error::config(
                "the reader was made before a fork, and its threads are in the parent process: make one here",
            ));
        }
        let deadline = Instant::now() + timeout;
        loop {
            if self.ended {
                return Ok(Poll::End);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(current) = &self.current else {
                match self.segments.recv_timeout(left) {
                    Ok(segment) => self.current = Some(segment),
                    Err(RecvTimeoutError::Timeout) => return Ok(Poll::Pending),
                    Err(RecvTimeoutError::Disconnected) => {
                        self.end();
                        return Ok(Poll::End);
                    }
                }
                continue;
            };
            match current.recv_timeout(left) {
                Ok(Ok(Output::Batch(mut batch, reach))) => {
                    let table = (Arc::clone(&batch.database), Arc::clone(&batch.table));
                    (batch.before, batch.progress) = self.tracker.deliver(table, reach);
                    let count = batch.batch.num_rows() as u64;
                    if let Some(rows) = &mut self.transaction_rows {
                        *rows += count;
                    }
                    self.count_batch(count, batch.committed);
                    return Ok(Poll::Batch(batch));
                }
                Ok(Ok(Output::Item(mut item))) => {
                    let progress = self.tracker.pass_item(&item.position);
                    if !progress.is_base() {
                        item.position = Arc::new(progress.position());
                    }
                    self.count_rows(&mut item.item);
                    return Ok(Poll::Item(item));
                }
                Ok(Ok(Output::End { position, open, stats, warnings })) => {
                    self.tracker.end(position, open);
                    // Its batches have set the lag, if there were any.
                    if self.handed_out.1 == 0 {
                        self.note_lag(stats.time_span.map(|(_, committed)| committed));
                    }
                    self.stats.add(&stats);
                    // They were counted batch by batch.
                    let (rows, batches) = std::mem::take(&mut self.handed_out);
                    self.stats.rows = self.stats.rows.saturating_sub(rows);
                    self.stats.batches = self.stats.batches.saturating_sub(batches);
                    self.warnings.extend(warnings);
                }
                Ok(Err(error)) => {
                    self.end();
                    return Err(error);
                }
                Err(RecvTimeoutError::Timeout) => return Ok(Poll::Pending),
                Err(RecvTimeoutError::Disconnected) => self.current = None,
            }
        }
    }

    fn count_batch(&mut self, rows: u64, committed: Option<i64>) {
        self.stats.rows += rows;
        self.stats.batches += 1;
        self.handed_out.0 += rows;
        self.handed_out.1 += 1;
        self.note_lag(committed);
    }

    fn note_lag(&mut self, committed: Option<i64>) {
        if let Some(committed) = committed {
            let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            self.lag = Some(now.as_micros() as i64 - committed);
        }
    }

    /// Only here are all rows of a transaction seen: several threads may have decoded them.
    fn count_rows(&mut self, item: &mut Item) {
        let Item::Transaction(mark) = item else { return };
        match mark.kind {
            MarkKind::Begin => self.transaction_rows = Some(0),
            MarkKind::End | MarkKind::Rollback | MarkKind::Prepare => {
                mark.rows = self.transaction_rows.take();
            }
        }
    }

    /// The next batch, items passed over; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<ChangeBatch>> {
        loop {
            match self.poll(Duration::from_secs(3600))? {
                Poll::Batch(batch) => return Ok(Some(batch)),
                Poll::End => return Ok(None),
                Poll::Pending | Poll::Item(_) => {}
            }
        }
    }

    /// The position at which to resume: nothing that was returned is returned again. `None` before anything was read.
    pub fn position(&self) -> Option<Position> {
        self.progress().map(Progress::position)
    }

    /// The same, from which a position can be built.
    pub fn progress(&self) -> Option<&Progress> {
        self.tracker.progress()
    }

    /// The state of the connection, if a server's log is read.
    pub fn live_control(&self) -> Option<&Arc<LiveControl>> {
        self.live.as_ref()
    }

    /// Microseconds from the commit of the last transaction that was handed out to that moment, by this machine's clock.
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
        if self.process != std::process::id() {
            // After a fork this process does not have these threads, and the locks that they held are never released.
            self.threads.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.current.take());
            std::mem::forget(std::mem::replace(&mut self.segments, crossbeam_channel::never()));
            return;
        }
        self.current = None;
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(live) = &self.live {
            live.stop();
        }
        let deadline = Instant::now() + MAX_STOP;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < deadline {
            // Threads that wait for room in a channel wake when its other end is gone: a queue keeps what is in it for as
            // long as its sender lives.
            self.segments.try_iter().for_each(drop);
            std::thread::sleep(STOP_CHECK);
        }
        // One that is held up in a read of the caller's goes on by itself, and ends after it.
        for thread in self.threads.drain(..).filter(JoinHandle::is_finished) {
            // A panic in it has been reported as an error already, or nobody waits for it any more.
            drop(thread.join());
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.end();
    }
}

/// Cuts until the end, an error, or nobody wants more. `hand_over` gets each segment with its channel.
fn cut(
    open: impl FnOnce() -> Result<(Segments, Option<Arc<Position>>)>,
    segments: &Sender<Receiver<Message>>,
    spent: &Receiver<Vec<u8>>,
    stopping: &Arc<AtomicBool>,
    mut hand_over: impl FnMut(Segment, &Sender<Message>) -> bool,
) {
    // If sending fails, nobody receives the error.
    let send = |message: Message| {
        let (output, receiver) = bounded(1);
        drop(output.send(message));
        drop(segments.send(receiver));
    };
    let mut log = match guarded(open) {
        Ok((log, begin)) => {
            if let Some(position) = begin {
                send(Ok(Output::begin(position)));
            }
            log
        }
        Err(error) => return send(Err(error)),
    };
    log.stop_when(stopping);
    while !stopping.load(Ordering::Relaxed) {
        let (output, receiver) = bounded(BATCHES_AHEAD);
        spent.try_iter().for_each(|buffer| log.recycle(buffer));
        match guarded(|| log.next_segment()) {
            Ok(Some(segment)) => {
                if segments.send(receiver).is_err() || !hand_over(segment, &output) {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => return send(Err(error)),
        }
    }
}

fn run(
    decoder: &mut SegmentDecoder,
    segment: Segment,
    output: &Sender<Message>,
    spent: &Sender<Vec<u8>>,
    stopping: &AtomicBool,
) {
    if stopping.load(Ordering::Relaxed) {
        return;
    }
    let result = guarded(|| decoder.decode(segment, &mut |item| output.send(Ok(item)).is_ok()));
    if let Some(buffer) = decoder.take_spent().filter(|buffer| buffer.len() <= MAX_SPARE_BYTES) {
        // If there are enough of them, or nobody cuts any more, the buffer is dropped.
        drop(spent.try_send(buffer));
    }
    if let Err(error) = result {
        drop(output.send(Err(error)));
    }
}

/// A defect in the code becomes an error, for a thread that dies would look like the end of the input.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Internal, "a defect of binarrow; please report it"))
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES)
        .spawn(work)
        .map_err(|error| Error::io("cannot start a thread", error))
}

/// Segments that may be cut ahead, for each thread.
const SEGMENTS_AHEAD: usize = 2;

/// Bytes of segments that are cut and not yet decoded: some for each of a few threads, even of segments that are one large
/// event each.
const MAX_IN_FLIGHT: usize = 256 << 20;

/// Batches that may wait in the channel of one segment.
const BATCHES_AHEAD: usize = 2;

/// More threads than this decode no faster, for one cuts for all.
const MAX_THREADS: usize = 64;

/// Enough for the deepest JSON document.
const STACK_BYTES: usize = 2 << 20;

/// How long the end waits for threads: all of it takes less than a second.
const MAX_STOP: Duration = Duration::from_millis(800);

/// How often it looks whether they are done.
const STOP_CHECK: Duration = Duration::from_micros(200);
