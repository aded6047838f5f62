"""Commits of pyiceberg, without work that grows with the number of earlier commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _OverwriteFiles

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table.metadata import TableMetadata


class CachedTransaction(Transaction):
    """A transaction that computes its metadata once for each number of updates.

    pyiceberg computes it at each access, about twenty times in a commit, and copies all snapshots.
    """

    _known: tuple[tuple[int, int], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The metadata after the updates so far."""
        place = (id(self._table.metadata), len(self._updates))
        if self._known is None or self._known[0] != place:
            self._known = (place, super().table_metadata)
        return self._known[1]


class Overwrite(_OverwriteFiles):
    """A snapshot that replaces files, without the manifests that contain only deleted files.

    pyiceberg keeps them, and reads all of them in each commit and each scan. They only matter for
    the snapshot that deleted the files.
    """

    def __init__(self, transaction: Transaction, io: FileIO) -> None:
        super().__init__(operation=Operation.OVERWRITE, transaction=transaction, io=io)

    def _existing_manifests(self) -> list[ManifestFile]:
        found = super()._existing_manifests()
        return [one for one in found if one.has_added_files() or one.has_existing_files()]


__all__ = ["CachedTransaction", "Overwrite"]
