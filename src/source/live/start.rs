//! The start of a live read: the request to the server, and the position.

use super::first_events::FirstEvents;
use super::server_files::check_there;
use super::stream::{Received, Stream};
use crate::binlog::{EventType, FIRST_EVENT_AT};
use crate::change::TransactionEvent;
use crate::error::{Error, ErrorKind, Result};
use crate::net::{DumpStart, Flavor, LogEvent, NextFile, Server, is_own, next_file};
use crate::position::{Ahead, GtidState, Position, file_number};
use crate::source::classify::{Classified, Skips, classify};
use crate::source::feed::ResumePoint;

/// The start of a live read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveStart {
    /// At the oldest file that the server has.
    Earliest,
    /// At the current end of the log.
    Latest,
    /// At the end of an earlier read: by file and offset on the same server, by GTID on another
    /// one.
    Position(Box<Position>),
    /// After the transactions of a GTID set.
    Gtids(GtidState),
    /// At the first transaction committed at or after a time, in microseconds since 1970 UTC.
    Time(i64),
}

/// Starts the dump; returns the file in which it begins, and the position.
pub(super) fn begin(
    stream: &mut Stream,
    mut server: Server,
    start: &LiveStart,
) -> Result<(NextFile, ResumePoint)> {
    if let Some(question) = &stream.options.foreign_keys {
        question.ask(&mut server)?;
    }
    let Found { dump, position, already_read } = find(stream, &mut server, start)?;
    let id = server.identity().id.clone();
    let name_case = server.identity().name_case;
    let is_other = position.server.as_ref().is_some_and(|before| *before != id);
    stream.start_dump(server, &dump)?;
    let next = first_file(stream)?;
    let next = match &dump {
        DumpStart::File { offset, .. } => NextFile { offset: *offset, ..next },
        DumpStart::Gtids(_) | DumpStart::MariadbGtids(_) => next,
    };
    let mut position = Position { server: Some(id), visible: None, ..position };
    if is_other {
        position.version_shift = shift(&position, &next.name)?;
    }
    if position.by_gtid {
        (position.file, position.offset) = (next.name.clone(), next.offset);
        position.file_created = None;
    }
    stream.set_by_gtid(position.by_gtid);
    Ok((next, ResumePoint { position, already_read, name_case }))
}

/// The request to the server, and the known part of its start position.
struct Found {
    dump: DumpStart,
    /// If the server determines the start itself, the file is the one that was read before, or
    /// empty.
    position: Position,
    /// See [`ResumePoint::already_read`].
    already_read: Option<GtidState>,
}

fn find(stream: &mut Stream, server: &mut Server, start: &LiveStart) -> Result<Found> {
    Ok(match start {
        LiveStart::Earliest => {
            let first = server.binlogs()?.into_iter().next();
            let file = first
                .ok_or_else(|| Error::config("the server has no binary log: set log_bin"))?
                .name;
            at_file(Position::in_file(file, FIRST_EVENT_AT))
        }
        LiveStart::Time(time) => {
            // The list of its files is also requested.
            stream.set_server(server);
            let files: Vec<_> = server.binlogs()?.into_iter().map(|file| file.name).collect();
            at_file(Position::in_file(file_at(&files, *time, stream)?, FIRST_EVENT_AT))
        }
        LiveStart::Latest => {
            let latest = server.position()?;
            at_position(server, latest)?
        }
        LiveStart::Position(position) => at_position(server, Position::clone(position))?,
        LiveStart::Gtids(gtids) => {
            let read = Some(gtids.clone());
            let position = Position { gtid_set: read, by_gtid: true, ..Position::default() };
            Found {
                dump: dump_after(server, gtids)?,
                already_read: already_read(gtids, gtids),
                position,
            }
        }
    })
}

/// Continues at the end of an earlier read.
fn at_position(server: &mut Server, mut position: Position) -> Result<Found> {
    let here = server.identity().id.clone();
    let is_other = position.server.as_ref().is_some_and(|id| *id != here);
    if let Some(read) = position.gtid_set.as_ref().filter(|read| !read.is_empty()) {
        check_has(server, read, is_other, position.server.as_deref())?;
    } else if is_other {
        return Err(foreign(
            server,
            position.server.as_deref(),
            "and there are no GTIDs of the transactions that were read: set gtid_mode=ON on both",
        ));
    }
    if !is_other && !position.by_gtid && position.gtids_alone().is_none() {
        check_there(server, &position.file, position.offset)?;
        if position.gtid_set.is_none() {
            position.gtid_set = server.gtids_at(&position.file, position.offset)?;
        }
        return Ok(at_file(position));
    }
    let read = position.gtid_set.clone().unwrap_or(GtidState::Mysql(Default::default()));
    let mut request = read.clone();
    if is_other {
        // The files of this server do not contain the prepared transactions: it must send them
        // again.
        for prepared in std::mem::take(&mut position.prepared).iter().rev() {
            match (&mut request, &prepared.again) {
                (GtidState::Mysql(set), Some(GtidState::Mysql(own))) => set.subtract(own),
                (request @ GtidState::Mariadb(_), Some(before)) => *request = before.clone(),
                _ => {
                    return Err(foreign(
                        server,
                        position.server.as_deref(),
                        "and the GTID of an XA transaction that is prepared there is not known",
                    ));
                }
            }
        }
    }
    position.ahead = match position.ahead.iter().map(Ahead::by_gtid).collect() {
        Some(ahead) => sorted(ahead),
        None => {
            return Err(foreign(
                server,
                position.server.as_deref(),
                "and no GTIDs identify the rows that were read after it: this needs gtid_mode=ON on both",
            ));
        }
    };
    position.by_gtid = true;
    position.gtid_set = Some(request.clone());
    Ok(Found {
        dump: dump_after(server, &request)?,
        already_read: already_read(&read, &request),
        position,
    })
}

/// The transactions that may be sent again although they were read. On MySQL: after a reconnect by
/// file, or if the request includes more than the transactions that were not read. On MariaDB, the
/// numbers identify them only if transactions were read in the order of their numbers.
fn already_read(read: &GtidState, request: &GtidState) -> Option<GtidState> {
    (matches!(read, GtidState::Mysql(_)) || read != request).then(|| read.clone())
}

/// Checks that the server has all transactions that were read from another server, or over an
/// earlier connection.
fn check_has(
    server: &mut Server,
    read: &GtidState,
    is_other: bool,
    other: Option<&str>,
) -> Result<()> {
    let Some(executed) = server.executed()? else {
        return match is_other {
            true => Err(foreign(server, other, "and has no GTIDs (gtid_mode) to continue by")),
            false => Ok(()),
        };
    };
    if executed.covers(read) {
        return Ok(());
    }
    if !is_other {
        return Err(Error::new(
            ErrorKind::ServerIdentity,
            "the server lacks transactions that were read from it: its log was reset, or it lost them in a crash",
        ));
    }
    if !executed.shares(read) {
        return Err(foreign(server, other, "and shares no GTIDs with it"));
    }
    Err(Error::new(
        ErrorKind::ServerLag,
        format!(
            "the server {} lacks transactions that were read from {}: it lags, or it has different transactions",
            server.identity().id,
            other.unwrap_or("another")
        ),
    ))
}

fn foreign(server: &Server, other: Option<&str>, why: &str) -> Error {
    Error::new(
        ErrorKind::ServerIdentity,
        format!(
            "this is the server {}, the position belongs to {} {why}",
            server.identity().id,
            other.unwrap_or("another")
        ),
    )
}

fn sorted(mut ahead: Vec<Ahead>) -> Vec<Ahead> {
    Ahead::sort(&mut ahead);
    ahead
}

fn dump_after(server: &Server, gtids: &GtidState) -> Result<DumpStart> {
    match (gtids, server.identity().flavor) {
        (GtidState::Mysql(set), Flavor::Mysql) => Ok(DumpStart::Gtids(set.clone())),
        (GtidState::Mariadb(position), Flavor::Mariadb) => {
            Ok(DumpStart::MariadbGtids(position.clone()))
        }
        // From the start of the log.
        (gtids, Flavor::Mariadb) if gtids.is_empty() => {
            Ok(DumpStart::MariadbGtids(Default::default()))
        }
        _ => Err(Error::config(
            "the GTIDs are those of MySQL and the server is MariaDB, or vice versa",
        )),
    }
}

fn at_file(position: Position) -> Found {
    let dump = DumpStart::File { file: position.file.clone(), offset: position.offset };
    Found { dump, position, already_read: None }
}

/// The shift with which commit versions in a file of another log are above the earlier ones.
fn shift(before: &Position, file: &str) -> Result<u32> {
    let number = |file: &str| file_number(file).unwrap_or_default();
    let above = number(&before.file) + u64::from(before.version_shift) + 1;
    u32::try_from(above.saturating_sub(number(file)))
        .map_err(|_| Error::config("the log's file numbers are too large for _commit_version"))
}

/// The last of `files` that was created before a time: transactions that were committed at this
/// time are in it, or in later files.
fn file_at(files: &[String], time: i64, stream: &Stream) -> Result<String> {
    let (mut low, mut high) = (0, files.len());
    let mut is_exact = true;
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        let Some(file) = files.get(middle) else { break };
        match created(stream, file)? {
            // Commits at almost the same time may not be in the order of their times.
            Some(created) if created.micros + 1_000_000 <= time => {
                (low, is_exact) = (middle, created.is_exact)
            }
            _ => high = middle,
        }
    }
    // The start of a statement may be long before its commit.
    let index = if is_exact { low } else { low.saturating_sub(1) };
    files
        .get(index)
        .cloned()
        .ok_or_else(|| Error::config("the server has no binary log: set log_bin"))
}

/// The time at which a file was created.
struct Created {
    /// Microseconds since 1970 UTC.
    micros: i64,
    /// True if it is the time of a commit, and not that of the start of a statement.
    is_exact: bool,
}

/// The time at which a file was created: that of its first commit if the log contains it (MySQL 8.0 and later), otherwise the
/// latest time of its first events.
fn created(stream: &Stream, file: &str) -> Result<Option<Created>> {
    let mut second = stream.second();
    let server = second.connecting.open()?;
    second
        .start_dump(server, &DumpStart::File { file: file.to_owned(), offset: FIRST_EVENT_AT })?;
    let mut latest = None;
    let mut events = FirstEvents::new(&mut second, MAX_EVENTS);
    while let Some(LogEvent { header, body, format, .. }) = events.next()? {
        // The time of another file would be too late.
        if header.event_type == EventType::ROTATE {
            break;
        }
        let classified = classify(&header, body, format, &Skips::ALL)?;
        if let Classified::Group(TransactionEvent::Gtid {
            commit_timestamp: Some(micros), ..
        }) = classified
        {
            return Ok(Some(Created { micros, is_exact: true }));
        }
        latest = latest.max(Some(header.timestamp));
    }
    Ok(latest.map(|seconds| Created { micros: i64::from(seconds) * 1_000_000, is_exact: false }))
}

/// The file in which the dump begins, from its first event.
fn first_file(stream: &mut Stream) -> Result<NextFile> {
    loop {
        match stream.next_event("", 0)? {
            Received::Event(header) => {
                if header.event_type == EventType::ROTATE && !is_own(&header) {
                    return next_file(stream.event());
                }
            }
            Received::End | Received::Left => {
                let reason = "the server ended the dump before it sent the name of a file";
                return Err(Error::new(ErrorKind::ConnectionLost, reason));
            }
        }
    }
}

/// The number of events at the start of a file that are read for the time when the file was created.
const MAX_EVENTS: usize = 256;
