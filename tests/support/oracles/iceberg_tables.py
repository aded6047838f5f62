"""The rows of an Iceberg table, as DuckDB or pyiceberg return them. binarrow does not read them."""

from __future__ import annotations

from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog

from support.oracles.duckdb_tables import Rows, rows_of


def catalog_of(lake: Path) -> SqlCatalog:
    return SqlCatalog("default", uri=f"sqlite:///{lake}/catalog.db", warehouse=f"file://{lake}")


def read_iceberg(lake: Path, table: str) -> Rows:
    """The rows of a table. TIME is a number of microseconds there."""
    return read_catalog(catalog_of(lake), table)


def read_catalog(catalog: Catalog, table: str) -> Rows:
    """The rows of a table of a catalog."""
    database, _, name = table.partition(".")
    found = catalog.load_table((database, name)).scan().to_arrow()
    columns = [column.to_pylist() for column in found.columns]
    return rows_of(found.column_names, list(zip(*columns, strict=True)))
