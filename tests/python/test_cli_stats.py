"""`binarrow stats` by group, the largest transactions, and `binarrow inspect` with times and connections."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app
from binarrow.cli.groups import bar


def run(*arguments: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def stats(*arguments: object) -> Any:
    return json.loads(run("stats", *arguments, "--format", "json").stdout)


@pytest.mark.parametrize("by", ["minute", "hour", "thread", "operation"])
def test_groups_contain_all_changes(shop: Any, by: str) -> None:
    found = stats(shop.glob, "--by", by)
    changes: Counter[str] = Counter()
    for group in found["groups"]:
        for kind in ("inserts", "updates", "deletes"):
            changes[group["table"], kind] += group[kind]
        assert group["changes"] == sum(group[kind] for kind in ("inserts", "updates", "deletes"))
    wanted = {
        (table, kind): counts[kind]
        for table, counts in found["tables"].items()
        for kind in ("inserts", "updates", "deletes")
    }
    assert {key: changes[key] for key in wanted} == wanted
    values = {group[by] for group in found["groups"]}
    assert {
        "minute": values == {"2026-11-21T10:10+00:00"},
        "hour": values == {"2026-11-21T10:00+00:00"},
        "thread": values == {9},
        "operation": values == {"insert", "update", "delete"},
    }[by]


def test_the_zone_of_times(shop: Any) -> None:
    found = stats(shop.glob, "--by", "minute", "--tz", "Asia/Kolkata", "--largest", 1)
    assert {group["minute"] for group in found["groups"]} == {"2026-11-21T15:40+05:30"}
    assert found["largest_transactions"][0]["committed"].endswith("+05:30")
    assert found["first_commit"].endswith("+05:30")


def test_bars(shop: Any) -> None:
    assert [bar(value, 80, 10) for value in (0, 1, 40, 80)] == ["", "▏", "█" * 5, "█" * 10]
    assert "█" * 30 in run("stats", shop.glob, "--by", "hour", "--plot").stdout
    result = CliRunner().invoke(app, ["stats", shop.glob, "--plot"])
    assert (result.exit_code, "add --by minute" in result.stderr) == (2, True)


def test_the_largest_transactions(shop: Any) -> None:
    some = stats(shop.glob, "--largest", 10)["largest_transactions"]
    more = stats(shop.glob, "--largest", 30)["largest_transactions"]
    every = stats(shop.glob, "--largest", 100_000, "--tables", "shop.customers")
    assert more[:10] == some
    assert len(more) == 30
    assert len(every["largest_transactions"]) == every["transactions"]
    assert sum(each["changes"] for each in every["largest_transactions"]) == every["changes"]
    for each in more:
        place = f"{each['file']}:{each['offset']}"
        [first, *_] = binarrow.read_binlog(shop.glob, start=place, envelope=["gtid", "thread_id"])
        rows = first.to_pyarrow()
        assert each["gtid"] == rows.column("_gtid")[0].as_py()
        assert each["thread_id"] == 9
        assert each["changes"] == sum(sum(counts.values()) for counts in each["tables"].values())
        assert each["duration_s"] >= 0
    assert stats(shop.glob, "--largest", 0)["largest_transactions"] == []


def test_inspect_shows_transactions(shop: Any) -> None:
    printed = run("inspect", shop.files[0], "--tz", "Europe/Berlin").stdout
    head, *lines = printed.splitlines()
    assert head.startswith("time (Europe/Berlin)")
    assert any("T11:10:15" in line for line in lines)
    begins = [line for line in lines if "BEGIN" in line]
    assert begins
    assert all("(thread 9)" in line for line in begins)
    sizes = [
        int(found[1])
        for line in lines
        if (found := re.search(r"Gtid .* transaction of (\d+) bytes", line))
    ]
    ends = [line for line in lines if "COMMIT" in line]
    assert ends
    assert len(ends) <= len(sizes)
    assert all(re.search(r"\(transaction of [\d.]+ k?B, \d s\)$", line) for line in ends)


@pytest.mark.parametrize("offset", [1000, 1001, 1500])
@pytest.mark.parametrize("command", ["stats", "find", "inspect"])
def test_a_start_that_is_not_an_event(shop: Any, command: str, offset: int) -> None:
    start = f"{shop.files[0].name}:{offset}"
    result = CliRunner().invoke(app, [command, str(shop.files[0]), "--start", start])
    assert result.exit_code in (1, 2)
    assert "no event begins at" in result.stderr
    assert str(offset) in result.stderr
