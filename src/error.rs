//! What can go wrong, and where.
//!
//! Codecs return [`DecodeError`]: a small value that says what is wrong with the bytes, without knowing where the
//! bytes come from. The layer that knows the place turns it into an [`Error`], which carries the kind (one a next step that
//! a caller can take), the file, the offset and the event type. No message holds a cell value.

pub mod advice;

use std::fmt;
use std::sync::Arc;

/// The result of everything that knows its place in the log.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong with a run of bytes. Codecs return it; it names no file and holds no value of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the field does.
    #[error("{what} needs {needed} more bytes, {left} are left")]
    UnexpectedEnd {
        /// The field that is cut.
        what: &'static str,
        /// Bytes that the field needs.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// Bytes are left where the structure should end.
    #[error("{bytes} bytes are left over after {what}")]
    LeftOver {
        /// The structure that should have used them up.
        what: &'static str,
        /// How many are left.
        bytes: usize,
    },
    /// A field holds something that the format does not allow.
    #[error("{what} is not valid: {value}")]
    Invalid {
        /// The field.
        what: &'static str,
        /// The number that was found (never a cell's).
        value: u64,
    },
    /// A length or count is beyond the limit that stands for it.
    #[error("{what} is {value}, the limit is {limit}")]
    Limit {
        /// The field.
        what: &'static str,
        /// The number that was found.
        value: u64,
        /// The largest that is accepted.
        limit: u64,
    },
    /// The bytes are valid but this version cannot decode them.
    #[error("{what} cannot be decoded (code {value})")]
    Unsupported {
        /// The thing that is not decoded.
        what: &'static str,
        /// Its code in the format.
        value: u64,
    },
    /// Compressed bytes are damaged, or are not what their length says.
    #[error("{what} cannot be decompressed")]
    Deflate {
        /// What is compressed.
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
    /// A change that does not fit what it changes.
    #[error("a {what} does not apply: {why}")]
    DoesNotApply {
        /// The change.
        what: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// A document of which the log tells what changed, but not what it was.
    #[error(
        "the log holds only what changed in the document (binlog_row_value_options=PARTIAL_JSON), and the image of the row \
         before the change leaves the document out: set binlog_row_image=FULL on the server, or take the changes themselves, \
         with ⟦json=diff⟧"
    )]
    PartialWithoutBefore,
}

/// The next step that a caller can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or stream could not be read.
    Io,
    /// The bytes break the format.
    Malformed,
    /// An event's CRC32 does not match its bytes.
    Checksum,
    /// The input is valid, but not something that this version decodes.
    Unsupported,
    /// The structure of a table is not known, or does not fit.
    Schema,
    /// The caller asked for something that cannot be.
    Config,
    /// The server does not let the user in.
    Authentication,
    /// No TLS connection that may be trusted.
    Tls,
    /// The server refuses a statement or a command.
    Server,
    /// The log no longer has what comes after a position.
    PositionPurged,
    /// The server is not the one that a position is of, or another reader has our id.
    ServerIdentity,
    /// The server has not got all yet that was read at another one.
    ServerBehind,
    /// The connection could not be made, or is gone.
    ConnectionLost,
    /// The work was cancelled: an interrupt, or its reader or server was closed.
    Cancelled,
    /// A defect of this library.
    Internal,
}

/// An error with its place: kind, message, and where known file, offset and event type.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<Arc<str>>,
    offset: Option<u64>,
    event: Option<&'static str>,
    server: Option<(u16, String)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` that says `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            file: None,
            offset: None,
            event: None,
            server: None,
            source: None,
        }))
    }

    /// The caller asked for something that cannot be.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    /// The bytes break the format.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    /// The structure of a table is not known, or does not fit.
    pub fn schema(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Schema, message)
    }

    /// Valid input that this version does not decode.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// The work was cancelled.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled, because the reader or the server is closed")
    }

    /// A file or stream could not be read.
    pub fn io(message: impl Into<String>, source: std::io::Error) -> Self {
        let mut error = Self::new(ErrorKind::Io, format!("{}: {source}", message.into()));
        error.0.source = Some(Box::new(source));
        error
    }

    /// The same of another kind.
    #[must_use]
    pub(crate) fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// A read failed: the error of ours that is behind it, or the system's.
    pub(crate) fn of_read(offset: u64, error: std::io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(error) => Self::io(format!("cannot read at offset {offset}"), error),
        }
    }

    /// Names what is behind it.
    #[must_use]
    pub(crate) fn with_source(
        mut self,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// Names the server's own number for it, and its SQLSTATE.
    #[must_use]
    pub(crate) fn with_server_code(mut self, code: u16, sqlstate: String) -> Self {
        self.0.server = Some((code, sqlstate));
        self
    }

    /// Names the file, unless an inner layer did.
    #[must_use]
    pub fn in_file(mut self, file: &Arc<str>) -> Self {
        self.0.file.get_or_insert_with(|| Arc::clone(file));
        self
    }

    /// Names the event's offset in its file and its type, unless an inner layer did.
    #[must_use]
    pub fn at_event(mut self, offset: u64, event: &'static str) -> Self {
        self.0.offset.get_or_insert(offset);
        self.0.event.get_or_insert(event);
        self
    }

    /// Puts `context` before the message: the table and column, say.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// Puts `advice` behind the message: what to do.
    #[must_use]
    pub fn advise(mut self, advice: impl fmt::Display) -> Self {
        self.0.message = format!("{}: {advice}", self.0.message);
        self
    }

    /// Which next step a caller can take.
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

    /// The file that the bytes came from.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The offset of the event in its file.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The documented name of the event's type.
    pub fn event(&self) -> Option<&'static str> {
        self.0.event
    }

    /// The server's number for it, where it comes from a server.
    pub fn server_code(&self) -> Option<u16> {
        self.0.server.as_ref().map(|(code, _)| *code)
    }

    /// The server's SQLSTATE, where it comes from a server; empty where that sent none.
    pub fn sqlstate(&self) -> Option<&str> {
        self.0.server.as_ref().map(|(_, sqlstate)| sqlstate.as_str())
    }

    /// The system's error behind an [`ErrorKind::Io`].
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
