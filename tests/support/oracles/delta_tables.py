"""The rows of a Delta table, as the library of Delta returns them. binarrow does not read them."""

from __future__ import annotations

import re
from pathlib import Path

from deltalake import DeltaTable

from support.oracles.duckdb_tables import Rows, rows_of


def folder_of(lake: Path, table: str) -> Path:
    return lake.joinpath(
        *(
            re.sub(r"[^\w -]", lambda one: f"@{ord(one[0]):04x}", part)
            for part in table.split(".", 1)
        )
    )


def read_delta(lake: Path, table: str) -> Rows:
    """The rows of a table. TIME is a number of microseconds there."""
    found = DeltaTable(str(folder_of(lake, table))).to_pyarrow_table()
    columns = [column.to_pylist() for column in found.columns]
    return rows_of(found.column_names, list(zip(*columns, strict=True)))
