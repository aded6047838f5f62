//! The options of a live read.

use super::LOG;
use super::counters::LiveCounters;
use crate::baseline::foreign_keys;
use crate::cancel::CancelToken;
use crate::change::TableFilter;
use crate::error::Result;
use crate::history::ForeignKeys;
use crate::net::{ConnectOptions, DumpOptions, Server};
use crate::position::Position;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// Returns the options of a connection. It is called for each connection, because a password may be a token that expires.
pub type Connector = Arc<dyn Fn() -> Result<Vec<ConnectOptions>> + Send + Sync>;

/// The options of connecting and reconnecting in a live read.
#[derive(Clone)]
pub struct LiveOptions {
    /// Returns the servers to try, in order.
    pub connector: Connector,
    /// The request for the dump.
    pub dump: DumpOptions,
    /// The time for which a lost connection is retried; `None` for no retries.
    pub reconnect: Option<Duration>,
    /// The time at which the read ends, if the server sends nothing more then.
    pub until: Option<SystemTime>,
    /// True if heartbeats are reported.
    pub heartbeats: bool,
    /// The position that must be reached. A log that ends before it is requested again, for as long as a lost connection is tried
    /// again.
    pub goal: Option<Box<Position>>,
    /// The query for the foreign keys, which precedes the request for the log.
    pub foreign_keys: Option<ForeignKeyQuestion>,
    /// Ends the read during any wait.
    pub cancel: CancelToken,
    /// Counters of the read.
    pub counters: Arc<LiveCounters>,
}

/// A query for the foreign keys of the tables that are read, and its result.
#[derive(Debug, Clone)]
pub struct ForeignKeyQuestion {
    /// The tables.
    pub tables: TableFilter,
    /// The first answer of the server; empty if it refuses, or if it logs all rows that foreign keys change.
    pub answer: Arc<OnceLock<Arc<ForeignKeys>>>,
}

impl ForeignKeyQuestion {
    /// Queries the foreign keys, unless this was done before.
    pub(super) fn ask(&self, server: &mut Server) -> Result<()> {
        if self.answer.get().is_some() {
            return Ok(());
        }
        match foreign_keys(server, &self.tables) {
            Ok(Some(keys)) => {
                let _ = self.answer.set(Arc::new(keys));
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if error.server_code().is_some() => {
                log::info!(target: LOG, "the server does not list its foreign keys: {}", error.message());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
