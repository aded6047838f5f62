"""The servers that the other tests rely on are what those tests take them for."""

from __future__ import annotations

import pytest

from support.servers.servers import ALL_FLAVORS, Server


@pytest.mark.parametrize("server", ALL_FLAVORS, indirect=True)
def test_server_logs_rows(server: Server) -> None:
    server.execute(
        "CREATE DATABASE smoke",
        "CREATE TABLE smoke.t (id INT PRIMARY KEY, note VARCHAR(20))",
        "INSERT INTO smoke.t VALUES (1, 'one'), (2, NULL)",
    )
    closed = server.flush_binlog()

    assert server.query("SELECT id, note FROM smoke.t ORDER BY id") == [(1, "one"), (2, None)]
    assert closed in server.binlog_files()
    assert closed.read_bytes().startswith(b"\xfebin")
    assert server.query("SELECT @@binlog_format") == [("ROW",)]
    listing = server.mysqlbinlog(closed, "--verbose", "--verbose", "--print-table-metadata")
    assert "### INSERT INTO `smoke`.`t`" in listing
    assert ("# Columns(`id` INT" in listing) is not server.is_old
    if not server.is_old:
        assert server.query("SELECT @@binlog_row_metadata") == [("FULL",)]
    server.execute("DROP DATABASE smoke")


def test_a_killed_server_leaves_its_binlog_behind() -> None:
    server = Server.start("mariadb-11.8")
    server.execute("CREATE DATABASE smoke")
    server.kill()
    try:
        assert server.binlog_files()[-1].read_bytes().startswith(b"\xfebin")
    finally:
        server.stop()
