"""A proxy before a server, that does to connections what networks do.

with Proxy(server.port, lambda number: Link(cut_after=1000)) as proxy:
    connect(port=proxy.port)
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

PIECE = 65_536
LOGIN = 10_000  # more than a login and what is asked after it
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closed with RST instead of FIN


@dataclass(frozen=True)
class Link:
    """The behaviour of a connection. Numbers of bytes are those from the server."""

    cut_after: int | None = None
    freeze_after: int | None = None
    """After these, no bytes are passed in either direction, and neither side is notified."""
    piece: int = PIECE
    """Bytes that are handed on at a time."""
    pause: float = 0.0
    """Seconds between two of these."""
    reset: bool = False
    """True if the end is a reset."""
    half: bool = False
    """True if only the direction from the server ends."""
    replaced: tuple[bytes, bytes] | None = None
    """Bytes from the server, and those of the same length that the client receives instead."""


class Proxy:
    """Listens on a port of its own; `plan` says how the n-th connection fares, the first being 0."""

    def __init__(self, port: int, plan: Callable[[int], Link] = lambda _: Link()) -> None:
        self._to = ("127.0.0.1", port)
        self._plan = plan
        self._lock = threading.Lock()
        self._gates: list[threading.Event] = []
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.refusing = False
        """True if new connections are closed immediately."""
        self.connections = 0
        self.cuts = 0
        self.frozen = 0
        """Connections that `Link.freeze_after` has stopped."""
        self.carried = 0
        """Bytes that were forwarded, in both directions."""
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, port: int) -> None:
        """Connections to come go to another server."""
        self._to = ("127.0.0.1", port)

    def freeze(self) -> None:
        """Stops passing bytes of all connections, without notifying either side."""
        with self._lock:
            gates, self._gates = self._gates, []
        for gate in gates:
            gate.clear()

    def cut(self) -> None:
        """Ends all connections."""
        with self._lock:
            ending, self._open = self._open, []
        for one in ending:
            _close(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.refusing:
                client.close()
                continue
            try:
                server = socket.create_connection(self._to)
            except OSError:
                client.close()
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            gate = threading.Event()
            gate.set()
            with self._lock:
                self._open += [client, server]
                self._gates.append(gate)
            link = self._plan(self.connections - 1)
            for way in ((client, server, Link(reset=link.reset)), (server, client, link)):
                threading.Thread(target=self._carry, args=(*way, gate), daemon=True).start()

    def _carry(
        self, source: socket.socket, sink: socket.socket, link: Link, gate: threading.Event
    ) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(link.piece):
                if link.replaced is not None:
                    data = data.replace(*link.replaced)
                if link.freeze_after is not None and passed + len(data) > link.freeze_after:
                    sink.sendall(data[: link.freeze_after - passed])
                    gate.clear()
                    self.frozen += 1
                if not gate.is_set():
                    return  # its sockets stay open until the proxy goes
                if link.cut_after is not None and passed + len(data) >= link.cut_after:
                    sink.sendall(data[: link.cut_after - passed])
                    self.cuts += 1
                    if link.half:
                        sink.shutdown(socket.SHUT_WR)
                        return  # the other way stays open until the client or the proxy goes
                    break
                sink.sendall(data)
                passed += len(data)
                self.carried += len(data)
                if link.pause:
                    time.sleep(link.pause)
        _close(source, reset=link.reset)
        _close(sink, reset=link.reset)

    def close(self) -> None:
        # A thread that waits in accept() holds the port until it is woken.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def cutting(port: int, rng: random.Random, cuts: int, longest: int, size: int) -> Proxy:
    """Each of `cuts` connections ends after at most `longest` bytes, one in two by a reset: not the first, by
    which one asks; and the second not before the reader has started, nor after half of the `size` of the log."""

    def plan(number: int) -> Link:
        if not 1 <= number <= cuts:
            return Link()
        is_first = number == 1
        least, most = (LOGIN, min(longest, size // 2)) if is_first else (1, longest)
        return Link(cut_after=rng.randrange(least, most), reset=rng.random() < 0.5)

    return Proxy(port, plan)


def _close(one: socket.socket, *, reset: bool = False) -> None:
    """Closes sockets, not only shuts them down: a peer that continues to write must get an error."""
    with contextlib.suppress(OSError):
        if reset:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        # A thread that waits in recv() holds the connection until it is woken.
        one.shutdown(socket.SHUT_RD if reset else socket.SHUT_RDWR)
    one.close()
