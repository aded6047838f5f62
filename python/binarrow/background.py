"""Work of coroutines in a thread, so that it does not block the event loop.

Modules for coroutines are imported when they are used, so that `import binarrow` remains fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")


class Background:
    """A thread of its own for the work of one object. It starts with the first work.

    The threads of :func:`asyncio.to_thread` are few, and shared: streams that wait would stop other
    work of the event loop.
    """

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Runs work after all earlier work. Cancellation ends the wait, not the work."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "binarrow-background")
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def finish(self, work: Callable[[], None]) -> None:
        """Runs the last work, also if the task is cancelled before it has run."""
        import asyncio

        await asyncio.shield(self.run(work))

    def end(self) -> None:
        """Ends the thread after its work."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)
            self._executor = None


async def let_others_run() -> None:
    """Gives other tasks of the event loop a turn."""
    import asyncio

    await asyncio.sleep(0)


__all__ = ["Background", "let_others_run"]
