"""Stored rows of a table, and the changes since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from binarrow._native import (
    ChangeBatch,
    ConfigError,
    InputError,
    PastRows,
    Position,
    SchemaError,
    ServerError,
    Transaction,
    parse_place,
)
from binarrow.past.changes import FORM, PREFIX, check_statement, no_missing_changes, quiet_search
from binarrow.past.logs import ArchivedLog, ServerLog
from binarrow.past.moment import before_time, has_statement, start_of

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow._native import BinlogReader, TableSchema
    from binarrow.stream import Stream

DEFAULT_ENVELOPE = [
    "_change_type",
    "_commit_version",
    "_commit_timestamp",
    "_change_ordinal",
]
"""The last columns of rows that were read with the default envelope."""

ENVELOPE = {
    *DEFAULT_ENVELOPE,
    "_gtid",
    "_original_commit_timestamp",
    "_thread_id",
    "_xid",
    "_query",
    "_binlog_file",
    "_binlog_position",
    "_server_id",
    "_present",
}
"""The columns of all envelopes, which stored rows may have."""

TABLES: Mapping[str, Any] = {
    "column_names": "none",
    "statements": "skip",
    "unlogged_changes": "ignore",
}
"""Keywords of a read that counts the changes of all tables."""


class LaterRows:
    """Stored rows of a table, and the changes between their position and a moment."""

    def __init__(
        self, log: ServerLog | ArchivedLog, table: str, rows: Any, position: Position | str
    ) -> None:
        """Opens the rows.

        Args:
            log: The log with the changes.
            table: The table, as ``database.table``.
            rows: The rows that it had: an object with an Arrow stream, such as ``pyarrow.Table``.
            position: The place in the log at which it had them.

        Raises:
            ConfigError: The position is not a file and an offset, or the rows have no Arrow stream.
        """
        import pyarrow as pa

        place = parse_place(position) if isinstance(position, str) else position
        if not isinstance(place, Position) or not place.file:
            raise ConfigError("position must be a Position with a file, or FILE:OFFSET")
        self._log, self._table, self._position = log, table, place.base
        try:
            self._rows = pa.RecordBatchReader.from_stream(rows)
        except TypeError:
            raise ConfigError(
                f"rows: {type(rows).__name__} has no Arrow stream: pass a pyarrow.Table or another"
                " object with __arrow_c_stream__"
            ) from None
        self._changes: list[ChangeBatch] = []
        self._past: PastRows | None = None
        self._log_schema: pa.Schema = pa.schema([])
        names = self._rows.schema.names
        self._kept = names[:-4] if names[-4:] == DEFAULT_ENVELOPE else names
        """The stored columns without those of the envelope."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows that are returned: the columns of the log, if it has changes."""
        import pyarrow as pa

        stored: pa.Schema = self._rows.schema
        if self._past is None:
            return pa.schema([f for f in stored if f.name in self._kept], stored.metadata)
        left_out = self._past.not_logged
        return pa.schema([field for field in self._fields() if field.name not in left_out])

    def _fields(self) -> list[pa.Field]:
        """Returns the columns of the table in the log."""
        return [field for field in self._log_schema if not field.name.startswith(PREFIX)]

    def read_changes(
        self, moment: Position | str | datetime, *, before: bool, **keywords: Any
    ) -> None:
        """Reads the changes up to a moment.

        Raises:
            ConfigError: The moment is before the rows, or after the end of the log.
            SchemaError: A statement changed or emptied the table in between.
        """
        stop = self._stop(moment, before=before)
        if (stop.file, stop.offset) == self._place():
            return
        if stop < self._position:
            raise self._before_rows(stop)
        keywords = {**FORM, "include": ["schema_change", "truncate"], **keywords}
        if isinstance(self._log, ServerLog):
            self._check_is_in_file(stop, self._log)
            if keywords.get("schemas") is None:
                keywords["schemas"] = self._structure(self._log)
        with no_missing_changes(self._table):
            with self._opened(stop, keywords) as log:
                for item in log:
                    if isinstance(item, ChangeBatch):
                        self._changes.append(item)
                    else:
                        where = f"after the rows, which are of {self._position}"
                        check_statement(item, where, "Choose a moment before it, or later rows")
                end = log.position
            if not _is_reached(stop, end):
                raise ConfigError(
                    f"{self._table}: the moment {stop} is not the end of a transaction in the log"
                    f" of {self._log.owner}, which was read up to {end or self._position}: choose"
                    " the end of a transaction, or add the missing part of the log"
                )
        if self._changes:
            self._past = PastRows.after(self._changes[-1])
            self._log_schema = self._changes[-1].schema
            self._check_columns()
        elif isinstance(self._log, ArchivedLog):
            raise self._no_changes(self._log, stop)

    def _check_columns(self) -> None:
        """Raises an error for a stored column that the table does not have.

        Raises:
            SchemaError: There is such a column, and it is not one of the envelope.
        """
        known = {field.name for field in self._fields()}
        extra = [name for name in self._kept if name not in known | ENVELOPE]
        if extra:
            raise SchemaError(
                f"{self._table}: the rows have the columns {', '.join(extra)}, which the log does"
                " not contain: store the columns of the table, and no others"
            )

    def _no_changes(self, log: ArchivedLog, stop: Position) -> ConfigError:
        """Returns the error for a table that the read part of an archive does not contain."""
        with log.read(self._position, None, stop=stop, **TABLES) as items, quiet_search():
            for _ in items:
                pass
            names = [name.replace("`", "") for name in items.stats()["tables"]]
        by_lower_case = {name.lower(): name for name in names}
        near = get_close_matches(self._table.lower(), by_lower_case, n=1)
        hint = f" It contains changes of {by_lower_case[near[0]]}." if near else ""
        return ConfigError(
            f"{self._table}: the archive contains no change of the table between the rows, which"
            f" are of {self._position}, and the moment.{hint} Check the name of the table. If it is"
            " correct, the table had the stored rows at the moment"
        )

    def _structure(self, log: ServerLog) -> TableSchema | None:
        """Returns the structure of the table on a server; None if it changed after the rows.

        Raises:
            ServerError: The server has no such table, and had none.
        """
        structure = failure = None
        try:
            structure = log.server.describe(self._table)
        except ServerError as error:
            failure = error
        if has_statement(log, self._position, self._table):
            return None
        if failure is not None:
            raise failure
        return structure

    def _check_is_in_file(self, stop: Position, log: ServerLog) -> None:
        """Raises an error for a place after the end of a file: a read would wait for it.

        Raises:
            ConfigError: The file of the server is smaller, or the server does not have it yet.
        """
        files = log.server.binlogs()
        own = next((file for file in files if file.name == stop.file), files[-1])
        if Position(own.name, own.size) < stop:
            raise ConfigError(
                f"{self._table}: the moment {stop} is not in the log: {own.name} ends at"
                f" {own.size}. Choose the end of a transaction"
            )

    def _place(self) -> tuple[str, int]:
        return self._position.file, self._position.offset

    def _stop(self, moment: Position | str | datetime, *, before: bool) -> Position:
        """Returns the place of the moment."""
        with quiet_search():
            found = start_of(self._log, moment, self._table, before=before)
            if isinstance(found, datetime):
                found = self._of_time(found)
        return found.base.replace(gtid_set=None, by_gtid=False)

    def _of_time(self, time: datetime) -> Position:
        """Returns the place before the first transaction or statement at or after a time.

        Raises:
            ConfigError: The archive has none, or the statement is before the rows.
        """
        with self._log.marks(time, self._table) as items:
            first = next((item for item in items if not isinstance(item, ChangeBatch)), None)
            end = items.position
        if first is None:
            if isinstance(self._log, ServerLog) and end is not None:
                return end
            raise ConfigError(
                f"{self._log.owner} has no transaction at {time.isoformat()} or later: it is not"
                " known if it is complete up to this time. Add later files, or choose an earlier"
                " moment"
            )
        place: Position = first.position
        if isinstance(first, Transaction):
            return place
        # The place is after the statement.
        if place.base <= self._position:
            raise self._before_rows(place)
        is_same_file = place.file == self._position.file
        start = self._position if is_same_file else self._log.file_start(place.file)
        return before_time(self._log, start, time, self._table)

    def _before_rows(self, place: Position) -> ConfigError:
        return ConfigError(
            f"{self._table}: the moment is at {place}, before the rows, which are of"
            f" {self._position}: choose a later moment, or older rows"
        )

    def _opened(
        self, stop: Position, keywords: Mapping[str, Any]
    ) -> BinlogReader[Any] | Stream[Any]:
        if isinstance(self._log, ArchivedLog):
            return self._log.read(self._position, None, stop=stop, **keywords)
        return self._log.server.range(self._position, stop, **keywords)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Returns the rows after the changes.

        Raises:
            SchemaError: A column is missing, or its type differs from that in the log.
            UnsupportedEventError: The rows are not those before the changes.
        """
        if self._past is None:
            for batch in self._stored():
                yield batch.select(self._kept)
            return
        past, fields = self._past, self._fields()
        while self._changes:
            past.add(self._changes.pop())
        for batch in self._stored():
            rows = past.unchanged(self._logged(batch, fields), is_exact=True)
            yield rows.select(self.schema.names)
        for rows in past.changed(is_exact=True):
            yield rows.select(self.schema.names)

    def _stored(self) -> Iterator[pa.RecordBatch]:
        """Returns the stored rows.

        Raises:
            InputError: They cannot be read: a file of them is damaged.
        """
        import pyarrow as pa

        try:
            yield from self._rows
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self._table}: the stored rows cannot be read: {error}") from None

    def _logged(self, batch: pa.RecordBatch, fields: list[pa.Field]) -> pa.RecordBatch:
        """Returns rows with the columns of the log, in its order."""
        import pyarrow as pa

        columns = [self._column(batch, field) for field in fields]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    def _column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        import pyarrow as pa

        index = batch.schema.get_field_index(field.name)
        if index < 0:
            if self._past is not None and field.name in self._past.not_logged:
                return pa.nulls(batch.num_rows, field.type)
            raise SchemaError(
                f"{self._table}: the rows lack the column {field.name!r}, which the log contains:"
                " store all columns"
            )
        column = batch.column(index)
        if column.type != field.type:
            raise SchemaError(
                f"{self._table}: the column {field.name!r} of the rows has the Arrow type"
                f" {column.type}, and {field.type} in the log: pass the types with which the rows"
                " were read"
            )
        return column


def _is_reached(stop: Position, end: Position | None) -> bool:
    """True if a read ended at a place, and not before it: in a transaction, or in another file."""
    return end is not None and end.file == stop.file and end.offset >= stop.offset


__all__ = ["LaterRows"]
