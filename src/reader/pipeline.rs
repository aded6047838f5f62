//! The threads of a reader: they cut the log into segments and decode these. The results are received in log order.

use super::in_flight::{InFlight, Permit};
use super::options::DecodeOptions;
use super::parts::{Part, Parts};
use super::segment_decoder::{Output, SegmentDecoder};
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use crate::source::{Segment, SpentSegment};
use crossbeam_channel::{Receiver, RecvTimeoutError, Select, Sender, bounded};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The threads of a reader, and the channels from them.
///
/// With one thread, this thread cuts and decodes. With more threads, one cuts and the others
/// decode; each segment has its own bounded channel, and the channels are read in log order. If the
/// caller is slow, all threads wait. The number of bytes that are cut and not yet decoded is
/// limited too.
pub(super) struct Pipeline {
    /// A channel for each segment, in log order.
    segments: Receiver<Receiver<Message>>,
    current: Option<Receiver<Message>>,
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

/// A segment to decode, and the channel for its output.
struct Job {
    segment: Segment,
    output: Sender<Message>,
    /// Released when the segment is decoded.
    _permit: Permit,
}

impl Pipeline {
    /// Starts the threads. `open` returns the parts of the input, and their start.
    pub(super) fn start<P: Parts>(
        threads: usize,
        decode: DecodeOptions,
        cancel: CancelToken,
        open: impl FnOnce() -> Result<(P, Option<Arc<Position>>)> + Send + 'static,
    ) -> Result<Self> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(MAX_THREADS),
        };
        let mut handles = Vec::with_capacity(threads + 1);
        let decode = Arc::new(decode);
        let (segments_in, segments) = bounded(threads * SEGMENTS_AHEAD);
        // The buffers of decoded segments are reused.
        let (spent_in, spent) = bounded::<SpentSegment>(threads * SEGMENTS_AHEAD);
        if threads == 1 {
            let cancel = cancel.clone();
            handles.push(spawn("binarrow-decode", move || {
                let mut decoder = SegmentDecoder::new(decode);
                cut(open, &segments_in, &spent, &cancel, |segment, output| {
                    run(&mut decoder, segment, output, &spent_in, &cancel);
                    true
                });
            })?);
        } else {
            let (jobs_in, jobs) = bounded::<Job>(1);
            let in_flight = InFlight::new(MAX_IN_FLIGHT);
            for _ in 0..threads {
                let (jobs, spent) = (jobs.clone(), spent_in.clone());
                let (decode, cancel) = (Arc::clone(&decode), cancel.clone());
                handles.push(spawn("binarrow-decode", move || {
                    let mut decoder = SegmentDecoder::new(decode);
                    while let Ok(Job { segment, output, _permit }) = jobs.recv() {
                        run(&mut decoder, segment, &output, &spent, &cancel);
                    }
                })?);
            }
            let cancel = cancel.clone();
            handles.push(spawn("binarrow-cut", move || {
                cut(open, &segments_in, &spent, &cancel, |segment, output| {
                    in_flight.enter(segment.bytes.len(), &cancel).is_some_and(|permit| {
                        jobs_in
                            .send(Job { segment, output: output.clone(), _permit: permit })
                            .is_ok()
                    })
                });
            })?);
        }
        let process = std::process::id();
        Ok(Self { segments, current: None, threads: handles, cancel, process })
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
                match self.segments.recv_timeout(left) {
                    Ok(segment) => self.current = Some(segment),
                    Err(RecvTimeoutError::Timeout) => return Err(NoOutput::TimedOut),
                    Err(RecvTimeoutError::Disconnected) => return Err(NoOutput::End),
                }
                continue;
            };
            match current.recv_timeout(left) {
                Ok(output) => return output.map_err(NoOutput::Failed),
                Err(RecvTimeoutError::Timeout) => return Err(NoOutput::TimedOut),
                Err(RecvTimeoutError::Disconnected) => self.current = None,
            }
        }
    }

    /// A wait for the next output, for a thread that does not hold the pipeline.
    pub(super) fn waiter(&self) -> Waiter {
        Waiter { segments: self.segments.clone(), current: self.current.clone() }
    }

    /// Stops the threads and waits for them.
    pub(super) fn end(&mut self) {
        if !self.is_in_this_process() {
            // After a fork this process does not have these threads, and the locks that they held are never released.
            self.threads.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.current.take());
            std::mem::forget(std::mem::replace(&mut self.segments, crossbeam_channel::never()));
            return;
        }
        self.current = None;
        self.cancel.cancel();
        let deadline = Instant::now() + MAX_STOP;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < deadline {
            // Threads that wait for space in a channel wake when its receiver is dropped: a queue keeps its contents as long
            // as its sender lives.
            self.segments.try_iter().for_each(drop);
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
    segments: Receiver<Receiver<Message>>,
    current: Option<Receiver<Message>>,
}

impl Waiter {
    /// Waits until there may be an output, or until the pipeline has ended; at most for `timeout`. Receives nothing.
    pub fn wait(&self, timeout: Duration) {
        let mut select = Select::new();
        match &self.current {
            Some(current) => select.recv(current),
            None => select.recv(&self.segments),
        };
        // The caller looks again in either case.
        let _ = select.ready_timeout(timeout);
    }
}

/// Cuts segments until the end, until an error, or until no more are requested. `pass`
/// receives each segment with its channel, and returns false if it needs no more.
fn cut<P: Parts>(
    open: impl FnOnce() -> Result<(P, Option<Arc<Position>>)>,
    segments: &Sender<Receiver<Message>>,
    spent: &Receiver<SpentSegment>,
    cancel: &CancelToken,
    mut pass: impl FnMut(Segment, &Sender<Message>) -> bool,
) {
    // If sending fails, there is no receiver for the error.
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
    log.cancel_with(cancel);
    while !cancel.is_cancelled() {
        spent.try_iter().for_each(|buffer| log.recycle(buffer));
        match guarded(|| log.next_part()) {
            Ok(Some(Part::Segment(segment))) => {
                let (output, receiver) = bounded(BATCHES_AHEAD);
                if segments.send(receiver).is_err() || !pass(*segment, &output) {
                    return;
                }
            }
            Ok(Some(Part::Decoded(receiver))) => {
                if segments.send(receiver).is_err() {
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
    spent: &Sender<SpentSegment>,
    cancel: &CancelToken,
) {
    if cancel.is_cancelled() {
        return;
    }
    let result = guarded(|| decoder.decode(segment, &mut |item| output.send(Ok(item)).is_ok()));
    if let Some(buffer) = decoder.take_spent() {
        // If there are enough buffers, or if the cutting has ended, the buffer is dropped.
        drop(spent.try_send(buffer));
    }
    if let Err(error) = result {
        drop(output.send(Err(error)));
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

/// The maximum number of segments that are cut ahead, per thread.
const SEGMENTS_AHEAD: usize = 2;

/// The maximum number of bytes of segments that are cut and not yet decoded: enough for several
/// segments per thread, even if each segment is one large event.
const MAX_IN_FLIGHT: usize = 256 << 20;

/// The maximum number of batches in the channel of one segment.
const BATCHES_AHEAD: usize = 2;

/// More threads than this decode no faster, because one thread cuts for all.
const MAX_THREADS: usize = 64;

/// The size of stacks: enough for the deepest JSON document.
const STACK_BYTES: usize = 2 << 20;

/// The maximum time that the end waits for threads: in total it takes less than a second.
const MAX_STOP: Duration = Duration::from_millis(800);

/// The interval between two checks whether the threads have ended.
const STOP_CHECK: Duration = Duration::from_micros(200);
