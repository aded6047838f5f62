"""The lock of a lake in an object store: only one sync at a time writes the lake.

The lock is an object. Its owner replaces it every `BEAT` seconds. A sync that finds a lock waits,
and takes it only if it does not change for `LEASE` seconds. The clocks of machines are not
compared. The owner does not change a table if it cannot be sure that it still has the lock.

There is also a lock on the local machine. It shows whether an owner on this machine has ended. If
so, the next sync takes the lock in the store at once.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from binarrow.atomic_file import replace_file
from binarrow.stored_forms import STORE_LOCK
from binarrow.syncing.errors import SyncError, TargetBusyError
from binarrow.syncing.lock import Lock

if TYPE_CHECKING:
    from binarrow.syncing.bucket import Bucket

LOG = logging.getLogger("binarrow.sync")

LEASE = 30.0
"""Seconds after which another sync may take a lock that its owner has not replaced."""

BEAT = LEASE / 4
"""Seconds after which the owner replaces the lock again."""

FRESH = 1.0
"""The age in seconds from which the owner replaces the lock before it deletes or copies objects."""

QUICK = 5.0
"""Seconds after which a request for the lock fails."""

POLL = 0.5
"""Seconds between two reads of the lock of another sync."""


def now() -> float:
    """Returns the seconds of a monotonic clock that also runs while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class StoreLock:
    """A lock in an object of a store, and a lock of this machine."""

    def __init__(self, bucket: Bucket, name: str, folder: Callable[[], Path]) -> None:
        self._bucket = bucket
        self._quick = bucket.impatient(QUICK)
        self._name = name
        self._folder = folder
        self._id = str(uuid.uuid4())
        self._tag = ""
        self._replaced = 0.0
        """The time at which the last request that replaced the lock began."""
        self._is_lost = False
        self._mutex = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._local: Lock | None = None

    def __enter__(self) -> Self:
        folder = self._folder()
        local = Lock(folder / "lock", self._bucket.shown)
        local.__enter__()
        try:
            owner = folder / "owner"
            former = owner.read_text() if owner.exists() else ""
            self._take(former, owner)
            self._check_conditions()
        except OSError as error:
            local.__exit__(None, None, None)
            raise SyncError(f"{self._bucket.shown} cannot be written: {error}") from None
        except BaseException:
            local.__exit__(None, None, None)
            raise
        self._local = local
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        try:
            if self._is_sure and not self._is_lost:
                self._quick.delete([self._name])
        except OSError as failed:
            LOG.info("the lock of %s was not deleted: %s", self._bucket.shown, failed)
        finally:
            if self._local is not None:
                self._local.__exit__(kind, error, traceback)

    def check(self) -> None:
        """Checks that no other sync has taken the lock.

        Raises:
            TargetBusyError: Another one has taken it.
            OSError: The store cannot be reached.
        """
        self._check(LEASE - POLL)

    def renew(self) -> None:
        """Replaces the lock, so that no other sync can take it during the next request.

        Raises:
            TargetBusyError: Another sync has taken it.
            OSError: The store cannot be reached.
        """
        self._check(FRESH)

    def _check(self, age: float) -> None:
        """Replaces the lock if this sync replaced it more than `age` seconds ago."""
        if not self._is_lost and now() < self._replaced + age:
            return
        self._renew()
        if self._is_lost:
            raise self._lost()

    @property
    def _is_sure(self) -> bool:
        """True if no other sync can have taken the lock."""
        return now() < self._replaced + LEASE - POLL

    def _take(self, former: str, owner: Path) -> None:
        """Takes the lock if there is none, or if its owner has ended."""
        seen: str | None = None
        deadline = 0.0
        while True:
            found = self._bucket.get(self._name)
            tag = None if found is None else found[1]
            if tag is not None and tag != seen:
                content = _content(found)
                STORE_LOCK.check(content.get(STORE_LOCK.key), f"the lock of {self._bucket.shown}")
                if seen is not None and content.get("id") != former:
                    raise self._busy(content)
                seen, deadline = tag, now() + LEASE
                if content.get("id") != former:
                    LOG.info(
                        "%s is locked by another sync. If that sync has ended, its lock expires"
                        " after %d seconds",
                        self._bucket.shown,
                        LEASE,
                    )
            is_free = found is None or _content(found).get("id") == former
            if is_free or now() >= deadline:
                replace_file(owner, self._id.encode())
                began = now()
                taken = self._bucket.put_if(self._name, self._text(), tag)
                if taken is None:
                    raise self._busy(_content(self._bucket.get(self._name)))
                self._tag, self._replaced = taken, began
                return
            self._ended.wait(POLL)

    def _check_conditions(self) -> None:
        """Checks that the store refuses writes whose conditions are not met.

        Some stores ignore conditions. Two syncs could then both write the position.

        Raises:
            SyncError: The store ignores them.
        """
        text = self._text()
        if self._bucket.put_if(self._name, text, None) or self._bucket.put_if(
            self._name, text, '"00000000000000000000000000000000"'
        ):
            self._bucket.delete([self._name])
            raise SyncError(
                f"{self._bucket.shown}: the store ignores the conditions If-None-Match and If-Match"
                " of writes, so it cannot refuse a second sync: use a store that supports them"
            )

    def _keep(self) -> None:
        """Replaces the lock until the end of the sync."""
        while not self._ended.wait(BEAT) and not self._is_lost:
            try:
                self._renew()
            except OSError as error:
                LOG.info("%s: %s", self._bucket.shown, error)

    def _renew(self) -> None:
        with self._mutex:
            began = now()
            tag = self._quick.put_if(self._name, self._text(), self._tag)
            if tag is None:
                found = self._quick.get(self._name)
                if found is None or _content(found).get("id") != self._id:
                    self._is_lost = True
                    return
                tag = found[1]  # this sync has written it, but the answer was lost
            self._tag, self._replaced = tag, began

    def _text(self) -> bytes:
        """Returns a unique content for the lock."""
        found = {
            **STORE_LOCK.stamp,
            "id": self._id,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "beat": str(uuid.uuid4()),
        }
        return json.dumps(found).encode()

    def _busy(self, content: dict[str, Any]) -> TargetBusyError:
        owner = f"process {content.get('process')} on {content.get('host')}"
        return TargetBusyError(
            f"another sync writes {self._bucket.shown} ({owner}): end it first, or choose another"
            " target"
        )

    def _lost(self) -> TargetBusyError:
        return TargetBusyError(
            f"another sync writes {self._bucket.shown} now, because this sync was stopped, or could"
            f" not reach the store, for {LEASE:.0f} seconds. This sync has ended. No change is"
            " lost. Run only one sync at a time"
        )


def _content(found: tuple[bytes, str] | None) -> dict[str, Any]:
    try:
        content = json.loads(found[0]) if found is not None else {}
    except ValueError:
        content = {}
    return content if isinstance(content, dict) else {}


__all__ = ["StoreLock"]
