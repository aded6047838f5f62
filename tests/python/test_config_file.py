"""`binarrow sync --config`: a TOML file with arguments and options."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from binarrow.cli import app

COMPLETE = """\
source = "mysql://user@127.0.0.1:1/"
target = "duckdb:///never.duckdb"
tables = ["shop.*"]
exclude-tables = "shop.log"
every = 5
max_rows_per_second = 100
once = true
tls = "disabled"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sync.toml"


def message(file: Path, *more: str) -> str:
    """Returns the message of a call that fails."""
    result = CliRunner().invoke(app, ["sync", "--config", str(file), *more])
    assert result.exit_code in {1, 2}
    return result.stderr.splitlines()[0].replace(str(file), "FILE")


def test_a_complete_file(file: Path) -> None:
    file.write_text(COMPLETE)
    assert "127.0.0.1:1: cannot connect" in message(file)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('tabels = ["shop.*"]', "FILE: 'tabels' is not known; did you mean 'tables'?"),
        ("xyzzy = 1", "FILE: 'xyzzy' is not known; expected one of: busy_timeout, every, "),
        ('config = "other.toml"', "FILE: 'config' is not known"),
        ('password = "abc"', "FILE contains password, which is not possible: use password_file"),
        (
            'source = "mysql://user:abc@db/"',
            "FILE: source contains a password: use password_file or password_command",
        ),
        ('once = "yes"', "FILE: once is true or false"),
        ("tables = [1]", "FILE: tables is a list of strings"),
        ("every = true", "FILE: every is a string or a number"),
        ("mode = ['history']", "FILE: mode is a string or a number"),
        ("every", "FILE is not TOML: "),
        ("every = 1\nevery = 2", "FILE is not TOML: "),
    ],
)
def test_errors(file: Path, line: str, expected: str) -> None:
    file.write_text(line)
    found = message(file)
    assert expected in found
    assert "abc" not in found


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('every = "soon"', "every"),
        ('mode = "histry"', "mode"),
        ("max_rows_per_second = 0", "max-rows-per-second"),
    ],
)
def test_values_that_the_options_refuse(file: Path, line: str, named: str) -> None:
    names = line.partition(" ")[0]
    others = [one for one in COMPLETE.splitlines() if not one.startswith(names)]
    file.write_text("\n".join([*others, line]))
    assert f"--{named}" in message(file)


def test_the_command_line_has_priority(file: Path) -> None:
    file.write_text(COMPLETE + 'mode = "histry"')
    assert "cannot connect" in message(file, "--mode", "history")
    assert "127.0.0.1:2: cannot connect" in message(
        file, "mysql://user@127.0.0.1:2/", "duckdb:///other.duckdb", "--mode", "mirror"
    )


def test_a_missing_file(file: Path) -> None:
    assert "FILE: No such file or directory" in message(file)
