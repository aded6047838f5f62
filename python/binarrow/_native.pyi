"""The extension module, written in Rust. Import from ``binarrow``, not from this module."""

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

STORED_VERSIONS: dict[str, int]
"""The version of each form that this module stores."""

class _ArrowSchemaExportable(Protocol):
    def __arrow_c_schema__(self) -> object: ...

_Path: TypeAlias = str | PathLike[str]
Sql: TypeAlias = str | bytes | bytearray | PathLike[str]
"""SQL as text, as bytes (a dump contains the unchanged bytes of binary defaults), or in a file."""

Schemas: TypeAlias = (
    Sql
    | TableSchema
    | TableSchemas
    | Mapping[str, Sql | TableSchema]
    | Sequence[Sql | TableSchema | TableSchemas]
)
"""CREATE TABLE statements: a dump or schemas of tables, several of them, or a dict of ``database.table`` to one statement."""

History: TypeAlias = SchemaHistory | str | PathLike[str]
"""A history of table schemas, or its URL or path."""

Source: TypeAlias = (
    _Path
    | bytes
    | IO[bytes]
    | Sequence[_Path | bytes | IO[bytes]]
    | Mapping[str, _Path | bytes | IO[bytes]]
)
"""One input, or several in log order: a path, a glob, a directory, bytes, or an open binary file object."""

EventFormat: TypeAlias = Literal["ticdc-json", "debezium-json"]
"""The format of change events."""

MessagePart: TypeAlias = str | tuple[str, str | None]
"""A part of a message: text, or an option, as a keyword and a value or None."""

class BinarrowError(Exception):
    """Base class of all errors that binarrow raises.

    Attributes:
        file: The file that contains the bytes, if known.
        offset: The byte offset of the event in that file, if known.
        event_type: The event's documented name (``Table_map``, ``Write_rows``, ...), if known.
        table: The database and the name of the table, if the error concerns only this table. A read that leaves
            out the table does not have this error.
        code: The server's number of the error, if a server reported it.
        sqlstate: The SQLSTATE of the error, if a server reported it.
        parts: The message in parts: text, and options as tuples of a keyword and a value or None.

    Examples:
        >>> try:
        ...     reader = binarrow.read_binlog("binlog.000099")
        ... except binarrow.BinarrowError as error:
        ...     print(type(error).__name__, error)
        MissingInputError cannot open binlog.000099: No such file or directory (os error 2)
    """

    file: str | None
    offset: int | None
    event_type: str | None
    table: tuple[str, str] | None
    code: int | None
    sqlstate: str | None
    parts: tuple[MessagePart, ...]

class MalformedBinlogError(BinarrowError, ValueError):
    """The bytes do not have the format of a binary log."""

class ChecksumError(MalformedBinlogError):
    """An event's CRC32 does not match its bytes."""

class UnsupportedEventError(BinarrowError):
    """The input is valid, but this version cannot decode it: an encrypted file, a vendor's event, an incident."""

class SchemaError(BinarrowError):
    """The schema of a table is not known, or does not fit the request."""

class InputError(BinarrowError, OSError):
    """A file or stream could not be read."""

class MissingInputError(InputError, FileNotFoundError):
    """There is no such file."""

class ForbiddenInputError(InputError, PermissionError):
    """The file may not be read."""

class DirectoryInputError(InputError, IsADirectoryError):
    """The path is a directory, not a file."""

class InternalError(BinarrowError, RuntimeError):
    """A defect of binarrow; please report it."""

class ConfigError(BinarrowError, ValueError):
    """A keyword or option is not valid, or does not fit the others or the input."""

class LaterVersionError(ConfigError):
    """A later version of binarrow has stored what is read, such as a position, a history or the state of a target."""

class AuthenticationError(BinarrowError, PermissionError):
    """The server refuses the login."""

class TlsError(BinarrowError):
    """There is no trusted TLS connection. The message names the certificate or setting that is missing."""

class ServerError(BinarrowError):
    """The server refuses a statement. ``code`` is the server's error number, ``sqlstate`` the SQLSTATE."""

class PositionPurgedError(BinarrowError):
    """The server no longer has the log after the position, and no archive contains it."""

class ServerIdentityError(BinarrowError):
    """A position or an archive is from another server, or another reader uses the same server id."""

class ConnectionLostError(BinarrowError, ConnectionError):
    """The connection could not be opened, or was lost. A retry may succeed."""

class CancelledError(BinarrowError):
    """The work was cancelled, because another thread closed the server or the reader."""

class BinarrowWarning(UserWarning):
    """Base class of the warnings about a log. They are not errors.

    Attributes:
        parts: The message in parts, like those of a BinarrowError.
    """

    parts: tuple[MessagePart, ...]

class UnmatchedPatternWarning(BinarrowWarning):
    """Nothing in the input matches a pattern of tables or columns."""

@final
class TypeOptions:
    """The conversion of MySQL's types to Arrow types, for the keyword ``types``. Frozen, hashable, picklable.

    The profile ``"native"`` uses these Arrow types. Numbers: signed and unsigned integers of 8, 16, 32 and 64 bits
    (32 for MEDIUMINT), float32 and float64, decimal128(p, s), or decimal256 above 38 digits, bool for BIT(1), and
    uint64 for longer BIT. Times: date32 for DATE, timestamp[us] for DATETIME, timestamp[us, UTC] for TIMESTAMP,
    duration[us] for TIME, and int16 for YEAR. Others: string in UTF-8 for text, JSON and SET, binary for bytes and
    geometries, a dictionary of strings for ENUM, and a list of float32 for VECTOR. Spark has no unsigned integers,
    no duration and no dictionary: the profile ``"spark"`` uses the next larger integer type, int64 and string
    instead.

    With ``json="diff"``, if the log contains only the changes of a document (MySQL's
    ``binlog_row_value_options=PARTIAL_JSON``), the value is these changes, as text::

        {"$diff":[{"op":"replace","path":"$.age","value":26}, ...]}

    Operations are ``replace``, ``insert`` and ``remove`` (without ``value``). Apply them in their order to the
    previous document. A diff begins with the nine bytes ``{"$diff":``. No complete document begins with them,
    because complete documents have the server's format, with a space after each colon. An empty list (``[]``)
    means that the document has not changed. The ``insert`` of an update that changes the key contains the complete
    document. Without this option, the changes are applied to the row's image before the update. If that image does
    not contain the document (``binlog_row_image=MINIMAL``), this is an error.

    Args:
        profile: The types to start from: ``"native"``, Arrow's closest types, or ``"spark"``, those
            that Spark can read.

            ``"spark"`` widens unsigned integers, returns TIME as microseconds, and uses no
            dictionaries.
        zero_dates: Dates that are zero (``0000-00-00``), partial or impossible: ``"null"``,
            ``"error"``, or ``"text"``, which makes the column a string.

            ``"null"`` counts them in ``stats()`` and warns. ``"error"`` raises an error that names
            the column.
        json: The form of JSON columns: ``"text"`` as the server prints it, ``"variant"``,
            ``"bytes"`` as stored, or ``"diff"``: the changes of a document, if the log contains
            only these.
        time: The form of TIME columns: ``"duration"``, ``"micros"`` (int64), ``"interval"``, or
            ``"text"``.

            None is ``"duration"``, and ``"micros"`` in the profile ``"spark"``.
        geometry: The form of GEOMETRY columns: ``"ewkb"``, ``"wkb"`` (without the SRID), or
            ``"mysql"`` as stored.
        enum: The form of ENUM columns: ``"dictionary"``, ``"text"``, or ``"ordinal"``, the number
            of the member.

            None is ``"dictionary"``, and ``"text"`` in the profile ``"spark"``.
        invalid_text: Text that is not valid in its character set: ``"error"``, ``"replace"`` by
            U+FFFD, or ``"binary"``, which makes the column binary.

    Raises:
        ConfigError: A value is not one of these, or Spark cannot read the type (``enum="dictionary"``).

    Examples:
        >>> types = binarrow.TypeOptions(enum="text")
        >>> batch = next(binarrow.read_binlog("binlog.000001", tables="shop.orders", types=types))
        >>> batch.schema.field("status").type
        DataType(string)
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
    def profile(self) -> str:
        """The type table: ``"native"`` or ``"spark"``."""
    @property
    def zero_dates(self) -> str:
        """The conversion of zero dates."""
    @property
    def json(self) -> str:
        """The form of JSON values."""
    @property
    def time(self) -> str:
        """The form of TIME values."""
    @property
    def geometry(self) -> str:
        """The form of geometry values."""
    @property
    def enum(self) -> str:
        """The form of ENUM values."""
    @property
    def invalid_text(self) -> str:
        """The treatment of text that is not valid in its character set."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Position:
    """A place in the log at which a reader starts or resumes. Frozen, hashable, picklable.

    Batches, items, readers and streams have a position, and :meth:`Server.position` returns one. A position has
    two parts. The base is the end of a transaction (a file and a byte offset). The other part lists the tables of
    which changes after the base were delivered, each with the last of these changes. A reader that starts at the
    position reads from the base and leaves out the rows that were delivered, so no row is lost or repeated. The
    second reader may use other threads, batch limits, columns and operations. A table that the first reader did
    not read is read from the base. ``str()``, ``stop=``, table histories and Spark's offsets use only the base.

    The result of :meth:`Server.position` may be only a GTID set: ``file`` is then empty and ``offset`` is 0.

    Positions of one server are ordered: ``<`` compares the file's number and the offset, or GTID sets if both
    positions are only GTID sets. Some positions have no order, and ``<`` raises a ConfigError (a ValueError):
    positions of different servers, GTID sets of which none contains the other, and positions with tables in
    ``ahead``.

    Args:
        file: The server's name of the file, such as ``binlog.000042``.
        offset: The byte offset of an event in the file: the end of a transaction, or 4 for the beginning of the file.

    Raises:
        ConfigError: The file has no name.

    Examples:
        >>> reader = binarrow.read_binlog("binlog.000001")
        >>> stored = next(reader).position.to_json()
        >>> rest = binarrow.read_binlog("binlog.000001", start=binarrow.Position.from_json(stored))

        >>> binarrow.Position("binlog.000009", 4) < binarrow.Position("binlog.000010", 4)
        True
    """

    def __new__(cls, file: str, offset: int) -> Position: ...
    @property
    def file(self) -> str:
        """The server's name of the file, such as ``binlog.000042``."""
    @property
    def offset(self) -> int:
        """The byte offset of the next event in the file."""
    @property
    def server(self) -> str | None:
        """The identity of the server: its ``server_uuid``, MariaDB's ``server_uid``, or else its ``server_id``. None for positions in files."""
    @property
    def gtid_set(self) -> str | None:
        """The GTIDs of all transactions before the base, as the server prints them; None if they are not known."""
    @property
    def file_number(self) -> int | None:
        """The number at the end of the file's name: 42 for ``binlog.000042``. None if the name has no number."""
    @property
    def file_created(self) -> int | None:
        """The time at which the file was created, in seconds since 1970 UTC, if known. It is not compared.

        A reader that resumes at the position uses this time to detect that the log was reset.
        """
    @property
    def by_gtid(self) -> bool:
        """True if a reader must resume by GTID on the same server too, instead of at the file and offset."""
    @property
    def version_shift(self) -> int:
        """The number that is added to the number of the file in ``_commit_version``.

        It is not 0 after a failover, so that versions increase on the new server too.
        """
    @property
    def visible_to_select(self) -> bool | None:
        """True if a SELECT that starts after the position was read sees all transactions before the position.

        False if the server cannot guarantee this: see :meth:`Server.position`. None for positions of batches and for
        stored positions. It is neither stored nor compared.
        """
    @property
    def base(self) -> Position:
        """The position without ``ahead``. A reader that starts there returns the rows after it again."""
    @property
    def ahead(self) -> tuple[str, ...]:
        """The tables (``database.table``) that have changes delivered after the base, sorted."""
    @property
    def loading(self) -> tuple[str, ...] | None:
        """The tables (``database.table``) of an initial load whose rows are not all loaded yet.

        None outside an initial load. While it is an empty tuple, all rows were delivered, but not yet all changes
        up to the point at which the rows are consistent. Only :meth:`Server.stream` continues at a position inside
        a load.
        """
    def with_load(self, tables: str | Sequence[str], *, where: str | None = None) -> Position:
        """Returns the position at which a stream also loads tables, again or for the first time.

        The stream continues with the changes, and returns the existing rows of the tables as inserts between them, as in
        an initial load. Rows that the server no longer has are not deleted::

            checkpoint.save(checkpoint.load().with_load("shop.orders"))

        Args:
            tables: The tables, as ``database.table``. The stream's ``tables`` must select them. They need a key.
            where: A condition in SQL that selects the rows to load. The server executes the text unchanged: do not
                build it from input that you do not trust. The position contains the condition.

        Raises:
            ConfigError: The position is only a GTID set, or a name is not ``database.table``.
        """
    def without_load(self) -> Position:
        """Returns the position without its load: a stream that starts there returns only the changes.

        Examples:
            >>> position = binarrow.Position("binlog.000002", 4).with_load("shop.orders")
            >>> position.loading, position.without_load().loading
            (('shop.orders',), None)
        """
    def replace(
        self,
        *,
        server: str | None = ...,
        file: str = ...,
        offset: int = ...,
        file_created: int | None = ...,
        gtid_set: str | None = ...,
        by_gtid: bool = ...,
        version_shift: int = ...,
    ) -> Position:
        """Returns a copy with other fields.

        Raises:
            ConfigError: The result is not a position.
        """
    @staticmethod
    def after_gtids(gtid_set: str) -> Position:
        """Returns a position that is only a GTID set: the transactions that were read.

        Raises:
            ConfigError: The text is not a GTID set.
        """
    def __lt__(self, other: Position, /) -> bool: ...
    def __le__(self, other: Position, /) -> bool: ...
    def __gt__(self, other: Position, /) -> bool: ...
    def __ge__(self, other: Position, /) -> bool: ...
    def to_json(self) -> str:
        """Returns the position as canonical JSON, to be stored. Equal positions have equal texts."""
    @staticmethod
    def from_json(text: str) -> Position:
        """Returns the position that ``to_json`` stored, in this version or an earlier one.

        Raises:
            ConfigError: The text is not a stored position.
            LaterVersionError: A later version of binarrow wrote it.
        """
    def _repr_html_(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ChangeBatch:
    """Changes of one table, as one Arrow record batch. :class:`BinlogReader` and :class:`Stream` return it.

    Other libraries read it without a copy, by Arrow's C data interface. ``len()`` is the number of rows.

    Examples:
        >>> batch = next(binarrow.read_binlog("binlog.000001", tables="shop.orders"))
        >>> batch.database, batch.table
        ('shop', 'orders')
        >>> batch.to_pyarrow().column("_change_type")[0]
        <pyarrow.StringScalar: 'insert'>
    """

    @property
    def database(self) -> str:
        """The database of the table."""
    @property
    def table(self) -> str:
        """The name of the table, without the database."""
    @property
    def num_rows(self) -> int:
        """The number of rows. An update may be two rows."""
    @property
    def position(self) -> Position:
        """The position after this batch: a reader that starts there returns all later changes, each once.

        It is computed when the property is read.
        """
    @property
    def schema(self) -> pa.Schema:
        """The columns of the table, then those of the envelope.

        By default the envelope is ``_change_type`` (string), ``_commit_version`` (int64), ``_commit_timestamp``
        (timestamp[us, UTC]) and ``_change_ordinal`` (int64). :class:`TypeOptions` contains the types of the table's columns.
        """
    @property
    def table_schema(self) -> TableSchema:
        """The known structure of the table at the time when the changes were logged: see :class:`TableSchema`.

        It contains all columns of the table, also those that ``columns`` does not select, and MariaDB's hidden
        columns of long unique keys.
        """
    def to_pyarrow(self) -> pa.RecordBatch:
        """Returns the rows as a ``pyarrow.RecordBatch``, without a copy."""
    def to_events(
        self,
        event_format: EventFormat,
        *,
        source_name: str = "binarrow",
        processed_ms: int | None = None,
    ) -> bytes:
        """Returns the changes as events of another tool: one JSON object per line, in UTF-8.

        The batch must have been read with :func:`event_keywords`.

        ``"debezium-json"`` is the event value of Debezium's connectors for MySQL and MariaDB with default
        settings, without its schema. Decimals and bytes are in base64, DATE is in days, TIME is in microseconds,
        TIMESTAMP is in ISO 8601 in UTC, and BIGINT UNSIGNED is a signed long. DATETIME is in milliseconds, or in
        microseconds if it has more than three fractional digits. An update that changes the key is a delete and a
        create; there are no tombstones.

        ``"ticdc-json"`` is the row changed event of TiCDC as its log prints it. Types are MySQL's codes, and
        strings and bytes are in base64. ``flag`` is the sum of 1 binary, 2 handle key, 4 generated, 8 primary key,
        16 unique key, 32 multiple key, 64 nullable, 128 unsigned. ``commit-ts`` is ``_commit_version``, which
        shows the order of commits, and not their time. With ``old_value=False``, a delete contains only its key;
        other columns are null.

        Args:
            event_format: The tool whose events are written.
            source_name: Debezium's ``source.name``, the logical name of the server.
            processed_ms: Debezium's ``ts_ms``, in milliseconds since 1970; the default is the current time.

        Raises:
            ConfigError: The batch was not read with these keywords.

        Examples:
            >>> keywords = binarrow.event_keywords("debezium-json")
            >>> batch = next(binarrow.read_binlog("binlog.000001", **keywords))
            >>> batch.to_events("debezium-json", source_name="shop")
            b'{"before":null,"after":{"sku":"SKU-00001",...
        """
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def _repr_html_(self) -> str: ...
    def __len__(self) -> int: ...

@final
class SchemaChange:
    """A statement that changed tables or a database: an item of ``include="schema_change"``. Frozen; its ``repr`` omits the statement.

    The statement is the text in the log. It may contain a password, for example in ``CONNECTION=`` of a FEDERATED table.
    A :class:`SchemaHistory` stores ``'***'`` instead of the password.

    Examples:
        >>> for change in binarrow.read_binlog("binlog.000002", include="schema_change"):
        ...     if isinstance(change, binarrow.SchemaChange):
        ...         print(change.kind, change.tables)
        alter ('shop.orders',)
    """

    @property
    def kind(self) -> Literal["create", "alter", "drop", "rename", "truncate"]:
        """The effect of the statement.

        Statements about indexes and partitions are ``alter``, and so is the swap at the end of an online schema change.
        ``truncate`` is returned only if ``include`` does not contain ``"truncate"``.
        """
    @property
    def database(self) -> str:
        """The database that the statement creates, changes or drops. For tables, the database of the first table."""
    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the statement changes, as ``database.table``: for a rename the old and new names, for a database none."""
    @property
    def statement(self) -> str:
        """The text in the log."""
    @property
    def tool(self) -> Literal["gh-ost", "pt-online-schema-change"] | None:
        """The tool whose online schema change this statement completes."""
    @property
    def changes_rows(self) -> bool:
        """True if the tables may have other rows afterwards, or other values in columns that they had before.

        The log contains no row events for this. A copy of the tables must be emptied or read again. False if the
        rows do not change, apart from columns that are added, removed or renamed. With a ``history``, the
        structures before the statement are taken into account; without one, more statements count as changes of
        rows.
        """
    @property
    def renames(self) -> list[tuple[str, str]]:
        """The old and the new name of each table that the statement renames, as ``database.table``, in its order."""
    @property
    def renamed_columns(self) -> list[tuple[str, str]]:
        """The old and the new name of each column that an ALTER TABLE renames, in lower case."""
    @property
    def position(self) -> Position:
        """The position at which to resume after the statement; for ``CREATE TABLE ... SELECT``, before the statement and its rows."""
    @property
    def commit_version(self) -> int:
        """The place of the statement in commit order, comparable with ``_commit_version`` of rows."""
    @property
    def commit_timestamp(self) -> datetime:
        """The time of the statement, in UTC."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Truncate:
    """A table was emptied, by TRUNCATE or, for a MEMORY table, by the start of its server. Frozen.

    It is an item of ``include="truncate"``.

    Examples:
        >>> for change in binarrow.read_binlog("binlog.000001", include="truncate"):
        ...     if isinstance(change, binarrow.Truncate):
        ...         print("delete all rows of", change.database, change.table)
    """

    @property
    def database(self) -> str:
        """The database of the table."""
    @property
    def table(self) -> str:
        """The name of the table, without the database."""
    @property
    def position(self) -> Position:
        """The position at which to resume after it."""
    @property
    def commit_version(self) -> int:
        """The place of the statement in commit order, comparable with ``_commit_version`` of rows."""
    @property
    def commit_timestamp(self) -> datetime:
        """The time of the statement, in UTC."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class SkippedStatement:
    """A statement that may have changed rows and was logged as text. Frozen; its ``repr`` omits the statement.

    It is an item of ``include="skipped_statement"`` with ``statements="skip"``. With ``statements="error"``, such
    a statement raises an :class:`UnsupportedEventError`. The log does not contain the changed rows, and does not
    always name the tables.

    Examples:
        >>> keywords = {"include": "skipped_statement", "statements": "skip"}
        >>> for change in binarrow.read_binlog("binlog.000001", **keywords):
        ...     if isinstance(change, binarrow.SkippedStatement):
        ...         print("rows are missing after", change.position)
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
    def commit_version(self) -> int:
        """The place of the statement in commit order, comparable with ``_commit_version`` of rows."""
    @property
    def commit_timestamp(self) -> datetime:
        """The time of the statement, in UTC."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class UnloggedChange:
    """A change of rows that may have changed rows of other tables, which the log does not contain. Frozen.

    It is an item of ``include="unlogged_change"``, and replaces the error or the warning of ``unlogged_changes``.
    Before MySQL 9.6, and in MariaDB, the actions CASCADE, SET NULL and SET DEFAULT of foreign keys are not logged.
    Changes of a MERGE table are logged without the names of the tables of its UNION. There is an item for each
    rows event of the table, or in MariaDB for each statement. An item can come before or after rows of its
    transaction. A read that continues at a position before the end of the transaction returns the item again.
    After the transaction, read the rows of ``changed_tables`` again.

    Source: https://dev.mysql.com/doc/refman/8.4/en/create-table-foreign-keys.html

    Examples:
        >>> for change in binarrow.read_binlog("binlog.000001", include="unlogged_change"):
        ...     if isinstance(change, binarrow.UnloggedChange):
        ...         print("copy again:", change.changed_tables)
    """

    @property
    def database(self) -> str:
        """The database of the table whose changed rows are in the log."""
    @property
    def table(self) -> str:
        """The name of the table whose changed rows are in the log, without the database."""
    @property
    def operation(self) -> Literal["delete", "update"] | None:
        """The change that the log contains; None if the table is a MERGE table."""
    @property
    def changed_tables(self) -> tuple[str, ...]:
        """The tables whose rows may have changed, as ``database.table``; empty if they are not known.

        They are known from ``history`` or ``schemas``. A live stream without both asks the server. The log of
        MariaDB contains them. Tables that are not selected are included.
        """
    @property
    def foreign_keys(self) -> tuple[ForeignKey, ...]:
        """The foreign keys whose actions may have changed these rows, also through other tables; empty if they are not known."""
    @property
    def change_ordinals(self) -> tuple[int, int] | None:
        """The range of ``_change_ordinal`` of the rows of ``table`` for which these actions were executed, both ends included.

        None if it is not known. This is so for a statement of MariaDB whose events are larger than a segment.
        """
    @property
    def position(self) -> Position:
        """The position of the last batch or item before this one, at which to resume: before the end of the transaction."""
    @property
    def commit_version(self) -> int:
        """The place of the transaction in commit order: ``_commit_version`` of its rows."""
    @property
    def commit_timestamp(self) -> datetime:
        """The time of the commit, in UTC."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ForeignKey:
    """A foreign key of a table. Frozen.

    :attr:`UnloggedChange.foreign_keys` returns those whose actions may have changed rows.

    Source: https://dev.mysql.com/doc/refman/8.4/en/create-table-foreign-keys.html

    Examples:
        >>> for change in binarrow.read_binlog("binlog.000001", include="unlogged_change"):
        ...     if isinstance(change, binarrow.UnloggedChange):
        ...         print([key.table for key in change.foreign_keys if key.on_delete == "cascade"])
    """

    @property
    def table(self) -> str:
        """The table that has the foreign key, as ``database.table``."""
    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the foreign key, in its order."""
    @property
    def parent(self) -> str:
        """The table that it refers to, as ``database.table``."""
    @property
    def parent_columns(self) -> tuple[str, ...]:
        """The columns that it refers to, in the order of ``columns``."""
    @property
    def on_delete(self) -> Literal["restrict", "cascade", "set_null", "set_default"]:
        """The action if a row that it refers to is deleted; ``restrict`` is also that of NO ACTION."""
    @property
    def on_update(self) -> Literal["restrict", "cascade", "set_null", "set_default"]:
        """The action if the key of a row that it refers to changes: the words of ``on_delete``."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Transaction:
    """The begin or end of a transaction, or the XA PREPARE or rollback of an XA transaction. Frozen.

    It is an item of ``include="transaction"``.

    Examples:
        >>> mark = next(binarrow.read_binlog("binlog.000002", include="transaction"))
        >>> mark.kind, mark.gtid
        ('begin', 'bee1d394-e593-11f1-8880-02fc00000001:702')
    """

    @property
    def kind(self) -> Literal["begin", "end", "prepare", "rollback"]:
        """The place in the transaction.

        ``begin`` is before its rows, and ``end`` after them. ``prepare`` means that an XA transaction was prepared; its
        rows are returned at its commit. ``rollback`` means that a prepared transaction was rolled back; with
        ``uncommitted="emit"`` it also follows the rows of every other transaction that was not committed.
        """
    @property
    def gtid(self) -> str | None:
        """Its GTID, if the log has GTIDs."""
    @property
    def rows(self) -> int | None:
        """After its rows: the number of rows that were returned, where an update may be two rows. None before its rows."""
    @property
    def xa_state(self) -> Literal["prepared", "committed", "rolled_back"] | None:
        """The state of an XA transaction; None for other transactions."""
    @property
    def xid(self) -> str | None:
        """The id of an XA transaction, as servers write it: ``X'67',X'62',1``."""
    @property
    def position(self) -> Position:
        """The position at which to resume after it. For ``begin`` it is before the transaction, otherwise after it."""
    @property
    def commit_version(self) -> int:
        """The place of the transaction in commit order: ``_commit_version`` of its rows."""
    @property
    def commit_timestamp(self) -> datetime:
        """The time of the commit, in UTC: ``_commit_timestamp`` of its rows."""
    @property
    def original_commit_timestamp(self) -> datetime | None:
        """The time of the commit on the server that made the transaction, if the log contains it."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Heartbeat:
    """The server had nothing to send during the interval of the heartbeats. Frozen; only in live streams.

    It is an item of ``include="heartbeat"``::

        for change in server.stream(include="heartbeat", heartbeat=10.0):
            if isinstance(change, binarrow.Heartbeat):
                print("no changes until", change.position)
    """

    @property
    def position(self) -> Position:
        """The current position of the stream."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

Change: TypeAlias = (
    ChangeBatch
    | SchemaChange
    | Truncate
    | SkippedStatement
    | UnloggedChange
    | Transaction
    | Heartbeat
)
"""The objects that a reader with ``include`` returns."""

MarkerKind: TypeAlias = Literal[
    "schema_change",
    "truncate",
    "skipped_statement",
    "unlogged_change",
    "transaction",
    "heartbeat",
]
"""The values of ``include``."""

_T_co = TypeVar("_T_co", covariant=True, default=ChangeBatch)

@final
class BinlogReader(Generic[_T_co]):
    """An iterator over :class:`ChangeBatch` and the items of ``include``, in log order. Also a context manager.

    :func:`read_binlog` and :func:`read_split` return it. The iteration raises an error in the log after it has
    returned the rows before the error. The classes of these errors are those of :func:`read_binlog`. After
    :meth:`close`, the iteration raises a ConfigError.

    Examples:
        >>> with binarrow.read_binlog("binlog.000001", tables="shop.orders") as reader:
        ...     rows = sum(change.num_rows for change in reader)
        >>> rows, reader.closed
        (797, True)
    """

    @property
    def position(self) -> Position | None:
        """The position after the last batch or item. None before the first one, unless ``start`` names a place."""
    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
    def stats(self) -> dict[str, Any]:
        """Returns counts so far.

        The keys are ``bytes_read``, ``bytes_total`` (None if unknown), ``transactions`` (with returned changes),
        ``rows_events``, ``changes`` (an update is one), ``rows`` (of the batches: an update is two, or one if the
        layout is nested and the key does not change), ``loaded_rows`` (the number of these rows that are of an
        initial load), ``batches``, ``dropped_rows_events``, ``statements_skipped``, ``zero_dates`` (by column),
        ``unlogged_changes`` (by parent table: rows events that may have changed rows of other tables by foreign
        keys), ``first_commit`` and ``last_commit`` (datetime or None), ``largest_transactions``, ``seconds`` and
        ``tables``. ``largest_transactions`` is a list of ``{"file", "offset", "bytes", "committed"}`` of the
        transactions with returned changes, the largest first, at most ten. ``tables`` is a dict of
        ``database.table`` to ``{"inserts", "updates", "deletes", "bytes"}``: the numbers of changes, and the bytes
        of their rows events. In streams it also has ``"loaded"`` and ``"loaded_bytes"``: the number of inserts
        that are rows of an initial load, and their bytes in memory. In this dict, a name with a dot is in
        backticks: ```a`.`b.c```. ``rows`` and ``batches`` count each batch when it is returned. The other counts
        include only complete segments.

        Examples:
            >>> reader = binarrow.read_binlog("binlog.000001")
            >>> batches = list(reader)
            >>> reader.stats()["tables"]["shop.products"]["inserts"]
            56
        """
    def table(
        self,
        name: str,
        *,
        schema: _ArrowSchemaExportable | None = None,
        on_schema_change: Literal["error", "conform", "evolve"] = "error",
        truncates: Literal["error", "emit", "skip"] = "skip",
    ) -> TableReader:
        """Returns the batches of one table under one schema. This reader cannot be used afterwards.

        Args:
            name: ``database.table``.
            schema: The schema of all batches. None uses that of the first batch. If a schema is given,
                ``_present`` (in the nested layout ``_present_before`` and ``_present_after``) has one bit for each
                column of the schema, in the same order. The bit of a column that the table did not have at that
                position is 0.
            on_schema_change: The reaction to a batch with another schema. ``"error"`` raises an error.
                ``"conform"`` maps columns by their names (if there is no such name, by the name in other letter
                case). Missing columns are NULL, new columns are dropped with one warning each, and types are
                widened. A conversion that would lose values raises a :class:`SchemaError`. In the nested layout
                the same applies inside ``before`` and ``after``. ``"evolve"`` does the same, with one exception. A
                batch that lacks columns of the schema and has other columns is an error, because a column may have
                been renamed. Columns of the envelope do not count.
            truncates: The reaction to a statement that removes or changes existing rows of the table without row
                events. These statements empty the table: TRUNCATE, DROP TABLE, DROP DATABASE, CREATE OR REPLACE
                TABLE, RENAME to another name, ENGINE=BLACKHOLE, and the restart of the server for a MEMORY table.
                ``"skip"`` skips such a statement, and ``"error"`` raises a :class:`SchemaError`. ``"emit"``
                requires ``schema``, and returns a row with the ``_change_type`` ``truncate`` (in the nested layout
                the ``_op`` ``t``). The row has the version and time of the statement, the ``_change_ordinal`` -1,
                because it precedes all rows of its transaction, and NULL in the other columns. A statement that
                changes rows in another way is an error with ``"error"`` and ``"emit"``, and a warning with
                ``"skip"``. Such statements are DROP, TRUNCATE or EXCHANGE PARTITION, IMPORT TABLESPACE, RENAME of
                another table to this table's name, ALTER IGNORE, and DROP and ADD of one column name. CONVERT TO
                CHARACTER SET is one if characters may be lost. Others are DROP SYSTEM VERSIONING, and every ALTER
                TABLE clause that is not known to keep the rows.

                MODIFY or CHANGE of a column in ``schema``, and ADD PRIMARY KEY, are also such statements, unless
                the new type is known to keep every value of the old type. INT to BIGINT keeps every value,
                DATETIME(6) to DATETIME does not. The old type comes from ``history``, or from the last rows of the
                table in this read. If it is not known, the values count as changed. Without ``history``, it is not
                known which columns are generated or AUTO_INCREMENT. If a column is generated from a column that
                gets a new type, its changed values are then not detected. A definition with AUTO_INCREMENT then
                counts as a change; for an integer that is the primary key it only causes a warning. A definition
                without a character set, with a ``sql_mode`` that is not strict, also causes a warning. If the log
                does not name the columns, FIRST, AFTER and DROP COLUMN also count as changes. New columns do not
                count as changes: see ``on_schema_change``. A swap by gh-ost or pt-online-schema-change does not
                change the rows of the table: see ``online_schema_change``. REPAIR TABLE and REPAIR PARTITION,
                which may remove damaged rows, cause a warning for each table.

                With ``"error"`` and ``"emit"``, a statement that may concern another table is an error too. Such a
                statement writes the name in other letter case (see ``lower_case_table_names``), or uses a
                temporary table that may have the same name.

        Raises:
            ConfigError: The reader has already returned something, ``include`` contains items, or ``truncates="emit"`` is
                given without a schema, or with a schema that lacks ``_change_type`` (in the nested layout ``_op``).
        """
    def nested_json(
        self, *, truncates: Literal["error", "emit", "emit_all", "skip"] = "skip"
    ) -> TableReader:
        """Returns the changes of all tables under one schema. This reader cannot be used afterwards.

        The columns are ``_database``, ``_table``, ``_op`` (``c``, ``u``, ``d``), ``before`` and ``after``, then the rest of the
        envelope. ``before`` and ``after`` are the rows as documents: JSON text, or with ``json="variant"`` Spark's
        VARIANT, which keeps decimals, dates, times and bytes. Each document uses the columns and column names at the time
        the row was logged, so no schema is required. NULL is ``null``, and a column that the log leaves out is not in the
        document. Values have the forms that Spark's ``from_json`` reads: see :func:`binarrow.spark.table_of`. In a VARIANT,
        a JSON document that is ``null`` cannot be distinguished from NULL; therefore the VARIANT then has an additional
        key, the column's name followed by a space.

        Rows of one table are in log order. ``_commit_version`` and ``_change_ordinal`` define the order of rows of
        several tables.

        Args:
            truncates: The reaction to a statement that empties a table, as for :meth:`table`. ``"emit"`` returns a
                row with the ``_op`` ``t``. For DROP DATABASE, the ``_table`` of this row is NULL, because the
                statement applies to all tables of the database.

                ``"emit_all"`` also returns rows with the ``_op`` ``a`` for CREATE TABLE, for statements that drop or
                rename columns, and for statements that change rows or values in another way (a conversion of values,
                EXCHANGE PARTITION), which are errors with ``"emit"``. ``after`` is then a document with
                ``is_created`` and ``changes_rows`` (true or false), ``converted_columns`` and ``dropped_columns``
                (lists of names in lower case), ``renamed_columns`` (an object with the new name for each old name) and
                ``converted_types``. This is an object with a type for each converted column whose type before the
                statement decides whether values change, and is not known: ``type``, ``charset`` (absent if the
                statement does not contain it), ``nullable``, ``auto_increment`` and ``members``. If ``changes_rows``
                is true and ``converted_columns`` is empty, the statement may remove or add rows. There may be two such
                rows for a statement.

        Raises:
            ConfigError: The types are not those of Spark, the reader has already returned something, ``include``
                contains items, or ``"emit_all"`` is used with ``json="variant"``.
        """
    def start(self) -> None:
        """Starts to read, unless the reader has been started, and does not wait for a batch."""
    def poll(self, timeout: float) -> _T_co | None:
        """Returns the next batch or item, or None if none arrives within ``timeout`` seconds.

        Raises:
            StopIteration: The end was reached.
        """
    def wait(self, timeout: float) -> bool:
        """Waits until :meth:`poll` has a result, for at most ``timeout`` seconds. Returns False if it has none yet.

        The result is a batch or item, the end, an error or a warning. It remains in the reader, so any thread may wait, and
        ``position`` does not change.
        """
    def close(self) -> None:
        """Ends the read and its threads."""
    def _repr_html_(self) -> str: ...
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
    """An Arrow stream of changes with one schema: of one table, or of several tables as documents.

    :meth:`BinlogReader.table` and :meth:`BinlogReader.nested_json` return it. It is an iterator of ``pyarrow.RecordBatch``, a
    context manager, and an Arrow stream for other libraries, for example ``duckdb.from_arrow(changes)``. The iteration
    raises the errors of :class:`BinlogReader`.

    Examples:
        >>> changes = binarrow.read_binlog("binlog.000001").table("shop.orders")
        >>> changes.read_all().num_rows
        797
    """

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches."""
    @property
    def position(self) -> Position | None:
        """The position after the last batch that was returned; None before the first."""
    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
    def stats(self) -> dict[str, Any]:
        """Returns the statistics of the read, as :meth:`BinlogReader.stats` does."""
    def read_all(self) -> pa.Table:
        """Reads all remaining rows into memory, as a ``pyarrow.Table``.

        Raises:
            ConfigError: All rows have been read already.
        """
    def close(self) -> None:
        """Ends the read and its threads."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def _repr_html_(self) -> str: ...
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
class TableRows:
    """The rows of a server's table in one snapshot, returned by :meth:`Server.read_table`.

    It is an iterator of ``pyarrow.RecordBatch``, and an Arrow stream for other libraries, for
    example ``polars.from_arrow(rows)``. Close it, or use it in ``with``, to end the snapshot before
    the last row::

        with server.read_table("shop.orders") as rows:
            for batch in rows:
                print(batch.num_rows, "rows at", rows.position)

    If the connection is lost, the iteration raises a ConnectionLostError. The snapshot is then lost too, and the
    table must be read again from its first row. If a statement changes the table while it is read, the iteration
    raises a SchemaError.
    """

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches."""
    @property
    def position(self) -> Position | None:
        """The place of the snapshot in the log: the snapshot contains all transactions before it.

        None if the ``envelope`` has no column that needs it.
        """
    @property
    def is_exact(self) -> bool:
        """True if the snapshot contains no transaction after ``position``."""
    @property
    def rows(self) -> int:
        """The number of rows that were returned so far."""
    @property
    def estimated_rows(self) -> int:
        """The server's estimate of the number of rows of the table, without ``where``. It may be wrong by half."""
    def read_all(self) -> pa.Table:
        """Reads all rows into memory, as a ``pyarrow.Table``.

        Raises:
            ConfigError: Rows have been read already.
        """
    def close(self) -> None:
        """Ends the snapshot and closes the connection."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def _repr_html_(self) -> str: ...
    def __iter__(self) -> TableRows: ...
    def __next__(self) -> pa.RecordBatch: ...
    def __enter__(self) -> TableRows: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

@final
class PastRows:
    """Finds the rows that a table had before changes; :func:`binarrow.rows_at` uses it."""

    def __new__(
        cls, rows: TableRows, *, where: str | None, columns: Sequence[str] | None
    ) -> PastRows: ...
    @staticmethod
    def after(change: ChangeBatch) -> PastRows:
        """Returns an object that finds the rows after changes, from the rows before them.

        The changes are added in reverse order, the last batch first. ``change`` is any of them.
        """
    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows that are returned."""
    @property
    def condition(self) -> str | None:
        """A condition in SQL of the rows that the table has now and that are needed; None for all."""
    @property
    def has_key(self) -> bool:
        """True if rows are identified by a key."""
    @property
    def not_logged(self) -> list[str]:
        """The columns that are not returned because the log does not contain their values."""
    def add(self, batch: ChangeBatch) -> None:
        """Adds changes: in the order of the log or, for an object from ``after``, in reverse order."""
    def unchanged(self, batch: pa.RecordBatch, *, is_exact: bool) -> pa.RecordBatch:
        """Returns the rows that the table had, of a batch of its rows now. ``is_exact``: they contain the added changes and no others."""
    def changed(self, *, is_exact: bool) -> list[pa.RecordBatch]:
        """Returns the rows that the table had and has no more, after all rows that it has now."""
    @staticmethod
    def envelope() -> list[str]:
        """Returns the columns of the envelope that the changes must have."""

@final
class UndoWriter:
    """Writes the changes of batches as SQL that reverses or repeats them; :func:`binarrow.undo` uses it."""

    def __new__(
        cls,
        *,
        redo: bool,
        gtids: Sequence[str],
        threads: Sequence[int],
        foreign_key_checks: bool,
        dry_run: bool,
        offsets: Sequence[tuple[int, int]],
        memory: int,
    ) -> UndoWriter: ...
    def add(self, batch: ChangeBatch, with_effects: Sequence[int] = ...) -> None:
        """Adds the changes of a batch. ``with_effects`` are the numbers of the rows whose effects are added next, ascending."""
    def add_effects(self, batch: ChangeBatch, rows: pa.RecordBatch, steps: Sequence[int]) -> None:
        """Adds changes that the log does not contain: effects of changes in the last batch.

        ``rows`` are changes of the table of ``batch``, with the envelope of the change that caused each. ``steps`` order the effects of one
        change; they are negative.
        """
    def picked(self, batch: ChangeBatch) -> list[int]:
        """Returns the rows of a batch whose transactions and connections are selected."""
    @staticmethod
    def part(batch: ChangeBatch) -> int:
        """Returns the number of the part of the log that a batch belongs to. The changes of a part precede those of the next one."""
    def finish(self, notes: Sequence[str]) -> None:
        """Ends the script. ``notes`` are lines of the comment at its begin."""
    def next_piece(self) -> bytes | None:
        """Returns the next piece of the script; None after the last one."""
    def next_piece_or_place(self) -> bytes | tuple[int, int] | None:
        """Returns the next piece of the script, or the offset and the size of a piece in the temporary file; None after the last one."""
    def fileno(self) -> int | None:
        """Returns the file descriptor of the temporary file; None if there is none, or the system cannot copy from it."""
    def counts(self) -> list[tuple[str, str, int, int, int]]:
        """Returns for each table its database and name, and the numbers of inserts, updates and deletes."""
    @property
    def transactions(self) -> int:
        """The number of transactions of the complete script."""
    @staticmethod
    def keywords(*, filtered: bool) -> dict[str, Any]:
        """Returns the keywords for reading rows. With ``filtered``, ``where`` can select rows."""
    def sql_keywords(self) -> dict[str, Any]:
        """Returns the keywords for reading batches that contain the SQL of this writer instead of rows, without ``where``."""

@final
class RowChanges:
    """The rows that the log changed between two copies of a table; :func:`binarrow.verify` uses it."""

    def __new__(cls) -> RowChanges: ...
    def add(self, keys: pa.RecordBatch, rows: pa.RecordBatch, marks: pa.RecordBatch) -> None:
        """Adds images of rows, in the order of the log. ``marks`` has two columns: true for images after a change, and the version."""
    def reach_uncertain(self) -> None:
        """The images from here on are those of transactions that the later copy may contain, or not."""
    def contradicted_parts(self) -> list[int]:
        """Returns the parts with rows that are not as the log leaves them."""
    def __len__(self) -> int: ...

@final
class RowSums:
    """The number of the rows of each part of a table, and the sum of their hashes; :func:`binarrow.verify` uses it."""

    def __new__(cls) -> RowSums: ...
    def add(
        self, keys: pa.RecordBatch, rows: pa.RecordBatch, changes: RowChanges | None = None
    ) -> None:
        """Adds rows. With ``changes``, those of the later copy."""
    def roll_back(self, changes: RowChanges) -> None:
        """Adds the changed rows as they were in the earlier copy. All rows of the later copy were added."""
    def differing(self, other: RowSums) -> list[tuple[int, int]]:
        """Returns the parts that differ, each with its number of rows."""
    @property
    def rows(self) -> int:
        """The number of rows."""

@final
class ChosenRows:
    """The rows of some parts of a table; :func:`binarrow.verify` uses it."""

    def __new__(cls, parts: Sequence[int]) -> ChosenRows: ...
    def has(self, keys: pa.RecordBatch) -> pa.BooleanArray:
        """Returns true for each key that is in one of the parts."""
    def add(
        self, keys: pa.RecordBatch, rows: pa.RecordBatch, changes: RowChanges | None = None
    ) -> None:
        """Adds the rows that are in one of the parts. With ``changes``, those of the later copy."""
    def roll_back(self, changes: RowChanges) -> None:
        """Adds the changed rows as they were in the earlier copy. All rows of the later copy were added."""
    def differences(
        self, target: ChosenRows, changes: RowChanges
    ) -> list[tuple[int, Literal["missing", "extra", "different", "unlogged"]]]:
        """Compares the rows of the source with those of the target: the hash of each key that differs, and how."""

@final
class Event:
    """One event of a binary log file, as ``binarrow inspect`` shows it. :func:`inspect` returns it.

    Examples:
        >>> event = next(binarrow.inspect("binlog.000001"))
        >>> event.type_name, event.offset, event.size, event.log_pos
        ('Format_desc', 4, 123, 127)
    """

    @property
    def file(self) -> str:
        """The name of the file."""
    @property
    def offset(self) -> int:
        """The byte offset in the file; for an event inside a Transaction_payload event, that of the payload event."""
    @property
    def size(self) -> int:
        """The number of bytes, with header and checksum."""
    @property
    def type_code(self) -> int:
        """The number of the event type."""
    @property
    def type_name(self) -> str:
        """The name of the event type, such as ``Format_desc``."""
    @property
    def timestamp(self) -> int:
        """The time of the event in seconds since 1970 UTC, from the header; 0 for artificial events."""
    @property
    def server_id(self) -> int:
        """The ``server_id`` of the server that wrote the event first."""
    @property
    def log_pos(self) -> int:
        """The offset of the next event, from the header; 0 for artificial and compressed events."""
    @property
    def flags(self) -> int:
        """The flags of the header."""
    @property
    def info(self) -> str:
        """A summary in one line: table, GTID, a statement up to its first value."""
    @property
    def table(self) -> str | None:
        """``database.table`` of a Table_map or rows event."""
    @property
    def table_metadata(self) -> str | None:
        """A Table_map event's columns and key, if requested, as ``mysqlbinlog`` prints them."""
    @property
    def data(self) -> bytes | None:
        """The event's bytes, if requested: header, body, and checksum if it has one."""
    def hexdump(self, start: int = 0, size: int | None = None) -> str:
        """Returns the bytes in the form of ``mysqlbinlog --hexdump``, from index ``start`` of the body.

        Raises:
            ConfigError: The bytes were not requested with ``data=True``.

        Examples:
            >>> event = next(binarrow.inspect("binlog.000001", data=True))
            >>> print(event.hexdump(0, 16))
            # Position  Timestamp   Type   Source ID        Size      Source Pos    Flags
            # 00000004 07 6e 01 6b   0f   01 00 00 00   7b 00 00 00   7f 00 00 00   00 00
            # 00000017 04 00 39 2e 37 2e 34 2d  32 00 00 00 00 00 00 00 |..9.7.4-2.......|
            <BLANKLINE>
        """
    @property
    def thread_id(self) -> int | None:
        """The connection that executed a Query event or, in MariaDB 11.5 and later, the transaction of a Gtid event."""
    @property
    def compressed(self) -> bool:
        """True if the event is inside a Transaction_payload event."""

@final
class EventReader:
    """An iterator of :class:`Event` over files, returned by :func:`inspect`.

    The iteration raises the errors of :func:`inspect` about the bytes of the files.

    Examples:
        >>> events = binarrow.inspect("binlog.000001", event_types="Table_map", tables="shop.orders")
        >>> next(events).table
        'shop.orders'
    """

    def __iter__(self) -> EventReader: ...
    def __next__(self) -> Event: ...

@final
class Split:
    """A range of one file, cut at ends of transactions, for one task. Picklable.

    :func:`scan_splits` returns it, and :func:`read_split` reads it.

    Examples:
        >>> [split] = binarrow.scan_splits("binlog.000001")
        >>> split.start, split.stop
        (127, 849613)
        >>> binarrow.Split.from_json(split.to_json())
        <Split binlog.000001 127..849613>
    """

    @property
    def path(self) -> str:
        """The path of the file, as it was given."""
    @property
    def start(self) -> int:
        """The byte offset of the first event."""
    @property
    def stop(self) -> int:
        """The byte offset after the last event."""
    @property
    def warnings(self) -> list[str]:
        """The warnings of :func:`scan_splits` about a file without a Rotate or Stop event; in its last range."""
    def to_json(self) -> str:
        """Returns the range as JSON."""
    @staticmethod
    def from_json(text: str) -> Split:
        """Returns the range that ``to_json`` returned as JSON.

        Raises:
            ConfigError: The text is not a stored range.
            LaterVersionError: A later version of binarrow wrote it.
        """

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
    where: str | None = None,
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
    index: Literal["use", "ignore"] = "use",
    verify_checksum: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> BinlogReader[ChangeBatch]:
    """Reads binary log files, or the log of a server, into Arrow record batches.

    Reading starts when the first batch is requested.

    Args:
        source: A path, a glob, a folder, bytes, an open binary file, or several of them in log order. Paths, globs
            and folders may be URIs that pyarrow.fs or fsspec opens: ``s3://bucket/binlog.*``. In URIs, ``*`` and
            ``[...]`` are wildcards, and ``?`` begins a query string. A glob or a folder matches files whose names
            end with a number. A dict maps names in the server's log to files, in log order:
            ``{"binlog.000004": "txns.binlog"}``. If all files are consecutive files of one log, a file whose own name has no number
            gets the server's name. This name is taken from the Rotate event of the file before it, or from its own
            Rotate event. Otherwise the file keeps its own name.
        tables: The tables to read: globs of ``database.table``.

            Rows of other tables are skipped and not decoded. None reads all tables. An empty list
            is a :class:`ConfigError`.
        exclude_tables: Tables to leave out: globs of ``database.table``.
        include: Items to return in addition to rows, in log order: ``"schema_change"``,
            ``"truncate"``, ``"skipped_statement"``, ``"unlogged_change"``, ``"transaction"``,
            ``"heartbeat"``.

            A batch ends before each item. ``"schema_change"``: statements that change tables of
            ``tables`` or their databases, as :class:`SchemaChange`. ``"truncate"``: tables that are
            emptied, as :class:`Truncate`. ``"skipped_statement"``: statements that
            ``statements="skip"`` skips, as :class:`SkippedStatement`. ``"unlogged_change"``:
            changes that may have changed rows of other tables that are not in the log, as
            :class:`UnloggedChange`, in any place among the rows of their transaction.
            ``"transaction"``: the begin and end of every transaction, also of those without changes
            of ``tables``, as :class:`Transaction`. ``"heartbeat"``: a live stream's heartbeats, as
            :class:`Heartbeat`.
        online_schema_change: The proof that is required to recognize a swap of a table and its copy
            by gh-ost or pt-online-schema-change: ``"evidence"`` requires marks of the tool in the
            log; ``"trust"`` accepts the names of the tables, and leaves out the tool's own tables.

            A swap that is recognized does not change the rows of the table. It is returned as one
            :class:`SchemaChange` of the table, with its ``tool``. The marks are gh-ost's comment in
            the statement of the swap, and the three triggers of pt-online-schema-change, if they
            are created after the start of the read. Without marks the swap is an ordinary rename,
            and the tool's tables are ordinary tables. With ``"trust"``, rows of tables with the
            tools' names (``_orders_gho``, ``_ghc``, ``_del``, ``_new``, ``_old``) are left out,
            with a warning for each table, unless ``tables`` names them without wildcards. A swap
            back to the old table is never accepted.
        lower_case_table_names: The value of the variable ``lower_case_table_names`` on the server
            that wrote the files: 0, 1 or 2.

            With 1 and 2, ``Orders`` and ``orders`` are one table: row events have its name in lower
            case, and statements (``TRUNCATE Orders``) have it as it was typed. The log does not
            contain the value. A live read gets it from the server, and a ``history`` gets it from
            its baseline. None means that the value is not known. If a row event then has a table
            name with capital letters, names in other letter case are other names. If no row event
            has one, a statement may name a table of ``tables`` in other letter case. ``include``
            returns such a statement with a warning. With ``truncates``, it raises a
            :class:`SchemaError`, or causes a warning for ``"skip"``. Any other value raises a
            :class:`ConfigError`.
        columns: The columns to keep, by glob of ``database.table``: ``{"shop.orders": ["id",
            "total"]}``.

            Other columns are not decoded and are not in the schema. The columns have the same order
            as in the table. If several globs match a table, the columns of all of these globs are
            kept. Tables that no glob matches keep all columns. A column that the table does not
            have raises a :class:`SchemaError`. Options that use the key also work if the columns of
            the key are not kept. ``present`` has a bit for each column of the table.
        operations: The operations to return: ``"insert"``, ``"update"``, ``"delete"``.

            These are the operations on the source: an update that changes the key counts as an
            update, even if it is returned as a ``delete`` and an ``insert``. Rows of other
            operations are skipped and not decoded. None returns all operations.
        where: A condition on the values of a change, in a part of SQL: ``"status = 'paid' AND
            old.status <> 'paid'"``.

            A column without a prefix is compared in the row before and in the row after the change.
            If the condition is true for one of the two, the change is returned, with both rows.
            ``old.`` and ``new.`` name the row before and the row after the change. An insert has no
            row before it, and a delete none after it: columns of such rows are NULL. The operators
            are ``=``, ``<>``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``IN``, ``BETWEEN``, ``LIKE``,
            ``IS NULL``, ``AND``, ``OR``, ``NOT``; names may be in backquotes. As in SQL, a
            comparison with NULL is not true, and its negation is not true either. Text is compared
            by its characters, and bytes by their values. So values that differ in letter case,
            accents or spaces at the end are different, in any collation. Dates and times are
            strings; a TIMESTAMP without ``Z`` or an offset is in UTC. A zero date that is returned
            as NULL is NULL. JSON, GEOMETRY and VECTOR are only compared with NULL. Each table that
            is read must have the columns of the condition. They must be in ``columns``, and not in
            ``mask``. Otherwise a :class:`ConfigError` is raised, and also if a comparison does not
            fit the type of a column. If the log leaves out a column that is needed
            (``binlog_row_image``), a :class:`SchemaError` is raised. Requires ``old_value``.
            Existing rows of an initial load are not supported.
        unlogged_changes: The reaction if a foreign key's CASCADE, SET NULL or SET DEFAULT may have
            changed rows that the log does not contain (before MySQL 9.6, and in MariaDB):
            ``"error"``, ``"warn"`` or ``"ignore"``.

            The log shows only that rows of the parent table were deleted or got other keys. This
            also applies to later MySQL versions with ``innodb_native_foreign_keys=ON``. ``"error"``
            raises an :class:`UnsupportedEventError`. ``"warn"`` issues a warning for each parent,
            and ``stats()`` counts these changes. ``"ignore"`` does nothing. None means ``"error"``
            for a mirror (``truncates="error"`` or ``"emit"`` of :meth:`BinlogReader.table`) if an
            action is known to change its table. Otherwise it means ``"warn"``, also if the actions
            are not known. The actions are taken from ``history`` or ``schemas``; a mirror of a live
            server asks the server for them. MariaDB's log shows for each statement which tables its
            actions can change. Parents that are not in ``tables`` count too. The same applies to
            MERGE tables. If rows of a MERGE table change, rows of the tables of its UNION change.
            The log contains only the name of the MERGE table. A table is known to be a MERGE table
            if ``history`` or ``schemas`` contains it.
        mask: Columns whose values are hidden, by glob of ``database.table.column``, in any letter
            case: ``{"shop.customers.email": "sha256"}``.

            ``"null"`` makes the values NULL. ``"sha256"`` replaces them by a hash of 64 hexadecimal
            digits. NULL stays NULL. Equal values have equal hashes, also across tables, types and
            servers::

                hmac.new(salt, value.encode(), "sha256").hexdigest()

            If several globs match a column, the first one applies. If a glob contains the name of a
            table without wildcards, and matches none of the columns of this table, a
            :class:`SchemaError` is raised. The hashed value is the text that ``SELECT`` prints;
            ``types`` does not change it. Numbers are hashed as digits (``-5``, ``1.50``), without
            the zeros of ZEROFILL; FLOAT and DOUBLE have the fewest digits that identify the number
            (``0.1``, ``1.5e20``), and BIT is a number. Dates and times are hashed as ``2024-02-29
            10:00:00.25``, also zero dates, and TIMESTAMP in UTC. Text is hashed in UTF-8, JSON as
            MySQL prints it, and ENUM and SET by their members, or by the number if the log does not
            name the members. BINARY (with the zeros at its end), VARBINARY, BLOB, GEOMETRY and
            VECTOR are hashed as stored. MariaDB's UUID, INET4 and INET6 are hashed as text with
            ``schemas``, otherwise as bytes. A warning at the end of the input reports a glob that
            matches no column. A stream may have no end, so test a new glob on a few files first.
            The statement of a :class:`SchemaChange` is not masked; it contains defaults and
            comments.
        mask_salt: The secret for ``"sha256"`` in ``mask``. Without it, values cannot be found by
            hashing guesses.

            It is not part of any ``repr``, log or message.
        start: The place at which the read starts: a :class:`Position`, ``"file:offset"``, a GTID
            set that has already been read, or a datetime with a zone. The JSON of a position and a
            time such as ``"2026-11-22T06:00:00Z"`` may be text too.

            None starts at the beginning of the first file. With a GTID set, all transactions that
            are not in the set are read. If the first file begins after such a transaction, older
            files are missing, and a :class:`ConfigError` is raised.
        stop: The place at which the read ends, in the same forms as ``start``. Transactions that
            end at or before it are read.

            None reads to the end of the last file. If it is a position, only its ``base`` is used.
            With a GTID set, the read ends before the first transaction that is not in the set. If
            the files end before the set is complete, newer files are missing. A
            :class:`ConfigError` is then raised after the last row.
        layout: The form of rows: ``"flat"`` returns one row for each row image, ``"nested"`` one
            row for each change, with the structs ``before`` and ``after``.

            A flat row has the table's columns, then the envelope. A nested row has ``_op`` (``c``,
            ``u``, ``d``), the structs ``before`` and ``after`` with the table's columns (null if
            there is no such image), then the envelope without ``_change_type``. ``_present_before``
            and ``_present_after`` replace ``_present``.
        old_value: Also return rows as they were before a change.

            If this is False, an update is only its ``update_postimage``. A ``delete`` has only the
            columns of the table's key, and NULL in the other columns. An update that changes the
            key is a ``delete`` of the old key, then the ``update_postimage`` or ``insert``. The key
            is the primary key if the log or ``schemas`` contains it, otherwise the first UNIQUE key
            of NOT NULL columns in ``schemas``, otherwise the complete row.
        split_key_updates: Return an update that changes the key as a ``delete`` and an ``insert``.

            Keys are compared by their bytes. This needs complete images of both rows
            (``binlog_row_image=FULL``). Without them, or with False, the update is an
            ``update_preimage`` and an ``update_postimage``.
        partial_images: The value of columns that a row image leaves out (``binlog_row_image``
            MINIMAL or NOBLOB): ``"null"``, or ``"error"``.

            With ``"null"``, the column ``present`` of the ``envelope`` distinguishes these columns
            from columns that are NULL. With ``"error"``, if ``present`` is not in the ``envelope``,
            and the image of an inserted or updated row leaves out a selected column, a
            :class:`SchemaError` is raised.
        envelope: The columns to add to those of the table, by their names without the prefix.

            None adds ``change_type``, ``commit_version``, ``commit_timestamp`` and
            ``change_ordinal``; an empty list adds none. The others are ``gtid`` (of the commit,
            also of an XA COMMIT), ``original_commit_timestamp`` (on the server that made the
            change; MySQL 8 and later), ``thread_id`` (the connection that made the change, if the
            log contains it), ``xid`` (the number of the Xid event; NULL if another event commits),
            ``query`` (the statement; it needs ``binlog_rows_query_log_events`` or
            ``binlog_annotate_row_events``), ``binlog_file``, ``binlog_position``, ``server_id`` and
            ``present`` (one bit for each column of the table that the image contains, or for each
            column of a given schema: see :meth:`BinlogReader.table`).
        envelope_prefix: The prefix of the names of envelope columns.
        types: The Arrow types of the columns: ``"native"``, ``"spark"``, or a :class:`TypeOptions`.

            None means ``"native"``. ``"spark"`` also lowers the defaults of ``batch_rows`` to 16
            384 and of ``batch_bytes`` to 16 MiB.
        column_names: The names of columns: ``"log"`` requires them in the log, ``"positional"``
            names columns ``@1``, ``@2``, ... if the log does not contain their names, ``"none"``
            returns no columns of the table.

            If the log contains no names, ``"log"`` raises a :class:`SchemaError`; ``schemas`` and
            ``history`` provide the names. ``"none"`` returns only the columns of the envelope and
            can read every log, for example to count changes.
        schemas: CREATE TABLE statements, for logs that do not contain the names of columns.

            They provide what the log leaves out: names, signs, members and keys. They also provide
            types that the log shows as bytes (MariaDB's UUID, INET4, INET6, VECTOR), and the digits
            of times in MariaDB's old form (``mysql56_temporal_format=OFF``). The value is a dict of
            ``"database.table"`` to the output of ``SHOW CREATE TABLE``, or SQL text. The text
            contains ``USE`` and ``CREATE TABLE`` statements, as the output of ``mysqldump --no-data
            shop`` or ``mariadb-dump`` does. Other statements are ignored. A ``Path`` is a file with
            such text. A :class:`TableSchema`, such as the result of ``server.describe()``, is
            accepted as well, also in a dict or a list. Metadata in the log takes precedence. If a
            statement contradicts it, because the table was altered later, a :class:`SchemaError` is
            raised. In members of ENUM and SET, servers print ``?`` instead of characters above
            U+FFFF. A member with a ``?`` causes a warning.
        history: A history of table schemas: a :class:`binarrow.SchemaHistory`, or its URL or path.

            Each row is decoded with the schema that its table had at the position of the row, and
            not with the current one. Statements in the log that change tables are applied, and
            stored if the history does not contain them yet. If the history ends before ``start``,
            the log between the two is read first, without its rows. A :class:`SchemaError` is
            raised if the history does not cover a part of the log and that part cannot be read. It
            is also raised for a row of a table whose schema is not known or does not fit the log.
            ``history`` and ``schemas`` cannot be used together.
        batch_rows: The maximum number of rows in a batch.

            None means 65 536. The two rows of an update stay together. Zero is a
            :class:`ConfigError`.
        batch_bytes: The approximate maximum size of a batch, in bytes.

            None means 32 MiB. Zero is a :class:`ConfigError`.
        batch_end: ``"transaction"`` also ends batches at each commit.

            None ends them at ``batch_rows``, at ``batch_bytes``, and where the schema changes.
        segment_bytes: The approximate number of bytes of log that a thread decodes at a time.

            None means 2 MiB. Smaller segments need less memory. Zero is a :class:`ConfigError`.
        threads: The number of threads that decode.

            None means one thread for each core, and one thread in a Spark task. Zero is a
            :class:`ConfigError`.
        uncommitted: The rows of transactions that never committed: ``"skip"`` leaves them out,
            ``"emit"`` returns them.
        statements: The reaction to a statement that was logged as text and may change rows
            (``binlog_format`` STATEMENT or MIXED): ``"error"``, or ``"skip"``. The log does not
            contain the changed rows.

            ``"error"`` raises an :class:`UnsupportedEventError`. ``"skip"`` skips the statement;
            ``stats()`` counts these statements in ``statements_skipped``, and
            ``include="skipped_statement"`` returns each. These statements are known to change no
            rows: DDL, account management, maintenance. All other statements count as statements
            that may change rows.
        skip_events: Type codes of events to skip that this version does not decode, such as events
            of other vendors.

            Without their codes, such events raise an :class:`UnsupportedEventError`. The codes of
            statements raise a :class:`ConfigError`: see ``statements``.
        gaps: The reaction to files that do not follow each other: ``"error"``, or ``"allow"``.

            ``"error"`` raises a :class:`ConfigError` that names the files. With ``"allow"``, files
            that are missing between the given files and a GTID set in ``start`` or ``stop`` cause a
            warning.
        index: The use of an index next to a file, which :func:`write_index` writes: ``"use"`` skips
            parts of the file that contain no row to return, or ``"ignore"``.

            With ``tables`` or ``where``, only the other parts are read. Damage in a part that is
            skipped is not detected, ``stats()`` does not count the part, and there are no warnings
            about it. If an index does not fit the file, it is not used, and a warning reports this.
        verify_checksum: Verify the CRC32 of every event.

            A wrong checksum raises a :class:`ChecksumError`. Logs without checksums are read as
            they are.
        storage_options: Settings for the file system of a URI, if the environment does not provide
            them.

            They are keyword arguments of pyarrow's file system (``endpoint_override`` and
            ``access_key`` of ``S3FileSystem``, for example) or of fsspec's. No message contains
            their values.

    Raises:
        ConfigError: A keyword or option is not valid, or does not fit the others or the input.
        SchemaError: A statement in a dict of ``schemas`` cannot be parsed.
        InputError: A file cannot be read. :class:`MissingInputError` and others are subclasses.

    The reader raises errors in the bytes of the files, after it has returned the rows before them.

    Examples:
        >>> for change in binarrow.read_binlog("binlog.000001", tables="shop.orders"):
        ...     print(change.database, change.table, change.to_pyarrow().num_rows)
        shop orders 797

        A log without column names, the default of MySQL; ``shop.sql`` is the output of ``mysqldump --no-data shop``:

        >>> reader = binarrow.read_binlog("binlog.000001", schemas=Path("shop.sql"))
    """

@overload
def read_binlog(
    source: Source | LiveLog,
    *,
    tables: str | Sequence[str] | None = None,
    exclude_tables: str | Sequence[str] | None = None,
    include: MarkerKind | Sequence[MarkerKind] | None,
    online_schema_change: Literal["evidence", "trust"] = "evidence",
    lower_case_table_names: Literal[0, 1, 2] | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    operations: str | Sequence[str] | None = None,
    where: str | None = None,
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
    index: Literal["use", "ignore"] = "use",
    verify_checksum: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> BinlogReader[Change]: ...
def read_split(
    split: Split,
    *,
    options: Mapping[str, Any] | None = None,
) -> BinlogReader:
    """Reads one range that :func:`scan_splits` returned.

    Args:
        split: The range.
        options: Keywords of :func:`read_binlog`, except those about files and places.

    Raises:
        ConfigError: A keyword is not valid.
        InputError: The file cannot be read.

    Examples:
        >>> splits = binarrow.scan_splits("binlog.000001", target_bytes=200_000)
        >>> options = {"tables": "shop.orders"}
        >>> sum(batch.num_rows for split in splits for batch in binarrow.read_split(split, options=options))
        797
    """

def scan_splits(
    path: str,
    *,
    target_bytes: int = 64 << 20,
    place: int = 1,
    index: Literal["use", "ignore"] = "use",
    storage_options: Mapping[str, Any] | None = None,
) -> list[Split]:
    """Cuts one file into ranges at ends of transactions, without decoding rows.

    Args:
        path: The path or URI of the file.
        target_bytes: The size of a range in bytes. A transaction is not cut, so a range may be larger.
        place: The place of the file in its list, from 1.
        index: ``"use"`` does not read the parts that an index next to the file describes. ``"ignore"`` does not use an index.
        storage_options: As in :func:`read_binlog`.

    Raises:
        InputError: The file cannot be read.
        MalformedBinlogError: The file is not a binary log.
        ConfigError: ``target_bytes`` is 0, or ``index`` is not one of these words.

    Examples:
        >>> binarrow.scan_splits("binlog.000001", target_bytes=500_000)
        [<Split binlog.000001 127..501154>, <Split binlog.000001 501154..849613>]
    """

def link_splits(
    splits: Sequence[Split],
    *,
    gaps: Literal["error", "allow"] = "error",
    history: History | None = None,
    tables: str | Sequence[str] | None = None,
    skip_events: Sequence[int] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Split]:
    """Adds to every range the context from the log before it: XA transactions and schemas of tables.

    Args:
        splits: The results of :func:`scan_splits` for all files, in log order.
        gaps: ``"allow"`` accepts files that do not follow each other.
        history: As in :func:`read_binlog`. This function applies the statements up to the end of the files to the
            history. Every range contains the schemas of its tables, so that :func:`read_split` needs no history.
        tables: The tables whose schemas are added, as globs of ``database.table``. None adds those of all tables, which
            makes ranges larger.
        skip_events: As in :func:`read_binlog`.
        storage_options: As in :func:`read_binlog`. They are used with ``history``, for which the files are read.

    Raises:
        ConfigError: The Rotate event of a file names another file as the next one, and ``gaps`` is ``"error"``.
        SchemaError: The history does not cover the files, and the log between the history and the files is not available.

    Examples:
        >>> files = binarrow.expand_source("binlog.*")
        >>> scanned = [binarrow.scan_splits(file, place=place) for place, file in enumerate(files, 1)]
        >>> splits = binarrow.link_splits([split for splits in scanned for split in splits])
        >>> len(splits)
        2
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
    """Returns all events of the files, including those inside Transaction_payload events.

    Args:
        source: As in :func:`read_binlog`. Streams are read as data arrives.
        start: The first event to return: ``"file:offset"``, an offset if there is only one file, or a time.
        stop: The first event that is not returned, in the same forms.
        tables: Return only Table_map and rows events of these tables: ``database.table``, with ``*`` as wildcard.
        event_types: Return only events of these types: values of ``type_name``, in any letter case, with ``*`` as wildcard.
        queries: Put complete statements into ``info``. They may contain values of rows.
        table_metadata: Fill ``Event.table_metadata``.
        data: Fill ``Event.data``. The bytes contain values of rows.
        verify_checksum: Verify the CRC32 of every event.
        storage_options: As in :func:`read_binlog`.

    Raises:
        ConfigError: A file, place or event type does not exist.
        InputError: A file cannot be read.
        MalformedBinlogError: The bytes are damaged (raised by the iteration).
        ChecksumError: The CRC32 of an event does not match (raised by the iteration).

    Examples:
        >>> for event in binarrow.inspect("binlog.000001", stop="binlog.000001:365"):
        ...     print(event.offset, event.type_name)
        4 Format_desc
        127 Previous_gtids
        158 Gtid
        235 Query
    """

def event_keywords(event_format: EventFormat, *, query: bool = False) -> dict[str, Any]:
    """Returns the keywords of :func:`read_binlog` and of streams whose batches :meth:`ChangeBatch.to_events` accepts.

    These are ``layout``, ``types`` and ``envelope``. You can add other keywords, such as ``tables`` and ``old_value``.

    Args:
        event_format: The tool whose events are written.
        query: Add the statement as Debezium's ``source.query``, if the server logs it.

    Raises:
        ConfigError: There is no such format.

    Examples:
        >>> keywords = binarrow.event_keywords("debezium-json")
        >>> for change in binarrow.read_binlog("binlog.000001", tables="shop.*", **keywords):
        ...     events = change.to_events("debezium-json", source_name="shop")
    """

def nested_json_schema(
    *,
    envelope: str | Sequence[str] | None = None,
    envelope_prefix: str = "_",
    types: Literal["native", "spark"] | TypeOptions | None = None,
) -> pa.Schema:
    """Returns the schema of :meth:`BinlogReader.nested_json`.

    Args:
        envelope: The columns to add to those of the table, by their names without the prefix.
        envelope_prefix: The prefix of the names of envelope columns.
        types: The Arrow types of the columns: ``"native"``, ``"spark"``, or a :class:`TypeOptions`.

    Raises:
        ConfigError: ``types`` is not ``"spark"``, nor a :class:`TypeOptions` with ``profile="spark"``.

    Examples:
        >>> binarrow.nested_json_schema(types="spark").names[:5]
        ['_database', '_table', '_op', 'before', 'after']
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
    """Returns the schema of a table's batches, from the first Table_map event of the table in the files.

    For a :class:`binarrow.Server`, it is the schema of the current table, with the types that a read of its log returns.
    ``schemas`` or ``history`` provide types that the log does not contain.

    Args:
        source: As in :func:`read_binlog`, or a server.
        table: ``database.table``.
        columns: The columns to keep, by glob of ``database.table``: ``{"shop.orders": ["id",
            "total"]}``.
        mask: Columns whose values are hidden, by glob of ``database.table.column``, in any letter
            case: ``{"shop.customers.email": "sha256"}``.
        mask_salt: The secret for ``"sha256"`` in ``mask``. Without it, values cannot be found by
            hashing guesses.
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
        storage_options: Settings for the file system of a URI, if the environment does not provide
            them.

    Raises:
        SchemaError: The files have no Table_map event of the table, or the log does not contain the names of its columns.
        ConfigError: The server does not log the names of columns, and neither ``schemas`` nor ``history`` is given.

    Examples:
        >>> schema = binarrow.infer_schema("binlog.000001", "shop.orders")
        >>> schema.field("placed_at").type
        TimestampType(timestamp[us])
    """

def expand_source(source: Source, *, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """Returns the files of a path, URI, glob or directory, in log order, without ``*.index`` files.

    Args:
        source: As in :func:`read_binlog`.
        storage_options: As in :func:`read_binlog`.

    Raises:
        MissingInputError: There is no such file, or no file matches.

    Examples:
        >>> binarrow.expand_source("binlog.*")
        ['binlog.000001', 'binlog.000002']
    """

def build_index(
    path: str,
    *,
    segment_bytes: int | None = None,
    most_bytes: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> bytes:
    """Builds the index of a file, which is read twice. :func:`write_index` stores it.

    Args:
        path: The path or URI of the file.
        segment_bytes: The approximate size of the parts that can be skipped; None means 1 MiB.
        most_bytes: The maximum size of the index; None means 0.5 % of the log, or 4 KiB for a small log.
        storage_options: As in :func:`read_binlog`.

    Raises:
        BinarrowError: The file cannot be read, a server may still write to it, or it has too many
            tables for its size.
    """

def check_stored_version(what: str, version: int, known: int) -> None:
    """Checks the version of something stored.

    Args:
        what: The thing, for the message.
        version: Its version.
        known: The latest version that can be read.

    Raises:
        LaterVersionError: The version is later.
        ConfigError: It is 0.
    """

def describe_index(content: bytes) -> dict[str, Any]:
    """Returns the properties of the index in the content of an index file.

    Args:
        content: The content of the index file.

    Raises:
        MalformedBinlogError: It is not an index, or is damaged.
        LaterVersionError: A later version of binarrow wrote it.
    """

def find_logs(
    source: Source, *, storage_options: Mapping[str, Any] | None = None
) -> dict[str, list[str]]:
    """Returns the files of each folder in which files match, in log order.

    Functions that read a log refuse a glob that matches files in several folders, unless the numbers of the files
    are consecutive. Otherwise they may be the logs of several servers. Read the files of each folder separately.

    Args:
        source: As in :func:`expand_source`.
        storage_options: As in :func:`read_binlog`.

    Raises:
        MissingInputError: There is no such file, or no file matches.

    Examples:
        >>> binarrow.find_logs("archive/*/binlog.*")
        {'archive/db1': ['archive/db1/binlog.000001'], 'archive/db2': ['archive/db2/binlog.000001']}
    """

def parse_place(
    text: str, *, local_time: bool = False
) -> Literal["earliest", "latest"] | Position | datetime:
    """Parses a place in the log, as users write it.

    The forms are ``earliest``, ``latest`` or ``end``, ``file:offset``, a GTID set (also as
    ``gtid:SET``), a time with its zone, the JSON of a position, and the JSON of an offset of Spark.

    Args:
        text: The place.
        local_time: A time without a zone is local time; otherwise it is an error.

    Raises:
        ConfigError: The text is not a place.
    """

@final
class Url:
    """The parts of a URL, with their escapes."""

    @property
    def scheme(self) -> str:
        """The text before ``://``, in lower case."""
    @property
    def authority(self) -> str:
        """All from ``://`` to the path or the query."""
    @property
    def user(self) -> str | None:
        """The user."""
    @property
    def password(self) -> str | None:
        """The password."""
    @property
    def hosts(self) -> str:
        """The authority without user and password: a host, or several with commas."""
    @property
    def path(self) -> str:
        """The path, from its first slash on."""
    @property
    def query(self) -> str:
        """The text after the question mark."""
    @property
    def keywords(self) -> list[tuple[str, str]]:
        """The keywords after the question mark."""
    @property
    def is_server(self) -> bool:
        """True if it is the URL of a server of MySQL or MariaDB."""
    @property
    def has_at_after_hosts(self) -> bool:
        """True if an ``@`` follows the hosts: a ``/`` or ``?`` in a password is not escaped."""
    @staticmethod
    def parse(text: str) -> Url | None:
        """Splits a URL; None for text without ``://``."""

def has_password(url: str) -> bool:
    """True if a URL, or one in a chain of URIs, contains a password."""

def is_one_log(files: Sequence[str]) -> bool:
    """True if files are those of one log: they are in one folder, or they have one name and consecutive numbers."""

def is_uri(text: str) -> bool:
    """True if the text is a URI, or a chain of URIs in the form of fsspec, and not a path of this system."""

def shown_uri(uri: str) -> str:
    """Returns the URI without its query string and password, for messages."""

def set_hooks(
    *,
    find_files: Callable[[str, Mapping[str, Any] | None], tuple[str, list[tuple[str, int | None]]]],
    open_file: Callable[[str, Mapping[str, Any] | None], tuple[IO[bytes], int | None]],
    open_history: Callable[[_Path], SchemaHistory],
    html_of: Callable[[object], str],
) -> None:
    """Sets the functions of the package that this module calls. This module does not import the package.

    Args:
        find_files: Returns the files at a URI: a kind (``path``, ``folder``, ``glob``,
            ``file``), and names with sizes.
        open_file: Opens the file at a URI, and returns its size if it is known.
        open_history: Opens the history at a URL or path.
        html_of: Returns the HTML of an object of this module, for a notebook.
    """

@final
class NativeServer:
    """A connection to a server; :class:`binarrow.Server` has one."""

    @property
    def flavor(self) -> str:
        """``mysql`` or ``mariadb``."""
    @property
    def version(self) -> str:
        """The version that the server reports."""
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
        """The endpoint of the connection."""
    @property
    def is_local(self) -> bool:
        """True if the connection does not leave this machine."""
    def position(self) -> Position:
        """Returns the current end of the log."""
    def binlogs(self) -> list[tuple[str, int]]:
        """Names and sizes of the log's files."""
    def database_filters(self) -> list[str]:
        """Returns ``binlog_do_db`` and ``binlog_ignore_db``, if they are set."""
    def describe(self, table: str) -> TableSchema:
        """Returns the structure of ``database.table``."""
    def query(self, sql: str) -> list[list[str | None]]:
        """The rows of one statement, as text; None is NULL."""
    def close(self) -> None:
        """Ends the connection."""

@final
class ConnectionSpec:
    """The endpoints of servers and the login; :class:`binarrow.Server` has one.

    A certificate or key is the PEM text if it is ``bytes``, otherwise the path of a file.
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
    def cancel(self) -> None:
        """Ends :func:`range_end` and :func:`file_start` of other threads."""

@final
class Column:
    """A column of a :class:`TableSchema`. Frozen, hashable, picklable.

    Its arguments are its properties. If only the log describes the table, a property that the log does not contain
    is None.

    Examples:
        >>> batch = next(binarrow.read_binlog("binlog.000001", tables="shop.orders"))
        >>> column = batch.table_schema.columns[2]
        >>> column.name, column.type, column.nullable
        ('status', "enum('placed','paid','sent','cancelled')", False)
    """

    def __new__(
        cls,
        name: str,
        type: str,  # noqa: A002 - the name of the property
        *,
        nullable: bool,
        unsigned: bool | None = False,
        charset: str | None = None,
        collation: str | None = None,
        members: Sequence[str] | None = (),
        visible: bool | None = True,
        generated: Literal["virtual", "stored"] | None = None,
        default: str | None = None,
        auto_increment: bool | None = False,
        on_update: str | None = None,
        comment: str | None = "",
    ) -> Column: ...
    @property
    def name(self) -> str:
        """The name; ``@1``, ``@2``, ... by place if the log contains no names."""
    @property
    def type(self) -> str:
        """The type as ``SHOW CREATE TABLE`` writes it, for example ``int unsigned`` or ``enum('a','b')``.

        If only the log describes the column, the type is without display width, ZEROFILL, and the digits of FLOAT
        and DOUBLE.
        """
    @property
    def nullable(self) -> bool:
        """True if the column may be NULL."""
    @property
    def unsigned(self) -> bool | None:
        """True for UNSIGNED numbers."""
    @property
    def charset(self) -> str | None:
        """The character set; None if the column is not text."""
    @property
    def collation(self) -> str | None:
        """The collation; None if the column is not text."""
    @property
    def members(self) -> tuple[str, ...] | None:
        """The members of an ENUM or SET; empty for other columns."""
    @property
    def visible(self) -> bool | None:
        """False for an INVISIBLE column, which ``SELECT *`` does not return."""
    @property
    def generated(self) -> Literal["virtual", "stored"] | None:
        """The kind of a generated column; None for other columns."""
    @property
    def default(self) -> str | None:
        """The SQL after DEFAULT in ``create_statement``; None if there is none, or if it is NULL.

        When columns are compared, only the presence of a default counts. The reason is that servers and the
        statement in the log may write the same value in different forms (``'5'`` and ``5``, for example).
        """
    @property
    def has_default(self) -> bool | None:
        """True if INSERT may omit the column (DEFAULT, AUTO_INCREMENT or generated)."""
    @property
    def auto_increment(self) -> bool | None:
        """True for AUTO_INCREMENT."""
    @property
    def on_update(self) -> str | None:
        """``CURRENT_TIMESTAMP`` or ``CURRENT_TIMESTAMP(n)`` if an UPDATE sets the column to the time; otherwise None."""
    @property
    def comment(self) -> str | None:
        """The comment; empty if there is none."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Key:
    """A key of a :class:`TableSchema`. Frozen, hashable, picklable. Its arguments are its properties.

    Raises:
        ConfigError: ``kind`` is not one of these words, or ``prefixes`` has another length than ``columns``.

    Examples:
        >>> binarrow.Key("by_name", "unique", ["name"], prefixes=[10])
        Key(name='by_name', kind='unique', columns=('name',), prefixes=(10,), identifies_rows=False, visible=True)
    """

    def __new__(
        cls,
        name: str | None,
        kind: Literal["primary", "unique", "index"],
        columns: Sequence[str],
        *,
        prefixes: Sequence[int] | None = None,
        identifies_rows: bool = False,
        visible: bool = True,
    ) -> Key: ...
    @property
    def name(self) -> str | None:
        """The name, ``PRIMARY`` for the primary key; None if the statement in ``schemas`` contains none."""
    @property
    def kind(self) -> Literal["primary", "unique", "index"]:
        """``primary``, ``unique``, or ``index`` for any other key."""
    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in key order, without expressions."""
    @property
    def prefixes(self) -> tuple[int, ...]:
        """For each column, the length in characters of the prefix in the key; 0 if the key contains the complete value."""
    @property
    def identifies_rows(self) -> bool:
        """True if no two rows have the same values.

        The key is unique, none of its columns is nullable or virtual, and it has no expression.
        """
    @property
    def visible(self) -> bool:
        """False for an INVISIBLE (MariaDB: IGNORED) key, which queries do not use."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class TableSchema:
    """The structure of a table. Frozen, hashable, picklable.

    :meth:`Server.describe` returns the structure of one table of a server, and :meth:`Server.schemas` those of all
    its tables. :meth:`SchemaHistory.find` returns the structure at a position of the log, and
    :attr:`ChangeBatch.table_schema` the one of a change. Structures of the same table are equal.
    ``create_statement`` is not compared. The arguments are the properties of the same names.

    In a read without ``schemas`` and ``history``, only the log describes a table. Properties that the log does not
    contain are then None, and so is ``comment``. ``keys`` then contains at most one key: the one that the server
    calls primary, which may be the first unique key of columns that are NOT NULL.

    Examples:
        >>> batch = next(binarrow.read_binlog("binlog.000001", tables="shop.orders"))
        >>> batch.table_schema.primary_key
        ('id',)
    """

    def __new__(
        cls,
        database: str,
        table: str,
        columns: Sequence[Column],
        keys: Sequence[Key] = (),
        *,
        comment: str | None = "",
        create_statement: str | None = None,
    ) -> TableSchema: ...
    @property
    def database(self) -> str:
        """The database of the table."""
    @property
    def table(self) -> str:
        """The name of the table, without the database."""
    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in table order."""
    @property
    def keys(self) -> tuple[Key, ...]:
        """The primary key, then the unique keys, then the others, in the server's order."""
    @property
    def comment(self) -> str | None:
        """The comment; empty if there is none."""
    @property
    def create_statement(self) -> str | None:
        """The CREATE TABLE statement; None for a structure that was read from the log.

        In the result of :meth:`Server.describe`, it is the output of ``SHOW CREATE TABLE``. Otherwise it is a
        statement with all character sets and collations.
        """
    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key, in key order; empty if there is none."""
    @property
    def unique_keys(self) -> tuple[Key, ...]:
        """The primary key and the unique keys, in the server's order."""
    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a row in changes; empty if only the complete row does.

        The primary key, otherwise the first unique key of columns that are NOT NULL.
        """
    def to_dict(self) -> dict[str, Any]:
        """Returns the arguments of the constructor; columns and keys are dicts too."""
    def _repr_html_(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class TableSchemas:
    """The schemas of a server's tables at one position of its log, returned by :meth:`Server.schemas`.

    Pass it to a read as ``schemas``, or store it for a history::

        schemas = server.schemas(tables="shop.*")
        Path("shop.sql").write_text(schemas.script)
        print(schemas.position, schemas.find("shop", "orders").primary_key)
    """

    @property
    def script(self) -> str:
        """CREATE DATABASE, USE and CREATE TABLE statements, as SHOW CREATE TABLE prints them."""
    @property
    def position(self) -> Position:
        """The position at which the tables have these structures."""
    @property
    def tables(self) -> tuple[TableSchema, ...]:
        """The tables in the script, ordered by name.

        Raises:
            SchemaError: binarrow cannot read the statement of one of them.
        """
    def find(self, database: str, table: str) -> TableSchema | None:
        """Returns the structure of a table; None if it is not in the script.

        Raises:
            SchemaError: binarrow cannot read its statement.
        """
    @property
    def lower_case_table_names(self) -> int:
        """The server's variable of this name. 0 means that names are compared with letter case."""
    def _repr_html_(self) -> str: ...

@final
class NativeHistory:
    """The structures of tables over time. :class:`binarrow.SchemaHistory` is its public class."""

    @staticmethod
    def in_memory(source: str) -> NativeHistory:
        """Returns a history that is not stored."""
    @staticmethod
    def in_file(path: _Path, source: str) -> NativeHistory:
        """Returns a history in an SQLite database."""
    @staticmethod
    def on_server(spec: ConnectionSpec, database: str, source: str) -> NativeHistory:
        """Returns a history in a database of a server."""
    @property
    def source(self) -> str:
        """The name of the history in the store."""
    @property
    def place(self) -> str:
        """The store of the history, for messages."""
    def position(self) -> Position | None:
        """Returns the position of the cursor."""
    def covered(self) -> list[tuple[Position, Position, str | None]]:
        """Returns the covered ranges of logs: start, end, the id of the server."""
    def baseline_of_server(
        self,
        spec: ConnectionSpec,
        *,
        tables: str | Sequence[str] | None = None,
        exclude_tables: str | Sequence[str] | None = None,
    ) -> Position:
        """Adds the current tables of a server."""
    def baseline_of_sql(
        self,
        text: str | bytes | PathLike[str],
        position: Position | str,
        *,
        tables: str | Sequence[str] | None = None,
        exclude_tables: str | Sequence[str] | None = None,
        server: str | None = None,
    ) -> Position:
        """Adds the tables of a script."""
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
        """Adds a statement; returns its effect as the fields of a change."""
    def find(
        self, database: str, table: str, position: Position | str | datetime | None = None
    ) -> TableSchema | None:
        """Returns the structure of a table."""
    def arrow_schema(
        self,
        database: str,
        table: str,
        types: TypeOptions,
        position: Position | str | datetime | None = None,
    ) -> pa.Schema | None:
        """Returns the Arrow schema of a table's rows; None if there is no such table."""
    def tables(
        self, position: Position | str | datetime | None = None
    ) -> list[tuple[str, str | None]]:
        """Returns all tables, each with the reason if its schema is unknown."""
    def rollback(self, position: Position | str | datetime) -> None:
        """Moves the cursor."""
    def checkpoint(self) -> None:
        """Stores a complete copy of all tables."""
    def snapshot(self) -> list[tuple[str, str]]:
        """Returns a script for each database."""
    def copy_to(self, path: _Path) -> None:
        """Writes a copy of the stored history into a new file."""
    def extend(self, position: Position) -> None:
        """Moves the end of the last covered range forward to a position, up to which there are no more statements."""
    def prune(self, before: Position | str | datetime) -> None:
        """Removes the entries before a position or time."""
    def changes(
        self,
        start: Position | str | datetime | None = None,
        stop: Position | str | datetime | None = None,
    ) -> HistoryChanges:
        """Returns the entries of the history."""
    def schema_snapshot(
        self,
        start: Position | str | datetime,
        stop: Position | str | datetime,
        tables: str | Sequence[str] | None = None,
    ) -> str:
        """Returns the tables at ``start``, as text for :meth:`LiveLog.between`."""
    def close(self) -> None:
        """Closes the store."""

@final
class HistoryChanges:
    """An iterator over the entries of a history, as the fields of a change."""

    def __iter__(self) -> HistoryChanges: ...
    def __next__(self) -> dict[str, Any]: ...

@final
class LiveLog:
    """The log of a server, for :func:`read_binlog`; :meth:`binarrow.Server.stream` creates it."""

    @staticmethod
    def after(
        spec: ConnectionSpec,
        start: Position | str | datetime,
        *,
        ends: bool,
        server_id: int | None,
        heartbeat: float,
        reconnect: float | None,
        max_latency: float,
        loads: bool = False,
        locks: str | None = None,
        chunk_rows: int = 262_144,
        max_rows_per_second: int | None = None,
        certificate: _Path | None = None,
        rows_from: ConnectionSpec | None = None,
    ) -> LiveLog:
        """Returns the log of the servers from ``start``; see :meth:`binarrow.Server.stream`."""
    @staticmethod
    def between(
        spec: ConnectionSpec,
        start: Position,
        stop: Position,
        *,
        schema_snapshot: str | None = None,
        server_id: int | None = None,
        heartbeat: float = 10.0,
        reconnect: float | None = 300.0,
        max_latency: float = 0.5,
    ) -> LiveLog:
        """Returns the log between two positions; see :meth:`binarrow.Server.range`."""
    @staticmethod
    def rows(
        spec: ConnectionSpec,
        table: str,
        *,
        after: str | None = None,
        upto: str | None = None,
        number: int = 0,
        position: Position | None = None,
        locks: str | None = None,
        chunk_rows: int = 262_144,
        max_rows_per_second: int | None = None,
        reconnect: float | None = 300.0,
    ) -> LiveLog:
        """Returns the rows of a range of a table, instead of the log."""

def table_ranges(
    spec: ConnectionSpec, tables: Sequence[str], rows: int
) -> list[tuple[str, bool, list[str]]]:
    """Divides tables into ranges of about ``rows`` rows.

    Returns of each table its identity, whether it has a key by which rows can be read in order, and
    the keys at which ranges end, as JSON. The last range has no end.
    """

def table_identities(spec: ConnectionSpec, tables: Sequence[str]) -> list[str | None]:
    """Returns the identities of tables now, as :func:`table_ranges`; None for one that is missing."""

def selected_tables(
    spec: ConnectionSpec, tables: Sequence[str], exclude_tables: Sequence[str]
) -> list[str]:
    """Returns the names of the tables that patterns select. Views are not tables."""

def read_table(
    spec: ConnectionSpec,
    table: str,
    *,
    where: str | None = None,
    locks: str | None = None,
    max_rows_per_second: int | None = None,
    ordered: bool = False,
    **keywords: Any,
) -> TableRows:
    """Returns the rows of a table; see :meth:`binarrow.Server.read_table`. ``ordered``: in the order of its key."""

def hash_rows(batch: pa.RecordBatch) -> list[int]:
    """Returns the hash of each row of a batch, as in the certificate of an initial load."""

def range_end(
    spec: ConnectionSpec,
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
    """Returns the end of a part of the log; see :meth:`binarrow.Server.range_end`."""

def file_start(
    spec: ConnectionSpec,
    name: str,
    *,
    version_shift: int = 0,
    server_id: int | None = None,
    heartbeat: float = 10.0,
    reconnect: float | None = 300.0,
) -> Position:
    """Returns the position at the beginning of a file; see :meth:`binarrow.Server.file_start`."""

def replaced_tables(
    spec: ConnectionSpec,
    tables: Sequence[str],
    start: Position,
    stop: Position,
    *,
    heartbeat: float = 10.0,
    reconnect: float | None = 300.0,
    skip_events: Sequence[int] | None = None,
) -> list[str]:
    """Returns those of the tables whose names statements between two positions may have given to other tables."""

def read_schemas(
    spec: ConnectionSpec,
    *,
    tables: str | Sequence[str] | None = None,
    exclude_tables: str | Sequence[str] | None = None,
) -> TableSchemas:
    """Returns the schemas of the tables of the first server that answers."""

def message_parts(message: str) -> tuple[MessagePart, ...]:
    """Splits a text that marks options into the parts of a message."""
