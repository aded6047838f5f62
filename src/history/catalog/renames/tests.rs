//! Renames, and the foreign keys after them. The expected ones are what SHOW CREATE TABLE prints on the servers.

use super::*;
use crate::ddl::{DdlSession, SqlServer};
use crate::history::LoggedDdl;
use crate::position::Position;

const MYSQL: SqlServer = SqlServer { is_mariadb: false, version: (9, 7, 0) };
const OLD: SqlServer = SqlServer { is_mariadb: false, version: (5, 7, 44) };
const MARIADB: SqlServer = SqlServer { is_mariadb: true, version: (11, 8, 9) };

/// Statements in the database `d`, in which `c` refers to `p`, and then the foreign keys of all tables: `d.c p`.
fn after(server: SqlServer, lower_case_table_names: u8, statements: &str) -> String {
    let mut catalog = Catalog::new(server, lower_case_table_names);
    let start = "CREATE DATABASE d CHARACTER SET latin1; CREATE DATABASE e; CREATE TABLE r (id INT PRIMARY KEY);
         CREATE TABLE P (id INT PRIMARY KEY, v INT, t VARCHAR(9), e ENUM('a'));
         CREATE TABLE c (p INT, FOREIGN KEY (p) REFERENCES P(`id`) ON DELETE CASCADE);
         CREATE TABLE s (id INT PRIMARY KEY, s INT, CONSTRAINT self FOREIGN KEY (s) REFERENCES d.s (id))";
    for statement in start.split(';').chain(statements.split(';')) {
        apply(&mut catalog, server, statement);
    }
    let again = Catalog::from_script(&catalog.to_script(), None, &DdlSession::new(OLD)).unwrap();
    assert_eq!(keys(&again), keys(&catalog), "{statements}");
    keys(&catalog)
}

/// Applies a statement, and returns the tables that it changes.
fn apply(catalog: &mut Catalog, server: SqlServer, statement: &str) -> String {
    let ddl = LoggedDdl {
        position: Position::default(),
        timestamp: 0,
        database: "d".into(),
        statement: statement.into(),
        session: DdlSession::new(server),
    };
    let changed = catalog.apply(&ddl).changed;
    changed.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn keys(catalog: &Catalog) -> String {
    let mut found = Vec::new();
    for (database, table, state) in catalog.tables() {
        let TableState::Known(definition) = state else { continue };
        let constraints = definition.create().constraints.iter();
        for constraint in constraints.filter(|constraint| !constraint.columns.is_empty()) {
            let text = constraint.text.replace("REFERENCES ", "").replace('`', "");
            let text = text.replace(" ON DELETE CASCADE", "").replace(" (id)", "");
            found.push(format!("{database}.{table} {text}"));
        }
    }
    found.join("; ")
}

#[test]
fn parents() {
    for (statements, expected) in [
        ("RENAME TABLE P TO p2", "d.c p2; d.s d.s"),
        ("ALTER TABLE P RENAME p2", "d.c p2; d.s d.s"),
        ("ALTER TABLE P ADD x INT, RENAME TO p2", "d.c p2; d.s d.s"),
        ("ALTER TABLE P FROBNICATE, RENAME TO p2", "d.c p2; d.s d.s"),
        ("RENAME TABLE P TO q, r TO P", "d.c q; d.s d.s"),
        ("RENAME TABLE P TO q, r TO P, q TO r", "d.c r; d.s d.s"),
        ("RENAME TABLE P TO e.p2", "d.c e.p2; d.s d.s"),
        ("RENAME TABLE P TO e.p2; RENAME TABLE e.p2 TO p3", "d.c p3; d.s d.s"),
        ("RENAME TABLE c TO e.c", "d.s d.s; e.c d.P"),
        ("RENAME TABLE c TO e.c, P TO e.P", "d.s d.s; e.c P"),
        ("RENAME TABLE P TO e.P, c TO e.c", "d.s d.s; e.c P"),
        ("RENAME TABLE c TO c2", "d.c2 P(id); d.s d.s"),
        ("RENAME TABLE s TO s2", "d.c P(id); d.s2 s2"),
        ("ALTER TABLE s ADD x INT, RENAME TO e.s2", "d.c P(id); e.s2 s2"),
        // Only the name of a parent counts.
        ("DROP TABLE P; RENAME TABLE r TO P; RENAME TABLE P TO p2", "d.c p2; d.s d.s"),
        ("DROP TABLE P; RENAME TABLE c TO P; RENAME TABLE P TO p2", "d.p2 p2; d.s d.s"),
        ("DROP TABLE P; RENAME TABLE P TO p2", "d.c p2; d.s d.s"),
        ("DROP TABLE P; ALTER TABLE P ADD x INT, RENAME p2", "d.c p2; d.s d.s"),
        (
            "DROP TABLE P; CREATE TABLE P (id INT PRIMARY KEY) ENGINE=MyISAM; RENAME TABLE P TO p2",
            "d.c P(id); d.s d.s",
        ),
        ("RENAME TABLE r TO r2", "d.c P(id); d.s d.s"),
        ("CREATE TABLE p (id INT); RENAME TABLE p TO p2", "d.c P(id); d.s d.s"),
        // Names in a new foreign key are in the table's new database.
        (
            "ALTER TABLE r ADD x INT, ADD FOREIGN KEY (x) REFERENCES P (id), RENAME TO e.r",
            "d.c P(id); d.s d.s; e.r P",
        ),
        (
            "ALTER TABLE r ADD x INT, ADD FOREIGN KEY (x) REFERENCES r (id), RENAME TO r2",
            "d.c P(id); d.r2 r2; d.s d.s",
        ),
    ] {
        assert_eq!(after(MYSQL, 0, statements), expected, "{statements}");
    }
}

#[test]
fn names_in_lower_case() {
    for (statements, expected) in [
        ("RENAME TABLE p TO P2", "d.c p2; d.s d.s"),
        ("RENAME TABLE C TO E.c", "d.s d.s; e.c d.p"),
        ("RENAME TABLE s TO S", "d.c P(id); d.s d.s"),
    ] {
        assert_eq!(after(MARIADB, 1, statements), expected, "{statements}");
    }
}

#[test]
fn copies() {
    let (followed, stays) = ("d.c p2; d.s d.s", "d.c P(id); d.s d.s");
    for (server, clause, expected) in [
        (MYSQL, "MODIFY v BIGINT, ALGORITHM=COPY", followed),
        (OLD, "MODIFY v BIGINT", stays),
        (MARIADB, "MODIFY v BIGINT", stays),
        (MARIADB, "MODIFY v BIGINT, ALGORITHM=INPLACE", followed),
        (MARIADB, "MODIFY v INT UNSIGNED", stays),
        (MARIADB, "MODIFY v INT(5) NOT NULL FIRST", followed),
        (MARIADB, "CHANGE v w INT, ADD x INT, ADD KEY (x)", followed),
        (OLD, "ADD x INT, ALGORITHM = COPY", stays),
        (OLD, "ADD x INT, ALGORITHM=DEFAULT", followed),
        (OLD, "ADD x INT AS (v) VIRTUAL", stays),
        (OLD, "ADD CHECK (v < 9)", followed),
        (MARIADB, "ADD CHECK (v < 9)", stays),
        (OLD, "MODIFY t VARCHAR(200)", followed),
        (OLD, "MODIFY t VARCHAR(300)", stays),
        (MARIADB, "MODIFY t VARCHAR(300)", followed),
        (MARIADB, "MODIFY t VARCHAR(5)", stays),
        (MARIADB, "MODIFY e ENUM('a', 'b')", followed),
        (MARIADB, "MODIFY e ENUM('b', 'a')", stays),
        (MARIADB, "CONVERT TO CHARACTER SET latin1", followed),
        (MARIADB, "CONVERT TO CHARACTER SET utf8mb4", stays),
    ] {
        let statement = format!("ALTER TABLE P {clause}, RENAME TO p2");
        assert_eq!(after(server, 0, &statement), expected, "{statement}");
    }
    // A table that is copied loses its foreign keys.
    let statement = "ALTER TABLE s MODIFY s BIGINT, RENAME TO s2";
    assert_eq!(after(MARIADB, 0, statement), "d.c P(id)");
    assert_eq!(after(MYSQL, 0, statement), "d.c P(id); d.s2 s2");
    let statement = "ALTER TABLE s MODIFY s BIGINT, RENAME TO s";
    assert_eq!(after(MARIADB, 0, statement), "d.c P(id); d.s d.s");
}

#[test]
fn changed_tables() {
    let mut catalog = Catalog::new(MARIADB, 0);
    for statement in [
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE c (p INT, FOREIGN KEY (p) REFERENCES p (id))",
        "CREATE TABLE e.c (p INT, FOREIGN KEY (p) REFERENCES d.p (id))",
        "CREATE TABLE o (p INT)",
    ] {
        apply(&mut catalog, MARIADB, statement);
    }
    assert_eq!(apply(&mut catalog, MARIADB, "RENAME TABLE p TO q"), "d.p d.q d.c e.c");
    assert_eq!(apply(&mut catalog, MARIADB, "RENAME TABLE o TO o2"), "d.o d.o2");
    let shown = catalog.table_sql("e", "c").unwrap();
    assert!(shown.contains("FOREIGN KEY (`p`) REFERENCES `d`.`q` (id)"), "{shown}");
}
