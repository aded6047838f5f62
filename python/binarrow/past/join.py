"""The place at which the log of a server continues an archive of it, without gap or overlap."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from binarrow._native import ConfigError, Position, PositionPurgedError, ServerIdentityError
from binarrow.past.logs import NUMBERED

if TYPE_CHECKING:
    from binarrow.past.logs import ArchivedLog
    from binarrow.server import Server

ROTATION_SECONDS = 1
"""The most seconds between the end of a file and the creation of the next one."""


class Join:
    """An archive that the log of a server continues.

    A file that both have is read from the server. The names of the files are consecutive, or the
    server has the transactions after the GTID set at the end of the archive.
    """

    def __init__(self, archive: ArchivedLog, server: Server) -> None:
        self._archive, self._server = archive, server
        oldest = server.binlogs()[0].name
        self._first = server.file_start(oldest)
        self._last = archive.files()[-1]
        """The archived file after which the server's log is read."""
        self.first_on_server: str | None = None
        """The first file of the archive that is read from the server; None if it has none."""
        names = archive.files()
        self._differs = False
        """True if the archive has another file with the name of the server's oldest file."""
        if oldest in names[1:]:
            self._differs = not self._is_copy(oldest)
            if not self._differs:
                self.first_on_server = oldest
                self._last = names[names.index(oldest) - 1]

    def _is_copy(self, name: str) -> bool:
        """True if the file of the archive is a copy of the server's oldest file."""
        head = self._archive.head(name)
        gtids = self._first.gtid_set or ""
        return head.created == self._first.file_created and _equal(head.gtid_set, gtids)

    def after(self, end: Position) -> Position:
        """Returns the place in the server's log that follows the end of the archive.

        Raises:
            PositionPurgedError: The log between the archive and the server is missing.
            ServerIdentityError: The archive is that of another server.
        """
        read, before = end.gtid_set or "", self._first.gtid_set or ""
        has_gtids = bool(read) and self._all_have_gtids()
        if _follows(self._last, self._first.file):
            if _equal(read, before):
                self._check_end(has_gtids=has_gtids)
                return self._first
        elif not has_gtids and not self._differs:
            raise self._gap()
        if not has_gtids:
            raise self._foreign(
                "its files differ from those of the server, and not all transactions have GTIDs",
                "Only with GTIDs (gtid_mode=ON) can the server continue the log of another server",
            )
        executed = self._server.position().gtid_set or ""
        if not _contains(executed, read):
            raise self._foreign("the server does not have all transactions of the archive")
        if not _contains(read, before):
            raise self._gap()
        source = self._archive.head(self._last).server_id
        # MariaDB's GTIDs contain only the server_id: two logs of a server may have equal ones.
        if self._server.flavor == "mariadb" and source == self._server.server_id:
            raise self._foreign(
                f"its files have other names or GTIDs, but the same server_id {source}"
            )
        return Position.after_gtids(read)

    def _all_have_gtids(self) -> bool:
        """True if the log has no anonymous transactions, which GTID sets do not contain."""
        if self._server.flavor != "mysql":
            return True
        return self._server.variables("gtid_mode").get("gtid_mode") == "ON"

    def _check_end(self, *, has_gtids: bool) -> None:
        """Checks that the server closed the last file of the archive, and created its own then.

        Raises:
            PositionPurgedError: The copy of the file is not complete.
            ServerIdentityError: The file is that of another server.
        """
        close = self._archive.close_of(self._last)
        if close is not None and close.next_file not in (None, self._first.file):
            raise self._foreign(f"its last file continues in {close.next_file}")
        if has_gtids and self._server.flavor == "mysql":
            return  # they contain the UUID of the server
        head = self._archive.head(self._last)
        if close is None and head.in_use and not has_gtids:
            raise PositionPurgedError(
                f"{self._archive.shown(self._last)} was copied while the server wrote to it, and"
                f" the server's oldest file is {self._first.file}: the changes between them are"
                " missing. Add the complete file to the archive"
            )
        if self.first_on_server is not None:
            return  # the archive has a copy of the server's file
        source, own = (close or head).server_id, self._server.server_id
        if source != own:
            raise self._foreign(f"its server_id is {source}, and that of the server is {own}")
        created = self._first.file_created
        if close is not None and close.next_file is not None and created is not None:
            if not 0 <= created - close.time <= ROTATION_SECONDS:
                raise self._foreign(
                    f"its last file was closed at {_shown(close.time)}, and the server's file was"
                    f" created at {_shown(created)}"
                )
        elif not has_gtids:
            raise ServerIdentityError(
                f"{self._archive.shown(self._last)} has no GTIDs and was not closed by a rotation:"
                f" it is not known if {self._first.file} of the server continues it. Add a copy of"
                f" {self._first.file} to the archive"
            )

    def _gap(self) -> PositionPurgedError:
        return PositionPurgedError(
            f"the log between {self._archive.shown(self._last)}, the last file of the archive, and"
            f" {self._first.file}, the oldest file of the server, is missing: add the files between"
            " them to the archive"
        )

    def _foreign(
        self, reason: str, remedy: str = "Pass an archive of this server's log"
    ) -> ServerIdentityError:
        return ServerIdentityError(
            f"{self._first.file} of the server does not continue"
            f" {self._archive.shown(self._last)} of the archive: {reason}. {remedy}"
        )


def _shown(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _follows(earlier: str, later: str) -> bool:
    """True if a file has the name after that of another file."""
    one, other = NUMBERED.fullmatch(earlier), NUMBERED.fullmatch(later)
    return (
        one is not None
        and other is not None
        and one[1] == other[1]
        and int(one[2]) + 1 == int(other[2])
    )


def _equal(one: str, other: str) -> bool:
    return _contains(one, other) and _contains(other, one)


def _contains(gtid_set: str, part: str) -> bool:
    """True if a GTID set contains another one."""
    if not part:
        return True
    if not gtid_set:
        return False
    try:
        return Position.after_gtids(part) <= Position.after_gtids(gtid_set)
    except ConfigError:
        return False  # neither contains the other


__all__ = ["Join"]
