"""`server.check()` on servers that are set up well, and on those that are not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Literal

import pytest

import binarrow
from support import live
from support.servers.servers import Server

FLAVORS = ("mysql", "mariadb-11.8")

DYNAMIC = {
    "binlog_format": ("'STATEMENT'", "error"),
    "binlog_row_image": ("'MINIMAL'", "warning"),
    "binlog_row_metadata": ("'MINIMAL'", "warning"),
    "binlog_checksum": ("'NONE'", "warning"),
    "binlog_expire_logs_seconds": ("3600", "warning"),
    "sync_binlog": ("0", "warning"),
}
"""Variables with a value that is not good, and its grade."""

NAMES = {"binlog_expire_logs_seconds": "retention"}
"""Checks that are not named like their variable."""


def reach(server: Server) -> binarrow.Server:
    place = {"host": "127.0.0.1", "port": server.port}
    return binarrow.connect(**place, user="me", password="x", allow_public_key_retrieval=True)


def graded(server: Server) -> dict[str, str]:
    with reach(server) as connection:
        return {check.name: check.grade for check in connection.check()}


def make_user(server: Server, *grants: str) -> None:
    server.execute(
        "DROP USER IF EXISTS me@'%'",
        "CREATE USER me@'%' IDENTIFIED BY 'x'",
        *(f"GRANT {grant} ON *.* TO me@'%'" for grant in grants),
    )


@pytest.mark.parametrize("flavor", FLAVORS)
def test_settings(flavor: str) -> None:
    with Server.start(flavor, ["--sync-binlog=1", "--log-slave-updates"]) as server:
        make_user(server, "REPLICATION SLAVE, REPLICATION CLIENT, SELECT")
        assert set(graded(server).values()) == {"ok"}
        for name, (value, grade) in DYNAMIC.items():
            [(_, before)] = server.query(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
            server.execute(f"SET GLOBAL {name} = {value}")
            found = graded(server)
            assert {one for one, given in found.items() if given != "ok"} == {NAMES.get(name, name)}
            assert found[NAMES.get(name, name)] == grade
            server.execute(f"SET GLOBAL {name} = {before if before.isdigit() else repr(before)}")
        assert set(graded(server).values()) == {"ok"}


@pytest.mark.parametrize("flavor", FLAVORS)
def test_privileges(flavor: str) -> None:
    """The check says yes exactly where the server does."""
    with Server.start(flavor) as server:
        asks = "BINLOG MONITOR" if server.is_mariadb else "REPLICATION CLIENT"
        for grants in (
            (),
            ("REPLICATION SLAVE",),
            (asks,),
            ("SUPER, REPLICATION SLAVE",),
            ("SUPER",),
            ("REPLICATION SLAVE", asks),
            ("ALL",),
        ):
            make_user(server, *grants)
            with reach(server) as connection:
                assert connection.grants()[0].startswith("GRANT ")
                assert not any("'" in grant for grant in connection.grants())
            assert (graded(server)["privileges"] == "ok") == reads(server), grants
        server.execute(
            "CREATE ROLE reader",
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader",
        )
        make_user(server)
        server.execute("GRANT reader TO me@'%'")
        assert (graded(server)["privileges"], reads(server)) == ("error", False)
        server.execute(
            f"SET DEFAULT ROLE reader {'FOR' if server.is_mariadb else 'TO'} me@'%'",
        )
        assert (graded(server)["privileges"], reads(server)) == ("ok", True)


@pytest.mark.parametrize(
    ("flavor", "options"),
    [("mysql", ()), ("mysql", live.NO_GTIDS), ("mysql-5.7", live.NO_GTIDS), ("mariadb-11.8", ())],
)
def test_positions_of_snapshots(flavor: str, options: tuple[str, ...]) -> None:
    """The check reports the positions that `read_table` returns, and the lock where it is needed."""
    with Server.start(flavor, ["--performance-schema=ON", *options]) as server:
        server.execute("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
        base = "SELECT, REPLICATION SLAVE, REPLICATION CLIENT"
        log_status = flavor == "mysql"
        seen = set()
        for grants, is_committed_by_xa in (
            ((base,), False),
            ((f"{base}, RELOAD",), False),
            *(
                (((base, "BACKUP_ADMIN"), False), ((base, "BACKUP_ADMIN"), True))
                if log_status
                else ()
            ),
            ((base, "RELOAD"), True),
        ):
            make_user(server, *grants)
            if is_committed_by_xa:
                server.execute("XA START 'x'", "INSERT INTO shop.t VALUES (1)", "XA END 'x'")
                server.execute("XA PREPARE 'x'", "XA COMMIT 'x'", "DELETE FROM shop.t")
            with reach(server) as connection:
                checks = {check.name: check for check in connection.check("load")}
                check = checks["snapshot positions"]
                assert checks["privileges for initial loads"].grade == "ok"
                assert position_of_rows(connection, None) == check.value
                locked = position_of_rows(connection, "brief")
                assert (locked == "exact, without a lock") == ("RELOAD" in "".join(grants))
                may_load = "exact" in (check.value.partition(",")[0], locked.partition(",")[0])
                is_bound = check.value.startswith("before")
                assert (check.grade == "error") == (not may_load and not is_bound)
                assert not check.advice or "RELOAD" in check.advice or "RELOAD" in "".join(grants)
            seen.add(check.value)
        assert len(seen) > 1 or flavor == "mysql-5.7"


def position_of_rows(connection: binarrow.Server, locks: Literal["brief"] | None) -> str:
    try:
        rows = connection.read_table("shop.t", locks=locks)
    except binarrow.ServerError:
        return "only with a lock"
    with rows:
        return "exact, without a lock" if rows.is_exact else "before the snapshot, by GTIDs"


def reads(server: Server) -> bool:
    """True if the user can read the log and query its end."""
    with reach(server) as connection:
        questions = (
            connection.position,
            connection.binlogs,
            lambda: list(connection.stream("earliest", stop="end")),
        )
        return not any(is_denied(question) for question in questions)


def is_denied(question: Callable[[], object]) -> bool:
    try:
        question()
    except binarrow.ServerError as error:
        return error.code in (1045, 1227) and "GRANT" in str(error)
    return False


@pytest.mark.parametrize("flavor", FLAVORS)
def test_settings_that_need_a_new_start(flavor: str) -> None:
    with Server.start(flavor, ["--skip-log-bin"]) as server:
        make_user(server, "REPLICATION SLAVE, REPLICATION CLIENT")
        found = graded(server)
        assert found["log_bin"] == "error"
        assert found["privileges"] == "ok"
        with binarrow.connect(socket=str(server.socket), user="root") as connection:
            for question in (connection.position, connection.binlogs):
                with pytest.raises(binarrow.ServerError, match="start it with log_bin"):
                    question()
            with pytest.raises(binarrow.BinarrowError, match="log"):
                list(connection.stream("earliest", stop="end"))
    options = ["--binlog-do-db=shop", "--log-slave-updates=OFF"]
    if flavor == "mysql":
        options += ["--gtid-mode=OFF", "--binlog-expire-logs-auto-purge=OFF"]
    else:
        options += ["--max-binlog-total-size=1G", "--expire-logs-days=0.1"]
    with Server.start(flavor, ["--sync-binlog=1", *options]) as server:
        make_user(server, "REPLICATION SLAVE, REPLICATION CLIENT, SELECT")
        found = {name for name, grade in graded(server).items() if grade != "ok"}
        both = {"binlog_do_db, binlog_ignore_db", "log_replica_updates"}
        if flavor == "mysql":
            assert found == {*both, "gtid_mode", "position()", "snapshot positions"}
        else:
            assert found == {*both, "retention", "max_binlog_total_size"}


@pytest.mark.parametrize("flavor", [*FLAVORS, "mysql-5.7"])
def test_select_for_spark_and_histories(flavor: str) -> None:
    """For uses that need a table's structure, the check reports a missing privilege exactly if the server refuses."""
    with Server.start(flavor) as server:
        server.execute("CREATE DATABASE shop", "CREATE TABLE shop.t (id DECIMAL(9,0) PRIMARY KEY)")
        base = ("REPLICATION SLAVE", "REPLICATION CLIENT")
        for on, hidden in (
            ((), True),
            (("INSERT ON shop.*",), False),
            (("SELECT ON shop.t",), False),
            (("SELECT ON shop.*",), False),
            (("SELECT ON *.*",), False),
            (("ALL ON *.*",), False),
        ):
            make_user(server, *base)
            server.execute(*(f"GRANT {one} TO me@'%'" for one in on))
            with reach(server) as connection:
                for use, name in (("spark", "Spark"), ("history", "history")):
                    checked = {one.name: one for one in connection.check(use, tables="shop.t")}
                    found = checked[f"privileges for {name}"]
                    assert (found.grade == "error") == hidden, on
                    assert not hidden or "GRANT SELECT ON shop.t" in found.advice
                    assert len([one for one in checked if one.startswith("privileges")]) == 2
                assert is_hidden(connection) == hidden, on
            grade = graded(server)["privileges for Spark"]
            assert grade == ("ok" if "SELECT" in str(on) or "ALL" in str(on) else "warning")
        with reach(server) as connection, pytest.raises(binarrow.ConfigError, match="'spark'"):
            connection.check("sparks")  # type: ignore[arg-type]


def is_hidden(connection: binarrow.Server) -> bool:
    """True if the server refuses the queries of Spark for the structure."""
    try:
        connection.describe("shop.t")
        binarrow.infer_schema(connection, "shop.t", types="spark", column_names="positional")
    except binarrow.ServerError as error:
        return error.code in (1044, 1142)
    return False


REMEDY = re.compile(r"(?:SET PERSIST|write) (\w+) = (\w+)")


def find(stored: object, name: str) -> object:
    """The value of a key of that name, at any depth."""
    if not isinstance(stored, dict):
        return None
    return stored.get(name) or next(filter(None, (find(one, name) for one in stored.values())), 0)


@pytest.mark.parametrize("flavor", FLAVORS)
def test_remedies_outlast_a_restart(flavor: str) -> None:
    options = ["--log-slave-updates", "--sync-binlog=1"]
    with Server.start(flavor, options, test_options=False) as server:
        make_user(server, "REPLICATION SLAVE, REPLICATION CLIENT, SELECT")
        for name, (value, _) in DYNAMIC.items():
            server.execute(f"SET GLOBAL {name} = {value}")
        with reach(server) as connection:
            advised = {one.name: one.advice for one in connection.check() if one.grade != "ok"}
        assert advised.keys() == {NAMES.get(name, name) for name in DYNAMIC}
        own = []
        for advice in advised.values():
            found = REMEDY.search(advice)
            assert found is not None, advice
            name, value = found.groups()
            own.append(f"--{name}={value}")
            if not server.is_mariadb:
                server.execute(found[0])
                stored = json.loads((server.datadir / "mysqld-auto.cnf").read_text())
                assert value in str(find(stored, name))
        # Instead of the option file and the stored variables, because test servers read neither.
        server.options = (*server.options, *own)
        server.restart()
        assert {name: grade for name, grade in graded(server).items() if grade != "ok"} == {}
