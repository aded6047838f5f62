"""The file of a certificate: what an initial load read, as lines of JSON.

========  ==========================================================================================
begin     the version of the format, and the position at which the load begins
table     before the first chunk of a table: the columns that are hashed, and those of the key
chunk     after each chunk: its position, and the number and hash of its rows
complete  at the end: the position from which the log continues
========  ==========================================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from binarrow._native import ConfigError, Position, parse_place
from binarrow.atomic_file import replace_file
from binarrow.stored_forms import CERTIFICATE

Line = dict[str, Any]


def prepare(path: str | os.PathLike[str], start: object) -> None:
    """Prepares the file for a load that begins (``start`` is None) or continues.

    A load that continues knows the last chunk of which rows were read. Lines about rows that are
    read again are removed.

    Raises:
        ConfigError: The file is not that of the load.
    """
    file = Path(path)
    if file.exists() and not file.is_file():
        raise ConfigError(f"{file} is not a file: name one for the certificate")
    if start is None:
        replace_file(file, b"")
        return
    if isinstance(start, str):
        start = parse_place(start)
    load = json.loads(start.to_json()).get("load") if isinstance(start, Position) else None
    if load is None:
        return  # only the log is read
    counted = load.get("counted")
    if counted is None:
        if load["chunks"] > 0 or load.get("partial"):
            message = "the load began without a certificate, which must contain all its chunks"
            raise ConfigError(f"{file}: {message}: leave out the certificate")
        # No chunk was read, and the line of the beginning is there.
        replace_file(file, _text(line for line in lines(file) if "begin" in line))
        return
    number = counted["number"]
    kept = [line for line in lines(file) if _is_before(line, number)]
    numbers = [line["chunk"]["number"] for line in kept if "chunk" in line]
    if numbers != list(range(number)):
        raise ConfigError(
            f"{file}: this is not the certificate of the load that continues, which has read"
            f" {number + 1} chunks"
        )
    replace_file(file, _text([*kept, {"chunk": counted}]))


def _is_before(line: Line, number: int) -> bool:
    """True if a line is about rows that are not read again."""
    if "table" in line:
        return bool(line["table"]["chunk"] <= number)
    return bool("begin" in line or ("chunk" in line and line["chunk"]["number"] < number))


def _text(kept: Iterable[Line]) -> bytes:
    return "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in kept).encode()


def lines(file: Path) -> list[Line]:
    """Returns the lines of a certificate. The last one may be incomplete after a crash.

    Raises:
        ConfigError: The file is no certificate.
        LaterVersionError: A later version of binarrow wrote it.
    """
    try:
        text = file.read_text()
    except OSError as error:
        raise ConfigError(f"certificate: {error}") from None
    *complete, _incomplete = text.split("\n")
    try:
        found = [json.loads(line) for line in complete]
        begin = found[0]["begin"]
    except (ValueError, LookupError, TypeError):
        raise ConfigError(f"{file} is not the certificate of an initial load") from None
    CERTIFICATE.read(begin, f"the certificate {file}")
    return found
