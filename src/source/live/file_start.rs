//! Where a file of a server's log begins, with what stands before it by GTID: its first events tell.

use super::connecting::check_there;
use super::control::LiveControl;
use super::stream::{LiveOptions, Received, Stream, is_own};
use crate::binlog::{
    EventHeader, EventType, FIRST_EVENT_AT, FormatDescription, MariadbGtidList, PreviousGtids,
};
use crate::error::{Error, ErrorKind, Result};
use crate::net::DumpStart;
use crate::position::{GtidState, Position};
use crate::source::classify::body;
use std::sync::Arc;

/// The position of a file's first event. No more than the file's beginning is asked for.
///
/// # Errors
/// The server does not have the file: [`ErrorKind::PositionPurged`](crate::ErrorKind::PositionPurged) where it had it, else
/// [`ErrorKind::Config`](crate::ErrorKind::Config) or [`ErrorKind::ServerIdentity`](crate::ErrorKind::ServerIdentity).
pub fn file_start(
    file: &str,
    options: LiveOptions,
    control: &Arc<LiveControl>,
) -> Result<Position> {
    let mut stream = Stream::unconnected(options, Arc::clone(control));
    stream.connect(|stream, mut server| {
        check_there(&mut server, file, FIRST_EVENT_AT)?;
        let id = server.identity().id.clone();
        let known = server.gtids_at(file, FIRST_EVENT_AT)?;
        let start = DumpStart::File { file: file.to_owned(), offset: FIRST_EVENT_AT };
        stream.start_dump(server, &start)?;
        let Head { begun, gtids_before } = read_head(stream)?;
        stream.drop_dump();
        let gtid_set = known.or(gtids_before);
        Ok(Position {
            server: Some(id),
            begun,
            gtid_set,
            ..Position::in_file(file, FIRST_EVENT_AT)
        })
    })
}

/// What the first events of a file say of it.
#[derive(Default)]
struct Head {
    /// See [`Position::begun`].
    begun: Option<u32>,
    gtids_before: Option<GtidState>,
}

fn read_head(stream: &mut Stream) -> Result<Head> {
    let mut head = Head::default();
    let mut format = None;
    for _ in 0..EVENTS_LOOKED_AT {
        let Received::Event = stream.next_event("", 0)? else {
            if format.is_some() {
                break;
            }
            let reason = "the server ended the dump before the file began";
            return Err(Error::new(ErrorKind::ConnectionLost, reason));
        };
        let event = stream.event();
        let header = EventHeader::decode(event)?;
        match (&format, header.event_type) {
            (_, _) if !is_own(event) => {}
            (None, EventType::FORMAT_DESCRIPTION) => {
                format = Some(FormatDescription::decode(event)?);
                head.begun = Some(header.timestamp);
            }
            (Some(format), EventType::PREVIOUS_GTIDS) => {
                let set = PreviousGtids::decode(body(event, format.checksum)?)?.gtid_set;
                head.gtids_before = Some(GtidState::Mysql(set));
                break;
            }
            (Some(format), EventType::MARIADB_GTID_LIST) => {
                let list = MariadbGtidList::decode(body(event, format.checksum)?)?;
                head.gtids_before = Some(GtidState::Mariadb(list.position()));
                break;
            }
            (_, EventType::MARIADB_START_ENCRYPTION) => {}
            _ => break,
        }
    }
    Ok(head)
}

/// They are the first or the second event of a file, behind those that open the dump.
const EVENTS_LOOKED_AT: usize = 8;
