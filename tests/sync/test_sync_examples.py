"""The examples of `sync` in the documentation."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from support.documents import environment, examples, statements
from support.oracles.delta_tables import read_delta
from support.oracles.duckdb_tables import read_source, read_target
from support.oracles.iceberg_tables import read_iceberg
from support.oracles.valid_rows import valid_rows
from support.sync_source import SECRET, Source

SERVERS = ["mysql"]

ORDERS = "shop.orders"


@pytest.mark.parametrize("language", ["python", "sh"])
def test_examples(source: Source, language: str) -> None:
    source.execute(
        "DROP USER IF EXISTS repl@'%'",
        *(one.replace("a long password", SECRET) for one in statements("sync")),
        "CREATE TABLE orders (id INT PRIMARY KEY)",
        "INSERT INTO orders VALUES (1), (2)",
    )
    (source.folder / "secret").write_text(SECRET)
    blocks = examples(language, "sync")
    assert len(blocks) > 1
    for code in blocks:
        place = f"127.0.0.1:{source.server.port}/?allow_public_key_retrieval=1"
        reached = code.replace("db.example/", place)
        if language == "sh":
            reached = re.sub(r" (mysql://\S+)", r" '\1'", reached)  # the URL contains a ?
        interpreter = [sys.executable, "-c"] if language == "python" else ["bash", "-euc"]
        ran = subprocess.run(
            [*interpreter, reached],
            cwd=source.folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode == 0, ran.stderr
        file, lake = source.folder / "mirror.duckdb", source.folder / "lake"
        versions = source.folder / "versions.duckdb"
        if file.exists():
            found = read_target(file, ORDERS)
        elif versions.exists():
            found = valid_rows(read_target(versions, ORDERS), None, ("id",))
        else:
            found = (read_delta if "delta" in code else read_iceberg)(lake, ORDERS)
        assert found == read_source(source.server, ORDERS)
        file.unlink(missing_ok=True)
        versions.unlink(missing_ok=True)
        shutil.rmtree(lake, ignore_errors=True)
    source.execute("DROP USER repl@'%'")
