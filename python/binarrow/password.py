"""Passwords: as values, in files, and from functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from binarrow._native import ConfigError

Password = str | bytes | Callable[[], str | bytes]
"""A password, or a function that returns it, which is called for each connection."""


@dataclass(frozen=True)
class PasswordFile:
    """A file whose first line is the password. It is read for each connection."""

    path: Path

    def __call__(self) -> bytes:
        """Reads the password."""
        try:
            with self.path.open("rb") as file:
                return file.readline().rstrip(b"\r\n")
        except OSError as error:
            raise ConfigError(f"password_file: {error}") from None


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
