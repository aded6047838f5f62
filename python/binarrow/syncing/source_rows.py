"""The rows of a table of the source, in a snapshot that is not older than a position."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from binarrow._native import ConfigError, Position, parse_place
from binarrow.syncing.errors import SourceBehindError
from binarrow.syncing.names import Name, shown
from binarrow.syncing.rows import PREFIX
from binarrow.syncing.structures import TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from binarrow._native import TableRows
    from binarrow.server import Server

LAG = 30.0
"""Seconds to wait until a SELECT sees the transactions that the target contains."""

RETRY = 0.2


def rows_after(
    server: Server,
    name: Name,
    columns: Sequence[str],
    position: Position,
    *,
    locks: Literal["brief"] | None,
    max_rows_per_second: int | None,
) -> TableRows:
    """Opens a snapshot that contains all transactions before a position, and maybe later ones.

    Raises:
        SourceBehindError: A SELECT does not see these transactions.
    """
    deadline = time.monotonic() + LAG
    while True:
        rows = server.read_table(
            shown(name),
            columns=list(columns),
            types=TYPES,
            envelope=["commit_version"],
            envelope_prefix=PREFIX,
            locks=locks,
            max_rows_per_second=max_rows_per_second,
        )
        try:
            if contains(rows.position, position):
                return rows
        except BaseException:
            rows.close()
            raise
        rows.close()
        if time.monotonic() > deadline:
            raise SourceBehindError(
                "a SELECT on the server does not see all transactions that the target contains: a"
                " commit waits, or the server is a replica that lags"
            )
        time.sleep(RETRY)


def contains(snapshot: Position | None, position: Position) -> bool:
    """True if the transactions before the position of a snapshot contain those before another one.

    Raises:
        SourceBehindError: The positions cannot be compared.
    """
    if snapshot is None:
        return True
    try:
        if snapshot.server == position.server:
            return not snapshot.base < position.base.replace(version_shift=snapshot.version_shift)
        if snapshot.gtid_set and position.gtid_set:
            own, its = parse_place(snapshot.gtid_set), parse_place(position.gtid_set)
            if isinstance(own, Position) and isinstance(its, Position):
                return not own < its
    except ConfigError:
        pass
    raise SourceBehindError(
        "the target's position is of another server, and GTIDs do not show its place in this log"
    )


def end_of(snapshot: TableRows, server: Server) -> Position | None:
    """Returns a position after all transactions that a snapshot contains, and maybe later ones."""
    position = snapshot.position
    if position is None or snapshot.is_exact:
        return position
    # A transaction is in the log before a SELECT sees it.
    end = server.binlogs()[-1]
    if (end.name, end.size) == (position.file, position.offset):
        return position
    return position.replace(file=end.name, offset=end.size, gtid_set=None, file_created=None)


__all__ = ["contains", "end_of", "rows_after"]
