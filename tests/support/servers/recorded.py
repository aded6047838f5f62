"""Servers that are recorded in archives: their logs, identities and tables.

A position that was stored while a server was recorded is valid on each server that is started from
the archive: files, offsets, GTIDs and the ID of the server are those of the recorded one.

    with Server.start("mysql", ["--binlog-row-metadata=MINIMAL"]) as server:
        server.execute("CREATE DATABASE shop", ...)
        ...                                      # store positions, change rows
        record(server, archive, ["shop"])        # shuts it down

    with started(archive) as server:             # tables and log are as recorded
        server.execute("INSERT INTO shop.t VALUES (7)")  # new files of the log

XA transactions that are prepared at the end of the record are prepared again: pass the statements
of each as `prepared=[["USE shop", "XA START 'x'", "INSERT ...", "XA END 'x'", "XA PREPARE 'x'"]]`.
The statements of `live=` are executed at each start. `accounts=` creates accounts, which are not in
the log.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.archives import pack, unpack
from support.servers.proxy import Link, Proxy
from support.servers.servers import LAB, LabError, Server, Session

DESCRIPTION, TABLES, LOG = "server.json", "tables.sql", "log"
"""The files and the folder of an archive."""

NEVER_PURGED = "--binlog-expire-logs-seconds=0"
"""Files of a recorded log are old."""

WITHOUT_LOG = "--skip-log-bin"


def record(
    server: Server,
    archive: Path,
    databases: Sequence[str],
    prepared: Sequence[Sequence[str]] = (),
    live: Sequence[str] = (),
) -> None:
    """Shuts a server down, and writes its log, its identity and its tables into an archive.

    Args:
        server: The server, whose log begins with its first file.
        archive: The file to write, `NAME.tar.xz`.
        databases: The databases with tables.
        prepared: The statements of each XA transaction that is prepared now.
        live: Statements that are executed at each start, after the recorded ones.
    """
    description = {
        "flavor": server.flavor,
        "options": [*server.options],
        "id": identity(server),
        "executed": executed(server),
        "prepared": [[*statements] for statements in prepared],
        "live": [*live],
    }
    tables = server.dump(
        "--single-transaction",
        "--skip-comments",
        "--hex-blob",
        "--routines",
        "--databases",
        *databases,
    )
    server.shutdown()
    files = server.binlog_files()
    description["log"] = [[path.name, path.stat().st_size] for path in files]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / DESCRIPTION).write_text(json.dumps(description, indent=1))
        (folder / TABLES).write_bytes(tables)
        (folder / LOG).mkdir()
        others = [server.datadir / f"binlog.{end}" for end in ("index", "state")]
        for path in (*files, *(path for path in others if path.exists())):
            shutil.copyfile(path, folder / LOG / path.name)
        pack(folder, archive)


@contextmanager
def started(archive: Path, *, accounts: Sequence[str] = ()) -> Iterator[Server]:
    """Starts a server with the log, the identity and the tables of an archive.

    Args:
        archive: The file that `record` has written.
        accounts: Statements that create accounts.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unpack(archive, folder)
        description = json.loads((folder / DESCRIPTION).read_text())
        options = (*description["options"], NEVER_PURGED)
        with Server.start(description["flavor"], [*options, WITHOUT_LOG]) as server:
            _load(server, (folder / TABLES).read_bytes())
            server.execute(*accounts)
            for statements in description["prepared"]:
                with closing(Session(server)) as session:
                    session.execute(*statements)
            server.shutdown()
            _place_log(server, folder, description)
            server.options = options
            server.restart()  # XA transactions that are prepared at a start are in the log
            _check_log(server, description)
            with closing(Session(server)) as session:
                session.execute(*description["live"])
            with _with_identity(server, description["id"]) as port:
                yield replace(server, port=port)


def identity(server: Server) -> str:
    """Returns the ID of a server that its positions contain."""
    name = "server_uid" if server.is_mariadb else "server_uuid"
    [(value,)] = server.query(f"SELECT @@global.{name}")
    return str(value)


def executed(server: Server) -> str:
    """Returns the GTIDs of the log."""
    name = "gtid_binlog_pos" if server.is_mariadb else "gtid_executed"
    [(value,)] = server.query(f"SELECT @@global.{name}")
    return str(value)


def _load(server: Server, tables: bytes) -> None:
    command = [str(LAB), "client", server.flavor, "--datadir", str(server.datadir)]
    done = subprocess.run(command, input=tables, capture_output=True, check=False)
    if done.returncode != 0:
        raise LabError(f"the recorded tables cannot be loaded: {done.stderr.decode()}")


def _place_log(server: Server, folder: Path, description: dict[str, Any]) -> None:
    for path in (folder / LOG).iterdir():
        shutil.copyfile(path, server.datadir / path.name)
    if not server.is_mariadb:
        (server.datadir / "auto.cnf").write_text(f"[auto]\nserver-uuid={description['id']}\n")


def _check_log(server: Server, description: dict[str, Any]) -> None:
    """Checks that the log is the recorded one.

    Raises:
        LabError: It is not.
    """
    files = [[name, size] for name, size, *_ in server.query("SHOW BINARY LOGS")]
    recorded = description["log"]
    if files[: len(recorded)] != recorded or executed(server) != description["executed"]:
        raise LabError(
            f"the server has the log {files} with {executed(server)}, and recorded were"
            f" {recorded} with {description['executed']}"
        )


@contextmanager
def _with_identity(server: Server, recorded: str) -> Iterator[int]:
    """Returns the port at which the server has the recorded ID.

    MariaDB computes its ID from the address of the network card and the port. A proxy replaces it.
    """
    current = identity(server)
    if current == recorded:
        yield server.port
        return
    link = Link(replaced=(current.encode(), recorded.encode()))
    with Proxy(server.port, lambda _: link) as proxy:
        yield proxy.port
