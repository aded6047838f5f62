"""Tables for every kind of optional metadata that a Table_map event has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.logged import logging
from support.servers.servers import Server
from support.workloads.table import quote

EVERYWHERE = {
    "numbers": """a TINYINT, b TINYINT UNSIGNED NOT NULL, c SMALLINT, d SMALLINT UNSIGNED,
        e MEDIUMINT, f MEDIUMINT UNSIGNED NOT NULL, g INT, h INT UNSIGNED, i BIGINT NOT NULL,
        j BIGINT UNSIGNED, k FLOAT, l FLOAT UNSIGNED, m DOUBLE NOT NULL, n DOUBLE UNSIGNED,
        o DECIMAL(10,3), p DECIMAL(65,30) UNSIGNED, q NUMERIC(5) NOT NULL, r BOOL, s BIT,
        t BIT(10), u BIT(64) NOT NULL, v YEAR, PRIMARY KEY (f)""",
    "many_signs": ", ".join(
        f"c{n} INT {'UNSIGNED' if n % 3 == 0 else ''} {'NOT NULL' if n % 5 == 0 else ''}"
        for n in range(70)
    ),
    "times": """a DATE NOT NULL, b TIME, c TIME(3), d TIME(6) NOT NULL, e DATETIME, f DATETIME(1),
        g DATETIME(6) NOT NULL, h TIMESTAMP NULL, i TIMESTAMP(2) NULL, j YEAR NOT NULL""",
    "strings": """a CHAR(10), b VARCHAR(20) CHARACTER SET latin1, c BINARY(5), d VARBINARY(300),
        e TINYTEXT, f TEXT NOT NULL, g MEDIUMTEXT, h LONGTEXT, i TINYBLOB, j BLOB, k MEDIUMBLOB,
        l LONGBLOB NOT NULL, m CHAR(255), n VARCHAR(5000) NOT NULL, o CHAR(0), p BINARY(255),
        q VARCHAR(300) CHARACTER SET utf8, r CHAR(7) CHARACTER SET ucs2""",
    "one_charset": ", ".join(f"c{n} VARCHAR({n + 1})" for n in range(20))
    + ", x VARCHAR(4) CHARACTER SET latin1, y VARBINARY(3), z TEXT CHARACTER SET koi8r",
    "bytes_alone": "a VARBINARY(3), b BLOB, c BINARY(9)",
    "mixed_charsets": """a VARCHAR(3) CHARACTER SET latin1, b TEXT CHARACTER SET greek,
        c CHAR(4) CHARACTER SET sjis, d VARCHAR(8) CHARACTER SET utf8mb4, e VARBINARY(3)""",
    "lists": """a ENUM('x') NOT NULL, b SET('x') NOT NULL, c ENUM('b''c','x,y','\\\\','"','\\n','é','',
        ' z  z','\\t','\\r','\\b','\\0'), d SET('q','wé','it''s','(a)'), e ENUM('1','2') CHARACTER SET
        binary, f ENUM('é') CHARACTER SET latin1, g SET('é','ü') CHARACTER SET latin1, h INT""",
    "one_list_charset": ", ".join(f"c{n} ENUM('a','b{n}')" for n in range(9))
    + ", x SET('a') CHARACTER SET latin1",
    "mixed_list_charsets": """a ENUM('a') CHARACTER SET latin1, b SET('б') CHARACTER SET koi8r,
        c ENUM('ω') CHARACTER SET greek, d ENUM('日') CHARACTER SET ujis""",
    "long_lists": "a ENUM({}), b SET({})".format(
        ",".join(f"'member {n}'" for n in range(3000)), ",".join(f"'s{n}'" for n in range(64))
    ),
    "shapes": """a GEOMETRY, b POINT NOT NULL, c LINESTRING, d POLYGON, e MULTIPOINT,
        f MULTILINESTRING, g MULTIPOLYGON, h GEOMETRYCOLLECTION, i VARCHAR(5), j INT""",
    "key": "id INT UNSIGNED NOT NULL PRIMARY KEY, name VARCHAR(10)",
    "key_of_three": "a INT, b VARCHAR(9), c DATE, d BINARY(4), PRIMARY KEY (d, a, c)",
    "key_with_prefix": """a TEXT NOT NULL, b INT, c VARCHAR(99) CHARACTER SET latin1, d BLOB NOT NULL,
        PRIMARY KEY (c(10), b, a(3), d(7))""",
    "key_elsewhere": "a INT NOT NULL UNIQUE, b INT, KEY (b)",
    "n ame,(é)": "`c,d` INT, `é` VARCHAR(9), `from` INT, `a(1)` INT, PRIMARY KEY (`c,d`, `é`(5))",
}


SINCE_5_7 = {
    "computed": "a INT, b INT AS (a * 2) VIRTUAL, c INT, d VARCHAR(9) AS (c) STORED",
}


MYSQL_5_7 = {"documents": "id INT PRIMARY KEY, j JSON, k JSON NOT NULL"}


MYSQL = MYSQL_5_7 | {
    "hidden": "a INT INVISIBLE, b INT, c VARCHAR(9) INVISIBLE, PRIMARY KEY (a)",
    "vectors": "a VECTOR(4), b VECTOR, c VECTOR(16383), d VARBINARY(9), e VARCHAR(3)",
    "indexed": """id INT PRIMARY KEY, j JSON, v VARCHAR(10), INDEX (v, (UPPER(v))),
        INDEX ((CAST(j->'$.a' AS UNSIGNED ARRAY)))""",
    "back`tick": "`a``b` INT, `c\\d'e\"f` INT, `new\nline x` INT",
}


MARIADB = {
    "hidden": "a INT INVISIBLE, b INT, c VARCHAR(9) INVISIBLE",
    "versions": "a INT PRIMARY KEY, b INT) WITH SYSTEM VERSIONING -- ",
    "addresses": "a UUID, b INET6, d VARCHAR(9), e INT",
    "json": "id INT PRIMARY KEY, j JSON",
    "long_unique": "a TEXT UNIQUE, b INT",
}


@contextmanager
def row_metadata(server: Server, setting: str) -> Iterator[None]:
    server.execute(f"SET GLOBAL binlog_row_metadata = {setting}")
    try:
        yield
    finally:
        server.execute("SET GLOBAL binlog_row_metadata = FULL")


@contextmanager
def session_value(server: Server, variable: str, value: str) -> Iterator[None]:
    """A variable of the server's own session."""
    server.execute(f"SET SESSION {variable} = {value}")
    try:
        yield
    finally:
        server.execute(f"SET SESSION {variable} = DEFAULT")


def insert(server: Server, table: str) -> None:
    """One row, whatever the columns."""
    if table == "shapes":
        server.execute("INSERT INTO shapes (b) VALUES (ST_GeomFromText('POINT(1 1)'))")
    else:
        server.execute(f"INSERT INTO {quote(table)} () VALUES ()")


def logged_tables(server: Server, tables: dict[str, str]) -> list[Path]:
    """Makes the tables in the current database, and gives files with a row of each."""
    with session_value(server, "sql_mode", "''"):
        for table, columns in tables.items():
            server.execute(f"CREATE TABLE {quote(table)} ({columns})")
        with logging(server) as files:
            for table in tables:
                insert(server, table)
    return files
