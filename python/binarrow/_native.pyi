"""The extension module: Rust behind every name here. Import from ``binarrow``, not from this module."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import IO, Any, Generic, Literal, Protocol, TypeAlias, final, overload

import pyarrow as pa
from typing_extensions import TypeVar

from binarrow.history import SchemaHistory
from binarrow.server import Server

__version__: str

class _ArrowSchemaExportable(Protocol):
    def __arrow_c_schema__(self) -> object: ...

_Path: TypeAlias = str | PathLike[str]
Sql: TypeAlias = str | bytes | bytearray | PathLike[str]
"""SQL as text, as bytes (a dump holds the bytes of binary defaults as they are), or in a file."""

Schemas: TypeAlias = Sql | Mapping[str, Sql] | Sequence[Sql]
"""CREATE TABLE text: a dump of tables, several, or a dict of ``database.table`` to one statement each."""

History: TypeAlias = SchemaHistory | str | PathLike[str]
"""A history of table structures, or the URL or path that it is kept at."""

Source: TypeAlias = (
    _Path
    | bytes
    | IO[bytes]
    | Sequence[_Path | bytes | IO[bytes]]
    | Mapping[str, _Path | bytes | IO[bytes]]
)

# What `to_events` and `event_keywords` take.
EventFormat: TypeAlias = Literal["ticdc-json", "debezium-json"]
"""One input, or several in log order: a path, a glob, a directory, bytes, or an open binary file object."""

class BinarrowError(Exception):
    """Base of every error that binarrow raises.

    Attributes:
        file: The file that the bytes came from, where known.
        offset: The byte offset of the event in that file, where known.
        event_type: The event's documented name (``Table_map``, ``Write_rows``, ...), where known.
        code: The server's number for the error, where it comes from a server.
        sqlstate: Its SQLSTATE, where it comes from a server.
    """

    file: str | None
    offset: int | None
    event_type: str | None
    code: int | None
    sqlstate: str | None

class MalformedBinlogError(BinarrowError, ValueError):
    """The bytes break the binary log's format."""

class ChecksumError(MalformedBinlogError):
    """An event's CRC32 does not match its bytes."""

class UnsupportedEventError(BinarrowError):
    """Valid input that this version does not decode: an encrypted file, a vendor's event, an incident."""

class SchemaError(BinarrowError):
    """The structure of a table is not known, or does not fit what was asked for."""

class InputError(BinarrowError, OSError):
    """A file or stream could not be read."""

class MissingInputError(InputError, FileNotFoundError):
    """There is no such file."""

class ForbiddenInputError(InputError, PermissionError):
    """The file may not be read."""

class DirectoryInputError(InputError, IsADirectoryError):
    """A directory stands where a file should."""

class InternalError(BinarrowError, RuntimeError):
    """A defect of binarrow; please report it."""

class ConfigError(BinarrowError, ValueError):
    """The call asks for something that cannot be."""

class AuthenticationError(BinarrowError, PermissionError):
    """The server does not let the user in."""

class TlsError(BinarrowError):
    """No TLS connection that may be trusted: the message says which certificate or setting is missing."""

class ServerError(BinarrowError):
    """The server refuses a statement; ``code`` is its number for it, ``sqlstate`` the standard's."""

class PositionPurgedError(BinarrowError):
    """The server no longer has the log from the position on: changes are lost."""

class ServerIdentityError(BinarrowError):
    """The server is not the one that the position is of, or another reader has our server id."""

class ConnectionLostError(BinarrowError, ConnectionError):
    """The connection could not be made, or is gone: trying again may help."""

class BinarrowWarning(UserWarning):
    """Something that a reader of the log should know and that is not an error."""

class UnmatchedPatternWarning(BinarrowWarning):
    """Nothing in the input matches a pattern of tables or columns."""

@final
class TypeOptions:
    """How MySQL's types become Arrow's. Frozen, hashable, picklable.

    ``json="diff"``: where the log holds only what changed in a document (MySQL's
    ``binlog_row_value_options=PARTIAL_JSON``), the value is that change, as text::

        {"$diff":[{"op":"replace","path":"$.age","value":26}, ...]}

    Operations are ``replace``, ``insert`` and ``remove`` (without ``value``), to be applied in that
    order to the document before. A diff begins with the nine bytes ``{"$diff":``, which no whole
    document does: those are as the server prints them, with a space after each colon. No diffs
    (``[]``) mean that the document is as it was. The ``insert`` of an update that changes the key
    holds the whole document. Without this option the change is applied to the row's image before the change, and it is an error
    where that leaves the document out (``binlog_row_image=MINIMAL``).
    """

    def __new__(
        cls,
        *,
        profile: Literal["native", "spark"] = "native",
        zero_dates: Literal["null", "error", "text"] = "null",
        json: Literal["text", "variant", "bytes", "diff"] = "text",
        time: Literal["duration", "micros", "interval", "text"] | None = None,
        geometry: Literal["ewkb", "wkb", "mysql"] = "ewkb",
        enum: Literal["dictionary", "text", "ordinal"] | None = None,
        invalid_text: Literal["error", "replace", "binary"] = "error",
    ) -> TypeOptions: ...
    @property
    def profile(self) -> str: ...
    @property
    def zero_dates(self) -> str: ...
    @property
    def json(self) -> str: ...
    @property
    def time(self) -> str: ...
    @property
    def geometry(self) -> str: ...
    @property
    def enum(self) -> str: ...
    @property
    def invalid_text(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Position:
    """A place in the log at which a reader starts or resumes. Frozen, hashable, picklable.

    A position consists of its base, which is a place at the end of a transaction (a file and a byte
    offset), and of how far some tables were delivered beyond the base. A reader that starts at the
    position reads from the base and leaves out what was delivered, so no row is lost or repeated::

        reader = binarrow.read_binlog("binlog.000001")
        stored = next(reader).position.to_json()
        rest = binarrow.read_binlog("binlog.000001", start=Position.from_json(stored))

    The second reader may use other threads, batch limits, columns and operations. A table that the
    first one did not read is read from the base. ``str()``, ``stop=``, table histories and Spark's
    offsets use the base alone.

    :meth:`Server.position` may return a GTID set alone: ``file`` is then empty and ``offset`` is 0.
    """

    def __new__(cls, file: str, offset: int) -> Position: ...
    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def server(self) -> str | None: ...
    @property
    def gtid_set(self) -> str | None: ...
    @property
    def begun(self) -> int | None:
        """When the file was begun, in seconds since 1970 UTC, where that is known. It is not compared.

        A reader that goes on at the position finds out by it that the log was reset in between.
        """
    @property
    def version_shift(self) -> int: ...
    @property
    def visible_to_select(self) -> bool | None:
        """True if a SELECT that starts after the position was read sees all transactions before it.

        False if the server cannot guarantee that: see :meth:`Server.position`. None for a position that
        :meth:`Server.position` did not return. It is neither stored nor compared.
        """
    @property
    def base(self) -> Position:
        """The position without ``ahead``: a reader that starts there reads again what was delivered beyond it."""
    @property
    def ahead(self) -> tuple[str, ...]:
        """The tables (``database.table``) that have changes delivered beyond the base, sorted."""
    def to_json(self) -> str:
        """Returns the position as canonical JSON, to be stored. Equal positions have equal texts."""
    @staticmethod
    def from_json(text: str) -> Position:
        """Returns the position that ``to_json`` stored, in this version or an earlier one.

        Raises:
            ConfigError: The text is not a stored position, or a later version of binarrow wrote it.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ChangeBatch:
    """Changes of one table, as one Arrow record batch."""

    @property
    def database(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def position(self) -> Position:
        """The position after this batch: a reader that starts there returns all later changes, each once.

        It is computed when the property is read.
        """
    @property
    def schema(self) -> pa.Schema: ...
    def to_pyarrow(self) -> pa.RecordBatch:
        """The rows, without a copy."""
    def to_events(
        self,
        event_format: EventFormat,
        *,
        source_name: str = "binarrow",
        processed_ms: int | None = None,
    ) -> bytes:
        """The changes as the events of another tool: a JSON object a line, in UTF-8.

        For batches that were read with :func:`event_keywords`.

        ``"debezium-json"`` is the value that Debezium's connectors for MySQL and MariaDB give by default, without its
        schema: decimals and bytes in base64, DATE in days, DATETIME in milliseconds, or in microseconds where it has
        more than three digits, TIME in microseconds, TIMESTAMP as ISO 8601 in UTC, BIGINT UNSIGNED as a signed long. An
        update that changes the key is a delete and a create; there are no tombstones.

        ``"ticdc-json"`` is the row changed event of TiCDC as its log prints it: types are MySQL's codes, strings and
        bytes are in base64, ``flag`` adds up 1 binary, 2 handle key, 4 generated, 8 primary key, 16 unique key,
        32 multiple key, 64 nullable, 128 unsigned. ``commit-ts`` is ``_commit_version``: it orders, and tells no time.
        With ``old_value=False`` a delete has only its key, and null in the place of other columns.

        Args:
            event_format: Whose events.
            source_name: Debezium's ``source.name``, the logical name of the server.
            processed_ms: Debezium's ``ts_ms``, milliseconds since 1970; by default now.

        Raises:
            ConfigError: The batch was read in another way.
        """
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...

@final
class SchemaChange:
    """A statement that changed tables or a database. Frozen; its ``repr`` leaves the statement out.

    The statement is the text in the log. It may contain a password, for example in ``CONNECTION=`` of a FEDERATED table.
    A :class:`SchemaHistory` stores ``'***'`` instead of the password.
    """

    @property
    def kind(self) -> Literal["create", "alter", "drop", "rename", "truncate"]:
        """What it does.

        Statements about indexes and partitions are ``alter``, and so is the swap at the end of an online schema
        change; ``truncate`` comes where ``"truncate"`` is not included as well.
        """
    @property
    def database(self) -> str:
        """The database that it makes, changes or drops; of tables, the database of the first."""
    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that it changes, as ``database.table``, old and new names of a rename too; empty where it is of a database."""
    @property
    def statement(self) -> str:
        """Its text as the log has it."""
    @property
    def tool(self) -> Literal["gh-ost", "pt-online-schema-change"] | None:
        """The tool whose online schema change ends with it."""
    @property
    def position(self) -> Position:
        """Where to resume after it; within a transaction (``CREATE TABLE ... SELECT``), before its rows and itself."""
    @property
    def commit_version(self) -> int: ...
    @property
    def commit_timestamp(self) -> datetime: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Truncate:
    """A table was emptied: by TRUNCATE, or as a MEMORY table by its server's start. Frozen."""

    @property
    def database(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def position(self) -> Position:
        """Where to resume after it."""
    @property
    def commit_version(self) -> int: ...
    @property
    def commit_timestamp(self) -> datetime: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class SkippedStatement:
    """A statement that may have changed rows and was logged as text. Frozen; its ``repr`` omits the statement.

    The log does not contain the changed rows, and does not always name the tables. Only with ``statements="skip"``.
    """

    @property
    def database(self) -> str:
        """The default database of its session; empty if there was none."""
    @property
    def statement(self) -> str:
        """The text in the log. It contains values."""
    @property
    def position(self) -> Position:
        """The position at which to resume after it; inside a transaction, before the transaction."""
    @property
    def commit_version(self) -> int: ...
    @property
    def commit_timestamp(self) -> datetime: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Transaction:
    """A transaction begins or ends, or an XA transaction waits for its decision or is undone. Frozen."""

    @property
    def kind(self) -> Literal["begin", "end", "prepare", "rollback"]:
        """Which place in it.

        ``begin`` before its rows and ``end`` behind them; ``prepare`` where an XA transaction is prepared, whose rows come
        at its commit; ``rollback`` where one that was prepared is undone, and with ``uncommitted="emit"`` behind all rows that
        never happened.
        """
    @property
    def gtid(self) -> str | None:
        """Its GTID, where the log has them."""
    @property
    def rows(self) -> int | None:
        """Behind its rows: how many were handed out, both halves of an update counted. None before."""
    @property
    def xa_state(self) -> Literal["prepared", "committed", "rolled_back"] | None:
        """What has become of it, if it is an XA transaction."""
    @property
    def xid(self) -> str | None:
        """An XA transaction's id, as servers write it: ``X'67',X'62',1``."""
    @property
    def position(self) -> Position:
        """Where to resume after it: of a ``begin`` before the transaction, else behind it."""
    @property
    def commit_version(self) -> int: ...
    @property
    def commit_timestamp(self) -> datetime: ...
    @property
    def original_commit_timestamp(self) -> datetime | None:
        """When it was committed on the server that it was made on, where the log tells."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Heartbeat:
    """The server had nothing to send for the heartbeat's interval. Frozen; only of live streams."""

    @property
    def position(self) -> Position:
        """Where the stream stands."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

Change: TypeAlias = (
    ChangeBatch | SchemaChange | Truncate | SkippedStatement | Transaction | Heartbeat
)
"""What a reader with ``include`` gives."""

Item: TypeAlias = Literal[
    "schema_change", "truncate", "skipped_statement", "transaction", "heartbeat"
]
"""What ``include`` names."""

_T_co = TypeVar("_T_co", covariant=True, default=ChangeBatch)

@final
class BinlogReader(Generic[_T_co]):
    """An iterator in log order, of :class:`ChangeBatch` and what ``include`` names; also a context manager."""

    @property
    def position(self) -> Position | None:
        """The position after the last batch or item. None before the first one, unless ``start`` names a place."""
    @property
    def closed(self) -> bool: ...
    def stats(self) -> dict[str, Any]:
        """Counts so far.

        ``bytes_read``, ``bytes_total`` (None if unknown), ``transactions`` (those with returned changes),
        ``rows_events``, ``changes`` (an update is one), ``rows`` (of the batches: an update is two, or one if the
        layout is nested and the key does not change), ``batches``, ``dropped_rows_events``, ``statements_skipped``,
        ``zero_dates`` (by column), ``unlogged_changes`` (by parent table: rows events that may have changed rows of other
        tables by foreign keys), ``first_commit`` and ``last_commit`` (datetime or None), ``largest_transactions`` (those with
        returned changes, a list of ``{"file", "offset", "bytes", "committed"}``, the largest first, at most ten),
        ``seconds``, and ``tables``: a dict of ``database.table`` to ``{"inserts", "updates", "deletes", "bytes"}``: changes,
        and bytes of their rows events. A name with a dot is in backticks there: ```a`.`b.c```. ``rows`` and ``batches``
        count each batch when it is returned; the other counts include only complete segments.
        """
    def table(
        self,
        name: str,
        *,
        schema: _ArrowSchemaExportable | None = None,
        on_schema_change: Literal["error", "conform", "evolve"] = "error",
        truncates: Literal["error", "emit", "skip"] = "skip",
    ) -> TableReader:
        """The batches of one table under one schema; this reader is used up by it.

        Args:
            name: ``database.table``.
            schema: The schema of all batches; None for the first batch's. Under one that is given, the bits of ``_present``
                (in the nested layout of ``_present_before`` and ``_present_after``) are those of its own columns, in
                their order; a column that the table did not have then has the bit 0.
            on_schema_change: What a batch of another structure leads to: ``"error"``, or ``"conform"``: columns go by
                their names (then by their names in another case), missing ones are NULL, new ones are dropped with one
                warning each, types are widened, and what would lose values is a :class:`SchemaError`. In the nested
                layout the same is done inside ``before`` and ``after``. ``"evolve"`` is the same, but a batch that lacks
                columns and has others beside the envelope's is an error: one may be a new name of another.
            truncates: The reaction to a statement that removes or changes existing rows of the table without row events.
                For a statement that empties the table (TRUNCATE, DROP TABLE, DROP DATABASE, CREATE OR REPLACE TABLE, RENAME to
                another name, ENGINE=BLACKHOLE, the restart of the server for a MEMORY table): ``"skip"``; ``"error"``, a
                :class:`SchemaError`; or ``"emit"``, which requires ``schema``: a row with the ``_change_type`` ``truncate``
                (in the nested layout the ``_op`` ``t``), its version and time, the ``_change_ordinal`` -1, because it precedes
                all rows of its transaction, and NULL in the other columns. A statement that changes rows in another way is an
                error with ``"error"`` and ``"emit"``, and a warning with ``"skip"``: DROP, TRUNCATE or EXCHANGE PARTITION, IMPORT
                TABLESPACE, RENAME of another table to this one's name, ALTER IGNORE, DROP and ADD of one column name,
                CONVERT TO CHARACTER SET if characters may be lost, DROP SYSTEM VERSIONING, and every ALTER
                TABLE clause that is not known to keep the rows. So is MODIFY or CHANGE of a column in ``schema``, and ADD PRIMARY KEY,
                unless the column's types before and after are known to keep every value: INT to BIGINT does, DATETIME(6) to
                DATETIME does not. The type before comes from ``history``, or from the last rows of the table in this read; if it is
                not known, the values count as changed. Without ``history``, generated columns and AUTO_INCREMENT
                columns are not known: values of columns that are generated from a column with a new type are not noticed, and
                a definition with AUTO_INCREMENT counts as a change; for an integer that is the primary key it is a warning, and
                so is a definition without its character set under a ``sql_mode`` that is not strict. If the log does not name the
                columns, FIRST, AFTER and DROP COLUMN count as changes too. New columns are not among them: see
                ``on_schema_change``. A table that replaces another in a swap by gh-ost or
                pt-online-schema-change has the same rows: see ``online_schema_change``. REPAIR TABLE and REPAIR PARTITION,
                which may remove damaged rows, are a warning for each table. A statement that may concern another table is
                an error with ``"error"`` and ``"emit"`` too: one that writes the name in other letter case (see
                ``lower_case_table_names``), or one that uses a temporary table which may have the same name.

        Raises:
            ConfigError: Something was read already, ``include`` asks for more than rows, or ``truncates="emit"`` has no
                schema, or one without the column that tells.
        """
    def nested_json(self, *, truncates: Literal["error", "emit", "skip"] = "skip") -> TableReader:
        """The changes of all tables under one schema; this reader is used up by it.

        The columns are ``_database``, ``_table``, ``_op`` (``c``, ``u``, ``d``), ``before`` and ``after``, then the rest of the
        envelope. ``before`` and ``after`` are the rows as documents: JSON text, or with ``json="variant"`` Spark's
        VARIANT, which keeps decimals, dates, times and bytes. A document has the columns that the row had when it was
        logged, by their names of then, so that no schema need be fixed: a NULL is ``null``, and a column that the log
        left out is not there. Values have the forms that Spark's ``from_json`` reads: see
        :func:`binarrow.spark.table_of`. In a VARIANT a JSON document that is ``null`` has a mark beside it, the column's
        name with a space behind it, for a NULL looks the same.

        Rows of one table are in log order; over several tables ``_commit_version`` and ``_change_ordinal`` tell it.

        Args:
            truncates: What a statement leads to that empties a table, as for :meth:`table`. ``"emit"`` gives a row with the
                ``_op`` ``t``; after DROP DATABASE its ``_table`` is NULL: it is of all tables of the database.

        Raises:
            ConfigError: The types are not those of Spark, something was read already, or ``include`` asks for more than
                rows.
        """
    def start(self) -> None:
        """Begins to read, where that has not begun, without waiting for a batch."""
    def poll(self, timeout: float) -> _T_co | None:
        """The next batch or item; None where none came within ``timeout`` seconds.

        Raises:
            StopIteration: Nothing more comes.
        """
    def close(self) -> None: ...
    def __iter__(self) -> BinlogReader[_T_co]: ...
    def __next__(self) -> _T_co: ...
    def __enter__(self) -> BinlogReader[_T_co]: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

@final
class TableReader:
    """Changes as an Arrow stream of one schema: those of one table, or those of many as documents."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def position(self) -> Position | None: ...
    @property
    def closed(self) -> bool: ...
    def stats(self) -> dict[str, Any]: ...
    def read_all(self) -> pa.Table:
        """All that is left, in memory."""
    def close(self) -> None: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __iter__(self) -> TableReader: ...
    def __next__(self) -> pa.RecordBatch: ...
    def __enter__(self) -> TableReader: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

@final
class Event:
    """One event of a binary log file, as ``binarrow inspect`` shows it."""

    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int:
        """Offset in the file; of the Transaction_payload event for events inside one."""
    @property
    def size(self) -> int: ...
    @property
    def type_code(self) -> int: ...
    @property
    def type_name(self) -> str: ...
    @property
    def timestamp(self) -> int:
        """Seconds since 1970 UTC; 0 for artificial events."""
    @property
    def server_id(self) -> int: ...
    @property
    def log_pos(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def info(self) -> str:
        """What the event says, in one line: table, GTID, a statement up to its first value."""
    @property
    def table(self) -> str | None:
        """``database.table`` of a Table_map or rows event."""
    @property
    def table_metadata(self) -> str | None:
        """A Table_map event's columns and key, if asked for, as ``mysqlbinlog`` prints them."""
    @property
    def data(self) -> bytes | None:
        """The event's bytes, if asked for: header, body, and the checksum where it has one."""
    def hexdump(self, start: int = 0, size: int | None = None) -> str:
        """Its bytes as ``mysqlbinlog --hexdump`` shows them, from index ``start`` of the body on.

        Raises:
            ConfigError: The bytes were not asked for.
        """
    @property
    def compressed(self) -> bool:
        """Whether the event stood inside a Transaction_payload event."""

@final
class EventReader:
    """An iterator of :class:`Event` over files."""

    def __iter__(self) -> EventReader: ...
    def __next__(self) -> Event: ...

@final
class Split:
    """A range of one file between transaction ends, for one task. Picklable through its JSON."""

    @property
    def path(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def warnings(self) -> list[str]:
        """The warnings of :func:`scan_splits` about a file without a Rotate or Stop event; in its last range."""
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> Split: ...

@overload
def read_binlog(
    source: Source | LiveLog,
    *,
    tables: str | Sequence[str] | None = None,
    exclude_tables: str | Sequence[str] | None = None,
    include: None = None,
    online_schema_change: Literal["evidence", "trust"] = "evidence",
    lower_case_table_names: Literal[0, 1, 2] | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    operations: str | Sequence[str] | None = None,
    unlogged_changes: Literal["error", "warn", "ignore"] | None = None,
    mask: Mapping[str, Literal["sha256", "null"]] | None = None,
    mask_salt: str | bytes | None = None,
    start: Position | str | datetime | None = None,
    stop: Position | str | datetime | None = None,
    layout: Literal["flat", "nested"] = "flat",
    old_value: bool = True,
    split_key_updates: bool = True,
    partial_images: Literal["null", "error"] = "null",
    envelope: str | Sequence[str] | None = None,
    envelope_prefix: str = "_",
    types: Literal["native", "spark"] | TypeOptions | None = None,
    column_names: Literal["log", "positional", "none"] = "log",
    schemas: Schemas | None = None,
    history: History | None = None,
    batch_rows: int | None = None,
    batch_bytes: int | None = None,
    batch_end: Literal["transaction"] | None = None,
    segment_bytes: int | None = None,
    threads: int | None = None,
    uncommitted: Literal["skip", "emit"] = "skip",
    statements: Literal["error", "skip"] = "error",
    skip_events: Sequence[int] | None = None,
    gaps: Literal["error", "allow"] = "error",
    verify_checksum: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> BinlogReader[ChangeBatch]:
    """Read binary log files, or what a server logs, into Arrow record batches.

    Nothing is read before the first batch is asked for.

    Args:
        source: A path, a glob, a folder, bytes, an open binary file, or several of them in log order. Paths, globs and
            folders may be URIs that pyarrow.fs or fsspec opens: ``s3://bucket/binlog.*``. There ``*`` and ``[...]`` make a
            glob, and ``?`` begins a query. A glob or a folder matches files whose names end with a number. Or a dict of names
            in the server's log to their files, in log order: ``{"binlog.000004": "txns.binlog"}``. If all files are
            consecutive files of one log, a file whose own name has no number gets the server's name from its own Rotate
            event or that of the file before it; otherwise it keeps its own name.
        tables: The tables to read: globs of ``database.table``.

            Rows of other tables are skipped and not decoded. None reads all tables. An empty list
            is a :class:`ConfigError`.
        exclude_tables: Tables to leave out: globs of ``database.table``.
        include: Items to return in addition to rows, in log order: ``"schema_change"``,
            ``"truncate"``, ``"skipped_statement"``, ``"transaction"``, ``"heartbeat"``.

            A batch ends before each item. ``"schema_change"``: statements that change tables of
            ``tables`` or their databases, as :class:`SchemaChange`. ``"truncate"``: tables that are
            emptied, as :class:`Truncate`. ``"skipped_statement"``: statements that
            ``statements="skip"`` skips, as :class:`SkippedStatement`. ``"transaction"``: the begin
            and end of every transaction, whatever its tables, as :class:`Transaction`.
            ``"heartbeat"``: a live stream's heartbeats, as :class:`Heartbeat`.
        online_schema_change: The proof that gh-ost or pt-online-schema-change swaps a table and its
            copy: ``"evidence"`` accepts only marks of the tool in the log, ``"trust"`` accepts the
            names of the tables, and leaves out the tool's own tables.

            After such a swap the table has the same rows, and the swap is one :class:`SchemaChange`
            of it with its ``tool``. The marks are gh-ost's comment in the swap itself, and the
            three triggers of pt-online-schema-change, created after the start of the read. Without
            them the swap is an ordinary rename, and the tool's tables are ordinary tables. With
            ``"trust"``, rows of tables with the tools' names (``_orders_gho``, ``_ghc``, ``_del``,
            ``_new``, ``_old``) are left out, with a warning for each table, unless ``tables`` names
            them without wildcards. A swap back is never trusted.
        lower_case_table_names: The value of the variable ``lower_case_table_names`` on the server
            that wrote the files: 0, 1 or 2.

            With 1 and 2, ``Orders`` and ``orders`` are one table: row events have its name in lower
            case, and statements (``TRUNCATE Orders``) have it as it was typed. The log does not
            contain the value; a live read gets it from the server, and a ``history`` from its
            baseline. None: not known. A table of rows with capital letters in its name then shows
            that names differ by case. Without that, a statement that names a table of ``tables`` in
            other letter case is returned with a warning by ``include``, and is a
            :class:`SchemaError` (a warning with ``"skip"``) by ``truncates``. Another value is a
            :class:`ConfigError`.
        columns: The columns to keep, by glob of ``database.table``: ``{"shop.orders": ["id",
            "total"]}``.

            Other columns are not decoded and are in no schema. The order is that of the table. If
            several globs match a table, each adds its columns; tables that none matches keep all
            columns. A column that the table does not have is a :class:`SchemaError`. Keys work
            whether or not their columns are kept, and ``present`` has a bit for each column of the
            table.
        operations: The operations to return: ``"insert"``, ``"update"``, ``"delete"``.

            They are the operations of the source: an update that changes the key is an update,
            however it is returned. Rows of other operations are skipped and not decoded. None
            returns all.
        unlogged_changes: The reaction if a foreign key's CASCADE, SET NULL or SET DEFAULT may have
            changed rows that the log does not contain (before MySQL 9.6, and in MariaDB):
            ``"error"``, ``"warn"`` or ``"ignore"``.

            The log, of later MySQL versions with ``innodb_native_foreign_keys=ON`` too, shows only
            that rows of the parent were deleted or got other keys. ``"error"``: an
            :class:`UnsupportedEventError`. ``"warn"``: a warning for each parent, and a count in
            ``stats()``. ``"ignore"``: nothing. None is ``"error"`` for a mirror
            (``truncates="error"`` or ``"emit"`` of :meth:`BinlogReader.table`) if an action is
            known to change its table; otherwise, also if the actions are not known, it is
            ``"warn"``. The actions are known from ``history`` or ``schemas``; a mirror of a live
            server queries them from the server. MariaDB's statements show which tables their
            actions can change. Parents that are not in ``tables`` count too. The same applies to a
            MERGE table, whose changes are those of the tables of its UNION under another name: they
            are known if ``history`` or ``schemas`` contains it.
        mask: Columns whose values are hidden, by glob of ``database.table.column``, in any case:
            ``{"shop.customers.email": "sha256"}``.

            ``"null"`` makes the values NULL. ``"sha256"`` replaces them by text of 64 hexadecimal
            digits; NULL stays NULL, and equal values stay equal, across tables, types and servers
            too::

                hmac.new(salt, value.encode(), "sha256").hexdigest()

            If several globs match a column, the first counts. A glob that names a table without
            wildcards and none of its columns is a :class:`SchemaError`. The hashed value is what
            ``SELECT`` prints, whatever ``types`` says: digits of numbers (``-5``, ``1.50``, without
            the zeros of ZEROFILL; of FLOAT and DOUBLE the fewest digits that give the number back,
            ``0.1``, ``1.5e20``; BIT as a number); dates and times as ``2024-02-29 10:00:00.25``,
            TIMESTAMP in UTC, zero dates too; text in UTF-8; members of ENUM and SET (their number
            if the log does not name them); JSON as MySQL prints it. Of BINARY (with the zeros at
            its end), VARBINARY, BLOB, GEOMETRY and VECTOR it is the stored bytes; of MariaDB's
            UUID, INET4 and INET6 the text with ``schemas``, otherwise the bytes. A glob that
            matches no column is reported in a warning at the end of the input: try a new glob on a
            few files before a stream that does not end. The statement of a :class:`SchemaChange` is
            not masked; it contains defaults and comments.
        mask_salt: The secret that ``"sha256"`` of ``mask`` needs: without it, nobody can find
            values by hashing guesses.

            It is not part of any ``repr``, log or message.
        start: The place at which the read starts: a :class:`Position`, ``"file:offset"``, a GTID
            set that has already been read, or a datetime with a zone.

            None starts at the beginning of the first file. With a GTID set all transactions are
            read that are not in the set. If the first file begins after such a transaction, older
            files are missing, which is a :class:`ConfigError`.
        stop: The place at which the read ends, of the same forms: transactions that end at or
            before it are read.

            None reads to the end of the last file. Of a position, only its ``base`` is used. With a
            GTID set the read ends before the first transaction that is not in the set. If the files
            end before the set is complete, newer files are missing, which is a :class:`ConfigError`
            after the last row.
        layout: The form of rows: ``"flat"`` returns one row for each row image, ``"nested"`` one
            row for each change, with the structs ``before`` and ``after``.

            A flat row has the table's columns, then the envelope. A nested row has ``_op`` (``c``,
            ``u``, ``d``), the structs ``before`` and ``after`` with the table's columns (null if
            there is no such image), then the envelope without ``_change_type``; ``_present`` is
            ``_present_before`` and ``_present_after``.
        old_value: Also return rows as they were before a change.

            Without them an update is its ``update_postimage`` alone; a ``delete`` has only the
            columns of the table's key, and NULL in the others; and an update that changes the key
            is a ``delete`` of the old key, then the ``update_postimage`` or ``insert``. The key is
            the primary key if the log or ``schemas`` contains it, otherwise the first UNIQUE key of
            NOT NULL columns in ``schemas``, otherwise the complete row.
        split_key_updates: Return an update that changes the key as a ``delete`` and an ``insert``.

            Keys are compared by their bytes. This needs complete images of both rows
            (``binlog_row_image=FULL``). Without them, or with False, the update is an
            ``update_preimage`` and an ``update_postimage``.
        partial_images: The value of columns that a row image leaves out (``binlog_row_image``
            MINIMAL or NOBLOB): ``"null"``, or ``"error"``.

            With ``"null"``, the column ``present`` of the ``envelope`` distinguishes these columns
            from columns that are NULL. ``"error"`` raises a :class:`SchemaError` if the image of an
            inserted or updated row leaves out a selected column and ``present`` is not in the
            ``envelope``.
        envelope: The columns to add to those of the table, by their names without the prefix.

            None adds ``change_type``, ``commit_version``, ``commit_timestamp`` and
            ``change_ordinal``; an empty list adds none. The others are ``gtid`` (of the commit; of
            XA COMMIT too), ``original_commit_timestamp`` (on the server that made the change; MySQL
            8 and later), ``thread_id`` (the connection that made the change, if the log contains
            it), ``xid`` (the number of the Xid event; NULL if another event commits), ``query``
            (the statement; it needs ``binlog_rows_query_log_events`` or
            ``binlog_annotate_row_events``), ``binlog_file``, ``binlog_position``, ``server_id`` and
            ``present`` (one bit for each column of the table that the image contains, or for each
            column of a given schema: see :meth:`BinlogReader.table`).
        envelope_prefix: The prefix of the names of envelope columns.
        types: The Arrow types of the columns: ``"native"``, ``"spark"``, or a :class:`TypeOptions`.

            None is ``"native"``. ``"spark"`` also lowers the defaults of ``batch_rows`` to 16 384
            and of ``batch_bytes`` to 16 MiB.
        column_names: The names of columns: ``"log"`` requires them in the log, ``"positional"``
            names columns ``@1``, ``@2``, ... if the log does not contain their names, ``"none"``
            returns no columns of the table.

            If the log contains no names, ``"log"`` raises a :class:`SchemaError`; ``schemas`` and
            ``history`` provide the names. ``"none"`` returns only the columns of the envelope and
            can read every log, for example to count changes.
        schemas: CREATE TABLE statements, for logs that do not contain the names of columns.

            They provide what the log leaves out: names, signs, members, keys, types that the log
            shows as bytes (MariaDB's UUID, INET4, INET6, VECTOR), and the digits of times in
            MariaDB's old form (``mysql56_temporal_format=OFF``). Either a dict of
            ``"database.table"`` to the output of ``SHOW CREATE TABLE``, or SQL text with ``USE``
            and ``CREATE TABLE`` statements, such as the output of ``mysqldump --no-data shop`` or
            ``mariadb-dump``; other statements are ignored. A ``Path`` is a file with such text.
            Metadata in the log takes precedence: a statement that contradicts it, because the table
            was altered since, is a :class:`SchemaError`. Servers print ``?`` for characters beyond
            U+FFFF in members of ENUM and SET: a member with one causes a warning.
        history: A history of table schemas: a :class:`binarrow.SchemaHistory`, or its URL or path.

            Each row is decoded with the schema that its table had at that position, whatever the
            schema is now. Statements in the log that change tables are followed, and stored if the
            history does not contain them yet. If the history ends before ``start``, the log between
            is read first, without its rows. A part of the log that the history does not cover and
            that cannot be read is a :class:`SchemaError`; so is a row of a table whose schema is
            not known or does not fit the log. It cannot be used together with ``schemas``.
        batch_rows: The maximum number of rows in a batch.

            None is 65 536. The two rows of an update stay together. Zero is a :class:`ConfigError`.
        batch_bytes: The approximate maximum size of a batch, in bytes.

            None is 32 MiB. Zero is a :class:`ConfigError`.
        batch_end: ``"transaction"`` also ends batches at each commit.

            None ends them at ``batch_rows``, at ``batch_bytes``, and where the schema changes.
        segment_bytes: The approximate number of bytes of log that a thread decodes at a time.

            None is 8 MiB. Smaller segments need less memory. Zero is a :class:`ConfigError`.
        threads: The number of threads that decode.

            None is one thread for each core, and one in a task of Spark. Zero is a
            :class:`ConfigError`.
        uncommitted: The rows of transactions that never committed: ``"skip"`` leaves them out,
            ``"emit"`` returns them.
        statements: The reaction to a statement that was logged as text and may change rows
            (``binlog_format`` STATEMENT or MIXED): ``"error"``, or ``"skip"``. The log does not
            contain the changed rows.

            ``"error"`` raises an :class:`UnsupportedEventError`. ``"skip"`` skips the statement;
            ``stats()`` counts these statements in ``statements_skipped``, and
            ``include="skipped_statement"`` returns each. Every statement may change rows unless it
            is known that it does not: DDL, accounts, maintenance.
        skip_events: Type codes of events to skip that this version does not decode, such as events
            of other vendors.

            Without their codes, such events are an :class:`UnsupportedEventError`. The codes of
            statements are a :class:`ConfigError`: see ``statements``.
        gaps: The reaction to files that do not follow each other: ``"error"``, or ``"allow"``.

            ``"error"`` raises a :class:`ConfigError` that names the files. If older or newer files
            are missing between the files and a GTID set in ``start`` or ``stop``, ``"allow"``
            warns.
        verify_checksum: Verify the CRC32 of every event.

            A wrong checksum is a :class:`ChecksumError`. Logs without checksums are read as they
            are.
        storage_options: Settings of the file system of URIs, if the environment does not provide
            them.

            They are keywords of pyarrow's file system (of ``S3FileSystem``: ``endpoint_override``,
            ``access_key``, ...) or of fsspec's. No message contains their values.

    Raises:
        ConfigError: The call asks for something that cannot be.
        SchemaError: A statement in a dict of ``schemas`` is not understood.
        InputError: A file cannot be read; :class:`MissingInputError` and others are kinds of it.

    Errors in the files' bytes are raised by the reader, in their place in the order.

    Examples:
        >>> for change in binarrow.read_binlog("binlog.000001", tables="shop.*"):
        ...     change.database, change.table, change.to_pyarrow()

        A log that names no columns, as MySQL writes it by default:

        >>> [(_, statement)] = cursor.execute("SHOW CREATE TABLE shop.orders").fetchall()
        >>> binarrow.read_binlog("binlog.000001", schemas={"shop.orders": statement})
        >>> binarrow.read_binlog("binlog.000001", schemas=Path("shop.sql"))
    """

@overload
def read_binlog(
    source: Source | LiveLog,
    *,
    tables: str | Sequence[str] | None = None,
    exclude_tables: str | Sequence[str] | None = None,
    include: Item | Sequence[Item] | None,
    online_schema_change: Literal["evidence", "trust"] = "evidence",
    lower_case_table_names: Literal[0, 1, 2] | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    operations: str | Sequence[str] | None = None,
    unlogged_changes: Literal["error", "warn", "ignore"] | None = None,
    mask: Mapping[str, Literal["sha256", "null"]] | None = None,
    mask_salt: str | bytes | None = None,
    start: Position | str | datetime | None = None,
    stop: Position | str | datetime | None = None,
    layout: Literal["flat", "nested"] = "flat",
    old_value: bool = True,
    split_key_updates: bool = True,
    partial_images: Literal["null", "error"] = "null",
    envelope: str | Sequence[str] | None = None,
    envelope_prefix: str = "_",
    types: Literal["native", "spark"] | TypeOptions | None = None,
    column_names: Literal["log", "positional", "none"] = "log",
    schemas: Schemas | None = None,
    history: History | None = None,
    batch_rows: int | None = None,
    batch_bytes: int | None = None,
    batch_end: Literal["transaction"] | None = None,
    segment_bytes: int | None = None,
    threads: int | None = None,
    uncommitted: Literal["skip", "emit"] = "skip",
    statements: Literal["error", "skip"] = "error",
    skip_events: Sequence[int] | None = None,
    gaps: Literal["error", "allow"] = "error",
    verify_checksum: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> BinlogReader[Change]: ...
def read_split(
    split: Split,
    *,
    options: Mapping[str, Any] | None = None,
) -> BinlogReader:
    """Read one range that :func:`scan_splits` made; ``options`` are keywords of :func:`read_binlog`."""

def scan_splits(
    path: str,
    *,
    target_bytes: int = 64 << 20,
    place: int = 1,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Split]:
    """Cut one file, at a path or a URI, into ranges at transaction ends, by headers. ``place``: its place in its list, from 1."""

def link_splits(
    splits: Sequence[Split],
    *,
    gaps: Literal["error", "allow"] = "error",
    history: History | None = None,
    tables: str | Sequence[str] | None = None,
    skip_events: Sequence[int] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Split]:
    """Give every range what stands before it: XA transactions, structures of tables; ``splits`` in log order.

    Args:
        splits: What :func:`scan_splits` gave, all files' together.
        gaps: ``"allow"`` takes files that do not follow each other.
        history: As in :func:`read_binlog`: it is followed up to the end here, and every range carries the structures
            of its tables, so that :func:`read_split` needs no history.
        tables: Whose structures, as ``database.table`` globs. None for all tables: ranges are larger then.
        skip_events: As in :func:`read_binlog`.
        storage_options: Likewise: with ``history`` the files are read.

    Raises:
        ConfigError: A file's Rotate event names another next file, and ``gaps`` is ``"error"``.
        SchemaError: The history does not cover the files, and cannot be followed to them.
    """

def inspect(
    source: Source,
    *,
    start: Position | str | datetime | None = None,
    stop: Position | str | datetime | None = None,
    tables: str | Sequence[str] | None = None,
    event_types: str | Sequence[str] | None = None,
    queries: bool = False,
    table_metadata: bool = False,
    data: bool = False,
    verify_checksum: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> EventReader:
    """Every event, as it stands in the files; events inside a Transaction_payload event too.

    Args:
        source: As in :func:`read_binlog`. Streams are read as they come.
        start: The first event to give: ``"file:offset"``, an offset in the only file, or a time.
        stop: The first event not to give any more, likewise.
        tables: Only Table_map and rows events of these tables: ``database.table``, with ``*``.
        event_types: Only events of these types, as ``type_name`` has them, in any case, with ``*``.
        queries: Put whole statements into ``info``. They may hold values of rows.
        table_metadata: Fill ``Event.table_metadata``.
        data: Fill ``Event.data``. The bytes hold values of rows.
        verify_checksum: Check the CRC32 of every event.
        storage_options: As in :func:`read_binlog`.

    Raises:
        ConfigError: There is no such file, place or event type.
    """

def event_keywords(event_format: EventFormat, *, query: bool = False) -> dict[str, Any]:
    """Keywords of :func:`read_binlog` and of streams that give batches for :meth:`ChangeBatch.to_events`.

    ``layout``, ``types`` and ``envelope``; others, such as ``tables`` and ``old_value``, stand beside them.

        for change in binarrow.read_binlog("binlog.000001", **binarrow.event_keywords("debezium-json")):
            file.write(change.to_events("debezium-json", source_name="shop"))

    Args:
        event_format: Whose events.
        query: Debezium's ``source.query``: the statement, where the server logs it.
    """

def nested_json_schema(
    *,
    envelope: str | Sequence[str] | None = None,
    envelope_prefix: str = "_",
    types: Literal["native", "spark"] | TypeOptions | None = None,
) -> pa.Schema:
    """The schema of what :meth:`BinlogReader.nested_json` gives.

    Args:
        envelope: The columns to add to those of the table, by their names without the prefix.
        envelope_prefix: The prefix of the names of envelope columns.
        types: The Arrow types of the columns: ``"native"``, ``"spark"``, or a :class:`TypeOptions`.
    """

def infer_schema(
    source: Source | Server,
    table: str,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    mask: Mapping[str, Literal["sha256", "null"]] | None = None,
    mask_salt: str | bytes | None = None,
    layout: Literal["flat", "nested"] = "flat",
    envelope: str | Sequence[str] | None = None,
    envelope_prefix: str = "_",
    types: Literal["native", "spark"] | TypeOptions | None = None,
    column_names: Literal["log", "positional", "none"] = "log",
    schemas: Schemas | None = None,
    history: History | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> pa.Schema:
    """The schema of a table's batches, from its first Table_map event in the files.

    Of a :class:`binarrow.Server` it is that of the table as it is now, in the types that its log
    gives: with ``schemas`` or ``history`` those that the log itself does not tell too.

    Args:
        source: As in :func:`read_binlog`, or a server.
        table: ``database.table``.
        columns: The columns to keep, by glob of ``database.table``: ``{"shop.orders": ["id",
            "total"]}``.
        mask: Columns whose values are hidden, by glob of ``database.table.column``, in any case:
            ``{"shop.customers.email": "sha256"}``.
        mask_salt: The secret that ``"sha256"`` of ``mask`` needs: without it, nobody can find
            values by hashing guesses.
        layout: The form of rows: ``"flat"`` returns one row for each row image, ``"nested"`` one
            row for each change, with the structs ``before`` and ``after``.
        envelope: The columns to add to those of the table, by their names without the prefix.
        envelope_prefix: The prefix of the names of envelope columns.
        types: The Arrow types of the columns: ``"native"``, ``"spark"``, or a :class:`TypeOptions`.
        column_names: The names of columns: ``"log"`` requires them in the log, ``"positional"``
            names columns ``@1``, ``@2``, ... if the log does not contain their names, ``"none"``
            returns no columns of the table.
        schemas: CREATE TABLE statements, for logs that do not contain the names of columns.
        history: A history of table schemas: a :class:`binarrow.SchemaHistory`, or its URL or path.
        storage_options: Settings of the file system of URIs, if the environment does not provide
            them.

    Raises:
        SchemaError: The files do not mention the table, or not its columns' names.
        ConfigError: The server's log will not name columns, and nothing else does.
    """

def expand_source(source: Source, *, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """The files that a path, a URI, a glob or a directory stands for, in log order; ``*.index`` left out."""

def is_uri(text: str) -> bool:
    """Whether it is a URI, or a chain of them as fsspec has it, and no path of this system."""

def shown_uri(uri: str) -> str:
    """The URI without its query and password: for messages."""

def set_hooks(
    *,
    find_files: Callable[[str, Mapping[str, Any] | None], tuple[str, list[tuple[str, int | None]]]],
    open_file: Callable[[str, Mapping[str, Any] | None], tuple[IO[bytes], int | None]],
    open_history: Callable[[_Path], SchemaHistory],
) -> None:
    """Sets the functions of the package that this module calls. It imports nothing of the package.

    Args:
        find_files: Returns the files that a URI stands for: a kind (``path``, ``folder``, ``glob``,
            ``file``), and names with sizes.
        open_file: Opens the file at a URI, and returns its size if it is known.
        open_history: Opens the history at a URL or path.
    """

@final
class NativeServer:
    """A connection to a server; :class:`binarrow.Server` has one."""

    @property
    def flavor(self) -> str:
        """``mysql`` or ``mariadb``."""
    @property
    def version(self) -> str:
        """What the server calls itself."""
    @property
    def server_id(self) -> int:
        """The server's ``server_id``."""
    @property
    def id(self) -> str:
        """``server_uuid``, else MariaDB's ``server_uid``, else the ``server_id``."""
    @property
    def tls_version(self) -> str | None:
        """``TLSv1.3`` or ``TLSv1.2``; None without TLS."""
    @property
    def connection_id(self) -> int:
        """The connection's number on the server."""
    @property
    def endpoint(self) -> str:
        """Where it is connected to."""
    @property
    def is_local(self) -> bool:
        """Whether the connection stays on this machine."""
    def position(self) -> Position:
        """Where the log ends now."""
    def binlogs(self) -> list[tuple[str, int]]:
        """Names and sizes of the log's files."""
    def database_filters(self) -> list[str]:
        """``binlog_do_db`` and ``binlog_ignore_db``, as far as they are set."""
    def query(self, sql: str) -> list[list[str | None]]:
        """The rows of one statement, as text; None is NULL."""
    def close(self) -> None:
        """Ends the connection."""

@final
class ConnectionSpec:
    """Where servers are and who asks; :class:`binarrow.Server` has one.

    Of certificates and keys ``bytes`` are the PEM text, all else the path of a file.
    """

    def __new__(
        cls,
        endpoints: Sequence[tuple[str | None, int, _Path | None]],
        user: str,
        secret: Callable[[], bytes],
        *,
        tls: str | None = None,
        tls_ca: _Path | bytes | None = None,
        tls_cert: _Path | bytes | None = None,
        tls_key: _Path | bytes | None = None,
        tls_server_name: str | None = None,
        compression: str | None = None,
        allow_public_key_retrieval: bool = False,
        server_public_key: _Path | bytes | None = None,
        allow_clear_password: bool = False,
        connect_timeout: float = 10.0,
        read_timeout: float = 60.0,
    ) -> ConnectionSpec: ...
    def open(self) -> NativeServer:
        """Connects to the first server that answers."""
    def schemas(
        self,
        *,
        tables: str | Sequence[str] | None = None,
        exclude_tables: str | Sequence[str] | None = None,
    ) -> TableSchemas:
        """Those of the tables of the first server that answers."""
    def log(
        self,
        start: Position | str | datetime,
        *,
        ends: bool,
        server_id: int | None,
        heartbeat: float,
        reconnect: float | None,
        max_latency: float,
    ) -> LiveLog:
        """What the servers log, from ``start`` on; see :meth:`binarrow.Server.stream`."""
    def range(
        self,
        start: Position,
        stop: Position,
        *,
        history_part: str | None = None,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 300.0,
        max_latency: float = 0.5,
    ) -> LiveLog:
        """All between two positions; see :meth:`binarrow.Server.range`."""
    def range_end(
        self,
        start: Position | str,
        *,
        stop: Position | str | None = None,
        max_bytes: int | None = None,
        history: History | None = None,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 300.0,
        skip_events: Sequence[int] | None = None,
    ) -> Position:
        """Where a part of the log ends; see :meth:`binarrow.Server.range_end`."""
    def file_start(
        self,
        name: str,
        *,
        version_shift: int = 0,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 300.0,
    ) -> Position:
        """Where a file begins; see :meth:`binarrow.Server.file_start`."""
    def stop(self) -> None:
        """Ends :meth:`range_end` and :meth:`file_start` of other threads."""

@final
class TableSchemas:
    """The structures of a server's tables at one place of its log: ``Server.schemas``."""

    @property
    def script(self) -> str:
        """CREATE DATABASE, USE and CREATE TABLE statements, as SHOW CREATE TABLE prints them."""
    @property
    def position(self) -> Position:
        """Where the structures are so."""
    @property
    def tables(self) -> int:
        """How many tables the script has."""
    @property
    def lower_case_table_names(self) -> int:
        """The server's variable of this name: 0 where names in other cases are other names."""

@final
class NativeHistory:
    """The structures of tables over time; :class:`binarrow.SchemaHistory` is its face."""

    @staticmethod
    def in_memory(source: str) -> NativeHistory:
        """One that is kept nowhere."""
    @staticmethod
    def in_file(path: _Path, source: str) -> NativeHistory:
        """One in an SQLite database."""
    @staticmethod
    def on_server(spec: ConnectionSpec, database: str, source: str) -> NativeHistory:
        """One in a database of a server."""
    @property
    def source(self) -> str:
        """Its name in the store."""
    @property
    def place(self) -> str:
        """Where it is kept, for messages."""
    def position(self) -> Position | None:
        """Where the view stands."""
    def covered(self) -> list[tuple[Position, Position, str | None]]:
        """The ranges that it knows: from, to, the server's id."""
    def baseline_of_server(
        self,
        spec: ConnectionSpec,
        *,
        tables: str | Sequence[str] | None = None,
        exclude_tables: str | Sequence[str] | None = None,
    ) -> Position:
        """Takes a server's tables as they are now in."""
    def baseline_of_sql(
        self,
        text: str | bytes | PathLike[str],
        position: Position | str,
        *,
        tables: str | Sequence[str] | None = None,
        exclude_tables: str | Sequence[str] | None = None,
        server: str | None = None,
    ) -> Position:
        """Takes the tables of a script in."""
    def apply(
        self,
        position: Position | str,
        database: str,
        ddl: str,
        *,
        timestamp: int | None = None,
        sql_mode: str | int | None = None,
        charset: str | None = None,
        default_collation: str | None = None,
        server: str | None = None,
    ) -> dict[str, Any]:
        """Takes a statement in; what it did, as the fields of a change."""
    def find(
        self, database: str, table: str, position: Position | str | datetime | None = None
    ) -> dict[str, Any] | None:
        """A table, as the fields of a TableSchema."""
    def tables(
        self, position: Position | str | datetime | None = None
    ) -> list[tuple[str, str | None]]:
        """All tables, each with why it is unknown."""
    def rollback(self, position: Position | str | datetime) -> None:
        """Moves the view."""
    def checkpoint(self) -> None:
        """Stores all tables as a whole."""
    def snapshot(self) -> list[tuple[str, str]]:
        """A script for each database."""
    def prune(self, before: Position | str | datetime) -> None:
        """Forgets what was before."""
    def changes(
        self,
        start: Position | str | datetime | None = None,
        stop: Position | str | datetime | None = None,
    ) -> HistoryChanges:
        """What it holds."""
    def part(
        self,
        start: Position | str | datetime,
        stop: Position | str | datetime,
        tables: str | Sequence[str] | None = None,
    ) -> str:
        """The tables at ``start``, as text for :meth:`ConnectionSpec.range`."""
    def close(self) -> None:
        """Lets go of the store."""

@final
class HistoryChanges:
    """What a history holds, one after the other, as the fields of a change."""

    def __iter__(self) -> HistoryChanges: ...
    def __next__(self) -> dict[str, Any]: ...

@final
class LiveLog:
    """What a server logs, for :func:`read_binlog`; :meth:`binarrow.Server.stream` makes it."""
