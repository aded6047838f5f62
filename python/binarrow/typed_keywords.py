"""The types of keywords that functions pass to others.

Written by ``make options`` from the table in ``binarrow.options``: edit the table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from binarrow._native import History, Schemas, TypeOptions
    from binarrow.password import Password


class ShapingKeywords(TypedDict, total=False):
    """The keywords that select rows and set their form; see :func:`binarrow.read_binlog`."""

    tables: str | Sequence[str] | None
    exclude_tables: str | Sequence[str] | None
    online_schema_change: Literal["evidence", "trust"]
    columns: Mapping[str, str | Sequence[str]] | None
    operations: str | Sequence[str] | None
    where: str | None
    unlogged_changes: Literal["error", "warn", "ignore"] | None
    mask: Mapping[str, Literal["sha256", "null"]] | None
    mask_salt: str | bytes | None
    layout: Literal["flat", "nested"]
    old_value: bool
    split_key_updates: bool
    partial_images: Literal["null", "error"]
    envelope: str | Sequence[str] | None
    envelope_prefix: str
    types: Literal["native", "spark"] | TypeOptions | None
    column_names: Literal["log", "positional", "none"]
    schemas: Schemas | None
    history: History | None
    batch_rows: int | None
    batch_bytes: int | None
    batch_end: Literal["transaction"] | None
    segment_bytes: int | None
    threads: int | None
    uncommitted: Literal["skip", "emit"]
    statements: Literal["error", "skip"]
    skip_events: Sequence[int] | None
    gaps: Literal["error", "allow"]
    verify_checksum: bool


NOT_SHAPING = frozenset(
    {
        "source",
        "include",
        "lower_case_table_names",
        "start",
        "stop",
        "index",
        "storage_options",
    }
)
"""The other parameters of :func:`binarrow.read_binlog`: for files, or for the stream itself."""


class TaskKeywords(TypedDict, total=False):
    """Keywords of :func:`binarrow.read_binlog` that have a meaning inside a Spark task."""

    online_schema_change: Literal["evidence", "trust"]
    lower_case_table_names: Literal[0, 1, 2] | None
    columns: Mapping[str, str | Sequence[str]] | None
    operations: str | Sequence[str] | None
    where: str | None
    unlogged_changes: Literal["error", "warn", "ignore"] | None
    mask: Mapping[str, Literal["sha256", "null"]] | None
    mask_salt: str | bytes | None
    layout: Literal["flat", "nested", "nested-json"]
    old_value: bool
    split_key_updates: bool
    partial_images: Literal["null", "error"]
    envelope: str | Sequence[str] | None
    envelope_prefix: str
    types: Literal["spark"] | TypeOptions
    column_names: Literal["log", "positional", "none"]
    schemas: Schemas | None
    history: str
    batch_rows: int | None
    batch_bytes: int | None
    threads: int | None
    uncommitted: Literal["skip", "emit"]
    statements: Literal["error", "skip"]
    skip_events: Sequence[int] | None
    verify_checksum: bool
    storage_options: Mapping[str, Any] | None


class SchemaKeywords(TypedDict, total=False):
    """Keywords of :func:`binarrow.spark.schema`, which are those of :func:`infer_schema`."""

    columns: Mapping[str, str | Sequence[str]] | None
    mask: Mapping[str, Literal["sha256", "null"]] | None
    mask_salt: str | bytes | None
    layout: Literal["flat", "nested"]
    envelope: str | Sequence[str] | None
    envelope_prefix: str
    types: Literal["native", "spark"] | TypeOptions | None
    column_names: Literal["log", "positional", "none"]
    schemas: Schemas | None
    history: History | None
    storage_options: Mapping[str, Any] | None


class TableKeywords(TypedDict, total=False):
    """Keywords of :meth:`binarrow.Server.read_table` for the form of the rows."""

    mask: Mapping[str, Literal["sha256", "null"]] | None
    mask_salt: str | bytes | None
    layout: Literal["flat", "nested"]
    envelope: str | Sequence[str] | None
    envelope_prefix: str
    types: Literal["native", "spark"] | TypeOptions | None
    batch_rows: int | None
    batch_bytes: int | None


class LoginKeywords(TypedDict, total=False):
    """Keywords of :func:`binarrow.connect` besides the URL, and of its streams."""

    password: Password | None
    password_file: str | os.PathLike[str] | None
    password_command: str | Sequence[str] | None
    option_file: str | os.PathLike[str] | None
    tls: Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"] | None
    tls_ca: str | os.PathLike[str] | bytes | None
    tls_cert: str | os.PathLike[str] | bytes | None
    tls_key: str | os.PathLike[str] | bytes | None
    tls_server_name: str | None
    compression: Literal["zlib", "zstd"] | None
    allow_public_key_retrieval: bool | None
    server_public_key: str | os.PathLike[str] | bytes | None
    allow_clear_password: bool | None
    connect_timeout: float | None
    read_timeout: float | None
    heartbeat: float
    reconnect: float


__all__ = [
    "NOT_SHAPING",
    "LoginKeywords",
    "SchemaKeywords",
    "ShapingKeywords",
    "TableKeywords",
    "TaskKeywords",
]
