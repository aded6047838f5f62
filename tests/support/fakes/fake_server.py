"""A server that plays a script, byte for byte: for what real servers never do.

def script(peer: Peer) -> None:
    peer.log_in()
    peer.send(b"...")

with FakeServer(script) as server:
    binarrow.connect(port=server.port, ...)
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import NoReturn, Self

import pyarrow as pa

from support.waiting import WAIT

NONCE = bytes(range(1, 21))

TLS = 0x800
ALL = 0xDFFF_FFFF
PLAIN = ALL & ~TLS

OK = b"\x00\x00\x00\x02\x00\x00\x00"
EOF = b"\xfe\x00\x00\x02\x00"

FULL = 0xFF_FFFF
"""The payload of a piece after which another follows."""

PACKED_AT_ONCE = 5 << 20
"""Bytes of a compressed frame, unpacked: so that packed they never have more than fit."""

Cell = str | bytes | None


class GoneError(Exception):
    """The client has left."""


class Peer:
    """One connection, seen from the server."""

    def __init__(self, connection: socket.socket, received: bytearray, dumps: list[bytes]) -> None:
        self.socket = connection
        self.socket.settimeout(WAIT)
        self.sequence = 0
        self.received = received
        self.dumps = dumps
        self.pack: Callable[[bytes], bytes] | None = None
        """The function that compresses packets; the client must use the same compression."""
        self.log_size = 1_000_000
        """The reported size of its log file."""
        self.frame_sequence = 0
        self._unpacked = bytearray()

    def raw(self, data: bytes) -> None:
        """Sends bytes as they are, in frames where these were agreed on."""
        if self.pack is None:
            self.socket.sendall(data)
            return
        for start in range(0, len(data), PACKED_AT_ONCE):
            piece = data[start : start + PACKED_AT_ONCE]
            self.frame(self.pack(piece), len(piece))

    def frame(self, body: bytes, plain_length: int, sequence: int | None = None) -> None:
        """Sends one compressed frame."""
        number = self.frame_sequence if sequence is None else sequence
        self.socket.sendall(framed(body, plain_length, number))
        self.frame_sequence = (self.frame_sequence + 1) % 256

    def send(self, *payloads: bytes) -> None:
        """Sends payloads as packets, in pieces where they are long."""
        self.raw(b"".join(self.packets(*payloads)))

    def packets(self, *payloads: bytes) -> Iterable[bytes]:
        """The payloads as packets."""
        for payload in payloads:
            for start in range(0, len(payload) + 1, FULL):
                piece = payload[start : start + FULL]
                yield packet(piece, self.sequence)
                self.sequence = (self.sequence + 1) % 256

    def read(self, length: int) -> bytes:
        if self.pack is None:
            return self._read(length)
        while len(self._unpacked) < length:
            head = self._read(7)
            self.frame_sequence = (head[3] + 1) % 256
            body = self._read(int.from_bytes(head[:3], "little"))
            plain_length = int.from_bytes(head[4:], "little")
            if plain_length:
                body = unpack(body, plain_length)
            self._unpacked += body
        data = bytes(self._unpacked[:length])
        del self._unpacked[:length]
        return data

    def _read(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            piece = self.socket.recv(length - len(data))
            if not piece:
                raise GoneError
            data += piece
        self.received += data
        return bytes(data)

    def receive(self) -> bytes:
        """The client's next packet; packets that are sent afterwards continue its numbers."""
        head = self.read(4)
        self.sequence = (head[3] + 1) % 256
        return self.read(int.from_bytes(head[:3], "little"))

    def leave(self) -> NoReturn:
        """Ends the connection."""
        raise GoneError

    def wait_for_the_end(self) -> None:
        """Says nothing until the client leaves."""
        with contextlib.suppress(GoneError, ConnectionError):
            while True:
                self.read(1)

    # ------------------------------------------------------------------------------ login

    def greet(self, capabilities: int = PLAIN, plugin: bytes = b"mysql_native_password") -> bytes:
        """Greets, and gives the client's answer."""
        self.send(greeting(capabilities, plugin))
        return self.receive()

    def log_in(
        self, capabilities: int = PLAIN, pack: Callable[[bytes], bytes] | None = None
    ) -> None:
        """Lets everybody in; `pack` compresses what is sent then."""
        self.greet(capabilities)
        self.send(OK)
        self.pack = pack

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Greets, takes the request for TLS, and makes the connection one."""
        request = self.greet(ALL)
        assert len(request) == 32
        self.socket = context.wrap_socket(self.socket, server_side=True)

    # --------------------------------------------------------------------------- commands

    def rows(self, *rows: Sequence[Cell]) -> None:
        """A result set of text."""
        columns = len(rows[0]) if rows else 1
        definition = lenenc(b"def") + b"\0\0\0" + lenenc(b"c") + b"\0"
        definition += b"\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0"
        self.send(bytes([columns]), *[definition] * columns, EOF, *map(text_row, rows), EOF)

    def answer(self, command: bytes) -> None:
        """Answers what a client asks before a dump."""
        sql = command[1:].decode(errors="replace")
        if command[0] == 0x15 or sql.startswith("SET "):
            self.send(OK)
        elif "VERSION()" in sql:
            self.rows(["9.7.0-fake"])
        elif "@@global.server_id" in sql:
            self.rows(["1"])
        elif "server_uuid" in sql:
            self.rows(["server_uuid", "a0000000-0000-4000-8000-000000000001"])
        elif sql == "SHOW BINARY LOGS":
            self.rows(["binlog.000001", str(self.log_size), "No"])
        elif sql.lower().startswith("select @@global.gtid_"):
            self.rows(["ON" if sql.endswith("mode") else ""])
        elif sql == "SHOW PROCESSLIST":
            self.send(OK)  # there is no dump to end here
        elif command == b"\x01":
            self.leave()
        elif sql == "SHOW BINARY LOG STATUS":
            self.rows(["binlog.000001", "4", "", "", ""])
        else:
            message = f"what is {sql!r}?"
            raise AssertionError(message)

    def until_query(self, sql: str, pack: Callable[[bytes], bytes] | None = None) -> None:
        """Lets the client in and answers what it asks, until it asks this."""
        self.log_in(pack=pack)
        while (command := self.receive()) != b"\x03" + sql.encode():
            self.answer(command)

    def until_dump(self, pack: Callable[[bytes], bytes] | None = None) -> bytes:
        """Lets the client in and answers what it asks, until it wants the log."""
        self.log_in(pack=pack)
        while (command := self.receive())[0] not in (0x12, 0x1E):
            self.answer(command)
        self.dumps.append(command)
        return command


class FakeServer:
    """Plays the script for each client that connects."""

    def __init__(self, script: Callable[[Peer], None]) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.received = bytearray()
        """All that clients have sent."""
        self.dumps: list[bytes] = []
        """The commands by which they asked for the log."""
        self.failures: list[Exception] = []
        """The error in the script itself."""
        self.connections = 0
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._play, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _play(self, client: socket.socket) -> None:
        peer = Peer(client, self.received, self.dumps)
        try:
            self._script(peer)
            peer.wait_for_the_end()
        except (GoneError, ConnectionError, ssl.SSLError):
            pass
        except Exception as error:  # noqa: BLE001 - the test sees it
            self.failures.append(error)
        finally:
            with contextlib.suppress(OSError):
                peer.socket.close()

    def join(self) -> None:
        """Waits until all clients have left."""
        for thread in self._threads:
            thread.join(WAIT)
            assert not thread.is_alive(), "the client keeps its connection"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Closing alone does not wake a thread that accepts.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if error is None:
            self.join()
            assert not self.failures, self.failures


def packet(payload: bytes, sequence: int) -> bytes:
    """One piece with its header."""
    return len(payload).to_bytes(3, "little") + bytes([sequence]) + payload


def framed(body: bytes, plain_length: int, sequence: int) -> bytes:
    """One compressed frame with its header."""
    head = len(body).to_bytes(3, "little") + bytes([sequence])
    return head + plain_length.to_bytes(3, "little") + body


def lenenc(data: bytes) -> bytes:
    """Bytes with their length before them."""
    if len(data) < 0xFB:
        return bytes([len(data)]) + data
    if len(data) <= FULL:
        return b"\xfd" + len(data).to_bytes(3, "little") + data
    return b"\xfe" + len(data).to_bytes(8, "little") + data


def text_row(cells: Sequence[Cell]) -> bytes:
    out = b""
    for cell in cells:
        data = cell.encode() if isinstance(cell, str) else cell
        out += b"\xfb" if data is None else lenenc(data)
    return out


def greeting(
    capabilities: int = PLAIN,
    plugin: bytes = b"mysql_native_password",
    version: bytes = b"9.7.0-fake",
) -> bytes:
    """The first packet of a server."""
    return (
        b"\x0a"
        + version
        + b"\0\x07\0\0\0"
        + NONCE[:8]
        + b"\0"
        + (capabilities & 0xFFFF).to_bytes(2, "little")
        + b"\x2d\x02\0"
        + (capabilities >> 16).to_bytes(2, "little")
        + b"\x15"
        + bytes(10)
        + NONCE[8:]
        + b"\0"
        + plugin
        + b"\0"
    )


def refusal(code: int, text: bytes, state: bytes = b"#HY000") -> bytes:
    """An ERR packet."""
    return b"\xff" + code.to_bytes(2, "little") + state + text


def event(
    kind: int, body: bytes, *, log_pos: int = 0, flags: int = 0, size: int | None = None
) -> bytes:
    """An event without a checksum, of server 1."""
    length = 19 + len(body) if size is None else size
    return (
        bytes(4)
        + bytes([kind])
        + (1).to_bytes(4, "little")
        + length.to_bytes(4, "little")
        + log_pos.to_bytes(4, "little")
        + flags.to_bytes(2, "little")
        + body
    )


def rotation(name: str = "binlog.000001", offset: int = 4) -> bytes:
    """The artificial Rotate that a dump begins with."""
    return event(4, offset.to_bytes(8, "little") + name.encode(), flags=0x20)


def with_checksum(plain: bytes) -> bytes:
    """An event followed by its CRC32, which is part of its size."""
    return plain + zlib.crc32(plain).to_bytes(4, "little")


def unpack(data: bytes, length: int) -> bytes:
    """Bytes that zlib or zstd has compressed."""
    if data.startswith(ZSTD_MAGIC):
        return bytes(pa.decompress(data, decompressed_size=length, codec="zstd", asbytes=True))
    return zlib.decompress(data)


def zstd(data: bytes) -> bytes:
    """A zstd frame that holds the data as they are, block by block (RFC 8878)."""
    out = bytearray(ZSTD_MAGIC + b"\xa0" + len(data).to_bytes(4, "little"))
    for start in range(0, len(data) or 1, ZSTD_BLOCK):
        block = data[start : start + ZSTD_BLOCK]
        is_last = start + ZSTD_BLOCK >= len(data)
        out += (is_last | len(block) << 3).to_bytes(3, "little") + block
    return bytes(out)


def zstd_of_zeros(length: int) -> bytes:
    """A small zstd frame that unpacks to many zeros."""
    out = bytearray(ZSTD_MAGIC + b"\xa0" + length.to_bytes(4, "little"))
    for start in range(0, length, ZSTD_BLOCK):
        size = min(ZSTD_BLOCK, length - start)
        is_last = start + size >= length
        out += (is_last | 1 << 1 | size << 3).to_bytes(3, "little") + b"\0"
    return bytes(out)


ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_BLOCK = 128 << 10


def events_of(log: bytes) -> list[bytes]:
    """The events of a file."""
    found, at = [], 4
    while at < len(log):
        size = int.from_bytes(log[at + 9 : at + 13], "little")
        found.append(log[at : at + size])
        at += size
    return found
