"""A small HTTP server that shows metrics, in threads that end with the process."""

from __future__ import annotations

import logging
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from binarrow._native import ConfigError
from binarrow.metrics.exposition import CONTENT_TYPE

LOG = logging.getLogger("binarrow.metrics")

PATH = "/metrics"

LOOPBACK = "127.0.0.1"
"""The address if only a port is given: other machines cannot connect."""

PATIENCE = 10.0
"""Seconds after which a client that sends or receives nothing is disconnected."""

CLIENTS = 8
"""The maximum number of requests at the same time; others are closed."""

LARGEST_PORT = 65535

ADDRESS = re.compile(r"(?:\[(?P<ipv6>[^\[\]]+)\]:|(?P<host>[^:\[\]]*):)?(?P<port>[0-9]{1,5})")


@contextmanager
def serve(address: str, text: Callable[[], str]) -> Iterator[str]:
    """Shows a text at ``http://ADDRESS/metrics`` until the end of the block. Returns this URL.

    Args:
        address: ``"127.0.0.1:9100"``, ``"[::1]:9100"``, a name with a port, or only a port, to
            which only this machine can connect. With port 0, the system selects a port.
        text: Returns the text; it is called for each request, in a thread of its own.

    Raises:
        ConfigError: The address is not valid, or the port is in use.
    """
    server = _listening(address, text)
    host, port = server.server_address[:2]
    shown = f"[{host!s}]" if server.address_family == socket.AF_INET6 else str(host)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
    )
    thread.start()
    try:
        yield f"http://{shown}:{port}{PATH}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _listening(address: str, text: Callable[[], str]) -> _Server:
    match = ADDRESS.fullmatch(address)
    if match is None or int(match["port"]) > LARGEST_PORT:
        raise ConfigError(
            f"metrics is an address such as 127.0.0.1:9100, [::1]:9100 or 9100, not {address!r}"
        )
    host = match["ipv6"] or match["host"] or LOOPBACK
    try:
        [(family, *_, place), *_] = socket.getaddrinfo(
            host, int(match["port"]), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return _Server(family, place, text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"metrics cannot be shown at {address}: {reason}. Choose another address or port"
        ) from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, family: int, place: Any, text: Callable[[], str]) -> None:
        self.address_family = family
        self.text = text
        self._free = threading.BoundedSemaphore(CLIENTS)
        super().__init__(place, _Handler)

    def server_bind(self) -> None:
        """Binds the socket, without the look-up of the host's name that HTTPServer makes."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # A port of a process that has ended is free at once.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a new thread, of which there is a limited number."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - of its base
        """Logs an error, unless the client has disconnected."""
        error = sys.exception()
        if not isinstance(error, OSError):
            LOG.error("a request for metrics failed: %r", error)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE
    server_version = "binarrow"
    sys_version = ""

    def do_GET(self) -> None:
        """Sends the metrics."""
        self._answer(has_body=True)

    def do_HEAD(self) -> None:
        """Sends the head of the answer to a GET."""
        self._answer(has_body=False)

    def _answer(self, *, has_body: bool) -> None:
        path = self.path.partition("?")[0]
        status, kind, text = HTTPStatus.OK, CONTENT_TYPE, ""
        if path == PATH:
            text = self.server.text()
        elif path == "/":
            kind = "text/plain; charset=utf-8"
            text = f"The metrics are at {PATH}\n"
        else:
            status, kind, text = HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", "not found\n"
        body = text.encode("utf-8", "backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if has_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of its base
        """Logs nothing: stderr is for messages of the sync."""


__all__ = ["serve"]
