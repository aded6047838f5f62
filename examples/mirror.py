"""Mirrors tables in DuckDB with MERGE: `python examples/mirror.py` mirrors the shop's tables.

`merge` is for full row images (`binlog_row_image=FULL`), `fold` also for images with missing
columns, and `count` for tables without a key. Pass the batches of one table to them, in the order
of `read_binlog`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

import binarrow

SHOP = Path(__file__).parent / "shop"

OLD = "_change_type IN ('delete', 'update_preimage')"
NEW = "_change_type IN ('insert', 'update_postimage')"


def merge(
    duck: duckdb.DuckDBPyConnection, target: str, key: Sequence[str], changes: pa.RecordBatch
) -> None:
    """Applies the last change of each key; the row before an update counts as deleted."""
    columns = columns_of(duck, target)
    duck.register("changes", pa.table(changes))
    duck.execute(f"""
        MERGE INTO {target} AS t
        USING (
            SELECT * FROM changes
            QUALIFY row_number() OVER (
                PARTITION BY {", ".join(key)} ORDER BY _commit_version DESC, _change_ordinal DESC
            ) = 1
        ) AS c
        ON {each("t.{0} = c.{0}", key, " AND ")}
        WHEN MATCHED AND c.{OLD} THEN DELETE
        WHEN MATCHED THEN UPDATE SET {each("{0} = c.{0}", columns)}
        WHEN NOT MATCHED AND c.{NEW} THEN
            INSERT ({each("{0}", columns)}) VALUES ({each("c.{0}", columns)})
    """)


def fold(
    duck: duckdb.DuckDBPyConnection, target: str, key: Sequence[str], changes: pa.RecordBatch
) -> None:
    """Applies the last change that contains each column; missing columns of new rows are NULL.

    If an update changes the key and its image is not complete, the missing values are in the row
    of the old key. Such a change is a separate run; the changes between two of them are one run.
    """
    columns = columns_of(duck, target)
    others = [name for name in columns if name not in key]
    settings = each("{0} = CASE WHEN c._has_{0} THEN c.{0} ELSE t.{0} END", columns)
    duck.register("changes", pa.table(changes))
    duck.execute(f"""
        CREATE OR REPLACE TEMP TABLE steps AS
        WITH pairs AS ({pairs(columns, key)}), known AS (
            SELECT *, {each("_has_{0}", columns, " AND ")} AS _is_full,
                _was AND _is AND ({each("{0} <> _old_{0}", key, " OR ")}) AS _is_move
            FROM pairs
        ), made AS (
            SELECT _version, _ordinal, 0 AS _half, 'deleted' AS _step, false AS _is_cut,
                {each("_old_{0} AS {0}, _old_{0}", key)}, {each("true AS _has_{0}", columns)}
            FROM known WHERE _was AND (NOT _is OR (_is_move AND _is_full))
            UNION ALL BY NAME
            SELECT _version, _ordinal, 1 AS _half, _is_move AND NOT _is_full AS _is_cut,
                CASE WHEN _is_insert OR (_is_move AND _is_full) THEN 'new' ELSE 'set' END AS _step,
                {each("{0}, _has_{0}", columns)}, {each("_old_{0}", key)}
            FROM known WHERE _is
        )
        SELECT *, row_number() OVER in_order AS _place,
            2 * count_if(_is_cut) OVER in_order - _is_cut::INT AS _run
        FROM made WINDOW in_order AS (ORDER BY _version, _ordinal, _half)
    """)
    for (run,) in duck.execute("SELECT DISTINCT _run FROM steps ORDER BY _run").fetchall():
        if run % 2 == 1:
            duck.execute(f"""
                UPDATE {target} AS t SET {settings} FROM steps AS c
                WHERE _run = {run} AND {each("t.{0} = c._old_{0}", key, " AND ")}
            """)
            continue
        latest = "last({0} ORDER BY _place) FILTER (WHERE _has_{0}) AS {0}"
        duck.execute(f"""
            MERGE INTO {target} AS t
            USING (
                SELECT {each("{0}, true AS _has_{0}", key)}, {each(latest, others)},
                    {each("bool_or(_has_{0} OR _step = 'new') AS _has_{0}", others)},
                    last(_step ORDER BY _place) = 'deleted' AS _deleted
                FROM (
                    SELECT * FROM steps WHERE _run = {run}
                    QUALIFY _place >= coalesce(max(_place) FILTER (WHERE _step <> 'set')
                        OVER (PARTITION BY {each("{0}", key)}), 0)
                )
                GROUP BY {each("{0}", key)}
            ) AS c
            ON {each("t.{0} = c.{0}", key, " AND ")}
            WHEN MATCHED AND _deleted THEN DELETE
            WHEN MATCHED THEN UPDATE SET {settings}
            WHEN NOT MATCHED AND NOT _deleted THEN
                INSERT ({each("{0}", columns)}) VALUES ({each("c.{0}", columns)})
        """)


def count(duck: duckdb.DuckDBPyConnection, target: str, changes: pa.RecordBatch) -> None:
    """Applies changes of a table without a key; `target` counts equal rows in `copies`."""
    columns = [name for name in columns_of(duck, target) if name != "copies"]
    duck.register("changes", pa.table(changes))
    duck.execute(f"""
        MERGE INTO {target} AS t
        USING (
            WITH pairs AS ({pairs(columns, columns)})
            SELECT {each("{0}", columns)}, sum(_n) AS _n FROM (
                SELECT {each("_old_{0} AS {0}", columns)}, -1 AS _n FROM pairs WHERE _was
                UNION ALL BY NAME
                SELECT {each("{0}", columns)}, 1 AS _n FROM pairs WHERE _is
            )
            GROUP BY {each("{0}", columns)} HAVING sum(_n) <> 0
        ) AS c
        ON {each("t.{0} IS NOT DISTINCT FROM c.{0}", columns, " AND ")}
        WHEN MATCHED AND t.copies + c._n = 0 THEN DELETE
        WHEN MATCHED THEN UPDATE SET copies = t.copies + c._n
        WHEN NOT MATCHED THEN
            INSERT ({each("{0}", columns)}, copies) VALUES ({each("c.{0}", columns)}, c._n)
    """)


def pairs(columns: Sequence[str], key: Sequence[str]) -> str:
    """SQL with one row per change: the old key `_old_…`, the new row, and `_has_…`: logged or not.

    Both halves of an update have the same `_change_ordinal // 2`. A key column that the second half
    leaves out is unchanged.
    """
    bits = "get_bit(a._present::BIT, {1} // 8 * 8 + 7 - {1} % 8) = 1"  # the lowest bit is the first
    kept = f"CASE WHEN {bits} OR b._present IS NULL THEN a.{{0}} ELSE b.{{0}} END AS {{0}}"
    values = [
        (kept if name in key else "a.{0}").format(name, columns.index(name)) for name in columns
    ]
    has = [
        f"coalesce({bits}, false) AS _has_{{0}}".format(*one[::-1]) for one in enumerate(columns)
    ]
    return f"""
        SELECT coalesce(a._commit_version, b._commit_version) AS _version,
            coalesce(a._change_ordinal, b._change_ordinal) // 2 AS _ordinal,
            b._present IS NOT NULL AS _was, a._present IS NOT NULL AS _is,
            a._change_type = 'insert' AS _is_insert,
            {", ".join(values)}, {", ".join(has)}, {each("b.{0} AS _old_{0}", key)}
        FROM (SELECT * FROM changes WHERE {NEW}) AS a
        FULL JOIN (SELECT * FROM changes WHERE {OLD}) AS b
        ON a._commit_version = b._commit_version AND a._change_ordinal // 2 = b._change_ordinal // 2
    """


def columns_of(duck: duckdb.DuckDBPyConnection, target: str) -> list[str]:
    """Returns the columns of a table."""
    return [str(row[0]) for row in duck.execute(f"DESCRIBE {target}").fetchall()]


def each(text: str, names: Sequence[str], between: str = ", ") -> str:
    """Returns the text once for each name, which replaces `{0}`."""
    return between.join(text.format(name) for name in names)


def main() -> None:
    """Mirrors three tables of the shop, which logs full row images, and counts their rows."""
    duck = duckdb.connect()
    duck.execute("CREATE SCHEMA shop")
    keys = {"customers": ["id"], "products": ["sku"], "order_items": ["order_id", "line"]}
    made = set()
    reader = binarrow.read_binlog(
        SHOP / "binlog.*", tables=[f"shop.{name}" for name in keys], types="spark"
    )
    for change in reader:
        target = f"shop.{change.table}"
        if target not in made:  # with the columns of its first batch, without the envelope
            duck.register("first", pa.table(change))
            own = "COLUMNS(lambda name: NOT starts_with(name, '_'))"
            duck.execute(f"CREATE TABLE {target} AS SELECT {own} FROM first LIMIT 0")
            made.add(target)
        merge(duck, target, keys[change.table], change.to_pyarrow())
    for target in sorted(made):
        [(rows,)] = duck.execute(f"SELECT count(*) FROM {target}").fetchall()
        print(f"{target}: {rows} rows")


if __name__ == "__main__":
    main()
