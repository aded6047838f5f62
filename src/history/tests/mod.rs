//! Histories over a store in memory, and structures from text.

mod checkpoints;
mod coverage;
mod followers;
mod schemas;
mod shared_store;

use crate::ddl::{DdlSession, SqlServer};
use crate::history::{Baseline, Catalog, LoggedDdl};
use crate::position::Position;

const SERVER: SqlServer = SqlServer { is_mariadb: false, version: (9, 7, 0) };
const BASE: &str =
    "CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE a (id INT);\nCREATE TABLE b (id INT);\n";

fn at(offset: u64) -> Position {
    Position::in_file("binlog.000001", offset)
}

fn ddl(offset: u64, statement: &str) -> LoggedDdl {
    LoggedDdl {
        position: at(offset),
        timestamp: i64::try_from(offset).unwrap() * 1_000_000,
        database: "shop".into(),
        statement: statement.into(),
        session: DdlSession::new(SERVER),
    }
}

fn baseline() -> Baseline {
    Baseline::of_all_tables(BASE, DdlSession::new(SERVER))
}

/// The tables of the catalog among those of the tests.
fn tables(catalog: &Catalog) -> String {
    let known = |name: &&&str| catalog.find("shop", name).is_some();
    ["a", "b", "c", "d", "e"].iter().filter(known).copied().collect()
}
