//! The fuzz targets: each accepts any bytes, and must neither panic, nor hang, nor use more memory
//! than the limits allow.
//!
//! `fuzz_targets/NAME.rs` runs one target with libFuzzer; the Rust tests include this file and run
//! each target on `corpus/NAME` and on earlier findings (`tests/fixtures/bugs/NAME`). Results
//! without an error are compared with an oracle, if there is one: a round trip, a second decoder,
//! Arrow's own validation.
//!
//! | file | targets |
//! |---|---|
//! | `log.rs` | bytes in a binlog, through the reader |
//! | `event.rs` | one event's decoder |
//! | `gtid.rs` | GTIDs and their sets, as text and as bytes |
//! | `value.rs` | one cell |
//! | `json.rs` | a document, and diffs on it |
//! | `history.rs` | `CREATE TABLE` text, DDL |
//! | `protocol.rs` | the packets of a server |
//! | `index.rs` | the index of a file |

mod event;
mod gtid;
mod history;
mod index;
mod json;
mod log;
mod protocol;
mod value;

/// A function that runs a target on bytes.
pub type Target = fn(&[u8]);

/// All targets by name: those of `fuzz_targets` and the folders of `corpus`.
pub const TARGETS: &[(&str, Target)] = &[
    ("file", log::file),
    ("events", log::events),
    ("rows", log::rows),
    ("compressed_rows", log::compressed_rows),
    ("payload", log::payload),
    ("table_map", event::table_map),
    ("create_table", history::create_table),
    ("ddl", history::ddl),
    ("query", event::query),
    ("json", json::document),
    ("json_diff", json::diffs),
    ("decimal", value::decimal),
    ("temporals", value::temporals),
    ("bytes", value::bytes),
    ("text", value::text),
    ("gtid_text", gtid::text),
    ("gtid_binary", gtid::binary),
    ("gtid_event", gtid::event),
    ("gtid_tagged", gtid::tagged),
    ("login", protocol::login),
    ("result_set", protocol::result_set),
    ("frames", protocol::frames),
    ("dump", protocol::dump),
    ("index", index::index),
];

/// Runs the target with this name.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|(other, _)| *other == name);
    target.expect("a target of that name").1(data);
}

/// Splits `bytes` after `len` bytes, or after all of them if there are fewer.
fn split(bytes: &[u8], len: u16) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.len().min(usize::from(len)))
}
