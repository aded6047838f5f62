//! A range that must be read to its end: a log that ends before it is asked again, for a server may be behind another.

use super::LOG;
use super::stream::Stream;
use crate::error::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

/// A log that ended before the goal.
pub(super) struct Short {
    file: String,
    offset: u64,
    /// Since when it has ended there.
    since: Instant,
    /// Whether it is to be waited before it is asked again.
    waits: bool,
}

impl Stream {
    /// The dump ended at a place, though the reader has not met its goal: an error where it has done so for too long.
    pub(super) fn ends_short(&mut self, file: &str, offset: u64) -> Result<()> {
        let is_same = |short: &Short| short.file == file && short.offset == offset;
        let since = self.short.as_ref().filter(|short| is_same(short)).map(|short| short.since);
        let since = since.unwrap_or_else(Instant::now);
        self.short = Some(Short { file: file.to_owned(), offset, since, waits: true });
        if self.options.reconnect.is_some_and(|limit| since.elapsed() < limit) {
            return Ok(());
        }
        let goal = self.options.goal.as_ref().map(ToString::to_string).unwrap_or_default();
        Err(Error::new(
            ErrorKind::ServerBehind,
            format!(
                "the log of the server {} ends at {file}:{offset}, before {goal}, where the range ends{}: let the server catch \
                 up, or wait for it longer (⟦reconnect⟧)",
                self.identity().id,
                match self.options.goal.as_ref().and_then(|goal| goal.server.as_deref()) {
                    Some(other) if other != self.identity().id => {
                        format!(" in the log of the server {other}")
                    }
                    _ => String::new(),
                }
            ),
        ))
    }

    /// Waits before such a log is asked again, each time for longer.
    pub(super) fn wait_for_goal(&mut self) -> Result<()> {
        let Some(short) = self.short.as_mut().filter(|short| short.waits) else { return Ok(()) };
        short.waits = false;
        let pause = (short.since.elapsed() / 2).clamp(SHORTEST_WAIT, LONGEST_WAIT);
        log::info!(
            target: LOG,
            "the log ends at {}:{}, before the end of the range: asking again in {:.2} s",
            short.file,
            short.offset,
            pause.as_secs_f32()
        );
        self.sleep(pause)
    }
}

const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
