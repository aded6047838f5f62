//! Targets for table structures: those in SQL text, and those that follow from statements.

use super::event::{assert_plan, format_description};
use super::split;
use binarrow::binlog::TableMap;
use binarrow::charset::Collation;
use binarrow::columnar::{ColumnNames, PlanOptions, TablePlan};
use binarrow::ddl::{DdlSession, SqlServer};
use binarrow::history::{Catalog, LoggedDdl, Schemas, TableState};
use binarrow::position::Position;
use std::sync::Arc;

/// A dump, and the statement of one table combined with the structure in a log.
///
/// ```text
/// options 1, table map's length 2, its body, SQL
/// ```
pub(crate) fn create_table(data: &[u8]) {
    let [choice, a, b, data @ ..] = data else { return };
    let (map, text) = split(data, u16::from_le_bytes([*a, *b]));
    let Ok(text) = std::str::from_utf8(text) else { return };
    let mut dump = Schemas::default();
    let _ = dump.add_text(text);
    let Ok(map) = TableMap::decode(map, 6) else { return };
    let format = format_description(choice & 2 == 2);
    let Ok(logged) = map.schema(&format) else { return };
    let mut one = Schemas::default();
    let _ = one.add_table(&logged.database, &logged.table, text);
    for schemas in [dump, one] {
        assert!(!schemas.advice(&logged.database, &logged.table).is_empty());
        let options = PlanOptions {
            column_names: ColumnNames::Positional,
            schemas: Arc::new(schemas),
            ..PlanOptions::default()
        };
        if let Ok(plan) = TablePlan::try_new(&map, &format, &options) {
            // The types in the log determine how the rows are read; no statement changes that.
            for (column, logged) in plan.table.columns.iter().zip(&logged.columns) {
                assert_eq!(column.nullable, logged.nullable);
            }
            assert_plan(plan, map.types.len());
        }
    }
}

/// Statements that are separated by NUL bytes and applied one after another; the last one is also
/// parsed as a script.
///
/// ```text
/// options 1, statements
/// ```
pub(crate) fn ddl(data: &[u8]) {
    let [choice, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let version = if choice & 2 == 2 { (11, 8, 9) } else { (9, 7, 0) };
    let session = DdlSession {
        sql_mode: u64::from(choice & 4),
        server_collation: (choice & 8 == 8).then_some(Collation(8)),
        ..DdlSession::new(SqlServer { is_mariadb: choice & 2 == 2, version })
    };
    let mut catalog = Catalog::new(session.server, u8::from(choice & 16 == 16));
    for statement in text.split('\0') {
        let ddl = LoggedDdl {
            position: Position::default(),
            timestamp: 0,
            database: "d".into(),
            statement: statement.into(),
            session: session.clone(),
        };
        let parsed = ddl.parse();
        if parsed.changes_structures() {
            catalog.apply_statement(&parsed, &ddl.session, &ddl.position);
        }
        let _ = Catalog::from_script(statement, Some("d"), &session);
    }
    let known = |table: &TableState| matches!(table, TableState::Known(_));
    let script = catalog.to_script();
    let again = Catalog::from_script(&script, None, &session).expect("an own script is read");
    assert_eq!(again.tables().count(), catalog.tables().filter(|t| known(t.2)).count(), "{script}");
    for (database, table, state) in again.tables() {
        assert_eq!(Some(state), catalog.find(database, table), "{script}");
        let _ = catalog.schema(database, table);
    }
}
