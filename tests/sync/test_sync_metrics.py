"""The metrics of a sync: their values, their names, and the alert rules that use them."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

import binarrow
from binarrow.syncing import commits, source_watch
from binarrow.syncing.metrics import text_of
from binarrow.syncing.source_status import SourceStatus
from binarrow.syncing.source_watch import retention
from support import live
from support.documents import REPOSITORY
from support.sync_source import SECRET, Source
from support.waiting import WAIT

RULES = REPOSITORY / "examples" / "prometheus" / "binarrow.rules.yml"
PAGE = REPOSITORY / "docs" / "guides" / "sync.md"

STRANGE = ['quo"te', "back\\slash", "dot.ted", "tick`ed", "{a='b'}", "ü"]

Samples = dict[str, dict[tuple[str, ...], float]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_watch, "SHORTEST", 0.1)
    monkeypatch.setattr(source_watch, "LONGEST", 0.1)
    monkeypatch.setattr(commits, "IDLE", 0.3)


def samples(text: str) -> Samples:
    """The values of each metric, by the values of its labels in the order of their names."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        for one in family.samples:
            key = tuple(text for _, text in sorted(one.labels.items()))
            assert found.setdefault(one.name, {}).setdefault(key, one.value) == one.value
    return found


def names(text: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\S+)", text, re.M))


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=WAIT) as answer:
        return answer.read().decode()


def of(found: Samples, name: str) -> float:
    [(key, value)] = found[name].items()
    assert key == ()
    return value


def test_values(source: Source, caplog: pytest.LogCaptureFixture) -> None:
    """Rows by kind are those of the server; the names of tables are escaped."""
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
        *(f"CREATE TABLE `{name.replace('`', '``')}` (id INT PRIMARY KEY)" for name in STRANGE),
    )
    caplog.set_level("INFO", "binarrow.sync")
    with source.syncing(metrics="127.0.0.1:0") as progress:
        live.until(lambda: progress.stats().complete_through)
        [url] = re.findall(r"metrics: (http://127.0.0.1:\d+/metrics)", caplog.text)
        source.execute(
            "INSERT INTO t VALUES (4, 4), (5, 5)",
            "UPDATE t SET v = v + 1 WHERE id < 4",
            "DELETE FROM t WHERE id = 5",
            *(f"INSERT INTO `{name.replace('`', '``')}` VALUES (7)" for name in STRANGE),
        )
        live.until(lambda: progress.stats().tables["shop", "ü"].inserts)
        source.execute("UPDATE t SET v = 0 WHERE id = 1")
        live.until(lambda: progress.stats().tables["shop", "t"].updates == 4)
        live.until(lambda: progress.stats().lag_seconds is not None and caught_up(source))
        text = read(url)
        found = samples(text)
        rows = found["binarrow_rows_total"]
        kinds = {"load": 3, "insert": 2, "update": 4, "delete": 1}
        assert {kind: rows["shop", kind, "t"] for kind in kinds} == kinds
        for name in STRANGE:
            assert rows["shop", "insert", name] == 1
        sizes = found["binarrow_bytes_total"]
        assert sizes["shop", "load", "t"] > 0
        assert 100 < sizes["shop", "log", "t"] < 1000
        assert found["binarrow_tables"] == {("followed",): 1 + len(STRANGE)}
        assert found["binarrow_load_estimated_rows"]["shop", "t"] >= 0
        now = time.time()
        assert 0 <= of(found, "binarrow_lag_seconds") < 5
        assert now - 5 < of(found, "binarrow_complete_through_timestamp_seconds") <= now
        assert now - 5 < of(found, "binarrow_last_commit_timestamp_seconds") <= now
        assert of(found, "binarrow_seconds_since_last_event") < 12
        assert of(found, "binarrow_commit_duration_seconds_count") >= 2
        assert of(found, "binarrow_commit_duration_seconds_sum") > 0
        assert of(found, "binarrow_log_received_bytes_total") > 500
        assert found["binarrow_errors_total"].keys() == {("source",), ("target",)}
        assert found["binarrow_errors_total"]["source",] == 0
        assert SECRET not in text
    with pytest.raises(urllib.error.URLError):
        read(url)
    source.check("shop.t")


def caught_up(source: Source) -> bool:
    try:
        file = duckdb.connect(str(source.file), read_only=True)
    except duckdb.Error:  # the sync has it open
        return False
    with file:
        return file.execute("SELECT count(*), sum(v) FROM shop.t").fetchall() == [(4, 11)]


def test_names_and_alerts(source: Source) -> None:
    """There are at most 20 metrics, all are in the documentation, and alerts use no others."""
    documented = set(re.findall(r"^\| `(binarrow_\w+)` \|", PAGE.read_text(), re.M))
    rare = {"binarrow_log_retention_headroom_seconds"} if is_unlimited(source) else set()
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    text = ""
    with source.syncing() as progress:
        live.until(lambda: progress.stats().complete_through)
        live.until(lambda: names(text_of(progress)) >= documented - rare)
        text = text_of(progress)
    assert names(text) == documented - rare
    assert len(documented) <= 20
    read_names = {*samples(text), *rare, "up"}
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    assert len(group["rules"]) > 5
    used = set()
    for rule in group["rules"]:
        assert {"alert", "expr", "labels", "annotations"} <= rule.keys() <= {*RULE_KEYS}
        assert is_balanced(rule["expr"])
        used |= metrics_in(rule["expr"])
        for note in rule["annotations"].values():
            assert note.count("{{") == note.count("}}")
    assert used <= read_names
    assert {"binarrow_lag_seconds", "binarrow_log_retention_headroom_seconds", "up"} <= used


RULE_KEYS = ("alert", "expr", "for", "labels", "annotations")

PROMQL = {"absent", "by", "histogram_quantile", "increase", "or", "rate", "sum"}
"""The functions and words of expressions that the rules use."""


def metrics_in(expression: str) -> set[str]:
    """The metrics in an expression: words outside of labels, ranges and groupings."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)", "", expression)
    return set(re.findall(r"[a-zA-Z_]\w*", bare)) - PROMQL


def is_balanced(expression: str) -> bool:
    pairs = {")": "(", "]": "[", "}": "{"}
    opened = []
    for letter in re.sub(r'"[^"]*"', "", expression):
        if letter in pairs.values():
            opened.append(letter)
        elif letter in pairs and (not opened or opened.pop() != pairs[letter]):
            return False
    return not opened


def test_expressions_are_checked() -> None:
    assert not is_balanced("sum(a")
    assert not is_balanced("rate(a[5m)]")
    assert metrics_in('sum by (x) (rate(a_total{b="c"}[5m])) > d') == {"a_total", "d"}


def is_unlimited(source: Source) -> bool:
    return source.server.is_mariadb  # as installed, it never purges


def test_reconnects(source: Source) -> None:
    """A lost connection is counted, of the log and of the questions, and the sync continues."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with source.syncing() as progress:
        live.until(lambda: progress.stats().complete_through)
        for (connection,) in source.server.query(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'mirror'"
        ):
            source.execute(f"KILL {connection}")
        source.execute("INSERT INTO t VALUES (1)")
        live.until(lambda: progress.stats().tables["shop", "t"].inserts == 1)
        live.until(lambda: progress.stats().errors["source"])
        before = progress.stats().complete_through
        live.until(lambda: (progress.stats().complete_through or before) > before)
        found = samples(text_of(progress))
        assert of(found, "binarrow_reconnects_total") >= 1
        assert found["binarrow_errors_total"]["source",] >= 1
    source.check("shop.t")


def test_a_busy_target(source: Source) -> None:
    """A commit that waits is counted once, and the lag increases meanwhile."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    holder = "import duckdb, sys; f = duckdb.connect(sys.argv[1], read_only=True); print(1, flush=True); sys.stdin.read()"
    with source.syncing() as progress:
        live.until(lambda: progress.stats().complete_through)
        process: Any = None
        while process is None:
            process = subprocess.Popen(
                [sys.executable, "-c", holder, str(source.file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if process.stdout.readline() != b"1\n":  # the sync had it open
                process.kill()
                process.wait()
                process = None
        source.execute("INSERT INTO t VALUES (1)")
        live.until(lambda: progress.stats().errors["target"])
        before = progress.stats().commits
        live.until(lambda: (progress.stats().lag_seconds or 0) > 1)
        assert progress.stats().errors["target"] == 1
        assert progress.stats().commits == before
        process.communicate()
        live.until(lambda: progress.stats().commits > before)
        live.until(lambda: (progress.stats().lag_seconds or 9) < 1)
    source.check("shop.t")


def test_retention(source: Source) -> None:
    """The time until the server purges the file of the position: from its end on, it decreases."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    name = "expire_logs_days" if source.server.is_mariadb else "binlog_expire_logs_seconds"
    unit = 86400 if source.server.is_mariadb else 1
    [(before,)] = source.server.query(f"SELECT @@GLOBAL.{name}")
    try:
        source.execute(f"SET GLOBAL {name} = {86400 // unit}")
        with source.syncing(every=1000.0) as progress:
            live.until(lambda: progress.stats().complete_through)
            assert progress.stats().retention_headroom_seconds == 86400
            rotated = time.time()
            source.execute("FLUSH BINARY LOGS", "INSERT INTO t VALUES (1)")  # is not committed yet
            left = live.until(lambda: decreased(progress))
            assert 86400 - (time.time() - rotated) - 2 < left < 86400
            assert (progress.stats().log_bytes_to_read or 0) > 50
            source.execute(f"SET GLOBAL {name} = 0")
            live.until(lambda: progress.stats().retention_headroom_seconds is None)
            assert "retention" not in text_of(progress)
    finally:
        source.execute(f"SET GLOBAL {name} = {before}")


def decreased(progress: binarrow.SyncProgress) -> float | None:
    found = progress.stats().retention_headroom_seconds
    return found if found is not None and found < 86400 else None


def test_retention_of_variables() -> None:
    day = timedelta(days=1)
    for variables, expected in (
        ({"binlog_expire_logs_seconds": "86400"}, day),
        ({"binlog_expire_logs_seconds": "0", "expire_logs_days": "0.5"}, day / 2),
        ({"binlog_expire_logs_seconds": "86400", "expire_logs_days": "1.000000"}, day),
        ({"expire_logs_days": "0"}, None),
        ({}, None),
        ({"binlog_expire_logs_seconds": "5", "binlog_expire_logs_auto_purge": "OFF"}, None),
        ({"binlog_expire_logs_seconds": "5", "max_binlog_total_size": "1000000"}, None),
        ({"binlog_expire_logs_seconds": "5", "max_binlog_total_size": "0"}, timedelta(seconds=5)),
        ({"binlog_expire_logs_seconds": "5", "basedir": "/rdsdbbin/mysql/"}, None),
    ):
        assert retention(variables) == expected, variables


def test_places_in_the_log() -> None:
    files = [binarrow.Binlog("b.000009", 900), binarrow.Binlog("b.000010", 500)]
    ends = {"b.000009": datetime.now(UTC) - timedelta(hours=3)}
    status = SourceStatus("s", datetime.now(UTC), timedelta(0), files, timedelta(hours=2), ends)

    def at(file: str, offset: int, server: str = "s") -> binarrow.Position:
        return binarrow.Position(file, offset).replace(server=server)

    assert status.bytes_after(at("b.000009", 400)) == 1000
    assert status.bytes_after(at("b.000010", 600)) == 0
    assert status.bytes_after(at("b.000008", 4)) is None
    assert status.bytes_after(at("b.000010", 4, "other")) is None
    assert status.is_reached(at("b.000010", 500))
    assert status.is_reached(at("b.000011", 4))
    assert not status.is_reached(at("b.000010", 499))
    assert not status.is_reached(at("b.000009", 900))
    assert not status.is_reached(at("b.000011", 4, "other"))
    assert status.headroom(at("b.000009", 400)) == 0
    assert status.headroom(at("b.000010", 4)) == 7200
    assert status.headroom(at("b.000008", 4)) is None


def test_a_port_in_use(source: Source, tmp_path: Path) -> None:
    """It is an error before anything is read or written."""
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with source.syncing(metrics="127.0.0.1:0") as progress:
        live.until(lambda: progress.stats().complete_through)
    from binarrow.metrics.server import serve

    with serve("0", str) as url:
        port = re.findall(r":(\d+)/", url)[0]
        with pytest.raises(binarrow.ConfigError, match=rf"127.0.0.1:{port}: .* in use"):
            source.other().sync(metrics=f"127.0.0.1:{port}")
    assert not (source.folder / "other" / "copy.duckdb").exists()
