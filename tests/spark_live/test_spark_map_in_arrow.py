"""Tasks that log in by themselves read a server's log between two places as SELECT has it afterwards."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PythonException

import binarrow
from binarrow.spark import decoder, splits
from binarrow.spark.live.login import login
from binarrow.spark.schema import server_schema
from support import live
from support.servers.servers import Server

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

PASSWORD = "t@sk:s3cret"
TABLE = "live.shop"
COLUMNS = ("id", "name", "price", "at")


@pytest.fixture(scope="module", params=("mysql", "mariadb-11.8"))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with live.server(request.param, "--binlog-row-metadata=FULL") as started:
        how = "WITH caching_sha2_password" if request.param == "mysql" else ""
        started.execute(
            f"CREATE USER task@'%' IDENTIFIED {how} BY '{PASSWORD}' REQUIRE SSL",
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO task@'%'",
            "GRANT SELECT ON live.* TO task@'%'",
            f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4,"
            " price DECIMAL(9,2), at DATETIME(3))",
        )
        yield started


@pytest.fixture(scope="module")
def keywords(server: Server) -> dict[str, Any]:
    [ca] = [each for each in live.certificates() if each.startswith("--ssl-ca=")]
    return {"password": PASSWORD, "tls": "verify_identity", "tls_ca": ca.removeprefix("--ssl-ca=")}


@pytest.fixture(scope="module")
def url(server: Server) -> str:
    return f"mysql://task@localhost:{server.port}/"


def play(server: Server, seed: int, transactions: int) -> None:
    """Random transactions over several files: changes of keys, rollbacks, an XA transaction over a file's end."""
    rng = random.Random(seed)
    for number in range(transactions):
        statements = ["BEGIN"]
        for _ in range(rng.randint(1, 6)):
            key, other = rng.randint(1, 60), rng.randint(1, 60)
            price = "NULL" if rng.random() < 0.1 else f"{rng.randint(-99999, 99999) / 100:.2f}"
            at = f"2026-11-22 06:{rng.randint(10, 59)}:00.{rng.randint(0, 999):03}"
            statements += rng.choices(
                (
                    f"REPLACE INTO {TABLE} VALUES ({key}, 'n{rng.random()} ü🎉', {price}, '{at}')",
                    f"UPDATE {TABLE} SET price = {price} WHERE id BETWEEN {key} AND {key + 5}",
                    f"UPDATE IGNORE {TABLE} SET id = {other} WHERE id = {key}",
                    f"DELETE FROM {TABLE} WHERE id = {key}",
                ),
                weights=(5, 2, 2, 1),
            )
        statements.append("ROLLBACK" if rng.random() < 0.15 else "COMMIT")
        server.execute(*statements)
        if number % (transactions // 5) == transactions // 10:
            server.execute("FLUSH BINARY LOGS")
    prepared = f"REPLACE INTO {TABLE} VALUES (1000, 'prepared', {seed}, NULL)"
    other = server.connect()
    other.execute("XA START 'x'", prepared, "XA END 'x'", "XA PREPARE 'x'")
    other.close()
    server.execute("FLUSH BINARY LOGS", f"REPLACE INTO {TABLE} VALUES (1001, 'last', NULL, NULL)")
    live.decide(server, "XA COMMIT 'x'")


def selected(server: Server) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in server.query(f"SELECT {', '.join(COLUMNS)} FROM {TABLE}"))


def applied(before: list[tuple[Any, ...]], changes: list[Row]) -> list[tuple[Any, ...]]:
    """The rows after the changes, in log order."""
    rows = {row[0]: row for row in before}
    for change in sorted(changes, key=lambda row: (row._commit_version, row._change_ordinal)):
        row = tuple(change[name] for name in COLUMNS)
        if change._change_type == "insert":
            assert row[0] not in rows
            rows[row[0]] = row
        else:
            assert rows[row[0]] is not None
            if change._change_type == "update_preimage":
                assert rows[row[0]] == row
            elif change._change_type == "delete":
                assert rows.pop(row[0]) == row
            else:
                rows[row[0]] = row
    return sorted(rows.values())


def test_two_tasks_over_tls(
    spark: SparkSession, server: Server, url: str, keywords: dict[str, Any], tmp_path: Path
) -> None:
    play(server, 1, 20)
    before, start = selected(server), binarrow.connect(url, **keywords).position()
    play(server, 7, 150)
    after, stop = selected(server), binarrow.connect(url, **keywords).position()
    play(server, 8, 20)
    declared = server_schema(login(url, keywords), TABLE)

    def ssl_logins() -> int:
        return int(server.query("SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'")[0][1])

    def read(ranges: DataFrame, **given: Any) -> list[Row]:
        return ranges.mapInArrow(decoder(TABLE, declared, **given), declared).collect()

    ranges = splits(spark, url, start=start, stop=stop, **keywords)
    found = ranges.collect()
    files = int(stop.file.split(".")[1]) - int(start.file.split(".")[1]) + 1
    assert len(found) == files > 5
    assert found[0].path == f"localhost:{server.port}/{start.file}"
    assert (found[0].start, found[-1].stop) == (start.offset, stop.offset)
    assert PASSWORD not in str(found)
    changes = read(ranges, **keywords)
    assert applied(before, changes) == after
    assert len(changes) > 300

    # Two tasks, each with connections of its own, password and certificate out of files that only the driver has.
    (tmp_path / "password").write_text(PASSWORD + "\n")
    (tmp_path / "ca.pem").write_bytes(Path(keywords["tls_ca"]).read_bytes())
    from_file = {
        **keywords,
        "password_file": tmp_path / "password",
        "tls_ca": tmp_path / "ca.pem",
    }
    del from_file["password"]
    two = splits(spark, url, start=start, stop=stop, num_partitions=2, **from_file)
    task = decoder(TABLE, declared, **from_file)
    (tmp_path / "password").unlink()
    (tmp_path / "ca.pem").unlink()
    logins = ssl_logins()
    frame = two.mapInArrow(task, declared)
    assert sorted(map(str, frame.collect())) == sorted(map(str, changes))
    assert ssl_logins() - logins >= 2
    assert frame.rdd.getNumPartitions() == 2
    assert PASSWORD not in frame._jdf.queryExecution().toString()
    live.until(lambda: not live.dumps(server))

    # Places by name, by GTID and by time.
    log = binarrow.connect(url, **keywords).binlogs()
    whole = splits(spark, url, **keywords)
    assert whole.count() == len(log)
    assert applied([], read(whole, **keywords)) == selected(server)
    by_name = splits(
        spark,
        url,
        start=f"{start.file}:{start.offset}",
        stop=f"{stop.file}:{stop.offset}",
        **keywords,
    )
    assert sorted(map(str, read(by_name, **keywords))) == sorted(map(str, changes))
    by_gtid = splits(spark, url, start=start.gtid_set, stop=stop, **keywords)
    assert applied(before, read(by_gtid, **keywords)) == after
    assert splits(spark, url, start="latest", **keywords).count() == 0
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    assert splits(spark, url, start=soon, **keywords).count() == 0


def test_what_cannot_be(
    spark: SparkSession, server: Server, url: str, keywords: dict[str, Any]
) -> None:
    with pytest.raises(binarrow.ConfigError, match="password in the URL") as refused:
        splits(spark, url.replace("task@", "task:oh-secret@"))
    assert "oh-secret" not in str(refused.value)
    with pytest.raises(binarrow.AuthenticationError):
        splits(spark, url, **{**keywords, "password": "wrong"})
    with pytest.raises(binarrow.ConfigError, match="is not a place in the log"):
        splits(spark, url, start="begin", **keywords)
    with pytest.raises(TypeError, match="did you mean 'password'"):
        splits(spark, url, pasword="x")
    with pytest.raises(binarrow.ConfigError, match="for the URL of a server"):
        splits(spark, "/archive", start="earliest")
    with pytest.raises(binarrow.ConfigError, match="for files, not for a server"):
        splits(spark, url, storage_options={}, **keywords)
    with pytest.raises(binarrow.PositionPurgedError):
        splits(spark, url, start="binlog.000000:4", **keywords)
    declared = server_schema(login(url, keywords), TABLE)
    ranges = splits(spark, url, num_partitions=1, **keywords)
    with pytest.raises(PythonException, match="has no login for the server"):
        ranges.mapInArrow(decoder(TABLE, declared), declared).collect()
    wrong = decoder(TABLE, declared, **{**keywords, "password": "wr0ng"})
    with pytest.raises(PythonException) as failure:
        ranges.mapInArrow(wrong, declared).collect()
    assert "AuthenticationError" in str(failure.value)
    assert "wr0ng" not in str(failure.value)
