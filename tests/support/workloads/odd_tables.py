"""Tables whose CREATE TABLE statements are hard to read: names, comments, keys, expressions, options.

Each is a statement and a row: `odd_tables(flavor)` gives them by name, for the database in use.
"""

from __future__ import annotations

from support.workloads.table import quote

NAMES = "odd -- näme `x`; /*"  # quoted names need care

EVERYWHERE = {
    "comments": (
        (
            "(id INT PRIMARY KEY COMMENT 'a `tick`, a ''quote'', a \"double\"; -- not /* a comment */',"
            " n INT UNSIGNED COMMENT ';) ENGINE=InnoDB', `#` INT COMMENT '\\\\', UNIQUE KEY (n) COMMENT ')')"
            " COMMENT 'it''s /*!50100 no */ comment; CREATE TABLE t (id INT);'"
        ),
        "VALUES (1, 4294967295, 3)",
    ),
    NAMES: (
        (
            "(`größe` INT UNSIGNED NOT NULL, `a``b \"c'` VARCHAR(10) CHARACTER SET latin1, `primary` BIGINT UNSIGNED,"
            " `key` ENUM('(', ',', '''', '\"', '\\\\', '`', ' x', '-- ') CHARACTER SET utf8mb4, `1` INT, `select` DATE,"
            " PRIMARY KEY (`primary`, `größe`))"
        ),
        "VALUES (7, 'é', 18446744073709551615, '\\\\', 1, '2020-02-29')",
    ),
    "keys": (
        (
            "(n INT, a VARCHAR(40) CHARACTER SET utf8mb4 NOT NULL, b BLOB NOT NULL, UNIQUE u (n), KEY (a(2)) USING BTREE,"
            " FULLTEXT KEY f (a), CONSTRAINT `PRIMARY` PRIMARY KEY (b(5), a(3)) USING BTREE) ENGINE=MyISAM"
        ),
        "VALUES (-1, 'äb', X'00ff')",
    ),
    "whole_key": (
        "(a CHAR(4) CHARACTER SET utf8mb4, b VARBINARY(9), n INT, PRIMARY KEY (b(9), a))",
        "VALUES ('a', 'b', 1)",
    ),
    "unique_keys": (
        "(m INT, p INT NOT NULL, n INT UNSIGNED NOT NULL, UNIQUE KEY x (m), UNIQUE KEY y (n, p), UNIQUE KEY z (n))",
        "VALUES (NULL, -1, 4294967295)",
    ),
    "keyless": ("(n INT, t TINYTEXT CHARACTER SET latin1)", "VALUES (1, 'ä')"),
    "partitioned": (
        (
            "(id BIGINT UNSIGNED, d DATE NOT NULL, PRIMARY KEY (d, id)) ENGINE=InnoDB PARTITION BY RANGE (YEAR(d))"
            " SUBPARTITION BY HASH (id) SUBPARTITIONS 2"
            " (PARTITION p0 VALUES LESS THAN (2000) COMMENT = 'a;)', PARTITION p1 VALUES LESS THAN MAXVALUE)"
        ),
        "VALUES (1, '2020-02-29')",
    ),
    "parent": ("(id INT UNSIGNED PRIMARY KEY)", "VALUES (1)"),
    "child": (
        (
            "(id SERIAL, parent_id INT UNSIGNED, KEY (parent_id),"
            " CONSTRAINT `child; (x)` FOREIGN KEY (parent_id) REFERENCES parent (id) ON DELETE SET NULL ON UPDATE CASCADE)"
        ),
        "VALUES (1, 1)",
    ),
    "defaults": (
        (
            "(id INT NOT NULL AUTO_INCREMENT, a INT DEFAULT -1, b VARCHAR(20) CHARACTER SET utf8mb4 DEFAULT 'it''s; ), (',"
            " c TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), d BIT(8) DEFAULT b'101',"
            " e ENUM('a', 'b'',\"c\"\\\\') CHARACTER SET latin1 NOT NULL DEFAULT 'a', f FLOAT(7,3) DEFAULT -1.5e-3,"
            " g VARBINARY(3) DEFAULT X'00ff41', h DECIMAL(5,2) UNSIGNED DEFAULT 0.50, PRIMARY KEY (id))"
            " AUTO_INCREMENT=17 DEFAULT CHARSET=latin1 ROW_FORMAT=DYNAMIC STATS_PERSISTENT=0 MAX_ROWS=1000"
        ),
        "(id, a, c) VALUES (1, 1, '2020-02-29 01:02:03.456')",
    ),
    "numbers": (
        (
            "(a INT(5) ZEROFILL, b DECIMAL(5,2) ZEROFILL, c BIGINT UNSIGNED ZEROFILL, d FLOAT UNSIGNED, e DOUBLE(9,4) ZEROFILL,"
            " f TINYINT(1), g YEAR, h BOOL NOT NULL, i FLOAT(30), j REAL, k NUMERIC(3), l BIT)"
        ),
        "VALUES (5, 1, 18446744073709551615, 1, 1, 1, 1999, TRUE, 1, 1, 1, b'1')",
    ),
    "collations": (
        (
            "(a CHAR(3) COLLATE latin1_bin, b VARCHAR(3) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, c TEXT CHARACTER SET ucs2,"
            " d VARCHAR(5) CHARACTER SET binary, e SET('x', 'y ') COLLATE ascii_bin, f CHAR(2) CHARACTER SET cp1251, g NCHAR(4),"
            " h TEXT, i MEDIUMTEXT COLLATE koi8r_bin, j ENUM('ä', 'b')) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci"
        ),
        "VALUES ('a', 'ä', 'ä', X'ff', 'x,y', 'ж', 'ä', '🎉', 'ж', 'ä')",
    ),
}

GENERATED = {
    "computed": (
        (
            "(id INT UNSIGNED PRIMARY KEY, half INT GENERATED ALWAYS AS (id DIV 2) VIRTUAL COMMENT 'a)',"
            " word VARCHAR(30) CHARACTER SET utf8mb4 AS (CONCAT('),(', id, '`')) STORED, n BIGINT UNSIGNED NOT NULL,"
            " UNIQUE KEY (half))"
        ),
        "(id, n) VALUES (9, 18446744073709551615)",
    ),
}

UNSEEN = {
    "unseen": (
        "(id INT PRIMARY KEY, a INT UNSIGNED INVISIBLE DEFAULT 7, b VARCHAR(9) CHARACTER SET utf8mb4 DEFAULT ('x'))",
        "(id) VALUES (1)",
    ),
    "checked": (
        (
            "(id INT PRIMARY KEY CHECK (id <> 13), n INT UNSIGNED, CONSTRAINT `a; b` CHECK (n > 3 OR n < 2),"
            " CONSTRAINT CHECK (n <> ')'))"
        ),
        "VALUES (1, 5)",
    ),
}

OF_MYSQL = {
    "functional": (
        (
            "(id INT UNSIGNED PRIMARY KEY, n INT, doc JSON, KEY k ((n DIV 4) DESC, n), UNIQUE KEY u ((n + 1)),"
            " KEY m ((CAST(doc->'$[*]' AS UNSIGNED ARRAY))), KEY i (n) INVISIBLE)"
        ),
        "VALUES (1, 4, '[1, 2]')",
    ),
    "expressions": (
        (
            "(id BINARY(16) DEFAULT (UUID_TO_BIN(UUID())) PRIMARY KEY, place POINT NOT NULL SRID 4326,"
            " n INT DEFAULT (ABS(-1) + 2) CHECK (n > 0) NOT ENFORCED, d DATE DEFAULT (CURRENT_DATE),"
            " SPATIAL KEY (place)) COMMENT='{\"a\": \"b;)\"}' ENCRYPTION='N'"
        ),
        "(id, place) VALUES (X'00', ST_SRID(POINT(1, 2), 4326))",
    ),
}

OF_MARIADB = {
    "with_history": (
        "(id INT UNSIGNED PRIMARY KEY, t TEXT CHARACTER SET utf8mb4 WITHOUT SYSTEM VERSIONING) WITH SYSTEM VERSIONING",
        "(id, t) VALUES (1, 'ä')",
    ),
    "versions": (
        (
            "(id INT UNSIGNED, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START INVISIBLE, e TIMESTAMP(6) AS ROW END INVISIBLE,"
            " n INT, PERIOD FOR SYSTEM_TIME (s, e), PRIMARY KEY (id)) WITH SYSTEM VERSIONING"
        ),
        "(id, n) VALUES (1, 2)",
    ),
    "overlapping": (
        "(id INT, s DATE, e DATE, PERIOD FOR p (s, e), UNIQUE KEY (id, p WITHOUT OVERLAPS))",
        "VALUES (1, '2020-01-01', '2021-01-01')",
    ),
    "hashes": (
        (
            "(a TEXT CHARACTER SET utf8mb4, b VARCHAR(20) CHARACTER SET latin1, n INT NOT NULL, UNIQUE KEY (a),"
            " UNIQUE KEY (b) USING HASH, UNIQUE KEY (n))"
        ),
        "VALUES ('ä', 'ä', 1)",
    ),
    "next_number": (
        (
            "(id BIGINT DEFAULT NEXTVAL(counter), n INT PRIMARY KEY, j JSON, v INT AS (n + 1) PERSISTENT)"
            " ENGINE=Aria TRANSACTIONAL=1 PAGE_CHECKSUM=1"
        ),
        "(id, n, j) VALUES (1, 1, '[]')",
    ),
}


def odd_tables(flavor: str) -> dict[str, tuple[str, str]]:
    """Statements that make the tables and put a row in, by the tables' names."""
    found = {**EVERYWHERE}
    if flavor == "mysql-5.6":  # its FULLTEXT is fine, its generated columns are not there
        return _statements(found)
    found |= GENERATED
    if flavor == "mysql-5.7":
        return _statements(found)
    found |= UNSEEN
    return _statements(found | (OF_MARIADB if flavor.startswith("mariadb") else OF_MYSQL))


def _statements(tables: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {
        name: (f"CREATE TABLE {quote(name)} {definition}", f"INSERT INTO {quote(name)} {row}")
        for name, (definition, row) in tables.items()
    }
