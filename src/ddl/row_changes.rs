//! Words of statements that change no rows.
//!
//! Under `binlog_format=ROW` a server logs as text only statements that change no rows of tables: DDL, accounts, maintenance.
//! Under STATEMENT and MIXED any statement may be text. No list of statements that change rows is complete
//! (`WITH ... DELETE`, `DO f()`, MariaDB's `ANALYZE UPDATE`), so this module lists those that do not.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/sql-statements.html>, <https://mariadb.com/kb/en/sql-statements/>

use super::cursor::Cursor;
use super::token::{Result, Token};

/// Returns true if a statement that begins with `word` changes no rows; the cursor is after that word. Statements that
/// [`ParsedStatement`](super::ParsedStatement) reads further are not listed here.
pub(super) fn is_harmless(word: &str, cursor: &mut Cursor<'_>) -> Result<bool> {
    match word {
        "GRANT" | "REVOKE" | "FLUSH" | "XA" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" => Ok(true),
        "RELEASE" => Ok(cursor.is("SAVEPOINT")),
        "BEGIN" => Ok(*cursor.peek() == Token::End || cursor.is("WORK")),
        "START" => Ok(cursor.is("TRANSACTION")),
        "ANALYZE" | "OPTIMIZE" | "CHECK" => is_maintenance(cursor),
        "INSTALL" | "UNINSTALL" => Ok(is_any(cursor, &["PLUGIN", "SONAME", "COMPONENT"])),
        "SET" => Ok(cursor.is("PASSWORD") || cursor.are(&["DEFAULT", "ROLE"])),
        _ => Ok(false),
    }
}

/// Returns true for the words after ANALYZE, OPTIMIZE, REPAIR and CHECK in a statement about tables or views.
pub(super) fn is_maintenance(cursor: &mut Cursor<'_>) -> Result<bool> {
    cursor.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"])?;
    Ok(is_any(cursor, &["TABLE", "TABLES", "VIEW"]))
}

/// Steps over `DEFINER = ...`, `ALGORITHM = ...`, `SQL SECURITY ...` and AGGREGATE.
pub(super) fn skip_attributes(cursor: &mut Cursor<'_>) -> Result<()> {
    loop {
        if cursor.accept("DEFINER")? {
            cursor.accept_sign('=')?;
            cursor.name_or_text()?;
            cursor.accept_parens()?; // CURRENT_USER()
            if cursor.accept_sign('@')? {
                host(cursor)?;
            }
        } else if cursor.accept("ALGORITHM")? {
            cursor.accept_sign('=')?;
            cursor.name()?;
        } else if cursor.accept_all(&["SQL", "SECURITY"])? {
            cursor.name()?;
        } else if !cursor.accept("AGGREGATE")? {
            return Ok(());
        }
    }
}

/// The host of an account: in quotes, or as `10.0.0.1`.
fn host(cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.bump()?;
    loop {
        // The lexer reads `10.0.0.1` as the numbers `10.0`, `.0` and `.1`.
        let is_number = matches!(cursor.peek(), Token::Number(number) if number.starts_with('.'));
        if !is_number && !cursor.accept_sign('.')? {
            return Ok(());
        }
        cursor.bump()?;
    }
}

/// True if the next words name an object whose statements change no rows of tables.
pub(super) fn is_object(cursor: &Cursor<'_>) -> bool {
    is_any(cursor, &OBJECTS) || OBJECTS_OF_SEVERAL_WORDS.iter().any(|words| cursor.are(words))
}

pub(super) fn is_any(cursor: &Cursor<'_>, words: &[&str]) -> bool {
    words.iter().any(|word| cursor.is(word))
}

/// Words that may follow CREATE, ALTER and DROP, except TABLE and unknown objects.
const OBJECTS: [&str; 16] = [
    "DATABASE",
    "SCHEMA",
    "INDEX",
    "VIEW",
    "PROCEDURE",
    "FUNCTION",
    "TRIGGER",
    "EVENT",
    "USER",
    "ROLE",
    "SERVER",
    "TABLESPACE",
    "SEQUENCE",
    "PACKAGE",
    "LIBRARY",
    "COMPRESSION_DICTIONARY",
];

const OBJECTS_OF_SEVERAL_WORDS: [&[&str]; 15] = [
    &["UNIQUE", "INDEX"],
    &["FULLTEXT", "INDEX"],
    &["SPATIAL", "INDEX"],
    &["VECTOR", "INDEX"],
    &["ONLINE", "INDEX"],
    &["OFFLINE", "INDEX"],
    &["ONLINE", "UNIQUE", "INDEX"],
    &["OFFLINE", "UNIQUE", "INDEX"],
    &["TEMPORARY", "SEQUENCE"],
    &["UNDO", "TABLESPACE"],
    &["LOGFILE", "GROUP"],
    &["RESOURCE", "GROUP"],
    &["SPATIAL", "REFERENCE", "SYSTEM"],
    &["JSON", "DUALITY", "VIEW"],
    &["JSON", "RELATIONAL", "DUALITY", "VIEW"],
];

#[cfg(test)]
mod tests {
    use crate::ddl::{ParsedStatement, QuoteMode, SqlServer};
    use proptest::prelude::*;

    fn changes_no_rows(sql: &str, mode: QuoteMode) -> bool {
        ParsedStatement::parse(sql, "shop", mode).changes_no_rows()
    }

    fn deletes_all_of_one_table(sql: &str, mode: QuoteMode) -> bool {
        ParsedStatement::parse(sql, "shop", mode).deletes_all_of_one_table()
    }

    #[test]
    fn statements_that_change_no_rows() {
        for sql in [
            "",
            "# Dummy event replacing event type 160 that slave cannot handle.",
            "/* x */ -- y",
            "CREATE TABLE t (a INT)",
            "CREATE TABLE t (a INT AS (b.c + 1.5), b INT DEFAULT (1.)) COMMENT 'SELECT 1'",
            "CREATE TABLE shop.select (`select` INT, `table` INT) -- SELECT",
            "create table t (a int) partition by list (a) (partition p values in (1))",
            "CREATE TABLE t (a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (4))",
            "CREATE TABLE t LIKE shop.table",
            "CREATE OR REPLACE TABLE t (a INT) START TRANSACTION",
            "CREATE TEMPORARY TABLE t (a INT)",
            "SET STATEMENT max_statement_time=(1), sort_buffer_size=9 FOR CREATE TABLE t (a INT)",
            "/*!50003 CREATE*/ /*!50020 DEFINER=`a`@`%`*/ /*!50003 TRIGGER t BEFORE INSERT ON u FOR EACH ROW INSERT INTO v VALUES (1) */",
            "CREATE DEFINER=CURRENT_USER() EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t",
            "CREATE DEFINER = root@10.0.0.1 PROCEDURE p() INSERT INTO t VALUES (1)",
            "CREATE OR REPLACE ALGORITHM=MERGE DEFINER='a'@localhost SQL SECURITY INVOKER VIEW v AS SELECT 1",
            "CREATE AGGREGATE FUNCTION f RETURNS INT SONAME 'f.so'",
            "CREATE OR REPLACE SPATIAL REFERENCE SYSTEM 4711 NAME 'x'",
            "CREATE UNIQUE INDEX i ON t (a)",
            "CREATE UNDO TABLESPACE u ADD DATAFILE 'u.ibu'",
            "CREATE JSON RELATIONAL DUALITY VIEW v AS SELECT 1",
            "CREATE PACKAGE BODY p AS END",
            "ALTER INSTANCE ROTATE INNODB MASTER KEY",
            "ALTER IGNORE TABLE t ADD a INT",
            "ALTER DEFINER=`a`@`b` EVENT e DISABLE",
            "ALTER ALGORITHM = UNDEFINED VIEW v AS SELECT 1",
            "DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`",
            "DROP TABLES t",
            "DROP RESOURCE GROUP g",
            "RENAME USER a TO b",
            "TRUNCATE t",
            "GRANT SELECT ON *.* TO a",
            "-- x\nREVOKE INSERT ON t FROM a",
            "FLUSH TABLES",
            "ANALYZE NO_WRITE_TO_BINLOG TABLE t",
            "ANALYZE TABLE t UPDATE HISTOGRAM ON a",
            "OPTIMIZE LOCAL TABLES t",
            "INSTALL SONAME 'ha_x'",
            "UNINSTALL COMPONENT 'file://x'",
            "SET PASSWORD FOR 'a'@'b' = '*00'",
            "SET DEFAULT ROLE r FOR a",
            "XA PREPARE 'a'",
            "RELEASE SAVEPOINT s",
            "COMMIT AND CHAIN",
        ] {
            assert!(changes_no_rows(sql, QuoteMode::default()), "{sql}");
        }
    }

    #[test]
    fn statements_that_may_change_rows() {
        for sql in [
            "INSERT INTO t VALUES (1)",
            "-- x\nINSERT INTO t VALUES (1)",
            "# x\nUPDATE t SET a = 1",
            "/* x *//*!40000 REPLACE INTO t VALUES (1) */",
            "/*+ x */ DELETE FROM t",
            "WITH x AS (SELECT 1) DELETE FROM t",
            "(SELECT f())",
            "SELECT f()",
            "DO f()",
            "CALL p()",
            "LOAD DATA INFILE 'x' INTO TABLE t",
            "IMPORT TABLE FROM 'x.sdi'",
            "HANDLER t OPEN",
            "TABLE t",
            "VALUES ROW(f())",
            "EXECUTE IMMEDIATE 'DELETE FROM t'",
            "l: BEGIN NOT ATOMIC DELETE FROM t; END",
            "BEGIN NOT ATOMIC DELETE FROM t; END",
            "SET @a = f()",
            "SET STATEMENT max_statement_time=1 FOR INSERT INTO t VALUES (1)",
            "SET STATEMENT a=1 FOR SET STATEMENT b=1 FOR DELETE FROM t",
            "SET STATEMENT a=1",
            "ANALYZE UPDATE t SET a = 1",
            "ANALYZE FORMAT=JSON DELETE FROM t",
            "EXPLAIN ANALYZE SELECT f()",
            "CREATE TABLE t SELECT 1",
            "CREATE TABLE t (a INT) IGNORE AS (SELECT 1)",
            "CREATE TABLE t AS WITH x AS (SELECT 1) SELECT * FROM x",
            "CREATE TABLE t AS TABLE u",
            "CREATE TABLE t VALUES ROW(1)",
            "CREATE TABLE t (a INT) AVG_ROW_LENGTH=1.SELECT 2",
            "CREATE TABLE t (a INT) AUTO_INCREMENT=1.5SELECT 1 AS b",
            "CREATE TABLE t (a INT) AUTO_INCREMENT=1e3SELECT 1 AS b",
            "CREATE TABLE t (a INT) AUTO_INCREMENT=.5SELECT 1 AS b",
            "CREATE TABLE t SELECT * FROM START TRANSACTION",
            "CREATE TEMPORARY TABLE t SELECT f()",
            "CREATE TABLE t (a INT COMMENT 'not ended",
            "CREATE SOMETHING t",
            "CREATE",
            "DELETE FROM `d`.`m`",
            "/*! x",
            "; DELETE FROM t",
        ] {
            assert!(!changes_no_rows(sql, QuoteMode::default()), "{sql}");
        }
    }

    #[test]
    fn comments_that_the_server_reads() {
        let mode = |is_mariadb, version| QuoteMode {
            server: Some(SqlServer { is_mariadb, version }),
            ..QuoteMode::default()
        };
        let mysql = mode(false, (9, 7, 0));
        let mariadb = mode(true, (11, 8, 0));
        for (sql, on_mysql, on_mariadb) in [
            ("/*M! INSERT INTO t VALUES (1) */ FLUSH TABLES", true, false),
            ("/*M!100100 DELETE FROM t*/", true, false),
            ("/*!80000 DELETE FROM t */", false, true),
            ("/*!99999 a /* b */ FLUSH */ DELETE FROM t", false, false),
            ("/*!50000 FLUSH /* x */ TABLES */", true, true),
        ] {
            assert_eq!(changes_no_rows(sql, mysql), on_mysql, "{sql}");
            assert_eq!(changes_no_rows(sql, mariadb), on_mariadb, "{sql}");
        }
    }

    #[test]
    fn memory_tables_that_a_start_has_emptied() {
        for (sql, expected) in [
            ("DELETE FROM `d`.`m`", true),
            ("DELETE FROM `d`.`a``b` /* generated by server */", true),
            ("DELETE FROM d.m", false),
            ("DELETE FROM `m`", false),
            ("DELETE FROM `d`.`m` WHERE a = 1 /* generated by server */", false),
            ("DELETE FROM `d`.`m`, `d`.`n`", false),
            ("DELETE IGNORE FROM `d`.`m`", false),
            ("DELETE FROM `d`.`m", false),
        ] {
            assert_eq!(deletes_all_of_one_table(sql, QuoteMode::default()), expected, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_safe(
            sql in "(CREATE |ALTER |DROP |SET STATEMENT |DELETE FROM )?(TABLE |DEFINER|VIEW )?[ a-c'\"`/*!#;,x().=@\\\\-]{0,12}(FOR|SELECT)?.*"
        ) {
            let _ = changes_no_rows(&sql, QuoteMode::default());
            let _ = deletes_all_of_one_table(&sql, QuoteMode::default());
        }
    }
}
