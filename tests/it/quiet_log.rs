//! Complete transactions do not wait for events that may never arrive: a live log in every order of events, heartbeats and
//! pauses. The feed plays a schedule and has its own clock, so that the tests do not depend on the machine's speed.

use crate::log::{
    Event, Log, T, U, anonymous_gtid, begin, gtid, insert, query, table_map, transaction, update,
    xa, xa_prepare, xid,
};
use binarrow::baseline::Baseline;
use binarrow::binlog::EventHeader;
use binarrow::change::Include;
use binarrow::position::Position;
use binarrow::source::{
    FedFile, FileFeed, InputFile, InputSource, LiveEvents, LogOptions, NextEvent, ResumePoint,
    Segments, Start, Stop,
};
use binarrow::{Error, Result};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SCHEDULES: u64 = 1000;
/// The size of segments that is larger than every transaction, so that none is scanned before it is read.
const LARGE: usize = 1 << 20;

const FILE: &str = "binlog.000001";

/// Pseudo-random numbers, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn pick<V: Copy>(&mut self, values: &[V]) -> V {
        values[self.below(values.len() as u64) as usize]
    }
}

/// A log as it arrives, and the result of reading it.
struct Play {
    log: Log,
    /// The ends of groups.
    ends: Vec<u64>,
    /// The times at which bytes arrive, and up to which offset; no new bytes are a heartbeat.
    arrivals: Vec<(Duration, u64)>,
    now: Duration,
    /// The duration of a read.
    cost: Duration,
    sends_heartbeats: bool,
    heard: usize,
    /// The offset up to which the log was read.
    read_to: u64,
    /// The end of the segments that were returned.
    handed: u64,
    /// The time at which a group's last byte was read.
    read: Vec<Option<Duration>>,
    faults: Vec<String>,
}

impl Play {
    fn new(random: &mut Random) -> Self {
        let (log, ends) = log(random);
        let mut arrivals = Vec::new();
        let (mut at, mut offset) = (Duration::ZERO, log.starts[1]);
        // The last group that arrives; a part of the next one may follow.
        let last = ends[random.below(ends.len() as u64) as usize];
        let last = (last + random.pick(&[0, 0, 7, 60])).min(log.end());
        while offset < last {
            at += Duration::from_millis(random.pick(&[0, 0, 1, 40, 700]));
            if random.below(4) > 0 {
                let up_to = offset + random.pick(&[10, 200, 5000]);
                let event_end = log.starts.iter().copied().find(|start| *start >= up_to);
                let end_of_event = event_end.unwrap_or(last);
                offset = random.pick(&[up_to, end_of_event, end_of_event]).min(last);
            }
            arrivals.push((at, offset));
        }
        for _ in 0..random.below(4) {
            at += Duration::from_millis(random.pick(&[0, 0, 500]));
            arrivals.push((at, offset));
        }
        let read = vec![None; ends.len()];
        let cost = Duration::from_millis(random.pick(&[0, 1, 30]));
        let sends_heartbeats = random.below(3) == 0;
        Self {
            log,
            ends,
            arrivals,
            now: Duration::ZERO,
            cost,
            sends_heartbeats,
            heard: 0,
            read_to: 0,
            handed: 0,
            read,
            faults: Vec::new(),
        }
    }

    /// The offset up to which bytes have arrived.
    fn available(&self) -> u64 {
        let head = self.log.starts[1];
        self.arrivals
            .iter()
            .filter(|(at, _)| *at <= self.now)
            .map(|(_, to)| *to)
            .max()
            .unwrap_or(head)
    }

    /// Returns the event at `offset` as soon as all of it has arrived.
    fn next(&mut self, offset: u64, bytes: &mut Vec<u8>, waits: bool) -> Result<NextEvent> {
        self.now += self.cost;
        loop {
            let starts = &self.log.starts;
            let after = starts.iter().copied().find(|start| *start > offset);
            let end = after.unwrap_or(self.log.end());
            if offset < end && end <= self.available() {
                let event = &self.log.bytes[offset as usize..end as usize];
                let header = EventHeader::decode(event).unwrap();
                bytes.extend_from_slice(event);
                self.read_to = self.read_to.max(end);
                for (group_end, read) in self.ends.iter().zip(&mut self.read) {
                    if *group_end <= end {
                        read.get_or_insert(self.now);
                    }
                }
                let len = event.len();
                return Ok(NextEvent::Event(binarrow::source::Event { header, offset, len }));
            }
            let come = self.arrivals.partition_point(|(at, _)| *at <= self.now);
            if self.sends_heartbeats && self.heard < come {
                // A heartbeat arrives between events.
                let is_repeated = |index: usize| index > 0 && self.arrivals[index - 1].1 == offset;
                let is_heard = (self.heard..come).any(is_repeated);
                self.heard = come;
                if is_heard {
                    return Ok(NextEvent::Heartbeat);
                }
            }
            if !waits {
                return Ok(NextEvent::Pending);
            }
            // Complete groups must have been returned before the reader waits.
            let complete = self.ends.iter().copied().filter(|end| *end <= offset).max();
            if complete.is_some_and(|end| end > self.handed) {
                let message =
                    format!("waits at {offset} with {complete:?} complete, {} handed", self.handed);
                self.faults.push(message);
            }
            match self.arrivals.get(come) {
                Some((at, _)) => self.now = *at,
                None => return Err(Error::config("nothing more comes")),
            }
        }
    }
}

/// Groups of all kinds, and their ends.
fn log(random: &mut Random) -> (Log, Vec<u64>) {
    let mut log = Log::mysql();
    let mut ends = Vec::new();
    let mut open = Vec::new();
    for number in 1..=random.below(12) as i64 + 1 {
        let id = number as i32 * 100;
        let xid_of = |number: i64| format!("x{number}");
        let group: Vec<Event> = match random.below(10) {
            0 => vec![gtid(number), query("CREATE TABLE d.v (id INT)")],
            1 => vec![gtid(number), begin(), table_map(T), insert(T, [id]), query("COMMIT")],
            2 => vec![gtid(number), begin(), table_map(T), insert(T, [id]), query("ROLLBACK")],
            3 => {
                open.push(number);
                let name = xid_of(number);
                let rows = [table_map(U), insert(U, [id]), xa("END", &name)];
                let mut group = vec![gtid(number), xa("START", &name)];
                group.extend(rows);
                group.push(xa_prepare(&name, false));
                group
            }
            4 if !open.is_empty() => {
                let one = open.remove(random.below(open.len() as u64) as usize);
                let verb = random.pick(&["COMMIT", "ROLLBACK"]);
                vec![gtid(number), xa(verb, &xid_of(one))]
            }
            5 => vec![anonymous_gtid(), query("DROP TABLE d.v")],
            // A transaction that was prepared before: it is searched in the log before the start.
            8 => vec![gtid(number), xa("COMMIT", "unknown")],
            6 => {
                // Larger than small segments.
                let mut group = vec![gtid(number), begin()];
                for part in 0..6 {
                    group.extend([table_map(T), insert(T, id..id + 20), table_map(U)]);
                    group.push(update(U, [(id + part, id)]));
                }
                group.push(xid());
                group
            }
            _ => transaction(number, [id, id + 1]),
        };
        log = log.with(group);
        ends.push(log.end());
    }
    (log, ends)
}

struct PlayedEvents(Arc<Mutex<Play>>);

impl LiveEvents for PlayedEvents {
    fn next(&mut self, offset: u64, bytes: &mut Vec<u8>, waits: bool) -> Result<NextEvent> {
        self.0.lock().unwrap().next(offset, bytes, waits)
    }
}

/// The events of a log that is complete, from an offset on.
struct CompleteEvents {
    log: Log,
    from: u64,
    is_started: bool,
}

impl LiveEvents for CompleteEvents {
    fn next(&mut self, offset: u64, bytes: &mut Vec<u8>, _: bool) -> Result<NextEvent> {
        if std::mem::replace(&mut self.is_started, true) && offset < self.from {
            return Ok(NextEvent::Gap(self.from));
        }
        let Some(rest) = self.log.bytes.get(offset as usize..).filter(|rest| !rest.is_empty())
        else {
            return Ok(NextEvent::End);
        };
        let (header, event) = EventHeader::first_event(rest)?;
        bytes.extend_from_slice(event.unwrap());
        let len = event.unwrap().len();
        Ok(NextEvent::Event(binarrow::source::Event { header, offset, len }))
    }
}

struct PlayedFeed(Option<Arc<Mutex<Play>>>, Arc<Mutex<Play>>);

impl FileFeed for PlayedFeed {
    fn next_file(&mut self, _: &Position) -> Result<Option<FedFile>> {
        let Some(play) = self.0.take() else { return Ok(None) };
        let source = InputSource::Live(Some(Box::new(PlayedEvents(play))));
        Ok(Some(FedFile { file: InputFile::new(FILE, 1, source), moved: None }))
    }

    fn reopen(&mut self, _: &str, from: u64) -> Result<Box<dyn LiveEvents>> {
        let log = self.1.lock().unwrap().log.clone();
        Ok(Box::new(CompleteEvents { log, from, is_started: false }))
    }

    fn again(&mut self, _: &Position) -> Result<Box<dyn FileFeed>> {
        Err(Error::config("the log before is not needed"))
    }

    fn files(&mut self) -> Result<Vec<(String, u64)>> {
        // A second connection may take long: complete groups must have been returned.
        let mut play = self.1.lock().unwrap();
        let before = play.ends.iter().copied().filter(|end| *end < play.read_to).max();
        if before.is_some_and(|end| end > play.handed) {
            let message = format!("searches at {} with {} handed", play.read_to, play.handed);
            play.faults.push(message);
        }
        Ok(Vec::new())
    }

    fn structures(&mut self) -> Result<Baseline> {
        Err(Error::config("no server"))
    }
}

/// Plays a schedule to its end; returns the failures.
fn faults(seed: u64) -> Vec<String> {
    let mut random = Random(seed * 2_654_435_761 + 88_172_645_463_325_252);
    let play = Arc::new(Mutex::new(Play::new(&mut random)));
    let limit = Duration::from_millis(random.pick(&[1, 100, 3_600_000]));
    let has_items = random.below(2) == 0;
    let options = LogOptions {
        start: Start::Earliest,
        stop: Stop::End,
        segment_bytes: random.pick(&[100, 1000, LARGE]),
        cut_at_commit: random.below(4) == 0,
        max_latency: Some(limit),
        include: Include {
            transactions: has_items,
            schema_changes: has_items,
            ..Include::default()
        },
        ..LogOptions::default()
    };
    let feed = PlayedFeed(Some(Arc::clone(&play)), Arc::clone(&play));
    let begin = ResumePoint { position: Position::in_file(FILE, 4), ..ResumePoint::default() };
    let mut segments = Segments::live(Box::new(feed), begin, options.clone()).unwrap();
    let (base, clock) = (Instant::now(), Arc::clone(&play));
    segments.set_clock(Box::new(move || base + clock.lock().unwrap().now));
    // Reads that may occur between reading the last bytes of a transaction and returning it.
    let reads = if options.segment_bytes == LARGE { 5 } else { 60 };
    // Groups that wait for a paused consumer are not late.
    let has_pauses = random.below(2) == 0;
    loop {
        let segment = segments.next_segment();
        let mut play = play.lock().unwrap();
        let Ok(segment) = segment else { break };
        let segment = segment.unwrap();
        let before = std::mem::replace(&mut play.handed, segment.end.offset);
        let longest = limit + reads * play.cost;
        let late = play.ends.iter().zip(&play.read).find_map(|(end, read)| {
            let waited =
                read.filter(|_| !has_pauses && before < *end && *end <= segment.end.offset)?;
            (play.now - waited > longest)
                .then(|| format!("{end} waited for {:?}", play.now - waited))
        });
        play.faults.extend(late);
        if has_pauses {
            play.now += Duration::from_millis(random.pick(&[0, 0, 0, 300, 2000]));
        }
    }
    let mut play = play.lock().unwrap();
    let last = play.available();
    let complete = play.ends.iter().copied().filter(|end| *end <= last).max().unwrap_or_default();
    if play.handed < complete {
        let message = format!("{} handed of {complete}", play.handed);
        play.faults.push(message);
    }
    std::mem::take(&mut play.faults)
}

#[test]
fn complete_transactions_do_not_wait_for_more() {
    for seed in 1..=SCHEDULES {
        let faults = faults(seed);
        assert!(faults.is_empty(), "schedule {seed}: {faults:#?}");
    }
}
