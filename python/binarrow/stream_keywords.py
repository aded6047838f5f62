"""The keywords that ``Server.stream`` and ``Server.range`` pass on to ``read_binlog``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from binarrow._native import History, Schemas, TypeOptions


class ShapingKeywords(TypedDict, total=False):
    """The keywords that select rows and set their form; see :func:`binarrow.read_binlog`."""

    tables: str | Sequence[str] | None
    exclude_tables: str | Sequence[str] | None
    online_schema_change: Literal["evidence", "trust"]
    unlogged_changes: Literal["error", "warn", "ignore"] | None
    columns: Mapping[str, str | Sequence[str]] | None
    operations: str | Sequence[str] | None
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
    skip_events: Sequence[int] | None
    gaps: Literal["error", "allow"]
    verify_checksum: bool
    statements: Literal["error", "skip"]


NOT_SHAPING = frozenset(
    {"source", "start", "stop", "include", "storage_options", "lower_case_table_names"}
)
"""The other parameters of :func:`binarrow.read_binlog`: for files, or for the stream itself."""


__all__ = ["NOT_SHAPING", "ShapingKeywords"]
