//! The threads of a reader. They take turns: one of them cuts the next segment off the log, while the others decode theirs. The
//! results are received in log order.

use super::in_flight::{Backlog, InFlight, Permit};
use super::options::DecodeOptions;
use super::parts::{Part, Parts};
use super::segment_decoder::{Output, SegmentDecoder};
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use crate::source::{Segment, SpentSegment};
use crossbeam_channel::{Receiver, RecvTimeoutError, Select, Sender, bounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The threads of a reader, and the channels from them.
///
/// A thread that cuts a segment decodes it too: its bytes are in the cache of that core. Each segment has its own bounded
/// channel, and the channels are read in log order. If the caller is slow, all threads wait. The bytes of the segments that are
/// being decoded are limited, and so are those of the outputs that wait for the caller.
pub(super) struct Pipeline {
    /// The outputs of each part of the input, in log order.
    parts: Receiver<Outputs>,
    current: Option<Outputs>,
    backlog: Arc<Backlog>,
    threads: Vec<JoinHandle<()>>,
    cancel: CancelToken,
    /// The process that the threads are in.
    process: u32,
}

/// The reason why a wait for an output returns none.
pub(super) enum NoOutput {
    TimedOut,
    End,
    Failed(Error),
}

type Message = Result<Output>;

/// The outputs of a part of the input.
#[derive(Clone)]
struct Outputs {
    receiver: Receiver<Message>,
    /// True if they are counted in the backlog.
    is_counted: bool,
}

/// A segment to decode.
struct Job {
    segment: Segment,
    /// The number of the part, from 0.
    part: u64,
    output: Sender<Message>,
    /// Released when the segment is decoded.
    _permit: Permit,
}

impl Pipeline {
    /// Starts the threads. `open` returns the parts of the input, and their start. `reads_ahead`: the input arrives over time, so
    /// one more thread receives it while the others decode.
    pub(super) fn start<P: Parts + 'static>(
        threads: usize,
        reads_ahead: bool,
        decode: DecodeOptions,
        cancel: CancelToken,
        open: impl FnOnce() -> Result<(P, Option<Arc<Position>>)> + Send + 'static,
    ) -> Result<Self> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(MAX_THREADS),
        };
        let threads = threads + usize::from(reads_ahead);
        let decode = Arc::new(decode);
        let (parts_in, parts) = bounded(threads * PARTS_AHEAD);
        let backlog = Backlog::new(BACKLOG + threads * BACKLOG_PER_THREAD);
        let cutter = Arc::new(Mutex::new(Cutter {
            open: Some(open),
            log: None,
            parts: Some(parts_in),
            count: 0,
            in_flight: InFlight::new(IN_FLIGHT.max(threads * IN_FLIGHT_PER_THREAD)),
            backlog: Arc::clone(&backlog),
            cancel: cancel.clone(),
        }));
        let mut handles = Vec::with_capacity(threads);
        for _ in 0..threads {
            let (cutter, backlog) = (Arc::clone(&cutter), Arc::clone(&backlog));
            let (decode, cancel) = (Arc::clone(&decode), cancel.clone());
            handles.push(spawn("binarrow-decode", move || {
                let mut decoder = SegmentDecoder::new(decode);
                let mut spent = None;
                while let Some(job) = next_job(&cutter, spent.take()) {
                    run(&mut decoder, job, &backlog, &cancel);
                    spent = decoder.take_spent();
                }
            })?);
        }
        let process = std::process::id();
        Ok(Self { parts, current: None, backlog, threads: handles, cancel, process })
    }

    /// True if the threads are in this process, and not in the parent of a fork.
    pub(super) fn is_in_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Waits for the next output until `deadline`.
    pub(super) fn receive(&mut self, deadline: Instant) -> Result<Output, NoOutput> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(current) = &self.current else {
                match self.parts.recv_timeout(left) {
                    Ok(outputs) => {
                        self.backlog.begin_part();
                        self.current = Some(outputs);
                    }
                    Err(RecvTimeoutError::Timeout) => return Err(NoOutput::TimedOut),
                    Err(RecvTimeoutError::Disconnected) => return Err(NoOutput::End),
                }
                continue;
            };
            match current.receiver.recv_timeout(left) {
                Ok(output) => {
                    if current.is_counted {
                        self.backlog.leave(output.as_ref().map_or(0, Output::bytes));
                    }
                    return output.map_err(NoOutput::Failed);
                }
                Err(RecvTimeoutError::Timeout) => return Err(NoOutput::TimedOut),
                Err(RecvTimeoutError::Disconnected) => self.current = None,
            }
        }
    }

    /// A wait for the next output, for a thread that does not hold the pipeline.
    pub(super) fn waiter(&self) -> Waiter {
        Waiter { parts: self.parts.clone(), current: self.current.clone() }
    }

    /// Stops the threads and waits for them.
    pub(super) fn end(&mut self) {
        if !self.is_in_this_process() {
            // After a fork this process does not have these threads, and the locks that they held are never released.
            self.threads.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.current.take());
            std::mem::forget(std::mem::replace(&mut self.parts, crossbeam_channel::never()));
            return;
        }
        self.current = None;
        self.cancel.cancel();
        let deadline = Instant::now() + MAX_STOP;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < deadline {
            // Threads that wait for space in a channel wake when its receiver is dropped: a queue keeps its contents as long
            // as its sender lives.
            self.parts.try_iter().for_each(drop);
            std::thread::sleep(STOP_CHECK);
        }
        // A thread that waits in a read of the caller's continues alone, and ends after the read.
        for thread in self.threads.drain(..).filter(JoinHandle::is_finished) {
            // A panic in it was reported as an error, or no caller waits for it.
            drop(thread.join());
        }
    }
}

/// A wait for the next output of a pipeline.
pub struct Waiter {
    parts: Receiver<Outputs>,
    current: Option<Outputs>,
}

impl Waiter {
    /// Waits until there may be an output, or until the pipeline has ended; at most for `timeout`. Receives nothing.
    pub fn wait(&self, timeout: Duration) {
        let mut select = Select::new();
        match &self.current {
            Some(current) => select.recv(&current.receiver),
            None => select.recv(&self.parts),
        };
        // The caller looks again in either case.
        let _ = select.ready_timeout(timeout);
    }
}

/// Cuts the log into segments, for the threads, one of which holds it at a time.
struct Cutter<P, F> {
    /// Opens the input, at the first turn.
    open: Option<F>,
    /// The input, until its end.
    log: Option<P>,
    /// The queue of the parts; `None` after the end.
    parts: Option<Sender<Outputs>>,
    /// The number of parts so far.
    count: u64,
    in_flight: Arc<InFlight>,
    backlog: Arc<Backlog>,
    cancel: CancelToken,
}

/// Takes a turn: waits for the input, and returns the next segment. `spent` is the memory of an earlier one. `None` at the end,
/// after an error, and if no more are requested.
fn next_job<P: Parts, F>(cutter: &Mutex<Cutter<P, F>>, spent: Option<SpentSegment>) -> Option<Job>
where
    F: FnOnce() -> Result<(P, Option<Arc<Position>>)>,
{
    // A panic in the input was reported as an error.
    let mut cutter: MutexGuard<'_, _> = cutter.lock().unwrap_or_else(PoisonError::into_inner);
    let job = cutter.next(spent);
    if job.is_none() {
        cutter.end();
    }
    job
}

impl<P: Parts, F: FnOnce() -> Result<(P, Option<Arc<Position>>)>> Cutter<P, F> {
    fn next(&mut self, spent: Option<SpentSegment>) -> Option<Job> {
        if let Some(open) = self.open.take() {
            match guarded(open) {
                Ok((mut log, begin)) => {
                    log.cancel_with(&self.cancel);
                    self.log = Some(log);
                    if let Some(position) = begin {
                        self.send_one(Ok(Output::begin(position)))?;
                    }
                }
                Err(error) => return self.fail(error),
            }
        }
        if let (Some(log), Some(spent)) = (&mut self.log, spent) {
            log.recycle(spent);
        }
        while !self.cancel.is_cancelled()
            && self.in_flight.wait(&self.cancel)
            && self.backlog.wait(&self.cancel)
        {
            let log = self.log.as_mut()?;
            match guarded(|| log.next_part()) {
                Ok(Some(Part::Segment(segment))) => {
                    let permit = self.in_flight.enter(segment.bytes.len());
                    let (output, receiver) = bounded(OUTPUTS_AHEAD);
                    let part = self.send(Outputs { receiver, is_counted: true })?;
                    return Some(Job { segment: *segment, part, output, _permit: permit });
                }
                Ok(Some(Part::Decoded(receiver))) => {
                    self.send(Outputs { receiver, is_counted: false })?;
                }
                Ok(None) => return None,
                Err(error) => return self.fail(error),
            }
        }
        None
    }

    /// Adds a part to the queue, and returns its number; `None` if no more are requested.
    fn send(&mut self, outputs: Outputs) -> Option<u64> {
        self.parts.as_ref()?.send(outputs).ok()?;
        self.count += 1;
        Some(self.count - 1)
    }

    fn send_one(&mut self, message: Message) -> Option<u64> {
        let (output, receiver) = bounded(1);
        drop(output.send(message));
        self.send(Outputs { receiver, is_counted: false })
    }

    fn fail(&mut self, error: Error) -> Option<Job> {
        // If sending fails, there is no receiver for the error.
        self.send_one(Err(error));
        None
    }

    /// Closes the input and the queue.
    fn end(&mut self) {
        self.log = None;
        self.parts = None;
    }
}

fn run(decoder: &mut SegmentDecoder, job: Job, backlog: &Backlog, cancel: &CancelToken) {
    let Job { segment, part, output, _permit } = job;
    let result = guarded(|| {
        decoder.decode(segment, &mut |item| {
            let (bytes, has_none) = (item.bytes(), || output.is_empty());
            let may_send = bytes == 0 || backlog.enter(bytes, part, has_none, cancel);
            may_send && output.send(Ok(item)).is_ok()
        })
    });
    match result {
        Err(error) => drop(output.send(Err(error))),
        // The outputs of a part that ends early must not look complete.
        Ok(_) if cancel.is_cancelled() => drop(output.send(Err(Error::cancelled()))),
        Ok(_) => {}
    }
}

/// Converts a panic to an error: otherwise the end of the thread would look like the end of the
/// input.
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

/// The maximum number of parts whose outputs wait for the caller, per thread.
const PARTS_AHEAD: usize = 2;

/// The bytes of segments that are being decoded at which no more are cut: one more than this may be, which may be one large
/// event.
const IN_FLIGHT: usize = 32 << 20;

/// The bytes per thread, if there are many threads: a segment for each.
const IN_FLIGHT_PER_THREAD: usize = 8 << 20;

/// The maximum number of bytes of outputs that wait for the caller.
const BACKLOG: usize = 16 << 20;

/// The bytes that each thread adds to the backlog: compressed transactions have batches that are several times larger than the segment.
const BACKLOG_PER_THREAD: usize = 12 << 20;

/// The maximum number of outputs in the channel of one segment.
const OUTPUTS_AHEAD: usize = 16;

/// More threads than this decode no faster, because only one of them cuts at a time.
const MAX_THREADS: usize = 64;

/// The size of stacks: enough for the deepest JSON document.
const STACK_BYTES: usize = 2 << 20;

/// The maximum time that the end waits for threads: in total it takes less than a second.
const MAX_STOP: Duration = Duration::from_millis(800);

/// The interval between two checks whether the threads have ended.
const STOP_CHECK: Duration = Duration::from_micros(200);
