//! The extension module `binarrow._native`: Python classes and functions for `reader` and `source`.
//!
//! Input: Python values. Output: Arrow capsules and pyarrow objects, without a copy. The
//! interpreter's lock is released during each wait. Nothing runs at import: threads start with a
//! reader.

mod baseline;
mod capsule;
mod change_batch;
mod connection_spec;
mod ddl_session;
mod emptied_rows;
mod errors;
mod event;
mod events;
mod file_object;
mod found_files;
mod given;
mod history;
mod history_change;
mod history_cursor;
mod history_keyword;
mod hooks;
mod index;
mod input;
mod interrupts;
mod item;
mod item_place;
mod keywords;
mod live_log;
mod logging;
mod past_rows;
mod place;
mod position;
mod read_keywords;
mod read_options;
mod reader;
mod row_hash;
mod running;
mod schemas;
mod server;
mod server_log;
mod server_schema;
mod spellings;
mod split;
mod storage;
mod stored_version;
mod summary;
mod table_ranges;
mod table_reader;
mod table_rows;
mod table_schema;
mod type_options;
mod undo;
mod unlogged_change;
mod url;
mod verify;

use pyo3::prelude::*;

/// The module: a table of contents.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::baseline::{PyBaseline, read_schemas};
    #[pymodule_export]
    use super::change_batch::PyChangeBatch;
    #[pymodule_export]
    use super::connection_spec::PyConnectionSpec;
    #[pymodule_export]
    use super::errors::message_parts;
    #[pymodule_export]
    use super::event::{PyEvent, PyEventReader, inspect};
    #[pymodule_export]
    use super::events::event_keywords;
    #[pymodule_export]
    use super::found_files::{expand_source, find_logs, py_is_one_log};
    #[pymodule_export]
    use super::history::PyHistory;
    #[pymodule_export]
    use super::history_change::PyChanges;
    #[pymodule_export]
    use super::hooks::set_hooks;
    #[pymodule_export]
    use super::index::{build_index, describe_index};
    #[pymodule_export]
    use super::item::{PyHeartbeat, PySchemaChange, PySkippedStatement, PyTransaction, PyTruncate};
    #[pymodule_export]
    use super::live_log::PyLiveLog;
    #[pymodule_export]
    use super::past_rows::PyPastRows;
    #[pymodule_export]
    use super::place::parse_place;
    #[pymodule_export]
    use super::position::PyPosition;
    #[pymodule_export]
    use super::reader::{PyBinlogReader, infer_schema, nested_json_schema, read_binlog};
    #[pymodule_export]
    use super::row_hash::hash_rows;
    #[pymodule_export]
    use super::server::PyServer;
    #[pymodule_export]
    use super::server_log::{file_start, range_end, replaced_tables};
    #[pymodule_export]
    use super::split::{PySplit, link_splits, read_split, scan_splits};
    #[pymodule_export]
    use super::stored_version::check_stored_version;
    #[pymodule_export]
    use super::table_ranges::{selected_tables, table_identities, table_ranges};
    #[pymodule_export]
    use super::table_reader::PyTableReader;
    #[pymodule_export]
    use super::table_rows::{PyTableRows, read_table};
    #[pymodule_export]
    use super::table_schema::{PyColumn, PyKey, PyTableSchema};
    #[pymodule_export]
    use super::type_options::PyTypeOptions;
    #[pymodule_export]
    use super::undo::PyUndoWriter;
    #[pymodule_export]
    use super::unlogged_change::{PyForeignKey, PyUnloggedChange};
    #[pymodule_export]
    use super::url::{PyUrl, has_password, py_is_uri, shown_uri};
    #[pymodule_export]
    use super::verify::{PyChosenRows, PyRowChanges, PyRowSums};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("STORED_VERSIONS", super::stored_version::stored_versions(module.py())?)?;
        super::logging::install(module.py())?;
        super::errors::add_to(module)
    }
}
