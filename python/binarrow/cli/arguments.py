"""Arguments that several commands share, and their parsers."""

import os
import re
import select
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeAlias, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from binarrow import ConfigError, Position, find_logs
from binarrow._native import is_one_log, is_uri, parse_place


class Format(StrEnum):
    """The output formats of commands."""

    table = "table"
    json = "json"


Files: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Binlog files in log order, a glob, or a folder; - is standard input. NAME=FILE sets"
        " the name of a file in the server's log.",
        show_default=False,
    ),
]
Sources: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE|URL",
        help="Binlog files in log order, a glob, or a folder; - is standard input. Or one server:"
        " mysql://user@host/ or mariadb://. NAME=FILE sets the name of a file in the server's log.",
        show_default=False,
    ),
]
Between: TypeAlias = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="START STOP",
        help="Short for --start and --stop: two times, or two places FILE:OFFSET.",
        show_default=False,
    ),
]
Gtids: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="GTID", help="Only changes of this transaction. May be given again."),
]
Threads: TypeAlias = Annotated[
    list[int] | None,
    typer.Option(
        metavar="ID",
        help="Only changes of this connection (CONNECTION_ID() on the server). May be given again.",
    ),
]
TimeZone: TypeAlias = Annotated[
    str,
    typer.Option(
        "--tz",
        metavar="ZONE",
        help="The time zone of printed times: UTC, local, or a name such as Europe/Berlin.",
    ),
]
FormatOption: TypeAlias = Annotated[
    Format, typer.Option(help="A table, or JSON with one object per line.")
]


def sources(files: Sequence[str]) -> list[str | BinaryIO] | dict[str, str | BinaryIO]:
    """Returns the files as `binarrow.read_binlog` accepts them: ``-`` is standard input."""
    found = named([*files])
    if isinstance(found, dict):
        return {name: _standard_input() if path == "-" else path for name, path in found.items()}
    return [_standard_input() if path == "-" else path for path in found]


def _standard_input() -> BinaryIO:
    source = sys.stdin.buffer
    return source if source.seekable() else cast("BinaryIO", _Pipe(source.fileno()))


@contextmanager
def files_read_twice(files: Sequence[str]) -> Iterator[Any]:
    """Returns the files as `sources` does, but standard input as a temporary file."""
    if "-" not in files:
        yield named([*files])
        return
    with tempfile.TemporaryDirectory(prefix="binarrow-") as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as file:
            shutil.copyfileobj(_standard_input(), file, PIECE)
        yield [str(copy) if path == "-" else path for path in files]


def only_files(files: Sequence[str], what: str) -> list[str]:
    """Returns the files.

    Raises:
        ConfigError: One of them is standard input.
    """
    if "-" in files:
        raise ConfigError(f"{what}: standard input (-) is not possible here, name files")
    return _only_logs([*files])


PIECE = 1 << 20
"""The bytes of standard input that are copied at once."""


class _Pipe:
    """A pipe that is read only when it is ready, so that Ctrl-C is never missed.

    A signal that arrives just before a read that blocks would be handled only after that read.
    """

    name = "<stdin>"

    def __init__(self, number: int) -> None:
        self._number = number

    def seekable(self) -> bool:
        return False

    def read(self, size: int) -> bytes:
        # Python runs the handlers of signals between two rounds. Windows selects only sockets.
        while sys.platform != "win32" and not select.select([self._number], [], [], PATIENCE)[0]:
            pass
        return os.read(self._number, size)


def named(files: list[str]) -> list[str] | dict[str, str]:
    """Returns the names of files.

    ``binlog.000004=txns.binlog`` is the file ``txns.binlog``, whose name in the server's log is
    ``binlog.000004``.

    Raises:
        ConfigError: Some files have such a name and others do not; or the files have no such names
            and are those of several logs.
    """
    files = _only_logs(files)
    found = [_NAMED.fullmatch(file) for file in files if not Path(file).exists()]
    names = {match[1]: match[2] for match in found if match is not None}
    if not names:
        _check_folders(files)
        return files
    if len(names) < len(files):
        raise ConfigError(f"NAME=FILE is for all files or for none: {' '.join(files)}")
    return names


def _check_folders(files: list[str]) -> None:
    """Refuses files of several logs: a glob of the shell becomes such a list.

    Files in several folders are one log if their numbers are consecutive.
    """
    paths = [Path(file) for file in files if not is_uri(file)]
    folders = sorted({str(path if path.is_dir() else path.parent) for path in paths})
    if len(folders) > 1 and not is_one_log(
        [file for one in find_logs(files).values() for file in one]
    ):
        shown = ", ".join(folders[:_MOST_SHOWN]) + (", …" if len(folders) > _MOST_SHOWN else "")
        raise ConfigError(
            f"the files are in {len(folders)} folders ({shown}), which may contain the logs of"
            " several servers: read one folder at a time (binarrow find reads each in turn); if"
            " they are one log, write NAME=FILE for each file"
        )


def logs(files: list[str]) -> list[tuple[str, list[str] | dict[str, str]]]:
    """Returns the folder and the files of each log, as `binarrow.read_binlog` accepts them.

    Files in the same folder are one log; so are files that have names: ``NAME=FILE``.
    """
    files = _only_logs(files)
    if any(_NAMED.fullmatch(file) and not Path(file).exists() for file in files):
        return [("", named(files))]
    return [*find_logs(files).items()]


def _only_logs(files: list[str]) -> list[str]:
    """Leaves out files that are next to logs. A glob that the shell expands also matches them."""
    if len(files) == 1:
        return files
    return [file for file in files if not _BESIDE_LOGS.search(file)] or files


_MOST_SHOWN = 5

PATIENCE = 0.05
"""Seconds between two checks for signals."""

_BESIDE_LOGS = re.compile(
    r"\.\d+(?:\.gz|\.zst)?\.(?:idx|binarrow-index)$|\.(?:index|index_crash_safe|state|~rec~)$"
)
"""The names of indexes, and of files that servers write next to logs.

`binarrow.read_binlog` also leaves them out of a glob.
"""

_NAMED = re.compile(r"([^/=*?\[]+\.\d+)=(.+)")


def is_server(sources: Sequence[str]) -> bool:
    """True if the sources are the URL of a server, False if they are files.

    Raises:
        ConfigError: There is a server and something else.
    """
    if not any(source.startswith(("mysql://", "mariadb://")) for source in sources):
        return False
    if len(sources) > 1:
        raise ConfigError("give one server, or files")
    return True


def range_of(between: tuple[str, str] | None, *, is_part: bool) -> dict[str, str | datetime | None]:
    """Returns the keywords of --between; none if it is not given.

    Raises:
        ConfigError: A value is not a place, or --start or --stop is given too.
    """
    if between is None:
        return {}
    if is_part:
        raise ConfigError("--between is short for --start and --stop: give one")
    start, stop = map(where, between)
    check_order(start, stop)
    return {"start": start, "stop": stop}


def check_order(start: str | datetime | None, stop: str | datetime | None) -> None:
    """Refuses a range that ends before it starts, because nothing can be found in it.

    Raises:
        ConfigError: The start is after the stop, and both are times or places in files.
    """
    first, last = (parse_place(each) if isinstance(each, str) else each for each in (start, stop))
    is_reversed = False
    if isinstance(first, datetime) and isinstance(last, datetime):
        is_reversed = first > last
    elif isinstance(first, Position) and isinstance(last, Position) and first.file and last.file:
        try:
            is_reversed = first > last
        except ConfigError:
            return  # the names of the files have no order
    if is_reversed:
        raise ConfigError(f"the start {start} is after the stop {stop}: exchange or correct them")


def zone_of(name: str) -> tzinfo | None:
    """Returns a time zone; None is the local one, for `datetime.astimezone`.

    Raises:
        ConfigError: There is no such zone.
    """
    if name.lower() == "local":
        return None
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            f"--tz {name!r} is not a time zone: write UTC, local, or a name such as Europe/Berlin"
        ) from None


def where(text: str | None) -> str | datetime | None:
    """Parses a place in the log, as for `binarrow.Server.stream`.

    A time without a zone is local time, as everywhere on the command line.

    Raises:
        ConfigError: The text is not a place.
    """
    if text is None:
        return None
    place = parse_place(text, local_time=True)
    return place if isinstance(place, datetime) else text


def where_or_offset(text: str | None) -> str | datetime | None:
    """Parses a place in the log, or an offset alone, as for `binarrow.inspect`."""
    return text if text is not None and text.isdecimal() else where(text)
