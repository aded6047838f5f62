//! The columns after the table's own columns: the change, its commit, and its order.
//!
//! Names and values are those of Delta Lake's change data feed.

use super::type_options::TypeOptions;
use crate::error::Error;
use arrow_schema::{DataType, Field, TimeUnit};

/// A column of the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EnvelopeColumn {
    /// `_change_type`, utf8: insert, update_preimage, update_postimage, delete.
    ChangeType,
    /// `_commit_version`, int64: file number × 2⁴⁰ + offset of the transaction's first event.
    CommitVersion,
    /// `_commit_timestamp`, timestamp\[us, UTC\].
    CommitTimestamp,
    /// `_change_ordinal`, int64: order within the transaction.
    ChangeOrdinal,
    /// `_binlog_file`, utf8: name of the file that contains the rows event.
    BinlogFile,
    /// `_binlog_position`, int64: offset of the rows event (of the payload event around it).
    BinlogPosition,
    /// `_server_id`, int64: the id of the server on which the event originated.
    ServerId,
    /// `_gtid`, utf8: the GTID of the commit, as the server prints it.
    Gtid,
    /// `_original_commit_timestamp`, timestamp\[us, UTC\]: the time of the commit on the server
    /// where the transaction was executed first.
    OriginalCommitTimestamp,
    /// `_thread_id`, int64: the connection that made the change.
    ThreadId,
    /// `_xid`, int64: the number of the Xid event that ends the transaction.
    Xid,
    /// `_query`, utf8: the statement that changed the rows.
    Query,
    /// `_present`, binary: one bit for each column of the table, least significant first; 1 if the
    /// image contained it.
    Present,
    /// `_op`, utf8: `c`, `u` or `d`. This column and the next two are in all batches of the nested
    /// layout, and in no others.
    Op,
    /// `_present_before`, binary: [`Self::Present`] of the row before the change.
    PresentBefore,
    /// `_present_after`, binary: [`Self::Present`] of the row after the change.
    PresentAfter,
}

impl EnvelopeColumn {
    /// The four columns that are the default.
    pub const DEFAULT: [Self; 4] =
        [Self::ChangeType, Self::CommitVersion, Self::CommitTimestamp, Self::ChangeOrdinal];

    pub(super) const ALL: [Self; 13] = [
        Self::ChangeType,
        Self::CommitVersion,
        Self::CommitTimestamp,
        Self::ChangeOrdinal,
        Self::BinlogFile,
        Self::BinlogPosition,
        Self::ServerId,
        Self::Gtid,
        Self::OriginalCommitTimestamp,
        Self::ThreadId,
        Self::Xid,
        Self::Query,
        Self::Present,
    ];

    /// The name without its prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChangeType => "change_type",
            Self::CommitVersion => "commit_version",
            Self::CommitTimestamp => "commit_timestamp",
            Self::ChangeOrdinal => "change_ordinal",
            Self::BinlogFile => "binlog_file",
            Self::BinlogPosition => "binlog_position",
            Self::ServerId => "server_id",
            Self::Gtid => "gtid",
            Self::OriginalCommitTimestamp => "original_commit_timestamp",
            Self::ThreadId => "thread_id",
            Self::Xid => "xid",
            Self::Query => "query",
            Self::Present => "present",
            Self::Op => "op",
            Self::PresentBefore => "present_before",
            Self::PresentAfter => "present_after",
        }
    }

    /// True if its values are details of the commit, which are built only if they are requested.
    pub const fn is_detail(self) -> bool {
        matches!(
            self,
            Self::Gtid | Self::OriginalCommitTimestamp | Self::ThreadId | Self::Xid | Self::Query
        )
    }

    /// Parses a name, with or without a leading underscore.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let bare = name.strip_prefix('_').unwrap_or(name);
        Self::ALL.into_iter().find(|column| column.name() == bare).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|column| column.name()).collect();
            Error::config(format!(
                "unknown envelope column {name:?}; use one of {}",
                names.join(", ")
            ))
        })
    }

    fn data_type(self, types: &TypeOptions) -> DataType {
        match self {
            Self::ChangeType | Self::Op | Self::BinlogFile | Self::Gtid => DataType::Utf8,
            Self::Query => query_type(has_plain_query(types)),
            Self::CommitTimestamp | Self::OriginalCommitTimestamp => {
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
            }
            Self::Present | Self::PresentBefore | Self::PresentAfter => DataType::Binary,
            _ => DataType::Int64,
        }
    }
}

/// The columns of the envelope, and their names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The columns in order.
    pub columns: Vec<EnvelopeColumn>,
    /// The prefix of their names.
    pub prefix: String,
}

impl Default for Envelope {
    fn default() -> Self {
        Self { columns: EnvelopeColumn::DEFAULT.to_vec(), prefix: "_".into() }
    }
}

impl Envelope {
    /// The name of one of its columns.
    pub fn column_name(&self, column: EnvelopeColumn) -> String {
        format!("{}{}", self.prefix, column.name())
    }

    /// True if it has `_present`, for one side or for both.
    pub(super) fn wants_present(&self) -> bool {
        let is_present = |column: &EnvelopeColumn| {
            matches!(column, EnvelopeColumn::Present | EnvelopeColumn::PresentBefore)
        };
        self.columns.iter().any(is_present)
    }

    /// The fields of its columns.
    pub(crate) fn fields(&self, types: &TypeOptions) -> impl Iterator<Item = Field> {
        self.columns
            .iter()
            .map(|column| Field::new(self.column_name(*column), column.data_type(types), true))
    }

    /// True if a column contains a position of the log.
    pub fn needs_position(&self) -> bool {
        use EnvelopeColumn as C;
        let of_position = [C::CommitVersion, C::BinlogFile, C::BinlogPosition];
        of_position.into_iter().any(|column| self.has(column))
    }

    /// True if it has `column`.
    pub fn has(&self, column: EnvelopeColumn) -> bool {
        self.columns.contains(&column)
    }
}

/// The type of `_query`. A statement may be as long as all of its rows together. A dictionary
/// contains it once, but Spark cannot read dictionaries.
pub(super) fn query_type(is_plain: bool) -> DataType {
    match is_plain {
        true => DataType::Utf8,
        false => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
    }
}

/// True if each row has its own copy of `_query`.
pub(super) const fn has_plain_query(types: &TypeOptions) -> bool {
    types.is_spark()
}
