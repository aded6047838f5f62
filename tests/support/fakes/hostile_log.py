"""A log that fake servers send, and what a stream makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.fakes.fake_server import FakeServer, events_of
from support.fakes.hostile import reach

LOG = Path(__file__).parents[2] / "fixtures" / "mysql-rows-query" / "binlog.000001"
EVENTS = [one for one in events_of(LOG.read_bytes()) if one[4] not in (3, 4)]
"""A file's events, without those that end it."""


def streamed(
    server: FakeServer, *, connect: dict[str, Any] | None = None, **keywords: Any
) -> Iterator[tuple[str, int]]:
    """The tables and sizes of the batches."""
    given = {"heartbeat": 60.0, "reconnect": None, **keywords}
    with reach(server, **(connect or {})) as connection:
        for batch in connection.stream("earliest", **given):
            yield f"{batch.database}.{batch.table}", batch.num_rows


def as_packets(*events: bytes) -> list[bytes]:
    return [b"\0" + one for one in events]


ROWS = [("d.a", 5)]

FDE = EVENTS[0]
