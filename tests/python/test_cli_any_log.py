"""Commands that need no column names work on every log; their counts have one name; patterns must match."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app

KINDS = ("inserts", "updates", "deletes")


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def stats_of(*arguments: object) -> dict:
    result = run("stats", *arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def logs(repository: Path) -> list[Path]:
    """Recorded logs of every kind, including one file without column names."""
    fixtures = repository / "tests" / "fixtures"
    return [*sorted(fixtures.glob("*/binlog.000001")), fixtures / "seed-001.binlog"]


def test_on_every_recorded_log(repository):
    unnamed = 0
    for log in logs(repository):
        stats = stats_of(log)
        for kind in ("inspect", "splits"):
            result = run(kind, log, *(["--table-metadata"] if kind == "inspect" else []))
            assert result.exit_code == 0, (log, result.stderr)
        changes = rows = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for change in binarrow.read_binlog(str(log)):
                    kinds = change.to_pyarrow().column("_change_type").to_pylist()
                    rows += len(kinds)
                    changes += len(kinds) - kinds.count("update_preimage")
        except binarrow.SchemaError:
            unnamed += 1
            assert stats["changes"] > 0
            continue
        assert stats["rows"] == rows, log
        assert stats["changes"] == sum(sum(c[k] for k in KINDS) for c in stats["tables"].values())
        # An update of the key is two rows of other kinds, and one change.
        assert stats["changes"] <= changes <= stats["rows"], log
    assert unnamed >= 3


def test_units_are_named_alike(shop):
    stats = stats_of(shop.files[0])
    printed = run("stats", shop.files[0]).stdout
    [summary] = [line for line in printed.splitlines() if line.startswith("read")]
    numbers = re.search(r": ([\d ]+) transactions, ([\d ]+) changes \(([\d ]+) rows\)", summary)
    assert numbers is not None, summary
    found = [int(text.replace(" ", "")) for text in numbers.groups()]
    assert found == [stats["transactions"], stats["changes"], stats["rows"]]
    assert stats["rows"] == stats["changes"] + sum(c["updates"] for c in stats["tables"].values())
    flat, nested = (
        binarrow.read_binlog(shop.files[0]),
        binarrow.read_binlog(shop.files[0], layout="nested"),
    )
    for reader in (flat, nested):
        assert sum(change.num_rows for change in reader) == reader.stats()["rows"]
        assert reader.stats()["changes"] == stats["changes"]
    keys_changed = sum(shop.expected["tables"][table]["key_update"] for table in shop.tables)
    assert stats["changes"] < nested.stats()["rows"] <= stats["changes"] + keys_changed


@pytest.mark.parametrize(
    "keywords", [{}, {"threads": 1, "segment_bytes": 1}, {"segment_bytes": 500}]
)
def test_tables_limit_the_largest_transactions(shop, keywords):
    """A transaction counts once if it changes the tables, however segments and threads divide it."""
    table = "shop.customers"
    versions = {
        (version >> 40, version & (1 << 40) - 1)
        for change in binarrow.read_binlog(shop.glob, tables=table)
        for version in change.to_pyarrow().column("_commit_version").to_pylist()
    }
    every = binarrow.read_binlog(shop.glob, **keywords)
    some = binarrow.read_binlog(shop.glob, tables=table, **keywords)
    none = binarrow.read_binlog(shop.glob, tables=table, column_names="none", **keywords)
    for reader in (every, some, none):
        list(reader)
    for reader in (some, none):
        largest = reader.stats()["largest_transactions"]
        assert len(largest) == 10
        places = {(int(Path(each["file"]).suffix[1:]), each["offset"]) for each in largest}
        assert len(places) == 10
        assert places <= versions
        assert reader.stats()["transactions"] == len(versions)
        assert largest != every.stats()["largest_transactions"]
    stats = stats_of(shop.glob, "--tables", table, "--largest", 10)
    assert [each["offset"] for each in stats["largest_transactions"]] == [
        each["offset"] for each in some.stats()["largest_transactions"]
    ]
    assert stats["transactions"] == len(versions)


def test_columns_none_gives_the_envelope_only(repository):
    log = repository / "tests" / "fixtures" / "mysql-minimal-metadata" / "binlog.000001"
    names = ["_change_type", "_commit_version"]
    reader = binarrow.read_binlog(
        str(log), column_names="none", envelope=["change_type", "commit_version"]
    )
    assert {tuple(change.to_pyarrow().schema.names) for change in reader} == {tuple(names)}
    for keywords in (
        {"columns": {"*.*": "id"}},
        {"mask": {"*.*.a": "null"}},
        {"envelope": []},
        {"layout": "nested"},
    ):
        with pytest.raises(binarrow.ConfigError, match="column_names='none'"):
            binarrow.read_binlog(str(log), column_names="none", **keywords)
    with pytest.raises(binarrow.ConfigError, match="column_names='none'"):
        binarrow.read_binlog(str(log), column_names="none").nested_json()


@pytest.mark.parametrize("command", ["stats", "inspect", "export"])
def test_a_pattern_without_a_match_is_an_error(shop, tmp_path, command):
    to = ["--to", tmp_path / "out"] if command == "export" else []
    for patterns in (["shop.oders"], ["shop.orders", "crm.*"]):
        options = [word for pattern in patterns for word in ("--tables", pattern)]
        result = run(command, shop.files[0], *options, *to)
        assert result.exit_code == 1
        assert f'matches "{patterns[-1]}"' in result.stderr
        assert "warning" not in result.stderr
        assert not (tmp_path / "out").exists()
    assert run(command, shop.files[0], "--tables", "shop.orders", *to).exit_code == 0


def test_export_wants_columns_and_masks_to_match(shop, tmp_path):
    for options in (["--columns", "shop.oders=id"], ["--mask", "shop.*.emial=null"]):
        result = run("export", shop.files[0], "--to", tmp_path / "out", *options)
        assert result.exit_code == 1, options
        assert "no change of a table" in result.stderr
        assert not (tmp_path / "out").exists()


def test_inspect_knows_a_table_whose_events_are_not_shown(shop):
    result = run("inspect", shop.files[0], "--tables", "shop.orders", "--type", "xid")
    assert (result.exit_code, result.stderr) == (0, "")
    with pytest.warns(binarrow.UnmatchedPatternWarning, match="no event of a table"):
        list(binarrow.inspect(shop.files[0], tables=["shop.orders", "x.y"]))
    with pytest.warns(binarrow.UnmatchedPatternWarning, match="no change of a table"):
        list(binarrow.read_binlog(shop.files[0], tables=["shop.orders", "x.y"]))
