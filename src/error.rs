//! Errors and their places.
//!
//! Codecs return [`DecodeError`]: a small value that describes what is wrong with the bytes, but
//! does not know where the bytes come from. The layer that knows the place converts it to an
//! [`Error`], which contains the kind (one kind per next step of a caller), the file, the offset
//! and the event type. No message contains a value of a cell.

pub mod advice;
mod stored_version;

pub use stored_version::check_stored_version;

use std::fmt;
use std::sync::Arc;

/// The result of functions that know their place in the log.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why bytes cannot be decoded. Codecs return it; it contains no file name and no value
/// of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the field does.
    #[error("{what} needs {needed} more bytes, {left} are left")]
    UnexpectedEnd {
        /// The incomplete field.
        what: &'static str,
        /// The number of bytes that the field needs.
        needed: usize,
        /// The number of bytes that are left.
        left: usize,
    },
    /// Bytes are left where the structure should end.
    #[error("{bytes} bytes are left over after {what}")]
    LeftOver {
        /// The structure that should have used all bytes.
        what: &'static str,
        /// The number of bytes that are left.
        bytes: usize,
    },
    /// A field contains a value that the format does not allow.
    #[error("{what} is not valid: {value}")]
    Invalid {
        /// The field.
        what: &'static str,
        /// The value of the field (never the value of a cell).
        value: u64,
    },
    /// A length or count is above its limit.
    #[error("{what} is {value}, the limit is {limit}")]
    Limit {
        /// The field.
        what: &'static str,
        /// The number that was found.
        value: u64,
        /// The largest number that is accepted.
        limit: u64,
    },
    /// The bytes are valid but this version cannot decode them.
    #[error("{what} cannot be decoded (code {value})")]
    Unsupported {
        /// The part that is not decoded.
        what: &'static str,
        /// Its code in the format.
        value: u64,
    },
    /// Compressed bytes are damaged, or do not have the stated length.
    #[error("{what} cannot be decompressed")]
    Deflate {
        /// The compressed data.
        what: &'static str,
    },
    /// Text is not valid in its character set.
    #[error("{what} is not valid {charset} text")]
    Text {
        /// The field.
        what: &'static str,
        /// The character set that it should be in.
        charset: &'static str,
    },
    /// A change cannot be applied.
    #[error("a {what} does not apply: {why}")]
    DoesNotApply {
        /// The change.
        what: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// The log contains the changes of a document, but not the document before them.
    #[error(
        "the log contains only the changes of the document (binlog_row_value_options=PARTIAL_JSON), and the image of the row \
         before the change leaves the document out: set binlog_row_image=FULL on the server, or read the changes themselves, \
         with ⟦json=diff⟧"
    )]
    PartialWithoutBefore,
}

/// The next step that a caller can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or stream cannot be read.
    Io,
    /// The bytes break the format.
    Malformed,
    /// An event's CRC32 does not match its bytes.
    Checksum,
    /// The input is valid, but not something that this version decodes.
    Unsupported,
    /// The structure of a table is not known, or does not match.
    Schema,
    /// The caller requested something that is not possible.
    Config,
    /// A later version of this library has stored what is read.
    LaterVersion,
    /// The server does not accept the login.
    Authentication,
    /// No trusted TLS connection could be established.
    Tls,
    /// The server refuses a statement or a command.
    Server,
    /// The log after a position was purged.
    PositionPurged,
    /// The server is not the one that a position is from, or another reader uses the same server
    /// id.
    ServerIdentity,
    /// The server does not have all transactions yet that were read from another server.
    ServerLag,
    /// The connection could not be established, or was lost.
    ConnectionLost,
    /// The work was cancelled: an interrupt, or its reader or server was closed.
    Cancelled,
    /// A defect of this library.
    Internal,
}

/// An error with its place: kind, message, and, if known, file, offset and event type.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<Arc<str>>,
    offset: Option<u64>,
    event: Option<&'static str>,
    table: Option<(String, String)>,
    server: Option<(u16, String)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error of this kind with this message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            file: None,
            offset: None,
            event: None,
            table: None,
            server: None,
            source: None,
        }))
    }

    /// Creates an error for a request that is not possible.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    /// Creates an error for bytes that break the format.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    /// Creates an error for the structure of a table that is not known, or does not match.
    pub fn schema(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Schema, message)
    }

    /// Creates an error for valid input that this version does not decode.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Creates an error for cancelled work.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled, because the reader or the server is closed")
    }

    /// Creates an error for a file or stream that cannot be read.
    pub fn io(message: impl Into<String>, source: std::io::Error) -> Self {
        let mut error = Self::new(ErrorKind::Io, format!("{}: {source}", message.into()));
        error.0.source = Some(Box::new(source));
        error
    }

    /// Changes the kind.
    #[must_use]
    pub(crate) fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Creates an error for a failed read: an error of this library that caused it, or the system's
    /// error.
    pub(crate) fn of_read(offset: u64, error: std::io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(error) => Self::io(format!("cannot read at offset {offset}"), error),
        }
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub(crate) fn with_source(
        mut self,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// Adds the server's error number and SQLSTATE.
    #[must_use]
    pub(crate) fn with_server_code(mut self, code: u16, sqlstate: String) -> Self {
        self.0.server = Some((code, sqlstate));
        self
    }

    /// Adds the file, unless an inner layer has added one.
    #[must_use]
    pub fn in_file(mut self, file: &Arc<str>) -> Self {
        self.0.file.get_or_insert_with(|| Arc::clone(file));
        self
    }

    /// Adds the event's offset in its file and its type, unless an inner layer has added them.
    #[must_use]
    pub fn at_event(mut self, offset: u64, event: &'static str) -> Self {
        self.0.offset.get_or_insert(offset);
        self.0.event.get_or_insert(event);
        self
    }

    /// Notes that the error concerns only this table, unless an inner layer has noted one: a read without the table does not
    /// have this error.
    #[must_use]
    pub fn of_table(mut self, database: &str, table: &str) -> Self {
        if !matches!(self.0.kind, ErrorKind::Internal | ErrorKind::Cancelled) {
            self.0.table.get_or_insert_with(|| (database.to_owned(), table.to_owned()));
        }
        self
    }

    /// Puts `context` before the message, for example the table and column.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// Appends advice to the message: the next step.
    #[must_use]
    pub fn advise(mut self, advice: impl fmt::Display) -> Self {
        self.0.message = format!("{}: {advice}", self.0.message);
        self
    }

    /// True if a file does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        let source =
            self.0.source.as_ref().and_then(|source| source.downcast_ref::<std::io::Error>());
        source.is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }

    /// The kind, which determines the next step of a caller.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without the place. It marks options: see [`advice`].
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The message with the place. It marks options, for a message that contains it.
    pub fn marked(&self) -> String {
        format!("{}{}", self.message(), self.place())
    }

    /// The place as the end of a message: ` (in Table_map, at offset 4 of binlog.000001)`; empty if it is not known.
    pub fn place(&self) -> String {
        let event = self.0.event.map(|event| format!("in {event}"));
        let offset = self.0.offset.map(|offset| format!("at offset {offset}"));
        let file = self.0.file.as_ref().map(|file| format!("of {file}"));
        let parts: Vec<String> = [event, offset, file].into_iter().flatten().collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!(" ({})", parts.join(", ")),
        }
    }

    /// The file that contains the bytes.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The offset of the event in its file.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The documented name of the event type.
    pub fn event(&self) -> Option<&'static str> {
        self.0.event
    }

    /// The database and the name of the only table that the error concerns.
    pub fn table(&self) -> Option<(&str, &str)> {
        self.0.table.as_ref().map(|(database, table)| (database.as_str(), table.as_str()))
    }

    /// The server's error number, if the error comes from a server.
    pub fn server_code(&self) -> Option<u16> {
        self.0.server.as_ref().map(|(code, _)| *code)
    }

    /// The server's SQLSTATE, if the error comes from a server; empty if the server sent none.
    pub fn sqlstate(&self) -> Option<&str> {
        self.0.server.as_ref().map(|(_, sqlstate)| sqlstate.as_str())
    }

    /// The system's error that caused an [`ErrorKind::Io`].
    pub fn io_error(&self) -> Option<&std::io::Error> {
        self.0.source.as_ref()?.downcast_ref()
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        let kind = match error {
            DecodeError::Unsupported { .. } | DecodeError::PartialWithoutBefore => {
                ErrorKind::Unsupported
            }
            _ => ErrorKind::Malformed,
        };
        Self::new(kind, error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&advice::in_python(&self.0.message))?;
        f.write_str(&self.place())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
