"""The recipe `live_mirror.py`, as its command line runs it, in the lake's session."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from support import live
from support.workloads.spark_load import GRANT, ORDERS, TABLE, Load, selected

RECIPE = Path(__file__).parents[2] / "examples" / "live_mirror.py"


@pytest.mark.thorough(by="test_spark_load.py::test_the_mirror_is_the_table")
def test_the_command(lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, secret = lake.target(), tmp_path / "secret"
    secret.write_text(f"{live.USER['password']}\n")
    with live.server("mysql") as server:
        server.execute(ORDERS, GRANT)
        url = f"mysql://live@127.0.0.1:{server.port}/"
        call = [str(RECIPE), url, TABLE, target, "--format", lake.format]
        call += ["--password-file", str(secret), "--start", "earliest", "--once"]
        call += ["--option", "tls=required", "--checkpoint", str(tmp_path / "checkpoint")]
        monkeypatch.setattr(sys, "argv", call)
        for seed in (1, 2):  # the second continues where the first ended
            Load(server, seed).play(100)
            runpy.run_path(str(RECIPE), run_name="__main__")
            held = sorted(tuple(row) for row in lake.read(target).collect())
            assert held == selected(server)
