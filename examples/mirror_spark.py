"""Mirrors of tables in Spark: what MERGE does, of DataFrames, so for storage without MERGE too.

Where the target is a table of Delta or Iceberg, `latest` is what to MERGE into it. `merge` and
`fold` are as in `mirror.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

OLD = "_change_type IN ('delete', 'update_preimage')"
NEW = "_change_type IN ('insert', 'update_postimage')"


def latest(key: Sequence[str], changes: DataFrame) -> DataFrame:
    """Of each key the latest change: its row goes where `OLD` says so, and else is as it says."""
    newest_first = Window.partitionBy(*key).orderBy(
        f.desc("_commit_version"), f.desc("_change_ordinal")
    )
    return changes.withColumn("_age", f.row_number().over(newest_first)).where("_age = 1")


def merge(mirror: DataFrame, key: Sequence[str], changes: DataFrame) -> DataFrame:
    """The mirror after changes of whole rows (`binlog_row_image=FULL`)."""
    last = latest(key, changes)
    kept = mirror.join(last, list(key), "left_anti")
    return kept.unionByName(last.where(NEW), allowMissingColumns=True).select(mirror.columns)


def fold(mirror: DataFrame, key: Sequence[str], changes: DataFrame) -> DataFrame:
    """The mirror after changes of rows with holes, by `_present`; in new rows holes are NULL.

    An update that gives a row another key, and does not tell all of it, leaves the rest under the
    old key. Such a change is a run of its own; the changes between two of them are one.
    """
    columns = mirror.columns
    told = steps(columns, key, changes).localCheckpoint()
    for (run,) in told.select("_run").distinct().orderBy("_run").collect():
        part = told.where(f.col("_run") == run)
        folded = part if run % 2 else _together(part, columns, key)
        joined = mirror.alias("t").join(folded.alias("c"), _same_key(key, old=run % 2 == 1), "full")
        is_told = f.col("c._step").isNotNull()
        values = [
            f.when(is_told & f.col(f"c._has_{name}"), f.col(f"c.{name}"))
            .otherwise(f.col(f"t.{name}"))
            .alias(name)
            for name in columns
        ]
        stays = ~is_told | (f.col("c._step") != "gone")
        mirror = joined.where(stays).select(values).localCheckpoint()
    return mirror


def steps(columns: Sequence[str], key: Sequence[str], changes: DataFrame) -> DataFrame:
    """What becomes of a key's row, in order: `gone`, `new` or `set`; what is told; in which run."""
    halves = changes.withColumn("_pair", f.expr("_change_ordinal div 2"))
    old = halves.where(OLD).select(
        "_commit_version",
        "_pair",
        *(f.col(name).alias(f"_old_{name}") for name in key),
        f.lit(1).alias("_was"),
    )
    has = [_holds(place).alias(f"_has_{name}") for place, name in enumerate(columns)]
    new = halves.where(NEW).select(
        "_commit_version", "_pair", "_change_type", *columns, *has, f.lit(1).alias("_is")
    )
    pairs = new.join(old, ["_commit_version", "_pair"], "full")
    was, is_ = f.col("_was").isNotNull(), f.col("_is").isNotNull()
    for name in key:  # a key that the second half of an update leaves out is as it was
        is_kept = f.col(f"_has_{name}") | ~was
        pairs = pairs.withColumn(
            name, f.when(is_kept, f.col(name)).otherwise(f.col(f"_old_{name}"))
        )
    moves = was & is_ & ~_all(f.col(name) == f.col(f"_old_{name}") for name in key)
    whole = _all(f.col(f"_has_{name}") for name in columns)
    pairs = pairs.withColumn("_moves", moves).withColumn(
        "_whole", f.coalesce(whole, f.expr("false"))
    )

    gone = pairs.where(was & (~is_ | (f.col("_moves") & f.col("_whole")))).select(
        "_commit_version",
        "_pair",
        *(f.col(f"_old_{n}").alias(n) if n in key else f.lit(None).alias(n) for n in columns),
        *(f.expr("true").alias(f"_has_{name}") for name in columns),
        *(f"_old_{name}" for name in key),
        f.lit("gone").alias("_step"),
        f.expr("false").alias("_is_cut"),
        f.lit(0).alias("_half"),
    )
    is_new = (f.col("_change_type") == "insert") | (f.col("_moves") & f.col("_whole"))
    there = (
        pairs.where(is_)
        .withColumn("_step", f.when(is_new, "new").otherwise("set"))
        .withColumn("_is_cut", f.col("_moves") & ~f.col("_whole"))
        .withColumn("_half", f.lit(1))
        .select(gone.columns)
    )
    in_order = Window.orderBy("_commit_version", "_pair", "_half")
    return (
        gone.unionByName(there)
        .withColumn("_place", f.row_number().over(in_order))
        .withColumn(
            "_run",
            2 * f.sum(f.col("_is_cut").cast("int")).over(in_order) - f.col("_is_cut").cast("int"),
        )
    )


def _together(part: DataFrame, columns: Sequence[str], key: Sequence[str]) -> DataFrame:
    """What the steps of a run come to, by key: since its row was last new, or gone."""
    by_key = Window.partitionBy(*key)
    start = f.max(f.when(f.col("_step") != "set", f.col("_place"))).over(by_key)
    since = part.withColumn("_start", start).where("_start IS NULL OR _place >= _start")
    others = [name for name in columns if name not in key]
    return since.groupBy(*key).agg(
        f.max_by("_step", "_place").alias("_step"),
        *(f.expr("true").alias(f"_has_{name}") for name in key),
        *(
            f.max_by(name, f.when(f.col(f"_has_{name}"), f.col("_place"))).alias(name)
            for name in others
        ),
        *(
            f.bool_or((f.col("_step") == "new") | f.col(f"_has_{name}")).alias(f"_has_{name}")
            for name in others
        ),
    )


def _same_key(key: Sequence[str], *, old: bool) -> Column:
    return _all(
        f.col(f"t.{name}") == f.col(f"c._old_{name}" if old else f"c.{name}") for name in key
    )


def _holds(place: int) -> Column:
    """Whether an image holds a column: its bit in `_present`, the lowest of a byte first."""
    byte = f.conv(f.hex(f.expr(f"substring(_present, {place // 8 + 1}, 1)")), 16, 10).cast("int")
    return f.getbit(byte, f.lit(place % 8)) == 1


def _all(conditions: Iterable[Column]) -> Column:
    first, *others = conditions
    for one in others:
        first &= one
    return first
