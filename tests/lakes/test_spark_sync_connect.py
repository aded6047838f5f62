"""`binarrow.spark.sync` with Spark Connect: a server runs the function that writes a batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from support import live

TESTS = Path(__file__).parents[1]


def test_connect(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{live.USER['password']}\n")
    program = TESTS / "support" / "workloads" / "spark_sync_connect.py"
    with live.server("mysql") as server:
        server.execute(
            "CREATE DATABASE shop",
            "CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(20))",
            "CREATE TABLE shop.old (id INT PRIMARY KEY)",
            "INSERT INTO shop.orders VALUES (1, 'first'), (2, NULL)",
            "INSERT INTO shop.old VALUES (1)",
            "GRANT SELECT ON shop.* TO live@'%'",
        )
        url = f"mysql://live@127.0.0.1:{server.port}/?allow_public_key_retrieval=true"
        with (tmp_path / "stderr.txt").open("w") as errors:
            running = subprocess.Popen(
                [sys.executable, program, tmp_path, url, tmp_path / "secret"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={
                    **os.environ,
                    "PYTHONPATH": str(TESTS),
                    "PYSPARK_PYTHON": sys.executable,
                    "SPARK_TESTING": "1",  # then a Connect server takes a free port
                },
            )
        assert running.stdin is not None
        assert running.stdout is not None
        lines = iter(running.stdout.readline, "")
        while next(lines, "loaded\n") != "loaded\n":
            pass
        server.execute(
            "UPDATE shop.orders SET note = 'second' WHERE id = 1",
            "INSERT INTO shop.old VALUES (2)",
            "DROP TABLE shop.old",
        )
        printed, _ = running.communicate("go\n")
        assert running.returncode == 0, (tmp_path / "stderr.txt").read_text()[-5000:]
        found = json.loads(printed.splitlines()[-1])
    assert Counter(map(tuple, found["mirror"])) == Counter([(1, "second"), (2, None)])
    assert Counter(map(tuple, found["scd2"])) == Counter([(1, "first"), (1, "second"), (2, None)])
    assert not (tmp_path / "mirror" / "shop" / "old").exists()
    assert (tmp_path / "scd2" / "shop" / "old").exists()
