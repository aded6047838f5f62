//! Connecting: for as long as what is wrong may pass, in growing intervals, to the server that answered last before others.

use super::LOG;
use super::stream::Stream;
use crate::error::{Error, ErrorKind, Result};
use crate::net::{DumpStart, Server, SocketHandle};
use crate::position::compare_files;
use ring::rand::{SecureRandom, SystemRandom};
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// How long nothing has come but losses.
pub(super) struct Trouble {
    since: Instant,
    /// Before the next attempt.
    pause: Duration,
}

impl Stream {
    /// Whether an error may pass, and is to be waited out.
    pub(super) fn may_retry(&self, error: &Error) -> bool {
        // A server that starts refuses for a while; one that is behind catches up.
        let passes = matches!(error.kind(), ErrorKind::ConnectionLost | ErrorKind::ServerBehind)
            || error.server_code().is_some_and(|code| PASSING.contains(&code));
        passes && self.options.reconnect.is_some() && !self.options.cancel.is_cancelled()
    }

    /// Connects anew, until `attempt` succeeds.
    pub(super) fn connect_again<T>(
        &mut self,
        attempt: impl FnMut(&mut Self, Server) -> Result<T>,
    ) -> Result<T> {
        let done = self.connect(attempt)?;
        self.options.counters.reconnected();
        Ok(done)
    }

    /// Connects until `attempt` succeeds, in growing intervals.
    pub(super) fn connect<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Self, Server) -> Result<T>,
    ) -> Result<T> {
        loop {
            match self.open().and_then(|server| attempt(self, server)) {
                Ok(done) => return Ok(done),
                Err(error) => self.wait_out(error)?,
            }
        }
    }

    /// Waits before the next attempt to connect, each time for longer; gives the error back where there is to be none.
    pub(super) fn wait_out(&mut self, error: Error) -> Result<()> {
        self.options.cancel.check()?;
        let trouble = self.trouble.get_or_insert_with(Trouble::begin);
        let (since, pause) = (trouble.since, trouble.pause);
        trouble.pause = (pause * 2).min(LONGEST_PAUSE);
        let limit = self.options.reconnect.unwrap_or_default();
        if !self.may_retry(&error) || since.elapsed() >= limit {
            return Err(error);
        }
        let pause = jittered(pause);
        log::warn!(target: LOG, "cannot go on yet, trying again in {:.2} s: {error}", pause.as_secs_f32());
        self.sleep(pause)
    }

    /// A connection is being made, or asked before its dump: it ends with the read.
    pub(super) fn watch(&self, handle: SocketHandle) {
        self.connected.set(Some(self.options.cancel.on_cancel(move || handle.shutdown())));
    }

    /// Connects to the server that answered last, or else to the first that answers.
    pub(super) fn open(&self) -> Result<Server> {
        let mut candidates = (self.options.connector)()?;
        if self.is_bound {
            candidates.retain(|options| Some(&options.endpoint) == self.endpoint.as_ref());
        }
        candidates.sort_by_key(|options| Some(&options.endpoint) != self.endpoint.as_ref());
        let mut failed: Option<Error> = None;
        for options in candidates {
            match Server::open_watched(options, |handle| self.watch(handle)) {
                Ok(server) => return Ok(server),
                // What may pass counts more than what another server says.
                Err(error) if failed.as_ref().is_none_or(|failed| !self.may_retry(failed)) => {
                    failed = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(failed.unwrap_or_else(|| Error::config("no host to connect to")))
    }

    /// Goes on in the middle of a file; false where that has to be done by GTID.
    pub(super) fn resume(&mut self, mut server: Server, file: &str, offset: u64) -> Result<bool> {
        if server.identity().id != self.identity.id || self.by_gtid {
            self.elsewhere = Some(server);
            return Ok(false);
        }
        check_there(&mut server, file, offset)?;
        self.start_dump(server, &DumpStart::File { file: file.to_owned(), offset })?;
        Ok(true)
    }

    pub(super) fn sleep(&self, pause: Duration) -> Result<()> {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            self.options.cancel.check()?;
            std::thread::sleep(STOP_CHECK.min(pause));
        }
        Ok(())
    }
}

impl Trouble {
    pub(super) fn begin() -> Self {
        Self { since: Instant::now(), pause: FIRST_PAUSE }
    }
}

/// Checks that the server still has a place of its log.
///
/// # Errors
/// [`ErrorKind::PositionPurged`] for a file older than the server's oldest; [`ErrorKind::ServerIdentity`] for a place after the end of
/// the log, as after a reset; [`ErrorKind::Config`] for a file that is not of the server's log.
pub(super) fn check_there(server: &mut Server, file: &str, offset: u64) -> Result<()> {
    let files = server.binlogs()?;
    match files.iter().find(|one| one.name == file) {
        None => {
            Err(missing(file, files.first().zip(files.last()).map(|(a, b)| (&*a.name, &*b.name))))
        }
        Some(one) if one.size < offset => Err(Error::new(
            ErrorKind::ServerIdentity,
            format!(
                "{file}:{offset} lies beyond the end of the server's file, which has {} bytes: the log was reset, or a crash \
                 took changes back that had been sent (sync_binlog=1 keeps a server from that)",
                one.size
            ),
        )),
        Some(_) => Ok(()),
    }
}

/// The error for a file that the server does not have; `files` are the names of its oldest and its newest.
fn missing(file: &str, files: Option<(&str, &str)>) -> Error {
    let Some((oldest, newest)) = files else {
        return Error::config(format!(
            "the server has no binary log, so it has no {file}: set log_bin"
        ));
    };
    match compare_files(file, newest) {
        Some(Ordering::Less) => Error::new(
            ErrorKind::PositionPurged,
            format!(
                "the server no longer has {file}, its oldest file is {oldest}: changes are lost; start again from a snapshot, \
                 and keep the log for longer (binlog_expire_logs_seconds)"
            ),
        ),
        Some(_) => Error::new(
            ErrorKind::ServerIdentity,
            format!(
                "the server has no {file} yet, its newest file is {newest}: the log was reset, or the position is of another \
                 server. Start again from a snapshot, or check the position"
            ),
        ),
        None => Error::config(format!(
            "the server has no {file}: its files are {oldest} to {newest}. Check the file's name, and that the position is of \
             this server"
        )),
    }
}

/// Between half of it and all, so that many readers do not come at once.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [0];
    // Without random bytes it is half.
    let _ = SystemRandom::new().fill(&mut byte);
    pause / 2 + pause / 2 * u32::from(byte[0]) / 255
}

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const STOP_CHECK: Duration = Duration::from_millis(20);

/// Refusals that pass: too many connections, of the server (1040) and of the user (1203, and 1226 within an hour), no thread for
/// one (1135), a shutdown (1053, 1077, 3168), a connection that was killed (1317, MariaDB's 1927).
const PASSING: [u16; 9] = [1040, 1053, 1077, 1135, 1203, 1226, 1317, 1927, 3168];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_the_server_does_not_have() {
        let files = Some(("binlog.000007", "binlog.1000000"));
        for (file, kind, text) in [
            (
                "binlog.000006",
                ErrorKind::PositionPurged,
                "no longer has binlog.000006, its oldest file is binlog.000007",
            ),
            ("binlog.1000001", ErrorKind::ServerIdentity, "no binlog.1000001 yet"),
            (
                "mysql-bin.000007",
                ErrorKind::Config,
                "its files are binlog.000007 to binlog.1000000",
            ),
            ("binlog", ErrorKind::Config, "the server has no binlog:"),
        ] {
            let error = missing(file, files);
            assert_eq!(error.kind(), kind, "{file}");
            assert!(error.message().contains(text), "{}", error.message());
        }
        assert_eq!(missing("binlog.000001", None).kind(), ErrorKind::Config);
    }
}
