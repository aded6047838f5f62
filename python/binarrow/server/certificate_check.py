"""Compares the certificate of an initial load with the log, and with the rows of the server.

The rows that a table has now, without the changes since the position of a chunk, are the rows that
the chunk had. The rows of the chunks of a table follow each other in the order of its key, so their
numbers determine where a chunk ends: the certificate contains no keys.
"""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from binarrow._native import (
    ChangeBatch,
    Position,
    SchemaChange,
    Transaction,
    Truncate,
    TypeOptions,
    UnmatchedPatternWarning,
    hash_rows,
    read_binlog,
    read_table,
)
from binarrow.server.certificate import lines

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow._native import TableRows
    from binarrow.server.server import Server

MODULUS = 1 << 128
"""The sum of the hashes of rows is computed modulo this number."""

OFFSET_BITS = 40
"""A place in the log is one number: that of the file, then the offset."""

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Result:
    """The result of the check of one table, or of the file (``table`` is then empty)."""

    table: str
    grade: Literal["ok", "warning", "error"]
    chunks: int
    rows: int
    text: str


@dataclass(frozen=True)
class Chunk:
    """A chunk of a certificate."""

    number: int
    place: int
    until: int | None
    """The end of the changes that it may contain; None if it is not known. The place if exact."""
    rows: int
    hash: int
    is_last: bool

    @classmethod
    def of(cls, line: dict[str, Any]) -> Chunk:
        """Creates the chunk of a line."""
        place = place_of(line["file"], line["offset"])
        until = place if line["exact"] else None
        if "until" in line:
            until = place_of(*line["until"])
        return cls(line["number"], place, until, line["rows"], int(line["hash"], 16), line["last"])


@dataclass
class LoadedTable:
    """A table of a certificate."""

    name: str
    columns: list[str]
    key: list[str]
    types: TypeOptions
    is_filtered: bool
    chunks: list[Chunk] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def is_complete(self) -> bool:
        """True if its last row was read."""
        return bool(self.chunks) and self.chunks[-1].is_last

    def result(self, grade: Literal["ok", "warning", "error"], text: str) -> Result:
        """Returns a result of its check."""
        return Result(self.name, grade, len(self.chunks), self.rows, text)


class Certificate:
    """The certificate of an initial load."""

    def __init__(self, path: Path) -> None:
        self.begin: Position
        self.complete: Position | None = None
        self.tables: dict[str, LoadedTable] = {}
        self.numbers: list[int] = []
        self.places: list[int] = []
        for line in lines(path):
            if "begin" in line:
                self.begin = _position(line["begin"])
            elif "complete" in line:
                self.complete = _position(line["complete"])
            elif "table" in line:
                self._add_table(line["table"])
            elif "chunk" in line:
                self._add_chunk(line["chunk"])

    def _add_table(self, line: dict[str, Any]) -> None:
        name = f"{line['database']}.{line['table']}"
        known = self.tables.get(name)
        types = TypeOptions(**line["types"])
        own = (name, line["columns"], line["key"], types, line["filtered"])
        # Chunks of an interrupted load follow each other.
        self.tables[name] = LoadedTable(*own, known.chunks if known else [])

    def _add_chunk(self, line: dict[str, Any]) -> None:
        table = self.tables[f"{line['database']}.{line['table']}"]
        if line["first"]:
            # It was read from its first row again.
            table.chunks.clear()
        table.chunks.append(Chunk.of(line))
        self.numbers.append(line["number"])
        self.places.append(table.chunks[-1].place)

    def check_itself(self) -> Iterator[Result]:
        """Checks that no chunk is missing."""
        if self.complete is None:
            yield Result("", "error", 0, 0, "the load is not complete")
        if self.numbers != list(range(len(self.numbers))):
            yield Result("", "error", 0, 0, "a chunk is missing, or is there twice")
        if any(first > second for first, second in pairwise(self.places)):
            yield Result("", "error", 0, 0, "the positions of chunks go back")
        for table in self.tables.values():
            if not table.is_complete:
                yield table.result(
                    "warning",
                    "its last row was not read: it was dropped or renamed during the load",
                )

    def check_log(self, items: Iterable[Any]) -> Iterator[Result]:
        """Checks that the position of each chunk is between two transactions of the log."""
        places = sorted(set(self.places))
        count = 0
        for item in items:
            if isinstance(item, Transaction) and item.kind == "end":
                count += 1
                end = place_of(item.position.file, item.position.offset)
                inside = bisect_right(places, item.commit_version)
                if inside < len(places) and places[inside] < end:
                    text = f"a chunk is inside the transaction before {item.position}"
                    yield Result("", "error", 0, 0, text)
        text = f"the log contains the {count} transactions during the load"
        yield Result(
            "", "ok", len(self.numbers), sum(one.rows for one in self.tables.values()), text
        )


def check_files(certificate: Certificate, files: Any) -> Iterator[Result]:
    """Compares a certificate with binlog files."""
    log = read_binlog(
        files,
        start=certificate.begin,
        stop=certificate.complete,
        include="transaction",
        column_names="none",
    )
    return certificate.check_log(log)


def check_server(
    certificate: Certificate, server: Server, *, locks: Literal["brief"] | None = None
) -> Iterator[Result]:
    """Compares a certificate with the log and the rows of a server."""
    changes = _Changes(certificate, server)
    yield from certificate.check_log(changes.read(list(certificate.tables)))
    for table in certificate.tables.values():
        if table.is_filtered:
            yield table.result("warning", "not compared: a condition selected its rows")
        elif table.name in changes.statements:
            # Perhaps it does not exist any more.
            statement = changes.statements[table.name]
            yield table.result("warning", f"not compared: {statement} changed it since")
        elif table.is_complete:
            yield _check_table(table, server, changes, locks)


def _check_table(
    table: LoadedTable, server: Server, changes: _Changes, locks: Literal["brief"] | None
) -> Result:
    columns = list(dict.fromkeys([*table.columns, *table.key]))
    with read_table(
        server.__binarrow_connection__(),
        table.name,
        ordered=True,
        locks=locks,
        columns={"*.*": columns},
        envelope="commit_version",  # it needs the position
        types=table.types,
    ) as rows:
        changes.read([table.name])
        statement = changes.statements.get(table.name)
        if statement is not None:
            return table.result("warning", f"not compared: {statement} changed it since")
        events = changes.of.get(table.name, [])
        position = rows.position
        assert position is not None  # noqa: S101 - it is always known for rows in order
        place = place_of(position.file, position.offset)
        if not table.key:
            found = _algebra(table, rows, events, place if rows.is_exact else None)
        else:
            found = _walk(table, rows, events)
    if found is None:
        text = (
            "not compared: rows were deleted since, and only the server knows the order of its key"
        )
        return table.result("warning", text)
    if found:
        return table.result("error", found)
    return table.result("ok", "the rows of all chunks are those of the server")


@dataclass(frozen=True)
class Event:
    """A row before or after a change."""

    place: int
    key: Key
    hash: int
    is_after: bool


class _Changes:
    """The changes of the tables since the beginning of the load."""

    def __init__(self, certificate: Certificate, server: Server) -> None:
        self._server = server
        self._tables = certificate.tables
        self._read_until = dict.fromkeys(certificate.tables, certificate.begin)
        self.of: dict[str, list[Event]] = defaultdict(list)
        self.statements: dict[str, str] = {}
        names = server.variables("binlog_row_metadata").get("binlog_row_metadata") == "FULL"
        self._named: dict[str, Any] = (
            {} if names else {"schemas": server.schemas(tables=list(certificate.tables))}
        )

    def read(self, names: Sequence[str]) -> list[Transaction]:
        """Reads the changes of tables up to the end of the log, and returns all transactions."""
        if not names:
            return []
        start = self._read_until[names[0]]
        end = self._server.binlogs()[-1]
        stop = start.replace(file=end.name, offset=end.size, gtid_set=None, file_created=None)
        tables = [self._tables[name] for name in names]
        columns = {
            table.name: list(dict.fromkeys([*table.columns, *table.key])) for table in tables
        }
        transactions = []
        keywords: dict[str, Any] = {
            "tables": list(names),
            "columns": columns,
            "types": tables[0].types,
            "include": ["transaction", "truncate", "schema_change"],
            "unlogged_changes": "warn",
            **self._named,
        }
        with warnings.catch_warnings(), self._server.range(start, stop, **keywords) as log:
            # A table may have no changes.
            warnings.simplefilter("ignore", UnmatchedPatternWarning)
            for item in log:
                self._add(item)
                if isinstance(item, Transaction):
                    transactions.append(item)
        self._read_until.update(dict.fromkeys(names, stop))
        return transactions

    def _add(self, item: object) -> None:
        if isinstance(item, ChangeBatch):
            table = self._tables[f"{item.database}.{item.table}"]
            batch = item.to_pyarrow()
            hashes = hash_rows(batch.select(table.columns))
            kinds = batch.column("_change_type").to_pylist()
            places = batch.column("_commit_version").to_pylist()
            afters = [kind in ("insert", "update_postimage") for kind in kinds]
            found = map(Event, places, _keys(batch, table.key), hashes, afters)
            self.of[table.name].extend(found)
        elif isinstance(item, Truncate):
            self.statements[f"{item.database}.{item.table}"] = "TRUNCATE"
        elif isinstance(item, SchemaChange):
            for name in item.tables:
                self.statements[name] = item.kind


def _algebra(
    table: LoadedTable, rows: Iterable[pa.RecordBatch], events: list[Event], place: int | None
) -> str | None:
    """Compares a table completely. Returns the difference; an empty text without one."""
    count = total = 0
    for batch in rows:
        hashes = hash_rows(batch.select(table.columns))
        count += len(hashes)
        total += sum(hashes)
    [chunk] = table.chunks
    ends = [place] if place is not None else _places(events, 0, None)
    for end in ends or [0]:
        for begin in [chunk.place, *_places(events, chunk.place, chunk.until)]:
            between = [event for event in events if begin <= event.place < end]
            signs = [1 if event.is_after else -1 for event in between]
            found = count - sum(signs)
            hashed = total - sum(
                sign * event.hash for sign, event in zip(signs, between, strict=True)
            )
            if (found, hashed % MODULUS) == (chunk.rows, chunk.hash):
                return ""
    return f"chunk {chunk.number} has other rows than the server had"


def _walk(table: LoadedTable, rows: TableRows, events: list[Event]) -> str | None:
    """Compares chunk after chunk. Returns the difference; None if keys have no known order."""
    touched: dict[Key, list[Event]] = defaultdict(list)
    for event in events:
        touched[event.key].append(event)
    chunks = _Chunks(table.chunks, events)
    is_ordered = all(_has_known_order(rows.schema.field(name).type) for name in table.key)
    # Dates that do not exist are None, which has no order.
    is_ordered = is_ordered and not any(None in key for key in touched)
    waiting = sorted(touched, reverse=True) if is_ordered else []
    for batch in rows:
        keys = _keys(batch, table.key)
        for key, hash_ in zip(keys, hash_rows(batch.select(table.columns)), strict=True):
            while waiting and None not in key and waiting[-1] < key:
                deleted = waiting.pop()
                chunks.add_changed(touched.pop(deleted))
            if waiting and waiting[-1] == key:
                waiting.pop()
            changed = touched.pop(key, None)
            if changed is None:
                chunks.add(hash_)
            else:
                chunks.add_changed(changed)
    rest = [touched[key] for key in reversed(waiting)] if waiting else list(touched.values())
    places = [chunk.place for chunk in table.chunks]
    is_needed = any(_state(each, place) is not None for each in rest for place in places)
    if not is_ordered and is_needed and len(table.chunks) > 1:
        return None
    for each in rest:
        chunks.add_changed(each)
    return chunks.end()


class _Chunks:
    """The chunks of a table, to which its rows are assigned in their order."""

    def __init__(self, chunks: Sequence[Chunk], events: list[Event]) -> None:
        # A chunk that failed before its first row has none.
        self._chunks = [chunk for chunk in chunks if chunk.rows or chunk.is_last]
        self._events = events
        self._index = 0
        self._problems: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self._count = self._sum = 0
        self._candidates: list[list[int]] = []
        if self._index < len(self._chunks):
            chunk = self._chunks[self._index]
            places = [chunk.place, *_places(self._events, chunk.place, chunk.until)]
            self._candidates = [[place, 0, 0] for place in places]

    def add(self, hash_: int) -> None:
        """Adds a row that was not changed."""
        self._count += 1
        self._sum += hash_
        self._may_end()

    def add_changed(self, events: list[Event]) -> None:
        """Adds a row that was changed."""
        for candidate in self._candidates:
            state = _state(events, candidate[0])
            if state is not None:
                candidate[1] += 1
                candidate[2] += state
        self._may_end()

    def _may_end(self) -> None:
        chunk = self._chunks[self._index]
        if chunk.is_last:
            return
        full = [one for one in self._candidates if self._count + one[1] >= chunk.rows]
        if any(self._is(chunk, one) for one in full):
            self._index += 1
            self._begin()
        elif len(full) == len(self._candidates):
            self._problems.append(str(chunk.number))
            self._index += 1
            self._begin()

    def _is(self, chunk: Chunk, candidate: list[int]) -> bool:
        _, count, total = candidate
        found = (self._count + count, (self._sum + total) % MODULUS)
        return found == (chunk.rows, chunk.hash)

    def end(self) -> str:
        """Returns the difference after the last row; an empty text without one."""
        last = self._chunks[self._index]
        is_equal = last.is_last and any(self._is(last, one) for one in self._candidates)
        if not is_equal:
            self._problems.append(str(last.number))
        if not self._problems:
            return ""
        numbers = ", ".join(self._problems[:MAX_SHOWN])
        return f"chunks {numbers} have other rows than the server had"


MAX_SHOWN = 10
"""The maximum number of chunks in a message."""


def _state(events: list[Event], place: int) -> int | None:
    """Returns the hash of a row at a place in the log; None if there was no such row."""
    before = [event for event in events if event.place < place]
    if before:
        return before[-1].hash if before[-1].is_after else None
    return None if events[0].is_after else events[0].hash


def _places(events: list[Event], first: int, until: int | None) -> list[int]:
    """Returns the places after the transactions that a chunk may contain, or may not."""
    found = {event.place for event in events if first <= event.place}
    return [place + 1 for place in sorted(found) if until is None or place < until]


def _keys(batch: pa.RecordBatch, names: Sequence[str]) -> Iterable[Key]:
    columns = [batch.column(name).to_pylist() for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * batch.num_rows


def _has_known_order(kind: pa.DataType) -> bool:
    """True if Python orders values of a key like the server. Text is ordered by its collation."""
    import pyarrow.types as of

    known = (
        of.is_integer,
        of.is_decimal,
        of.is_date,
        of.is_timestamp,
        of.is_duration,
        of.is_binary,
    )
    return any(is_known(kind) for is_known in known)


def place_of(file: str, offset: int) -> int:
    """Returns a place in the log as one number, like ``_commit_version``."""
    return (int(file.rpartition(".")[2]) << OFFSET_BITS) + offset


def _position(line: dict[str, Any]) -> Position:
    import json

    return Position.from_json(json.dumps(line["position"]))
