//! Every event of files, as they stand there: what `inspect` shows.

use crate::binlog::{
    CHECKSUM_LEN, Compressed, ENCRYPTED_MAGIC, EventHeader, EventType, FormatDescription,
    GtidEvent, Incident, MAGIC, MariadbGtidEvent, MariadbGtidList, PartialRowData, PreviousGtids,
    Query, Rotate, RowsEvent, RowsQuery, TableMap, TransactionPayload, XaPrepare, XidEvent,
};
use crate::error::{DecodeError, Error, ErrorKind, Result};
use crate::source::{InputFile, Payload, RawEvent, Window, event_body, verify_crc};
use crate::wire::Inflater;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// One event, in words.
#[derive(Debug, Clone)]
pub struct EventInfo {
    /// Name of the file.
    pub file: Arc<str>,
    /// Offset in the file; that of the Transaction_payload event for the events in it.
    pub offset: u64,
    /// The header.
    pub header: EventHeader,
    /// What it says, in one line. Never a cell.
    pub info: String,
    /// Whether it stands in a Transaction_payload event.
    pub compressed: bool,
}

/// Walks files event by event.
pub struct EventList {
    files: VecDeque<InputFile>,
    open: Option<OpenFile>,
    verify_checksum: bool,
    start: Option<(String, u64)>,
    stop: Option<(String, u64)>,
    queue: VecDeque<EventInfo>,
    unpacked: Vec<u8>,
}

struct OpenFile {
    name: Arc<str>,
    label: Arc<str>,
    window: Window,
    format: Option<FormatDescription>,
    tables: HashMap<u64, String>,
}

impl EventList {
    /// A walk over `files` in log order.
    pub fn new(files: Vec<InputFile>, verify_checksum: bool) -> Self {
        Self {
            files: files.into(),
            open: None,
            verify_checksum,
            start: None,
            stop: None,
            queue: VecDeque::new(),
            unpacked: Vec::new(),
        }
    }

    /// Begins at an event's offset in one of the files, and ends before another's.
    pub fn between(
        mut self,
        start: Option<(String, u64)>,
        stop: Option<(String, u64)>,
    ) -> Result<Self> {
        for (name, _) in start.iter().chain(&stop) {
            if !self.files.iter().any(|file| *file.name == **name) {
                return Err(Error::config(format!("no file {name:?} among the input")));
            }
        }
        if let Some((name, _)) = &start {
            while self.files.front().is_some_and(|file| *file.name != **name) {
                self.files.pop_front();
            }
        }
        (self.start, self.stop) = (start, stop);
        Ok(self)
    }

    /// The next event; `None` at the end. A cut at the end of the last file ends the walk.
    pub fn next_event(&mut self) -> Result<Option<EventInfo>> {
        loop {
            if let Some(info) = self.queue.pop_front() {
                return Ok(Some(info));
            }
            let mut found = VecDeque::new();
            let more = self.advance(&mut |event| {
                found.push_back(EventInfo {
                    file: Arc::clone(event.file),
                    offset: event.offset,
                    header: *event.header,
                    info: describe(event)
                        .unwrap_or_else(|error| format!("cannot be read: {error}")),
                    compressed: event.compressed,
                });
                Ok(true)
            })?;
            if !more {
                return Ok(None);
            }
            self.queue = found;
        }
    }

    /// What `look` finds in the first Table_map event in which it finds something; `None` at the end. `go_on` is asked now
    /// and then; where it says no, the search ends with an error.
    pub fn find_table_map<T>(
        &mut self,
        mut look: impl FnMut(&FormatDescription, &[u8]) -> Result<Option<T>>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<T>> {
        let mut found = None;
        for number in 1_u64.. {
            let more = self.advance(&mut |event| {
                if event.header.event_type == EventType::TABLE_MAP && found.is_none() {
                    found = look(event.format, event.body)?;
                }
                Ok(found.is_none())
            })?;
            if !more || found.is_some() {
                break;
            }
            if number.is_multiple_of(ASK_EVERY) && !go_on() {
                return Err(Error::new(ErrorKind::Internal, "the search was interrupted"));
            }
        }
        Ok(found)
    }

    /// Shows the next event of the files to `visit`, and after a payload those in it. False at the end.
    fn advance(&mut self, visit: &mut dyn FnMut(&SeenEvent<'_>) -> Result<bool>) -> Result<bool> {
        if self.open.is_none() && !self.open_next()? {
            return Ok(false);
        }
        let Some(open) = &mut self.open else { return Ok(false) };
        let (name, label) = (Arc::clone(&open.name), Arc::clone(&open.label));
        let offset = open.window.offset();
        if self.stop.as_ref().is_some_and(|(file, stop)| **file == *name && offset >= *stop) {
            self.files.clear();
            self.open = None;
            return Ok(false);
        }
        let seen = open.see(offset, self.verify_checksum, &mut self.unpacked, visit);
        match seen.map_err(|error| error.in_file(&label))? {
            true => Ok(true),
            false => {
                self.open = None;
                self.advance(visit)
            }
        }
    }

    fn open_next(&mut self) -> Result<bool> {
        let Some(mut file) = self.files.pop_front() else { return Ok(false) };
        let (name, label) = (Arc::clone(&file.name), Arc::clone(&file.label));
        let mut window = Window::new(file.open()?, Arc::clone(&label), 0, CHUNK);
        match window.magic()? {
            MAGIC => {}
            ENCRYPTED_MAGIC => {
                return Err(Error::unsupported("the file is encrypted (binlog_encryption=ON)")
                    .in_file(&label));
            }
            _ => {
                let message = "not a binary log: the file does not start with fe 62 69 6e";
                return Err(Error::malformed(message).in_file(&label));
            }
        }
        let mut open = OpenFile { name, label, window, format: None, tables: HashMap::new() };
        if let Some((file, offset)) = &self.start
            && **file == *open.name
            && *offset > open.window.offset()
        {
            let first = open.window.offset();
            let label = Arc::clone(&open.label);
            open.see(first, false, &mut self.unpacked, &mut |_| Ok(true))
                .map_err(|error| error.in_file(&label))?;
            open.window.jump(*offset);
        }
        self.open = Some(open);
        Ok(true)
    }
}

/// An event as [`EventList`] sees it.
struct SeenEvent<'a> {
    file: &'a Arc<str>,
    offset: u64,
    header: &'a EventHeader,
    body: &'a [u8],
    format: &'a FormatDescription,
    tables: &'a HashMap<u64, String>,
    compressed: bool,
}

impl OpenFile {
    /// The event at `offset`; false at the end of the file.
    fn see(
        &mut self,
        offset: u64,
        verify_checksum: bool,
        unpacked: &mut Vec<u8>,
        visit: &mut dyn FnMut(&SeenEvent<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let RawEvent::Whole { header, at, len } = self.window.peek()? else { return Ok(false) };
        let located = |error: Error| error.at_event(offset, header.event_type.name());
        let event = self.window.event(at, len);
        if header.event_type == EventType::FORMAT_DESCRIPTION {
            let format = FormatDescription::decode(event).map_err(|error| located(error.into()))?;
            self.format = Some(format);
        }
        let Some(format) = &self.format else {
            return Err(located(Error::malformed(
                "the file does not begin with a format description",
            )));
        };
        if verify_checksum {
            verify_crc(event, format.checksum).map_err(located)?;
        }
        let body = match header.event_type {
            // Its checksum stands there even where the others have none.
            EventType::FORMAT_DESCRIPTION => event
                .get(EventHeader::LEN..event.len().saturating_sub(CHECKSUM_LEN))
                .unwrap_or_default(),
            _ => event_body(event, format.checksum).map_err(located)?,
        };
        let tables = &mut self.tables;
        let file = &self.name;
        learn_table(tables, &header, body, format);
        let seen =
            SeenEvent { file, offset, header: &header, body, format, tables, compressed: false };
        let go_on = visit(&seen).map_err(located)?;
        if go_on && header.event_type == EventType::TRANSACTION_PAYLOAD {
            let payload =
                TransactionPayload::decode(body).map_err(|error| located(error.into()))?;
            Payload::unpack(payload, unpacked)
                .and_then(|payload| {
                    payload.for_each(|inner, body, _| {
                        learn_table(tables, inner, body, format);
                        visit(&SeenEvent {
                            file,
                            offset,
                            header: inner,
                            body,
                            format,
                            tables,
                            compressed: true,
                        })
                    })
                })
                .map_err(located)?;
        }
        self.window.advance(len);
        self.window.take_if_large();
        Ok(true)
    }
}

fn learn_table(
    tables: &mut HashMap<u64, String>,
    header: &EventHeader,
    body: &[u8],
    format: &FormatDescription,
) {
    if header.event_type != EventType::TABLE_MAP {
        return;
    }
    if let Ok(map) = TableMap::decode(body, format.table_id_width(header.event_type)) {
        let name = format!(
            "{}.{}",
            String::from_utf8_lossy(map.database),
            String::from_utf8_lossy(map.table)
        );
        tables.insert(map.table_id, name);
    }
}

/// What an event says, in one line.
fn describe(event: &SeenEvent<'_>) -> Result<String, DecodeError> {
    use EventType as E;
    let body = event.body;
    Ok(match event.header.event_type {
        E::FORMAT_DESCRIPTION => format!(
            "server {}, checksum {:?}{}",
            event.format.server_version,
            event.format.checksum,
            if event.format.in_use { ", in use or not closed properly" } else { "" }
        ),
        E::ROTATE => {
            let rotate = Rotate::decode(body)?;
            format!("{};pos={}", rotate.file, rotate.position)
        }
        E::PREVIOUS_GTIDS => PreviousGtids::decode(body)?.gtid_set.to_string(),
        E::MARIADB_GTID_LIST => MariadbGtidList::decode(body)?.position().to_string(),
        E::GTID => gtid(GtidEvent::decode(body)?),
        E::GTID_TAGGED => gtid(GtidEvent::decode_tagged(body)?),
        E::ANONYMOUS_GTID => gtid(GtidEvent::decode_anonymous(body)?),
        E::MARIADB_GTID => {
            let decoded = MariadbGtidEvent::decode(body)?;
            let gtid = decoded.gtid(event.header.server_id);
            format!("{gtid}{}", if decoded.is_standalone() { " standalone" } else { "" })
        }
        E::QUERY | E::MARIADB_QUERY_COMPRESSED => {
            let mut inflater = Inflater::default();
            let query = Query::decode(body)?.inflate(event.header.event_type, &mut inflater)?;
            let database = String::from_utf8_lossy(query.database);
            let sql = String::from_utf8_lossy(query.sql);
            match database.is_empty() {
                true => sql.into_owned(),
                false => format!("use `{database}`; {sql}"),
            }
        }
        E::XID => format!("COMMIT /* xid={} */", XidEvent::decode(body)?.xid),
        E::XA_PREPARE => {
            let event = XaPrepare::decode(body)?;
            format!("XA PREPARE {}{}", event.xid, if event.one_phase { " ONE PHASE" } else { "" })
        }
        E::ROWS_QUERY => String::from_utf8_lossy(RowsQuery::decode(body)?.sql).into_owned(),
        E::MARIADB_ANNOTATE_ROWS => {
            String::from_utf8_lossy(RowsQuery::annotate(body).sql).into_owned()
        }
        E::TABLE_MAP => {
            let map = TableMap::decode(body, event.format.table_id_width(E::TABLE_MAP))?;
            let name = event.tables.get(&map.table_id).map_or("?", String::as_str);
            format!("table_id {} {name}, {} columns", map.table_id, map.types.len())
        }
        E::TRANSACTION_PAYLOAD => {
            let payload = TransactionPayload::decode(body)?;
            let size = payload.uncompressed_size.map_or("unknown".into(), |size| size.to_string());
            format!("{:?}, {} bytes, {size} unpacked", payload.compression, payload.payload.len())
        }
        E::MARIADB_PARTIAL_ROW_DATA => {
            let part = PartialRowData::decode(body)?;
            format!("fragment {} of {}, {} bytes", part.seq, part.total, part.chunk.len())
        }
        E::INCIDENT => format!("kind {}", Incident::decode(body)?.kind),
        event_type if event_type.is_rows() => {
            let width = event.format.table_id_width(event_type);
            let (table_id, flags) = crate::binlog::table_id_and_flags(body, width)?;
            let name = event.tables.get(&table_id).map_or("?", String::as_str);
            let end = if flags & crate::binlog::STMT_END != 0 { " STMT_END" } else { "" };
            match RowsEvent::decode(body, event_type, width) {
                Ok(rows) => {
                    let plain = match event_type.is_mariadb_compressed() {
                        true => format!(" ({} plain)", Compressed::decode(rows.rows)?.plain_len),
                        false => String::new(),
                    };
                    let len = rows.rows.len();
                    format!("table_id {table_id} {name}, {len} bytes of rows{plain}{end}")
                }
                Err(_) => format!("table_id {table_id} {name}{end}"),
            }
        }
        _ => String::new(),
    })
}

fn gtid(event: GtidEvent<'_>) -> String {
    let gtid = event.gtid().map_or("ANONYMOUS".into(), |gtid| gtid.to_string());
    match event.transaction_length {
        Some(length) => format!("{gtid}, transaction of {length} bytes"),
        None => gtid,
    }
}

const CHUNK: usize = 1 << 20;

/// Events between two questions whether to go on: milliseconds.
const ASK_EVERY: u64 = 16_384;
