//! Integration tests: one binary, complete files.
//!
//! | module | tests that |
//! |---|---|
//! | [`seed`] | the binlog of the project's first seed is read, byte by byte |
//! | [`shop`], [`recorded`] | replaying logs of real servers gives the result of `SELECT` |
//! | [`invariance`] | threads, segments, inputs, filters, resuming and splits change no row |
//! | [`exactly_once`] | a consumer that stops after any batch and resumes receives each row once |
//! | [`transactions`] | the committed rows are returned, from the start to the stop |
//! | [`items`] | items that are not rows are returned between the rows |
//! | [`details`] | the envelope contains GTID, connection, number and statement of a commit |
//! | [`nested_json`] | changes of many tables become batches of one schema |
//! | [`table_history`] | rows of logs without column names are decoded with the DDL before them |
//! | [`old_servers`] | logs of MySQL 5 and old versions of MariaDB are read, or refused with a clear error |
//! | [`mariadb`] | compressed events and columns, and rows events in fragments, are read |
//! | [`malformed`] | damaged input is an error with its place, and returns no row |
//! | [`collations`] | every collation id of every server has its character set |
//! | [`fuzz`] | the fuzz targets accept their corpus, the inputs that they found, and mutations |
//! | [`partial_json`] | documents are built from the changes in the log |
//! | [`text`] | cells that are not valid text are an error with the row, or are replaced |
//! | [`quiet_log`] | complete transactions do not wait for events that may never arrive |
//! | [`memory`] | memory stays small for a transaction of 2 GiB, and for wrong lengths |
//! | [`layers`] | `src/` imports downwards only |
//! | [`arrow_hashes`] | hashes of all batches of all logs are as before |
//! | [`circles`] | the files of a folder of `src/` do not import each other in a circle |
//!
//! [`log`] writes binlogs, [`rows`] reads them, [`fixtures`] finds recorded ones, [`source_files`] finds the files of `src/`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // tests may

mod arrow_hashes;
mod circles;
mod collations;
mod details;
mod exactly_once;
mod fixtures;
mod fuzz;
mod history_store;
mod invariance;
mod items;
mod layers;
mod log;
mod malformed;
mod mariadb;
mod memory;
mod nested_json;
mod old_servers;
mod partial_json;
mod quiet_log;
mod recorded;
mod rows;
mod seed;
mod shop;
mod source_files;
mod table_history;
mod text;
mod transactions;

#[allow(unreachable_pub)] // a separate crate for the fuzzer
#[path = "../../fuzz/src/lib.rs"]
mod targets;
