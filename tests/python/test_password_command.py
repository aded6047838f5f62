"""Passwords that a command prints."""

from __future__ import annotations

import os
import select
import shlex
import stat
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow import ConfigError, SchemaHistory, password
from binarrow.cli import app
from binarrow.password import PasswordCommand
from binarrow.server.target import target
from support.waiting import within

HIDDEN = "hunter2"


def printed(*words: str) -> bytes:
    """Returns the password that a command prints."""
    return PasswordCommand.parse(words)()


def python(code: str) -> bytes:
    """Returns the password that a program in Python prints."""
    return printed(sys.executable, "-c", code)


def message(*words: str) -> str:
    """Returns the message of the error if a command prints no password."""
    with pytest.raises(ConfigError) as failure:
        printed(*words)
    assert HIDDEN not in str(failure.value)
    return str(failure.value)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("hunter2\\n", b"hunter2"),
        ("new\\r\\nsecond line\\n", b"new"),
        (" spaces ", b" spaces "),
        ("\\377\\376", b"\xff\xfe"),
    ],
)
def test_the_first_line_is_the_password(output: str, expected: bytes) -> None:
    assert printed("printf", output) == expected


def test_the_command_runs_at_each_connection(tmp_path: Path) -> None:
    file = tmp_path / "password"
    one = target("mysql://db/", password_command=f"cat {shlex.quote(str(file))}")
    for value in ("first", "second"):
        file.write_text(value)
        assert one.secret() == value.encode()
    assert str(file) not in repr(one)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("pass show  db/repl", ("pass", "show", "db/repl")),
        ("get 'a b' \"c d\" e\\\\ f", ("get", "a b", "c d", "e\\", "f")),
        ("echo $HOME *; ls | cat > x", ("echo", "$HOME", "*;", "ls", "|", "cat", ">", "x")),
        (["get", "a b"], ("get", "a b")),
    ],
)
def test_no_shell_reads_the_command(given: str | list[str], words: tuple[str, ...]) -> None:
    assert PasswordCommand.parse(given).words == words


@pytest.mark.parametrize("given", ["", "  ", [], [""], "\0", ["a", "\0"], "get 'a", [1]])
def test_commands_that_are_refused(given: str | list[str]) -> None:
    with pytest.raises(ConfigError, match="password_command"):
        target("mysql://db/", password_command=given)


def test_one_password_is_given() -> None:
    with pytest.raises(ConfigError, match="password_file and password_command: give one of them"):
        target("mysql://db/", password_file="secret", password_command="get")


def test_errors_do_not_show_the_output_or_the_arguments(tmp_path: Path) -> None:
    shell = ("sh", "-c")
    failed = f"echo {HIDDEN}; echo {HIDDEN} >&2; exit 3"
    assert message(*shell, failed) == "password_command: sh failed: exit code 3"
    assert message(*shell, "kill -9 $$") == "password_command: sh failed: ended by signal 9"
    assert "printed no password" in message("true", HIDDEN)
    assert "printed no password" in message("printf", f"\\n{HIDDEN}")
    missing = tmp_path / "none"
    assert message(str(missing), HIDDEN).endswith("none cannot be run: No such file or directory")
    missing.write_text("")
    missing.chmod(stat.S_IRUSR)
    assert message(str(missing), HIDDEN).endswith("none cannot be run: Permission denied")


def test_a_failure_is_retried_and_a_missing_program_is_not() -> None:
    """A stream repeats a connection after an OSError."""
    with pytest.raises(OSError, match="exit code 1"):
        printed("false")
    with pytest.raises(ConfigError) as failure:
        printed("/no/such/program")
    assert not isinstance(failure.value, OSError)


def test_output_is_read_to_its_end_and_kept_in_bounded_memory() -> None:
    rest = "import sys; print('x'); [print('y' * 1000) for _ in range(1000)]"
    assert python(rest) == b"x"
    assert "too long" in message(sys.executable, "-c", f"print('x' * {password.LONGEST + 1})")
    assert python(f"print('x' * {password.LONGEST})") == b"x" * password.LONGEST


def test_standard_input_is_empty() -> None:
    assert python("import sys; print(repr(sys.stdin.read()))") == b"''"


@pytest.mark.parametrize(
    "code", ["sleep 99", "echo x; sleep 99; echo", "exec >&-; sleep 99", "sleep 99 &"]
)
def test_a_command_that_does_not_end(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(password, "PATIENCE", 0.2)
    with within():
        assert "did not end within 0.2 seconds" in message("sh", "-c", code)


def test_the_processes_that_a_command_has_started_are_killed_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(password, "PATIENCE", 0.5)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    output = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        message("sh", "-c", f"sleep 9 > {shlex.quote(str(pipe))} & sleep 9")
        # A pipe is at its end if no process has it open for writing.
        assert select.select([output], [], [], 5)[0]
        assert os.read(output, 1) == b""
    finally:
        os.close(output)


def test_the_flag_and_the_configuration_file(tmp_path: Path) -> None:
    file = tmp_path / "sync.toml"
    file.write_text("password_command = 'sh -c \"echo hunter2; exit 3\"'\n")
    call = ["sync", "mysql://repl@127.0.0.1:1/", f"duckdb:///{tmp_path}/x.duckdb", "--once"]
    for more in (["--config", str(file)], ["--password-command", "sh -c 'exit 3'"]):
        result = CliRunner().invoke(app, [*call, *more])
        expected = "binarrow: password_command: sh failed: exit code 3\n"
        assert (result.exit_code, result.stderr) == (2, expected)


def test_the_functions_accept_it() -> None:
    command = ["sh", "-c", "exit 3"]
    for call in (
        lambda: binarrow.connect("mysql://127.0.0.1:1/", password_command=command),
        lambda: binarrow.sync(
            "mysql://127.0.0.1:1/", "duckdb:///x.duckdb", password_command=command
        ),
    ):
        with pytest.raises(ConfigError, match="exit code 3"):
            call()


HISTORY = "mysql://repl@127.0.0.1:1/history"


def test_the_store_of_a_history_accepts_it() -> None:
    with pytest.raises(ConfigError, match="password_command: sh failed: exit code 3"):
        SchemaHistory.open(HISTORY, password_command=["sh", "-c", "exit 3"])
    with pytest.raises(ConfigError, match="password_command: not a keyword of an SQLite file"):
        SchemaHistory.open("sqlite:///history.db", password_command="get")


@pytest.mark.parametrize(
    "call",
    [
        ("stats", "examples/shop/binlog.000001", "--history", HISTORY),
        ("history", "show", HISTORY),
        ("history", "find", HISTORY, "shop.orders", "--at", "binlog.000001:4"),
        ("history", "diff", HISTORY, "all", "--from", "binlog.000001:4"),
        ("history", "check", HISTORY, "mysql://repl@127.0.0.1:1/"),
        ("history", "baseline", HISTORY, "mysql://repl@127.0.0.1:1/"),
    ],
)
def test_the_commands_accept_it_for_a_history(call: tuple[str, ...]) -> None:
    own = ["--history-password-command", "sh -c 'echo hunter2; exit 3'"]
    result = CliRunner().invoke(app, [*call, *own])
    assert result.stderr == "binarrow: password_command: sh failed: exit code 3\n"
    assert result.exit_code == 2
    result = CliRunner().invoke(app, [*call, *own, "--history-password-file", "secret"])
    assert "--history-password-command: give one of them" in result.stderr


def test_a_command_without_a_history() -> None:
    call = ["stats", "examples/shop/binlog.000001", "--history-password-command", "get"]
    result = CliRunner().invoke(app, call)
    assert "--history-password-command are for --history" in result.stderr
