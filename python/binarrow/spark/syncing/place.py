"""The place of the tables: a folder of Delta tables, or a catalog of the session."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from binarrow import ConfigError
from binarrow.sql import quoted_name
from binarrow.syncing.errors import SyncError
from binarrow.syncing.lake_folders import OWN as OWN_OF_SYNC
from binarrow.syncing.lake_folders import REMOVED, folder_name, move_away
from binarrow.syncing.names import Name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN = "_binarrow_spark"
"""The folder of the checkpoint, beside those of the databases."""

_FORMS = "delta+file:///lake, delta+s3a://bucket/lake, delta://CATALOG or iceberg://CATALOG"


@dataclass(frozen=True)
class Place:
    """The tables of a target. Each database of the server is a folder or a namespace."""

    format: Literal["delta", "iceberg"]
    catalog: str | None
    """A catalog of the session; None for a folder."""
    folder: str
    """A local path, or a URI; empty for a catalog."""

    @classmethod
    def parse(cls, target: str) -> Place:
        """Parses a target.

        Raises:
            ConfigError: It has another form, or another program has written the folder.
        """
        catalog = re.fullmatch(r"(delta|iceberg)://([^/]+)/?", target)
        if catalog is not None:
            name: Literal["delta", "iceberg"] = "delta" if catalog[1] == "delta" else "iceberg"
            return cls(name, catalog[2], "")
        uri = target.removeprefix("delta+")
        if uri == target or "://" not in uri:
            raise ConfigError(f"the target {target!r} is not known: write {_FORMS}")
        if not uri.startswith("file://"):
            return cls("delta", None, uri.rstrip("/"))
        rest = uri.removeprefix("file://")
        if not rest.startswith("/") or rest == "/":
            raise ConfigError(
                f"the target {target!r} has no folder: write delta+file:///lake, or"
                " delta+file:////var/lib/lake for an absolute path"
            )
        folder = Path(rest[1:]).absolute()
        if (folder / OWN_OF_SYNC).exists():
            raise ConfigError(
                f"the folder {folder} is a target of binarrow sync, which writes the tables without"
                " Spark: choose another folder"
            )
        return cls("delta", None, str(folder))

    @property
    def is_local(self) -> bool:
        """True if the tables are in a local folder."""
        return self.folder.startswith("/")

    @property
    def may_be_local(self) -> bool:
        """True if the tables are in a local folder, or in a catalog, which may be in one."""
        return self.is_local or self.catalog is not None

    def table(self, name: Name) -> str:
        """Returns the name of a table in Spark's SQL."""
        if self.catalog is None:
            path = "/".join((self.folder, *(folder_name(part) for part in name)))
            return f"delta.{quoted_name(path)}"
        return f"{self._namespace(name[0])}.{quoted_name(name[1])}"

    def create_namespace(self, spark: SparkSession, database: str) -> None:
        """Creates the namespace of a database."""
        if self.catalog is not None:
            spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self._namespace(database)}")

    def drop(self, spark: SparkSession, name: Name) -> None:
        """Drops a table."""
        if self.catalog is not None:
            spark.sql(f"DROP TABLE IF EXISTS {self.table(name)}")
            return
        # Delta does not drop a folder. It gets another name first, so that a query that is killed
        # meanwhile does not find a part of the table in a local folder.
        folder = "/".join((self.folder, *map(folder_name, name)))
        own = f"{self.folder}/{OWN}"
        if self.is_local:
            Path(own).mkdir(exist_ok=True)
            move_away(Path(folder), Path(own))
        else:
            _delete_remote(spark, folder, own)
        spark.catalog.refreshByPath(folder)

    def tables(self, spark: SparkSession, database: str) -> list[str]:
        """Returns the names in Spark's SQL of all tables of a database that are in the target."""
        if self.catalog is not None:
            namespace = self._namespace(database)
            found = spark.sql(f"SHOW NAMESPACES IN {quoted_name(self.catalog)}").collect()
            if database.lower() not in {row.namespace.strip("`").lower() for row in found}:
                return []
            rows = spark.sql(f"SHOW TABLES IN {namespace}").where("NOT isTemporary").collect()
            return [f"{namespace}.{quoted_name(row.tableName)}" for row in rows]
        folder = f"{self.folder}/{folder_name(database)}"
        paths = _local_folders(folder) if self.is_local else _remote_folders(spark, folder)
        return [f"delta.{quoted_name(path)}" for path in sorted(paths)]

    def _namespace(self, database: str) -> str:
        assert self.catalog is not None  # noqa: S101 - a folder has no namespaces
        return f"{quoted_name(self.catalog)}.{quoted_name(database)}"


def _local_folders(folder: str) -> list[str]:
    """Returns the Delta tables in a folder."""
    return [str(path.parent) for path in Path(folder).glob("*/_delta_log")]


def _remote_folders(spark: SparkSession, folder: str) -> list[str]:
    path, files = _file_system(spark, folder)
    if not files.exists(path(folder)):
        return []
    found = [status.getPath().toString() for status in files.listStatus(path(folder))]
    return [each for each in found if files.exists(path(f"{each}/_delta_log"))]


def _delete_remote(spark: SparkSession, folder: str, own: str) -> None:
    """Renames and deletes a folder of a file system that Spark reaches.

    Raises:
        SyncError: It cannot be renamed.
    """
    path, files = _file_system(spark, folder)
    removed = path(f"{own}/{REMOVED}{uuid.uuid4()}")
    files.mkdirs(path(own))
    if not files.rename(path(folder), removed):
        raise SyncError(f"{folder} cannot be dropped: it cannot be renamed")
    files.delete(removed, True)  # noqa: FBT003 - with its content


def read_remote(spark: SparkSession, file: str) -> str | None:
    """Returns the text of a file of a file system that Spark reaches; None if there is no file."""
    path, files = _file_system(spark, file)
    if not files.exists(path(file)):
        return None
    return "\n".join(row.value for row in spark.read.text(file).collect())


def _file_system(spark: Any, folder: str) -> tuple[Any, Any]:
    """Returns Hadoop's class Path, and the file system of a folder."""
    path = spark._jvm.org.apache.hadoop.fs.Path  # noqa: SLF001 - Spark has no Python functions
    conf = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
    return path, path(folder).getFileSystem(conf)
