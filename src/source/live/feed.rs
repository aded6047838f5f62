//! The files of a server's log, one after the other, as its dump goes through them.

use super::file::{LiveFile, NextFile, Shared, lock, rotate};
use super::stream::{LiveControl, LiveOptions, Stream, is_own};
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
}

/// The files of one server.
pub struct LiveFeed {
    shared: Arc<Mutex<Shared>>,
    files: u64,
}

impl LiveFeed {
    /// Starts the dump. Gives also the position that the first row comes after.
    pub fn start(
        mut server: Server,
        start: LiveStart,
        options: LiveOptions,
        control: Arc<LiveControl>,
    ) -> Result<(Self, Position)> {
        let identity = server.identity().clone();
        let (dump, position) = match start {
            LiveStart::Earliest => {
                let first = server.binlogs()?.into_iter().next();
                let file = first.ok_or_else(|| Error::config("the server has no log file"))?.name;
                (DumpStart::File { file, offset: 4 }, None)
            }
            LiveStart::Latest => {
                let position = server.position()?;
                (at_file(&position), Some(position))
            }
            LiveStart::Position(position) => {
                let position = *position;
                match &position.server {
                    Some(server) if *server != identity.id => {
                        return Err(Error::new(
                            ErrorKind::ServerIdentity,
                            format!(
                                "the position is of the server {server}, this one is {}: start there by GTID",
                                identity.id
                            ),
                        ));
                    }
                    _ => {}
                }
                check_there(&mut server, &position)?;
                let position = Position { server: Some(identity.id.clone()), ..position };
                (at_file(&position), Some(position))
            }
            LiveStart::Gtids(state) => {
                let dump = match (&state, identity.flavor) {
                    (GtidState::Mysql(set), Flavor::Mysql) => DumpStart::Gtids(set.clone()),
                    (GtidState::Mariadb(position), Flavor::Mariadb) => {
                        DumpStart::MariadbGtids(position.clone())
                    }
                    _ => {
                        return Err(Error::config(
                            "the GTIDs are MySQL's and the server MariaDB's, or the other way round",
                        ));
                    }
                };
                (dump, None)
            }
        };
        let mut stream = Stream::start(server, &dump, options, control)?;
        let next = first_file(&mut stream)?;
        let position = position.unwrap_or_else(|| Position {
            server: Some(identity.id.clone()),
            file: next.name.clone(),
            offset: next.offset,
            ..Position::default()
        });
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
        let options = shared.stream.options();
        let candidates = (options.connector)()?;
        let dump =
            DumpOptions { ends: true, server_id: other_id(options.dump.server_id), ..options.dump };
        drop(shared);
        let mut last = None;
        for candidate in candidates {
            match Server::open(candidate) {
                Ok(server) => {
                    let start = DumpStart::File { file: file.to_owned(), offset };
                    let dump = Dump::start(server, &start, &dump)?;
                    return Ok(Box::new(super::again::FileAgain::new(dump, offset)));
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::config("no host to connect to")))
    }
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
