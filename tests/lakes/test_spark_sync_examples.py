"""The examples of `binarrow.spark.sync` in the documentation, which write Delta tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import live
from support.documents import examples


def test_examples(lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (tmp_path / "secret").write_text(f"{live.USER['password']}\n")
    monkeypatch.chdir(tmp_path)
    with live.server("mysql") as server:
        server.execute(
            "CREATE DATABASE shop",
            "CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(20))",
            "INSERT INTO shop.orders VALUES (1, 'first'), (2, NULL)",
            "GRANT SELECT ON shop.* TO live@'%'",
        )
        url = f"mysql://live@127.0.0.1:{server.port}/?allow_public_key_retrieval=true"
        code = "".join(examples("python", "lake"))
        assert "mysql://repl@db.example/" in code
        # Spark was started in another folder than the test.
        code = code.replace('load("', f'load("{tmp_path}/')
        exec(code.replace("mysql://repl@db.example/", url), {})
    mirrored, *versions, changes = capsys.readouterr().out.split("+\n\n")[:-1]
    assert all("first" in shown for shown in (mirrored, *versions))
    assert "_valid_to_version" in versions[0]
    assert "insert" in changes
