//! The values of the envelope under construction.

use super::commit_details::{CommitDetails, DetailsBuilder};
use super::envelope::{Envelope, EnvelopeColumn, has_plain_query};
use super::row_images::ChangeImages;
use super::spare::SpareVectors;
use super::type_options::TypeOptions;
use crate::error::Error;
use arrow_array::{
    ArrayRef, BinaryArray, Int64Array, StringArray, TimestampMicrosecondArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use std::sync::Arc;

/// The values that all rows of one rows event share.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// `_commit_version`
    pub commit_version: i64,
    /// Microseconds since 1970 UTC.
    pub commit_timestamp: i64,
    /// `_change_ordinal` of the event's first row: of a row of the log, the number of the rows event in its
    /// transaction, counted over all tables, in the upper 32 bits.
    pub first_ordinal: i64,
    /// The file's name.
    pub file: &'a str,
    /// Offset of the event.
    pub position: u64,
    /// The id of the server that wrote it.
    pub server_id: u32,
    /// The details of the commit, as far as they are requested.
    pub details: CommitDetails<'a>,
}

/// The change of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ChangeType {
    Insert,
    UpdatePreimage,
    UpdatePostimage,
    Delete,
    /// An update with both of its rows in one row.
    Update,
}

impl ChangeType {
    /// Appends the word for the change. Each length is a constant, so that no call copies the bytes.
    #[inline]
    fn push_word(self, text: &mut Vec<u8>) {
        match self {
            Self::Insert => text.extend_from_slice(b"insert"),
            Self::UpdatePreimage => text.extend_from_slice(b"update_preimage"),
            Self::UpdatePostimage => text.extend_from_slice(b"update_postimage"),
            Self::Delete => text.extend_from_slice(b"delete"),
            Self::Update => text.extend_from_slice(b"update"),
        }
    }

    /// Appends Debezium's letter for the change.
    #[inline]
    fn push_op(self, text: &mut Vec<u8>) {
        text.push(match self {
            Self::Insert => b'c',
            Self::Delete => b'd',
            Self::UpdatePreimage | Self::UpdatePostimage | Self::Update => b'u',
        });
    }

    /// True if the row before the change exists.
    pub(super) const fn has_before(self) -> bool {
        matches!(self, Self::UpdatePreimage | Self::Delete | Self::Update)
    }

    /// True if the row after the change exists.
    pub(super) const fn has_after(self) -> bool {
        matches!(self, Self::Insert | Self::UpdatePostimage | Self::Update)
    }
}

/// The values of the envelope under construction: one value per row if rows can differ, otherwise
/// one run per event.
#[derive(Default)]
pub(super) struct EnvelopeBuilder {
    change_types: Vec<ChangeType>,
    ordinals: Vec<i64>,
    events: Vec<EventRun>,
    present: Vec<u8>,
    files: Vec<Arc<str>>,
    /// `None` if no column of details is requested.
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

    /// Appends several changes of one type. The first one has the ordinal `ordinal`.
    pub(super) fn append_run(&mut self, change_type: ChangeType, ordinal: i64, count: usize) {
        self.change_types.resize(self.change_types.len() + count, change_type);
        self.ordinals.extend((0..count as i64).map(|number| ordinal + 2 * number));
    }

    /// Appends the columns that the next row's image contains, or those of both images. Called for
    /// each row if `_present` is requested.
    pub(super) fn append_present(&mut self, bitmap: impl Iterator<Item = u8>) {
        self.present.extend(bitmap);
    }

    /// The number of a row of the batch in its rows event, from 0.
    pub(super) fn row_in_event(&self, row: usize) -> u64 {
        let ordinal = self.ordinals.get(row).copied().unwrap_or(0);
        (ordinal as u64 & u64::from(u32::MAX)) / 2
    }

    /// True if a row and the row before it belong to the same update.
    pub(super) fn is_second_half(&self, row: usize) -> bool {
        let ordinal = |row: usize| self.ordinals.get(row).copied();
        let before = row.checked_sub(1).and_then(ordinal);
        ordinal(row).is_some_and(|here| here % 2 == 1 && before == Some(here - 1))
    }

    /// The rows of each change.
    pub(super) fn changes(&self) -> Vec<ChangeImages> {
        let mut changes = Vec::with_capacity(self.rows());
        for (row, change_type) in self.change_types.iter().enumerate() {
            let image = |is_there: bool| is_there.then_some(row);
            match changes.last_mut() {
                Some(ChangeImages { after, .. }) if self.is_second_half(row) => *after = Some(row),
                _ => changes.push(ChangeImages {
                    before: image(change_type.has_before()),
                    after: image(change_type.has_after()),
                }),
            }
        }
        changes
    }

    /// The bits of `_present` of all rows.
    pub(super) fn present(&self) -> &[u8] {
        &self.present
    }

    /// Turns the last two rows, an update, into a delete and an insert.
    #[inline]
    pub(super) fn split_update(&mut self) {
        if let [.., before, after] = self.change_types.as_mut_slice() {
            (*before, *after) = (ChangeType::Delete, ChangeType::Insert);
        }
    }

    /// Ends an event: all rows since the last call are from it. Returns the number of bytes of its texts.
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

    /// Removes the rows of an invalid event.
    pub(super) fn truncate(&mut self, rows: usize, present_width: usize) {
        self.change_types.truncate(rows);
        self.ordinals.truncate(rows);
        self.present.truncate(rows * present_width);
    }

    pub(super) fn finish(
        &mut self,
        envelope: &Envelope,
        present_width: usize,
        spare: &SpareVectors,
    ) -> Result<Vec<ArrayRef>, Error> {
        let rows = self.rows();
        let integers = |value: fn(&EventRun) -> i64| {
            Int64Array::new(spare.lend(self.runs(rows, value, spare)), None)
        };
        let arrays = envelope
            .columns
            .iter()
            .map(|column| -> Result<ArrayRef, Error> {
                Ok(match column {
                    EnvelopeColumn::ChangeType => {
                        Arc::new(self.words(ChangeType::push_word, spare))
                    }
                    EnvelopeColumn::Op => Arc::new(self.words(ChangeType::push_op, spare)),
                    EnvelopeColumn::CommitVersion => Arc::new(integers(|run| run.commit_version)),
                    EnvelopeColumn::CommitTimestamp => {
                        let times = self.runs(rows, |run| run.commit_timestamp, spare);
                        let times = TimestampMicrosecondArray::new(spare.lend(times), None);
                        Arc::new(times.with_timezone("UTC"))
                    }
                    EnvelopeColumn::ChangeOrdinal => {
                        let mut ordinals = spare.take(rows);
                        ordinals.extend_from_slice(&self.ordinals);
                        Arc::new(Int64Array::new(spare.lend(ordinals), None))
                    }
                    EnvelopeColumn::BinlogFile => Arc::new(self.file_array(spare)),
                    EnvelopeColumn::BinlogPosition => Arc::new(integers(|run| run.position)),
                    EnvelopeColumn::ServerId => Arc::new(integers(|run| run.server_id)),
                    EnvelopeColumn::Present => Arc::new(self.present_array(present_width)),
                    EnvelopeColumn::PresentBefore => {
                        let has_before = ChangeType::has_before;
                        Arc::new(self.present_side(present_width, 0, has_before, spare))
                    }
                    EnvelopeColumn::PresentAfter => {
                        let has_after = ChangeType::has_after;
                        Arc::new(self.present_side(present_width, 1, has_after, spare))
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

    /// The validity bits of one side: 1 for the rows of the batch that have this side.
    pub(super) fn validity(&self, is_there: impl Fn(ChangeType) -> bool) -> NullBuffer {
        self.change_types.iter().map(|change_type| is_there(*change_type)).collect()
    }

    fn runs(&self, rows: usize, value: fn(&EventRun) -> i64, spare: &SpareVectors) -> Vec<i64> {
        let mut values = spare.take(rows);
        for run in &self.events {
            values.resize(run.end_row, value(run));
        }
        values
    }

    fn words(&self, push: impl Fn(ChangeType, &mut Vec<u8>), spare: &SpareVectors) -> StringArray {
        let mut offsets = spare.take(self.rows() + 1);
        let mut text = spare.take(self.rows() * "update_postimage".len());
        offsets.push(0);
        for change_type in &self.change_types {
            push(*change_type, &mut text);
            offsets.push(text.len() as i32);
        }
        let offsets = OffsetBuffer::new(spare.lend(offsets));
        StringArray::new(offsets, spare.lend(text).into_inner(), None)
    }

    fn file_array(&self, spare: &SpareVectors) -> StringArray {
        let mut offsets = spare.take(self.rows() + 1);
        let mut text = spare.take(self.rows() * self.files.first().map_or(0, |name| name.len()));
        offsets.push(0);
        for run in &self.events {
            let name = self.files.get(run.file).map_or("", AsRef::as_ref);
            for _ in offsets.len()..=run.end_row {
                text.extend_from_slice(name.as_bytes());
                offsets.push(text.len() as i32);
            }
        }
        let offsets = OffsetBuffer::new(spare.lend(offsets));
        StringArray::new(offsets, spare.lend(text).into_inner(), None)
    }

    /// Returns one side of `_present`. Each row has the same number of bytes for before and after.
    fn present_side(
        &self,
        width: usize,
        side: usize,
        is_there: fn(ChangeType) -> bool,
        spare: &SpareVectors,
    ) -> BinaryArray {
        let half = (width / 2).max(1);
        let mut offsets = spare.take(self.rows() + 1);
        let mut bytes = spare.take(self.rows() * half);
        offsets.push(0);
        for (row, change_type) in self.present.chunks(width.max(1)).zip(&self.change_types) {
            if is_there(*change_type) {
                bytes.extend_from_slice(row.chunks(half).nth(side).unwrap_or_default());
            }
            offsets.push(bytes.len() as i32);
        }
        let offsets = OffsetBuffer::new(spare.lend(offsets));
        let nulls = Some(self.validity(is_there)).filter(|nulls| nulls.null_count() > 0);
        BinaryArray::new(offsets, spare.lend(bytes).into_inner(), nulls)
    }

    fn present_array(&self, width: usize) -> BinaryArray {
        BinaryArray::from_iter_values(self.present.chunks(width.max(1)))
    }
}
