//! The keywords of `read_binlog` as options of the reader.

use super::errors::warn;
use super::keywords::{Patterns, word};
use super::place::{file_start, file_stop};
use super::read_keywords::ReadKeywords;
use super::schemas::SchemasKeyword;
use super::type_options::TypesKeyword;
use crate::binlog::EventType;
use crate::change::{Include, OnlineSchemaChange, Operations, TableFilter, UpdateRule};
use crate::columnar::{
    ColumnNames, Envelope, EnvelopeColumn, Layout, Masks, PartialImages, PlanOptions, Profile,
    TypeOptions,
};
use crate::error::Error;
use crate::filter::Filter;
use crate::history::{ForeignKeys, Schemas};
use crate::reader::{BatchLimits, DecodeOptions, Reaction, ReadOptions, UnloggedChanges};
use crate::schema::NameCase;
use crate::source::{LogOptions, Start, Stop, TableHistory};
use pyo3::prelude::*;
use std::sync::Arc;

impl ReadKeywords {
    /// The options of the reader.
    pub(super) fn options(mut self, py: Python<'_>) -> PyResult<ReadOptions> {
        let include = self.tables.take().map(Patterns::into_vec);
        if include.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::config("tables is empty: leave it out to read all tables").into());
        }
        let exclude = self.exclude_tables.take().map(Patterns::into_vec).unwrap_or_default();
        let operations = match self.operations.take() {
            None => Operations::default(),
            Some(words) => Operations::try_new(&words.into_vec())?,
        };
        let filter = self.filter()?;
        let writer = self.types.as_ref().and_then(TypesKeyword::writer);
        let plan = self.plan_options()?;
        if plan.column_names == ColumnNames::None && plan.layout != Layout::Flat {
            let message = "⟦column_names=none⟧ returns no row images: leave out ⟦layout⟧";
            return Err(Error::config(message).into());
        }
        let online = match self.online_schema_change {
            "trust" => OnlineSchemaChange::Trust,
            _ => OnlineSchemaChange::Evidence,
        };
        let mut tables =
            TableFilter::try_new(&include.unwrap_or_default(), &exclude)?.with_online(online);
        if let Some(history) = &self.history {
            tables = tables.without(history.0.own_tables());
        }
        let name_case = name_case(self.lower_case_table_names)?;
        let include = items(self.include.take(), tables.clone(), self.statements == "skip")?;
        let unlogged = UnloggedChanges {
            as_items: include.unlogged_changes,
            ..unlogged_changes(self.unlogged_changes, &plan.schemas)
        };
        warn_of_doubtful_members(py, &plan.schemas, &tables)?;
        let emit_uncommitted = self.uncommitted == "emit";
        let skip_statements = self.statements == "skip";
        let allow_gaps = self.gaps == "allow";
        let cut_at_commit = self.batch_end == Some("transaction");
        let limits = self.limits(&plan.types)?;
        let mut cut = LogOptions {
            cut_at_commit,
            emit_uncommitted,
            allow_gaps,
            verify_checksum: self.verify_checksum,
            skip_statements,
            skip_events: skip_events(self.skip_events)?,
            name_case,
            include,
            history: self.history.map(|history| TableHistory::Shared(history.0)),
            ..LogOptions::default()
        };
        if let Some(bytes) = self.segment_bytes {
            cut.segment_bytes = positive("segment_bytes", bytes)?;
        }
        cut.start = self.start.map_or(Ok(Start::Earliest), file_start)?;
        cut.stop = self.stop.map_or(Ok(Stop::End), file_stop)?;
        // Transactions that are not in the set would be lost for a read that resumes at the end of
        // this one.
        cut.stops_at_gap = matches!(cut.stop, Stop::Gtids(_));
        let mut options = ReadOptions {
            cut,
            decode: DecodeOptions {
                tables,
                operations,
                filter,
                plan,
                limits,
                update_rule: UpdateRule {
                    old_value: self.old_value,
                    split_key_updates: self.split_key_updates,
                },
                verify_checksum: self.verify_checksum,
                unlogged,
                emit_uncommitted,
                writer,
            },
            threads: match self.threads {
                Some(threads) => positive("threads", threads)?,
                None if in_spark_task(py)? => 1,
                None => 0,
            },
            uses_indexes: self.index == "use",
        };
        if name_case == NameCase::Folded {
            options.fold_names();
        }
        Ok(options)
    }

    /// The keyword `where`.
    fn filter(&mut self) -> Result<Option<Arc<Filter>>, Error> {
        let Some(text) = self.r#where.take() else { return Ok(None) };
        let filter = Filter::parse(&text)?;
        if !self.old_value {
            return Err(Error::config(
                "⟦where⟧ compares rows before and after changes: leave out ⟦old_value⟧",
            ));
        }
        if self.column_names == "none" {
            return Err(Error::config("⟦where⟧ needs the columns: leave out ⟦column_names=none⟧"));
        }
        Ok(Some(Arc::new(filter)))
    }

    /// The size of batches.
    pub(super) fn limits(&self, types: &TypeOptions) -> Result<BatchLimits, Error> {
        let defaults = match types.profile {
            Profile::Native => BatchLimits::default(),
            Profile::Spark => BatchLimits { rows: 16_384, bytes: 16 << 20 },
        };
        Ok(BatchLimits {
            rows: positive("batch_rows", self.batch_rows.unwrap_or(defaults.rows))?,
            bytes: positive("batch_bytes", self.batch_bytes.unwrap_or(defaults.bytes))?,
        })
    }

    /// The options that determine the schema of batches, for all functions that return a schema. Takes the keywords that it
    /// uses.
    pub(super) fn plan_options(&mut self) -> Result<PlanOptions, Error> {
        if self.schemas.is_some() && self.history.is_some() {
            return Err(Error::config(
                "⟦schemas⟧ and ⟦history⟧ both provide the structures of tables: give one of them; a history takes CREATE TABLE text \
                 by its baseline()",
            ));
        }
        let rules = self.mask.take().map(|mask| mask.0).unwrap_or_default();
        let masks = Masks::try_new(rules, self.mask_salt.take().map(|salt| salt.0))?;
        let columns = match self.envelope.take() {
            None => EnvelopeColumn::DEFAULT.to_vec(),
            Some(names) => names
                .into_vec()
                .iter()
                .map(|name| EnvelopeColumn::parse(name))
                .collect::<Result<_, _>>()?,
        };
        for (index, column) in columns.iter().enumerate() {
            if columns.iter().take(index).any(|before| before == column) {
                return Err(Error::config(format!("envelope names {:?} twice", column.name())));
            }
        }
        if masks.is_any() && columns.contains(&EnvelopeColumn::Query) {
            return Err(Error::config(
                "the envelope column 'query' is the statement, with the values that mask hides: leave one of them out",
            ));
        }
        let column_names = match self.column_names {
            "positional" => ColumnNames::Positional,
            "none" => ColumnNames::None,
            _ => ColumnNames::Log,
        };
        if column_names == ColumnNames::None
            && (self.columns.is_some() || masks.is_any() || columns.is_empty())
        {
            return Err(Error::config(
                "⟦column_names=none⟧ returns columns of the envelope only: leave out ⟦columns⟧ and ⟦mask⟧, and request at least one \
                 column of the envelope",
            ));
        }
        let types = self.types.take();
        Ok(PlanOptions {
            types: types.map_or(Ok(TypeOptions::default()), |types| types.options())?,
            masks,
            columns: self.columns.take().map(|columns| columns.0).unwrap_or_default(),
            layout: match self.layout {
                "nested" => Layout::Nested,
                _ => Layout::Flat,
            },
            envelope: Envelope { columns, prefix: std::mem::take(&mut self.envelope_prefix) },
            column_names,
            partial_images: match self.partial_images {
                "error" => PartialImages::Error,
                _ => PartialImages::Null,
            },
            schemas: SchemasKeyword::schemas(self.schemas.take())?,
        })
    }
}

/// The keyword `lower_case_table_names`.
fn name_case(variable: Option<u8>) -> Result<NameCase, Error> {
    match variable {
        None => Ok(NameCase::Unknown),
        Some(case @ 0..=2) => Ok(NameCase::of(case)),
        Some(case) => {
            let message = format!("lower_case_table_names must be 0, 1 or 2, not {case}");
            Err(Error::config(message))
        }
    }
}

/// The keyword `unlogged_changes`, and the foreign keys that cause such changes.
fn unlogged_changes(reaction: Option<&str>, schemas: &Schemas) -> UnloggedChanges {
    let unlogged = UnloggedChanges {
        asked: reaction.map(|reaction| match reaction {
            "error" => Reaction::Error,
            "warn" => Reaction::Warn,
            _ => Reaction::Ignore,
        }),
        ..UnloggedChanges::default()
    };
    if !schemas.is_empty() {
        drop(unlogged.foreign_keys.set(Arc::new(ForeignKeys::of_schemas(schemas))));
    }
    unlogged
}

/// Warns of members of ENUM and SET columns whose text may not be what the server has.
fn warn_of_doubtful_members(
    py: Python<'_>,
    schemas: &Schemas,
    tables: &TableFilter,
) -> PyResult<()> {
    for (database, table, column) in schemas.doubtful_members() {
        if tables.accepts(database, table) {
            let message = format!(
                "schemas: a member of {database}.{table}.{column} contains '?', which servers also print for characters above \
                 U+FFFF: if it is one, write the character itself"
            );
            warn(py, &message)?;
        }
    }
    Ok(())
}

/// The keyword `include`.
fn items(
    words: Option<Patterns>,
    tables: TableFilter,
    skips_statements: bool,
) -> Result<Include, Error> {
    let mut include = Include { tables, ..Include::default() };
    for item in words.map(Patterns::into_vec).unwrap_or_default() {
        let all = [
            "schema_change",
            "truncate",
            "skipped_statement",
            "unlogged_change",
            "transaction",
            "heartbeat",
        ];
        match word("include", &item, &all)? {
            "schema_change" => include.schema_changes = true,
            "truncate" => include.truncates = true,
            "skipped_statement" => include.skipped_statements = true,
            "unlogged_change" => include.unlogged_changes = true,
            "transaction" => include.transactions = true,
            _ => include.heartbeats = true,
        }
    }
    if include.skipped_statements && !skips_statements {
        return Err(Error::config(
            "⟦include=skipped_statement⟧ needs ⟦statements=skip⟧: ⟦statements=error⟧ skips no statements",
        ));
    }
    Ok(include)
}

/// The keyword `skip_events`.
pub(super) fn skip_events(codes: Option<Vec<u8>>) -> Result<Vec<u8>, Error> {
    let codes = codes.unwrap_or_default();
    let statements =
        [EventType::QUERY, EventType::EXECUTE_LOAD_QUERY, EventType::MARIADB_QUERY_COMPRESSED];
    match statements.iter().find(|statement| codes.contains(&statement.0)) {
        None => Ok(codes),
        Some(statement) => Err(Error::config(format!(
            "skip_events contains the code {} ({}) of statements: set ⟦statements=skip⟧ to skip statements that may \
             change rows",
            statement.0,
            statement.name()
        ))),
    }
}

fn positive(keyword: &str, number: usize) -> Result<usize, Error> {
    match number {
        0 => Err(Error::config(format!("{keyword} must be at least 1"))),
        number => Ok(number),
    }
}

/// Spark runs several tasks on a machine: each has one thread.
fn in_spark_task(py: Python<'_>) -> PyResult<bool> {
    py.import("sys")?.getattr("modules")?.contains("pyspark.worker")
}
