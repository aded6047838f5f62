"""The functions that a format must provide, so that tasks can write the files of its tables."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar

from binarrow.spark.history_files.errors import (
    UnsupportedTableError,
    known_functions,
    layout_functions,
)

if TYPE_CHECKING:
    from binarrow.spark.history_files.layout import Layout
    from binarrow.spark.history_files.writer import WrittenFile
    from binarrow.spark.mirror.table import TableMirror


@dataclass(frozen=True)
class BatchId:
    """The number of a batch of a query."""

    query: str
    number: int
    may_be_repeated: bool = False
    """True if an earlier run of the query may have written the batch."""


def file_prefix(batch: BatchId) -> str:
    """Returns the beginning of the names of the files of a batch."""
    return f"part-{batch.query}-{batch.number}"


class Outcome(Enum):
    """The outcome of a commit."""

    COMMITTED = auto()
    PRESENT = auto()
    """The table had the batch already. The files are not used."""
    CHANGED = auto()
    """The columns of the table have changed meanwhile. The files are not used."""


class FileTarget(ABC):
    """The tables of a format. Files are committed with the format's library in the session."""

    format_name: ClassVar[str]
    """The name of the format in messages."""

    def layout(self, mirror: TableMirror) -> Layout:
        """Returns the layout of the files of a table.

        Raises:
            UnsupportedTableError: Only Spark's own writer can write them.
        """
        with layout_functions(self.format_name):
            return self._layout_of(mirror)

    def commit(
        self, mirror: TableMirror, layout: Layout, files: Sequence[WrittenFile], batch: BatchId
    ) -> Outcome:
        """Adds files to a table in one commit, unless the table has the batch already.

        Raises:
            UnsupportedTableError: Only Spark's own writer can write files of the table now.
        """
        with known_functions(self.format_name):
            return self._commit(mirror, layout, files, batch)

    @abstractmethod
    def _layout_of(self, mirror: TableMirror) -> Layout:
        """Returns the layout of the files of a table."""

    @abstractmethod
    def _commit(
        self, mirror: TableMirror, layout: Layout, files: Sequence[WrittenFile], batch: BatchId
    ) -> Outcome:
        """Adds files to a table; see :meth:`commit`."""


def local_folder(location: str, default: str) -> str:
    """Returns the local path of a location, which may be a path of the default file system.

    Raises:
        UnsupportedTableError: The location is not on a local file system.
    """
    if location.startswith("/"):
        location = f"{default.rstrip('/')}{location}"
    found = re.fullmatch(r"file:(?://)?(/.*)", location)
    if found is None:
        raise UnsupportedTableError("its files are not in a local or shared folder")
    return found[1].rstrip("/")


def default_file_system(spark: Any) -> str:
    """Returns the URI of the file system of paths without a scheme."""
    return str(spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///"))  # noqa: SLF001
