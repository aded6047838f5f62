"""The documentation's commands on a server's own folder, and exports of tables with odd names."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app
from binarrow.cli.folder_name import table_of
from support.logged import database
from support.servers.servers import Server

TABLES = [
    ("a", "b.c"),
    ("a.b", "c"),
    ("a", "x/y"),
    ("a", "x%2Fy"),
    ("a", "x%252Fy"),
    ("a", "."),
    ("a", ".."),
    ("a", "t."),
    ("a", "`"),
    ("a", "Größe 表"),
    ("a", "ab\u0001\u0085"),
]
"""Pairs of them would share a folder if names were joined as they are."""


def run(*arguments: object):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


def quoted(*names: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


@pytest.mark.filterwarnings("ignore:.*marked as in use:binarrow.BinarrowWarning")
def test_the_pattern_of_the_readme(server: Server) -> None:
    """`binlog.*` in a server's folder: its logs, and none of the other files."""
    with database(server, "globbed", "CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1)"):
        server.flush_binlog()
        server.execute("INSERT INTO t VALUES (2)")
        files = server.binlog_files()
        folder, base = files[0].parent, files[0].name.partition(".")[0]
        beside = {path.name for path in folder.glob(f"{base}.*")} - {path.name for path in files}
        assert f"{base}.index" in beside
        for source in (f"{folder}/{base}.*", str(folder), f"file://{folder}/{base}.*"):
            assert binarrow.expand_source(source) == [str(path) for path in files]
        for command in ("inspect", "stats", "splits"):
            run(command, f"{folder}/{base}.*", "--format", "json")


@pytest.mark.parametrize("flavor", ["mysql", "mariadb_11_8"])
def test_folders_of_an_export_are_reversible(
    flavor: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(flavor)
    server.flush_binlog()
    try:
        for number, (base, table) in enumerate(TABLES):
            server.execute(
                f"CREATE DATABASE IF NOT EXISTS {quoted(base)}",
                f"CREATE TABLE {quoted(base, table)} (id INT)",
                f"INSERT INTO {quoted(base, table)} VALUES ({number})",
            )
        log = server.binlog_files()[-1]
        run("export", log, "--to", tmp_path)
        written = {table_of(folder.name): folder for folder in tmp_path.iterdir()}
        assert sorted(written) == sorted(TABLES)
        for number, name in enumerate(TABLES):
            assert pq.read_table(written[name]).column("id").to_pylist() == [number]
        assert written["a", "b.c"].name == "a.b%2Ec"
        stats = json.loads(run("stats", log, "--format", "json").stdout)
        assert len(stats["tables"]) == len(TABLES)
        assert {counts["inserts"] for counts in stats["tables"].values()} == {1}
        assert {"`a`.`b.c`", "`a.b`.`c`", "a.x/y"} <= set(stats["tables"])
    finally:
        for base in {base for base, _ in TABLES}:
            server.execute(f"DROP DATABASE IF EXISTS {quoted(base)}")
