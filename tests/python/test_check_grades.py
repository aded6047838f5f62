"""`server.check()`: the grade of each setting, and what to change. No server is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

import binarrow
from binarrow.server.check import Check
from binarrow.server.preflight import VARIABLES, checks

GOOD = {
    "log_bin": "ON",
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
    "binlog_row_metadata": "FULL",
    "binlog_row_value_options": "",
    "binlog_checksum": "CRC32",
    "binlog_expire_logs_seconds": "2592000",
    "binlog_expire_logs_auto_purge": "ON",
    "binlog_transaction_compression": "OFF",
    "gtid_mode": "ON",
    "server_id": "1",
    "sync_binlog": "1",
    "log_replica_updates": "ON",
}

MARIADB = {
    **{name: GOOD[name] for name in GOOD if name not in ("gtid_mode", "log_replica_updates")},
    "expire_logs_days": "30.000000",
    "log_slave_updates": "ON",
    "log_bin_compress": "OFF",
    "max_binlog_total_size": "0",
}


WORSE = ("OFF", "MINIMAL", "NONE", "STATEMENT", "PARTIAL_JSON")
"""Values that some variables should not have."""


def denied() -> binarrow.ServerError:
    error = binarrow.ServerError("Access denied; you need REPLICATION CLIENT")
    error.code = 1227
    return error


@dataclass
class Server:
    """A server that answers the queries of a check."""

    settings: dict[str, str] = field(default_factory=lambda: dict(GOOD))
    flavor: str = "mysql"
    version: str = "9.7.4"
    granted: tuple[str, ...] = (
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO `me`@`%`",
        "GRANT SELECT ON `shop`.* TO `me`@`%`",
    )
    hidden: tuple[str, ...] = ()
    is_visible: bool = True
    xa: int = 0
    log_status: bool = True
    filters: tuple[str, ...] = ()
    error: binarrow.ServerError | None = None
    tls_version: str | None = "TLSv1.3"
    is_local: bool = False

    def variables(self, *names: str) -> dict[str, str]:
        assert set(names) == set(VARIABLES)
        return {name: self.settings[name] for name in names if name in self.settings}

    def database_filters(self) -> list[str]:
        if self.error is not None:
            raise self.error
        return list(self.filters)

    def binlogs(self) -> list[object]:
        if self.error is not None:
            raise self.error
        return []

    def position(self) -> Any:
        if self.error is not None:
            raise self.error
        return SimpleNamespace(visible_to_select=self.is_visible)

    def describe(self, table: str) -> None:
        if "*" in table:
            raise binarrow.ConfigError("a pattern")
        if table in self.hidden:
            error = binarrow.ServerError("SELECT command denied")
            error.code = 1142
            raise error

    def grants(self) -> list[str]:
        return list(self.granted)

    def xa_commits(self) -> int:
        return self.xa

    def may_read_log_status(self) -> bool:
        return self.log_status


def graded(use: Any = None, tables: tuple[str, ...] = (), **changes: Any) -> dict[str, Check]:
    found = checks(Server(**changes), use, tables)  # type: ignore[arg-type]
    by_name = {check.name: check for check in found}
    assert len(by_name) == len(found)
    for check in found:
        # whatever is not right says what to do
        assert check.grade == "ok" or check.advice
    return by_name


def test_all_is_well():
    for settings, flavor in ((GOOD, "mysql"), (MARIADB, "mariadb")):
        found = graded(settings=settings, flavor=flavor)
        assert {check.grade for check in found.values()} == {"ok"}
        assert not any(check.advice for check in found.values())
        assert ("gtid_mode" in found) == (flavor == "mysql")


@pytest.mark.parametrize(
    ("change", "name", "grade", "value", "advice"),
    [
        ({"log_bin": "OFF"}, "log_bin", "error", "OFF", "log_bin"),
        ({"log_bin": None}, "log_bin", "error", "OFF", "log_bin"),
        ({"binlog_format": "STATEMENT"}, "binlog_format", "error", "STATEMENT", "ROW"),
        ({"binlog_format": "MIXED"}, "binlog_format", "error", "MIXED", "ROW"),
        ({"binlog_format": None}, "binlog_format", "ok", "ROW", ""),
        ({"server_id": "0"}, "server_id", "error", "0", "server_id = 1"),
        ({"binlog_row_image": "MINIMAL"}, "binlog_row_image", "warning", "MINIMAL", "FULL"),
        ({"binlog_row_image": "NOBLOB"}, "binlog_row_image", "warning", "NOBLOB", "FULL"),
        ({"binlog_row_image": "FULL_NODUP"}, "binlog_row_image", "ok", "FULL_NODUP", ""),
        ({"binlog_row_metadata": "MINIMAL"}, "binlog_row_metadata", "warning", "MINIMAL", "FULL"),
        ({"binlog_row_metadata": "NO_LOG"}, "binlog_row_metadata", "warning", "NO_LOG", "FULL"),
        ({"binlog_row_metadata": None}, "binlog_row_metadata", "warning", "unknown", "schemas="),
        (
            {"binlog_row_value_options": "PARTIAL_JSON"},
            "binlog_row_value_options",
            "ok",
            "PARTIAL_JSON",
            "",
        ),
        (
            {"binlog_row_value_options": "PARTIAL_JSON", "binlog_row_image": "MINIMAL"},
            "binlog_row_value_options",
            "warning",
            "PARTIAL_JSON",
            "json='diff'",
        ),
        ({"binlog_checksum": "NONE"}, "binlog_checksum", "warning", "NONE", "CRC32"),
        ({"binlog_transaction_compression": "ON"}, "compression of the log", "ok", "ON", ""),
        ({"binlog_expire_logs_seconds": "3600"}, "retention", "warning", "3600 s", "2592000"),
        ({"binlog_expire_logs_seconds": "86400"}, "retention", "ok", "1 days", ""),
        ({"binlog_expire_logs_seconds": "0"}, "retention", "ok", "by hand", "disk"),
        (
            {"binlog_expire_logs_seconds": "60", "binlog_expire_logs_auto_purge": "OFF"},
            "retention",
            "ok",
            "by hand",
            "disk",
        ),
        (
            {"binlog_expire_logs_seconds": None, "expire_logs_days": "7"},
            "retention",
            "ok",
            "7 days",
            "",
        ),
        (
            {"binlog_expire_logs_seconds": "0", "expire_logs_days": "0.500000"},
            "retention",
            "warning",
            "43200 s",
            "binlog_expire_logs_seconds = 2592000",
        ),
        ({"max_binlog_total_size": "1000"}, "max_binlog_total_size", "warning", "1000", "lags"),
        ({"gtid_mode": "ON_PERMISSIVE"}, "gtid_mode", "warning", "ON_PERMISSIVE", "ON"),
        ({"gtid_mode": None}, "gtid_mode", "warning", "OFF", "ON"),
        ({"sync_binlog": "0"}, "sync_binlog", "warning", "0", "sync_binlog = 1"),
        ({"log_replica_updates": "OFF"}, "log_replica_updates", "warning", "OFF", "replica"),
        (
            {"log_replica_updates": None, "log_slave_updates": "OFF"},
            "log_replica_updates",
            "warning",
            "OFF",
            "replica",
        ),
    ],
)
def test_each_setting(change, name, grade, value, advice):
    settings = {key: text for key, text in {**GOOD, **change}.items() if text is not None}
    check = graded(settings=settings)[name]
    assert (check.name, check.grade) == (name, grade)
    assert value in check.value
    assert advice in check.advice
    assert bool(check.advice) == bool(advice)


def test_databases_that_are_left_out():
    check = graded(filters=("shop", "test,tmp"))["binlog_do_db, binlog_ignore_db"]
    assert (check.grade, check.value) == ("warning", "shop, test,tmp")
    assert "binlog_do_db, binlog_ignore_db" not in graded()


@pytest.mark.parametrize(
    ("granted", "may_ask", "missing"),
    [
        (("GRANT ALL PRIVILEGES ON *.* TO `me`@`%`",), True, []),
        (("GRANT SUPER, REPLICATION SLAVE ON *.* TO `me`@`%` WITH GRANT OPTION",), True, []),
        (("GRANT REPLICATION SLAVE ON *.* TO `me`@`%`",), False, ["REPLICATION CLIENT"]),
        (("GRANT REPLICATION CLIENT ON *.* TO `me`@`%`",), True, ["REPLICATION SLAVE"]),
        (
            ("GRANT USAGE ON *.* TO `me`@`%`", "GRANT ALL PRIVILEGES ON `shop`.* TO `me`@`%`"),
            False,
            ["REPLICATION SLAVE", "REPLICATION CLIENT"],
        ),
    ],
)
def test_privileges(granted, may_ask, missing):
    check = graded(granted=granted, error=None if may_ask else denied())["privileges"]
    assert check.grade == ("error" if missing else "ok")
    if missing:
        assert check.value == f"without {' and '.join(missing)}"
        assert check.advice == f"GRANT {', '.join(missing)} ON *.* TO the user"


def test_privileges_of_mariadb():
    one = graded(settings=MARIADB, flavor="mariadb", error=denied())["privileges"]
    assert one.value == "without BINLOG MONITOR"


def test_a_server_without_a_log_is_no_lack_of_privileges():
    error = binarrow.ServerError("the server writes no binary log")
    found = graded(settings={**GOOD, "log_bin": "OFF"}, error=error)
    assert found["privileges"].grade == "ok"
    assert found["log_bin"].grade == "error"


@pytest.mark.parametrize(
    ("tls_version", "is_local", "grade"),
    [("TLSv1.2", False, "ok"), (None, True, "ok"), (None, False, "warning")],
)
def test_tls(tls_version, is_local, grade):
    assert graded(tls_version=tls_version, is_local=is_local)["tls"].grade == grade


@pytest.mark.parametrize(
    ("use", "granted", "tables", "hidden", "history", "spark"),
    [
        (None, "SELECT ON *.*", (), (), "ok", "ok"),
        (None, "ALL PRIVILEGES ON *.*", (), (), "ok", "ok"),
        (None, "SELECT ON `shop`.*", (), (), "ok", "ok"),
        (None, "SELECT (`id`) ON `shop`.`orders`", (), (), "ok", "ok"),
        (None, "INSERT ON `shop`.*", (), (), "warning", "warning"),
        ("history", "INSERT ON `shop`.*", (), (), "error", None),
        ("spark", "INSERT ON `shop`.*", (), (), None, "error"),
        ("stream", "INSERT ON `shop`.*", (), (), None, None),
        ("spark", "SELECT ON `shop`.*", ("shop.orders",), (), None, "ok"),
        ("spark", "SELECT ON `shop`.*", ("shop.orders", "s.t"), ("s.t",), None, "error"),
        (None, "SELECT ON `shop`.*", ("s.t",), ("s.t",), "warning", "warning"),
        ("spark", "SELECT ON `shop`.*", ("shop.*",), (), None, "ok"),
    ],
)
def test_select_by_use(use, granted, tables, hidden, history, spark):
    grants = ("GRANT REPLICATION SLAVE ON *.* TO `me`@`%`", f"GRANT {granted} TO `me`@`%`")
    found = graded(use, tables, granted=grants, hidden=hidden)
    for name, grade in (("privileges for history", history), ("privileges for Spark", spark)):
        assert (found[name].grade if name in found else None) == grade
        if grade not in ("ok", None):
            where = ", ".join(hidden) or "*.*"
            assert found[name].advice.startswith(f"GRANT SELECT ON {where}")


@pytest.mark.parametrize(
    ("flavor", "version", "advice"),
    [
        ("mysql", "9.7.4", "SET PERSIST sync_binlog = 1: "),
        ("mysql", "8.0.36-log", "SET PERSIST sync_binlog = 1: "),
        (
            "mysql",
            "5.7.29-log",
            "SET GLOBAL sync_binlog = 1, and write sync_binlog = 1 under [mysqld]",
        ),
        (
            "mariadb",
            "11.8.9-MariaDB",
            "SET GLOBAL sync_binlog = 1, and write sync_binlog = 1 under [mariadb]",
        ),
    ],
)
def test_what_is_advised_lasts(flavor, version, advice):
    settings = {**(GOOD if flavor == "mysql" else MARIADB), "sync_binlog": "0"}
    found = graded(flavor=flavor, version=version, settings=settings)
    assert found["sync_binlog"].advice.startswith(advice)
    # A restart undoes none of the suggested changes.
    for name in (set(GOOD) | set(MARIADB)) - {"expire_logs_days"}:
        values = ("0", "1") if {**MARIADB, **GOOD}[name].isdecimal() else WORSE
        for value in values:
            for check in graded(
                flavor=flavor, version=version, settings={**settings, name: value}
            ).values():
                assert "SET GLOBAL" not in check.advice or "option file" in check.advice


def test_positions_that_may_be_ahead():
    found = graded(is_visible=False)["position()"]
    assert found.grade == "warning"
    assert "BACKUP_ADMIN" in found.advice
    assert "BACKUP_ADMIN" not in graded(is_visible=False, version="5.7.29")["position()"].advice
    assert "position()" not in graded(error=denied())


@pytest.mark.parametrize(
    ("changes", "grade", "value", "advice"),
    [
        ({}, "ok", "exact", ""),
        ({"flavor": "mariadb", "settings": MARIADB}, "ok", "exact", ""),
        ({"log_status": False}, "ok", "before the snapshot", "GRANT BACKUP_ADMIN"),
        ({"xa": 3}, "ok", "before the snapshot", 'needs exact positions: use locks="brief"'),
        ({"version": "5.7.29"}, "ok", "before the snapshot", 'positions: use locks="brief"'),
        (
            {"log_status": False, "gtid_mode": "OFF"},
            "warning",
            "only with a lock",
            "or set gtid_mode",
        ),
        ({"xa": 1, "gtid_mode": "OFF"}, "warning", "only with a lock", "XA transactions were"),
        (
            {"version": "5.7.29", "gtid_mode": "OFF"},
            "warning",
            "only with a lock",
            'set gtid_mode = ON; or use locks="brief", with GRANT RELOAD',
        ),
        (
            {"flavor": "mariadb", "settings": MARIADB, "xa": 1},
            "warning",
            "only with a lock",
            'started: use locks="brief", with GRANT RELOAD',
        ),
    ],
)
def test_positions_of_snapshots(changes, grade, value, advice):
    changes = dict(changes)
    mode = changes.pop("gtid_mode", None)
    if mode is not None:
        changes["settings"] = {**GOOD, "gtid_mode": mode}
    found = graded(**changes)["snapshot positions"]
    assert (found.grade, found.value.startswith(value)) == (grade, True)
    assert advice in found.advice
    needed = graded("load", **changes)["snapshot positions"]
    assert needed.grade == ("error" if grade == "warning" else grade)
    granted = ("GRANT SELECT, RELOAD ON *.* TO `me`@`%`",)
    found = graded("load", granted=granted, **changes)["snapshot positions"]
    assert found.grade == grade
    assert "RELOAD" not in found.advice
