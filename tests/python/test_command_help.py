"""The help of commands, errors in calls, the completion of shells, and the tested versions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app
from binarrow.supported import TESTED

ROOT = Path(__file__).parents[2]
EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()"]


def commands(group: Any = None, *names: str) -> list[tuple[str, ...]]:
    """The words of all commands and groups."""
    group = group or typer.main.get_command(app)
    found: list[tuple[str, ...]] = [names]
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found += commands(command, *names, name)
        else:
            found.append((*names, name))
    return found


def command_of(names: tuple[str, ...]) -> Any:
    command: Any = typer.main.get_command(app)
    for name in names:
        command = command.commands[name]
    return command


def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*EXECUTABLE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("names", commands(), ids=" ".join)
def test_help_shows_complete_names(names, width):
    shown = CliRunner().invoke(app, [*names, "--help"], env={"COLUMNS": str(width)})
    assert (shown.exit_code, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    examples = {line for line in lines if line.strip().startswith(("binarrow ", "mysqldump "))}
    examples |= {line for line in lines if "binarrow inspect - |" in line}
    assert max(len(line) for line in lines if line not in examples) <= min(width, 100)
    assert "…" not in shown.stdout
    assert not re.search(r"bool(ean)?\b|<(int|str|list|path)\b", shown.stdout, re.I)
    words = re.findall(r"[^\s,/|]+", shown.stdout)
    for parameter in command_of(names).params:
        for name in (*parameter.opts, *parameter.secondary_opts):
            if name.startswith("--"):
                assert name in words, name
    assert "Exit codes: 0 success; 1 " in " ".join(shown.stdout.split())


def test_each_command_has_its_own_section_of_the_login():
    shown = call("tail", "--help", COLUMNS="80").stdout
    options, connecting = shown.split("\nConnecting:\n")
    assert "--tls-ca FILE" in connecting
    assert "--password-file FILE" in connecting
    assert "--history-password-file FILE" in options + connecting


def test_no_command_prints_the_help():
    for names in ((), ("history",)):
        shown = call(*names)
        assert shown.returncode == 2
        assert shown.stdout.startswith("Usage: ")
        assert "Exit codes:" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "path"),
    [
        (("stats", "f", "--tabels", "x"), "no such option: --tabels", "stats"),
        (("stats",), "missing argument 'FILE", "stats"),
        (("stats", "f", "--format", "xml"), "'table', 'json'", "stats"),
        (("history", "find", "x"), "missing argument 'DB.TABLE'", "history find"),
        (("tail", "--server-id", "0"), "--server-id", "tail"),
        (("nonsense",), "no such command 'nonsense'", ""),
        (("export", "f"), "missing option '--to'", "export"),
    ],
)
def test_errors_in_calls_are_two_lines(arguments, message, path):
    failed = call(*arguments)
    assert (failed.returncode, failed.stdout) == (2, "")
    first, second = failed.stderr.splitlines()
    assert first.startswith("binarrow: ")
    assert message in first
    assert second.endswith(f"{f' {path}' if path else ''} --help'.")


def test_other_errors_are_one_line(shop, tmp_path):
    damaged = tmp_path / "binlog.000001"
    damaged.write_bytes(shop.files[0].read_bytes()[:-1000] + b"\0" * 1000)
    for arguments in (
        ("stats", str(tmp_path / "none")),
        ("stats", str(damaged)),
        ("inspect", str(shop.files[0]), "--start", "nonsense"),
        ("export", str(shop.files[0]), "--to", str(tmp_path), "--mask", "*.*.email=sha256"),
        ("schema", str(shop.files[0]), "--table", "shop.none"),
        ("check", "mysql://u@127.0.0.1:1/"),
        ("history", "show", str(tmp_path / "none.db")),
    ):
        failed = call(*arguments)
        assert failed.returncode in (1, 2)
        errors = [line for line in failed.stderr.splitlines() if "warning: " not in line]
        assert len(errors) == 1, failed.stderr
        assert errors[0].startswith("binarrow: ")


# ---- completion


def in_bash(script: str, **environment: str) -> str:
    """The output of a script. A command finds the shell by its process."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATH": path} | environment,
    )
    return ran.stdout


@cache
def completion() -> str:
    """The script that a user's shell evaluates."""
    return in_bash("binarrow --show-completion; true")


def complete(*words: str) -> list[str]:
    """The completions that bash shows for the last word."""
    *before, last = words
    typed = " ".join(f"'{word}'" for word in ("binarrow", *before, last))
    script = f"""
        {completion()}
        complete -p binarrow | grep -q -- '-o default' || exit 3
        COMP_WORDS=({typed}) COMP_CWORD={len(words)}
        _binarrow_completion binarrow
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return in_bash(script).split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("st",), ["stats"]),
        (("history", "b"), ["baseline"]),
        (("stats", "--format", ""), ["table", "json"]),
        (("export", "f", "--file-format", "d"), ["debezium-json"]),
        (("check", "--tls", "verify"), ["verify_ca", "verify_identity"]),
        (("check", "--for", ""), ["stream", "history", "spark", "load"]),
        (("tail", "--operations", "insert,"), ["insert,update", "insert,delete"]),
        (
            ("tail", "--history-p"),
            ["--history-password-file", "--history-password-command"],
        ),
        # Nothing: bash completes files.
        (("stats", "binlog"), []),
        (("check", "--tls-ca", "c"), []),
        (("export", "f", "--to", ""), []),
    ],
)
def test_completion_in_bash(words, found):
    assert complete(*words) == found


def test_completion_is_installed(tmp_path):
    shown = in_bash("binarrow --install-completion; true", HOME=str(tmp_path))
    assert "bash completion installed in" in shown
    script = (tmp_path / ".bash_completions" / "binarrow.sh").read_text()
    assert "complete -o default -F _binarrow_completion binarrow" in script
    assert "binarrow.sh" in (tmp_path / ".bashrc").read_text()


# ---- the tested versions


def test_version():
    shown = call("--version")
    first, *others = shown.stdout.splitlines()
    assert first == f"binarrow {binarrow.__version__}"
    text = " ".join(" ".join(others).split())
    assert text == f"tested with {' '.join(f'{one.name} {one}' for one in TESTED)}"
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_versions_are_those_of_the_documents_and_the_tests():
    [line] = [
        line
        for line in (ROOT / "README.md").read_text().splitlines()
        if line.startswith("Tests run on: ")
    ]
    parts = line.removeprefix("Tests run on: ").split(" · ")
    assert parts[: len(TESTED)] == [f"{one.name} {one}" for one in TESTED]
    assert "{{ versions }}" in (ROOT / "docs" / "index.md").read_text()

    servers = {one.name: {*one.versions, *one.files} for one in TESTED}
    lab = (ROOT / "tests" / "support" / "servers" / "lab").read_text()
    listed = re.findall(r"^  (?:mysql|mariadb)\S* +(MySQL|MariaDB) ([\d.]+)", lab, re.M)
    assert {(name, version) for name, version in listed} == {
        (name, version) for name in ("MySQL", "MariaDB") for version in servers[name]
    }
    makefile = (ROOT / "Makefile").read_text()
    others = re.search(r"^SPARK_VERSIONS \?= (.*)$", makefile, re.M)
    assert others is not None
    own = re.search(r"^# `make test` runs the same tests with ([\d.]+)\. ", makefile, re.M)
    assert own is not None
    assert {*others[1].split(), own[1]} == servers["Spark"]
