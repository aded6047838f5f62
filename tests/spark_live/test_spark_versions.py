"""Spark's versions, classic and through Connect, read what plain Python reads.

In the environment of the tests through Connect; other Pythons, each with a pyspark of its own, are named in
`BINARROW_SPARK_PYTHONS`, with colons between them. There it is both ways.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binarrow
from binarrow.spark import schema
from binarrow.spark.live.login import login
from binarrow.spark.schema import arrow_schema, server_schema
from support import live
from support.servers.servers import Server
from support.waiting import WAIT

TOO_BUSY = "Python worker failed to connect back"
"""Spark gives a Python worker 10 seconds to start, whatever else the machine does."""

PYTHONS = os.environ.get("BINARROW_SPARK_PYTHONS", "").split(":")
ENVIRONMENTS = [(sys.executable, True)] + [
    (python, connect) for python in PYTHONS if python for connect in (False, True)
]

SHOP_TABLE = "shop.order_items"
TABLE = "versions.t"


@pytest.fixture(scope="module")
def logged() -> Iterator[Server]:
    """A server whose log, which is read from its beginning, has nothing of other tests."""
    with Server.start("mysql") as server:
        write(server)
        yield server


def write(server: Server) -> None:
    server.execute(
        "CREATE DATABASE versions",
        f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, name VARCHAR(20), at TIMESTAMP(3), day DATE)",
        f"INSERT INTO {TABLE} VALUES (1, 'one', '2026-11-22 06:00:00.123', '2026-11-22'), (2, NULL, NULL, NULL)",
        f"UPDATE {TABLE} SET name = 'ü🎉' WHERE id = 2",
        "FLUSH BINARY LOGS",
        f"DELETE FROM {TABLE} WHERE id = 1",
        "CREATE USER versions@'%' IDENTIFIED BY 'v3rsions'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO versions@'%'",
    )


def as_json(table: pa.Table) -> list[dict[str, Any]]:
    return json.loads(json.dumps(table.to_pylist(), default=str))


@pytest.mark.parametrize(("python", "connect"), ENVIRONMENTS)
def test_a_version(
    logged: Server, shop, repository: Path, tmp_path: Path, python: str, connect: bool
) -> None:
    (tmp_path / "password").write_text("v3rsions")
    url = f"mysql://versions@127.0.0.1:{logged.port}/"
    keywords = {"password_file": str(tmp_path / "password"), "tls": "required"}
    options = {"url": url, "passwordFile": keywords["password_file"], "tls": "required"}
    task = {
        "connect": connect,
        "files": shop.glob,
        "shop_table": SHOP_TABLE,
        "table": TABLE,
        "url": url,
        "login": keywords,
        "options": options,
    }
    environment = {**os.environ, "PYTHONPATH": str(repository / "python"), "PYSPARK_PYTHON": python}
    environment["PYSPARK_DRIVER_PYTHON"] = python
    environment["SPARK_TESTING"] = "1"  # then a Connect server takes a free port
    program = Path(__file__).parents[1] / "support" / "workloads" / "spark_smoke.py"
    for attempt in range(3):
        task["work"] = str(tmp_path / str(attempt))
        call = [python, str(program), json.dumps(task)]
        ran = subprocess.run(
            call, env=environment, capture_output=True, text=True, timeout=10 * WAIT, check=False
        )
        if ran.returncode == 0 or TOO_BUSY not in ran.stderr:
            break
    assert ran.returncode == 0, re.sub(r".*(\r|^\s+at ).*", "", ran.stderr, flags=re.MULTILINE)
    result = json.loads(ran.stdout.splitlines()[-1])

    def plain(source, table, declared):
        reader = binarrow.read_binlog(source, types="spark")
        target = arrow_schema(declared)
        return as_json(pa.table(reader.table(table, schema=target, on_schema_change="conform")))

    expected = plain(shop.glob, SHOP_TABLE, schema(shop.glob, SHOP_TABLE))
    assert len(expected) > 1000
    assert result["files"] == expected
    assert result["ranges"] == expected

    with binarrow.connect(url, **keywords) as server:
        stream = server.stream("earliest", stop="end", types="spark")
        declared = server_schema(login(url, keywords), TABLE)
        changes = stream.table(TABLE, schema=arrow_schema(declared), on_schema_change="conform")
        expected = as_json(pa.table(changes))
    assert len(expected) == 5
    assert result["server"] == expected
    assert result["server_ranges"] == expected
    assert result["stream"] == expected
    live.until(lambda: not live.dumps(logged))
