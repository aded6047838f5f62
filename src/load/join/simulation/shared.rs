//! A server, shared by its readers, and the positions of its snapshots.

use super::faults::Fault;
use super::server::{Place, Server, Tables};
use crate::load::snapshot::Snapshot;
use crate::position::{Position, file_number};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The way to determine the position of a snapshot: see `load/snapshot.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Mariadb,
    LogStatus,
    Gtids,
    Lock,
}

/// A server, with what all its readers share.
#[derive(Clone)]
pub(super) struct Shared {
    server: Arc<Mutex<Server>>,
    /// True if the position of the last chunk that was opened with each number of chunks is exact.
    exact: Arc<Mutex<BTreeMap<u32, bool>>>,
    pub(super) mode: Mode,
    pub(super) fault: Fault,
    pub(super) chunk_rows: usize,
    pub(super) batch_rows: usize,
}

impl Shared {
    pub(super) fn new(server: Server, mode: Mode, fault: Fault, sizes: (usize, usize)) -> Self {
        let (chunk_rows, batch_rows) = sizes;
        let exact = Arc::default();
        Self { server: Arc::new(Mutex::new(server)), exact, mode, fault, chunk_rows, batch_rows }
    }

    /// Stores whether the position of a chunk is exact.
    pub(super) fn set_exact(&self, chunks: u32, is_exact: bool) {
        self.exact.lock().unwrap_or_else(PoisonError::into_inner).insert(chunks, is_exact);
    }

    /// True if the position of a chunk is exact.
    pub(super) fn is_exact(&self, chunks: u32) -> bool {
        self.exact.lock().unwrap_or_else(PoisonError::into_inner).get(&chunks) == Some(&true)
    }

    pub(super) fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a snapshot: its position, and the rows.
    pub(super) fn open_snapshot(&self) -> (Snapshot, Tables) {
        let mut server = self.server();
        server.run();
        let (place, is_exact, tables) = match self.fault {
            Fault::PositionOfStatus => {
                let end = server.end;
                server.run();
                (end, true, server.snapshot())
            }
            Fault::GtidsAsExact => self.between_gtids(&mut server),
            _ => match self.mode {
                Mode::Mariadb => (server.of_snapshot, true, server.snapshot()),
                Mode::LogStatus => self.between_log_status(&mut server),
                Mode::Gtids => after_gtids(&mut server),
                Mode::Lock => {
                    server.finish_flushed(true);
                    (server.end, true, server.snapshot())
                }
            },
        };
        server.run();
        (Snapshot { position: position_of(place), is_exact }, tables)
    }

    /// `performance_schema.log_status` before and after the snapshot. It waits for transactions that are being committed, except
    /// XA transactions.
    fn between_log_status(&self, server: &mut Server) -> (Place, bool, Tables) {
        server.finish_flushed(false);
        let mut before = server.end;
        for _ in 0..MAX_TRIES {
            server.run();
            let tables = server.snapshot();
            server.run();
            server.finish_flushed(false);
            if server.xa_commits > 0 && self.fault != Fault::XaIgnored {
                return after_gtids(server);
            }
            if server.end == before {
                return (before, true, tables);
            }
            before = server.end;
        }
        server.run();
        let tables = server.snapshot();
        match server.xa_commits > 0 && self.fault != Fault::XaIgnored {
            true => after_gtids(server),
            false => (before, false, tables),
        }
    }

    /// The fault: `gtid_executed` before and after the snapshot.
    fn between_gtids(&self, server: &mut Server) -> (Place, bool, Tables) {
        for _ in 0..MAX_TRIES {
            let before = server.executed();
            server.step();
            let tables = server.snapshot();
            if server.executed() == before {
                return (before, true, tables);
            }
        }
        after_gtids(server)
    }
}

/// A snapshot after a position whose transactions are all in `gtid_executed`.
fn after_gtids(server: &mut Server) -> (Place, bool, Tables) {
    let place = server.executed_end();
    server.run();
    (place, false, server.snapshot())
}

pub(super) fn place_of(position: &Position) -> Place {
    Place { file: file_number(&position.file).unwrap(), offset: position.offset }
}

pub(super) fn move_to(position: &mut Position, place: Place) {
    position.file = file_name(place.file);
    position.offset = place.offset;
}

pub(super) fn position_of(place: Place) -> Position {
    Position { server: Some("1".into()), ..Position::in_file(file_name(place.file), place.offset) }
}

/// Numbers of five digits become numbers of six digits.
pub(super) fn file_name(number: u64) -> String {
    format!("binlog.{number}")
}

/// Fewer than in production, so that some snapshots have no exact position.
const MAX_TRIES: usize = 2;
