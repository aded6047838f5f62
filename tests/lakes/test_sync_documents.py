"""The example of `binarrow.spark.sync` in the documentation, which writes Delta tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import live
from support.documents import example


def test_the_example(
    lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
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
        code = example("python", "lake")
        assert "mysql://repl@db.example/" in code
        # Spark was started in another folder than the test.
        code = code.replace('load("lake', f'load("{tmp_path}/lake')
        exec(code.replace("mysql://repl@db.example/", url), {})
    assert "first" in capsys.readouterr().out
