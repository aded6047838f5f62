"""The place of the tables: a folder of Delta tables, or a catalog of the session."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from binarrow import ConfigError
from binarrow.sql import quoted_name
from binarrow.syncing.lake_folders import OWN as OWN_OF_SYNC
from binarrow.syncing.lake_folders import folder_name
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

    def _namespace(self, database: str) -> str:
        assert self.catalog is not None  # noqa: S101 - a folder has no namespaces
        return f"{quoted_name(self.catalog)}.{quoted_name(database)}"
