"""Reads the salt of hashed columns from a file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from binarrow._native import InputError


def read_mask_salt(path: str | PathLike[str]) -> bytes:
    """Returns the bytes of a file, without the line break at the end.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        salt = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the salt file {path}: {error.strerror}") from error
    return salt.removesuffix(b"\n").removesuffix(b"\r")
