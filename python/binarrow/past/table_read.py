"""A table of a server: the changes of its rows, and a snapshot of them."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from binarrow._native import (
    BinarrowError,
    BinarrowWarning,
    ChangeBatch,
    ConfigError,
    PastRows,
    Position,
    PositionPurgedError,
    SchemaError,
    TableRows,
    UnloggedChange,
    UnsupportedEventError,
    read_table,
)
from binarrow.advice import message
from binarrow.past.changes import (
    FORM,
    PREFIX,
    check_statement,
    no_missing_changes,
    quiet_search,
)
from binarrow.past.join import Join
from binarrow.past.logs import ServerLog
from binarrow.past.moment import before_time

if TYPE_CHECKING:
    from binarrow._native import BinlogReader, ForeignKey, TableSchema
    from binarrow.past.logs import ArchivedLog
    from binarrow.server import Server
    from binarrow.stream import Stream

SNAPSHOTS = 20
"""The number of snapshots that are opened until one contains all changes that were read."""

PAUSE = 0.1
"""Seconds between two snapshots."""

CONSISTENT = ("innodb", "rocksdb")
"""The engines whose snapshots contain all rows at one moment."""

ENGINE = re.compile(r"\) ENGINE=(\w+)")

REFERENCE = re.compile(r"\) REFERENCES (?:`((?:[^`]|``)+)`\.)?`((?:[^`]|``)+)`")
"""The parent of a foreign key, as SHOW CREATE TABLE prints it."""


class TableRead:
    """A table, and the changes of its rows."""

    def __init__(
        self,
        server: Server,
        table: str,
        columns: Sequence[str] | None,
        where: str | None,
        types: Any,
        unlogged_changes: Literal["error", "warn", "ignore"],
    ) -> None:
        self.server, self.table = server, table
        self._structure = server.describe(table)
        wanted = None if columns is None else list(dict.fromkeys(columns))
        # Rows are identified by the key. A condition may name any column.
        key = self._structure.row_key
        is_all = wanted is None or where is not None
        read = None if is_all else list(dict.fromkeys([*(wanted or ()), *key]))
        selected = None if read is None else {"*.*": read}
        self._keywords: dict[str, Any] = {"columns": selected, "types": types}
        with self._rows_now(where="FALSE") as none:
            self.past = PastRows(none, where=where, columns=wanted)
        if self.past.not_logged and wanted is None:
            warnings.warn(
                f"{table}: the log does not contain values of the generated columns"
                f" {', '.join(self.past.not_logged)}: they are left out",
                BinarrowWarning,
                stacklevel=3,
            )
        self._log_keywords = {
            **self._keywords,
            "tables": [table],
            "where": where,
            **FORM,
            **self._reaction(unlogged_changes),
        }

    def _reaction(self, reaction: Literal["error", "warn", "ignore"]) -> dict[str, Any]:
        """Returns the keywords for changes by foreign keys that the log does not contain.

        If all tables are known to which the foreign keys of the table lead, actions of other
        foreign keys are ignored.
        """
        include = ["schema_change", "truncate"]
        self._on_unlogged = reaction
        parents = _parents(self.server, self._structure)
        if parents is None:
            return {
                "include": include,
                "schemas": self._structure,
                "unlogged_changes": reaction,
            }
        if reaction != "ignore":
            include.append("unlogged_change")
        return {
            "include": include,
            "schemas": [self._structure, *parents],
            "unlogged_changes": "ignore" if reaction == "ignore" else None,
        }

    def _rows_now(self, **keywords: Any) -> TableRows:
        return read_table(
            self.server.__binarrow_connection__(),
            self.table,
            **self._keywords,
            **{"envelope": [], "envelope_prefix": PREFIX, **keywords},
        )

    def check_engine(self) -> None:
        """Raises an error if the rows that a table has now are not those of one moment."""
        statement = self._structure.create_statement or ""
        if "WITH SYSTEM VERSIONING" in statement:
            raise UnsupportedEventError(
                f"{self.table}: MariaDB keeps the history of the table (WITH SYSTEM VERSIONING):"
                " use SELECT ... FOR SYSTEM_TIME AS OF"
            )
        engine = ENGINE.search(statement)
        if engine is None or engine[1].lower() not in CONSISTENT:
            name = "unknown" if engine is None else engine[1]
            raise UnsupportedEventError(
                f"{self.table}: a snapshot does not contain the rows of tables of the engine {name}"
            )

    def changes(self, start: Position | datetime, stop: Position | None) -> Position:
        """Reads the changes from a place on. Returns the place of their end."""
        keywords = self._log_keywords
        if stop is not None and isinstance(start, Position):
            opened = self.server.range(start, stop, **keywords)
        else:
            opened = self.server.stream(start, stop="end", **keywords)
        end = self._add(opened)
        if stop is None and end is None:
            raise ConfigError(f"the log has no place {start}")
        return stop or cast("Position", end)

    def archived_changes(self, archive: ArchivedLog, start: Position | datetime) -> Position:
        """Reads the archived changes.

        Returns:
            The place in the server's log at which the other changes start. It is after the start of
            the first file if the archive has no transaction at or after a time: transactions in
            this file may be older than the time.
        """
        join = Join(archive, self.server)
        names = self.server.variables("lower_case_table_names")
        opened = archive.read(
            start,
            join.first_on_server,
            lower_case_table_names=int(names["lower_case_table_names"]),
            **self._log_keywords,
        )
        end = self._add(opened)
        if end is None:
            raise PositionPurgedError(f"the archive has no place {start}")
        place = join.after(end)
        if isinstance(start, datetime) and not self._has_marks(archive, start, join):
            with quiet_search():
                return before_time(ServerLog(self.server), place, start, self.table)
        return place

    def _has_marks(self, archive: ArchivedLog, time: datetime, join: Join) -> bool:
        """True if the archive has a transaction at or after a time."""
        with quiet_search(), archive.marks(time, self.table, before=join.first_on_server) as items:
            return next(items, None) is not None

    def _add(self, opened: BinlogReader[Any] | Stream[Any]) -> Position | None:
        """Adds changes. Returns the place of their end."""
        with no_missing_changes(self.table), opened as log:
            for item in self._items(log):
                if isinstance(item, ChangeBatch):
                    self.past.add(item)
                elif isinstance(item, UnloggedChange):
                    self._check_unlogged(item)
                else:
                    check_statement(item, "after the moment", "Choose a moment after it")
            return log.position

    def _check_unlogged(self, change: UnloggedChange) -> None:
        """Raises an error, or warns, if foreign keys may have changed rows of the table."""
        if self.table.lower() not in (name.lower() for name in change.changed_tables):
            return
        actions = dict.fromkeys(_action(key, change.operation) for key in change.foreign_keys)
        said = message(
            f"{self.table}: the log contains a {change.operation or 'change'} of"
            f" {change.database}.{change.table} ({change.commit_timestamp:%Y-%m-%d %H:%M:%S} UTC),"
            " after which the server may have changed rows of the table without logging them"
            f" ({', '.join(actions) or 'actions of foreign keys'}). Choose a later moment, or"
            " continue with ⟦unlogged_changes=warn⟧"
        )
        if self._on_unlogged == "error":
            raise UnsupportedEventError(said)
        warnings.warn(said, BinarrowWarning, stacklevel=5)

    def _items(self, log: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from log
        except SchemaError as error:
            raise SchemaError(
                f"{self.table}: its structure since the moment is not the one that it has now, so"
                f" that the log cannot be reversed: {error}. Choose a later moment"
            ) from error

    def snapshot(self, after: Position, locks: Literal["brief"] | None) -> tuple[TableRows, bool]:
        """Opens a snapshot of the rows that contains the changes before a place, if possible.

        Returns:
            The rows, and True if they contain the changes before their position and no others.
        """
        for left in reversed(range(SNAPSHOTS)):
            rows = self._rows_now(
                envelope=["commit_version"], locks=locks, where=self.past.condition
            )
            position = rows.position
            if rows.is_exact and position is not None and after.base <= position:
                return rows, True
            if self.past.has_key and (left == 0 or not rows.is_exact):
                # The first change of each key decides.
                return rows, False
            rows.close()
            if not rows.is_exact:
                break
            time.sleep(PAUSE)
        raise UnsupportedEventError(
            f"{self.table} has no key, and the position of a snapshot of it is not exact: use"
            " locks='brief', or GRANT BACKUP_ADMIN ON *.* and SELECT ON"
            " performance_schema.log_status"
        )

    def end(self, near: Position) -> Position:
        """Returns the current end of the log."""
        last = self.server.binlogs()[-1]
        return near.replace(file=last.name, offset=last.size, gtid_set=None, file_created=None)


def _action(key: ForeignKey, operation: str | None) -> str:
    """Returns the action of a foreign key, as in CREATE TABLE."""
    is_update = operation == "update"
    action = (key.on_update if is_update else key.on_delete).upper().replace("_", " ")
    return f"ON {'UPDATE' if is_update else 'DELETE'} {action} of {key.table}"


def _parents(server: Server, structure: TableSchema) -> list[TableSchema] | None:
    """Returns the tables to which foreign keys of a table lead, also through other tables.

    Returns None if the account may not see one of them.
    """
    found: dict[str, TableSchema] = {f"{structure.database}.{structure.table}": structure}
    pending = [structure]
    while pending:
        child = pending.pop()
        if child.create_statement is None:
            return None
        for database, table in REFERENCE.findall(child.create_statement):
            name = f"{database or child.database}.{table}".replace("``", "`")
            if name in found:
                continue
            try:
                found[name] = server.describe(name)
            except BinarrowError:
                return None
            pending.append(found[name])
    return [*found.values()][1:]


def warn_of_filters(server: Server, table: str) -> None:
    """Warns if the log may not contain all changes of the table."""
    filters = server.database_filters()
    if filters:
        warnings.warn(
            f"{table}: the server does not log changes of some databases (binlog_do_db or"
            f" binlog_ignore_db: {', '.join(filters)}): if that of the table is one of them, its"
            " earlier rows are not known",
            BinarrowWarning,
            stacklevel=3,
        )
    if not server.logs_all_changes():
        warnings.warn(
            f"{table}: the server is a replica with log_replica_updates=OFF: its log does not"
            " contain the changes from its source. Read from the source",
            BinarrowWarning,
            stacklevel=3,
        )


__all__ = ["TableRead", "warn_of_filters"]
