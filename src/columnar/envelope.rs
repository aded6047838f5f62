//! The columns that stand after a table's own: what happened, in which commit, in which order.
//!
//! Names and values are those of Delta Lake's change data feed.

use super::commit_details::{CommitDetails, DetailsBuilder, query_type};
use super::type_options::TypeOptions;
use crate::error::Error;
use arrow_array::{
    ArrayRef, BinaryArray, Int64Array, StringArray, TimestampMicrosecondArray, new_null_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use std::sync::Arc;

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
    /// `_binlog_file`, utf8: name of the file that the rows event stands in.
    BinlogFile,
    /// `_binlog_position`, int64: offset of the rows event (of the payload event around it).
    BinlogPosition,
    /// `_server_id`, int64: the server that wrote the event first.
    ServerId,
    /// `_gtid`, utf8: of the commit, as the server prints it.
    Gtid,
    /// `_original_commit_timestamp`, timestamp\[us, UTC\]: of the commit on the server that made the transaction.
    OriginalCommitTimestamp,
    /// `_thread_id`, int64: the connection that made the change.
    ThreadId,
    /// `_xid`, int64: the number of the Xid event that ends the transaction.
    Xid,
    /// `_query`, utf8: the statement that the rows come from.
    Query,
    /// `_present`, binary: a bit for each column of the table, least significant first, 1 where the image held it.
    Present,
    /// `_op`, utf8: `c`, `u` or `d`. It and the next two stand in the nested layout only, unasked.
    Op,
    /// `_present_before`, binary: [`Self::Present`] of the row before.
    PresentBefore,
    /// `_present_after`, binary: [`Self::Present`] of the row after.
    PresentAfter,
}

impl EnvelopeColumn {
    /// The four that stand where nothing else is asked for.
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

    /// By its name, with or without a leading underscore.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let bare = name.strip_prefix('_').unwrap_or(name);
        Self::ALL.into_iter().find(|column| column.name() == bare).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|column| column.name()).collect();
            Error::config(format!("no envelope column {name:?}; there are {}", names.join(", ")))
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

/// Which columns the envelope has, and how they are named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The columns in order.
    pub columns: Vec<EnvelopeColumn>,
    /// What stands before their names.
    pub prefix: String,
}

impl Default for Envelope {
    fn default() -> Self {
        Self { columns: EnvelopeColumn::DEFAULT.to_vec(), prefix: "_".into() }
    }
}

impl Envelope {
    /// The name of a column of it.
    pub fn column_name(&self, column: EnvelopeColumn) -> String {
        format!("{}{}", self.prefix, column.name())
    }

    /// Whether it has `_present`, of one side or of both.
    pub(super) fn wants_present(&self) -> bool {
        let is_present = |column: &EnvelopeColumn| {
            matches!(column, EnvelopeColumn::Present | EnvelopeColumn::PresentBefore)
        };
        self.columns.iter().any(is_present)
    }

    /// Their fields.
    pub(crate) fn fields(&self, types: &TypeOptions) -> impl Iterator<Item = Field> {
        self.columns
            .iter()
            .map(|column| Field::new(self.column_name(*column), column.data_type(types), true))
    }

    /// Whether it has `column`.
    pub fn has(&self, column: EnvelopeColumn) -> bool {
        self.columns.contains(&column)
    }
}

/// Whether each row has its own copy of `_query`.
const fn has_plain_query(types: &TypeOptions) -> bool {
    types.is_spark()
}

/// What all rows of one rows event share.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// `_commit_version`
    pub commit_version: i64,
    /// Microseconds since 1970 UTC.
    pub commit_timestamp: i64,
    /// Number of the rows event in its transaction, over all tables.
    pub rows_event: u32,
    /// The file's name.
    pub file: &'a str,
    /// Offset of the event.
    pub position: u64,
    /// The server that wrote it.
    pub server_id: u32,
    /// What is told where it is asked for.
    pub details: CommitDetails<'a>,
}

/// What happened to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ChangeType {
    Insert,
    UpdatePreimage,
    UpdatePostimage,
    Delete,
    /// Both rows of an update beside each other.
    Update,
}

impl ChangeType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::UpdatePreimage => "update_preimage",
            Self::UpdatePostimage => "update_postimage",
            Self::Delete => "delete",
            Self::Update => "update",
        }
    }

    /// Debezium's letter for it.
    const fn op(self) -> &'static str {
        match self {
            Self::Insert => "c",
            Self::Delete => "d",
            Self::UpdatePreimage | Self::UpdatePostimage | Self::Update => "u",
        }
    }

    /// Whether it tells of the row before.
    pub(super) const fn has_before(self) -> bool {
        matches!(self, Self::UpdatePreimage | Self::Delete | Self::Update)
    }

    /// Whether it tells of the row after.
    pub(super) const fn has_after(self) -> bool {
        matches!(self, Self::Insert | Self::UpdatePostimage | Self::Update)
    }
}

/// The envelope's values under construction: a value a row where rows differ, a run an event where they do not.
#[derive(Default)]
pub(super) struct EnvelopeBuilder {
    change_types: Vec<ChangeType>,
    ordinals: Vec<i64>,
    events: Vec<EventRun>,
    present: Vec<u8>,
    files: Vec<Arc<str>>,
    /// Where columns of it are asked for.
    details: Option<DetailsBuilder>,
}

struct EventRun {
    end_row: usize,
    commit_version: i64,
    commit_timestamp: i64,
    position: i64,
    server_id: i64,
    file: usize,
}

impl EnvelopeBuilder {
    pub(super) fn new(envelope: &Envelope, types: &TypeOptions) -> Self {
        let has_details = envelope.columns.iter().any(|column| column.is_detail());
        let details = has_details.then(|| DetailsBuilder::new(has_plain_query(types)));
        Self { details, ..Self::default() }
    }

    pub(super) fn rows(&self) -> usize {
        self.change_types.len()
    }

    #[inline]
    pub(super) fn append(&mut self, change_type: ChangeType, ordinal: i64) {
        self.change_types.push(change_type);
        self.ordinals.push(ordinal);
    }

    /// The columns that the next row's image holds, or both of its images; called for each row where `_present` is asked for.
    pub(super) fn append_present(&mut self, bitmap: impl Iterator<Item = u8>) {
        self.present.extend(bitmap);
    }

    /// The number of a row of the batch in its rows event, from 0.
    pub(super) fn row_in_event(&self, row: usize) -> u64 {
        let ordinal = self.ordinals.get(row).copied().unwrap_or(0);
        (ordinal as u64 & u64::from(u32::MAX)) / 2
    }

    /// Whether a row and the one before it are of one update.
    pub(super) fn is_second_half(&self, row: usize) -> bool {
        let ordinal = |row: usize| self.ordinals.get(row).copied();
        let before = row.checked_sub(1).and_then(ordinal);
        ordinal(row).is_some_and(|here| here % 2 == 1 && before == Some(here - 1))
    }

    /// Turns the last two rows, an update, into a delete and an insert.
    #[inline]
    pub(super) fn split_update(&mut self) {
        if let [.., before, after] = self.change_types.as_mut_slice() {
            (*before, *after) = (ChangeType::Delete, ChangeType::Insert);
        }
    }

    /// All rows since the last call came from one event. Gives how many bytes its texts take.
    pub(super) fn end_event(&mut self, stamp: &Stamp<'_>) -> Result<usize, Error> {
        let end_row = self.rows();
        let bytes = match &mut self.details {
            Some(details) => details.end_event(end_row, &stamp.details)?,
            None => 0,
        };
        if self.files.last().is_none_or(|file| **file != *stamp.file) {
            self.files.push(stamp.file.into());
        }
        self.events.push(EventRun {
            end_row,
            commit_version: stamp.commit_version,
            commit_timestamp: stamp.commit_timestamp,
            position: stamp.position as i64,
            server_id: i64::from(stamp.server_id),
            file: self.files.len() - 1,
        });
        Ok(bytes)
    }

    /// Forgets the rows of an event that broke.
    pub(super) fn truncate(&mut self, rows: usize, present_width: usize) {
        self.change_types.truncate(rows);
        self.ordinals.truncate(rows);
        self.present.truncate(rows * present_width);
    }

    pub(super) fn finish(
        &mut self,
        envelope: &Envelope,
        present_width: usize,
    ) -> Result<Vec<ArrayRef>, Error> {
        let rows = self.rows();
        let arrays = envelope
            .columns
            .iter()
            .map(|column| -> Result<ArrayRef, Error> {
                Ok(match column {
                    EnvelopeColumn::ChangeType => Arc::new(self.words(ChangeType::as_str)),
                    EnvelopeColumn::Op => Arc::new(self.words(ChangeType::op)),
                    EnvelopeColumn::CommitVersion => {
                        Arc::new(Int64Array::from(self.runs(rows, |run| run.commit_version)))
                    }
                    EnvelopeColumn::CommitTimestamp => {
                        let times = self.runs(rows, |run| run.commit_timestamp);
                        Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC"))
                    }
                    EnvelopeColumn::ChangeOrdinal => {
                        Arc::new(Int64Array::from(self.ordinals.clone()))
                    }
                    EnvelopeColumn::BinlogFile => Arc::new(self.file_array()),
                    EnvelopeColumn::BinlogPosition => {
                        Arc::new(Int64Array::from(self.runs(rows, |run| run.position)))
                    }
                    EnvelopeColumn::ServerId => {
                        Arc::new(Int64Array::from(self.runs(rows, |run| run.server_id)))
                    }
                    EnvelopeColumn::Present => Arc::new(self.present_array(present_width)),
                    EnvelopeColumn::PresentBefore => {
                        Arc::new(self.present_side(present_width, 0, ChangeType::has_before))
                    }
                    EnvelopeColumn::PresentAfter => {
                        Arc::new(self.present_side(present_width, 1, ChangeType::has_after))
                    }
                    detail => match &self.details {
                        Some(details) => details.column(*detail, rows)?,
                        None => new_null_array(&DataType::Int64, rows),
                    },
                })
            })
            .collect();
        self.change_types.clear();
        self.ordinals.clear();
        self.events.clear();
        self.present.clear();
        self.files.clear();
        if let Some(details) = &mut self.details {
            details.clear();
        }
        arrays
    }

    /// In which rows of the batch a side is there.
    pub(super) fn validity(&self, is_there: impl Fn(ChangeType) -> bool) -> NullBuffer {
        self.change_types.iter().map(|change_type| is_there(*change_type)).collect()
    }

    fn runs(&self, rows: usize, value: impl Fn(&EventRun) -> i64) -> Vec<i64> {
        let mut values = Vec::with_capacity(rows);
        for run in &self.events {
            values.resize(run.end_row, value(run));
        }
        values
    }

    fn words(&self, word: impl Fn(ChangeType) -> &'static str) -> StringArray {
        let words = self.change_types.iter().map(|change_type| word(*change_type));
        let mut offsets = Vec::with_capacity(self.rows() + 1);
        let mut text = Vec::with_capacity(self.rows() * "update_postimage".len());
        offsets.push(0);
        for word in words {
            text.extend_from_slice(word.as_bytes());
            offsets.push(text.len() as i32);
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        StringArray::new(offsets, Buffer::from_vec(text), None)
    }

    fn file_array(&self) -> StringArray {
        let mut start = 0;
        let names = self.events.iter().flat_map(|run| {
            let count = run.end_row - start;
            start = run.end_row;
            std::iter::repeat_n(self.files.get(run.file).map_or("", AsRef::as_ref), count)
        });
        StringArray::from_iter_values(names)
    }

    /// One side of `_present`, where each row has as many bytes for before as for after.
    fn present_side(
        &self,
        width: usize,
        side: usize,
        is_there: impl Fn(ChangeType) -> bool,
    ) -> BinaryArray {
        let rows = self.present.chunks(width.max(1)).zip(&self.change_types);
        let bytes = rows.map(|(row, change_type)| {
            let bytes = row.chunks((width / 2).max(1)).nth(side).unwrap_or_default();
            is_there(*change_type).then_some(bytes)
        });
        BinaryArray::from_iter(bytes)
    }

    fn present_array(&self, width: usize) -> BinaryArray {
        BinaryArray::from_iter_values(self.present.chunks(width.max(1)))
    }
}
