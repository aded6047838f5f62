"""`server.check()`: the grade of each setting, and what to change. No server is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import binarrow
from binarrow.preflight import VARIABLES, Check, checks

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


def denied() -> binarrow.ServerError:
    error = binarrow.ServerError("Access denied; you need REPLICATION CLIENT")
    error.code = 1227
    return error


@dataclass
class Server:
    """What a check asks of a server."""

    settings: dict[str, str] = field(default_factory=lambda: dict(GOOD))
    flavor: str = "mysql"
    granted: tuple[str, ...] = (
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO `me`@`%`",
        "GRANT SELECT ON `shop`.* TO `me`@`%`",
    )
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

    def grants(self) -> list[str]:
        return list(self.granted)


def graded(**changes: Any) -> dict[str, Check]:
    found = checks(Server(**changes))  # type: ignore[arg-type]
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
        ({"server_id": "0"}, "server_id", "error", "0", "above 0"),
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
        ({"binlog_expire_logs_seconds": "3600"}, "retention", "warning", "3600 s", "raise"),
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
            "raise",
        ),
        ({"max_binlog_total_size": "1000"}, "max_binlog_total_size", "warning", "1000", "behind"),
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
