//! The meaning of an event for transactions.

use super::logged_statement::LoggedStatement;
use crate::binlog::{
    EventHeader, EventType, FormatDescription, GtidEvent, Incident, MariadbGtidEvent,
    PartialRowData, Query, QueryKind, STMT_END, StatusVariable, XaPrepare, XidEvent,
    table_id_and_flags,
};
use crate::change::{LoggedGtid, TransactionEvent};
use crate::error::{Error, Result};
use crate::wire::Inflater;

/// The meaning of an event for a walk.
#[derive(Debug)]
pub(crate) enum Classified {
    /// It belongs to a group, or may belong to one.
    Group(TransactionEvent),
    /// Like `Group`, for a statement that does not control transactions.
    Statement(TransactionEvent, Box<LoggedStatement>),
    /// It describes the format of the events after it.
    FormatDescription,
    /// It names the next file.
    Rotate,
    /// The server was shut down properly.
    Stop,
    /// The GTIDs of the transactions before this file.
    PreviousGtids,
    /// MariaDB's last GTIDs before this file.
    MariadbGtidList,
}

impl Classified {
    /// The meaning for transactions; `None` for an event of a file.
    pub(crate) fn transaction_event(&self) -> Option<&TransactionEvent> {
        match self {
            Self::Group(event) | Self::Statement(event, _) => Some(event),
            _ => None,
        }
    }
}

/// Events that may be skipped although they cannot be decoded.
#[derive(Debug)]
pub(crate) struct Skips {
    /// Events with these codes.
    pub(crate) events: [bool; 256],
    /// Statements logged as text that may change rows.
    pub(crate) statements: bool,
}

impl Skips {
    /// No events are skipped.
    pub(crate) const NONE: Self = Self { events: [false; 256], statements: false };

    /// All events that cannot be decoded are skipped.
    pub(crate) const ALL: Self = Self { events: [true; 256], statements: true };

    pub(crate) fn new(events: &[u8], statements: bool) -> Self {
        let mut skips = Self { statements, ..Self::NONE };
        for code in events {
            if let Some(slot) = skips.events.get_mut(usize::from(*code)) {
                *slot = true;
            }
        }
        skips
    }
}

/// Classifies an event. `body` is the event without header and checksum.
pub(crate) fn classify(
    header: &EventHeader,
    body: &[u8],
    format: &FormatDescription,
    skips: &Skips,
) -> Result<Classified> {
    use EventType as E;
    let may_skip = skips.events.get(usize::from(header.event_type.0)).copied().unwrap_or(false);
    Ok(Classified::Group(match header.event_type {
        E::FORMAT_DESCRIPTION => return Ok(Classified::FormatDescription),
        E::ROTATE => return Ok(Classified::Rotate),
        E::STOP => return Ok(Classified::Stop),
        E::PREVIOUS_GTIDS => return Ok(Classified::PreviousGtids),
        E::MARIADB_GTID_LIST => return Ok(Classified::MariadbGtidList),
        E::GTID | E::ANONYMOUS_GTID | E::GTID_TAGGED | E::MARIADB_GTID => gtid(header, body)?,
        E::QUERY | E::MARIADB_QUERY_COMPRESSED => return query(header, body, format, skips),
        E::XID => TransactionEvent::Xid(XidEvent::decode(body)?.xid),
        E::XA_PREPARE => {
            let event = XaPrepare::decode(body)?;
            TransactionEvent::XaPrepare { xid: event.xid, one_phase: event.one_phase }
        }
        E::TABLE_MAP => TransactionEvent::TableMap,
        E::TRANSACTION_PAYLOAD => TransactionEvent::Payload,
        E::PRE_GA_WRITE_ROWS | E::PRE_GA_UPDATE_ROWS | E::PRE_GA_DELETE_ROWS => {
            return Err(Error::unsupported(
                "rows in the format of MySQL 5.1.5 to 5.1.17, which are not releases, are not decoded: \
                 let a later server replay the log, and read the log of that server",
            ));
        }
        event_type if event_type.is_rows() => {
            let (_, flags) = table_id_and_flags(body, format.table_id_width(event_type))?;
            TransactionEvent::Rows { statement_end: flags & STMT_END != 0 }
        }
        E::INCIDENT if !may_skip => {
            let incident = Incident::decode(body)?;
            return Err(Error::unsupported(format!(
                "the server logged an incident (kind {}): changes before this place are missing from the log",
                incident.kind
            )));
        }
        E::MARIADB_START_ENCRYPTION if starts_encryption(header) => {
            return Err(encrypted());
        }
        E::EXECUTE_LOAD_QUERY if skips.statements => {
            let query = Query::decode_load(body)?;
            let event = TransactionEvent::Skipped(query.thread_id);
            let statement = LoggedStatement::read(&query, format);
            return Ok(Classified::Statement(event, Box::new(statement)));
        }
        E::EXECUTE_LOAD_QUERY => return Err(logged_as_text("LOAD DATA")),
        E::MARIADB_PARTIAL_ROW_DATA => {
            let fragment = PartialRowData::decode(body)?;
            let statement_end = (fragment.seq == 1).then(|| ends_statement(&fragment, format));
            TransactionEvent::Fragment {
                seq: fragment.seq,
                total: fragment.total,
                statement_end: statement_end.transpose()?,
            }
        }
        E::START_V3 if !may_skip => return Err(no_format(E::START_V3)),
        event_type if is_known(event_type) || header.has(EventHeader::IGNORABLE) || may_skip => {
            TransactionEvent::Other
        }
        event_type => {
            return Err(Error::unsupported(format!(
                "an event of unknown type {}; ⟦skip_events=[{}]⟧ skips such events",
                event_type.0, event_type.0
            )));
        }
    }))
}

/// The beginning of a transaction: an event with its GTID, or without one.
pub(super) fn gtid(header: &EventHeader, body: &[u8]) -> Result<TransactionEvent> {
    if header.event_type == EventType::MARIADB_GTID {
        let event = MariadbGtidEvent::decode(body)?;
        return Ok(TransactionEvent::Gtid {
            gtid: Some(LoggedGtid::Mariadb(event.gtid(header.server_id))),
            begins: !event.is_standalone(),
            commit_timestamp: None,
            original_commit_timestamp: None,
            thread_id: event.thread_id,
            without_effect: event.start_alter || event.rollback_alter,
        });
    }
    let event = match header.event_type {
        EventType::GTID => GtidEvent::decode(body)?,
        EventType::GTID_TAGGED => GtidEvent::decode_tagged(body)?,
        _ => GtidEvent::decode_anonymous(body)?,
    };
    Ok(TransactionEvent::Gtid {
        gtid: event.gtid().map(LoggedGtid::Mysql),
        begins: false,
        commit_timestamp: event.immediate_commit_us.and_then(|us| i64::try_from(us).ok()),
        original_commit_timestamp: event.original_commit_us.and_then(|us| i64::try_from(us).ok()),
        thread_id: None,
        without_effect: false,
    })
}

/// A statement, which controls transactions, or changes no rows, or may be skipped.
fn query(
    header: &EventHeader,
    body: &[u8],
    format: &FormatDescription,
    skips: &Skips,
) -> Result<Classified> {
    let mut inflater = Inflater::default();
    let query = Query::decode(body)?.inflate(header.event_type, &mut inflater)?;
    let kind = query.kind();
    if !matches!(kind, QueryKind::Other | QueryKind::CreateTableStartTransaction) {
        return Ok(Classified::Group(TransactionEvent::Query(kind, query.thread_id)));
    }
    let statement = LoggedStatement::read(&query, format);
    let event = if changes_no_rows(&statement, &query, format) {
        TransactionEvent::Query(kind, query.thread_id)
    } else if skips.statements {
        TransactionEvent::Skipped(query.thread_id)
    } else {
        return Err(logged_as_text("a statement that may change rows"));
    };
    Ok(Classified::Statement(event, Box::new(statement)))
}

/// The error for a file whose first event is not a format description.
pub(crate) fn no_format(first: EventType) -> Error {
    match first {
        EventType::START_V3 => {
            Error::unsupported("the file is of binary log version 3 or older (MySQL 4)")
        }
        _ => Error::malformed("the file does not begin with a format description"),
    }
}

/// True if the events after this one cannot be read. A server decrypts its file when it sends it,
/// and marks this event as one to ignore.
pub(crate) fn starts_encryption(header: &EventHeader) -> bool {
    header.event_type == EventType::MARIADB_START_ENCRYPTION && !header.has(EventHeader::IGNORABLE)
}

/// The error for an encrypted file.
pub(crate) fn encrypted() -> Error {
    Error::unsupported(
        "the file is encrypted (MariaDB's encrypt_binlog): read it from the server, which decrypts it, \
         or copy it with mariadb-binlog --read-from-remote-server --raw",
    )
}

/// True if the rows event that begins with this fragment is the last one of its statement.
pub(super) fn ends_statement(
    first: &PartialRowData<'_>,
    format: &FormatDescription,
) -> Result<bool> {
    let header = EventHeader::decode(first.chunk)?;
    if !header.event_type.is_rows() {
        return Err(Error::malformed("the fragments are those of an event without rows"));
    }
    let body = first.chunk.get(EventHeader::LEN..).unwrap_or_default();
    let (_, flags) = table_id_and_flags(body, format.table_id_width(header.event_type))?;
    Ok(flags & STMT_END != 0)
}

/// True if a statement cannot change rows.
fn changes_no_rows(
    statement: &LoggedStatement,
    query: &Query<'_>,
    format: &FormatDescription,
) -> bool {
    let LoggedStatement { parsed, text, .. } = statement;
    parsed.changes_no_rows()
        || parsed.deletes_all_of_one_table() && is_servers_own(text, query, format)
}

/// True if the server itself logged a DELETE of a complete table: a MEMORY table that its restart
/// has emptied. The event of a user's DELETE contains the databases that it changes. MariaDB's
/// events do not contain them, but from 10.5 on MariaDB logs a TRUNCATE instead.
fn is_servers_own(text: &str, query: &Query<'_>, format: &FormatDescription) -> bool {
    let mut variables = query.status_variables(format.is_mariadb);
    let names_databases = variables
        .any(|variable| matches!(variable, StatusVariable::UpdatedDatabases(_)))
        || variables.left() > 0;
    let is_marked = text.contains("/* generated by server");
    match format.is_mariadb {
        true => is_marked && format.version < (10, 5, 0),
        false => !names_databases && (is_marked || format.version >= (5, 6, 0)),
    }
}

/// The error for changes of rows without rows events in the log.
fn logged_as_text(what: &str) -> Error {
    Error::unsupported(format!(
        "{what} was logged as text, so the changed rows are not in the log: set binlog_format=ROW on the server, or \
         skip such statements with statements=skip"
    ))
}

/// True for events that contain nothing about rows or groups.
fn is_known(event_type: EventType) -> bool {
    use EventType as E;
    matches!(
        event_type,
        E::INTVAR
            | E::RAND
            | E::USER_VAR
            | E::APPEND_BLOCK
            | E::DELETE_FILE
            | E::BEGIN_LOAD_QUERY
            | E::INCIDENT
            | E::HEARTBEAT
            | E::HEARTBEAT_V2
            | E::IGNORABLE
            | E::ROWS_QUERY
            | E::TRANSACTION_CONTEXT
            | E::VIEW_CHANGE
            | E::MARIADB_ANNOTATE_ROWS
            | E::MARIADB_BINLOG_CHECKPOINT
            | E::START_V3
    )
}
