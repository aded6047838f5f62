"""A stream in coroutines, without servers: order, cancellation, errors, and what other tasks see meanwhile."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import binarrow
from binarrow import FileCheckpoint, Position, Stream
from support.waiting import WAIT, until, until_async


class Arriving:
    """A log that arrives in pieces: a reader of it waits for the next one."""

    name = "binlog.000001"

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._read = self._sent = 0
        self._more = threading.Condition()
        self.is_empty = False
        """True while a reader waits for more."""

    def seekable(self) -> bool:
        return False

    def read(self, size: int) -> bytes:
        with self._more:
            self.is_empty = self._sent == self._read
            self._more.wait_for(lambda: self._sent > self._read or self._sent == len(self._data))
            self.is_empty = False
            begin, self._read = self._read, min(self._read + size, self._sent)
            return self._data[begin : self._read]

    def send(self, size: int | None = None) -> None:
        """Sends some bytes, or all others and the end."""
        with self._more:
            end = len(self._data) if size is None else self._sent + size
            self._sent = min(end, len(self._data))
            self._more.notify_all()


@contextmanager
def arriving(shop: Any, **keywords: Any) -> Iterator[tuple[Arriving, Stream[Any]]]:
    """A stream of the shop's first file that arrives in pieces, with small batches and segments."""
    pipe = Arriving(shop.files[0].read_bytes())
    options = {"batch_rows": 20, "segment_bytes": 1 << 14, "threads": 1, **keywords}
    checkpoint = options.pop("checkpoint", None)
    stream = Stream(binarrow.read_binlog(pipe, **options), checkpoint)
    try:
        yield pipe, stream
    finally:
        stream.close()
        pipe.send()  # a read of it continues alone


def reader_of(shop: Any, **keywords: Any) -> Any:
    return binarrow.read_binlog(shop.glob, batch_rows=50, **keywords)


def keys(changes: Any) -> list[tuple[str, int, int]]:
    """The identity of each row, in order."""
    return [
        (change.table, *row)
        for change in changes
        for row in zip(
            change.to_pyarrow().column("_commit_version").to_pylist(),
            change.to_pyarrow().column("_change_ordinal").to_pylist(),
            strict=True,
        )
    ]


async def all_of(stream: Any) -> list[Any]:
    return [change async for change in stream]


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_it_returns_what_an_iteration_returns(shop, tmp_path):
    async def read() -> list[Any]:
        async with Stream(reader_of(shop), checkpoint) as stream:
            return await all_of(stream)

    checkpoint = FileCheckpoint(tmp_path / "pos.json", interval=0)
    expected = list(reader_of(shop))
    found = asyncio.run(read())
    assert [change.position for change in found] == [change.position for change in expected]
    assert keys(found) == keys(expected)
    saved = checkpoint.load()
    assert saved is not None
    assert saved.offset == shop.files[1].stat().st_size


def test_the_end_is_reached_once_more(shop):
    async def read() -> None:
        stream = Stream(reader_of(shop, tables="shop.orders"))
        await all_of(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        assert not stream.closed
        await stream.aclose()
        assert stream.closed
        with pytest.raises(binarrow.ConfigError, match="closed"):
            await anext(stream)

    asyncio.run(read())


def test_other_tasks_run_between_batches_that_are_ready(shop):
    async def read() -> tuple[int, int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counter = asyncio.create_task(count())
        stream = Stream(reader_of(shop))
        stream.start()
        batches = 0
        until(lambda: stream._reader.wait(0.0))
        while await anext(stream, None) is not None:
            batches += 1
            until(lambda: stream._reader.wait(0.0))
        await cancelled(counter)
        return turns, batches

    turns, batches = asyncio.run(read())
    assert batches > 20
    assert turns >= batches


def test_the_event_loop_is_not_blocked_by_a_wait(shop):
    """Also not by questions about the stream while it waits."""

    async def read() -> list[float]:
        with arriving(shop) as (pipe, stream):
            task = asyncio.create_task(anext(stream))
            await until_async(lambda: pipe.is_empty)
            seconds = []
            for _ in range(40):
                before = time.monotonic()
                await asyncio.sleep(0.001)
                _ = stream.position, stream.stats(), stream.closed, repr(stream)
                seconds.append(time.monotonic() - before)
            assert not task.done()
            pipe.send()
            assert (await asyncio.wait_for(task, WAIT)).num_rows > 0
            return seconds

    # A busy machine may hold up some turns; a wait that blocks the loop does so nearly each time, for about 0.05 s.
    assert statistics.quantiles(asyncio.run(read()))[0] < 0.02


def test_cancelled_waits_lose_no_batch(shop):
    async def read() -> list[Any]:
        found = []
        with arriving(shop) as (pipe, stream):
            for number in range(200):
                waiting = asyncio.create_task(anext(stream))
                await asyncio.sleep(0.001 * (number % 4))  # the moments differ
                pipe.send(1000)
                await asyncio.sleep(0.0005 * (number % 3))
                before = stream.position
                if waiting.cancel():
                    try:
                        found.append(await waiting)  # it had ended, or the wait had not started
                    except asyncio.CancelledError:
                        assert stream.position == before
                else:
                    found.append(waiting.result())
                if found:
                    assert stream.position.base >= found[-1].position.base
            pipe.send()
            return found + await all_of(stream)

    found = asyncio.run(read())
    with arriving(shop) as (pipe, stream):
        pipe.send()
        expected = list(stream)
    assert keys(found) == keys(expected)


def test_a_batch_that_arrives_during_a_cancelled_wait_is_not_passed_over(shop, tmp_path):
    """Neither by the next iteration, nor by the position, nor by the checkpoint."""
    checkpoint = FileCheckpoint(tmp_path / "pos.json", interval=0)

    async def read() -> None:
        with arriving(shop, checkpoint=checkpoint) as (pipe, stream):
            pipe.send(30_000)
            async with stream:
                first = await anext(stream)
                waiting = asyncio.create_task(anext(stream))

                def is_waiting() -> bool:
                    return waiting.done() or (pipe.is_empty and not stream._reader.wait(0.0))

                await until_async(is_waiting)
                while waiting.done():  # more of what was sent
                    first, waiting = waiting.result(), asyncio.create_task(anext(stream))
                    await until_async(is_waiting)
                pipe.send(60_000)
                until(lambda: stream._reader.wait(0.0))  # it arrives while the loop does not run
                await cancelled(waiting)
                before = stream.position  # events without rows may have been passed over since
                assert before is not None
                assert before.base >= first.position.base
                second = await anext(stream)
                assert stream.position == second.position
                assert next_rows(before, second) == next_rows(checkpoint.load(), second)
                assert next_rows(before, second) == keys([second])
                found.append(second)
                raise KeyError  # the second one is not done

    def next_rows(start: Position | None, batch: Any) -> list[tuple[str, int, int]]:
        """The first rows of a table for a reader that starts there."""
        assert start is not None
        table = f"{batch.database}.{batch.table}"
        return keys(binarrow.read_binlog(shop.files[0], start=start, tables=table))[
            : batch.num_rows
        ]

    found: list[Any] = []
    with pytest.raises(KeyError):
        asyncio.run(read())
    assert next_rows(checkpoint.load(), found[0]) == keys(found)


def test_a_cancelled_wait_ends_its_thread(shop):
    """The process ends at once, although the stream is not closed."""
    program = """
import asyncio, os, binarrow
from binarrow import Stream

async def main():
    reader, writer = os.pipe()
    stream = Stream(binarrow.read_binlog(os.fdopen(reader, "rb")))
    for timeout in (0.1, 0.1):
        try:
            await asyncio.wait_for(anext(stream), timeout)
        except TimeoutError:
            print("late", flush=True)
    main.kept = stream, writer

asyncio.run(main())
print("done", flush=True)
os.close(main.kept[1])
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=WAIT
    )
    assert ran.stdout.split() == ["late", "late", "done"]


def test_errors_arrive(shop, tmp_path):
    broken = tmp_path / "binlog.000001"
    data = bytearray(shop.files[0].read_bytes())
    data[len(data) * 3 // 4] ^= 1
    broken.write_bytes(data)

    async def read() -> int:
        rows = 0
        stream = Stream(binarrow.read_binlog(broken))
        try:
            async with stream:
                async for change in stream:
                    rows += change.num_rows
        except binarrow.ChecksumError:
            assert stream.closed
            return rows
        raise AssertionError

    assert asyncio.run(read()) > 0


def test_closing_ends_a_wait(shop):
    async def read() -> None:
        with arriving(shop) as (pipe, stream):
            waiting = asyncio.create_task(anext(stream))
            await until_async(lambda: pipe.is_empty)
            await asyncio.wait_for(stream.aclose(), WAIT)
            with pytest.raises(binarrow.ConfigError, match="closed"):
                await asyncio.wait_for(waiting, WAIT)

    asyncio.run(read())


def test_warnings_are_given_once_and_lose_nothing_as_errors(shop):
    async def read() -> tuple[list[Any], int]:
        stream = Stream(reader_of(shop, tables=["shop.orders", "shop.nowhere"]))
        found, raised = [], 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            while True:
                try:
                    found.append(await anext(stream))
                except StopAsyncIteration:
                    return found, raised
                except binarrow.UnmatchedPatternWarning:
                    raised += 1

    found, raised = asyncio.run(read())
    assert raised == 1
    assert keys(found) == keys(reader_of(shop, tables="shop.orders"))


def test_many_streams_wait_at_a_time(shop):
    """More than there are threads for `asyncio.to_thread`, which other work may use."""

    async def read() -> int:
        pipes, tasks, streams = [], [], []
        for _ in range(40):
            pipe = Arriving(shop.files[0].read_bytes())
            streams.append(Stream(binarrow.read_binlog(pipe, threads=1)))
            pipes.append(pipe)
            tasks.append(asyncio.create_task(anext(streams[-1])))
        await until_async(lambda: all(pipe.is_empty for pipe in pipes))
        assert await asyncio.wait_for(asyncio.to_thread(lambda: 7), WAIT) == 7
        for pipe in pipes:
            pipe.send()
        done = await asyncio.wait_for(asyncio.gather(*tasks), WAIT)
        for stream in streams:
            await stream.aclose()
        return len(done)

    assert asyncio.run(read()) == 40


def test_importing_does_not_import_asyncio():
    probe = "import binarrow, sys; assert not {'asyncio', 'concurrent.futures'} & {*sys.modules}"
    subprocess.check_call([sys.executable, "-c", probe])


def test_the_wait_of_a_reader_takes_nothing(shop):
    reader = reader_of(shop)
    assert reader.wait(WAIT)
    assert reader.stats()["batches"] == 0
    assert reader.position is None or reader.position.offset == 4
    first = reader.poll(0.0)
    assert first is not None
    assert reader.position == first.position
    assert first.position == next(reader_of(shop)).position
    reader.close()
    assert reader.wait(0.0)  # poll() raises the error
    with pytest.raises(binarrow.ConfigError):
        reader.wait(-1.0)
