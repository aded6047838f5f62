//! Envelope columns that are built only if they are requested: the details of a commit and of its statements.
//!
//! There is one value per rows event, not per row. Input: a [`CommitDetails`] in the stamp of each
//! event. Output: columns.

use super::envelope::EnvelopeColumn;
use crate::error::Error;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, StringArray, TimestampMicrosecondArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use std::sync::Arc;

/// The details of the commit and the statement of a rows event; `None` if the log does not contain
/// them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommitDetails<'a> {
    /// The GTID of the commit.
    pub gtid: Option<&'a str>,
    /// Microseconds since 1970 UTC.
    pub original_commit_timestamp: Option<i64>,
    /// The connection that made the change.
    pub thread_id: Option<u32>,
    /// The number of the Xid event.
    pub xid: Option<u64>,
    /// The statement.
    pub query: Option<&'a str>,
}

/// Columns of details under construction.
#[derive(Default)]
pub(super) struct DetailsBuilder {
    runs: Vec<Run>,
    gtids: Texts,
    queries: Texts,
    plain_query: bool,
}

/// The rows of one event.
struct Run {
    end_row: usize,
    original_commit_timestamp: Option<i64>,
    thread_id: Option<u32>,
    xid: Option<u64>,
    gtid: Option<usize>,
    query: Option<usize>,
}

impl DetailsBuilder {
    pub(super) fn new(plain_query: bool) -> Self {
        Self { plain_query, ..Self::default() }
    }

    /// Ends an event: all rows up to `end_row` since the last call are from it. Returns the number
    /// of bytes of its texts.
    pub(super) fn end_event(
        &mut self,
        end_row: usize,
        details: &CommitDetails<'_>,
    ) -> Result<usize, Error> {
        let rows = end_row - self.runs.last().map_or(0, |run| run.end_row);
        let query_bytes = details.query.map_or(0, str::len);
        let (bytes, advice) = match self.plain_query {
            true => (
                query_bytes.saturating_mul(rows),
                "; with Spark's types each row contains it: leave it out, or read with ⟦types=native⟧",
            ),
            false if self.queries.is_last(details.query) => (0, ""),
            false => (query_bytes, ""),
        };
        if bytes > MAX_TEXT {
            return Err(Error::unsupported(format!(
                "the column `query` of the envelope: a statement of {query_bytes} bytes for {rows} rows does not fit into \
                 a batch{advice}"
            )));
        }
        self.runs.push(Run {
            end_row,
            original_commit_timestamp: details.original_commit_timestamp,
            thread_id: details.thread_id,
            xid: details.xid,
            gtid: self.gtids.number(details.gtid),
            query: self.queries.number(details.query),
        });
        Ok(bytes + details.gtid.map_or(0, str::len) * rows)
    }

    /// Returns a column of `rows` rows.
    pub(super) fn column(&self, column: EnvelopeColumn, rows: usize) -> Result<ArrayRef, Error> {
        use EnvelopeColumn as C;
        Ok(match column {
            C::Gtid => Arc::new(self.plain(&self.gtids, rows, |run| run.gtid)?),
            C::Query if self.plain_query => {
                Arc::new(self.plain(&self.queries, rows, |run| run.query)?)
            }
            C::Query => {
                let keys = self.values(rows, |run| run.query.map(|number| number as i32));
                let values = self.queries.array()?;
                let array = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values));
                Arc::new(array.map_err(|error| too_large(error.to_string()))?)
            }
            C::OriginalCommitTimestamp => {
                let times: TimestampMicrosecondArray =
                    self.values(rows, |run| run.original_commit_timestamp);
                Arc::new(times.with_timezone("UTC"))
            }
            C::ThreadId => {
                let ids: Int64Array = self.values(rows, |run| run.thread_id.map(i64::from));
                Arc::new(ids)
            }
            _ => {
                let xids: Int64Array = self.values(rows, |run| run.xid.map(u64::cast_signed));
                Arc::new(xids)
            }
        })
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.gtids.clear();
        self.queries.clear();
    }

    fn values<T: arrow_array::ArrowPrimitiveType>(
        &self,
        rows: usize,
        value: impl Fn(&Run) -> Option<T::Native>,
    ) -> arrow_array::PrimitiveArray<T> {
        let mut values = Vec::with_capacity(rows);
        let mut valid = Vec::with_capacity(rows);
        for run in &self.runs {
            let value = value(run);
            values.resize(run.end_row, value.unwrap_or_default());
            valid.resize(run.end_row, value.is_some());
        }
        arrow_array::PrimitiveArray::new(values.into(), Some(NullBuffer::from(valid)))
    }

    /// Returns a column in which each row has its own copy of the text.
    fn plain(
        &self,
        texts: &Texts,
        rows: usize,
        number: impl Fn(&Run) -> Option<usize>,
    ) -> Result<StringArray, Error> {
        let mut offsets = Vec::with_capacity(rows + 1);
        let mut bytes = Vec::new();
        let mut valid = Vec::with_capacity(rows);
        offsets.push(0);
        for run in &self.runs {
            let text = number(run).and_then(|number| texts.get(number));
            for _ in valid.len()..run.end_row {
                bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
                offsets.push(offset(bytes.len())?);
            }
            valid.resize(run.end_row, text.is_some());
        }
        string_array(offsets, bytes, Some(NullBuffer::from(valid)))
    }
}

/// Texts, one after another. A text that equals the previous one is stored once.
#[derive(Default)]
struct Texts {
    bytes: String,
    ends: Vec<usize>,
}

impl Texts {
    fn number(&mut self, text: Option<&str>) -> Option<usize> {
        let text = text?;
        if !self.is_last(Some(text)) {
            self.bytes.push_str(text);
            self.ends.push(self.bytes.len());
        }
        Some(self.ends.len() - 1)
    }

    fn is_last(&self, text: Option<&str>) -> bool {
        let last = self.ends.len().checked_sub(1).and_then(|number| self.get(number));
        text.is_none() || last == text
    }

    fn get(&self, number: usize) -> Option<&str> {
        let start = match number.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.bytes.get(start..*self.ends.get(number)?)
    }

    fn array(&self) -> Result<StringArray, Error> {
        let ends = self.ends.iter().map(|end| offset(*end));
        let offsets = std::iter::once(Ok(0)).chain(ends).collect::<Result<Vec<_>, _>>()?;
        string_array(offsets, self.bytes.clone().into_bytes(), None)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

fn string_array(
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
) -> Result<StringArray, Error> {
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    StringArray::try_new(offsets, Buffer::from_vec(bytes), nulls)
        .map_err(|error| too_large(error.to_string()))
}

fn offset(len: usize) -> Result<i32, Error> {
    i32::try_from(len).map_err(|_| too_large("more than 2 GiB".into()))
}

fn too_large(why: String) -> Error {
    Error::config(format!(
        "texts of the envelope do not fit into one batch: {why}; lower batch_bytes"
    ))
}

/// The largest number of bytes that one event may add to a batch.
const MAX_TEXT: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::envelope::query_type;
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, types::Int64Type};
    use arrow_schema::DataType;

    fn details(query: Option<&str>) -> CommitDetails<'_> {
        CommitDetails { gtid: query, query, xid: query.map(|_| 7), ..CommitDetails::default() }
    }

    #[test]
    fn a_value_an_event() {
        for plain in [true, false] {
            let mut builder = DetailsBuilder::new(plain);
            let mut sizes = Vec::new();
            for (end, query) in [(2, Some("ab")), (3, None), (4, Some("ab")), (6, Some("c"))] {
                sizes.push(builder.end_event(end, &details(query)).unwrap());
            }
            assert_eq!(sizes, if plain { [8, 0, 4, 4] } else { [6, 0, 2, 3] });
            let query = builder.column(EnvelopeColumn::Query, 6).unwrap();
            assert_eq!(query.data_type(), &query_type(plain));
            let text = match plain {
                true => query,
                false => {
                    let dictionary = query.as_dictionary::<Int32Type>();
                    assert_eq!(dictionary.values().len(), 2, "the same text once");
                    arrow_cast::cast(&query, &DataType::Utf8).unwrap()
                }
            };
            let expected = [Some("ab"), Some("ab"), None, Some("ab"), Some("c"), Some("c")];
            assert!(text.as_string::<i32>().iter().eq(expected));
            let gtid = builder.column(EnvelopeColumn::Gtid, 6).unwrap();
            assert!(gtid.as_string::<i32>().iter().eq(expected));
            let xid = builder.column(EnvelopeColumn::Xid, 6).unwrap();
            let xids = expected.map(|query| query.map(|_| 7));
            assert!(xid.as_primitive::<Int64Type>().iter().eq(xids));
            assert_eq!(builder.column(EnvelopeColumn::ThreadId, 6).unwrap().null_count(), 6);
            builder.clear();
            assert_eq!(builder.column(EnvelopeColumn::Query, 0).unwrap().len(), 0);
        }
    }

    #[test]
    fn a_statement_beside_each_of_too_many_rows_is_refused() {
        let statement = "x".repeat(1 << 20);
        let mut plain = DetailsBuilder::new(true);
        assert!(plain.end_event(1024, &details(Some(&statement))).is_ok());
        let error = plain.end_event(2049, &details(Some(&statement))).unwrap_err().to_string();
        assert!(error.contains("a statement of 1048576 bytes for 1025 rows"), "{error}");
        let mut dictionary = DetailsBuilder::new(false);
        assert!(dictionary.end_event(1 << 20, &details(Some(&statement))).is_ok());
    }
}
