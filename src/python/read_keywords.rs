//! The keywords of `read_binlog`, and the functions that accept each of them.
//!
//! Written by `make options` from the table in `python/binarrow/options`: edit the table.

use super::given::Given;
use super::history_keyword::HistoryKeyword;
use super::keywords::{ColumnsKeyword, MaskKeyword, Patterns, SaltKeyword};
use super::place::Place;
use super::schemas::SchemasKeyword;
use super::storage::Storage;
use super::type_options::TypesKeyword;
use pyo3::PyResult;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The keywords, and the functions that accept them.
const KEYWORDS: &[(&str, &[&str])] = &[
    ("tables", &["read_binlog", "read_split"]),
    ("exclude_tables", &["read_binlog", "read_split"]),
    ("include", &["read_binlog", "read_split"]),
    ("online_schema_change", &["read_binlog", "read_split"]),
    ("lower_case_table_names", &["read_binlog", "read_split"]),
    ("columns", &["read_binlog", "infer_schema", "read_split", "read_table"]),
    ("operations", &["read_binlog", "read_split"]),
    ("where", &["read_binlog", "read_split"]),
    ("unlogged_changes", &["read_binlog", "read_split"]),
    ("mask", &["read_binlog", "infer_schema", "read_split", "read_table"]),
    ("mask_salt", &["read_binlog", "infer_schema", "read_split", "read_table"]),
    ("start", &["read_binlog"]),
    ("stop", &["read_binlog"]),
    ("layout", &["read_binlog", "infer_schema", "read_split", "read_table"]),
    ("old_value", &["read_binlog", "read_split"]),
    ("split_key_updates", &["read_binlog", "read_split"]),
    ("partial_images", &["read_binlog", "read_split"]),
    (
        "envelope",
        &["read_binlog", "infer_schema", "nested_json_schema", "read_split", "read_table"],
    ),
    (
        "envelope_prefix",
        &["read_binlog", "infer_schema", "nested_json_schema", "read_split", "read_table"],
    ),
    ("types", &["read_binlog", "infer_schema", "nested_json_schema", "read_split", "read_table"]),
    ("column_names", &["read_binlog", "infer_schema", "read_split"]),
    ("schemas", &["read_binlog", "infer_schema", "read_split"]),
    ("history", &["read_binlog", "infer_schema", "read_split"]),
    ("batch_rows", &["read_binlog", "read_split", "read_table"]),
    ("batch_bytes", &["read_binlog", "read_split", "read_table"]),
    ("batch_end", &["read_binlog", "read_split"]),
    ("segment_bytes", &["read_binlog", "read_split"]),
    ("threads", &["read_binlog", "read_split"]),
    ("uncommitted", &["read_binlog", "read_split"]),
    ("statements", &["read_binlog", "read_split"]),
    ("skip_events", &["read_binlog", "read_split"]),
    ("gaps", &["read_binlog", "read_split"]),
    ("index", &["read_binlog", "read_split"]),
    ("verify_checksum", &["read_binlog", "read_split"]),
    ("storage_options", &["read_binlog", "infer_schema", "read_split"]),
];

/// The keywords of a read.
pub(super) struct ReadKeywords {
    pub(super) tables: Option<Patterns>,
    pub(super) exclude_tables: Option<Patterns>,
    pub(super) include: Option<Patterns>,
    pub(super) online_schema_change: &'static str,
    pub(super) lower_case_table_names: Option<u8>,
    pub(super) columns: Option<ColumnsKeyword>,
    pub(super) operations: Option<Patterns>,
    pub(super) r#where: Option<String>,
    pub(super) unlogged_changes: Option<&'static str>,
    pub(super) mask: Option<MaskKeyword>,
    pub(super) mask_salt: Option<SaltKeyword>,
    pub(super) start: Option<Place>,
    pub(super) stop: Option<Place>,
    pub(super) layout: &'static str,
    pub(super) old_value: bool,
    pub(super) split_key_updates: bool,
    pub(super) partial_images: &'static str,
    pub(super) envelope: Option<Patterns>,
    pub(super) envelope_prefix: String,
    pub(super) types: Option<TypesKeyword>,
    pub(super) column_names: &'static str,
    pub(super) schemas: Option<SchemasKeyword>,
    pub(super) history: Option<HistoryKeyword>,
    pub(super) batch_rows: Option<usize>,
    pub(super) batch_bytes: Option<usize>,
    pub(super) batch_end: Option<&'static str>,
    pub(super) segment_bytes: Option<usize>,
    pub(super) threads: Option<usize>,
    pub(super) uncommitted: &'static str,
    pub(super) statements: &'static str,
    pub(super) skip_events: Option<Vec<u8>>,
    pub(super) gaps: &'static str,
    pub(super) index: &'static str,
    pub(super) verify_checksum: bool,
    pub(super) storage_options: Option<Storage>,
}

impl ReadKeywords {
    /// The keywords of a call of this function, and the defaults of the others.
    ///
    /// # Errors
    ///
    /// A keyword is unknown (a `TypeError`), or has a value of another kind.
    pub(super) fn of_call(function: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let accepted = KEYWORDS.iter().filter(|(_, functions)| functions.contains(&function));
        let accepted: Vec<_> = accepted.map(|(name, _)| *name).collect();
        let given = Given::try_new(function, &accepted, keywords)?;
        Ok(Self {
            tables: given.get("tables", None)?,
            exclude_tables: given.get("exclude_tables", None)?,
            include: given.get("include", None)?,
            online_schema_change: given.word(
                "online_schema_change",
                &["evidence", "trust"],
                "evidence",
            )?,
            lower_case_table_names: given.get("lower_case_table_names", None)?,
            columns: given.get("columns", None)?,
            operations: given.get("operations", None)?,
            r#where: given.get("where", None)?,
            unlogged_changes: given
                .optional_word("unlogged_changes", &["error", "warn", "ignore"])?,
            mask: given.get("mask", None)?,
            mask_salt: given.get("mask_salt", None)?,
            start: given.get("start", None)?,
            stop: given.get("stop", None)?,
            layout: given.word("layout", &["flat", "nested"], "flat")?,
            old_value: given.get("old_value", true)?,
            split_key_updates: given.get("split_key_updates", true)?,
            partial_images: given.word("partial_images", &["null", "error"], "null")?,
            envelope: given.get("envelope", None)?,
            envelope_prefix: given.get("envelope_prefix", "_".to_owned())?,
            types: given.get("types", None)?,
            column_names: given.word("column_names", &["log", "positional", "none"], "log")?,
            schemas: given.get("schemas", None)?,
            history: given.get("history", None)?,
            batch_rows: given.get("batch_rows", None)?,
            batch_bytes: given.get("batch_bytes", None)?,
            batch_end: given.optional_word("batch_end", &["transaction"])?,
            segment_bytes: given.get("segment_bytes", None)?,
            threads: given.get("threads", None)?,
            uncommitted: given.word("uncommitted", &["skip", "emit"], "skip")?,
            statements: given.word("statements", &["error", "skip"], "error")?,
            skip_events: given.get("skip_events", None)?,
            gaps: given.word("gaps", &["error", "allow"], "error")?,
            index: given.word("index", &["use", "ignore"], "use")?,
            verify_checksum: given.get("verify_checksum", true)?,
            storage_options: given.get("storage_options", None)?,
        })
    }
}
