"""Messages on the command line name its options; paths and other text stay as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import binarrow
from binarrow.advice import message
from binarrow.cli import app
from binarrow.cli.messages import COMMAND_OF, flag, in_cli
from support.messages import advised

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "text",
    [
        "cannot open /archive/start=2026-11-01/tables=orders/binlog.000001: No such file",
        "cannot open start=2026-11-01/tables=orders/binlog.000001",
        'no file matches "/archive/history=1/tls=/binlog.*"',
        "/data/history.baseline.db holds nothing",
        "COMMIT /* xid=5 */",
        "skip_events=[99] skips such events",
    ],
)
def test_text_that_stays(text: str) -> None:
    assert in_cli(text) == in_cli(message(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("⟦gaps=allow⟧ continues", "--allow-gaps continues"),
        (
            "leave them out (⟦exclude_tables⟧), or",
            "leave them out (--tables, which names only the others), or",
        ),
        ("wait for it longer (⟦reconnect⟧)", "wait for it longer (--reconnect)"),
        ("a source of its own (⟦source⟧), or", "a source of its own (--history-source), or"),
        ("⟦tls=verify_ca⟧ with ⟦tls_ca⟧ verifies", "--tls verify_ca with --tls-ca verifies"),
        ("its statement with ⟦schemas⟧", "its statement with --schemas FILE"),
        ("with ⟦history⟧, or", "with --history, or"),
        ("set ⟦statements=skip⟧ to", "set --statements skip to"),
        ("read with ⟦column_names=positional⟧", "read with --positional"),
        ("⟦online_schema_change=trust⟧", "--online-schema-change trust"),
        ("⟦position⟧: where", "--position: where"),
        (
            "⟦history.baseline=server⟧ reads it",
            "binarrow history baseline HISTORY URL reads it",
        ),
        ("(⟦history.baseline⟧)", "(binarrow history baseline)"),
        ("set ⟦user⟧", "set the user in the URL"),
        (
            "⟦allow_public_key_retrieval=True⟧ takes it",
            "?allow_public_key_retrieval=1 in the URL takes it",
        ),
        ("⟦on_schema_change=conform⟧ converts", "on_schema_change='conform' converts"),
    ],
)
def test_options_become_flags(text: str, expected: str) -> None:
    assert in_cli(message(text)) == expected


def options() -> set[str]:
    def of(command: typer.core.TyperCommand) -> set[str]:
        inner = getattr(command, "commands", {}).values()
        own = {option for each in command.params for option in each.opts}
        return own.union(*map(of, inner))

    return of(typer.main.get_command(app))


def test_each_flag_exists() -> None:
    shown = [flag(name, value) for name, value in advised(ROOT)]
    for command in COMMAND_OF.values():
        shown += command.values()
    named = re.findall(r"--[a-z-]+", " ".join(shown))
    assert len(set(named)) > 10
    assert set(named) <= options()


def test_a_path_like_a_keyword() -> None:
    path = "/archive/start=2026-11-01/tables=orders/binlog.000001"
    shown = CliRunner().invoke(app, ["stats", path])
    assert path in shown.output.replace("\n", "")


def test_a_glob_without_a_match(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["stats", f"{tmp_path}/nothing.*"])
    assert shown.output.strip() == f'binarrow: no file matches "{tmp_path}/nothing.*"'


@pytest.mark.parametrize("command", ["stats", "inspect", "export"])
def test_a_table_without_changes_in_the_part_that_is_read(
    shop: Any, command: str, tmp_path: Path
) -> None:
    """It has changes elsewhere in the log: the result is empty, with a warning."""
    reader = binarrow.read_binlog(shop.glob)
    list(reader)
    to = ["--to", str(tmp_path / "out")] if command == "export" else []
    given = [command, shop.glob, "--tables", "shop.orders", *to]
    assert CliRunner().invoke(app, given).exit_code == 0
    to = ["--to", str(tmp_path / "empty")] if command == "export" else []
    given = [command, shop.glob, "--tables", "shop.orders", *to, "--start", str(reader.position)]
    shown = CliRunner().invoke(app, given)
    assert shown.exit_code == 0, shown.output
    assert "warning" in shown.output


def test_a_mask_that_matches_nothing_is_an_error(shop: Any, tmp_path: Path) -> None:
    """Also in a part of the log: values would be exported as they are."""
    start = f"{shop.files[-1].name}:4"
    given = ["export", shop.glob, "--to", str(tmp_path / "out"), "--start", start]
    shown = CliRunner().invoke(app, [*given, "--mask", "shop.orders.nothing=null"])
    assert shown.exit_code == 1
    assert "mask" in shown.output


def test_a_baseline_without_a_match(tmp_path: Path) -> None:
    script = tmp_path / "shop.sql"
    script.write_text("CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT);")
    history = str(tmp_path / "history.db")
    given = ["history", "baseline", history, str(script), "--position", "binlog.000001:4"]
    assert CliRunner().invoke(app, given).exit_code == 0
    for pattern, code in (("shop.oders", 2), ("shop.orders", 0), ("shop.*", 0)):
        shown = CliRunner().invoke(app, [*given, "--tables", pattern])
        assert shown.exit_code == code, shown.output
        assert code == 0 or f'no table matches "{pattern}"' in shown.output
