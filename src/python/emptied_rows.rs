//! The reaction of a table reader to a statement that empties its table: the log contains no rows
//! for it.

use super::keywords::word;
use crate::change::{Emptied, Uncertainty};
use crate::columnar::{Envelope, EnvelopeColumn, Layout, widen};
use crate::error::Error;
use crate::reader::KnownTables;
use crate::schema::full_name;
use crate::source::LogItem;
use arrow_array::{
    ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use std::sync::Arc;

/// The caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truncates {
    Error,
    Emit,
    /// The rows of `Emit`, and rows for statements that change rows or columns in another way.
    EmitAll,
    Skip,
}

/// The answer of a reader to an emptied table.
#[derive(Debug)]
pub(super) enum Answer<R> {
    /// A row that reports it.
    Row(R),
    /// Rows or values change without row events. A row for the statement reports this.
    OtherRows,
    /// A warning for the caller.
    Warning(String),
    Nothing,
}

impl Truncates {
    /// The keyword `truncates`.
    pub(super) fn parse(given: &str) -> Result<Self, Error> {
        Ok(match word("truncates", given, &["error", "emit", "skip"])? {
            "error" => Self::Error,
            "emit" => Self::Emit,
            _ => Self::Skip,
        })
    }

    /// The keyword `truncates` of a reader of several tables.
    pub(super) fn parse_of_tables(given: &str) -> Result<Self, Error> {
        Ok(match word("truncates", given, &["error", "emit", "emit_all", "skip"])? {
            "emit_all" => Self::EmitAll,
            other => Self::parse(other)?,
        })
    }

    /// Checks that rows can be created.
    pub(super) fn check(
        self,
        schema: Option<&Schema>,
        layout: Layout,
        prefix: &str,
    ) -> Result<(), Error> {
        if self != Self::Emit {
            return Ok(());
        }
        let Some(schema) = schema else {
            return Err(Error::config(
                "⟦truncates=emit⟧ creates rows that are not in the log: pass their schema with ⟦schema⟧",
            ));
        };
        let column = kind_column(layout, prefix);
        match schema.column_with_name(&column) {
            Some(_) => Ok(()),
            None => Err(Error::config(format!(
                "⟦truncates=emit⟧ needs the column {column}, which ⟦schema⟧ does not have: include it in the envelope"
            ))),
        }
    }

    /// Returns the reaction to an item of the table. `schema` is the schema of the reader, if it is
    /// known.
    pub(super) fn react(
        self,
        (name, emptied): (&str, &Emptied),
        item: &LogItem,
        known: &KnownTables,
        (schema, layout, prefix): (Option<&SchemaRef>, Layout, &str),
    ) -> Result<Answer<RecordBatch>, Error> {
        let is_read =
            |column: &str| schema.is_none_or(|schema| has_column(schema.fields(), column));
        Ok(match (self.judge(name, emptied, item, (known, &is_read))?, schema) {
            (Answer::Row(()), Some(schema)) => Answer::Row(row(item, schema, layout, prefix)?),
            // `check` has ensured that there is a schema.
            (Answer::Row(()), None) | (Answer::Nothing, _) => Answer::Nothing,
            (Answer::OtherRows, _) => Answer::OtherRows,
            (Answer::Warning(message), _) => Answer::Warning(message),
        })
    }

    /// The reaction to an item. `is_read`: true for the name of a column that is read.
    pub(super) fn judge(
        self,
        name: &str,
        emptied: &Emptied,
        item: &LogItem,
        (known, is_read): (&KnownTables, &dyn Fn(&str) -> bool),
    ) -> Result<Answer<()>, Error> {
        let (by, place) = (emptied.by, &item.before);
        let columns = known.changes(emptied, is_read);
        if columns.is_none() && !emptied.columns.is_empty() {
            return Ok(Answer::Nothing);
        }
        let what = match emptied.removes_all {
            _ if let Some(columns) = &columns => format!(
                "the rows of table {name} may get other values by {by}, after {place}, and the log does not contain them: {}",
                columns.text
            ),
            true => format!("table {name} is emptied by {by}, after {place}"),
            false => format!(
                "table {name} gets other rows by {by}, after {place}, and the log does not contain them"
            ),
        };
        if columns.is_some_and(|columns| columns.are_unlikely) && emptied.uncertainty.is_none() {
            return Ok(Answer::Warning(what));
        }
        if let Some(uncertainty) = emptied.uncertainty {
            return self.judge_uncertain(&what, emptied, uncertainty);
        }
        let if_tool = match emptied.resembles {
            Some(tool) => format!(
                ". The table names are those of {tool}, but nothing in the log since the start of the read proves that \
                 it made this change. If it did, the rows are the same as before: continue with \
                 ⟦online_schema_change=trust⟧",
                tool = tool.name()
            ),
            None => String::new(),
        };
        match (self, emptied.removes_all) {
            (Self::Emit | Self::EmitAll, true) => Ok(Answer::Row(())),
            (Self::EmitAll, false) if emptied.resembles.is_none() => Ok(Answer::OtherRows),
            (Self::Skip, true) => Ok(Answer::Nothing),
            (Self::Skip, false) => Ok(Answer::Warning(format!("{what}{if_tool}"))),
            (Self::Error, true) => Err(Error::schema(format!(
                "{what}, without row events in the log: ⟦truncates=emit⟧ returns a row of the type 'truncate' instead, 'skip' \
                 returns none{if_tool}"
            ))),
            (Self::Error | Self::Emit | Self::EmitAll, false) => Err(Error::schema(format!(
                "{what}. Copy the table again and continue from a position after it, or skip the statement with ⟦truncates=skip⟧{if_tool}"
            ))),
        }
    }
}

/// True if a schema has a column of the table; in the nested layout, inside `before` and `after`.
fn has_column(fields: &Fields, name: &str) -> bool {
    let is_called = |field: &Field| field.name().to_lowercase() == name.to_lowercase();
    fields.iter().any(|field| match field.data_type() {
        DataType::Struct(inner) => is_called(field) || has_column(inner, name),
        _ => is_called(field),
    })
}

impl Truncates {
    /// The result of an item that may concern another table, or no rows.
    fn judge_uncertain(
        self,
        what: &str,
        emptied: &Emptied,
        uncertainty: Uncertainty,
    ) -> Result<Answer<()>, Error> {
        let (reason, advice) = match uncertainty {
            Uncertainty::Repair => {
                return Ok(Answer::Warning(format!(
                    "{what}, if some of its rows are damaged: REPAIR removes those. Compare the table with the copy"
                )));
            }
            Uncertainty::LetterCase => (
                format!(
                    "The statement contains {}, in other letter case than the rows of the table that is read. This is the same \
                     table if lower_case_table_names is 1 or 2 on the server",
                    written(emptied)
                ),
                "set lower_case_table_names to its value on the server",
            ),
            Uncertainty::Temporary => (
                "The statement uses a temporary table, which was created before the start of the read and may have this name"
                    .to_owned(),
                "start before the CREATE TEMPORARY TABLE, or determine which table it is; if it is this one, copy it again and \
                 continue from a position after the statement",
            ),
        };
        match self {
            Self::Skip => Ok(Answer::Warning(format!("{what}, or another table is. {reason}"))),
            Self::Error | Self::Emit | Self::EmitAll => Err(Error::schema(format!(
                "{what}, or another table is. {reason}: {advice}, or skip it with ⟦truncates=skip⟧"
            ))),
        }
    }
}

/// The name in the statement.
fn written(emptied: &Emptied) -> String {
    match &emptied.table {
        Some(table) => full_name(&emptied.database, table),
        None => format!("the database {}", emptied.database),
    }
}

/// The name of the column that contains the kind of a row.
fn kind_column(layout: Layout, prefix: &str) -> String {
    let envelope = Envelope { columns: Vec::new(), prefix: prefix.to_owned() };
    envelope.column_name(match layout {
        Layout::Flat => EnvelopeColumn::ChangeType,
        Layout::Nested => EnvelopeColumn::Op,
    })
}

/// The row that reports the statement and its place. It comes before all rows of its transaction.
fn row(
    item: &LogItem,
    schema: &SchemaRef,
    layout: Layout,
    prefix: &str,
) -> Result<RecordBatch, Error> {
    let envelope = Envelope { columns: Vec::new(), prefix: prefix.to_owned() };
    let kind = if layout == Layout::Nested { "t" } else { "truncate" };
    let time = TimestampMicrosecondArray::from(vec![item.commit_timestamp]).with_timezone("UTC");
    let known: [(String, ArrayRef); 4] = [
        (kind_column(layout, prefix), Arc::new(StringArray::from(vec![kind]))),
        (
            envelope.column_name(EnvelopeColumn::CommitVersion),
            Arc::new(Int64Array::from(vec![item.commit_version])),
        ),
        (envelope.column_name(EnvelopeColumn::CommitTimestamp), Arc::new(time)),
        (envelope.column_name(EnvelopeColumn::ChangeOrdinal), Arc::new(Int64Array::from(vec![-1]))),
    ];
    let cells = schema.fields().iter().map(|field| {
        match known.iter().find(|(name, _)| name == field.name()) {
            Some((_, cell)) => widen(cell, field.data_type())?.ok_or_else(|| {
                ArrowError::CastError(format!(
                    "{} cannot become {}",
                    field.name(),
                    field.data_type()
                ))
            }),
            None => Ok(new_null_array(field.data_type(), 1)),
        }
    });
    let cells = cells.collect::<Result<Vec<_>, _>>();
    cells
        .and_then(|cells| RecordBatch::try_new(Arc::clone(schema), cells))
        .map_err(|error| Error::schema(format!("a row of the type 'truncate': {error}")))
}
