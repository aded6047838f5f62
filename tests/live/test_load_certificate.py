"""The certificate of an initial load, and its check."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow.server.certificate_check import Certificate, Result, check_files, check_server
from support import live
from support.oracles.row_hash import hash_of_rows
from support.servers.fixtures import loading_servers
from support.servers.servers import Server
from support.workloads import loads

server = loading_servers()


@pytest.fixture
def source(server: Server) -> Iterator[binarrow.Server]:
    server.execute("DROP DATABASE live", "CREATE DATABASE live")
    with live.reach(server) as connected:
        yield connected


def load(source: binarrow.Server, path: Path, **keywords: Any) -> None:
    options = {"stop": "end", "certificate": path, **keywords}
    with source.stream("snapshot", **options) as changes:
        for _ in changes:
            pass


def grades(results: Iterator[Result]) -> dict[str, str]:
    return {result.table: result.grade for result in results}


def create(server: Server, *names: str) -> None:
    values = ", ".join(f"({n}, {n}, 'text {n}')" for n in range(1000))
    for name in names:
        server.execute(
            f"CREATE TABLE live.{name} (id INT PRIMARY KEY, v INT, note VARCHAR(20)) DEFAULT CHARSET=utf8mb4",
            f"INSERT INTO live.{name} VALUES {values}",
        )


def test_hashes_are_those_of_another_program(
    server: Server, source: binarrow.Server, tmp_path: Path
) -> None:
    """A certificate contains no values; another implementation of the hash finds the same sums."""
    server.execute(
        "CREATE TABLE live.types (id BIGINT UNSIGNED PRIMARY KEY, d DECIMAL(20,4), f DOUBLE, g FLOAT, s VARCHAR(30),"
        " b VARBINARY(30), t TIMESTAMP(3) NULL, day DATE, e ENUM('secret', 'other'), bits BIT(1), y YEAR, k TIME(2),"
        " doc JSON) DEFAULT CHARSET=utf8mb4",
        "INSERT INTO live.types VALUES (18446744073709551615, -7.5, 1.5, -0.25, 'secret ä', X'00FF', '2026-11-23 00:00:00.5',"
        " '1969-07-20', 'secret', b'1', 1999, '-12:00:00.25', '{\"a\": 1}')",
        "INSERT INTO live.types (id) VALUES (1), (2)",
    )
    load(source, tmp_path / "load.jsonl", tables="live.types", chunk_rows=2)
    text = (tmp_path / "load.jsonl").read_text()
    assert "secret" not in text
    lines = [json.loads(line) for line in text.splitlines()]
    kinds = [next(iter(line)) for line in lines]
    assert kinds == ["begin", "table", "chunk", "chunk", "complete"]
    names = lines[1]["table"]["columns"]
    rows = source.read_table("live.types", columns=names, envelope=[]).read_all()
    counts = [line["chunk"] for line in lines if "chunk" in line]
    assert [count["rows"] for count in counts] == [2, 1]
    total = sum(int(count["hash"], 16) for count in counts) % 2**128
    assert total == hash_of_rows(rows)
    assert grades(check_server(Certificate(tmp_path / "load.jsonl"), source)) == {
        "": "ok",
        "live.types": "ok",
    }


def test_each_difference_is_found(server: Server, source: binarrow.Server, tmp_path: Path) -> None:
    create(server, "a")
    path = tmp_path / "load.jsonl"
    load(source, path, tables="live.a", chunk_rows=100)
    good = path.read_text()
    assert grades(check_server(Certificate(path), source)) == {"": "ok", "live.a": "ok"}
    lines = [json.loads(line) for line in good.splitlines()]
    draw = random.Random(3)
    chunks = [index for index, line in enumerate(lines) if "chunk" in line]
    for _ in range(4):
        changed = json.loads(json.dumps(lines))
        one = changed[draw.choice(chunks)]["chunk"]
        kind = draw.choice(["rows", "hash"])
        one[kind] = (
            one[kind] + 1
            if kind == "rows"
            else f"{int(one[kind], 16) ^ 1 << draw.randrange(128):032x}"
        )
        path.write_text("".join(json.dumps(line) + "\n" for line in changed))
        assert grades(check_server(Certificate(path), source))["live.a"] == "error", kind
    # A change that the log does not contain.
    path.write_text(good)
    server.execute(
        "SET sql_log_bin = 0", "UPDATE live.a SET v = -1 WHERE id = 555", "SET sql_log_bin = 1"
    )
    [result] = [one for one in check_server(Certificate(path), source) if one.table]
    assert (result.grade, result.text) == ("error", "chunks 5 have other rows than the server had")
    # A chunk is missing.
    path.write_text(
        "".join(
            json.dumps(line) + "\n" for line in lines if line.get("chunk", {}).get("number") != 3
        )
    )
    assert "error" in grades(Certificate(path).check_itself()).values()


def test_a_busy_server_and_restarts(
    server: Server, source: binarrow.Server, tmp_path: Path
) -> None:
    """All tables with known order are compared, although rows are changed all the time and the load is interrupted."""
    loads.fill(server)
    tables = [f"live.{table}" for table in loads.TABLES]
    path = tmp_path / "load.jsonl"
    draw = random.Random(1)
    place: binarrow.Position | str = "snapshot"
    with loads.writers(server):
        for _ in range(4):
            with source.stream(
                place, chunk_rows=300, batch_rows=120, tables=tables, certificate=path
            ) as changes:
                for _ in range(draw.randrange(1, 40)):
                    place = next(changes).position
            assert isinstance(place, binarrow.Position)
            place = binarrow.Position.from_json(place.to_json())
        with source.stream(
            place, stop="end", chunk_rows=300, tables=tables, certificate=path
        ) as changes:
            for _ in changes:
                pass
    results = [*Certificate(path).check_itself(), *check_server(Certificate(path), source)]
    found = grades(iter(results))
    assert "error" not in found.values(), results
    # Rows with such keys were deleted, and only the server knows the order of text.
    text = {"live.ci", "live.bin", "live.latin", "live.composite"}
    assert {table for table, grade in found.items() if grade == "ok"} >= {"", *tables} - text
    files = [str(file) for file in server.binlog_files()]
    assert grades(check_files(Certificate(path), files)) == {"": "ok"}


def test_certificates_of_other_loads(
    server: Server, source: binarrow.Server, tmp_path: Path
) -> None:
    create(server, "a", "b")
    path = tmp_path / "load.jsonl"
    read: dict[str, Any] = {"tables": ["live.a", "live.b"], "chunk_rows": 100}
    with source.stream("snapshot", **read) as changes:
        uncounted = next(changes).position
    with pytest.raises(binarrow.ConfigError, match="began without a certificate"):
        source.stream(uncounted, certificate=path, **read)
    with source.stream("snapshot", certificate=path, **read) as changes:
        positions = [next(changes).position for _ in range(4)]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    with pytest.raises(binarrow.ConfigError, match="not the certificate of the load"):
        source.stream(positions[-1], certificate=path, **read)
    path.write_text("anything\n")
    with pytest.raises(binarrow.ConfigError, match="not the certificate of an initial load"):
        source.stream(positions[-1], certificate=path, **read)
    load(source, path, **read)
    assert set(grades(check_server(Certificate(path), source)).values()) == {"ok"}


def test_masks_filters_and_layouts(server: Server, source: binarrow.Server, tmp_path: Path) -> None:
    create(server, "a")
    server.execute("CREATE TABLE live.k (v INT)", "INSERT INTO live.k VALUES (1), (1), (NULL)")
    for number, keywords in enumerate(
        (
            {"mask": {"live.a.note": "sha256"}, "mask_salt": b"salt"},
            {"layout": "nested"},
            {"types": "spark"},
            {"columns": {"live.a": ["note"]}},
        )
    ):
        path = tmp_path / f"{number}.jsonl"
        load(source, path, tables=["live.a", "live.k"], **keywords)
        server.execute(
            "UPDATE live.a SET v = v + 1 WHERE id % 7 = 0", "DELETE FROM live.k WHERE v = 1 LIMIT 1"
        )
        assert set(grades(check_server(Certificate(path), source)).values()) == {"ok"}, keywords
    assert '"columns":["id","v"]' in (tmp_path / "0.jsonl").read_text()
    server.execute("ALTER TABLE live.a ADD COLUMN w INT")
    found = grades(check_server(Certificate(path), source))
    assert found == {"": "ok", "live.a": "warning", "live.k": "ok"}


def test_other_types(server: Server, source: binarrow.Server, tmp_path: Path) -> None:
    """The hashes are those of the types that the load had, as in the command tail."""
    server.execute(
        "CREATE TABLE live.clock (id INT PRIMARY KEY, k TIME, e ENUM('a', 'b'), g POINT)",
        "INSERT INTO live.clock VALUES (1, '-12:00:00', 'b', POINT(1, 2)), (2, NULL, NULL, NULL)",
    )
    types = binarrow.TypeOptions(time="text", enum="text", geometry="wkb")
    load(source, tmp_path / "load.jsonl", tables="live.clock", types=types)
    found = grades(check_server(Certificate(tmp_path / "load.jsonl"), source))
    assert found == {"": "ok", "live.clock": "ok"}


def test_tables_without_rows_now(server: Server, source: binarrow.Server, tmp_path: Path) -> None:
    """One was dropped since, and the rows of another one were deleted, not in the order of its key."""
    create(server, "a", "b")
    path = tmp_path / "load.jsonl"
    load(source, path, tables=["live.a", "live.b"], chunk_rows=300)
    server.execute("DROP TABLE live.a", "DELETE FROM live.b ORDER BY id DESC")
    found = grades(check_server(Certificate(path), source))
    assert found == {"": "ok", "live.a": "warning", "live.b": "ok"}


def test_a_load_that_has_just_begun(
    source: binarrow.Server, server: Server, tmp_path: Path
) -> None:
    create(server, "a")
    path = tmp_path / "load.jsonl"
    load(source, path, tables="live.a")
    path.write_text(path.read_text().split("\n", 1)[0] + "\n")
    assert grades(check_server(Certificate(path), source)) == {"": "ok"}
