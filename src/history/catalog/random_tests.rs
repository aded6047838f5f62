//! Random statements: none panics, and the catalog after them is printed without loss.

use super::super::logged_ddl::LoggedDdl;
use super::{Catalog, TableState};
use crate::charset::Collation;
use crate::ddl::{DdlSession, SqlServer};
use crate::position::Position;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const NAMES: &[&str] = &["a", "b", "C", "`d``\"'`", "é", "t", "u", "e.t", "`select`", "row_start"];

const TYPES: &[&str] = &[
    "INT",
    "TINYINT(1)",
    "BOOL",
    "BIGINT UNSIGNED",
    "INT(5) ZEROFILL",
    "SERIAL",
    "DECIMAL(9,2)",
    "REAL",
    "FLOAT(30)",
    "BIT(3)",
    "YEAR",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP(3) NULL",
    "DATETIME(6)",
    "CHAR(3)",
    "VARCHAR(20)",
    "TEXT",
    "TEXT(99)",
    "VARCHAR(40000)",
    "TINYTEXT",
    "LONGTEXT",
    "VARBINARY(9)",
    "BLOB",
    "BINARY(3)",
    "NCHAR(3)",
    "CHAR(3) BYTE",
    "ENUM('x','it''s','\\\\')",
    "SET('p ','q')",
    "JSON",
    "POINT",
    "VECTOR(3)",
    "UUID",
    "INET6",
    "VARCHAR(9) BINARY",
    "CHAR(3) ASCII",
    "TEXT CHARACTER SET utf8mb4",
    "TEXT COLLATE latin1_bin",
    "VARCHAR(20) COMPRESSED",
];

const ATTRIBUTES: &[&str] = &[
    "",
    "",
    "NOT NULL",
    "NULL",
    "DEFAULT 'it''s \"'",
    "DEFAULT \"x\" COMMENT \"y\"",
    "DEFAULT (uuid() - -1)",
    "DEFAULT x'41'",
    "DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE now()",
    "UNIQUE",
    "PRIMARY KEY",
    "KEY",
    "COMMENT 'a\\n\\'b\\\\'",
    "INVISIBLE",
    "AUTO_INCREMENT",
    "AS (1 + a) STORED",
    "GENERATED ALWAYS AS (concat('a' 'b', \"c\", `d```))",
    "CHECK (c > 1)",
    "CONSTRAINT q CHECK (b'1')",
    "REFERENCES u (a) ON DELETE SET NULL",
    "AS ROW START",
    "WITHOUT SYSTEM VERSIONING",
    "CHARACTER SET ucs2",
    "SRID 4326",
    "/*!80023 INVISIBLE */",
    "/*!50100 DEFAULT 1 */",
];

const ELEMENTS: &[&str] = &[
    "PRIMARY KEY (a)",
    "UNIQUE (b, a)",
    "KEY (C(3))",
    "UNIQUE KEY k (a DESC) USING HASH",
    "KEY k2 ((a + 1), b)",
    "FULLTEXT KEY (b)",
    "SPATIAL INDEX s (b)",
    "VECTOR KEY (a)",
    "CONSTRAINT f FOREIGN KEY (a) REFERENCES u (a)",
    "FOREIGN KEY (a, b) REFERENCES u (a, b) ON UPDATE NO ACTION",
    "CHECK (a > 0)",
    "CONSTRAINT c CHECK (a) NOT ENFORCED",
    "KEY i (a) INVISIBLE",
    "PERIOD FOR p (a, b)",
    "UNIQUE (a, p WITHOUT OVERLAPS)",
    "KEY (`d``\"'`)",
];

const OPTIONS: &[&str] = &[
    "",
    "",
    "ENGINE=InnoDB",
    "ENGINE 'MEMORY'",
    "DEFAULT CHARSET=utf8mb4",
    "COLLATE latin1_bin",
    "COMMENT='it''s'",
    "CHARSET=ucs2 COMMENT 'x'",
    "WITH SYSTEM VERSIONING",
    "PARTITION BY HASH (a) PARTITIONS 3",
    "AUTO_INCREMENT=5",
];

fn name() -> impl Strategy<Value = String> {
    select(NAMES).prop_map(str::to_owned)
}

fn column() -> impl Strategy<Value = String> {
    (name(), select(TYPES), vec(select(ATTRIBUTES), 0..3)).prop_map(|(name, kind, attributes)| {
        format!("{} {kind} {}", name.replace("e.t", "et"), attributes.join(" "))
    })
}

fn element() -> impl Strategy<Value = String> {
    prop_oneof![3 => column(), 1 => select(ELEMENTS).prop_map(str::to_owned)]
}

fn place() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("FIRST".into()),
        name().prop_map(|name| format!("AFTER {name}"))
    ]
}

fn action() -> impl Strategy<Value = String> {
    let condition = || select(&["", "", "IF NOT EXISTS", "IF EXISTS"][..]);
    prop_oneof![
        (condition(), column(), place()).prop_map(|(i, c, p)| format!("ADD COLUMN {i} {c} {p}")),
        vec(element(), 1..3).prop_map(|e| format!("ADD ({})", e.join(", "))),
        select(ELEMENTS).prop_map(|element| format!("ADD {element}")),
        (condition(), column(), place()).prop_map(|(i, c, p)| format!("MODIFY {i} {c} {p}")),
        (name(), column(), place()).prop_map(|(n, c, p)| format!("CHANGE {n} {c} {p}")),
        (condition(), name()).prop_map(|(i, n)| format!("DROP COLUMN {i} {n}")),
        (name(), name()).prop_map(|(a, b)| format!("RENAME COLUMN {a} TO {b}")),
        (
            select(&["KEY", "CONSTRAINT", "FOREIGN KEY", "INDEX IF EXISTS"][..]),
            select(&["a", "b", "k", "f", "PRIMARY"][..])
        )
            .prop_map(|(what, name)| format!("DROP {what} {name}")),
        (
            name(),
            select(&["SET DEFAULT 'x'", "DROP DEFAULT", "SET INVISIBLE", "SET DEFAULT (1)"][..])
        )
            .prop_map(|(name, what)| format!("ALTER {name} {what}")),
        select(
            &[
                "CONVERT TO CHARACTER SET utf8mb4",
                "CONVERT TO CHARSET latin1 COLLATE latin1_bin",
                "DEFAULT CHARSET ucs2",
                "COMMENT 'z'",
                "DROP PRIMARY KEY",
                "RENAME INDEX k TO a",
                "ALTER INDEX k INVISIBLE",
                "ADD SYSTEM VERSIONING",
                "DROP SYSTEM VERSIONING",
                "ENGINE=MyISAM",
                "ORDER BY a, b",
                "DROP PERIOD FOR p",
                "FROBNICATE",
                "LOCK=NONE",
                "CONVERT PARTITION p TO TABLE u",
                "REMOVE PARTITIONING",
                "EXCHANGE PARTITION p WITH TABLE u"
            ][..]
        )
        .prop_map(str::to_owned),
        name().prop_map(|name| format!("RENAME TO {name}")),
    ]
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (name(), vec(element(), 1..6), select(OPTIONS))
            .prop_map(|(name, elements, option)| format!("CREATE TABLE {name} ({}) {option}", elements.join(", "))),
        6 => (name(), vec(action(), 1..4)).prop_map(|(name, actions)| format!("ALTER TABLE {name} {}", actions.join(", "))),
        1 => (name(), name()).prop_map(|(a, b)| format!("RENAME TABLE {a} TO {b}")),
        1 => (name(), name()).prop_map(|(a, b)| format!("CREATE TABLE {a} LIKE {b}")),
        1 => name().prop_map(|name| format!("DROP TABLE IF EXISTS {name}")),
        1 => name().prop_map(|name| format!("CREATE SEQUENCE {name}")),
        1 => name().prop_map(|name| format!("CREATE UNIQUE INDEX k ON {name} (a, b)")),
        1 => select(&["CREATE DATABASE IF NOT EXISTS e CHARSET ucs2", "ALTER DATABASE d COLLATE latin1_bin", "DROP DATABASE e"][..])
            .prop_map(str::to_owned),
    ]
}

fn session() -> impl Strategy<Value = DdlSession> {
    let versions =
        [(false, (5, 6, 40)), (false, (9, 7, 0)), (true, (10, 5, 1)), (true, (11, 8, 0))];
    (0..versions.len(), select(&[0_u64, 1, 4, 1 << 20][..]), any::<bool>()).prop_map(
        move |(at, sql_mode, known)| {
            let (is_mariadb, version) = versions[at];
            DdlSession {
                sql_mode,
                server_collation: known.then_some(Collation(8)),
                ..DdlSession::new(SqlServer { is_mariadb, version })
            }
        },
    )
}

fn apply(catalog: &mut Catalog, session: &DdlSession, statement: String) {
    let ddl = LoggedDdl {
        position: Position::default(),
        timestamp: 0,
        database: "d".into(),
        statement,
        session: session.clone(),
    };
    if ddl.parse().changes_structures() {
        catalog.apply(&ddl);
    }
}

/// The known tables.
fn known(catalog: &Catalog) -> Catalog {
    catalog.only(&|database, table| {
        matches!(catalog.find(database, table), Some(TableState::Known(_)))
    })
}

fn assert_prints(catalog: &Catalog) {
    let script = catalog.to_script();
    let other = DdlSession::new(SqlServer { is_mariadb: false, version: (8, 0, 30) });
    let again = Catalog::from_script(&script, None, &other).unwrap();
    if again != known(catalog) {
        for (database, table, state) in again.tables() {
            assert_eq!(Some(state), catalog.find(database, table), "{script}");
        }
        assert_eq!(again, known(catalog), "{script}");
    }
}

proptest! {
    #[test]
    fn what_statements_make_is_printed_exactly(
        session in session(),
        with_database in any::<bool>(),
        statements in vec(statement(), 1..8),
    ) {
        let mut catalog = Catalog::default();
        if with_database {
            apply(&mut catalog, &session, "CREATE DATABASE d".into());
        }
        for statement in statements {
            apply(&mut catalog, &session, statement);
            assert_prints(&catalog);
        }
    }

    #[test]
    fn any_text_is_safe(
        session in session(),
        words in vec(prop_oneof![
            statement(), element(), action(),
            select(&["CREATE", "ALTER", "TABLE", "t", "DROP", "(", ")", ",", "'", "/*!", "*/", "ADD", "AFTER", ";", "=", "\"", "-", "AS"][..]).prop_map(str::to_owned),
            ".{0,4}",
        ], 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut catalog = Catalog::default();
        apply(&mut catalog, &session, "CREATE TABLE t (a INT, b TEXT)".into());
        let text = words.join(" ");
        let (at, _) = text.char_indices().nth(cut.index(text.chars().count().max(1))).unwrap_or_default();
        for text in [&text[..at], &text[at..], &text] {
            apply(&mut catalog, &session, format!("ALTER TABLE t {text}"));
            apply(&mut catalog, &session, text.into());
            let _ = Catalog::from_script(text, Some("d"), &session);
            assert_prints(&catalog);
        }
    }
}
