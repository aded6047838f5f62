"""A server's changes as an iterator that keeps its position in a checkpoint."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias

from binarrow._native import (
    BinlogReader,
    ChangeBatch,
    ConfigError,
    Heartbeat,
    Position,
    PositionPurgedError,
    SchemaChange,
    ServerIdentityError,
    SkippedStatement,
    TableReader,
    Transaction,
    Truncate,
    UnloggedChange,
)
from binarrow.background import Background, let_others_run
from binarrow.checkpoint import Checkpoint
from binarrow.notebook import card, reader_facts

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True, default=ChangeBatch)
    T = TypeVar("T")
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)
    T = TypeVar("T")

Change: TypeAlias = (
    ChangeBatch
    | SchemaChange
    | Truncate
    | SkippedStatement
    | UnloggedChange
    | Transaction
    | Heartbeat
)
"""The objects that a reader or stream with ``include`` returns."""

SHORTEST = 0.05
"""The minimum number of seconds to wait for a batch before the position is checked."""

LONGEST = 0.5
"""The maximum number of seconds that a thread waits for a coroutine, which then starts it again.

If the event loop has ended, the thread ends after this time."""

CANCELLED_CHECK = 0.05
"""Seconds between two checks whether the task that waits was cancelled."""


class Stream(Generic[T_co]):
    """An iterator in log order, returned by :meth:`Server.stream`.

    It returns :class:`ChangeBatch` and the items of ``include``. Use it in ``with``, or close it.
    With a checkpoint, a batch or item counts as done when the next one is requested, or when the
    ``with`` block ends without an exception. From then on, the position after it may be saved.
    After an earlier crash, the batch is returned again; no batch is lost.

    In a coroutine, ``async with`` and ``async for`` wait in a thread, and do not block the event
    loop. If a task is cancelled while it waits, no batch is lost: ``position`` is the position
    after the last batch that was returned, and the next ``async for`` returns the batch after it.

        async with server.stream("latest") as changes:
            async for change in changes:
                await store(change)
    """

    def __init__(self, reader: BinlogReader[T_co], checkpoint: Checkpoint | None = None) -> None:
        self._reader = reader
        self._background = Background()
        self._saver = _PositionSaver(checkpoint) if checkpoint is not None else None

    @property
    def position(self) -> Position | None:
        """The position to resume at, after all returned rows. None before the first batch."""
        return self._reader.position

    @property
    def closed(self) -> bool:
        """True if the stream was closed."""
        return self._reader.closed

    def stats(self) -> dict[str, Any]:
        """Returns the counts so far: see :meth:`BinlogReader.stats`."""
        return self._reader.stats()

    def table(
        self,
        name: str,
        *,
        schema: Any = None,
        on_schema_change: Literal["error", "conform", "evolve"] = "error",
        truncates: Literal["error", "emit", "skip"] = "skip",
    ) -> TableReader:
        """Returns the batches of one table under one schema. Do not use this stream afterwards."""
        if self._saver is not None:
            raise ConfigError(
                "table() cannot save its position in a checkpoint: use tables= and iterate"
            )
        return self._reader.table(
            name, schema=schema, on_schema_change=on_schema_change, truncates=truncates
        )

    def nested_json(
        self, *, truncates: Literal["error", "emit", "emit_all", "skip"] = "skip"
    ) -> TableReader:
        """Returns all changes under one schema: see :meth:`BinlogReader.nested_json`."""
        if self._saver is not None:
            raise ConfigError(
                "nested_json() cannot save its position in a checkpoint: iterate instead"
            )
        return self._reader.nested_json(truncates=truncates)

    def start(self) -> None:
        """Starts to read, unless it has started, and saves the position if it is known."""
        if self._saver is not None:
            self._saver.begin(self._reader)
        else:
            self._reader.start()

    def poll(self, timeout: float) -> T_co | None:
        """Returns the next batch or item, or None if none arrives within ``timeout`` seconds.

        Raises:
            StopIteration: The end was reached.
        """
        if self._saver is None:
            return self._reader.poll(timeout)
        return self._saver.next_change(self._reader, time.monotonic() + timeout)

    def close(self) -> None:
        """Ends the read; the batch that the caller is processing does not count as done."""
        try:
            if self._saver is not None:
                self._saver.flush()
        finally:
            self._reader.close()
            self._background.end()

    async def aclose(self) -> None:
        """Closes the stream in a thread, for coroutines: see :meth:`close`."""
        await self._background.finish(self.close)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T_co:
        if self._saver is None:
            return next(self._reader)
        while True:
            change = self._saver.next_change(self._reader, None)
            if change is not None:
                return change

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._saver is not None and error is None:
                self._saver.all_done(self._reader)
            self.close()
        except Exception as failure:
            if error is None:
                raise
            error.add_note(str(failure))
        finally:
            self._reader.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T_co:
        while True:
            await self._until_ready()
            # The batch remains in the reader until here. Nothing is awaited between here and the
            # return, so a task that is cancelled has not taken a batch.
            try:
                change = self._taken()
            except StopIteration:
                if self._saver is not None:
                    await self._background.run(partial(self._saver.all_done, self._reader))
                raise StopAsyncIteration from None
            if change is not None:
                return change

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._background.finish(partial(self.__exit__, kind, error, traceback))

    async def _until_ready(self) -> None:
        """Waits for a batch or item in a thread, for a limited time."""
        if self._saver is not None:
            self._saver.count_as_done(self._reader)
        if not (self._saver and self._saver.is_due) and self._reader.wait(0.0):
            await let_others_run()
            return
        cancelled = threading.Event()
        try:
            await self._background.run(partial(self._wait, cancelled))
        finally:
            cancelled.set()

    def _wait(self, cancelled: threading.Event) -> None:
        seconds = LONGEST
        if self._saver is not None:
            self._saver.begin(self._reader)
            seconds = min(seconds, self._saver.save_if_due())
        deadline = time.monotonic() + seconds
        while not cancelled.is_set() and time.monotonic() < deadline:
            if self._reader.wait(CANCELLED_CHECK):
                return

    def _taken(self) -> T_co | None:
        """Returns a batch or item that is ready, without a wait."""
        if self._saver is None:
            return self._reader.poll(0.0)
        return self._saver.polled(self._reader, 0.0)

    def __repr__(self) -> str:
        if getattr(self, "_reader", None) is None:
            return "<Stream, not created>"
        state = "closed" if self.closed else f"position {self.position}"
        return f"<Stream, {state}>"

    def _repr_html_(self) -> str:
        return card("Stream", reader_facts(self._reader))


class _PositionSaver:
    """Tracks the position after the processed changes, and saves it at intervals."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._lock = threading.Lock()
        self._has_started = False
        self._done: Position | None = None
        self._saved: Position | None = None
        self._due = 0.0
        self._process = os.getpid()

    def begin(self, reader: BinlogReader[Any]) -> None:
        """Saves the start before any row, so that `latest` means the same after a crash."""
        if self._has_started:
            return
        reader.start()
        self._done = reader.position
        self.flush()
        self._has_started = True

    def next_change(self, reader: BinlogReader[T], deadline: float | None) -> T | None:
        """Waits for a batch or item, and saves at intervals; None at the deadline."""
        self.begin(reader)
        self._done = reader.position
        while True:
            wait = self.save_if_due()
            if deadline is not None:
                wait = min(wait, max(deadline - time.monotonic(), 0.0))
            try:
                change = self.polled(reader, wait)
            except StopIteration:
                self.all_done(reader)
                raise
            if change is not None:
                return change
            # No change was returned: events up to the current position were skipped.
            self._done = reader.position
            if deadline is not None and time.monotonic() >= deadline:
                return None

    def polled(self, reader: BinlogReader[T], seconds: float) -> T | None:
        """Polls the reader. An error about the position names the checkpoint."""
        try:
            return reader.poll(seconds)
        except (PositionPurgedError, ServerIdentityError) as error:
            error.add_note(f"the position was stored in {self._checkpoint!r}")
            raise

    def count_as_done(self, reader: BinlogReader[Any]) -> None:
        """Counts all returned changes as processed, to be saved later."""
        if self._has_started:
            self._done = reader.position

    def all_done(self, reader: BinlogReader[Any]) -> None:
        """Counts all returned changes as processed, and saves the position."""
        if self._has_started:
            self._done = reader.position
            self.flush()

    def flush(self) -> None:
        """Saves the position after the processed batches, if it changed; not in a forked child."""
        if os.getpid() != self._process:
            return  # the checkpoint belongs to the parent process
        with self._lock:
            done = self._done
            if done is not None and done != self._saved:
                self._checkpoint.save(done)
                self._saved = done
            self._due = time.monotonic() + self._checkpoint.interval

    @property
    def is_due(self) -> bool:
        """True if the position is to be saved now."""
        return time.monotonic() >= self._due

    def save_if_due(self) -> float:
        """Saves the position if that is due; returns the seconds until it is due again."""
        if self.is_due:
            self.flush()
        return max(self._due - time.monotonic(), SHORTEST)


__all__ = ["Change", "Stream"]
