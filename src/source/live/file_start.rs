//! The position at the start of a file of a server's log, with the GTIDs before it, from the first events of the file.

use super::first_events::FirstEvents;
use super::options::LiveOptions;
use super::server_files::check_there;
use super::stream::Stream;
use crate::binlog::{EventType, FIRST_EVENT_AT, MariadbGtidList, PreviousGtids};
use crate::error::{Error, ErrorKind, Result};
use crate::net::{DumpStart, LogEvent};
use crate::position::{GtidState, Position};

/// The position of a file's first event. Only the first events of the file are read.
///
/// # Errors
/// The server does not have the file: [`ErrorKind::PositionPurged`](crate::ErrorKind::PositionPurged) if it had it, otherwise
/// [`ErrorKind::Config`](crate::ErrorKind::Config) or [`ErrorKind::ServerIdentity`](crate::ErrorKind::ServerIdentity).
pub fn file_start(file: &str, options: LiveOptions) -> Result<Position> {
    let mut stream = Stream::unconnected(options);
    stream.connect(|stream, mut server| {
        check_there(&mut server, file, FIRST_EVENT_AT)?;
        let id = server.identity().id.clone();
        let known = server.gtids_at(file, FIRST_EVENT_AT)?;
        let start = DumpStart::File { file: file.to_owned(), offset: FIRST_EVENT_AT };
        stream.start_dump(server, &start)?;
        let Head { file_created, gtids_before } = read_head(stream)?;
        stream.drop_dump();
        let gtid_set = known.or(gtids_before);
        Ok(Position {
            server: Some(id),
            file_created,
            gtid_set,
            ..Position::in_file(file, FIRST_EVENT_AT)
        })
    })
}

/// The contents of a file's first events.
#[derive(Default)]
struct Head {
    /// See [`Position::file_created`].
    file_created: Option<u32>,
    gtids_before: Option<GtidState>,
}

fn read_head(stream: &mut Stream) -> Result<Head> {
    let mut head = Head::default();
    let mut events = FirstEvents::new(stream, MAX_EVENTS);
    while let Some(LogEvent { header, body, .. }) = events.next()? {
        match header.event_type {
            EventType::FORMAT_DESCRIPTION => head.file_created = Some(header.timestamp),
            EventType::MARIADB_START_ENCRYPTION => {}
            EventType::PREVIOUS_GTIDS => {
                let set = PreviousGtids::decode(body)?.gtid_set;
                head.gtids_before = Some(GtidState::Mysql(set));
                break;
            }
            EventType::MARIADB_GTID_LIST => {
                let list = MariadbGtidList::decode(body)?;
                head.gtids_before = Some(GtidState::Mariadb(list.position()));
                break;
            }
            _ => break,
        }
    }
    if !events.has_started() {
        let reason = "the server ended the dump before the file began";
        return Err(Error::new(ErrorKind::ConnectionLost, reason));
    }
    Ok(head)
}

/// The GTIDs are in the first or the second event of a file, after the events at the start of the dump.
const MAX_EVENTS: usize = 8;
