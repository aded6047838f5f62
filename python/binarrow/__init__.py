"""MySQL and MariaDB binary logs as Arrow record batches.

    import binarrow

    for change in binarrow.read_binlog("binlog.000001", tables="shop.*"):
        print(change.database, change.table, change.to_pyarrow())

For Spark see :mod:`binarrow.spark`, for the command line ``binarrow --help``.
"""

from binarrow._native import (
    BinarrowError,
    BinarrowWarning,
    BinlogReader,
    ChangeBatch,
    ChecksumError,
    ConfigError,
    DirectoryInputError,
    Event,
    EventReader,
    ForbiddenInputError,
    InputError,
    InternalError,
    MalformedBinlogError,
    MissingInputError,
    Position,
    SchemaError,
    Split,
    TableReader,
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

__all__ = [
    "BinarrowError",
    "BinarrowWarning",
    "BinlogReader",
    "ChangeBatch",
    "ChecksumError",
    "ConfigError",
    "DirectoryInputError",
    "Event",
    "EventReader",
    "ForbiddenInputError",
    "InputError",
    "InternalError",
    "MalformedBinlogError",
    "MissingInputError",
    "Position",
    "SchemaError",
    "Split",
    "TableReader",
    "TypeOptions",
    "UnsupportedEventError",
    "__version__",
    "expand_source",
    "infer_schema",
    "inspect",
    "link_splits",
    "read_binlog",
    "read_split",
    "scan_splits",
]
