"""`binarrow stats`, `inspect` and `splits` on logs with the servers' default settings, and on tables that they cannot count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from binarrow.cli import app
from support.logged import database
from support.servers.servers import Server

NAME = "any_log"


def run(*arguments: object):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


def test_default_metadata(server: Server) -> None:
    """MINIMAL in MySQL, NO_LOG in MariaDB: no names of columns, no signedness of numbers."""
    default = "NO_LOG" if server.is_mariadb else "MINIMAL"
    table = "CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, e ENUM('a', 'b'), d DECIMAL(9,2), x TEXT)"
    with database(server, NAME, table):
        server.execute(f"SET GLOBAL binlog_row_metadata = {default}")
        try:
            server.flush_binlog()
            server.execute(
                "INSERT INTO t VALUES (1, 'a', 1, 'x'), (2, 'b', 2, NULL), (3, NULL, NULL, NULL)",
                "UPDATE t SET x = 'y', id = id + 10 WHERE id < 3",
                "DELETE FROM t WHERE id = 3",
            )
            log = server.flush_binlog()
        finally:
            server.execute("SET GLOBAL binlog_row_metadata = FULL")
        stats = json.loads(run("stats", log, "--format", "json").stdout)
        counts = stats["tables"][f"{NAME}.t"]
        del counts["bytes"]
        assert counts == {"inserts": 3, "updates": 2, "deletes": 1}
        assert (stats["transactions"], stats["changes"], stats["rows"]) == (3, 6, 8)
        assert len(stats["largest_transactions"]) == 3
        for command in ("inspect", "splits"):
            assert run(command, log).stderr == ""
        assert run("inspect", log, "--table-metadata", "--tables", f"{NAME}.t").stderr == ""


@pytest.mark.parametrize("flavor", ["mariadb_10_11", "mariadb_11_8"])
def test_rows_of_unknown_length(
    flavor: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Times in the form of MariaDB 5.3: the log does not contain their length. Other tables are counted."""
    server: Server = request.getfixturevalue(flavor)
    with database(server, NAME, "CREATE TABLE t (id INT)"):
        old = "CREATE TABLE `old` (id INT, at DATETIME(3), t TIME(2))"
        server.execute(
            "SET GLOBAL mysql56_temporal_format = OFF",
            old,
            "SET GLOBAL mysql56_temporal_format = ON",
        )
        server.flush_binlog()
        server.execute(
            "INSERT INTO t VALUES (1), (2)",
            "INSERT INTO `old` VALUES (1, '2026-01-01', '10:00'), (2, NULL, NULL)",
        )
        log = server.flush_binlog()
        result = run("stats", log, "--format", "json")
        assert f"changes of {NAME}.old are not counted" in result.stderr
        stats = json.loads(result.stdout)
        assert stats["tables"][f"{NAME}.t"]["inserts"] == stats["changes"] == 2
        assert stats["tables"][f"{NAME}.old"]["bytes"] > 0
        assert stats["transactions"] == 2
        schemas = tmp_path / "old.sql"
        schemas.write_text(f"USE {NAME}; {old};")
        result = run("stats", log, "--schemas", schemas, "--format", "json")
        assert result.stderr == ""
        assert json.loads(result.stdout)["changes"] == 4
