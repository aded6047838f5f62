//! The files of a server's log: checks if they contain a position.

use crate::error::{Error, ErrorKind, Result};
use crate::net::Server;
use crate::position::compare_files;
use std::cmp::Ordering;

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
                "{file}:{offset} is beyond the end of the server's file, which has {} bytes: the log was reset, or a crash \
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
