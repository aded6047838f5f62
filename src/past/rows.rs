//! The rows that a table had at an earlier place in the log.

use super::counted::Counts;
use super::keyed::{Contradiction, Keys};
use super::table::Table;
use crate::columnar::{EnvelopeColumn, TablePlan};
use crate::error::{Error, ErrorKind, Result};
use crate::filter::{BoundFilter, Filter, select_rows};
use crate::reader::ChangeBatch;
use arrow_array::cast::AsArray;
use arrow_array::{BinaryArray, RecordBatch, StringArray};
use arrow_schema::SchemaRef;

/// The columns of the envelope that the changes must have.
pub const fn envelope() -> [EnvelopeColumn; 2] {
    [EnvelopeColumn::ChangeType, EnvelopeColumn::Present]
}

/// The rows that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownRows {
    /// The rows that the server has now, after the changes. The changes are added in the order of the log.
    Now,
    /// The rows before the changes. The changes are added in reverse order, the last batch first.
    Earlier,
}

/// The rows of a table at a place in the log, from the changes since then and the rows that it has now, or from the rows that it
/// had at an earlier place and the changes up to the place.
#[derive(Debug)]
pub struct PastRows {
    of: KnownRows,
    table: Table,
    schema: SchemaRef,
    filter: Option<BoundFilter>,
    condition: Option<String>,
    known: Known,
    /// The rows before changes.
    kept: Vec<RecordBatch>,
}

#[derive(Debug)]
enum Known {
    Keys(Keys),
    Counts(Counts),
}

impl PastRows {
    /// `plan` is that of the known rows. `columns` are the names of the columns to return.
    ///
    /// # Errors
    /// There is no such column, or the filter does not fit the table.
    pub fn try_new(
        plan: &TablePlan,
        of: KnownRows,
        filter: Option<&Filter>,
        columns: Option<&[String]>,
    ) -> Result<Self> {
        let table = Table::try_new(plan, columns)?;
        let known = match table.has_key {
            true => Known::Keys(Keys::default()),
            false => Known::Counts(Counts::default()),
        };
        Ok(Self {
            of,
            schema: table.output_schema()?,
            filter: filter.map(|filter| filter.bind_rows(plan)).transpose()?,
            condition: filter.and_then(|filter| filter.condition(plan)),
            known,
            kept: Vec::new(),
            table,
        })
    }

    /// The schema of the rows that are returned.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// A condition in SQL of the rows that the table has now and that are needed; `None` for all.
    pub fn condition(&self) -> Option<&str> {
        self.condition.as_deref()
    }

    /// True if rows are identified by a key.
    pub fn has_key(&self) -> bool {
        self.table.has_key
    }

    /// The columns that are not returned because the log does not contain their values.
    pub fn not_logged(&self) -> &[String] {
        &self.table.not_logged
    }

    /// Adds changes, in the order of [`KnownRows`].
    ///
    /// # Errors
    /// An image lacks columns; the columns are others than those of the table now; the changes contradict each other.
    pub fn add(&mut self, change: &ChangeBatch) -> Result<()> {
        let changes = Changes::of(change)?;
        let rows = self.table.rows(&change.batch)?;
        self.table.check_members(&change.plan)?;
        for row in 0..rows.num_rows() {
            if let Some(column) = self.table.lacks(changes.present.value(row)) {
                return Err(lacks(&self.table.name, column, change));
            }
        }
        let selected = self.selected(&rows)?;
        let is_selected =
            |row: usize| selected.as_ref().is_none_or(|of| of.get(row) == Some(&true));
        self.table.check_keys(&rows)?;
        let (identities, compared) = (self.table.identities(&rows)?, self.table.compared(&rows)?);
        let (mut identity, mut other) = (Vec::new(), Vec::new());
        let mut is_kept = vec![false; rows.num_rows()];
        let count = rows.num_rows();
        for at in 0..count {
            // In reverse, the rows after changes take the place of the rows before them.
            let (row, is_after) = match self.of {
                KnownRows::Now => (at, changes.is_after(at)),
                KnownRows::Earlier => (count - 1 - at, !changes.is_after(count - 1 - at)),
            };
            let Some(is_kept) = is_kept.get_mut(row) else { continue };
            identities.write(row, &mut identity);
            let is_old = match &mut self.known {
                // The filter of the log has left out changes, so that the rows of a key need not follow each other.
                Known::Keys(keys) => {
                    let hash = match self.filter {
                        None => Some(compared.hash(row, &mut other)),
                        Some(_) => None,
                    };
                    let added = match is_after {
                        true => keys.add_after(&identity, hash).map(|()| false),
                        false => keys.add_before(&identity, hash),
                    };
                    added.map_err(|Contradiction| contradicts(&self.table.name, change))?
                }
                Known::Counts(_) if !is_selected(row) => false,
                Known::Counts(counts) if is_after => {
                    counts.add_after(&identity);
                    false
                }
                Known::Counts(counts) => counts.add_before(&identity),
            };
            *is_kept = is_old && is_selected(row);
        }
        if is_kept.contains(&true) {
            self.kept.push(select_rows(&rows, 0..rows.num_rows(), &is_kept)?);
        }
        Ok(())
    }

    /// Returns the rows that the table had and still has, of a batch of its rows now. `is_exact`: the changes that were added
    /// are those that the rows contain, and no others.
    ///
    /// # Errors
    /// The rows are not those that the changes wrote.
    pub fn unchanged(&mut self, batch: &RecordBatch, is_exact: bool) -> Result<RecordBatch> {
        let rows = self.table.rows(batch)?;
        let selected = self.selected(&rows)?;
        self.table.check_keys(&rows)?;
        let (identities, compared) = (self.table.identities(&rows)?, self.table.compared(&rows)?);
        let (mut identity, mut other) = (Vec::new(), Vec::new());
        let mut is_kept = selected.unwrap_or_else(|| vec![true; rows.num_rows()]);
        for (row, is_kept) in is_kept.iter_mut().enumerate().filter(|(_, is_kept)| **is_kept) {
            identities.write(row, &mut identity);
            *is_kept = match &mut self.known {
                Known::Keys(keys) => {
                    let is_compared = is_exact && self.filter.is_none();
                    let hash = is_compared.then(|| compared.hash(row, &mut other));
                    keys.is_unchanged(&identity, hash)
                        .map_err(|Contradiction| unexplained(&self.table.name, self.of, 1))?
                }
                Known::Counts(counts) => counts.is_unchanged(&identity),
            };
        }
        self.table.returned(&select_rows(&rows, 0..rows.num_rows(), &is_kept)?)
    }

    /// Returns the rows that the table had and has no more, after all rows that it has now.
    ///
    /// # Errors
    /// The table lacks rows that the changes wrote.
    pub fn changed(&mut self, is_exact: bool) -> Result<Vec<RecordBatch>> {
        let missing = match &self.known {
            Known::Keys(keys) if is_exact && self.filter.is_none() => keys.missing() as u64,
            Known::Keys(_) => 0,
            Known::Counts(counts) => counts.missing(),
        };
        if missing > 0 {
            return Err(unexplained(&self.table.name, self.of, missing));
        }
        let mut returned = Vec::new();
        for rows in std::mem::take(&mut self.kept) {
            let rows = match &mut self.known {
                Known::Keys(_) => rows,
                Known::Counts(counts) => {
                    let identities = self.table.identities(&rows)?;
                    let mut identity = Vec::new();
                    let is_there = |row| {
                        identities.write(row, &mut identity);
                        counts.take(&identity)
                    };
                    let is_there: Vec<bool> = (0..rows.num_rows()).map(is_there).collect();
                    select_rows(&rows, 0..rows.num_rows(), &is_there)?
                }
            };
            returned.push(self.table.returned(&rows)?);
        }
        Ok(returned)
    }

    /// For each row, true if it is selected; `None` without a filter.
    fn selected(&self, rows: &RecordBatch) -> Result<Option<Vec<bool>>> {
        self.filter.as_ref().map(|filter| filter.kept_of_rows(rows)).transpose()
    }
}

/// The columns of the envelope of changes.
struct Changes<'b> {
    kinds: &'b StringArray,
    present: &'b BinaryArray,
}

impl<'b> Changes<'b> {
    fn of(change: &'b ChangeBatch) -> Result<Self> {
        let count = change.plan.fields.len();
        let columns = change.batch.columns().get(count..).unwrap_or_default();
        let (Some(kinds), Some(present)) = (
            columns.first().and_then(|column| column.as_string_opt::<i32>()),
            columns.get(1).and_then(|column| column.as_binary_opt::<i32>()),
        ) else {
            return Err(Error::new(ErrorKind::Internal, "changes without their envelope"));
        };
        Ok(Self { kinds, present })
    }

    fn is_after(&self, row: usize) -> bool {
        matches!(self.kinds.value(row), "insert" | "update_postimage")
    }
}

fn lacks(table: &str, column: &str, change: &ChangeBatch) -> Error {
    Error::schema(format!(
        "table {table}: the image of a row lacks column {column:?} (before {}): the server must log complete rows, \
         binlog_row_image=FULL",
        change.position()
    ))
}

fn contradicts(table: &str, change: &ChangeBatch) -> Error {
    Error::unsupported(format!(
        "table {table}: a change before {} is of a row that the changes before it did not write: {CAUSES}",
        change.position()
    ))
}

fn unexplained(table: &str, of: KnownRows, count: u64) -> Error {
    Error::unsupported(match of {
        KnownRows::Now => format!(
            "table {table}: the server does not have {count} or more rows as the last change in the log wrote them: {CAUSES}"
        ),
        KnownRows::Earlier => format!(
            "table {table}: {count} or more of the rows differ from the rows before their first change in the log: the position of \
             the rows is wrong or not exact, or {CAUSES}"
        ),
    })
}

const CAUSES: &str = "the log does not contain all changes of the table. Causes are actions of foreign keys, sql_log_bin=0, \
                      binlog_ignore_db, and a replica without log_replica_updates";
