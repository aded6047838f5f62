"""The function `binarrow.spark.sync`."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from binarrow import ConfigError
from binarrow.spark.history_files.ranges import FORMAT, RangesSource
from binarrow.spark.live.options import LiveOptions
from binarrow.spark.live.place import SNAPSHOT
from binarrow.spark.messages import naming_options
from binarrow.spark.registration import register
from binarrow.spark.source_options import SourceOptions
from binarrow.spark.syncing.batch import BatchWriter
from binarrow.spark.syncing.column_changes import ColumnChanges
from binarrow.spark.syncing.files import FilesWriter
from binarrow.spark.syncing.filled_columns import FilledColumns
from binarrow.spark.syncing.parked import ParkedTables
from binarrow.spark.syncing.place import OWN, Place, read_remote
from binarrow.spark.syncing.policies import Policies
from binarrow.spark.syncing.reloading import Reload
from binarrow.spark.syncing.structures import Structures
from binarrow.spark.syncing.tables import Tables
from binarrow.syncing.names import Selection
from binarrow.syncing.settings import (
    Mode,
    OnDrop,
    OnTableError,
    OnTruncate,
    SchemaChanges,
    patterns,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

STATE_FILE = "snapshotStateFile"
"""The option that names the file with the progress of a load."""


def sync(
    spark: SparkSession,
    url: str,
    tables: str | Sequence[str],
    target: str,
    *,
    mode: Mode = "mirror",
    exclude_tables: str | Sequence[str] | None = None,
    once: bool = False,
    every: float = 10.0,
    schema_changes: SchemaChanges = "follow",
    on_truncate: OnTruncate = "apply",
    on_drop: OnDrop = "keep",
    on_table_error: OnTableError = "stop",
    reload: str | Sequence[str] | None = None,
    files: Literal["auto", "spark"] = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    password_file: str | os.PathLike[str] | None = None,
    password_command: str | None = None,
    options: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Starts one query that copies tables of a server, and follows its log, which is read once.

        query = sync(spark, "mysql://repl@db.example/", "shop.*", "delta+file:///lake",
                     once=True, password_file="secret")
        query.awaitTermination()

    The existing rows are loaded in chunks first. A batch of the query is one commit of each table
    that it changes. If the query is killed at any moment, for example between the commits of two
    tables, and started again with the same arguments, no change is lost or applied twice.

    Args:
        spark: The session, with the packages of the format. With Spark Connect, the target must be
            a catalog, or a local folder of the machine that runs Spark's server, and Spark's own
            writer writes all files.
        url: The URL of the server, without a password.
        tables: The tables, as globs of ``database.table``. A table that is created later, and that
            they match, is added. To add other tables, start with a new target.
        target: ``"delta+file:///lake"``, a folder with a folder of Delta tables for each database
            (with four slashes, an absolute path), or another URI that Spark can write, such as
            ``"delta+s3a://bucket/lake"``. ``"delta://CATALOG"`` and ``"iceberg://CATALOG"``: a
            catalog of the session. Each database is then a namespace in it.
        mode: ``"mirror"``: the tables have the current rows; each needs a primary key, or a unique
            key of columns that are NOT NULL. ``"history"``: they have all changes, with
            ``_change_type``, ``_commit_version``, ``_commit_timestamp`` and ``_change_ordinal``.
            ``"scd2"``: they have all versions of each row, with ``_valid_from``, ``_valid_to``,
            ``_valid_from_version`` and ``_valid_to_version``, as in :func:`binarrow.sync`. Each
            table needs a key.
        exclude_tables: Tables to leave out, as globs.
        once: If true, the query ends at the current end of the log.
        every: Seconds between the starts of two batches.
        schema_changes: ``"follow"`` adds new columns to the target, and widens types if the format
            supports it. In a mirror, the values of new columns in existing rows (DEFAULT) are read
            from the server. Columns that the server drops stay in the target, and are NULL in new
            rows.
            ``"widen"`` permits only changes after which all earlier values fit, as in
            :func:`binarrow.sync`; ``"fail"`` permits none. The query ends before a change that is
            not permitted.
        on_truncate: The reaction to TRUNCATE and to DROP TABLE followed by CREATE TABLE:
            ``"apply"``, ``"keep"`` (the target keeps its rows) or ``"fail"``.
        on_drop: The reaction if the server has dropped a table: ``"keep"`` (the target keeps the
            table; in a mirror, with the rows of the previous batch), ``"drop"`` (with
            ``mode="mirror"``, the table is dropped in the target) or ``"fail"``. With
            ``mode="scd2"``, all current versions of its rows end.
        on_table_error: The reaction to an error of one table: ``"stop"`` ends the query. ``"park"``
            continues with the other tables. The table keeps the rows of the previous batch. Its
            name and the error are in the log of the driver and in the file
            ``CHECKPOINT.parked.json`` next to the checkpoint. Without a local checkpoint,
            ``"park"`` needs the option ``snapshotStateFile``, and the file is next to that file. To
            load the table again, use ``reload``. An error while the log is read always ends the
            query.
        reload: Tables to load again, as globs. They need not be parked. Their rows are read before
            the query starts, so no other process may run the query of the checkpoint. Each run with
            this argument loads them again. In a mirror, rows that ``on_truncate="keep"`` has kept
            are deleted. With ``mode="scd2"``, each row gets a new version. With
            ``mode="history"``, all rows are added as inserts; a table without a key cannot be
            loaded again. In the first run, it has no effect, because all tables are loaded. Spark
            Connect does not support it.
        files: The writer of the files, with ``mode="history"``. With ``"auto"``, if the target is
            in a local or shared folder, tasks write Parquet files while they decode the log, and
            the driver commits them. ``numInputRows`` in the query's progress is then the number of
            ranges of the log, not of changes. Spark's own writer writes batches for which this is
            not possible, and a message is logged. With ``"spark"``, it writes all files.
        checkpoint: The folder of the query's checkpoint. By default ``_binarrow_spark`` in a local
            folder ``target``; other targets need it.
        password_file: A file on the driver with the password in its first line.
        password_command: A command that the driver runs without a shell. The first line of its
            output is the password.
        options: Other options of the data source, such as ``{"tls": "verify_ca"}``. With
            ``startingOffsets``, no rows are loaded. Without a local checkpoint, a load needs
            ``snapshotStateFile``.

    Returns:
        The query. Its exception contains the reason if it ends with an error.

    Raises:
        ConfigError: An argument is not valid.
        SchemaError, SyncError: A table cannot be loaded again or, by the query, a table cannot be
            synced. The message says what to do.
    """
    policies = Policies(mode, schema_changes, on_truncate, on_drop, on_table_error, files)
    if not every >= 0:
        raise ConfigError("every is a number of seconds")
    place = Place.parse(target)
    is_connect = "connect" in type(spark).__module__
    reloads = patterns(reload, "reload")
    if reloads and is_connect:
        raise ConfigError("reload needs a classic session (not Spark Connect), or use a new target")
    if is_connect and place.catalog is None and not place.is_local:
        raise ConfigError(
            f"with Spark Connect, the target must be a local folder or a catalog, not {target}: use"
            " delta://CATALOG or iceberg://CATALOG, or a classic session"
        )
    folder = _checkpoint(place, checkpoint)
    given = {
        **_selection(tables, exclude_tables),
        **_source(url, password_file, password_command),
        "truncates": "emit_all",
        "startingOffsets": SNAPSHOT,
        **_own(options or {}),
    }
    if given["startingOffsets"] == SNAPSHOT and STATE_FILE not in given:
        if "://" in folder:
            raise ConfigError(
                f"the checkpoint {folder} is not a local folder: pass the name of a local file in"
                f' options={{"{STATE_FILE}": ...}}, which a load needs'
            )
        given[STATE_FILE] = f"{folder}.rows.json"
    with naming_options(hides_traceback=False):
        parsed = SourceOptions.parse(given)
    assert isinstance(parsed.place, LiveOptions)  # noqa: S101 - the options contain a URL
    structures = Structures(parsed, parsed.place)
    filled = FilledColumns({**given, "startingOffsets": SNAPSHOT})
    parked = ParkedTables(on_table_error, _parked_file(folder, given.get(STATE_FILE), policies))
    column_changes = ColumnChanges(policies)
    tables_of_target = Tables(place, structures, filled, policies, parked, column_changes)
    arguments = (tables_of_target, filled, policies, parked, column_changes)
    loads = parsed.place.loads
    register(spark)
    writer: BatchWriter
    name = f"binarrow-sync-{uuid.uuid4().hex}" if is_connect else None
    if mode == "history" and files == "auto" and place.may_be_local and not is_connect:
        spark.dataSource.register(RangesSource)
        source = FORMAT
        writer = FilesWriter(
            *arguments, loads=loads, format=place.format, options=parsed, live=parsed.place
        )
    else:
        source = "binarrow"
        writer = BatchWriter(*arguments, loads=loads, query_name=name)
    if reloads:
        _reload(spark, Reload(*arguments), structures, reloads, folder)
    changes = spark.readStream.format(source).options(**given).load()
    stream = changes.writeStream.foreachBatch(writer).option("checkpointLocation", folder)
    if name is not None:
        stream = stream.queryName(name)
    if once:
        return stream.trigger(availableNow=True).start()
    return stream.trigger(processingTime=f"{every} seconds").start()


_RESERVED = (
    *("url", "tables", "table", "excludeTables", "truncates", "layout", "envelope"),
    *("passwordFile", "passwordCommand"),
    *("envelopePrefix", "json", "operations", "where", "oldValue", "splitKeyUpdates"),
)
"""Options that the arguments set, or without which a target would be wrong."""


def _reload(
    spark: SparkSession,
    reload: Reload,
    structures: Structures,
    reloads: Sequence[str],
    folder: str,
) -> None:
    """Loads tables again, if the query of the checkpoint has run before.

    Raises:
        ConfigError: The server does not have the tables, or the query is running.
    """
    query = _query_of_checkpoint(spark, folder)
    if query is None:
        return
    if any(str(each.id) == query for each in spark.streams.active):
        raise ConfigError("the query is running: stop it, and then load tables again")
    selection = Selection(reloads, ())
    names = [name for name in structures.selected() if selection.has(name)]
    if not names:
        raise ConfigError(
            "the server has no table that reload= and tables= select: correct the name, or leave"
            " reload= out"
        )
    reload(spark, names, query)


def _query_of_checkpoint(spark: SparkSession, folder: str) -> str | None:
    """Returns the id of the query that a checkpoint belongs to; None if there is no checkpoint."""
    file = f"{folder}/metadata"
    if "://" not in folder:
        text = Path(file).read_text() if Path(file).exists() else None
    else:
        text = read_remote(spark, file)
    return None if text is None else str(json.loads(text)["id"])


def _checkpoint(place: Place, checkpoint: str | os.PathLike[str] | None) -> str:
    if checkpoint is not None:
        text = os.fspath(checkpoint)
        return text if "://" in text else str(Path(text).absolute())
    if not place.is_local:
        raise ConfigError("this target needs the argument checkpoint: a folder for the checkpoint")
    return f"{place.folder}/{OWN}/checkpoint"


def _parked_file(folder: str, state: str | None, policies: Policies) -> Path | None:
    """Returns the file with the parked tables: next to the checkpoint or to the load's state."""
    if "://" not in folder:
        return Path(f"{folder}.parked.json")
    if state is None or "://" in state:
        if policies.on_table_error == "stop":
            return None
        raise ConfigError(
            f"the checkpoint {folder} is not a local folder, so on_table_error='park' needs a local"
            f' file for the names of tables: add options={{"{STATE_FILE}": "FILE"}}'
        )
    return Path(f"{state}.parked.json")


def _selection(tables: str | Sequence[str], excluded: str | Sequence[str] | None) -> dict[str, str]:
    found = {"tables": ",".join(patterns(tables, "tables"))}
    if excluded is not None:
        found["excludeTables"] = ",".join(patterns(excluded, "exclude_tables"))
    return found


def _source(
    url: str, password_file: str | os.PathLike[str] | None, password_command: str | None
) -> dict[str, str]:
    given = {"url": url}
    if password_file is not None:
        given["passwordFile"] = str(Path(password_file).absolute())
    if password_command is not None:
        given["passwordCommand"] = password_command
    return given


def _own(options: Mapping[str, str]) -> dict[str, str]:
    for name in options:
        if name.lower() in {each.lower() for each in _RESERVED}:
            raise ConfigError(
                f"options contains {name}, which is set by sync or its arguments: leave it out"
            )
    known = {"startingoffsets": "startingOffsets", STATE_FILE.lower(): STATE_FILE}
    return {known.get(name.lower(), name): str(value) for name, value in options.items()}


__all__ = ["sync"]
