//! One event as text.

use super::event_options::{EventListOptions, EventPlace};
use super::statement::head;
use super::table_metadata::table_metadata;
use crate::binlog::{
    Compressed, EventHeader, EventType, FormatDescription, GtidEvent, Incident, MariadbGtidEvent,
    MariadbGtidList, PartialRowData, PreviousGtids, Query, QueryKind, Rotate, RowsEvent, RowsQuery,
    STMT_END, TableMap, TransactionPayload, XaPrepare, XidEvent, table_id_and_flags,
};
use crate::error::DecodeError;
use crate::schema::full_name;
use crate::wire::Inflater;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// One event as text.
#[derive(Clone)]
pub struct EventInfo {
    /// The name of the file.
    pub file: Arc<str>,
    /// Offset in the file; that of the Transaction_payload event for the events in it.
    pub offset: u64,
    /// The header.
    pub header: EventHeader,
    /// Its contents in one line: never a cell, unless complete statements were requested.
    pub info: String,
    /// `database.table` of a Table_map or rows event.
    pub table: Option<Arc<str>>,
    /// The connection that wrote it, if the event contains it.
    pub thread_id: Option<u32>,
    /// True if it is in a Transaction_payload event.
    pub compressed: bool,
    /// The columns and the key of a Table_map event, if requested.
    pub table_metadata: Option<String>,
    /// Its bytes, including header and checksum, if requested.
    pub data: Option<Vec<u8>>,
}

impl fmt::Debug for EventInfo {
    /// Writes the place of the event, never a part that may contain a value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}:{}", self.header.event_type, self.file, self.offset)
    }
}

/// An event and its place.
pub(super) struct SeenEvent<'a> {
    pub(super) file: &'a Arc<str>,
    pub(super) offset: u64,
    pub(super) header: &'a EventHeader,
    pub(super) bytes: &'a [u8],
    pub(super) body: &'a [u8],
    pub(super) format: &'a FormatDescription,
    pub(super) tables: &'a HashMap<u64, TableName>,
    pub(super) compressed: bool,
}

/// The name of a table in its Table_map event.
pub(super) struct TableName {
    pub(super) database: String,
    pub(super) table: String,
    full: Arc<str>,
}

impl TableName {
    pub(super) fn of(map: &TableMap<'_>) -> Self {
        let database = String::from_utf8_lossy(map.database).into_owned();
        let table = String::from_utf8_lossy(map.table).into_owned();
        let full = full_name(&database, &table).into();
        Self { database, table, full }
    }

    pub(super) fn is_of(&self, map: &TableMap<'_>) -> bool {
        self.database.as_bytes() == map.database && self.table.as_bytes() == map.table
    }
}

impl SeenEvent<'_> {
    /// True if the server wrote it at `time` or later; artificial events have no time.
    pub(super) fn is_since(&self, time: i64) -> bool {
        self.header.timestamp != 0 && i64::from(self.header.timestamp) >= time
    }

    /// The table of a Table_map or rows event; `None` if no Table_map event of the log names it.
    pub(super) fn table(&self) -> Option<&TableName> {
        let event_type = self.header.event_type;
        if event_type != EventType::TABLE_MAP && !event_type.is_rows() {
            return None;
        }
        let width = self.format.table_id_width(event_type);
        self.tables.get(&table_id_and_flags(self.body, width).ok()?.0)
    }

    /// True if this event is after all events to show.
    pub(super) fn is_after(&self, options: &EventListOptions) -> bool {
        match &options.stop {
            None => false,
            Some(EventPlace::At(file, offset)) => **self.file == **file && self.offset >= *offset,
            Some(EventPlace::Time(time)) => !self.compressed && self.is_since(*time),
        }
    }

    /// True if the event is of the selected types and tables.
    pub(super) fn is_wanted(&self, options: &EventListOptions) -> bool {
        options.types.as_ref().is_none_or(|types| types.accepts(self.header.event_type))
            && options.tables.as_ref().is_none_or(|tables| {
                self.table().is_some_and(|name| tables.accepts(&name.database, &name.table))
            })
    }

    /// The properties that the options request.
    pub(super) fn info(&self, options: &EventListOptions) -> EventInfo {
        let is_map = self.header.event_type == EventType::TABLE_MAP;
        EventInfo {
            file: Arc::clone(self.file),
            offset: self.offset,
            header: *self.header,
            info: self
                .describe(options.queries)
                .unwrap_or_else(|error| format!("cannot be read: {error}")),
            table: self.table().map(|name| Arc::clone(&name.full)),
            thread_id: self.thread_id(),
            compressed: self.compressed,
            table_metadata: (options.table_metadata && is_map).then(|| {
                table_metadata(self.body, self.format)
                    .unwrap_or_else(|error| format!("# Columns cannot be read: {error}\n"))
            }),
            data: options.data.then(|| self.bytes.to_vec()),
        }
    }

    /// The connection that wrote a statement or a transaction.
    fn thread_id(&self) -> Option<u32> {
        use EventType as E;
        match self.header.event_type {
            E::QUERY | E::MARIADB_QUERY_COMPRESSED => {
                Some(Query::decode(self.body).ok()?.thread_id)
            }
            E::MARIADB_GTID => MariadbGtidEvent::decode(self.body).ok()?.thread_id,
            _ => None,
        }
    }

    /// Describes the event in one line; statements are complete if `queries` is true.
    fn describe(&self, queries: bool) -> Result<String, DecodeError> {
        use EventType as E;
        let body = self.body;
        let table = || self.table().map_or("?", |name| &*name.full);
        let statement = |sql: &[u8]| match queries {
            true => String::from_utf8_lossy(sql).into_owned(),
            false => head(sql),
        };
        Ok(match self.header.event_type {
            E::FORMAT_DESCRIPTION => format!(
                "server {}, checksum {:?}{}",
                self.format.server_version,
                self.format.checksum,
                if self.format.in_use { ", in use or not closed properly" } else { "" }
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
                let gtid = decoded.gtid(self.header.server_id);
                format!("{gtid}{}", if decoded.is_standalone() { " standalone" } else { "" })
            }
            E::QUERY | E::MARIADB_QUERY_COMPRESSED => {
                let mut inflater = Inflater::default();
                let query = Query::decode(body)?.inflate(self.header.event_type, &mut inflater)?;
                let database = String::from_utf8_lossy(query.database);
                let text = query.text();
                let sql = match query.kind() {
                    QueryKind::Other | QueryKind::CreateTableStartTransaction => {
                        statement(text.as_bytes())
                    }
                    _ => text.into_owned(),
                };
                match database.is_empty() {
                    true => sql,
                    false => format!("use `{database}`; {sql}"),
                }
            }
            E::XID => format!("COMMIT /* xid={} */", XidEvent::decode(body)?.xid),
            E::XA_PREPARE => {
                let event = XaPrepare::decode(body)?;
                let end = if event.one_phase { " ONE PHASE" } else { "" };
                format!("XA PREPARE {}{end}", event.xid)
            }
            E::ROWS_QUERY => statement(RowsQuery::decode(body)?.sql),
            E::MARIADB_ANNOTATE_ROWS => statement(RowsQuery::annotate(body).sql),
            E::TABLE_MAP => {
                let map = TableMap::decode(body, self.format.table_id_width(E::TABLE_MAP))?;
                format!("table_id {} {}, {} columns", map.table_id, table(), map.types.len())
            }
            E::TRANSACTION_PAYLOAD => {
                let payload = TransactionPayload::decode(body)?;
                let unpacked = payload.uncompressed_size;
                let size = unpacked.map_or("unknown".into(), |size| size.to_string());
                let packed = payload.payload.len();
                format!("{:?}, {packed} bytes, {size} unpacked", payload.compression)
            }
            E::MARIADB_PARTIAL_ROW_DATA => {
                let part = PartialRowData::decode(body)?;
                format!("fragment {} of {}, {} bytes", part.seq, part.total, part.chunk.len())
            }
            E::INCIDENT => format!("kind {}", Incident::decode(body)?.kind),
            event_type if event_type.is_rows() => {
                let width = self.format.table_id_width(event_type);
                let (table_id, flags) = table_id_and_flags(body, width)?;
                let end = if flags & STMT_END != 0 { " STMT_END" } else { "" };
                match RowsEvent::decode(body, event_type, width) {
                    Ok(rows) => {
                        let plain = match event_type.is_mariadb_compressed() {
                            true => {
                                format!(" ({} plain)", Compressed::decode(rows.rows)?.plain_len)
                            }
                            false => String::new(),
                        };
                        let len = rows.rows.len();
                        format!("table_id {table_id} {}, {len} bytes of rows{plain}{end}", table())
                    }
                    Err(_) => format!("table_id {table_id} {}{end}", table()),
                }
            }
            _ => String::new(),
        })
    }
}

fn gtid(event: GtidEvent<'_>) -> String {
    let gtid = event.gtid().map_or("ANONYMOUS".into(), |gtid| gtid.to_string());
    match event.transaction_length {
        Some(length) => format!("{gtid}, transaction of {length} bytes"),
        None => gtid,
    }
}
