"""The rows of a Delta table, as the library of Delta returns them. binarrow does not read them."""

from __future__ import annotations

import re
from pathlib import Path

from deltalake import DeltaTable

from support.oracles.duckdb_tables import Rows, rows_of


def folder_of(lake: Path, table: str, kept: str = r"\w -") -> Path:
    return lake.joinpath(
        *(
            re.sub(f"[^{kept}]", lambda one: f"@{ord(one[0]):04x}", part)
            for part in table.split(".", 1)
        )
    )


def read_delta_store(lake: str, table: str, environment: dict[str, str]) -> Rows:
    """The rows of a table in an object store."""
    uri = f"{lake}/{folder_of(Path(), table, 'A-Za-z0-9_-')}"
    return _rows(DeltaTable(uri, storage_options={**environment, "AWS_ALLOW_HTTP": "true"}))


def read_delta(lake: Path, table: str) -> Rows:
    """The rows of a table. TIME is a number of microseconds there."""
    return _rows(DeltaTable(str(folder_of(lake, table))))


def _rows(table: DeltaTable) -> Rows:
    found = table.to_pyarrow_table()
    columns = [column.to_pylist() for column in found.columns]
    return rows_of(found.column_names, list(zip(*columns, strict=True)))
