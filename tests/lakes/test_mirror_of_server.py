"""Random changes on servers, applied batch by batch with some batches twice: the mirror is what SELECT gives."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from binarrow.spark import register
from support.servers.servers import Server
from support.spark_sync import ALL, OTHER
from support.workloads.key_workload import DATABASE, KeyWorkload

TABLE = f"{DATABASE}.by_both"
# `make test-python` runs the tests with Parquet, on both servers.
IS_PARQUET = os.environ.get("BINARROW_LAKE", "parquet") == "parquet"
KEY_CHANGES = ("SET code", "SET area", "REPLACE")


@pytest.fixture(scope="module", params=ALL if IS_PARQUET else OTHER)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server.start(request.param) as started:
        yield started


class Workload(KeyWorkload):
    """Statements on one table, which gets another column later. Images with missing columns come without changes of keys."""

    def play_some(self, transactions: int, also: tuple[str, ...] = ()) -> None:
        for _ in range(transactions):
            image = self.rng.choice(self.images)
            self.session.execute(f"SET SESSION binlog_row_image = {image}", "BEGIN")
            for _ in range(self.rng.choice((1, 2, 5))):
                for statement in (*self.statements(TABLE), *also):
                    if image == "FULL" or not any(word in statement for word in KEY_CHANGES):
                        self.play(
                            statement.replace("both VALUES", "both (area, code, n, note) VALUES")
                        )
            self.session.execute(self.rng.choice(("COMMIT",) * 9 + ("ROLLBACK",)))


@pytest.mark.parametrize(
    ("images", "options"),
    [
        pytest.param(
            ("FULL",),
            {"oldValue": "true", "splitKeyUpdates": "true"},
            marks=pytest.mark.thorough(by="full-new and minimal-new"),
        ),
        (("FULL",), {"oldValue": "false", "splitKeyUpdates": "false"}),
        pytest.param(
            ("MINIMAL", "NOBLOB", "FULL"),
            {"oldValue": "true", "splitKeyUpdates": "true"},
            marks=pytest.mark.thorough(by="full-new and minimal-new"),
        ),
        (("MINIMAL", "NOBLOB"), {"oldValue": "false", "splitKeyUpdates": "true"}),
    ],
    ids=["full", "full-new", "minimal", "minimal-new"],
)
def test_the_mirror_is_the_table(
    lake: Any, server: Server, images: tuple[str, ...], options: dict[str, str]
) -> None:
    rng = random.Random(f"{images}{options}")
    session = server.connect()
    workload = Workload(session, images, rng)
    workload.begin()
    server.flush_binlog()
    workload.play_some(8)
    session.execute(f"TRUNCATE {TABLE}")
    workload.play_some(8)
    first = str(server.flush_binlog())
    session.execute(f"ALTER TABLE {TABLE} ADD COLUMN extra INT FIRST")
    workload.play_some(10, (f"UPDATE {TABLE} SET extra = n WHERE area = 3",))
    second = str(server.flush_binlog())
    content = Counter(session.query(f"SELECT extra, area, code, n, note FROM {TABLE}"))
    session.execute(f"DROP DATABASE {DATABASE}")
    session.close()
    assert len(content) > 3

    register(lake.spark)
    target = lake.target()
    # The log contains the key. Files do not show that no column has a DEFAULT.
    apply = lake.apply(target, backfilled_columns="null")
    for log in (first, second):
        changes = (
            lake.spark.read.format("binarrow")
            .options(table=TABLE, truncates="emit", **options)
            .option("envelope", "change_type,commit_version,change_ordinal,present")
            .load(log)
        )
        rows = changes.toArrow()
        versions = sorted(set(rows["_commit_version"].to_pylist()))
        assert len(versions) > 6
        assert ("truncate" in rows["_change_type"].to_pylist()) == (log == first)
        frame = lake.spark.createDataFrame(rows, changes.schema)
        middle = rng.choice(versions[1:-1])
        for part in (f"_commit_version < {middle}", f"_commit_version >= {middle}"):
            for batch in range(rng.choice((1, 2))):
                apply(frame.where(part), batch)
    held = lake.read(target).select("extra", "area", "code", "n", "note").collect()
    assert Counter(tuple(row) for row in held) == content
