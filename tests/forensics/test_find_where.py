"""`where=` keeps the rows that SELECT ... WHERE returns, for every type that it compares.

BINARROW_CONDITIONS=5000 BINARROW_SEED=7 pytest tests/forensics/test_find_where.py
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

import binarrow
from support.extent import rounds
from support.logged import database, logging
from support.servers.servers import Server

SEED = int(os.environ.get("BINARROW_SEED", "1"))
CONDITIONS = rounds("BINARROW_CONDITIONS", 60, 150)
ROWS = 120

WORDS = ["", "a", "A", "ab", "é", "数", "a%b", "a_b", "z'z", "it\\s", "Zoë"]
MEMBERS = ["new", "paid", "shipped"]
SETS = ["", "x", "y", "x,y", "x,y,z"]
BYTES = ["", "61", "6100", "ff00", "616263"]
TIMES = ["00:00:00", "10:42:00", "-10:42:00.25", "838:59:59", "23:59:59.99"]
DATES = ["1970-01-01", "2024-02-29", "2026-11-21", "9999-12-31"]
CLOCKS = ["00:00:00", "10:42:00", "10:42:00.250", "23:59:59.999"]


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def integers(*values: int):
    return lambda random: str(random.choice([*values, random.randrange(-5, 300)]))


def moments(random: random.Random) -> str:
    return f"'{random.choice(DATES[:3])} {random.choice(CLOCKS)}'"


TYPES = {
    "tiny": ("TINYINT", lambda random: str(random.choice([-128, 0, 1, 127]))),
    "small": ("SMALLINT UNSIGNED", lambda random: str(random.choice([0, 1, 255, 65535]))),
    "medium": ("MEDIUMINT", lambda random: str(random.choice([-8388608, -1, 0, 8388607]))),
    "number": ("INT", integers(-(1 << 31), (1 << 31) - 1)),
    "big": ("BIGINT UNSIGNED", lambda random: str(random.choice([0, 7, 2**63, 2**64 - 1]))),
    "price": ("DECIMAL(12,3)", lambda random: random.choice(["-1.5", "0", "0.001", "12.340"])),
    "wide": ("DECIMAL(65,10)", lambda random: random.choice([f"{'9' * 55}.5", "-7.25", "0"])),
    "f": ("FLOAT", lambda random: random.choice(["0.5", "-1.5", "0.1", "1024"])),
    "d": ("DOUBLE", lambda random: random.choice(["0.5", "-1.5", "0.1", "1e30"])),
    "word": ("VARCHAR(20)", lambda random: quoted(random.choice(WORDS))),
    "text": ("TEXT", lambda random: quoted(random.choice(WORDS))),
    "code": (
        "CHAR(5) CHARACTER SET latin1 COLLATE latin1_bin",
        lambda r: quoted(r.choice(WORDS[:5])),
    ),
    "bytes": ("VARBINARY(10)", lambda random: f"x'{random.choice(BYTES)}'"),
    "data": ("BLOB", lambda random: f"x'{random.choice(BYTES)}'"),
    "three": ("BINARY(3)", lambda random: f"x'{random.choice(BYTES)}'"),
    "state": (f"ENUM({', '.join(map(quoted, MEMBERS))})", lambda r: quoted(r.choice(MEMBERS))),
    "flags": ("SET('x', 'y', 'z')", lambda random: quoted(random.choice(SETS))),
    "day": ("DATE", lambda random: quoted(random.choice(DATES))),
    "at": ("DATETIME(3)", moments),
    "stamp": ("TIMESTAMP(3) NULL", lambda r: f"'{r.choice(DATES[1:3])} {r.choice(CLOCKS)}'"),
    "duration": ("TIME(2)", lambda random: quoted(random.choice(TIMES))),
    "year": ("YEAR", lambda random: random.choice(["1901", "1999", "2026", "2155"])),
    "bits": ("BIT(10)", lambda random: str(random.choice([0, 1, 513, 1023]))),
    "bit": ("BIT(1)", lambda random: random.choice(["0", "1", "TRUE", "FALSE"])),
}
"""For each column its type, and a function that returns a random literal."""

LIKE = {"word", "text", "code", "state", "flags"}
UNORDERED = {"state", "flags"}
"""The servers order members by number in some comparisons."""


def atom(rng: random.Random) -> str:
    name = rng.choice([*TYPES])
    literal = TYPES[name][1]
    negated = rng.choice(["", "NOT "])
    kind = rng.randrange(8)
    if kind == 0:
        return f"`{name}` IS {negated}NULL"
    if kind == 1:
        return f"`{name}` {negated}IN ({', '.join(literal(rng) for _ in range(3))})"
    if kind == 2 and name not in UNORDERED:
        return f"`{name}` {negated}BETWEEN {literal(rng)} AND {literal(rng)}"
    if kind == 3 and name in LIKE:
        pattern = "".join(rng.choice(["%", "_", "a", "b", "é", "new", "p"]) for _ in range(3))
        return f"`{name}` {negated}LIKE '{pattern}'"
    if kind == 4 and name in ("number", "tiny", "price", "medium"):
        return f"`{name}` {rng.choice(['<', '>=', '='])} {rng.choice(['0.5', '-1.5', '7.0', '-0.0005'])}"
    if kind == 5 and name not in UNORDERED:
        return f"{literal(rng)} {rng.choice(['<', '<=', '>', '>='])} `{name}`"
    operators = ["=", "<>", "!="] + (["<", "<=", ">", ">="] if name not in UNORDERED else [])
    return f"`{name}` {rng.choice(operators)} {literal(rng)}"


def condition(rng: random.Random, depth: int = 0) -> str:
    kind = rng.randrange(3 if depth < 3 else 1)
    if kind == 0:
        return atom(rng)
    if kind == 1:
        return f"NOT ({condition(rng, depth + 1)})"
    both = (condition(rng, depth + 1), condition(rng, depth + 1))
    return f"({both[0]} {rng.choice(['AND', 'OR'])} {both[1]})"


def ids(files: list[Path], where: str, **keywords: object) -> list[int]:
    with binarrow.read_binlog(
        [str(path) for path in files],
        tables="found.t",
        where=where,
        columns={"found.t": ["id", *TYPES]},
        **keywords,
    ) as reader:
        return [row["id"] for batch in reader for row in batch.to_pyarrow().to_pylist()]


def test_a_filter_keeps_what_select_returns(server: Server):
    rng = random.Random(SEED)
    columns = ", ".join(f"`{name}` {sql}" for name, (sql, _) in TYPES.items())
    with database(server, "found", "SET SESSION time_zone = '+00:00', sql_mode = 'TRADITIONAL'"):
        server.execute(
            f"CREATE TABLE t (id INT PRIMARY KEY, {columns})"
            " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        )
        rows = [
            f"({number}, "
            + ", ".join("NULL" if rng.randrange(6) == 0 else one(rng) for _, one in TYPES.values())
            + ")"
            for number in range(ROWS)
        ]
        with logging(server) as files:
            for start in range(0, ROWS, 10):
                server.execute(f"INSERT INTO t VALUES {', '.join(rows[start : start + 10])}")
        found = 0
        for _ in range(CONDITIONS):
            where = condition(rng)
            expected = [
                row[0] for row in server.query(f"SELECT id FROM t WHERE {where} ORDER BY id")
            ]
            settings = rng.choice(
                [{}, {"types": "spark"}, {"threads": 3, "segment_bytes": 1000, "batch_rows": 3}]
            )
            assert ids(files, where, **settings) == expected, where
            found += len(expected)
        assert 0.1 < found / (ROWS * CONDITIONS) < 0.9
        server.execute("SET SESSION sql_mode = DEFAULT")


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_a_row_whose_image_lacks_the_column(server: Server, image: str):
    with database(server, "found", "CREATE TABLE t (id INT PRIMARY KEY, a INT, b TEXT)"):
        server.execute("INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'x')", "COMMIT")
        with logging(server) as files:
            server.execute(
                f"SET SESSION binlog_row_image = {image}",
                "UPDATE t SET a = 5 WHERE id = 1",
                "DELETE FROM t WHERE id = 2",
                "SET SESSION binlog_row_image = FULL",
            )

    def found(where: str) -> list[str]:
        with binarrow.read_binlog(
            [str(path) for path in files], tables="found.t", where=where
        ) as r:
            return [kind for batch in r for kind in batch.to_pyarrow()["_change_type"].to_pylist()]

    assert found("id = 1") == ["update_preimage", "update_postimage"]
    assert found("new.id = 1 AND new.a = 5") == ["update_preimage", "update_postimage"]
    assert found("id = 2") == ["delete"]
    with pytest.raises(binarrow.SchemaError, match=r'leaves out column "b" of a row'):
        found("b = 'x'")
