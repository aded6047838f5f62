"""The salt of hashed columns, where it is kept in a file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from binarrow._native import InputError


def read_mask_salt(path: str | PathLike[str]) -> bytes:
    """The bytes of a file, without the end of a line behind them.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        salt = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"the salt's file {path}: {error.strerror}") from error
    return salt.removesuffix(b"\n").removesuffix(b"\r")
