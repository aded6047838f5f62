"""`splits`: divides files or a server's log into ranges, which tasks decode in parallel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Unpack

from binarrow import (
    BinarrowWarning,
    ConfigError,
    Position,
    Split,
    expand_source,
    link_splits,
    scan_splits,
)
from binarrow.byte_size import parse_byte_size
from binarrow.remote_files import Options, absolute
from binarrow.server.target import is_server_url
from binarrow.spark.options import DEFAULT_TARGET_BYTES, check_keywords, opened
from binarrow.typed_keywords import LoginKeywords

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from binarrow._native import History

SPLITS_SCHEMA = "path string, start bigint, stop bigint, split string"


def splits(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    target_bytes: int | str = DEFAULT_TARGET_BYTES,
    gaps: Literal["error", "allow"] = "error",
    history: History | None = None,
    history_source: str | None = None,
    tables: str | Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    start: Position | str | datetime | None = None,
    stop: Position | str | datetime | None = None,
    num_partitions: int | None = None,
    **login: Unpack[LoginKeywords],
) -> DataFrame:
    """Returns ranges of files for :func:`binarrow.spark.decoder`: one row and partition per range.

    A server's log between two places is divided into one range per binlog file::

        login = {"password_file": "secret", "tls_ca": "ca.pem"}
        ranges = splits(spark, "mysql://repl@db/", start=before, stop=after, **login)
        changes = ranges.mapInArrow(decoder("shop.orders", orders, **login), orders)

    The columns are ``path``, ``start``, ``stop`` (offsets) and ``split`` (JSON for the decoder). If
    there are several files, a Spark job scans them with one task per file, which reads only event
    headers. Driver and executors must see the files under the same path or URI.

    Args:
        spark: The session, classic or Connect.
        paths: A path, a glob, a folder, or several, in log order; or URIs of them; or the URL of a
            server, ``mysql://user@host:3306/``.
        target_bytes: The approximate size of a range; it ends at the end of a transaction.
        gaps: The reaction to missing files and files out of order: ``"error"``, or ``"allow"``.
        history: Structures of tables over time, as for :func:`binarrow.read_binlog`. The driver
            updates it; each range contains the part that its task needs.
        history_source: The name of the history, if ``history`` is the URL of a store of several.
        tables: With ``history``, the tables whose structures the ranges contain, as globs. By
            default ranges contain all tables, and are larger.
        storage_options: Options of the file systems of URIs: see :func:`binarrow.read_binlog`. The
            DataFrame does not contain them: pass them to :func:`binarrow.spark.decoder` too.
        start: The place to begin in a server's log: ``"earliest"``, the default, ``"latest"``, a
            position, ``"file:offset"``, a GTID set that has already been consumed, or a datetime.
        stop: The place to end, in the same forms; by default ``"latest"``, the end of the log now.
        num_partitions: The maximum number of ranges of a server's log. Each running task has a
            connection to the server.
        **login: Keywords of :func:`binarrow.connect` for the login. The DataFrame does not contain
            them: pass them to :func:`binarrow.spark.decoder` too.

    Raises:
        PositionPurgedError: The server no longer has the log from ``start`` on.
        ConfigError: Keywords exclude each other.
    """
    if isinstance(paths, str) and is_server_url(paths):
        from binarrow.spark.live.live_splits import live_rows  # it imports pyspark

        if storage_options is not None:
            raise ConfigError("storage_options is for files, not for a server")
        check_keywords("splits", login, LoginKeywords.__annotations__)
        places = (start or "earliest", stop or "latest")
        with opened(history, history_source) as structures:
            rows_live = live_rows(paths, places, num_partitions, login, structures, tables)
        return _one_per_partition(spark, rows_live, SPLITS_SCHEMA)
    if start is not None or stop is not None or num_partitions is not None or login:
        raise ConfigError("start, stop, num_partitions and logins are for the URL of a server")
    size = parse_byte_size(target_bytes)
    own = dict(storage_options) if storage_options is not None else None
    files = [absolute(path) for path in expand_source(paths, storage_options=own)]
    if len(files) == 1:
        found = scan_splits(files[0], target_bytes=size, storage_options=own)
    else:
        found = _scan_in_tasks(spark, files, size, own)
    with opened(history, history_source) as structures:
        linked = link_splits(
            found, gaps=gaps, history=structures, tables=tables, storage_options=own
        )
    rows = [(each.path, each.start, each.stop, each.to_json()) for each in linked]
    return _one_per_partition(spark, rows, SPLITS_SCHEMA)


def _scan_in_tasks(
    spark: SparkSession, files: Sequence[str], target_bytes: int, storage: Options
) -> list[Split]:
    """Returns the splits of all files in log order; one task scans each file."""
    places = [(path, place) for place, path in enumerate(files, start=1)]
    scans = _one_per_partition(spark, places, "path string, place int").mapInArrow(
        _scanner(target_bytes, storage), "place int, number int, split string"
    )
    rows = sorted(scans.collect(), key=lambda row: (row.place, row.number))
    found = [Split.from_json(row.split) for row in rows]
    for message in (message for split in found for message in split.warnings):
        warnings.warn(message, BinarrowWarning, stacklevel=3)  # warnings of tasks are not shown
    return found


def _scanner(
    target_bytes: int, storage: Options
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def scan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from binarrow import scan_splits

        columns = pa.schema([("place", pa.int32()), ("number", pa.int32()), ("split", pa.string())])
        for batch in batches:
            for file in batch.to_pylist():
                found = scan_splits(
                    file["path"],
                    target_bytes=target_bytes,
                    place=file["place"],
                    storage_options=storage,
                )
                rows = [
                    {"place": file["place"], "number": number, "split": split.to_json()}
                    for number, split in enumerate(found)
                ]
                yield pa.RecordBatch.from_pylist(rows, schema=columns)

    return scan


def _one_per_partition(
    spark: SparkSession, rows: Sequence[tuple[object, ...]], ddl: str
) -> DataFrame:
    """Returns a DataFrame with each row in its own partition.

    Spark Connect has no `parallelize`, and `repartition` leaves partitions empty. A range of n
    numbers in n partitions is exact, and a join with a broadcast table does not move rows.
    """
    from pyspark.sql.functions import broadcast

    numbered = [(number, *row) for number, row in enumerate(rows)]
    table = spark.createDataFrame(numbered, f"_number bigint, {ddl}")
    numbers = spark.range(0, len(rows), 1, max(len(rows), 1)).withColumnRenamed("id", "_number")
    return numbers.join(broadcast(table), "_number").drop("_number")
