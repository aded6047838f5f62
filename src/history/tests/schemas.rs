//! Structures that a caller gives as text: what is read, and what is an error.

use crate::charset::Collation;
use crate::ddl::cursor::Cursor;
use crate::ddl::{CreateTable, SqlServer};
use crate::error::ErrorKind;
use crate::history::Schemas;
use proptest::prelude::*;

fn refusal(text: &str) -> String {
    let mut schemas = Schemas::default();
    let error = schemas.add_table("shop", "t", text).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Schema | ErrorKind::Config), "{error}");
    error.to_string()
}

#[test]
fn text_that_is_not_understood_is_an_error_with_its_line() {
    for (text, place) in [
        (
            "CREATE TABLE t (a int,\n b klingon)",
            "line 2: a data type that is not known near `klingon`",
        ),
        ("CREATE TABLE t (a int\n wobbly)", "line 2: an attribute that is not known near `wobbly`"),
        ("CREATE TABLE t (a int", "line 1"),
        ("CREATE TABLE t LIKE u", "LIKE"),
        ("CREATE TABLE t (LIKE u)", "no columns"),
        ("CREATE TABLE t (a int) AS SELECT 1 AS b", "SELECT"),
        ("CREATE TABLE t SELECT 1", "`(` is missing"),
        ("CREATE TABLE t (a int, a int", "`)` is missing"),
        ("CREATE TABLE t ()", "a name is missing"),
        ("CREATE TABLE t (a bit(65))", "64 bits"),
        ("CREATE TABLE t (a decimal(66,0))", "DECIMAL"),
        ("CREATE TABLE t (a varchar)", "length"),
        ("CREATE TABLE t (a time(7))", "6 digits"),
        ("CREATE TABLE t (a int charset klingon)", "character set"),
        ("CREATE TABLE t (a int) CREATE TABLE u (b int)", "one CREATE TABLE"),
        ("", "one CREATE TABLE"),
        ("SELECT 'a", "without its end"),
        ("CREATE TABLE t (a int); ALTER TABLE t ADD b int", "ALTER TABLE"),
    ] {
        let message = refusal(text);
        assert!(message.contains(place), "{text}: {message}");
    }
}

#[test]
fn errors_contain_no_strings() {
    let message = refusal("CREATE TABLE t (a int 'secret')");
    assert!(message.contains("a string") && !message.contains("secret"), "{message}");
}

#[test]
fn a_dump_of_databases() {
    let dump = "-- MySQL dump\n/*!40101 SET NAMES utf8mb4 */;\n/*M!999999\\- enable the sandbox mode */ \n\
        CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET latin1 */;\n\
        USE `shop`;\nDROP TABLE IF EXISTS `a`;\n\
        CREATE TABLE `a` (\n  `id` int NOT NULL,\n  `note` varchar(20)\n) ENGINE=InnoDB;\n\
        INSERT INTO `a` VALUES (1,'CREATE TABLE x (;');\n\
        /*!50001 DROP VIEW IF EXISTS `v`*/;\n/*!50001 CREATE VIEW `v` AS SELECT 1 AS `x`*/;\n\
        CREATE TEMPORARY TABLE tmp (a int);\n\
        DELIMITER ;;\n/*!50003 CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET @a = 'it;; ''s'; END */;;\n\
        DELIMITER ;\nALTER TABLE a DISABLE KEYS;\n\
        use other;\ncreate table odd select 1;\ncreate or replace table `b``c` (x int)\n\
        create table if not exists shop.d (y int); RENAME TABLE shop.d TO shop.e;\n";
    let mut schemas = Schemas::default();
    schemas.add_text(dump).unwrap();
    assert!(schemas.advice("shop", "a").contains("⟦schemas⟧"));
    assert!(schemas.advice("SHOP", "A").contains("shop.a"));
    assert!(schemas.advice("shop", "zzz").contains("without this table"));
    let shown = format!("{schemas:?}");
    for (table, is_there) in [("\"b`c\"", true), ("\"tmp\"", false), ("\"odd\"", true)] {
        assert_eq!(shown.contains(table), is_there, "{table}");
    }
    assert!(schemas.add_text("USE shop; CREATE TABLE a (x int)").is_err(), "twice");
    assert!(schemas.add_text("SELECT 1;").is_err());
    assert!(schemas.add_text("CREATE TABLE lonely (x int)").is_err());
}

#[test]
fn a_dump_of_one_database() {
    let head = "-- MySQL dump 10.13\n--\n-- Host: localhost    Database: ";
    let table = "\n-- ---\nCREATE TABLE `a` (id int) -- end\n;\n";
    let mut schemas = Schemas::default();
    schemas.add_text(format!("{head}shop{table}{head}größe 2\r{table}{head}{table}")).unwrap_err();
    schemas = Schemas::default();
    schemas.add_text(format!("{head}shop{table}{head}größe 2\r{table}")).unwrap();
    for database in ["shop", "größe 2"] {
        assert!(schemas.advice(database, "a").contains("statement with ⟦schemas⟧"), "{database}");
    }
    assert!(Schemas::default().add_text(format!("{head}{table}")).is_err());
    let mut named = Schemas::default();
    named.add_table("d", "t", format!("{head}shop{table}")).unwrap();
    assert!(!named.advice("d", "t").contains("without"));
}

#[test]
fn bytes_that_are_not_utf8() {
    let mut schemas = Schemas::default();
    schemas
        .add_text(b"CREATE TABLE d.a (x int DEFAULT '\xff'); CREATE TABLE d.b (e enum('\xff'))")
        .unwrap();
    let shown = format!("{schemas:?}");
    assert!(shown.contains("(\"d\", \"a\"): Table") && shown.contains("not UTF-8"), "{shown}");
    assert!(schemas.add_text(b"\xff\xfeC\0R\0").unwrap_err().to_string().contains("UTF-16"));
}

#[test]
fn the_output_of_the_client_for_g() {
    let mut schemas = Schemas::default();
    let text = "use shop;\n*************************** 1. row ***************************\n       Table: a\n\
        Create Table: CREATE TABLE `a` (\n  `id` int\n) ENGINE=InnoDB\n\
        *************************** 1. row ***************************\n       Table: b\n\
        Create Table: CREATE TABLE `b` (\n  `id` int\n) ENGINE=InnoDB\n1 row in set (0.00 sec)\n";
    schemas.add_text(text).unwrap();
    let shown = format!("{schemas:?}");
    assert!(
        shown.contains("(\"shop\", \"a\"): Table") && shown.contains("(\"shop\", \"b\"): Table")
    );
}

#[test]
fn no_text_panics() {
    let text = "CREATE TABLE `a` (b int(3) DEFAULT 'x' COMMENT \"y\", /*!1 c */ enum('a',x'41'), \
        PRIMARY KEY (b(3))) DEFAULT CHARSET=latin1 PARTITION BY x (y); USE z; DELIMITER ;;\nx";
    for (at, _) in text.char_indices() {
        let mut schemas = Schemas::default();
        let _ = schemas.add_text(&text[..at]);
        let _ = schemas.add_text(&text[at..]);
        let _ = schemas.add_text(format!("{}é{}", &text[..at], &text[at + 1..]));
    }
}

/// Pieces of many kinds of text.
const PIECES: &[&str] = &[
    "CREATE",
    "TABLE",
    "TEMPORARY",
    "DATABASE",
    "USE",
    "DROP",
    "ALTER",
    "RENAME",
    "DELIMITER",
    "LIKE",
    "SELECT",
    "IF NOT EXISTS",
    "CREATE TABLE d.t (",
    "CREATE TABLE \"t\" (a ",
    "a",
    "`b``c`",
    "c int",
    "bigint unsigned",
    "varchar(20)",
    "char",
    "text(70000)",
    "enum('a','?')",
    "set(\"x\",x'ff')",
    "json",
    "uuid",
    "vector(3)",
    "decimal(65,30)",
    "point",
    "timestamp(6)",
    "serial",
    "NOT NULL",
    "DEFAULT",
    "DEFAULT CASE WHEN 1 END",
    "'it''s'",
    "'\\\\'",
    "X'0",
    "b'2'",
    "0x41",
    "1.5e+",
    "1",
    "18446744073709551616",
    "-",
    ".",
    "(",
    ")",
    ",",
    ";",
    "=",
    "*",
    "/*!50100 ",
    "/*M!999999",
    "*/",
    "/*",
    "-- ",
    "#",
    "\n",
    "-- Host: h    Database: d\n",
    "CHARSET",
    "COLLATE",
    "binary",
    "utf8mb4_bin",
    "PRIMARY KEY (a)",
    "UNIQUE (a(3), b)",
    "KEY",
    "((a + 1))",
    "PERIOD FOR p (a, b)",
    "p WITHOUT OVERLAPS",
    "AS (a)",
    "AS ROW END",
    "WITH SYSTEM VERSIONING",
    "COMPRESSED",
    "CHECK (",
    "REFERENCES t",
    "ON UPDATE",
    "ENGINE=MEMORY",
    "é\u{fffd}",
    "\0",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        1 => ".{0,5}",
    ]
}

proptest! {
    #[test]
    fn no_text_of_pieces_panics(pieces in proptest::collection::vec(piece(), 0..40), glue in " ?") {
        let text = pieces.join(&glue);
        let mut schemas = Schemas::default();
        let _ = schemas.add_text(&text);
        let _ = schemas.add_table("d", "t", &text);
        let Ok(mut cursor) = Cursor::new(&text) else { return Ok(()) };
        if !matches!(cursor.accept("CREATE"), Ok(true)) {
            return Ok(());
        }
        let Ok(head) = CreateTable::parse_head(&mut cursor) else { return Ok(()) };
        let Ok(create) = CreateTable::parse_body(&mut cursor, head) else { return Ok(()) };
        for server in [(false, (9, 7, 0)), (true, (11, 8, 9))] {
            let (is_mariadb, version) = server;
            let server = SqlServer { is_mariadb, version };
            if let Ok(schema) = create.table_schema("d", server, &|_| Some(Collation(8))) {
                prop_assert!(schema.primary_key.iter().all(|part| part.column < schema.columns.len()));
                create.hash_columns(&schema);
            }
        }
    }
}
