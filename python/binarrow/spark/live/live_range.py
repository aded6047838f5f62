"""A part of a server's log between two transaction ends, which one task reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition

from binarrow import Position
from binarrow.connect import Target
from binarrow.server import Server

if TYPE_CHECKING:
    from binarrow.stream import Stream


@dataclass(frozen=True)
class LiveRange:
    """From one position to another, both stored as :meth:`Position.to_json` writes them."""

    start: str
    stop: str
    history: str | None = None
    """The structures of tables at its start, where a history is given."""

    def to_json(self) -> str:
        """The range as text, without anything secret."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> LiveRange:
        """The range that :meth:`to_json` stored."""
        return cls(**json.loads(text))

    def read(self, target: Target, options: Mapping[str, Any]) -> Stream:
        """Begins to read it, over connections of its own."""
        with Server(target) as server:
            return server.stream(
                Position.from_json(self.start), stop=Position.from_json(self.stop), **options
            )


@dataclass
class LivePartition(InputPartition):
    """What a task gets: a range, and how to log in. Spark pickles it for the task alone."""

    range: LiveRange
    target: Target


def with_secret(target: Target) -> Target:
    """With the password itself in place of what gives it: a task may not see the driver's files."""
    return replace(target, password=target.secret())
