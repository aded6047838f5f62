"""Column types, values at their edges, and the types that an ALTER TABLE can give the columns afterwards.

`COLUMNS` has one table for each type before the statement. The values are SQL; those that a server does not accept are left
out. Each type is changed into all of `TARGETS` of its family.
"""

from __future__ import annotations

INTEGERS = [
    f"{name}{sign}"
    for name in ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")
    for sign in ("", " UNSIGNED")
]
WHOLE = "0 1 -1 127 -128 255 32767 -32768 65535 8388607 16777215 16777217 2147483647 4294967295"
WHOLE_EDGES = [*WHOLE.split(), "9007199254740993", "9223372036854775807", "18446744073709551615"]
FRACTIONS = ["0", "1.25", "-1.25", "0.1", "3.14159265358979", "16777217", "1e10", "0.005", "99.995"]
DECIMALS = ["0", "1.25", "-1.25", "99.99", "-99.99", "0.005", "9999.99", "99999.999", "12345678.12"]
NUMBERS = [
    *INTEGERS,
    "INT(3) ZEROFILL",
    "DECIMAL(5,2)",
    "DECIMAL(6,2)",
    "DECIMAL(6,3)",
    "DECIMAL(6,2) UNSIGNED",
    "DECIMAL(10,0)",
    "DECIMAL(12,4)",
    "DECIMAL(22,2)",
    "FLOAT",
    "FLOAT(7,2)",
    "FLOAT UNSIGNED",
    "DOUBLE",
    "DOUBLE(10,2)",
    "DOUBLE(12,3)",
    "BIT(1)",
    "BIT(8)",
    "BIT(64)",
    "YEAR",
]

STAMPS = [
    "'2026-01-02 03:04:05.678912'",
    "'2026-01-02 23:59:59.999999'",
    "'2026-01-02'",
    "'1970-01-02 00:00:00'",
    "'0000-00-00'",
    "'2026-00-00'",
    "'9999-12-31 23:59:59'",
]
MOMENTS = [
    "DATE",
    "DATETIME",
    "DATETIME(3)",
    "DATETIME(6)",
    "TIMESTAMP NULL",
    "TIMESTAMP(6) NULL",
    "TIME",
    "TIME(2)",
    "TIME(6)",
    "YEAR",
    "VARCHAR(30)",
]

WORDS = [
    "''",
    "'a'",
    "'abc'",
    "'abc  '",
    "'abcdefghij'",
    "'é'",
    "'日本'",
    "'😀'",
    "' x '",
    "'[1, 2]'",
]
WORDS += ['\'{"b": 1, "a":2}\'', "'5'", "'ab      '"]
TEXTS = [
    "CHAR(3) CHARACTER SET utf8mb4",
    "CHAR(10) CHARACTER SET utf8mb4",
    "CHAR(10) CHARACTER SET latin1",
    "VARCHAR(3) CHARACTER SET utf8mb4",
    "VARCHAR(10) CHARACTER SET utf8mb4",
    "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "VARCHAR(10) CHARACTER SET utf8",
    "VARCHAR(10) CHARACTER SET latin1",
    "VARCHAR(10) CHARACTER SET latin2",
    "VARCHAR(10) CHARACTER SET ucs2",
    "VARCHAR(10) CHARACTER SET ascii",
    "VARCHAR(300) CHARACTER SET utf8mb4",
    "VARCHAR(10)",
    "TINYTEXT CHARACTER SET latin1",
    "TINYTEXT CHARACTER SET utf8mb4",
    "TEXT CHARACTER SET utf8mb4",
    "TEXT CHARACTER SET latin1",
    "LONGTEXT CHARACTER SET utf8mb4",
    "JSON",
    "ENUM('a','abc','é') CHARACTER SET utf8mb4",
    "SET('a','abc') CHARACTER SET utf8mb4",
    "VARBINARY(40)",
    "INT",
]
LONG = [
    "REPEAT('é', 250)",
    "CONCAT(REPEAT('x', 200), SPACE(55))",
    "CONCAT(REPEAT('é', 120), SPACE(100))",
]

MEMBERS = ["'a'", "'b'", "'c'", "'x'", "''", "2", "3"]
CHOICES = [
    "ENUM('a','b','c')",
    "ENUM('a','b','c','d')",
    "ENUM('c','b','a')",
    "ENUM('z','a','b','c')",
    "ENUM('a','b')",
    "ENUM('A','B','C')",
    "ENUM('a','b','c') CHARACTER SET latin1",
    "VARCHAR(5)",
    "INT",
]
SETS = [kind.replace("ENUM", "SET") for kind in CHOICES]

BYTES = [
    "''",
    "'a'",
    "'ab'",
    "'abc'",
    "X'6100'",
    "X'00'",
    "X'FF'",
    "'a  '",
    "'abcde'",
    "X'6100000000'",
]
BINARIES = [
    "BINARY(3)",
    "BINARY(5)",
    "VARBINARY(3)",
    "VARBINARY(5)",
    "VARBINARY(9)",
    "TINYBLOB",
    "BLOB",
    "LONGBLOB",
    "VARCHAR(5) CHARACTER SET latin1",
    "VARCHAR(9) CHARACTER SET utf8mb4",
    "CHAR(5) CHARACTER SET latin1",
]

FAMILIES: list[tuple[list[str], list[str], list[str]]] = [
    # types before, values, types after
    (["TINYINT", "MEDIUMINT UNSIGNED", "INT", "INT UNSIGNED", "BIGINT"], WHOLE_EDGES, NUMBERS),
    (["BIGINT UNSIGNED"], WHOLE_EDGES, ["BIGINT", "DECIMAL(20,0)", "DOUBLE"]),
    (["DECIMAL(6,2)", "DECIMAL(10,0)", "DECIMAL(12,4)"], DECIMALS, NUMBERS),
    (["FLOAT", "FLOAT(7,2)", "DOUBLE", "DOUBLE(10,2)"], FRACTIONS, NUMBERS),
    (["BIT(1)", "BIT(8)", "BIT(64)", "YEAR"], ["0", "1", "5", "255", "2026", "1901"], NUMBERS),
    (MOMENTS[:-2], [*STAMPS, "'12:13:14.5'", "'-838:59:59'"], MOMENTS),
    (["YEAR", "YEAR(2)"], ["0", "'0'", "1", "1999", "2069", "99"], ["YEAR", "YEAR(2)", "YEAR(4)"]),
    (TEXTS[:-4], WORDS, TEXTS),
    ([text for text in TEXTS if "TEXT" in text], LONG, TEXTS),
    (CHOICES[:1], MEMBERS, CHOICES),
    (SETS[:1], [*MEMBERS, "'a,b'", "'b,c'"], SETS),
    (BINARIES[:-3], BYTES, BINARIES),
]
