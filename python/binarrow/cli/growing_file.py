"""A binlog file that another process still writes: its complete transactions so far.

<https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html>
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from binarrow import InputError

MAGIC = b"\xfebin"

HEADER = struct.Struct("<IBIIIH")
"""The common header: timestamp, type, server id, size, end of the event, flags."""

QUERY, STOP, ROTATE = 2, 3, 4
ENDS = (STOP, ROTATE, 16, 38, 40)
"""Events after which no transaction is open; also Xid, XA_prepare and Transaction_payload."""

GTIDS = (33, 34, 42, 162)
"""Events with which a transaction begins."""

MARIADB_GTID = 162
STANDALONE = 1
"""In the flags of MariaDB's Gtid event: no transaction follows, but one statement."""

PART = 256 << 20
"""The bytes of events that are examined at once."""


class GrowingFile:
    """Examines the headers of events as the file grows."""

    def __init__(self, path: Path) -> None:
        """Opens a file.

        Raises:
            OSError: The file cannot be opened.
        """
        self.path = path
        self.end = 0
        """The end of the last complete transaction."""
        self.is_closed = False
        """True after the last event of a file: Rotate or Stop."""
        self._file = path.open("rb", buffering=1 << 20)
        status = os.fstat(self._file.fileno())
        self._identity = (status.st_dev, status.st_ino)
        self._examined = 0
        self._size = 0
        self._is_started = False
        """True after the first transaction or statement."""
        self._is_open = False
        """True inside a transaction."""

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def grow(self) -> bool:
        """Examines new events. Returns true if a transaction is complete that was not before.

        Raises:
            InputError: The file was replaced, truncated or removed, or is not a binlog file.
        """
        size = self._checked_size()
        before = self.end
        if not self._examined and size >= len(MAGIC):
            self._file.seek(0)
            if self._file.read(len(MAGIC)) != MAGIC:
                raise InputError(f"{self.path} is not a binlog file")
            self._examined = len(MAGIC)
        limit = min(size, self._examined + PART)
        while self._examined and self._examined + HEADER.size <= limit:
            if not self._examine(size):
                break
        return self.end > before

    def grow_to_end(self) -> None:
        """Examines all events that the file has now."""
        examined = -1
        while self._examined > examined:
            examined = self._examined
            self.grow()

    @property
    def size(self) -> int:
        """The size of the file when it was last examined."""
        return self._size

    @property
    def has_more(self) -> bool:
        """True if the file has bytes that were not examined."""
        return self._size > self._examined

    def _checked_size(self) -> int:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            raise InputError(f"{self.path} was removed while it was followed") from None
        if (status.st_dev, status.st_ino) != self._identity:
            raise InputError(
                f"{self.path} was replaced by another file while it was followed, after offset"
                f" {self.end}: start again"
            )
        if status.st_size < self._size:
            raise InputError(
                f"{self.path} was truncated while it was followed: it had {self._size} bytes and"
                f" has {status.st_size}"
            )
        self._size = status.st_size
        return self._size

    def _examine(self, size: int) -> bool:
        """Examines the next event. Returns false if it is not complete."""
        self._file.seek(self._examined)
        _, kind, _, length, _, _ = HEADER.unpack(self._file.read(HEADER.size))
        if length < HEADER.size:
            raise InputError(f"{self.path} has no event at offset {self._examined}")
        after = self._examined + length
        if after > size:
            return False
        if kind in GTIDS:
            self.end = self._examined
            # The flags follow the number and the domain.
            is_statement = kind != MARIADB_GTID or self._file.read(13)[12] & STANDALONE
            self._is_open = not is_statement
        elif kind in ENDS or (kind == QUERY and self._ends_transaction(length)):
            self.end, self._is_open = after, False
        elif not self._is_started and kind != QUERY:
            self.end = after  # an event before the first transaction
        self._is_started |= kind in GTIDS or kind == QUERY
        self.is_closed = kind in (ROTATE, STOP)
        self._examined = after
        return True

    def _ends_transaction(self, length: int) -> bool:
        """True if a Query event ends a transaction, or is one."""
        body = self._file.read(min(length - HEADER.size, 1 << 16))
        database, variables = body[8], int.from_bytes(body[11:13], "little")
        text = body[13 + variables + database + 1 :][:16].upper()
        if text.startswith((b"BEGIN", b"XA START")):
            self._is_open = True
            return False
        is_end = text.startswith((b"COMMIT", b"ROLLBACK", b"XA COMMIT", b"XA ROLLBACK"))
        return not self._is_open or (is_end and not text.startswith(b"ROLLBACK TO"))


__all__ = ["GrowingFile"]
