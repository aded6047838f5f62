"""The moments at which programs that read a server stop, and what they store there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from typer.testing import CliRunner

import binarrow
from binarrow import FileCheckpoint, SchemaHistory
from binarrow.cli import app
from support.servers import replicas
from support.servers.servers import Server
from support.stored import orders
from support.stored.accounts import accounts
from support.stored.consumer import READ, SMALL, Consumer, connected
from support.sync_source import SECRET

CHUNKS: dict[str, Any] = {"chunk_rows": 20, "locks": "brief"}

CHECKPOINT, CERTIFICATE = "checkpoint.json", "load.jsonl"
"""Files beside stored batches."""

CERTIFIED = ["shop.codes", "shop.orders"]
"""The tables of a load that is complete."""

OLD: dict[str, Any] = {**READ, "tables": "old.*"}

STRUCTURES = ("CREATE DATABASE structures", "GRANT ALL ON structures.* TO mirror@'%'")
"""The store of a history on the server."""


def fail_over(source: Server, replica: Server, folder: Path) -> None:
    """Reads the first server, ends it, and reads the second one: `failover` and `after-failover`."""
    source.execute(*accounts(source.flavor), *orders.CREATED)
    for statements in (orders.HELD, orders.SOON):
        session = source.connect()
        session.execute(*statements)
        session.close_and_wait()
    source.execute(*_tagged(source, orders.FIRST))
    replicas.catch_up(replica, replicas.executed(source))
    before, after = (Consumer(folder / name) for name in ("failover", "after-failover"))
    with (
        connected(source, replica) as connection,
        connection.stream("earliest", heartbeat=1.0, **SMALL, **READ) as changes,
    ):
        batches = _stored_in(after, changes)
        before.add_until(batches, _is_inside)
        source.kill()
        replicas.promote(replica)
        replica.execute(*_tagged(replica, orders.SECOND))
        other = connected(replica).id
        for _ in batches:
            position = json.loads(after.position)
            if position["server"] == other and _is_inside(position):
                break
    for consumer, kind in ((before, "stream"), (after, "stream")):
        consumer.note(kind=kind)


def read_log(server: Server, folder: Path) -> None:
    """Reads the log: `prepared`, `transaction` with a checkpoint, and `gtid-set`."""
    conditions = {
        "prepared": lambda position: position["prepared"] and not position.get("ahead"),
        "transaction": _is_inside,
        "gtid-set": lambda position: position["gtid_set"] and _is_plain(position),
    }
    for name, condition in conditions.items():
        consumer = Consumer(folder / name)
        checkpoint = FileCheckpoint(consumer.folder / CHECKPOINT, interval=0)
        with connected(server).stream(
            "earliest", stop="end", checkpoint=checkpoint, **SMALL, **READ
        ) as changes:
            consumer.add_until(changes, condition)
        consumer.note(kind="stream")


def load(server: Server, folder: Path) -> None:
    """Loads tables: `load` ends inside the load, `load-again` inside another load of a part of a table."""
    connection, consumer = connected(server), Consumer(folder / "load")
    with connection.stream(
        "snapshot",
        checkpoint=FileCheckpoint(consumer.folder / CHECKPOINT, interval=0),
        certificate=consumer.folder / CERTIFICATE,
        **CHUNKS,
        **READ,
    ) as changes:
        consumer.add_until(changes, lambda position: _loads_part(position, "codes"))
        server.execute(*orders.DURING)
        consumer.add_until(changes, lambda position: _loads_part(position, "orders"))
    consumer.note(kind="load")
    consumer = Consumer(folder / "load-again")
    end = connection.position()
    with connection.stream("earliest", stop=end, **READ) as changes:
        for batch in changes:
            consumer.add(batch)
        start = changes.position
    assert start is not None
    start = start.with_load("shop.orders", where="id >= 30")
    with connection.stream(start, **CHUNKS, **READ) as changes:
        consumer.add_until(changes, lambda position: _loads_part(position, "orders"))
    consumer.note(kind="load")
    certificate = folder / CERTIFICATE
    keywords = {"stop": "end", "certificate": certificate, "tables": CERTIFIED, **CHUNKS}
    for _ in connection.stream("snapshot", **keywords):
        pass


def store_rows(server: Server, folder: Path) -> None:
    """Stores the rows of a table in the two formats that are read again: `rows`."""
    folder = folder / "rows"
    folder.mkdir()
    connection = connected(server)
    end = connection.position()
    end = end if end.file else connection.range_end(end, stop=end)
    place = f"{end.file}:{end.offset}"
    for form in ("parquet", "arrow"):
        at(server, place, "--locks", "brief", "--to", str(folder / f"orders.{form}"))
    (folder / "position.txt").write_text(place)


def at(server: Server, moment: str, *flags: str) -> None:
    """Runs `binarrow at` for the table `shop.orders`."""
    url = f"mysql://mirror@127.0.0.1:{server.port}/?tls=disabled&allow_public_key_retrieval=1"
    with NamedTemporaryFile("w") as password:
        password.write(SECRET)
        password.flush()
        arguments = [url, "--table", "shop.orders", "--password-file", password.name, *flags]
        result = CliRunner().invoke(app, ["at", moment, *arguments])
    assert result.exit_code == 0, result.output


def read_with_histories(server: Server, folder: Path) -> None:
    """Reads a table whose columns the log does not name, with a file and with a database: `history`."""
    server.execute(*STRUCTURES)
    consumer = Consumer(folder / "history")
    connection = connected(server)
    places = [f"sqlite:///{consumer.folder}/history.db", store_url(server)]
    server.execute(*orders.without_names(orders.OLD, is_mariadb=server.is_mariadb))
    for place in places:
        with (
            open_history(place) as history,
            connection.stream("earliest", stop="end", history=history, **OLD) as changes,
        ):
            batches = [*changes]
    for batch in batches:
        consumer.add(batch)
    for lock in consumer.folder.glob("*.lock"):  # it names this machine
        lock.unlink()
    consumer.note(kind="history")


def store_url(server: Server) -> str:
    """Returns the URL of the history on a server."""
    return f"mysql://mirror@127.0.0.1:{server.port}/structures?tls=disabled&allow_public_key_retrieval=1"


def open_history(url: str) -> SchemaHistory:
    """Opens a history in a file or on a server."""
    keywords = {} if url.startswith("sqlite") else {"password": SECRET}
    return SchemaHistory.open(url, **keywords)


def _stored_in(
    consumer: Consumer, batches: Iterator[binarrow.ChangeBatch]
) -> Iterator[binarrow.ChangeBatch]:
    for batch in batches:
        consumer.add(batch)
        yield batch


def _tagged(server: Server, statements: tuple[str, ...]) -> tuple[str, ...]:
    return statements if server.is_mariadb else (*orders.TAGGED, *statements, *orders.UNTAGGED)


def _is_inside(position: dict[str, Any]) -> bool:
    """True inside a transaction, of which changes of several tables were returned."""
    ahead = position.get("ahead", [])
    return len(ahead) > 1 and any("changes" in one for one in ahead)


def _is_plain(position: dict[str, Any]) -> bool:
    return not position.get("ahead") and not position["prepared"]


def _loads_part(position: dict[str, Any], name: str) -> bool:
    tables = position.get("load", {"tables": []})["tables"]
    return any(one["table"] == name and one["read"] == "part" for one in tables)
