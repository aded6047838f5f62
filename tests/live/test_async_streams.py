"""Streams from servers in coroutines: two in one event loop, cancelled waits, Ctrl-C, errors."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import FileCheckpoint
from support import live
from support.servers.servers import Server
from support.waiting import WAIT, until_async

pytestmark = pytest.mark.parametrize("flavor", ["mysql", "mariadb-11.8"])


@pytest.fixture
def started(flavor: str) -> Iterator[Server]:
    with live.server(flavor) as server:
        yield server


async def ids_until(stream: Any, last: int) -> list[int]:
    found: list[int] = []
    async for change in stream:
        found += live.ids([change])
        if last in found:
            break
    return found


def test_two_streams_in_one_loop(started: Server) -> None:
    async def read() -> tuple[list[int], list[int], list[float]]:
        with live.reach(started) as connection:
            own = {"heartbeat": 0.5, **live.COLUMNS}
            async with (
                connection.stream("latest", tables="live.t", **own) as first,
                connection.stream("latest", tables="live.big", **own) as second,
            ):
                first.start()
                second.start()
                tasks = [
                    asyncio.create_task(ids_until(first, 50)),
                    asyncio.create_task(ids_until(second, 30)),
                ]
                gaps = []
                for number in range(1, 51):
                    await asyncio.to_thread(live.insert, started, number)
                    if number <= 30:
                        await asyncio.to_thread(
                            started.execute, f"INSERT INTO live.big VALUES ({number}, 'x')"
                        )
                    before = time.monotonic()
                    await asyncio.sleep(0.001)
                    gaps.append(time.monotonic() - before)
                return *[await asyncio.wait_for(task, WAIT) for task in tasks], gaps

    first, second, gaps = asyncio.run(read())
    assert first == list(range(1, 51))
    assert second == list(range(1, 31))
    # A busy machine may hold up the event loop; a wait that blocks it does so nearly each time.
    assert sorted(gaps)[len(gaps) // 4] < 0.02


def test_waits_with_a_timeout_lose_no_row(started: Server, tmp_path: Path) -> None:
    """Every wait is a task that is cancelled, often just when a row arrives; and the read is resumed in between."""
    rng = random.Random(7)
    rows = 300
    path = tmp_path / "pos.json"

    async def write() -> None:
        for number in range(1, rows + 1):
            await asyncio.to_thread(live.insert, started, number)
            await asyncio.sleep(rng.random() * 0.004)  # a pause of the workload

    async def read(connection: Any, found: list[int]) -> None:
        own = {"heartbeat": 0.5, "tables": "live.t", **live.COLUMNS}
        checkpoint = FileCheckpoint(path, interval=0)
        while rows not in found:
            async with connection.stream("latest", checkpoint=checkpoint, **own) as stream:
                for _ in range(rng.randrange(5, 60)):
                    before = stream.position
                    try:
                        async with asyncio.timeout(rng.random() * 0.01):
                            change = await anext(stream)
                    except TimeoutError:
                        now = stream.position  # it may have passed over other events, and no row
                        assert before is None or now is None or now.base >= before.base
                        continue
                    found += live.ids([change])
                    if rows in found:
                        break

    async def both() -> list[int]:
        found: list[int] = []
        with live.reach(started) as connection:
            FileCheckpoint(path).save(connection.position())
            writer = asyncio.create_task(write())
            await asyncio.wait_for(read(connection, found), 4 * WAIT)
            await writer
        return found

    assert asyncio.run(both()) == list(range(1, rows + 1))


PROGRAM = """
import asyncio, json, sys
import binarrow

keywords = json.loads(sys.argv[1])

async def main():
    with binarrow.connect(**keywords) as server:
        checkpoint = binarrow.FileCheckpoint(sys.argv[2], interval=3600)
        stream = server.stream(
            "latest", checkpoint=checkpoint, tables="live.t", column_names="positional", heartbeat=600
        )
        async with stream as changes:
            changes.start()
            print("started", flush=True)
            async for change in changes:
                print(change.position, flush=True)

asyncio.run(main())
"""


def test_ctrl_c(started: Server, tmp_path: Path) -> None:
    """The wait ends at once, and the position of what was done is saved."""
    path = tmp_path / "pos.json"
    keywords = {**live.USER, "host": "127.0.0.1", "port": started.port}
    done = live.interrupted(
        PROGRAM,
        json.dumps(keywords),
        str(path),
        change=lambda: live.insert(started, 1),
    )
    assert str(FileCheckpoint(path).load()) == done


def test_a_lost_server_and_a_position_of_another_one(started: Server, tmp_path: Path) -> None:
    checkpoint = FileCheckpoint(tmp_path / "pos.json")

    async def read(connection: Any) -> None:
        checkpoint.save(live.of_another_server(connection.position()))
        with pytest.raises(binarrow.ServerIdentityError) as caught:
            async with connection.stream(checkpoint=checkpoint) as stream:
                await anext(stream)
        assert any("pos.json" in note for note in caught.value.__notes__)
        # No retries: the server stops while the task waits.
        async with connection.stream("latest", reconnect=None, tables="live.t") as stream:
            waiting = asyncio.create_task(anext(stream))
            await until_async(lambda: live.dumps(started))
            await asyncio.to_thread(started.kill)
            with pytest.raises(binarrow.ConnectionLostError):
                await asyncio.wait_for(waiting, WAIT)

    with live.reach(started) as connection:
        asyncio.run(read(connection))
