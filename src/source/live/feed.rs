//! The files of a server's log, one after the other, as its dump goes through them.

use super::again::FileAgain;
use super::file::{LiveFile, NextFile, Shared, lock, rotate};
use super::stream::{LiveControl, LiveOptions, Stream, is_own};
use crate::binlog::{EventHeader, EventType, FIRST_EVENT_AT};
use crate::error::{Error, ErrorKind, Result};
use crate::net::{Dump, DumpOptions, DumpStart, Flavor, Server};
use crate::position::{GtidState, Position};
use crate::source::feed::FileFeed;
use crate::source::file_list::{InputFile, InputSource};
use crate::source::input::Input;
use std::sync::{Arc, Mutex};

/// Where a live read begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveStart {
    /// At the oldest file that the server has.
    Earliest,
    /// Where the log ends now.
    Latest,
    /// Where an earlier read ended.
    Position(Box<Position>),
    /// After the transactions of a GTID set.
    Gtids(GtidState),
    /// At the first transaction committed at or after a time, in microseconds since 1970 UTC.
    Time(i64),
}

/// The files of one server.
pub struct LiveFeed {
    shared: Arc<Mutex<Shared>>,
    files: u64,
}

impl LiveFeed {
    /// Starts the dump. Gives also the position that the first row comes after.
    pub fn start(
        server: Server,
        start: &LiveStart,
        options: LiveOptions,
        control: Arc<LiveControl>,
    ) -> Result<(Self, Position)> {
        let mut stream = Stream::new(server.identity().clone(), options, control);
        let begun = match begin(&mut stream, server, start) {
            Err(error) if stream.may_retry(&error) => {
                stream.connect_again(|stream, server| begin(stream, server, start))
            }
            begun => begun,
        };
        let (next, position) = begun?;
        let shared = Shared { stream, next: Some(next) };
        Ok((Self { shared: Arc::new(Mutex::new(shared)), files: 0 }, position))
    }
}

impl FileFeed for LiveFeed {
    fn next_file(&mut self) -> Result<Option<InputFile>> {
        let Some(NextFile { name, offset }) = lock(&self.shared).next.take() else {
            return Ok(None);
        };
        self.files += 1;
        let input = LiveFile::new(Arc::clone(&self.shared), name.clone(), offset);
        Ok(Some(InputFile::new(&name, self.files, InputSource::Open(Some(Box::new(input))))))
    }

    fn reopen(&mut self, file: &str, offset: u64) -> Result<Box<dyn Input>> {
        let mut shared = lock(&self.shared);
        let dump = second_dump(shared.stream.options(), file, offset)?;
        Ok(Box::new(FileAgain::new(dump, offset)))
    }
}

/// Starts the dump: the file that it begins in, and the position that its first row comes after.
fn begin(
    stream: &mut Stream,
    mut server: Server,
    start: &LiveStart,
) -> Result<(NextFile, Position)> {
    let (dump, position) = find(stream.options(), &mut server, start)?;
    let id = server.identity().id.clone();
    stream.start_dump(server, &dump)?;
    let next = first_file(stream)?;
    let position = position.unwrap_or_else(|| Position {
        server: Some(id),
        file: next.name.clone(),
        offset: next.offset,
        ..Position::default()
    });
    Ok((next, position))
}

/// What to ask the server for, and the position there, where it is known before.
fn find(
    options: &mut LiveOptions,
    server: &mut Server,
    start: &LiveStart,
) -> Result<(DumpStart, Option<Position>)> {
    let identity = server.identity().clone();
    Ok(match start {
        LiveStart::Earliest => {
            let first = server.binlogs()?.into_iter().next();
            let file = first.ok_or_else(|| Error::config("the server has no log file"))?.name;
            (DumpStart::File { file, offset: FIRST_EVENT_AT }, None)
        }
        LiveStart::Time(time) => {
            let files: Vec<_> = server.binlogs()?.into_iter().map(|file| file.name).collect();
            let file = file_at(&files, *time, options)?;
            (DumpStart::File { file, offset: FIRST_EVENT_AT }, None)
        }
        LiveStart::Latest => {
            let position = server.position()?;
            (at_file(&position), Some(position))
        }
        LiveStart::Position(position) => {
            if let Some(other) = position.server.as_ref().filter(|other| **other != identity.id) {
                return Err(Error::new(
                    ErrorKind::ServerIdentity,
                    format!(
                        "the position is of the server {other}, this one is {}: start there by GTID",
                        identity.id
                    ),
                ));
            }
            check_there(server, position)?;
            let position = Position { server: Some(identity.id), ..Position::clone(position) };
            (at_file(&position), Some(position))
        }
        LiveStart::Gtids(GtidState::Mysql(set)) if identity.flavor == Flavor::Mysql => {
            (DumpStart::Gtids(set.clone()), None)
        }
        LiveStart::Gtids(GtidState::Mariadb(position)) if identity.flavor == Flavor::Mariadb => {
            (DumpStart::MariadbGtids(position.clone()), None)
        }
        LiveStart::Gtids(_) => {
            return Err(Error::config(
                "the GTIDs are MySQL's and the server MariaDB's, or the other way round",
            ));
        }
    })
}

/// A dump beside the first, that ends where the log does.
fn second_dump(options: &mut LiveOptions, file: &str, offset: u64) -> Result<Dump> {
    let server_id = other_id(options.dump.server_id);
    let dump = DumpOptions { ends: true, server_id, ..options.dump };
    let start = DumpStart::File { file: file.to_owned(), offset };
    let mut last = None;
    for candidate in (options.connector)()? {
        match Server::open(candidate) {
            Ok(server) => return Dump::start(server, &start, &dump),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| Error::config("no host to connect to")))
}

/// The last of `files` that was begun before a time: what was committed then is in it, or in later ones.
fn file_at(files: &[String], time: i64, options: &mut LiveOptions) -> Result<String> {
    let (mut low, mut high) = (0, files.len());
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        let Some(file) = files.get(middle) else { break };
        match begun(options, file)? {
            Some(begun) if begun <= time => low = middle,
            _ => high = middle,
        }
    }
    files.get(low).cloned().ok_or_else(|| Error::config("the server has no log file"))
}

/// When a file was begun, in microseconds since 1970 UTC, as its format description says.
fn begun(options: &mut LiveOptions, file: &str) -> Result<Option<i64>> {
    let mut dump = second_dump(options, file, FIRST_EVENT_AT)?;
    while let Some(event) = dump.next_event()? {
        let header = EventHeader::decode(event)?;
        if header.event_type == EventType::FORMAT_DESCRIPTION {
            return Ok(Some(i64::from(header.timestamp) * 1_000_000));
        }
    }
    Ok(None)
}

/// The file that the dump begins in, as its first event says.
fn first_file(stream: &mut Stream) -> Result<NextFile> {
    loop {
        let Some(event) = stream.next_event("", 0)? else {
            return Err(Error::config("the server's log ends before the start"));
        };
        if event.get(4) == Some(&crate::binlog::EventType::ROTATE.0) && !is_own(event) {
            return rotate(event);
        }
    }
}

fn at_file(position: &Position) -> DumpStart {
    DumpStart::File { file: position.file.clone(), offset: position.offset }
}

/// Whether the server still has the position.
fn check_there(server: &mut Server, position: &Position) -> Result<()> {
    let files = server.binlogs()?;
    match files.iter().find(|file| file.name == position.file) {
        None => {
            let first = files.first().map_or("none", |file| &file.name);
            Err(Error::new(
                ErrorKind::PositionPurged,
                format!(
                    "the server no longer has {}, its oldest file is {first}: changes are lost",
                    position.file
                ),
            ))
        }
        Some(file) if file.size < position.offset => Err(Error::new(
            ErrorKind::ServerIdentity,
            format!(
                "the position {position} lies beyond the end of the server's file, which has {} bytes: the log was reset since",
                file.size
            ),
        )),
        Some(_) => Ok(()),
    }
}

/// An id for a second dump beside the first, which must not cut that off.
const fn other_id(server_id: u32) -> u32 {
    server_id ^ 0x4000_0000
}
