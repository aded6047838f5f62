"""A proxy before a server that cuts connections at random moments."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from types import TracebackType
from typing import Self


class CuttingProxy:
    """Listens on a port of its own; each connection but the last ends after some bytes."""

    def __init__(self, port: int, rng: random.Random, cuts: int, longest: int) -> None:
        self._to = ("127.0.0.1", port)
        self._rng = rng
        self._left = cuts
        self._longest = longest
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._to)
            self._open += [client, server]
            limit = None
            if self._left > 0:
                self._left -= 1
                limit = self._rng.randrange(1, self._longest)
            threading.Thread(target=self._carry, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, limit), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, limit: int | None) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if limit is not None and passed + len(data) >= limit:
                    sink.sendall(data[: limit - passed])
                    self.cuts += 1
                    break
                sink.sendall(data)
                passed += len(data)
        # Closed, not only shut down: a peer that goes on writing must be told.
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.close()
        for one in self._open:
            one.close()
