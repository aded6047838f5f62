//! Integration tests: one binary, whole files.
//!
//! | module | shows |
//! |---|---|
//! | [`seed`] | the binlog of the project's first seed, byte by byte |
//! | [`shop`], [`recorded`] | what real servers wrote gives what `SELECT` gave |
//! | [`invariance`] | threads, segments, inputs, filters, resuming and splits change no row |
//! | [`exactly_once`] | a consumer that stops after any batch and resumes gets every row once |
//! | [`transactions`] | which rows happened, where reading begins and ends |
//! | [`items`] | what is not a row, between the rows |
//! | [`details`] | GTID, connection, number and statement of a commit, wherever they stand |
//! | [`documents`] | changes of many tables as batches of one schema |
//! | [`table_history`] | rows of logs that name no columns, by the DDL before them |
//! | [`old_servers`] | what MySQL 5 and old MariaDBs wrote is read, or refused by name |
//! | [`mariadb`] | compressed events and columns, rows events in fragments |
//! | [`malformed`] | what is broken is an error with its place, and gives no row |
//! | [`collations`] | every collation id of every server has its character set |
//! | [`fuzz`] | the fuzz targets over their corpus, over what they found, over mutations |
//! | [`partial_json`] | documents that the log holds only the changes of |
//! | [`text`] | cells that are no text: an error with its row, or replaced |
//! | [`quiet_log`] | complete transactions do not wait for events that may never arrive |
//! | [`memory`] | a transaction of 2 GiB, lengths that lie |
//! | [`layers`] | `src/` imports downwards only |
//!
//! [`log`] writes binlogs, [`rows`] reads them, [`fixtures`] finds those that are recorded.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // tests may

mod collations;
mod details;
mod documents;
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
mod old_servers;
mod partial_json;
mod quiet_log;
mod recorded;
mod rows;
mod seed;
mod shop;
mod table_history;
mod text;
mod transactions;

#[allow(unreachable_pub)] // a crate of its own for the fuzzer
#[path = "../../fuzz/src/lib.rs"]
mod targets;
