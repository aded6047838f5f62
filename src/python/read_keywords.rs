//! The keywords of `read_binlog`, and which of them other functions take.
//!
//! Written by `make options` from the table in `python/binarrow/options`: edit the table.

use super::given::{Function, Given};
use super::history_keyword::HistoryKeyword;
use super::keywords::{ColumnsKeyword, MaskKeyword, Patterns, Place, SaltKeyword};
use super::schemas::SchemasKeyword;
use super::storage::Storage;
use super::type_options::TypesKeyword;
use pyo3::PyResult;

pub(super) const READ_BINLOG: Function = Function {
    name: "read_binlog",
    keywords: &[
        "tables",
        "exclude_tables",
        "include",
        "online_schema_change",
        "lower_case_table_names",
        "columns",
        "operations",
        "unlogged_changes",
        "mask",
        "mask_salt",
        "start",
        "stop",
        "layout",
        "old_value",
        "split_key_updates",
        "partial_images",
        "envelope",
        "envelope_prefix",
        "types",
        "column_names",
        "schemas",
        "history",
        "batch_rows",
        "batch_bytes",
        "batch_end",
        "segment_bytes",
        "threads",
        "uncommitted",
        "statements",
        "skip_events",
        "gaps",
        "verify_checksum",
        "storage_options",
    ],
};
pub(super) const INFER_SCHEMA: Function = Function {
    name: "infer_schema",
    keywords: &[
        "columns",
        "mask",
        "mask_salt",
        "layout",
        "envelope",
        "envelope_prefix",
        "types",
        "column_names",
        "schemas",
        "history",
        "storage_options",
    ],
};
pub(super) const NESTED_JSON_SCHEMA: Function =
    Function { name: "nested_json_schema", keywords: &["envelope", "envelope_prefix", "types"] };
pub(super) const READ_SPLIT: Function = Function {
    name: "read_split",
    keywords: &[
        "tables",
        "exclude_tables",
        "include",
        "online_schema_change",
        "lower_case_table_names",
        "columns",
        "operations",
        "unlogged_changes",
        "mask",
        "mask_salt",
        "layout",
        "old_value",
        "split_key_updates",
        "partial_images",
        "envelope",
        "envelope_prefix",
        "types",
        "column_names",
        "schemas",
        "history",
        "batch_rows",
        "batch_bytes",
        "batch_end",
        "segment_bytes",
        "threads",
        "uncommitted",
        "statements",
        "skip_events",
        "gaps",
        "verify_checksum",
        "storage_options",
    ],
};

/// The keywords of a read.
pub(super) struct ReadKeywords {
    pub(super) tables: Option<Patterns>,
    pub(super) exclude_tables: Option<Patterns>,
    pub(super) include: Option<Patterns>,
    pub(super) online_schema_change: &'static str,
    pub(super) lower_case_table_names: Option<u8>,
    pub(super) columns: Option<ColumnsKeyword>,
    pub(super) operations: Option<Patterns>,
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
    pub(super) verify_checksum: bool,
    pub(super) storage_options: Option<Storage>,
}

impl ReadKeywords {
    /// The keywords that are given, and the defaults of the others.
    pub(super) fn try_new(given: &Given<'_, '_>) -> PyResult<Self> {
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
            verify_checksum: given.get("verify_checksum", true)?,
            storage_options: given.get("storage_options", None)?,
        })
    }
}
