"""Real servers for tests: start one, run SQL on it, read the binlog that it wrote.

    with Server.start("mysql") as server:
        server.execute("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
        server.execute("INSERT INTO shop.t VALUES (1)")
        path = server.flush_binlog()        # this file is complete and closed now
        print(server.mysqlbinlog(path, "-vv"))

The script `lab` beside this module installs and runs the servers. Needs PyMySQL.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql

from support.waiting import until

# The servers that have every feature; those whose log names no columns; all of them.
FLAVORS = ("mysql", "mariadb-10.11", "mariadb-11.8")
OLD_FLAVORS = ("mysql-5.7", "mysql-5.6")
ALL_FLAVORS = ("mysql", *OLD_FLAVORS, "mariadb-11.8", "mariadb-10.11", "mariadb-10.5")

NAMES_IN_THE_LOG = "--binlog-row-metadata=FULL"  # MySQL 5 knows no such thing

LAB = Path(__file__).with_name("lab")

# What the tests want of every server: little memory, no waiting for the disk.
TEST_OPTIONS = (
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=2",
    "--sync-binlog=0",
    "--max-allowed-packet=64M",
    "--max-connections=64",
    "--performance-schema=OFF",
)

Row = tuple[Any, ...]


class LabError(Exception):
    """The script `lab` failed; the message is what it said."""


@dataclass
class Server:
    """A running server, made by `Server.start`; it stops when this process ends, at the latest."""

    flavor: str
    datadir: Path
    pid: int
    port: int
    socket: Path
    owns_datadir: bool = False
    options: tuple[str, ...] = ()
    _session: Session | None = field(default=None, repr=False)

    @classmethod
    def start(
        cls,
        flavor: str,
        options: Sequence[str] = (),
        *,
        datadir: Path | None = None,
        test_options: bool = True,
        on_disk: bool = False,
    ) -> Server:
        """Starts a server, installing it first if need be.

        `options` are server options such as `--log-bin-compress=ON`; they win over
        `TEST_OPTIONS` and `NAMES_IN_THE_LOG`, which `test_options=False` leaves out. Without `datadir` the server gets a
        fresh temporary folder that `stop` removes; with `on_disk` it is not in memory (see `conftest.py`).
        """
        place = "/var/tmp" if on_disk else None
        folder = datadir or Path(tempfile.mkdtemp(prefix="binarrow-server-", dir=place)) / "data"
        defaults: list[str] = [*TEST_OPTIONS] if test_options else []
        if test_options and flavor not in OLD_FLAVORS:
            defaults.append(NAMES_IN_THE_LOG)
        try:
            output = _lab("start", flavor, "--datadir", str(folder), "--", *defaults, *options)
        except LabError:
            if datadir is None:
                shutil.rmtree(folder.parent, ignore_errors=True)
            raise
        info = dict(line.split("=", 1) for line in output.splitlines())
        server = cls(
            flavor=flavor,
            datadir=Path(info["datadir"]),
            pid=int(info["pid"]),
            port=int(info["port"]),
            socket=Path(info["socket"]),
            owns_datadir=datadir is None,
            options=(*defaults, *options),
        )
        atexit.register(server.stop)
        return server

    @property
    def is_mariadb(self) -> bool:
        return self.flavor.startswith("mariadb")

    @property
    def is_old(self) -> bool:
        """MySQL 5: its log contains no column names, and nothing else describes them."""
        return self.flavor in OLD_FLAVORS

    def shutdown(self) -> None:
        """Shuts the server down cleanly: its last binlog file is closed, the data folder stays."""
        self._close_session()
        _lab("stop", self.flavor, "--datadir", str(self.datadir))

    def stop(self) -> None:
        """Shuts the server down. If its data folder is a temporary one, kills the server and removes the folder."""
        atexit.unregister(self.stop)
        if not self.owns_datadir:
            self.shutdown()
            return
        self._close_session()
        self.kill()
        shutil.rmtree(self.datadir.parent, ignore_errors=True)

    def kill(self) -> None:
        """Ends the server at once, as a crash would; the data folder stays until `stop`."""
        if self._is_running():
            os.kill(self.pid, signal.SIGKILL)
            until(lambda: not _is_alive(self.pid))
        self._session = None

    def restart(self, *, crash: bool = False) -> None:
        """Ends the server, in order or by `kill`, and starts it again on the same port and data folder."""
        if crash:
            self.kill()
        else:
            self.shutdown()
        folder, port = str(self.datadir), str(self.port)
        place = ("--datadir", folder, "--port", port)
        output = _lab("start", self.flavor, *place, "--", *self.options)
        self.pid = int(dict(line.split("=", 1) for line in output.splitlines())["pid"])

    def connect(self, **keywords: Any) -> Session:
        """Opens another session, as root over the socket."""
        return Session(self, **keywords)

    def execute(self, *statements: str) -> int:
        """Runs statements one by one in the own session; gives the last one's row count."""
        return self._own_session().execute(*statements)

    def query(self, sql: str) -> list[Row]:
        """Runs one statement in the server's own session and gives its rows."""
        return self._own_session().query(sql)

    def binlog_files(self) -> list[Path]:
        """The binlog files, oldest first. The last one is still being written to."""
        index = (self.datadir / "binlog.index").read_text()
        return [self.datadir / Path(line).name for line in index.splitlines()]

    def flush_binlog(self) -> Path:
        """Closes the current binlog file, starts the next, and gives the closed one."""
        closed = self.binlog_files()[-1]
        self.execute("FLUSH BINARY LOGS")
        return closed

    def mysqlbinlog(self, path: Path, *arguments: str) -> str:
        """The output of the server's own `mysqlbinlog`; bytes that are not UTF-8 become `\\xNN`.

        For MySQL 5 it is that of MySQL 9.7.
        """
        return self.run(
            "mariadb-binlog" if self.is_mariadb else "mysqlbinlog", *arguments, str(path)
        )

    def dump(self, *arguments: str) -> bytes:
        """The output of `mysqldump` or `mariadb-dump`."""
        tools = self.flavor if self.is_mariadb else "mysql"
        own = [] if self.is_mariadb else ["--set-gtid-purged=OFF"]
        if self.is_old:  # what MySQL 9.7's program asks for else is not there
            own += ["--column-statistics=0", "--default-character-set=utf8mb3"]
        return self.run_raw(
            "mariadb-dump" if self.is_mariadb else "mysqldump",
            "--no-defaults",
            f"--plugin-dir={_lab('path', tools).strip()}/tree/usr/lib/mysql/plugin",
            f"--socket={self.socket}",
            "--user=root",
            *own,
            *arguments,
        )

    def run(self, program: str, *arguments: str) -> str:
        """Runs a program that came with the server and gives its output."""
        return _lab("run", self.flavor, program, *arguments)

    def run_raw(self, program: str, *arguments: str) -> bytes:
        """Like `mysqlbinlog`, with the bytes of the output unchanged."""
        return _lab_raw("run", self.flavor, program, *arguments)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def _is_running(self) -> bool:
        """True if the process is there, and is that of this server: another may have its number by now."""
        try:
            command = Path(f"/proc/{self.pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return f"--datadir={self.datadir}".encode() in command.split(b"\0")

    def _own_session(self) -> Session:
        if self._session is None:
            self._session = self.connect()
        return self._session

    def _close_session(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


class Session:
    """One connection to a server, in autocommit mode unless a transaction is started."""

    def __init__(self, server: Server, **keywords: Any) -> None:
        self._server = server
        settings: dict[str, Any] = {
            "unix_socket": str(server.socket),
            "user": "root",
            "charset": "utf8mb4",
            "autocommit": True,
            "max_allowed_packet": 64 << 20,
            "ssl_disabled": True,  # the sockets are private, and to load certificates takes long
        }
        self._connection = pymysql.connect(**{**settings, **keywords})

    def execute(self, *statements: str) -> int:
        """Runs statements one by one; gives the last one's count of rows."""
        count = 0
        with self._connection.cursor() as cursor:
            for statement in statements:
                count = cursor.execute(statement)
        return count

    def run(self, sql: str, *arguments: object) -> int:
        """Runs one statement, with `arguments` for its `%s`; gives its count of rows."""
        with self._connection.cursor() as cursor:
            return int(cursor.execute(sql, arguments or None))

    def query(self, sql: str) -> list[Row]:
        """Runs one statement and gives its rows."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def close_and_wait(self) -> None:
        """Ends the session, and waits until the server has ended it too."""
        [(number,)] = self.query("SELECT CONNECTION_ID()")
        self.close()
        other = Session(self._server)
        until(lambda: other.is_gone(number))
        other.close()

    def is_gone(self, connection: int) -> bool:
        """True if the server has no such connection."""
        sql = f"SELECT COUNT(*) FROM information_schema.processlist WHERE id = {connection}"
        try:
            return self.query(sql) == [(0,)]
        except pymysql.err.MySQLError:
            return False  # a statement that runs now has characters that do not fit into this table

    def close(self) -> None:
        if self._connection.open:
            self._connection.close()


def _lab(*arguments: str) -> str:
    return _lab_raw(*arguments).decode(errors="backslashreplace")


def _lab_raw(*arguments: str) -> bytes:
    done = subprocess.run([str(LAB), *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        message = done.stderr.decode(errors="backslashreplace").strip()
        raise LabError(f"lab {' '.join(arguments[:2])} (status {done.returncode}):\n{message}")
    return done.stdout


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
