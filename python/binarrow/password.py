"""Passwords: as values, in files, and from functions and commands."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from binarrow._native import ConfigError

Password = str | bytes | Callable[[], str | bytes]
"""A password, or a function that returns it, which is called for each connection."""

LONGEST = 1 << 16
"""The maximum number of bytes of a password that a command prints."""

PATIENCE = 60.0
"""Seconds after which a command that has not ended is killed, with the processes it started."""

GRACE = 1.0
"""Seconds to wait for the end of a command that was killed."""


@dataclass(frozen=True)
class PasswordFile:
    """A file whose first line is the password. It is read for each connection."""

    path: Path

    def __call__(self) -> bytes:
        """Reads the password."""
        try:
            with self.path.open("rb") as file:
                return _first_line(file.readline())
        except OSError as error:
            raise ConfigError(f"password_file: {error}") from None


class PasswordCommandError(ConfigError, OSError):
    """A command printed no password. It is an OSError, so that a stream retries."""


@dataclass(frozen=True)
class PasswordCommand:
    """A command whose output's first line is the password. It is run for each connection.

    It runs without a shell, in its own process group. Its standard input is empty. Its messages on
    stderr are not shown, because they may contain a secret. Errors contain the name of its program,
    but no arguments.
    """

    words: tuple[str, ...] = field(repr=False)
    """The program, and its arguments."""

    @classmethod
    def parse(cls, given: str | Sequence[str]) -> PasswordCommand:
        """Divides a command into words, at spaces that are not quoted.

        Raises:
            ConfigError: The command is empty, or a quotation mark in it is not closed.
        """
        try:
            words = tuple(shlex.split(given) if isinstance(given, str) else given)
        except ValueError as error:
            raise ConfigError(f"password_command: {error}".lower()) from None
        if not words or not words[0] or not all(isinstance(one, str) for one in words):
            raise ConfigError(
                "password_command must be a program and its arguments, all of them text"
            )
        if any("\0" in one for one in words):
            raise ConfigError("password_command contains a NUL character")
        return cls(words)

    def __call__(self) -> bytes:
        """Runs the command, and returns the password.

        Raises:
            ConfigError: There is no such program.
            PasswordCommandError: It fails, prints nothing, or does not end in time.
        """
        try:
            process = subprocess.Popen(  # noqa: S603 - the caller's own command
                self.words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        except OSError as error:
            raise ConfigError(f"{self._what} cannot be run: {error.strerror}") from None
        line = self._line_of(process)
        if process.returncode != 0:
            raise PasswordCommandError(f"{self._what} failed: {_ended(process.returncode)}")
        password = _first_line(line)
        if not password:
            raise PasswordCommandError(f"{self._what} printed no password in its first line")
        if len(password) > LONGEST:
            raise PasswordCommandError(
                f"{self._what} printed a first line that is too long (more than {LONGEST} bytes)"
            )
        return password

    def _line_of(self, process: subprocess.Popen[bytes]) -> bytes:
        """Returns the first line of the output of a process, after its end.

        A thread reads it, because a process that the command has started may keep the output open.
        """
        deadline = time.monotonic() + PATIENCE
        found: list[bytes] = []
        reader = threading.Thread(target=_read, args=(process.stdout, found), daemon=True)
        reader.start()
        has_ended = False
        try:
            reader.join(PATIENCE)
            # Before this call, no other process can get the id of the command, or of its group.
            if not reader.is_alive():
                process.wait(max(0.0, deadline - time.monotonic()))
                has_ended = True
        except subprocess.TimeoutExpired:
            pass
        finally:
            if not has_ended:
                _kill(process)
        if not has_ended:
            raise PasswordCommandError(f"{self._what} did not end within {PATIENCE:g} seconds")
        return found[0]

    @property
    def _what(self) -> str:
        return f"password_command: {self.words[0]}"


def password_source(
    password: Password | None,
    file: str | os.PathLike[str] | None,
    command: str | Sequence[str] | None,
) -> Password | None:
    """Returns the password that keywords set; None if none is given.

    Raises:
        ConfigError: More than one is given, or the command is not valid.
    """
    given = {"password": password, "password_file": file, "password_command": command}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ConfigError(f"{' and '.join(names)}: give one of them")
    if file is not None:
        return PasswordFile(Path(file))
    return password if command is None else PasswordCommand.parse(command)


def password_bytes(password: Password) -> bytes:
    """Returns the password; calls the function that provides it.

    Raises:
        ConfigError: It is not text or bytes.
    """
    value: object = password() if callable(password) else password
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, str):
        try:
            # The environment and option files may contain bytes that are not UTF-8.
            return value.encode(errors="surrogateescape")
        except UnicodeEncodeError:
            pass
    # bytes() also accepts other types, such as int, with an unintended result.
    kind = type(value).__name__
    raise ConfigError(f"the password is neither text nor bytes, but a {kind}")


def _read(output: IO[bytes] | None, found: list[bytes]) -> None:
    """Reads the first line of an output. Also reads the rest, so that the program can end."""
    assert output is not None  # noqa: S101 - it is a pipe
    with output:
        found.append(output.readline(LONGEST + len("\r\n") + 1))
        while output.read(LONGEST):
            pass


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a command, and the processes in its group. On Windows, kills only the command."""
    with suppress(OSError):  # the processes may belong to another user
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)


def _first_line(line: bytes) -> bytes:
    return line.rstrip(b"\r\n")


def _ended(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"ended by signal {-code}"
