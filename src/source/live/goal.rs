//! The end of a range, which the read must reach: a log that ends before it is requested again, because a server may lag.

use super::LOG;
use super::options::LiveOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use std::time::{Duration, Instant};

/// The position that a read must reach.
pub(super) struct Goal {
    position: Position,
    /// The time for which a log that ends before it is requested again.
    reconnect: Option<Duration>,
    /// The end of the log, if it ended before the goal.
    short: Option<Short>,
}

/// The end of a log that ended before the goal.
struct Short {
    file: String,
    offset: u64,
    /// The time of the first dump that ended there.
    since: Instant,
    /// True until a pause.
    is_new: bool,
}

impl Goal {
    pub(super) fn of(options: &LiveOptions) -> Option<Self> {
        let position = Position::clone(options.goal.as_ref()?);
        Some(Self { position, reconnect: options.reconnect, short: None })
    }

    /// Called when the dump of a server ended before the goal. Returns an error if dumps have ended
    /// there for too long.
    pub(super) fn was_missed(&mut self, server: &str, file: &str, offset: u64) -> Result<()> {
        let is_same = |short: &Short| short.file == file && short.offset == offset;
        let since = self.short.as_ref().filter(|short| is_same(short)).map(|short| short.since);
        let since = since.unwrap_or_else(Instant::now);
        self.short = Some(Short { file: file.to_owned(), offset, since, is_new: true });
        if self.reconnect.is_some_and(|limit| since.elapsed() < limit) {
            return Ok(());
        }
        let place = match self.position.server.as_deref() {
            Some(other) if other != server => format!(" in the log of the server {other}"),
            _ => String::new(),
        };
        Err(Error::new(
            ErrorKind::ServerLag,
            format!(
                "the log of the server {server} ends at {file}:{offset}, before {}, where the range ends{place}: let the server \
                 catch up, or wait for it longer (⟦reconnect⟧)",
                self.position
            ),
        ))
    }

    /// The pause before the log is requested again, each time a longer one; `None` if the log did not end.
    pub(super) fn pause(&mut self) -> Option<Duration> {
        let short = self.short.as_mut().filter(|short| short.is_new)?;
        short.is_new = false;
        let pause = (short.since.elapsed() / 2).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        log::info!(
            target: LOG,
            "the log ends at {}:{}, before the end of the range: requesting it again in {:.2} s",
            short.file,
            short.offset,
            pause.as_secs_f32()
        );
        Some(pause)
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
