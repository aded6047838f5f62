"""The recipe `sync_spark.py`, as its command line runs it, in the lake's session."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from support import live
from support.workloads.spark_load import GRANT, ORDERS, Load, selected

RECIPE = Path(__file__).parents[2] / "examples" / "sync_spark.py"


def test_the_recipe(lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_delta = lake.format == "delta"
    (tmp_path / "secret").write_text(f"{live.USER['password']}\n")
    with live.server("mysql") as server:
        server.execute(ORDERS, GRANT)
        target = f"delta+file:///{tmp_path}/lake" if is_delta else "iceberg://lake"
        call = [str(RECIPE), f"mysql://live@127.0.0.1:{server.port}/", "live.orders", target]
        call += ["--password-file", str(tmp_path / "secret"), "--once", "--option", "tls=required"]
        call += ["--option", "startingOffsets=earliest"]
        call += [] if is_delta else ["--checkpoint", str(tmp_path / "checkpoint")]
        monkeypatch.setattr(sys, "argv", call)
        name = f"delta.`{tmp_path}/lake/live/orders`" if is_delta else "lake.live.orders"
        for seed in (1, 2):  # the second continues where the first ended
            Load(server, seed).play(100)
            runpy.run_path(str(RECIPE), run_name="__main__")
            held = sorted(tuple(row) for row in lake.spark.table(name).collect())
            assert held == selected(server)
