"""`binarrow check` and `binarrow tail` against servers."""

from __future__ import annotations

import hmac
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import binarrow
from support import terminal
from support.logged import database
from support.servers.servers import Server
from support.waiting import WAIT, until

EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()"]
SECRET = "s3cret-tail"
USER = "teller"

ALL = pytest.mark.parametrize(
    "server", ["mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.11"], indirect=True
)
NEW = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)
ONE = pytest.mark.parametrize("server", ["mysql"], indirect=True)


@pytest.fixture
def told(server: Server) -> Iterator[Server]:
    """A server with a table, and a user who may read its changes."""
    with database(server, "told"):
        server.execute(
            f"CREATE USER {USER}@'%' IDENTIFIED BY '{SECRET}'",
            f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {USER}@'%'",
            "CREATE TABLE orders (id INT PRIMARY KEY, status VARCHAR(20), total DECIMAL(10,2), note TEXT)",
        )
        yield server
        server.execute(f"DROP USER {USER}@'%'")


def url(server: Server, password: str | None = None) -> str:
    who = USER if password is None else f"{USER}:{password}"
    return f"mysql://{who}@127.0.0.1:{server.port}/"


ENVIRONMENT = os.environ | {"MYSQL_PWD": SECRET}
NO_PASSWORD = {key: value for key, value in os.environ.items() if key != "MYSQL_PWD"}


def run(*arguments: object, environment: dict[str, str] = ENVIRONMENT, **keywords: Any) -> Any:
    return subprocess.run(
        [*EXECUTABLE, *map(str, arguments)],
        env=environment,
        text=True,
        check=False,
        timeout=WAIT,
        **{"capture_output": True, "stdin": subprocess.DEVNULL, **keywords},
    )


@contextmanager
def tailing(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*EXECUTABLE, "tail", *map(str, arguments)],
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def when_it_reads(server: Server) -> None:
    """Waits for the dump to be at work."""
    sql = (
        "SELECT 1 FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"
        f" AND USER = '{USER}'"
    )
    until(lambda: server.query(sql))


# ---------------------------------------------------------------------------------- check


@ALL
def test_check(told: Server) -> None:
    checked = run("check", url(told))
    assert (checked.returncode, checked.stderr) == (0, "")
    name = "MariaDB" if told.is_mariadb else "MySQL"
    lines = checked.stdout.splitlines()
    assert lines[0].startswith(f"{name} {told.query('SELECT VERSION()')[0][0].split('-')[0]}")
    assert re.search(r"^ ok +binlog_format +ROW +$", checked.stdout, re.M)
    assert re.search(
        r"^ warning +sync_binlog +0 +SET (PERSIST|GLOBAL) sync_binlog = 1", checked.stdout, re.M
    )
    metadata = re.search(r"^ (\w+) +binlog_row_metadata +(.*)$", checked.stdout, re.M)
    assert metadata is not None
    assert metadata[1] == ("warning" if told.is_old else "ok")
    if told.is_old:
        assert "--schemas" in metadata[2]
        assert "schemas=" not in metadata[2]


@ALL
def test_check_fails_where_changes_cannot_be_read(told: Server) -> None:
    told.execute(
        f"REVOKE REPLICATION SLAVE ON *.* FROM {USER}@'%'",
        "SET GLOBAL binlog_format = STATEMENT",
    )
    try:
        for how in ("--json", "--format=json"):
            checked = run("check", url(told), how)
            assert (checked.returncode, checked.stderr) == (1, "")
            checks = {one["name"]: one for one in map(json.loads, checked.stdout.splitlines())}
            assert set(checks["log_bin"]) == {"name", "grade", "value", "advice"}
            errors = {name for name, one in checks.items() if one["grade"] == "error"}
            assert errors == {"binlog_format", "privileges"}
            assert "GRANT REPLICATION SLAVE" in checks["privileges"]["advice"]
    finally:
        told.execute("SET GLOBAL binlog_format = ROW")


# ----------------------------------------------------------------------------------- tail


HEAD = ["committed", "(UTC)", "lag", "table", "change", "values"]


@ALL
def test_tail_prints_changes_as_they_come(told: Server, tmp_path: Path) -> None:
    arguments: list[object] = [url(told), "--tables", "told.*"]
    if told.is_old:
        (tmp_path / "told.sql").write_bytes(told.dump("--no-data", "--databases", "told"))
        arguments += ["--schemas", tmp_path / "told.sql"]
    with tailing(*arguments) as tail:
        assert tail.stdout is not None
        assert tail.stdout.readline().split() == HEAD
        when_it_reads(told)
        before = time.time()
        told.execute("INSERT INTO orders VALUES (7, 'it''s\\nnew', 12.30, NULL)")
        line = tail.stdout.readline()
        longest = time.time() - before
        assert line.endswith("insert  id=7 status='it\\'s\\nnew' total=12.30 note=NULL\n")
        committed, lag, unit, table = re.split(r" {2,}| (?=ms|s)", line)[:4]
        assert committed.startswith("20")
        assert table == "told.orders"
        if told.is_mariadb or told.is_old:
            assert unit == "s"
            assert lag == "< 1" or 1 <= int(lag) <= longest + 1
        else:
            assert 0 < float(lag) / {"ms": 1000, "s": 1}[unit] <= longest
        told.execute("UPDATE orders SET status = 'paid' WHERE id = 7", "DELETE FROM orders")
        assert tail.stdout.readline().endswith("update  id=7 status='it\\'s\\nnew'→'paid'\n")
        assert "delete  id=7 status='paid' " in tail.stdout.readline()
        old_words = told.is_mariadb or told.is_old
        end = told.query("SHOW MASTER STATUS" if old_words else "SHOW BINARY LOG STATUS")
        tail.send_signal(signal.SIGINT)
        rest, errors = tail.communicate(timeout=WAIT)
    assert (rest, errors) == ("", f"binarrow: continue from {end[0][0]}:{end[0][1]}\n")
    assert tail.returncode == 130


@NEW
def test_tail_of_some_columns_and_operations_masked(told: Server, tmp_path: Path) -> None:
    """Rows of images that lack columns are printed with the right names."""
    told.execute("FLUSH BINARY LOGS")
    salt = tmp_path / "salt"
    salt.write_text("pepper\n")
    told.execute(
        "SET SESSION binlog_row_image = MINIMAL",
        "INSERT INTO orders VALUES (1, 'new', 1.5, 'a'), (2, 'new', 2.5, 'b')",
        "UPDATE orders SET note = 'c', status = 'paid' WHERE id = 2",
        "UPDATE orders SET total = 4 WHERE id = 1",
        "DELETE FROM orders WHERE id = 1",
        "SET SESSION binlog_row_image = FULL",
    )
    arguments = ["tail", url(told), "--json", "--stop", "end", "--tables", "told.orders"]
    arguments += ["--start", f"{told.binlog_files()[-1].name}:4"]
    arguments += ["--columns", "told.orders=note,total", "--operations", "update,delete"]
    arguments += ["--mask", "told.*.NOTE=sha256"]
    unsalted = run(*arguments)
    assert (unsalted.returncode, unsalted.stdout) == (2, "")
    assert "--mask-salt-file" in unsalted.stderr
    by_file = run(*arguments, "--mask-salt-file", salt)
    by_environment = run(*arguments, environment=ENVIRONMENT | {"BINARROW_MASK_SALT": "pepper"})
    hashed = hmac.new(b"pepper", b"c", "sha256").hexdigest()
    for result in (by_file, by_environment):
        assert result.returncode == 0, result.stderr
        changes = [json.loads(line) for line in result.stdout.splitlines()]
        assert [(one["change"], one["before"], one["after"]) for one in changes] == [
            ("update", {}, {"note": hashed}),
            ("update", {}, {"total": "4.00"}),
            ("delete", {}, None),
        ]
        assert "pepper" not in result.stdout + result.stderr


@NEW
def test_tail_prints_what_is_not_a_row(told: Server) -> None:
    start = told.query("SHOW MASTER STATUS" if told.is_mariadb else "SHOW BINARY LOG STATUS")[0]
    told.execute(
        "ALTER TABLE orders COMMENT 'it''s\nnew'",
        "INSERT INTO orders VALUES (7, '', 0, '')",
        "CREATE TABLE _orders_gho LIKE orders",
        "INSERT INTO _orders_gho SELECT * FROM orders",
        "TRUNCATE orders",
        "RENAME TABLE orders TO _orders_del, _orders_gho TO orders",
    )
    arguments = ["tail", url(told), "--start", f"{start[0]}:{start[1]}", "--stop", "end"]
    arguments += ["--include", "schema_change,truncate", "--include", "transaction"]
    tail = run(*arguments, "--tables", "told.*", "--online-schema-change", "trust")
    assert tail.returncode == 0, tail.stderr
    assert tail.stderr.count("rows of told._orders_gho are left out") == 1
    lines = [re.split(r" {2,}", line) for line in tail.stdout.splitlines()[1:]]
    shown = [" ".join(line[2:]) for line in lines]
    gtid = r"\S+"
    assert shown[0] == "told.orders alter ALTER TABLE orders COMMENT 'it''s new'"
    assert re.fullmatch(f"begin {gtid}", shown[1])
    assert shown[2].startswith("told.orders insert id=7")
    assert re.fullmatch(f"end {gtid} 1 rows", shown[3])
    assert re.fullmatch(f"end {gtid} 0 rows", shown[5])  # of the ghost table's rows
    assert shown[6] == "told.orders truncate"
    assert shown[7].startswith("told.orders alter RENAME TABLE orders TO _orders_del")
    assert shown[7].endswith("(gh-ost)")
    tail = run(*arguments, "--json")
    items = [json.loads(line) for line in tail.stdout.splitlines()]
    kinds = [item.get("kind") or item.get("marker") or item["change"] for item in items]
    assert kinds[:4] == ["alter", "begin", "insert", "end"]
    assert items[-1]["tables"] == ["told.orders", "told._orders_del", "told._orders_gho"]
    assert items[-1]["committed"].startswith("20")
    assert items[-1]["position"].startswith("binlog.")
    wrong = run(*arguments, "--include", "rows")
    assert wrong.returncode != 0
    assert "include must be one of" in wrong.stderr


@NEW
def test_tail_as_json_with_a_checkpoint(told: Server, tmp_path: Path) -> None:
    told.execute("FLUSH BINARY LOGS")
    checkpoint = tmp_path / "pos.json"
    arguments = ["tail", url(told), "--json", "--stop", "end", "--checkpoint", checkpoint]
    arguments += ["--start", f"{told.binlog_files()[-1].name}:4", "--tables", "told.orders"]
    told.execute(
        "INSERT INTO orders VALUES (1, 'new', 1.5, 'a'), (2, 'new', 2.5, 'b')",
        "UPDATE orders SET status = 'paid' WHERE id = 2",
    )
    told.execute(
        "SET SESSION binlog_row_image = MINIMAL", "UPDATE orders SET note = NULL WHERE id = 2"
    )
    told.execute("SET SESSION binlog_row_image = FULL")
    first = run(*arguments)
    assert first.returncode == 0, first.stderr
    changes = [json.loads(line) for line in first.stdout.splitlines()]
    assert [one["change"] for one in changes] == ["insert", "insert", "update", "update"]
    assert changes[1]["before"] is None
    assert changes[1]["after"] == {"id": 2, "status": "new", "total": "2.50", "note": "b"}
    assert changes[2]["before"]["status"] == "new"
    assert changes[2]["after"]["status"] == "paid"
    assert (changes[3]["before"], changes[3]["after"]) == ({"id": 2}, {"note": None})
    assert {one["table"] for one in changes} == {"told.orders"}
    assert all(isinstance(one["lag_us"], int) for one in changes)
    assert first.stderr.startswith("binarrow: continue from ")

    assert run(*arguments).stdout == ""
    told.execute("DELETE FROM orders WHERE id = 1")
    [line] = run(*arguments).stdout.splitlines()
    assert json.loads(line)["before"]["id"] == 1
    assert binarrow.FileCheckpoint(checkpoint).load() is not None
    checkpoint.write_text("{")
    torn = run(*arguments)
    assert (torn.returncode, torn.stdout) == (1, "")
    assert "pos.json" in torn.stderr
    assert "--start" in torn.stderr


@NEW
def test_tail_ends_when_nobody_reads(told: Server) -> None:
    with tailing(url(told)) as tail:
        assert tail.stdout is not None
        assert tail.stderr is not None
        tail.stdout.readline()
        when_it_reads(told)
        tail.stdout.close()  # and no change comes that could fail to be written
        assert tail.wait(WAIT) == 128 + signal.SIGPIPE
        assert tail.stderr.read() == ""
    told.execute("FLUSH BINARY LOGS")
    start = f"{told.binlog_files()[-1].name}:4"
    told.execute(*(f"INSERT INTO orders VALUES ({number}, '', 0, '')" for number in range(300)))
    shell = f"{sys.executable} -c 'from binarrow.cli import main; main()'"
    cut = subprocess.run(
        f"set -o pipefail; {shell} tail {url(told)} --start {start} --tables told.orders | head -n 3",
        executable="/bin/bash",
        shell=True,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT,
    )
    assert len(cut.stdout.splitlines()) == 3
    assert cut.stderr == ""
    assert cut.returncode in (128 + signal.SIGPIPE, -signal.SIGPIPE)


@ONE
def test_tail_ends_when_it_is_told_to(told: Server, tmp_path: Path) -> None:
    with tailing(url(told), "--checkpoint", tmp_path / "pos.json") as tail:
        assert tail.stdout is not None
        tail.stdout.readline()
        when_it_reads(told)
        told.execute("INSERT INTO orders VALUES (1, '', 0, '')")
        assert "insert" in tail.stdout.readline()
        tail.send_signal(signal.SIGTERM)
        _, errors = tail.communicate(timeout=WAIT)
    saved = binarrow.FileCheckpoint(tmp_path / "pos.json").load()
    assert errors == f"binarrow: continue from {saved}\n"
    assert tail.returncode == 128 + signal.SIGTERM


# ------------------------------------------------------------------------------ passwords


@ONE
def test_ways_to_give_the_password(told: Server, tmp_path: Path) -> None:
    password_file = tmp_path / "password"
    password_file.write_text(f"{SECRET}\n")
    option_file = tmp_path / "my.cnf"
    option_file.write_text(
        f"[client]\nhost=127.0.0.1\nport={told.port}\nuser={USER}\npassword={SECRET}\n"
    )
    for arguments in (
        [url(told), "--password-file", password_file],
        ["--option-file", option_file],
        [url(told, SECRET)],
    ):
        checked = run("check", *arguments, environment=NO_PASSWORD)
        assert (checked.returncode, checked.stderr) == (0, ""), arguments
        assert SECRET not in checked.stdout


@ONE
def test_the_password_is_asked_for(told: Server) -> None:
    done = terminal.answer(
        [*EXECUTABLE, "check", url(told), "--password"], SECRET, environment=NO_PASSWORD
    )
    assert done.exit_code == 0
    assert SECRET.encode() not in done.shown + done.printed
    assert b"binlog_format" in done.printed

    nowhere = run("check", url(told), "--password", environment=NO_PASSWORD)
    assert nowhere.returncode == 2
    assert "--password-file" in nowhere.stderr


@NEW
def test_errors_are_one_clear_line(told: Server, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("s3cret-wrong\n")
    for arguments, code, words in (
        ([url(told), "--password-file", tmp_path / "wrong"], 1, "Access denied"),
        ([url(told), "--password-file", tmp_path / "none"], 2, "password_file"),
        ([f"mysql://{USER}@127.0.0.1:1/"], 1, "cannot connect"),
        (["postgres://db/"], 2, "mysql://"),
        ([url(told), "--tls", "verify_ca"], 1, "--tls-ca"),
    ):
        for command in ("check", "tail"):
            failed = run(command, *arguments)
            assert (failed.returncode, failed.stdout) == (code, ""), failed.stderr
            assert failed.stderr.startswith("binarrow: ")
            assert words in failed.stderr
            assert len(failed.stderr.splitlines()) == 1
            assert "s3cret" not in failed.stderr
            assert "tls_ca=" not in failed.stderr


@NEW
def test_starts_that_cannot_be(told: Server) -> None:
    told.execute("FLUSH BINARY LOGS", "INSERT INTO orders VALUES (1, '', 0, '')")
    name = told.binlog_files()[-1].name
    for start, code, words in (
        ("newest", 2, "is not a place in the log"),
        ("binlog.000000:4", 1, "no longer has binlog.000000"),
        (f"{name}:{2**31}", 1, "beyond the end"),
        (f"{name}:{told.binlog_files()[-1].stat().st_size - 5}", 1, "not the end of a transaction"),
    ):
        failed = run("tail", url(told), "--start", start, "--stop", "end")
        assert (failed.returncode, failed.stdout) == (code, ""), failed.stderr
        assert words in failed.stderr
        assert (
            len(failed.stderr.splitlines()) == 1
        )  # nothing was read: no position to continue from


@ONE
def test_without_a_password(told: Server) -> None:
    failed = run("tail", url(told), environment=NO_PASSWORD)
    assert failed.returncode == 1
    assert "use --password," in failed.stderr.splitlines()[1]
