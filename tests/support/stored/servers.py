"""The recorded servers of a run of tests: each is started once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.servers.recorded import started
from support.servers.servers import Server
from support.stored.accounts import accounts

STORED = Path(__file__).parents[2] / "fixtures" / "stored"
"""A folder for each version of binarrow."""


class RecordedServers:
    """Starts servers when they are first used. Their later statements are executed then."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._started: dict[Path, Server] = {}

    def of(self, version: Path, flavor: str) -> Server:
        """Returns the server that was recorded in the folder of a version."""
        archive = version / f"server-{flavor}.tar.xz"
        if archive not in self._started:
            context = started(archive, accounts=accounts(flavor))
            self._started[archive] = self._stack.enter_context(context)
        return self._started[archive]

    @classmethod
    @contextmanager
    def opened(cls) -> Iterator[RecordedServers]:
        """Stops all servers at the end of the block."""
        with ExitStack() as stack:
            yield cls(stack)
