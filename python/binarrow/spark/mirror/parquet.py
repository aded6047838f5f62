"""Mirrors in plain Parquet: a folder of versions, and a file with the name of the current one.

    orders/
        current.json                    {"format_version": 1, "version": 7, "folder": ...}
        versions/00000007-5f0c.../      Parquet files
        versions/00000006-91ab.../      kept for readers until the next version is current

A version is written completely and never changed; then `current.json` is replaced atomically.
Files left by a crash are deleted with the next version. Each batch writes the complete table:
this format is for small tables, and for storage without table formats.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import types as t
from pyspark.sql.functions import expr

from binarrow import ConfigError
from binarrow.atomic_file import replace_file, sync
from binarrow.spark.mirror.fold import Folded
from binarrow.sql import quoted_name
from binarrow.stored_forms import PARQUET_MIRROR

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from binarrow.spark.mirror.columns import Difference

CURRENT = "current.json"
VERSIONS = "versions"


def read_mirror(spark: SparkSession, path: str) -> DataFrame:
    """Returns the current content of a Parquet mirror that :func:`apply_changes` maintains.

    The DataFrame reads one version. It is valid until the mirror has been changed twice.

    Args:
        spark: The session, classic or Connect.
        path: The mirror's folder. A relative path is in the current folder of this program.

    Raises:
        ConfigError: There is no mirror.
        LaterVersionError: A later version of binarrow has stored it.
    """
    from pyspark.errors import AnalysisException

    # A relative path would be in the folder in which Spark was started.
    local = None if path.startswith("/") else local_folder(path)
    folder = path.rstrip("/") if local is None else _on_disk(local)
    try:
        # Spark reads it, because the folder may exist on the cluster only.
        lines = spark.read.text(_literal(f"{folder}/{CURRENT}"), wholetext=True).collect()
    except AnalysisException as error:
        raise ConfigError(f"there is no mirror in {path}: it has no {CURRENT}") from error
    return _read(spark, folder, _parsed(lines[0][0], path))


def local_folder(target: str) -> Path | None:
    """Returns the local folder of a path or URL; None if it is not local."""
    place = urlsplit(target)
    if place.scheme == "file":
        return Path(unquote(place.path))
    return None if place.scheme else Path(target)


@dataclass(frozen=True)
class ParquetMirror:
    """A folder that the driver and the executors see under the same path."""

    spark: SparkSession
    path: Path

    def schema(self) -> StructType | None:
        """The columns of the mirror; None if nothing has been written."""
        current = self._current()
        return None if current is None else t.StructType.fromJson(current["schema"])

    def is_empty(self) -> bool:
        """True if the mirror has no rows."""
        current = self._current()
        return current is None or _read(self.spark, _on_disk(self.path), current).isEmpty()

    def create(self, schema: StructType) -> None:
        """Writes an empty version."""
        self._publish(self.spark.createDataFrame([], schema), schema)

    def evolve(self, difference: Difference) -> None:
        """Does nothing: each version has its own schema."""

    def merge(self, folded: Folded) -> None:
        """Writes the next version."""
        current = self._current()
        if current is None:
            raise ConfigError(
                f"the mirror in {self.path} was deleted while a batch was applied: create it again"
            )
        old = _read(self.spark, _on_disk(self.path), current)
        schema, places = folded.difference.evolved, folded.difference.places
        cells = []
        for field in schema.fields:
            place = places.get(field.name)
            value = before = (
                f"old.{quoted_name(field.name)}" if field.name in old.columns else "NULL"
            )
            if place is not None:
                value = (
                    f"CASE WHEN s.key IS NULL THEN {before}"
                    f" WHEN old IS NULL THEN {folded.new_value(place)}"
                    f" ELSE {folded.value(place, before)} END"
                )
            cells.append(
                f"CAST({value} AS {field.dataType.simpleString()}) AS {quoted_name(field.name)}"
            )
        names = {place: name for name, place in places.items()}
        on = " AND ".join(
            f"old.{quoted_name(names[place])} <=> s.key._{i}"
            for i, place in enumerate(folded.changes.keys)
        )
        if folded.replaces_all:
            old = old.where("false")
        joined = old.selectExpr("struct(*) AS old").join(folded.frame.alias("s"), expr(on), "full")
        stays = f"s.key IS NULL OR (NOT s.is_deleted AND (old IS NOT NULL OR {folded.is_inserted}))"
        self._publish(joined.where(stays).selectExpr(*cells), schema)

    def _current(self) -> dict[str, Any] | None:
        try:
            return _parsed((self.path / CURRENT).read_text(), str(self.path))
        except FileNotFoundError:
            return None

    def _publish(self, rows: DataFrame, schema: StructType) -> None:
        before = self._current()
        version = before["version"] + 1 if before else 1
        folder = f"{VERSIONS}/{version:08}-{uuid.uuid4().hex}"
        rows.write.parquet(_on_disk(self.path / folder))
        _sync(self.path / folder)
        if self._current() != before:
            raise ConfigError(
                f"another query has changed the mirror in {self.path}: run one at a time"
            )
        pointer = {
            **PARQUET_MIRROR.stamp,
            "version": version,
            "folder": folder,
            "schema": json.loads(schema.json()),
        }
        replace_file(self.path / CURRENT, json.dumps(pointer).encode())
        kept = {folder, before["folder"] if before else None}
        for each in (self.path / VERSIONS).iterdir():
            if f"{VERSIONS}/{each.name}" not in kept:
                shutil.rmtree(each, ignore_errors=True)


def _parsed(text: str, path: str) -> dict[str, Any]:
    """Returns the content of the file with the name of the current version.

    Raises:
        LaterVersionError: A later version of binarrow has stored the mirror.
    """
    return PARQUET_MIRROR.parse(text, f"the mirror in {path}")


def _read(spark: SparkSession, path: str, current: dict[str, Any]) -> DataFrame:
    schema = t.StructType.fromJson(current["schema"])
    return spark.read.schema(schema).parquet(_literal(f"{path}/{current['folder']}"))


def _on_disk(path: Path) -> str:
    """A path for Spark, whatever its default file system is: nothing in it is escaped."""
    return f"file://{path.absolute()}"


def _literal(path: str) -> str:
    """Escapes a path that Spark reads from, because it takes the path as a pattern."""
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", path)


def _sync(folder: Path) -> None:
    """Syncs the files to disk, before `current.json` names them."""
    for each in (*folder.iterdir(), folder, folder.parent):
        sync(each)
