"""Statements of both grammars: those that change rows, those that do not, and comments before them.

For `test_logged_statements.py`. They run in the database `texts`, in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Flavor = Literal["mysql", "mariadb"]


@dataclass(frozen=True)
class Statement:
    """A statement, and the servers that accept it: all, if `only` is empty. `since` is for MySQL."""

    sql: str
    only: Flavor | None = None
    since: tuple[int, int] = (0, 0)

    def is_for(self, flavor: str) -> bool:
        """True if the server with this name accepts it."""
        name, _, version = flavor.partition("-")
        numbers = tuple(int(part) for part in version.split(".")) if version else (9, 7)
        return self.only in (None, name) and (name == "mariadb" or numbers >= self.since)


MYSQL, MARIADB = "mysql", "mariadb"


def _all(*statements: str) -> list[Statement]:
    return [Statement(sql) for sql in statements]


def _since_8(*statements: str) -> list[Statement]:
    return [Statement(sql, None, (8, 0)) for sql in statements]


def _mysql(*statements: str, since: tuple[int, int] = (8, 0)) -> list[Statement]:
    return [Statement(sql, MYSQL, since) for sql in statements]


def _mariadb(*statements: str) -> list[Statement]:
    return [Statement(sql, MARIADB) for sql in statements]


TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE m (id INT PRIMARY KEY, v INT) ENGINE=MyISAM",
)

SETUP = (
    *TABLES,
    "CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO u VALUES (50, 1); RETURN 1; END",
    "CREATE PROCEDURE p() INSERT INTO t VALUES (7, 7)",
)

RESET = (
    "DROP TABLE IF EXISTS made",
    *(f"DELETE FROM {table}" for table in "tum"),
    *(f"INSERT INTO {table} VALUES (1, 1), (2, 2)" for table in "tm"),
)

CHANGES = [
    *_all(
        "INSERT INTO t VALUES (3, 3)",
        "INSERT t SET id = 3",
        "INSERT INTO t SELECT id + 5, v FROM t",
        "INSERT INTO t (id) VALUES (1) ON DUPLICATE KEY UPDATE v = 7",
        "REPLACE INTO t VALUES (1, 3)",
        "UPDATE t SET v = 9",
        "UPDATE LOW_PRIORITY IGNORE t SET v = 9 ORDER BY id LIMIT 1",
        "UPDATE t LEFT JOIN u ON u.id = t.id SET t.v = 9",
        "UPDATE m SET v = 9 WHERE id = 1",
        "DELETE FROM t",
        "DELETE FROM `texts`.`t`",
        "DELETE FROM t WHERE id = 1",
        "DELETE a FROM t a JOIN t b ON a.id = b.id",
        "DO f()",
        "SELECT f()",
        "(SELECT f())",
        "SELECT v FROM t WHERE f() > 0 LIMIT 1",
        "SET @a = f()",
        "CALL p()",
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t",
    ),
    # MySQL 5 with GTIDs does not accept these.
    *_since_8(
        "CREATE TABLE made SELECT 1 AS id",
        "CREATE TABLE made (id INT PRIMARY KEY) ENGINE=InnoDB REPLACE AS (SELECT id FROM t)",
        "CREATE TABLE IF NOT EXISTS texts.made (`select` INT) IGNORE SELECT 1 AS `select`",
    ),
    *_mysql(
        "WITH x AS (SELECT 1 AS id) UPDATE t, x SET v = 9 WHERE t.id = x.id",
        "WITH x AS (SELECT 1 AS id) DELETE t FROM t JOIN x USING (id)",
        "CREATE TABLE made AS WITH x AS (SELECT 1 AS id) SELECT * FROM x",
        "CREATE TABLE made AS TABLE t",
        "CREATE TABLE made (id INT) VALUES ROW(1)",
        "INSERT INTO t VALUES ROW(3, 3)",
        "INSERT INTO u TABLE t",
    ),
    *_mariadb(
        "CREATE TABLE made AS WITH x AS (SELECT 1 AS id) SELECT * FROM x",
        "CREATE OR REPLACE TABLE made SELECT 1 AS id",
        "CREATE TABLE made (id INT) VALUES (1)",
        "SET STATEMENT max_statement_time=9 FOR INSERT INTO t VALUES (3, 3)",
        "SET STATEMENT max_statement_time=9, lock_wait_timeout=9 FOR UPDATE t SET v = 9",
        "ANALYZE UPDATE t SET v = 9",
        "ANALYZE FORMAT=JSON DELETE FROM t",
        "INSERT INTO t VALUES (8, 8) RETURNING id",
        "DELETE FROM t RETURNING id",
        "BEGIN NOT ATOMIC INSERT INTO t VALUES (3, 3); END",
        "IF 1 THEN INSERT INTO t VALUES (3, 3); END IF",
        "EXECUTE IMMEDIATE 'INSERT INTO t VALUES (3, 3)'",
    ),
]

HARMLESS = [
    *_all(
        "CREATE TABLE a (id INT PRIMARY KEY, v INT DEFAULT 4, `select` INT) COMMENT 'SELECT 1'",
        "CREATE TABLE b (id INT) PARTITION BY LIST (id) (PARTITION p VALUES IN (1), PARTITION q VALUES IN (2))",
        "CREATE TABLE c LIKE a",
        "ALTER TABLE a ADD COLUMN w INT",
        "ALTER TABLE b TRUNCATE PARTITION p",
        "CREATE UNIQUE INDEX i ON a (v)",
        "DROP INDEX i ON a",
        "RENAME TABLE c TO d",
        "TRUNCATE TABLE d",
        "DROP TABLE IF EXISTS d, b",
        "CREATE TEMPORARY TABLE tmp (id INT)",
        "DROP TEMPORARY TABLE tmp",
        "CREATE DATABASE texts2",
        "ALTER DATABASE texts2 CHARACTER SET utf8",
        "DROP DATABASE texts2",
        "CREATE VIEW w AS SELECT * FROM a",
        "ALTER SQL SECURITY INVOKER VIEW w AS SELECT id FROM a",
        "CREATE OR REPLACE ALGORITHM=MERGE VIEW w AS SELECT 1 AS one",
        "DROP VIEW w",
        "CREATE TRIGGER x BEFORE INSERT ON a FOR EACH ROW DELETE FROM t",
        "DROP TRIGGER x",
        "CREATE DEFINER=CURRENT_USER() PROCEDURE q() BEGIN DELETE FROM t; UPDATE t SET v = 1; END",
        "ALTER PROCEDURE q SQL SECURITY INVOKER",
        "DROP PROCEDURE q",
        "CREATE DEFINER=`root`@`localhost` FUNCTION g() RETURNS INT DETERMINISTIC RETURN 1",
        "DROP FUNCTION g",
        "CREATE EVENT e ON SCHEDULE EVERY 1 YEAR DISABLE DO INSERT INTO t VALUES (9, 9)",
        "ALTER EVENT e RENAME TO e2",
        "DROP EVENT e2",
        "CREATE USER 'texts'@'%' IDENTIFIED BY 'Insert into t 1;'",
        "GRANT INSERT, UPDATE ON texts.* TO 'texts'@'%'",
        "REVOKE UPDATE ON texts.* FROM 'texts'@'%'",
        "RENAME USER 'texts'@'%' TO 'texts'@'localhost'",
        "DROP USER 'texts'@'localhost'",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x', DATABASE 'texts')",
        "ALTER SERVER s OPTIONS (USER 'y')",
        "DROP SERVER s",
        "FLUSH TABLES",
        "FLUSH PRIVILEGES",
        "ANALYZE TABLE a",
        "OPTIMIZE TABLE a",
        "REPAIR TABLE m",
        "CHECK TABLE m",
        "DROP TABLE a",
    ),
    *_mysql(
        "CREATE TABLESPACE ts ADD DATAFILE 'texts.ibd' ENGINE=InnoDB",
        "DROP TABLESPACE ts",
        since=(5, 7),
    ),
    *_mysql(
        "ALTER INSTANCE RELOAD TLS",
        "CREATE ROLE texts_role",
        "CREATE USER texts2 IDENTIFIED BY 'Secret;1'",
        "ALTER USER texts2 COMMENT 'DELETE FROM t'",
        "GRANT texts_role TO texts2",
        "SET DEFAULT ROLE texts_role TO texts2",
        "SET PASSWORD FOR texts2 = 'Other;1'",
        "DROP USER texts2",
        "DROP ROLE texts_role",
        "CREATE SPATIAL REFERENCE SYSTEM 4120711 NAME 'x' DEFINITION"
        ' \'GEOGCS["Greek",DATUM["Greek",SPHEROID["Bessel 1841",6377397.155,299.1528128]],'
        'PRIMEM["Greenwich",0],UNIT["degree",0.017453292519943278],AXIS["Lat",NORTH],AXIS["Lon",EAST]]\'',
        "DROP SPATIAL REFERENCE SYSTEM 4120711",
        "INSTALL COMPONENT 'file://component_validate_password'",
        "UNINSTALL COMPONENT 'file://component_validate_password'",
        "CREATE TABLE h (id INT)",
        "ANALYZE TABLE h UPDATE HISTOGRAM ON id",
        "ALTER TABLE h ALTER COLUMN id SET DEFAULT (1 + 1)",
        "DROP TABLE h",
    ),
    *_mariadb(
        "CREATE OR REPLACE TABLE o (id INT, s INT DEFAULT (1 + 1), g INT AS (id + 1) VIRTUAL)",
        "SET STATEMENT max_statement_time=9 FOR ALTER TABLE o ADD x INT",
        "ANALYZE TABLE o PERSISTENT FOR ALL",
        "DROP TABLE o WAIT 1",
        "CREATE SEQUENCE sq",
        "ALTER SEQUENCE sq RESTART 9",
        "DROP SEQUENCE sq",
        "CREATE ROLE texts_role",
        "CREATE OR REPLACE USER texts2 IDENTIFIED BY 'x'",
        "GRANT texts_role TO texts2",
        "SET DEFAULT ROLE texts_role FOR texts2",
        "SET PASSWORD FOR texts2 = PASSWORD('y')",
        "DROP USER texts2",
        "DROP ROLE texts_role",
        "CREATE OR REPLACE FUNCTION g() RETURNS INT RETURN 1",
        "DROP FUNCTION IF EXISTS g",
    ),
]

COMMENTS = (
    "{}",
    "-- x\n{}",
    "--\t\n{}",
    "# x\n{}",
    "/* x */ {}",
    "/**/{}",
    "/*+ x */ {}",
    "/*! {} */",
    "/*!50001 {}*/",
    "/*!999999 x */ {}",
    "\n -- a\n /* b */ # c\n\t{} -- d",
    "{} /* generated by server */",
)
MARIADB_COMMENTS = ("/*M! {} */", "/*M!100001 {}*/", "/*!50701 x */ {}")
