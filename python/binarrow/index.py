"""The index beside a log: a small file that shows which parts of the log a read can skip."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from binarrow._native import (
    BinarrowError,
    InputError,
    LaterVersionError,
    build_index,
    describe_index,
    expand_source,
    is_uri,
    shown_uri,
)
from binarrow.atomic_file import replace_file
from binarrow.remote_files import open_file, write_file

SUFFIX = ".binarrow-index"


@dataclass(frozen=True)
class IndexSummary:
    """The index of a file.

    Attributes:
        path: The path or URI of the index.
        bytes: The size of the index.
        log_bytes: The size of the log, uncompressed.
        covered_bytes: The number of bytes of the log that the index describes. The other parts are
            always read: DDL, XA transactions, savepoints, statements that are logged as text.
        segments: The number of parts that can be skipped.
        tables: The number of table structures in them.
        has_ranges: True if the index contains the smallest and largest integers of columns.
        has_bloom_filters: True if the index contains Bloom filters of keys.

    Examples:
        >>> summary = binarrow.write_index("binlog.000001")
        >>> summary.bytes <= max(4096, summary.log_bytes // 200)
        True
    """

    path: str
    bytes: int
    log_bytes: int
    covered_bytes: int
    segments: int
    tables: int
    has_ranges: bool
    has_bloom_filters: bool


def write_index(
    path: str,
    *,
    segment_bytes: int | None = None,
    most_bytes: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> IndexSummary:
    """Writes the index of a file next to it: ``binlog.000001.binarrow-index``.

    Reads with ``tables`` or ``where`` then skip parts of the file. The file must be complete.

    Args:
        path: The path or URI of the file, which may be compressed.
        segment_bytes: The approximate size of the parts that can be skipped; None means 1 MiB.
        most_bytes: The size of the index at most; None means 0.5 % of the log, or 4 KiB for a
            small log.
        storage_options: As in :func:`read_binlog`.

    Raises:
        BinarrowError: The file cannot be read, a server may still write to it, or it has too many
            tables for its size.

    Examples:
        >>> binarrow.write_index("binlog.000001").path
        'binlog.000001.binarrow-index'
    """
    content = build_index(
        path,
        segment_bytes=segment_bytes,
        most_bytes=most_bytes,
        storage_options=storage_options,
    )
    place = f"{path}{SUFFIX}"
    if is_uri(path):
        write_file(place, content, storage_options)
    else:
        replace_file(Path(place), content)
        # Whoever reads the log can read its index.
        Path(place).chmod(stat.S_IMODE(Path(path).stat().st_mode))
    return _summary(place, content)


def check_index(path: str, *, storage_options: Mapping[str, Any] | None = None) -> IndexSummary:
    """Compares the index of a file with a full read of the file.

    Args:
        path: The path or URI of the file, not of the index.
        storage_options: As in :func:`read_binlog`.

    Raises:
        MissingInputError: There is no index.
        InputError: The index does not match the content of the file.
        LaterVersionError: A later version of binarrow wrote the index.
        BinarrowError: The file cannot be read, or the index is damaged.

    Examples:
        >>> written = binarrow.write_index("binlog.000001")
        >>> binarrow.check_index("binlog.000001") == written
        True
    """
    place = f"{path}{SUFFIX}"
    [found] = expand_source(place, storage_options=storage_options)
    content = _read(found, storage_options)
    try:
        described = describe_index(content)
    except LaterVersionError as error:
        raise LaterVersionError(f"{shown_uri(place)}: {error}") from None
    except BinarrowError as error:
        raise InputError(f"{shown_uri(place)}: {error}") from None
    expected = build_index(
        path,
        segment_bytes=described["segment_bytes"],
        most_bytes=described["most_bytes"],
        storage_options=storage_options,
    )
    if content != expected:
        raise InputError(
            f"{shown_uri(place)} is not the index of the file: it is of another file, or the file"
            " has changed since; `binarrow index` writes it again"
        )
    return _summary(place, content)


def _read(place: str, storage_options: Mapping[str, Any] | None) -> bytes:
    if not is_uri(place):
        return Path(place).read_bytes()
    file, _ = open_file(place, storage_options)
    parts = []
    while part := file.read(1 << 20):
        parts.append(part)
    return b"".join(parts)


def _summary(place: str, content: bytes) -> IndexSummary:
    described = describe_index(content)
    del described["segment_bytes"], described["most_bytes"]
    return IndexSummary(path=place, bytes=len(content), **described)
