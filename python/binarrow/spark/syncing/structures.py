"""The structures of a server's tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binarrow import ServerError
from binarrow._native import selected_tables
from binarrow.server import Server
from binarrow.spark.live.patience import patiently
from binarrow.spark.live.table_check import NO_SUCH_TABLE
from binarrow.spark.options import SCHEMA_OPTIONS
from binarrow.spark.schema import schema_of_server
from binarrow.syncing.names import Name, shown, split
from binarrow.syncing.versions import version_before

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql.types import StructType

    from binarrow import TableSchema
    from binarrow.spark.live.options import LiveOptions
    from binarrow.spark.source_options import SourceOptions


@dataclass(frozen=True)
class Structure:
    """A table as the server has it now."""

    schema: StructType
    """Its columns, and the envelope."""
    key: tuple[str, ...]
    """The columns that identify a row; empty if there are none."""
    version: int = -1
    """The rows of a later SELECT contain all changes up to this version; -1 if it is not known."""
    server: str = ""
    """The id of the server whose log the version refers to."""
    described: TableSchema | None = None
    """The structure with the server's types; None if the server has dropped the table."""


class Structures:
    """Queries about the tables of a server."""

    def __init__(self, options: SourceOptions, live: LiveOptions) -> None:
        self._options = options
        self._live = live
        self._shaping: dict[str, Any] = {
            key: value
            for key, value in options.read.items()
            if key in SCHEMA_OPTIONS and key != "layout"
        }

    def selected(self) -> list[Name]:
        """Returns the tables that the server has now and that the query selects."""
        excluded = list(self._options.read.get("exclude_tables", ()))

        def ask() -> list[str]:
            spec = self._live.target.connection_spec()
            return selected_tables(spec, list(self._options.tables), excluded)

        return [split(name) for name in patiently(ask, self._live.reconnect)]

    def of(self, tables: Iterable[Name]) -> dict[Name, Structure]:
        """Returns the structures of tables, without those that the server does not have."""
        names = list(tables)

        def ask() -> dict[Name, Structure]:
            with Server(self._live.target) as server:
                version = self._version_before_select(server)
                found = {name: self._of(server, name, version) for name in names}
            return {name: structure for name, structure in found.items() if structure is not None}

        return patiently(ask, self._live.reconnect) if names else {}

    def now(self) -> datetime:
        """Returns the time of the server."""

        def ask() -> datetime:
            with Server(self._live.target) as server:
                return server.now()

        return patiently(ask, self._live.reconnect)

    def _version_before_select(self, server: Server) -> int:
        """Returns the version up to which later SELECT statements see all changes, or -1."""
        # Another connection may reach another host, which may lack changes.
        is_one = len(self._live.target.endpoints) == 1
        position = server.position() if is_one else None
        if position is None or position.visible_to_select is not True or not position.file:
            return -1
        return version_before(position)

    def _of(self, server: Server, name: Name, version: int) -> Structure | None:
        try:
            described = server.describe(shown(name))
        except ServerError as error:
            if error.code in NO_SUCH_TABLE:
                return None
            raise
        has_history = self._options.history is not None or self._live.loads
        schema = schema_of_server(server, shown(name), has_history=has_history, **self._shaping)
        return Structure(schema, described.row_key, version, server.id, described)
