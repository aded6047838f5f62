//! Statements, and the catalogs after them.

use super::super::logged_ddl::LoggedDdl;
use super::*;
use crate::ddl::{DdlSession, SqlServer};
use crate::position::Position;

const MYSQL: SqlServer = SqlServer { is_mariadb: false, version: (9, 7, 0) };
const OLD: SqlServer = SqlServer { is_mariadb: false, version: (5, 7, 29) };
const MARIADB: SqlServer = SqlServer { is_mariadb: true, version: (11, 8, 9) };

fn ddl(server: SqlServer, statement: &str) -> LoggedDdl {
    LoggedDdl {
        position: Position::default(),
        timestamp: 0,
        database: "d".into(),
        statement: statement.into(),
        session: DdlSession { server_collation: Some(Collation(8)), ..DdlSession::new(server) },
    }
}

/// The tables after statements that are separated by `;`.
fn after(server: SqlServer, statements: &str) -> String {
    let mut catalog = Catalog::new(server, 0);
    catalog.apply(&ddl(server, "CREATE DATABASE d"));
    for statement in statements.split(';') {
        catalog.apply(&ddl(server, statement));
    }
    let script = catalog.to_script();
    let again = Catalog::from_script(&script, None, &DdlSession::new(OLD)).unwrap();
    let known = catalog.only(&|database, table| {
        matches!(catalog.find(database, table), Some(TableState::Known(_)))
    });
    assert_eq!(again, known, "{script}");
    let described: Vec<_> = catalog.tables().map(|(d, t, _)| description(&catalog, d, t)).collect();
    described.join("; ")
}

/// `d.t a:int* b:varchar(9)/latin1 | PRIMARY(a) u:b(b,a)`: a star for NOT NULL, ~ for invisible, + for unsigned.
fn description(catalog: &Catalog, database: &str, table: &str) -> String {
    let name = if database == "d" { table.to_owned() } else { format!("{database}.{table}") };
    let schema = match catalog.find(database, table) {
        Some(TableState::Unknown(_)) => return format!("{name}?"),
        _ => catalog.schema(database, table).unwrap(),
    };
    let columns = schema.columns.iter().map(|column| {
        let charset = match column.collation {
            Some(collation) if !collation.charset().is_binary() => {
                format!("/{}", collation.charset().name())
            }
            _ => String::new(),
        };
        let star = if column.nullable { "" } else { "*" };
        let hidden = if column.visible == Some(false) { "~" } else { "" };
        let sql = column.sql_type().replace(" unsigned", "+");
        format!("{}:{sql}{charset}{star}{hidden}", column.name.as_deref().unwrap())
    });
    let keys = schema.indexes.iter().map(|index| {
        let parts = index.parts.iter().map(|part| {
            let name = schema.columns[part.column].name.as_deref().unwrap();
            if part.prefix > 0 { format!("{name}({})", part.prefix) } else { name.into() }
        });
        let mut parts: Vec<String> = parts.collect();
        parts.extend(index.has_expression.then(|| "()".to_owned()));
        let kind = match index.kind {
            crate::schema::IndexKind::Primary => "P",
            crate::schema::IndexKind::Unique => "u",
            crate::schema::IndexKind::Other => "k",
        };
        let hidden = if index.visible { "" } else { "~" };
        let name = index.name.as_deref().map(|name| format!(":{name}")).unwrap_or_default();
        format!("{kind}{name}({}){hidden}", parts.join(","))
    });
    let (columns, keys): (Vec<_>, Vec<_>) = (columns.collect(), keys.collect());
    let bar = if keys.is_empty() { "" } else { " | " };
    format!("{name} {}{bar}{}", columns.join(" "), keys.join(" "))
}

#[test]
fn columns() {
    for (statement, expected) in [
        ("ADD c INT", "t a:int b:int c:int"),
        ("ADD c INT FIRST", "t c:int a:int b:int"),
        ("ADD COLUMN c INT AFTER a", "t a:int c:int b:int"),
        ("ADD (c INT, d INT NOT NULL, KEY (d))", "t a:int b:int c:int d:int* | k:d(d)"),
        (
            "ADD c INT AFTER a, ADD d INT AFTER c, ADD e INT FIRST",
            "t e:int a:int c:int d:int b:int",
        ),
        ("DROP a", "t b:int"),
        ("DROP COLUMN a, ADD a BIGINT", "t b:int a:bigint"),
        ("MODIFY a BIGINT UNSIGNED NOT NULL AFTER b", "t b:int a:bigint+*"),
        ("MODIFY b DATE FIRST", "t b:date a:int"),
        ("CHANGE a x VARCHAR(9)", "t x:varchar(9)/latin1 b:int"),
        ("CHANGE a b INT, CHANGE b a DATE", "t b:int a:date"),
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO a", "t b:int a:int"),
        ("CHANGE a x INT AFTER b, ADD y INT AFTER x", "t b:int x:int y:int"),
        ("ALTER a SET DEFAULT 5, ALTER COLUMN b DROP DEFAULT", "t a:int b:int"),
        ("ALTER a SET INVISIBLE", "t a:int~ b:int"),
        ("ADD c INT, ALGORITHM=INSTANT, LOCK=NONE", "t a:int b:int c:int"),
        ("ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT 'x', AUTO_INCREMENT=5, FORCE", "t a:int b:int"),
        ("ORDER BY b, a, ADD c INT", "t a:int b:int c:int"),
        ("DROP PARTITION p0, p1", "t a:int b:int"),
        (
            "PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1), PARTITION q VALUES LESS THAN (2))",
            "t a:int b:int",
        ),
        ("ADD c INT AFTER x", "t?"),
        ("DROP x", "t?"),
        ("FROBNICATE", "t?"),
        ("ADD a INT", "t?"),
        ("RENAME TO u, ADD c INT", "u a:int b:int c:int"),
        ("RENAME x.u", "x.u a:int b:int"),
        ("FROBNICATE, RENAME TO u", "u?"),
    ] {
        let start = "CREATE TABLE t (a INT, b INT)";
        assert_eq!(
            after(MYSQL, &format!("{start}; ALTER TABLE t {statement}")),
            expected,
            "{statement}"
        );
    }
}

#[test]
fn character_sets() {
    for (statement, expected) in [
        ("ADD c TEXT", "t a:text/latin1 c:text/latin1"),
        ("CHARSET utf8mb4", "t a:text/latin1"),
        ("DEFAULT CHARACTER SET = utf8mb4, ADD c CHAR(3)", "t a:text/latin1 c:char(3)/utf8mb4"),
        ("CONVERT TO CHARACTER SET utf8mb4", "t a:mediumtext/utf8mb4"),
        ("MODIFY a TEXT CHARSET ascii", "t a:text/ascii"),
        ("CONVERT TO CHARACTER SET binary", "t a:blob"),
        (
            "CONVERT TO CHARACTER SET utf8mb4, ADD b TEXT CHARSET ascii",
            "t a:mediumtext/utf8mb4 b:text/utf8mb4",
        ),
    ] {
        let start = "CREATE TABLE t (a TEXT)";
        assert_eq!(
            after(MYSQL, &format!("{start}; ALTER TABLE t {statement}")),
            expected,
            "{statement}"
        );
    }
    let later = "CREATE TABLE t (a TEXT); ALTER DATABASE d CHARSET utf8mb4; ALTER TABLE t ADD b TEXT; CREATE TABLE u (a TEXT)";
    assert_eq!(after(MYSQL, later), "t a:text/latin1 b:text/latin1; u a:text/utf8mb4");
}

#[test]
fn foreign_keys_on_columns_of_the_same_statement() {
    for (statement, expected) in [
        ("ADD d INT, ADD FOREIGN KEY (d) REFERENCES u (a) ON DELETE CASCADE", "`t_ibfk_1` (`d`)"),
        ("ADD (d INT, CONSTRAINT f FOREIGN KEY (d) REFERENCES u (a))", "`f` (`d`)"),
        ("ADD d INT REFERENCES u (a) ON DELETE CASCADE", "`t_ibfk_1` (`d`)"),
        ("CHANGE a d INT, ADD FOREIGN KEY (d) REFERENCES u (a)", "`t_ibfk_1` (`d`)"),
        (
            "RENAME COLUMN a TO b, RENAME COLUMN b TO a, ADD FOREIGN KEY (a) REFERENCES u (a)",
            "`t_ibfk_1` (`a`)",
        ),
        ("ADD FOREIGN KEY (a) REFERENCES u (a), DROP COLUMN b", "`t_ibfk_1` (`a`)"),
        ("ADD FOREIGN KEY (a, b) REFERENCES u (a, b)", "`t_ibfk_1` (`a`,`b`)"),
    ] {
        for server in [MYSQL, MARIADB] {
            let mut catalog = Catalog::new(server, 0);
            for sql in [
                "CREATE DATABASE d",
                "CREATE TABLE t (a INT, b INT)",
                &format!("ALTER TABLE t {statement}"),
            ] {
                catalog.apply(&ddl(server, sql));
            }
            let script = catalog.to_script();
            assert!(
                script
                    .replace("FOREIGN KEY ", "")
                    .contains(&format!("CONSTRAINT {expected} REFERENCES")),
                "{statement}: {script}"
            );
        }
    }
}

#[test]
fn keys() {
    for (statement, expected) in [
        ("ADD KEY (a)", "t a:int b:int c:varchar(9)/latin1 | k:a(a)"),
        (
            "ADD KEY (a), ADD KEY (a, b), ADD UNIQUE (b)",
            "t a:int b:int c:varchar(9)/latin1 | u:b(b) k:a(a) k:a_2(a,b)",
        ),
        (
            "ADD PRIMARY KEY (a), ADD d INT UNIQUE",
            "t a:int* b:int c:varchar(9)/latin1 d:int | P(a) u:d(d)",
        ),
        ("ADD KEY x (c(3)), MODIFY c VARCHAR(2)", "t a:int b:int c:varchar(2)/latin1 | k:x(c)"),
        (
            "ADD UNIQUE ((a + 1)), ADD KEY ((b))",
            "t a:int b:int c:varchar(9)/latin1 | u:functional_index(()) k:functional_index_2(())",
        ),
        (
            "ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u (a)",
            "t a:int b:int c:varchar(9)/latin1 | k:f(a)",
        ),
        (
            "ADD FOREIGN KEY g (a) REFERENCES u (a), ADD KEY h (a, b)",
            "t a:int b:int c:varchar(9)/latin1 | k:h(a,b)",
        ),
        ("ADD KEY x (a), ALTER INDEX x INVISIBLE", "t?"),
    ] {
        let start = "CREATE TABLE t (a INT, b INT, c VARCHAR(9))";
        assert_eq!(
            after(MYSQL, &format!("{start}; ALTER TABLE t {statement}")),
            expected,
            "{statement}"
        );
    }
    for (statement, expected) in [
        ("ALTER TABLE t DROP PRIMARY KEY", "t a:int* b:int c:int | u:u(b) k:k(b,c)"),
        ("ALTER TABLE t DROP COLUMN b", "t a:int* c:int | P(a) k:k(c)"),
        ("ALTER TABLE t DROP b, DROP c", "t a:int* | P(a)"),
        ("ALTER TABLE t CHANGE b x BIGINT", "t a:int* x:bigint c:int | P(a) u:u(x) k:k(x,c)"),
        ("DROP INDEX u ON t", "t a:int* b:int c:int | P(a) k:k(b,c)"),
        ("ALTER TABLE t DROP CONSTRAINT u", "t a:int* b:int c:int | P(a) k:k(b,c)"),
        (
            "ALTER TABLE t RENAME INDEX u TO v, ALTER INDEX k INVISIBLE",
            "t a:int* b:int c:int | P(a) u:v(b) k:k(b,c)~",
        ),
        ("CREATE UNIQUE INDEX x ON t (c)", "t a:int* b:int c:int | P(a) u:u(b) u:x(c) k:k(b,c)"),
        (
            "ALTER TABLE t MODIFY c INT NOT NULL, ADD UNIQUE (c)",
            "t a:int* b:int c:int* | P(a) u:c(c) u:u(b) k:k(b,c)",
        ),
    ] {
        let start = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, KEY k (b, c), UNIQUE u (b))";
        assert_eq!(after(MYSQL, &format!("{start}; {statement}")), expected, "{statement}");
    }
}

#[test]
fn names() {
    for (statements, expected) in [
        ("RENAME TABLE t TO x, u TO t, x TO u", "t b:int; u a:int"),
        ("RENAME TABLE t TO e.t", "u b:int; e.t a:int"),
        ("RENAME TABLE no TO x", "t a:int; u b:int"), // a view
        ("RENAME TABLE IF EXISTS no TO x, t TO y", "u b:int; y a:int"),
        ("DROP TABLE IF EXISTS t, no, u", ""),
        ("DROP DATABASE d", ""),
        ("CREATE TABLE v LIKE t", "t a:int; u b:int; v a:int"),
        ("CREATE TABLE IF NOT EXISTS t (z INT)", "t a:int; u b:int"),
        ("CREATE OR REPLACE TABLE t (z INT)", "t z:int; u b:int"),
        ("CREATE TEMPORARY TABLE v (z INT)", "t a:int; u b:int"),
        ("CREATE TABLE v SELECT 1 AS x", "t a:int; u b:int; v?"),
        ("ALTER TABLE no ADD x INT", "no?; t a:int; u b:int"),
        ("ALTER TABLE no ADD x INT; RENAME TABLE no TO yes; DROP TABLE yes", "t a:int; u b:int"),
        (
            "SET STATEMENT max_statement_time=1 FOR ALTER TABLE t ADD z INT",
            "t a:int z:int; u b:int",
        ),
        (
            "TRUNCATE t; CREATE VIEW v AS SELECT 1; DROP VIEW v; GRANT ALL ON d.* TO x",
            "t a:int; u b:int",
        ),
        (
            "ALTER TABLE t CONVERT PARTITION p TO TABLE v; ALTER TABLE t CONVERT TABLE u TO PARTITION q VALUES LESS THAN (1)",
            "t a:int; v a:int",
        ),
        (
            "ALTER /*!50000 ONLINE */ TABLE t /* x */ ADD `select` INT",
            "t a:int select:int; u b:int",
        ),
    ] {
        let start = "CREATE TABLE t (a INT); CREATE TABLE u (b INT)";
        assert_eq!(after(MARIADB, &format!("{start}; {statements}")), expected, "{statements}");
    }
}

#[test]
fn timestamps_without_a_default() {
    let defaults = |server, statements: &str| {
        let mut catalog = Catalog::new(server, 0);
        for statement in std::iter::once("CREATE DATABASE d").chain(statements.split(';')) {
            catalog.apply(&ddl(server, statement));
        }
        let schema = catalog.schema("d", "t").unwrap();
        let declared = schema.columns.iter().map(|column| {
            let declared = column.declared.as_ref().unwrap();
            let text = |text: &Option<Arc<str>>| text.as_deref().unwrap_or("-").to_owned();
            format!("{} {}", text(&declared.default), text(&declared.on_update))
        });
        declared.collect::<Vec<_>>().join(", ")
    };
    let table = "CREATE TABLE t (a TIMESTAMP(2), b TIMESTAMP NOT NULL, c TIMESTAMP NULL)";
    let now = "CURRENT_TIMESTAMP(2)";
    assert_eq!(defaults(OLD, table), format!("{now} {now}, '0000-00-00 00:00:00' -, - -"));
    assert_eq!(defaults(MYSQL, table), "- -, - -, - -");
    // The server does not look beyond the first one.
    let second = "CREATE TABLE t (a TIMESTAMP NULL, b TIMESTAMP)";
    assert_eq!(defaults(OLD, second), "- -, '0000-00-00 00:00:00' -");
    let added = "CREATE TABLE t (a INT);ALTER TABLE t ADD b TIMESTAMP, ADD c TIMESTAMP";
    let now = "CURRENT_TIMESTAMP";
    assert_eq!(defaults(OLD, added), format!("- -, {now} {now}, '0000-00-00 00:00:00' -"));
    let updated = "CREATE TABLE t (a TIMESTAMP ON UPDATE NOW())";
    assert_eq!(defaults(OLD, updated), "'0000-00-00 00:00:00' CURRENT_TIMESTAMP");
}

#[test]
fn a_name_after_a_point_is_of_the_sessions_database() {
    let statements = "CREATE TABLE t (a INT, b INT); ALTER TABLE .t CHANGE a b INT, CHANGE b a INT";
    assert_eq!(after(MARIADB, statements), "t b:int a:int");
}

#[test]
fn a_statement_whose_tables_cannot_be_read_may_be_of_any() {
    let statements = "CREATE TABLE t (a INT); CREATE TABLE u (a INT); ALTER TABLE ,t ADD b INT";
    assert_eq!(after(MYSQL, statements), "t?; u?");
}

#[test]
fn mariadb_changes_columns_that_it_adds() {
    let create = "CREATE TABLE t (a INT, d INT)";
    // A column that does not exist, with IF EXISTS, takes the new name nevertheless.
    assert_eq!(
        after(
            MARIADB,
            &format!("{create}; ALTER TABLE t CHANGE IF EXISTS c f INT, ADD IF NOT EXISTS f INT")
        ),
        "t a:int d:int"
    );
    assert_eq!(
        after(MARIADB, &format!("{create}; ALTER TABLE t ADD d INT, MODIFY d INT FIRST, DROP d")),
        "t?"
    );
}

#[test]
fn keys_of_each_server() {
    for (server, statements, expected) in [
        // A primary key makes a column NOT NULL only for the keys after it.
        (
            MYSQL,
            "CREATE TABLE t (a INT, b INT, UNIQUE y (b), UNIQUE x (a)); ALTER TABLE t ADD PRIMARY KEY (a)",
            "t a:int* b:int | P(a) u:y(b) u:x(a)",
        ),
        (
            MYSQL,
            "CREATE TABLE t (a INT, b INT, UNIQUE y (b), UNIQUE x (a)); ALTER TABLE t ADD PRIMARY KEY (a); \
             ALTER TABLE t COMMENT 'x'",
            "t a:int* b:int | P(a) u:x(a) u:y(b)",
        ),
        // MariaDB sorts with new keys, or when its handle key may be NULL.
        (
            MARIADB,
            "CREATE TABLE t (a INT, b INT, UNIQUE y (b), UNIQUE x (a)); ALTER TABLE t MODIFY a INT NOT NULL",
            "t a:int* b:int | u:y(b) u:x(a)",
        ),
        (
            MARIADB,
            "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, UNIQUE x (a), UNIQUE y (b)); ALTER TABLE t MODIFY a INT",
            "t a:int b:int* | u:y(b) u:x(a)",
        ),
        (
            MARIADB,
            "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, UNIQUE x (a), UNIQUE y (b)); ALTER TABLE t MODIFY b INT, DROP KEY x",
            "t a:int* b:int | u:y(b)",
        ),
        (
            MARIADB,
            "CREATE TABLE t (a TEXT NOT NULL, b INT, UNIQUE x (a), UNIQUE y (b), KEY k (a), p POINT, UNIQUE z (p))",
            "t a:text/latin1* b:int p:point | u:y(b) u:z(p(25)) u:x(a) k:k(a(3072))",
        ),
        (
            MYSQL,
            "CREATE TABLE t (a INT, v INT AS (a) VIRTUAL, KEY v (v), KEY a (a))",
            "t a:int v:int | k:a(a) k:v(v)",
        ),
        (
            MYSQL,
            "CREATE TABLE t (a ENUM('xy', 'z'), b ENUM('x'), UNIQUE x (a), KEY y (b)); \
             ALTER TABLE t MODIFY a VARCHAR(30), MODIFY b VARCHAR(30)",
            "t a:varchar(30)/latin1 b:varchar(30)/latin1 | u:x(a(1)) k:y(b)",
        ),
        (
            MYSQL,
            "CREATE TABLE t (a INT); ALTER TABLE t MODIFY a TEXT, CONVERT TO CHARACTER SET utf8mb4",
            "t?",
        ),
        (
            MARIADB,
            "CREATE TABLE t (a INT); ALTER TABLE t COLLATE utf8mb3_bin, CONVERT TO CHARACTER SET utf8mb4",
            "t?",
        ),
        (
            MYSQL,
            "CREATE TABLE t (a INT); ALTER TABLE t DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin, \
             CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, ADD b TEXT",
            "t a:int b:text/utf8mb4",
        ),
    ] {
        assert_eq!(after(server, statements), expected, "{statements}");
    }
}
