"""Table histories in a database of a server: what is stored is there, whatever happens to who writes it."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pymysql
import pytest

import binarrow
from binarrow import ConfigError, MalformedBinlogError, SchemaHistory
from binarrow._native import STORED_VERSIONS
from support import history_writer as writer
from support.extent import rounds
from support.later_versions import LATER, check_refused
from support.live import until
from support.servers.servers import Server

STORES = ("mysql", "mysql_5_7", "mariadb_10_5", "mariadb_11_8")

KILLS = rounds("BINARROW_KILLS", 3, 10)
"""The number of times that the writer is killed; 100 are a long run."""

POSITIONS = rounds("BINARROW_POSITIONS", 30, 100)
"""Places at which a history is compared with a fresh one; 1000 are a long run."""

ODD = "h`i'st\\ory"
"""The database's name."""


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Each kind of server in turn, with an empty database and an account that may do all there."""
    server: Server = request.getfixturevalue(request.param)
    with database(server):
        yield server


@contextlib.contextmanager
def database(server: Server) -> Iterator[None]:
    name = ODD.replace("`", "``")
    with contextlib.closing(server.connect()) as session:
        session.execute(
            f"DROP DATABASE IF EXISTS `{name}`",
            f"CREATE DATABASE `{name}`",
            "CREATE USER keeper@'%' IDENTIFIED BY 'k33p'",
        )
        # In a grant, a backslash is what it is in a pattern.
        session.run(f"GRANT ALL ON `{name.replace(chr(92), chr(92) * 2)}`.* TO keeper@'%'")
        try:
            yield
        finally:
            session.execute("DROP USER keeper@'%'", f"DROP DATABASE `{name}`")


def url(server: Server, user: str = "keeper:k33p", name: str = ODD) -> str:
    place = f"mysql://{user}@127.0.0.1:{server.port}/{quote(name, safe='')}"
    return f"{place}?allow_public_key_retrieval=true"


def filled(server: Server, statements: int = 20, **keywords: str) -> SchemaHistory:
    history = SchemaHistory.open(url(server), **keywords)
    writer.begin(history)
    for number in range(1, statements + 1):
        writer.apply(history, number)
    return history


def connections(server: Server) -> list[int]:
    """Those of the account."""
    sql = "SELECT id FROM information_schema.processlist WHERE user = 'keeper'"
    return [int(row[0]) for row in server.query(sql)]


def gone(server: Server) -> None:
    """The account's connections are ended, as a server ends those that are idle for long."""
    found = connections(server)
    assert found
    for number in found:
        with contextlib.suppress(pymysql.err.OperationalError):  # one that is ending already
            server.execute(f"KILL {number}")
    until(lambda: not connections(server))


@pytest.mark.parametrize("flavor", ["mysql", "mariadb_11_8"])
def test_killed_while_it_writes(request, flavor):
    server = request.getfixturevalue(flavor)
    with database(server):
        last = writer.killed_again_and_again(url(server), KILLS, seed=2)
        assert last > KILLS


def test_any_place_is_what_follows_from_the_statements(store):
    """Rolled back to places at random, and the same statements met again."""
    count = 600
    with filled(store, count) as history:
        whole = writer.content_of(history)
    places = random.Random(3)
    with writer.fresh(count) as fresh, SchemaHistory.open(url(store)) as history:
        assert writer.content_of(history) == writer.content_of(fresh) == whole
        for _ in range(POSITIONS):
            number = places.randrange(count + 1)
            history.rollback(writer.position(number))
            fresh.rollback(writer.position(number))
            assert writer.content_of(history) == writer.content_of(fresh), number
            for again in range(number + 1, min(number + 3, count + 1)):
                writer.apply(history, again)
                writer.apply(fresh, again)
            assert writer.content_of(history) == writer.content_of(fresh), number
        assert sum(change.kind == "statement" for change in history.changes()) == count


def test_two_processes(store):
    """One writes, and the other one knows which; both read."""
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(Path(writer.__file__).parents[1])!r})\n"
        "import binarrow\n"
        "from support import history_writer as writer\n"
        "history = binarrow.SchemaHistory.open(sys.argv[1])\n"
        "writer.apply(history, 3)\n"
        "print(writer.number_of(history.position), len(history.tables()))\n"
        "try:\n"
        "    writer.apply(history, 21)\n"
        "except binarrow.ConfigError as error:\n"
        "    print(error)\n"
    )
    command = [sys.executable, "-c", code, url(store)]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    with filled(store) as history:
        found = run()
        assert found.stderr == ""
        numbers, refused = found.stdout.splitlines()
        assert numbers == f"20 {len(history.tables())}"
        assert f"is written by process {os.getpid()} on {os.uname().nodename}, since 20" in refused
        assert f", connection {connections(store)[0]} of the store's server" in refused
        # Another source has a writer of its own, whatever its name is.
        with filled(store, 1, source="'; DROP TABLE 😀`\\") as other:
            assert writer.number_of(other.position) == 1
    found = run()
    assert (found.stdout.splitlines()[1:], found.stderr) == ([], "")
    with SchemaHistory.open(url(store)) as history:
        assert writer.number_of(history.position) == 21


def test_connections_that_are_gone(store):
    """Idle ones are made again, with their lock, unless another took it and wrote."""
    with filled(store) as history:
        gone(store)
        assert len(history.tables(writer.position(1))) == writer.TABLES
        gone(store)
        writer.apply(history, 21)
        gone(store)
        writer.apply(history, 22)
        with SchemaHistory.open(url(store)) as other:
            with pytest.raises(ConfigError, match="is written by process"):
                writer.apply(other, 23)
            gone(store)
            # Now it is free.
            writer.apply(other, 23)
            with pytest.raises(ConfigError, match="is written by process"):
                writer.apply(history, 23)
        with pytest.raises(ConfigError, match="another process changed the history: open it again"):
            writer.apply(history, 23)
    with SchemaHistory.open(url(store)) as history:
        writer.apply(history, 24)
        assert writer.content_of(history) == writer.content_of(writer.fresh(24))


@pytest.mark.parametrize("flavor", ["mysql", "mariadb_11_8"])
def test_large_checkpoints_and_small_packets(request, flavor):
    """Text that does not fit into a packet is stored in pieces."""
    server = request.getfixturevalue(flavor)
    names = random.Random(5)
    tables = "".join(
        f"CREATE TABLE `{names.getrandbits(160):x}{number}` (`{names.getrandbits(128):x}` INT);\n"
        for number in range(3000)
    )
    [(packet,)] = server.query("SELECT @@global.max_allowed_packet")
    with database(server):
        try:
            server.execute("SET GLOBAL max_allowed_packet = 65536")
            with SchemaHistory.open(url(server)) as history:
                history.baseline(
                    f"CREATE DATABASE shop;\nUSE shop;\n{tables}",
                    writer.position(0),
                    server="mysql-9.7",
                )
                writer.apply(history, 3)
                history.checkpoint()
                whole = writer.content_of(history)
                assert len(whole[0]["shop"]) > 300_000
        finally:
            server.execute(f"SET GLOBAL max_allowed_packet = {packet}")
        with contextlib.closing(server.connect(database=ODD)) as session:
            [(pieces,)] = session.query("SELECT MAX(pieces) FROM binarrow_entries")
            assert pieces > 5
            with SchemaHistory.open(url(server)) as history:
                assert writer.content_of(history) == whole
            # One that is lost makes the checkpoint none.
            session.execute("DELETE FROM binarrow_pieces WHERE piece = 2")
            with (
                SchemaHistory.open(url(server)) as history,
                pytest.raises(MalformedBinlogError, match="damaged"),
            ):
                history.tables()


def test_what_the_server_refuses(store):
    filled(store).close()
    with contextlib.closing(store.connect(database=ODD)) as session:
        # An account that may only read.
        session.execute("CREATE USER looker@'%' IDENTIFIED BY 'l00k'")
        name = ODD.replace("`", "``").replace("\\", "\\\\")
        session.run(f"GRANT SELECT ON `{name}`.* TO looker@'%'")
        try:
            with SchemaHistory.open(url(store, "looker:l00k")) as history:
                writer.apply(history, 5)
                assert writer.content_of(history) == writer.content_of(writer.fresh(20))
                with pytest.raises(ConfigError, match="is read-only here"):
                    writer.apply(history, 21)
        finally:
            session.execute("DROP USER looker@'%'")
        session.execute("GRANT ALL ON nowhere.* TO keeper@'%'")
        with pytest.raises(ConfigError, match="has no database nowhere: create it first"):
            SchemaHistory.open(url(store, name="nowhere"))
        session.execute(f"UPDATE binarrow_history_version SET version = {LATER}")
        check_refused(
            lambda: SchemaHistory.open(url(store)), STORED_VERSIONS["history on a server"]
        )
        session.execute("UPDATE binarrow_history_version SET version = 1")
        for damage in ("kind = 'view'", "position = '{}'", "body = 'DROP'", "logged_at = 1"):
            session.execute(
                "CREATE TABLE saved LIKE binarrow_entries",
                "INSERT INTO saved SELECT * FROM binarrow_entries",
            )
            session.execute(f"UPDATE binarrow_entries SET {damage} WHERE kind = 'ddl'")
            with (
                SchemaHistory.open(url(store)) as history,
                pytest.raises(MalformedBinlogError, match=r"127\.0\.0\.1:.*damaged"),
            ):
                history.tables()
            session.execute("REPLACE INTO binarrow_entries SELECT * FROM saved", "DROP TABLE saved")
        with SchemaHistory.open(url(store)) as history:
            assert writer.content_of(history) == writer.content_of(writer.fresh(20))


def test_threads_share_it(store):
    with filled(store, 0) as history:
        failed: list[BaseException] = []

        def work() -> None:
            try:
                for number in range(1, 31):
                    writer.apply(history, number)
                    history.tables(writer.position(number // 2))
            except BaseException as error:  # noqa: BLE001
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert writer.content_of(history) == writer.content_of(writer.fresh(30))


def test_the_server_that_is_read_keeps_it(mysql):
    """Rows that the history writes on this server are in the log too, but are never returned."""
    with database(mysql), binarrow.connect(url_of_log(mysql)) as server:
        with contextlib.closing(mysql.connect()) as session:
            session.execute(
                "DROP TABLE IF EXISTS mysql.binarrow_other",
                "CREATE TABLE mysql.binarrow_other (id INT PRIMARY KEY)",
            )
            history = SchemaHistory.open(url(mysql))
            start = history.baseline(server)
            session.execute("INSERT INTO mysql.binarrow_other VALUES (1)")
        with server.stream(start, stop="end", history=history) as changes:
            tables = {(change.database, change.table) for change in changes}
        assert tables == {("mysql", "binarrow_other")}
        history.close()
        mysql.execute("DROP TABLE mysql.binarrow_other")


def url_of_log(server: Server) -> str:
    return f"mysql://lab:lab@127.0.0.1:{server.port}/"
