//! A simulation of servers and readers, which tests the join. Each is determined by one number, its seed.
//!
//! | step | separate from |
//! |---|---|
//! | a transaction takes the locks of its keys | its flush |
//! | flush: it is in the log, and a reader receives it | its commit |
//! | commit: a SELECT sees it, in the order of the log or in another one | its flush, and `gtid_executed` |
//! | `gtid_executed` contains it | its commit |
//! | TRUNCATE, DROP and CREATE, RENAME, between a snapshot and the lock of its table too | transactions on the tables |
//! | XA PREPARE, in the log without its changes | XA COMMIT, which is flushed and committed like a transaction; XA ROLLBACK |
//! | the log continues in the next file | all transactions |
//! | kill and start of the server: transactions in the log are committed, others are rolled back | all of these |
//! | each query that determines the position of a snapshot | the snapshot, and the other queries |
//! | the end of the log after a chunk, which [`LoadProgress::consistent_from`] contains | the snapshot |
//! | kill of the reader; it continues from the position that it stored last, as JSON | each output |
//! | a lost connection while a chunk is read | each batch |
//!
//! | file | does |
//! |---|---|
//! | `server.rs` | the server |
//! | `shared.rs` | the positions of its snapshots |
//! | `source.rs`, `rows.rs` | the server as the source of a load: chunks, the log |
//! | `consumer.rs` | the checks |
//! | `faults.rs` | the faults that the checks must find |
//! | `random.rs` | random numbers |
//!
//! The join, the reading of a chunk, and [`Snapshot::move_to`](crate::load::Snapshot) are those of production.

mod consumer;
mod faults;
mod random;
mod rows;
mod server;
mod shared;
mod source;

use super::Join;
use crate::load::load_source::LoadSource;
use crate::position::{LoadProgress, Position, RowsRead};
use crate::reader::{Output, Part, Parts, Reach, Upto};
use consumer::{Check, Consumer, Mirrors};
use faults::{FAULTS, Fault};
use random::Random;
use server::{Counts, Server};
use shared::{Mode, Shared};
use source::{ModelSource, NOT_FIRST};
use std::sync::Arc;

/// Runs the simulation of a seed.
fn simulate(seed: u64, fault: Fault) -> Check<Counts> {
    let mut random = Random::new(seed);
    let modes = [Mode::Mariadb, Mode::LogStatus, Mode::Gtids, Mode::Lock];
    let mode = modes[random.below(4) as usize];
    let is_mariadb = mode == Mode::Mariadb;
    let is_ordered = is_mariadb || random.one_in(2);
    let has_xa = !is_mariadb && !random.one_in(3);
    let sizes = (1 + random.below(12) as usize, 1 + random.below(4) as usize);
    let kills = 4 + random.below(40);
    // Its rows must be exact.
    let is_exact = matches!(mode, Mode::Mariadb | Mode::Lock) && fault != Fault::GtidsAsExact;
    let has_keyless = is_exact && random.one_in(2);
    let choices = random.fork();
    let server = Server::new(random, is_ordered, has_xa, has_keyless);
    let mut run = Run::new(Shared::new(server, mode, fault, sizes), choices, kills);
    for _ in 0..MAX_READERS {
        if run.read()? {
            run.end()?;
            return Ok(run.shared.server().counts);
        }
    }
    Err("the end is not reached".to_owned())
}

/// A reader and its consumers.
struct Run {
    shared: Shared,
    random: Random,
    /// A reader is killed after one of this number of outputs.
    kills: u64,
    consumer: Consumer,
    /// The state that the consumer stored last, with the position as JSON.
    stored: (Consumer, Option<String>),
    /// The rows of a consumer that keeps them when the reader is killed, and receives some again.
    kept: Mirrors,
    readers: u64,
}

impl Run {
    fn new(shared: Shared, random: Random, kills: u64) -> Self {
        let consumer = Consumer::new(&shared.server());
        let stored = (consumer.clone(), None);
        Self { shared, random, kills, consumer, stored, kept: Mirrors::default(), readers: 0 }
    }

    /// Reads until the end, or until the reader is killed: then returns false.
    fn read(&mut self) -> Check<bool> {
        self.consumer = self.stored.0.clone();
        let start = match &self.stored.1 {
            Some(json) => Arc::new(Position::from_json(json).map_err(|error| error.to_string())?),
            None => {
                self.kept = Mirrors::default();
                Arc::default()
            }
        };
        let resumes = self.readers > 0;
        self.readers += 1;
        if start.load.is_none() && self.stored.1.is_some() {
            // A load that is complete is not continued: a reader of the log starts there.
            return self.follow(&start);
        }
        let source = ModelSource { shared: self.shared.clone(), resumes, first: None };
        let mut join = Join::new(source, start);
        loop {
            let part = match join.next_part() {
                Ok(Some(part)) => part,
                Ok(None) => return Ok(true),
                Err(error) if error.message() == NOT_FIRST => {
                    // The user deletes all rows, and starts the load again.
                    self.stored = (Consumer::new(&self.shared.server()), None);
                    return Ok(false);
                }
                Err(error) => return Err(error.to_string()),
            };
            if !self.part(part)? {
                return Ok(false);
            }
        }
    }

    /// Reads the log after a complete load.
    fn follow(&mut self, start: &Position) -> Check<bool> {
        let mut source = ModelSource { shared: self.shared.clone(), resumes: true, first: None };
        let mut log = source.log(start, None).map_err(|error| error.to_string())?;
        while let Some(part) = log.next_part().map_err(|error| error.to_string())? {
            if !self.part(part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Consumes a part. Returns false if the reader is killed.
    fn part(&mut self, part: Part) -> Check<bool> {
        let Part::Decoded(outputs) = part else { return Err("a segment".to_owned()) };
        for output in outputs {
            let moves = match output.map_err(|error| error.to_string())? {
                Output::Batch(batch, reach) => {
                    let is_exact = match &reach.upto {
                        Upto::Place { end, .. } => self.is_exact(end.load.as_deref()),
                        Upto::Within { .. } => false,
                    };
                    let server = self.shared.server();
                    self.consumer.batch(&batch, &reach, &mut self.kept, &server, is_exact)?
                }
                Output::End { position, .. } => {
                    let is_exact = self.is_exact(position.load.as_deref());
                    self.consumer.move_to(&position, &self.shared.server(), is_exact)?;
                    true
                }
                Output::Item(_) | Output::Note(_) => return Err("an item".to_owned()),
            };
            if moves && self.random.one_in(2) {
                self.store()?;
            }
            if self.readers < MAX_KILLED && self.random.one_in(self.kills) {
                let mut server = self.shared.server();
                server.counts.resumed += 1;
                server.run();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stores the rows and the position.
    fn store(&mut self) -> Check {
        let position = self.consumer.position.as_ref().ok_or("no position")?;
        let mut position = Position::clone(position);
        if self.shared.fault == Fault::ConsistentFromNotStored
            && let Some(load) = &mut position.load
        {
            Arc::make_mut(load).consistent_from = None;
        }
        let json = position.to_json().map_err(|error| error.to_string())?;
        self.stored = (self.consumer.clone(), Some(json));
        Ok(())
    }

    fn is_exact(&self, load: Option<&LoadProgress>) -> bool {
        load.is_some_and(|load| self.shared.is_exact(load.chunks))
    }

    fn end(&self) -> Check {
        let server = self.shared.server();
        self.consumer.end(&server)?;
        self.consumer.mirrors.check_all(&server.tables)?;
        // One that keeps its rows cannot exchange names twice.
        match server.counts.exchanges {
            0 => self.kept.check_keyed(&server.tables),
            _ => Ok(()),
        }
    }
}

/// The number of simulations: BINARROW_SIMULATIONS sets another.
fn simulations() -> u64 {
    let number = std::env::var("BINARROW_SIMULATIONS").ok();
    number.map_or(2_000, |number| number.parse().expect("BINARROW_SIMULATIONS is a number"))
}

#[test]
fn consumers_end_with_the_rows_of_the_server() {
    for seed in 0..simulations() {
        if let Err(error) = simulate(seed, Fault::None) {
            panic!("seed {seed}: {error}");
        }
    }
}

#[test]
fn planted_faults_are_found() {
    for fault in FAULTS {
        let found = (0..1_000).any(|seed| simulate(seed, fault).is_err());
        assert!(found, "{fault:?} is not found");
    }
}

#[test]
fn all_steps_are_done() {
    let counts: Vec<_> = (0..200).map(|seed| simulate(seed, Fault::None).unwrap().all()).collect();
    let sum: [u64; 11] = std::array::from_fn(|step| counts.iter().map(|counts| counts[step]).sum());
    assert!(sum.iter().all(|count| *count >= 20), "{sum:?}");
}

/// A reader that is stopped after the last rows of a table opens no chunk of it any more.
#[test]
fn positions_after_all_rows_of_a_table_contain_where_they_are_consistent() {
    let mut found = 0;
    for seed in 0..100 {
        let server = Server::new(Random::new(seed), true, false, false);
        let shared = Shared::new(server, Mode::Gtids, Fault::None, (20, 4));
        let mut source = ModelSource { shared, resumes: false, first: None };
        let mut position = Arc::default();
        let chunk = source.next_chunk(&mut position).unwrap().unwrap();
        for output in ModelSource::release(chunk, position).0 {
            if let Output::Batch(_, Reach { upto: Upto::Place { end, .. }, .. }) = output.unwrap() {
                let load = end.load.as_ref().unwrap();
                let is_last = load.tables[0].read == RowsRead::All;
                assert_eq!(load.consistent_from.is_some(), is_last, "seed {seed}");
                found += u32::from(is_last);
            }
        }
    }
    assert!(found > 20, "{found}");
}

/// Readers that are killed before they store a position start again.
const MAX_READERS: u64 = 1_000;

/// Later readers are not killed, so that one reads all rows of the table without a key.
const MAX_KILLED: u64 = 100;
