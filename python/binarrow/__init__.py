"""MySQL and MariaDB binary logs as Arrow record batches.

    import binarrow

    for change in binarrow.read_binlog("binlog.000001", tables="shop.*"):
        print(change.database, change.table, change.to_pyarrow())

For Spark see :mod:`binarrow.spark`, for the command line ``binarrow --help``.
"""

from binarrow._native import (
    AuthenticationError,
    BinarrowError,
    BinarrowWarning,
    BinlogReader,
    ChangeBatch,
    ChecksumError,
    ConfigError,
    ConnectionLostError,
    DirectoryInputError,
    Event,
    EventReader,
    ForbiddenInputError,
    InputError,
    InternalError,
    MalformedBinlogError,
    MissingInputError,
    Position,
    PositionPurgedError,
    SchemaError,
    ServerError,
    ServerIdentityError,
    Split,
    TableReader,
    TlsError,
    TypeOptions,
    UnsupportedEventError,
    __version__,
    expand_source,
    infer_schema,
    inspect,
    link_splits,
    read_binlog,
    read_split,
    scan_splits,
)
from binarrow.checkpoint import Checkpoint, CheckpointError, FileCheckpoint
from binarrow.preflight import Check
from binarrow.server import Binlog, Column, Key, Server, TableDescription, connect
from binarrow.stream import Stream

__all__ = [
    "AuthenticationError",
    "BinarrowError",
    "BinarrowWarning",
    "Binlog",
    "BinlogReader",
    "ChangeBatch",
    "Check",
    "Checkpoint",
    "CheckpointError",
    "ChecksumError",
    "Column",
    "ConfigError",
    "ConnectionLostError",
    "DirectoryInputError",
    "Event",
    "EventReader",
    "FileCheckpoint",
    "ForbiddenInputError",
    "InputError",
    "InternalError",
    "Key",
    "MalformedBinlogError",
    "MissingInputError",
    "Position",
    "PositionPurgedError",
    "SchemaError",
    "Server",
    "ServerError",
    "ServerIdentityError",
    "Split",
    "Stream",
    "TableDescription",
    "TableReader",
    "TlsError",
    "TypeOptions",
    "UnsupportedEventError",
    "__version__",
    "connect",
    "expand_source",
    "infer_schema",
    "inspect",
    "link_splits",
    "read_binlog",
    "read_split",
    "scan_splits",
]
