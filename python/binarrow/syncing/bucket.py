"""Objects of a bucket below a prefix, with the protocol of S3.

Only a conditional write shows that another program has written an object: it creates an object
only if it does not exist, or replaces it only if its entity tag is still the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store

from binarrow._native import ConfigError
from binarrow.syncing.s3_settings import REQUEST, S3Settings
from binarrow.syncing.store_errors import StoreError, store_error

if TYPE_CHECKING:
    from obstore import PutMode

RETRY = 0.2
"""Seconds between two attempts of a conditional write."""

LONGEST = 5.0
"""The longest pause between two attempts of a request with a check; the first is `RETRY`."""

GUARDED = 20.0
"""Seconds after which a request with a check fails. This is less than the time for which a lock is
valid."""

DELETED = 500
"""The maximum number of objects in one request to delete objects."""

NAMES = re.compile(r"[A-Za-z0-9._=/-]*")
"""The prefixes that need no quoting, neither in URLs nor in the libraries."""


class Bucket:
    """The objects of a bucket below a prefix. Their names are relative to it."""

    def __init__(
        self, bucket: str, prefix: str, settings: S3Settings, patience: float, request: float
    ) -> None:
        self.bucket, self.prefix = bucket, prefix
        self.settings = settings
        self.patience = patience
        self.shown = f"s3://{bucket}/{prefix}".rstrip("/")
        self._store = self._client(request, 1000)
        self._guarded = self._client(min(request, GUARDED), 0)
        """A client that does not repeat requests. `_checked` repeats them, each time after a check
        of the lock, which may have been lost."""

    def _client(self, request: float, retries: int) -> S3Store:
        return S3Store(
            self.bucket,
            prefix=self.prefix or None,
            config=self.settings.of_obstore(),  # type: ignore[arg-type]
            client_options={
                "allow_http": self.settings.is_plain,
                "timeout": timedelta(seconds=request),
            },
            retry_config={
                "max_retries": retries,
                "retry_timeout": timedelta(seconds=self.patience),
                "backoff": {
                    "init_backoff": timedelta(seconds=0.1),
                    "max_backoff": timedelta(seconds=5),
                    "base": 2,
                },
            },
        )

    @classmethod
    def of_url(cls, url: str, patience: float) -> Bucket:
        """Returns the bucket of a URL without its scheme, `bucket/prefix`.

        Raises:
            ConfigError: The URL is not valid, or contains credentials. The message does not.
        """
        bucket, _, prefix = url.partition("/")
        if "@" in url or "?" in url:
            raise ConfigError(
                "the URL of an S3 target must not contain credentials or options: write"
                " delta+s3://bucket/prefix, and set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,"
                " AWS_REGION and AWS_ENDPOINT_URL, or AWS_PROFILE"
            )
        prefix = prefix.strip("/")
        is_valid = re.fullmatch(r"[a-z0-9][a-z0-9.-]+", bucket) and NAMES.fullmatch(prefix)
        if not is_valid or "//" in prefix:
            raise ConfigError(
                f"the target 's3://{url}' is not a bucket and a prefix: write"
                " delta+s3://bucket/prefix, with letters, digits and the characters - _ . = /"
            )
        return cls(bucket, prefix, S3Settings.from_environment(), patience, REQUEST)

    def impatient(self, patience: float) -> Bucket:
        """Returns the same bucket, with requests that fail after this number of seconds."""
        return Bucket(self.bucket, self.prefix, self.settings, patience, patience)

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Returns an object and its entity tag; None if it does not exist."""
        with _translated():
            try:
                found = obstore.get(self._store, name)
                return bytes(found.bytes()), str(found.meta["e_tag"])
            except FileNotFoundError as error:
                _check_bucket(error)
                return None

    def has(self, name: str) -> bool:
        """True if an object exists."""
        with _translated():
            try:
                obstore.head(self._store, name)
            except FileNotFoundError as error:
                _check_bucket(error)
                return False
            return True

    def put(self, name: str, content: bytes) -> None:
        """Writes an object, or replaces it."""
        with _translated():
            obstore.put(self._store, name, content)

    def put_if(self, name: str, content: bytes, tag: str | None) -> str | None:
        """Replaces an object with an entity tag, or creates one if the tag is None.

        No other call may write the same content: if the answer of the store is lost, the content
        of the object shows whether this call has written it.

        Returns:
            The new tag. None if another program has written the object.
        """
        mode: PutMode = "create" if tag is None else {"e_tag": tag}
        deadline = monotonic() + self.patience
        while True:
            try:
                return str(obstore.put(self._store, name, content, mode=mode)["e_tag"])
            except (AlreadyExistsError, PreconditionError):
                return self._tag_of(name, content)
            except FileNotFoundError as error:
                with _translated():
                    _check_bucket(error)
                return None
            except BaseError as error:
                failed = store_error(error)
                if not failed.is_transient or monotonic() >= deadline:
                    raise failed from None
            sleep(RETRY)

    def _tag_of(self, name: str, content: bytes) -> str | None:
        found = self.get(name)
        return found[1] if found is not None and found[0] == content else None

    def names(self, prefix: str) -> list[str]:
        """Returns the names of all objects in a folder, in their order."""
        with _translated():
            found = obstore.list(self._store, prefix)
            return sorted(one["path"] for chunk in found for one in chunk)

    def has_any(self, prefix: str) -> bool:
        """True if there is an object in a folder."""
        with _translated():
            return any(obstore.list(self._store, prefix, chunk_size=1))

    def copy(self, name: str, to: str, check: Callable[[], None]) -> None:
        """Copies an object inside the store; `check` is called before each request."""
        self._checked(partial(obstore.copy, self._guarded, name, to), check)

    def delete(self, names: Iterable[str], check: Callable[[], None] = lambda: None) -> None:
        """Deletes objects, in their order; `check` is called before each request."""
        listed = list(names)
        for place in range(0, len(listed), DELETED):
            part = listed[place : place + DELETED]
            self._checked(partial(obstore.delete, self._guarded, part), check)

    def _checked(self, request: Callable[[], object], check: Callable[[], None]) -> None:
        """Repeats a request until it succeeds, each time after a check."""
        deadline = monotonic() + self.patience
        pause = RETRY
        while True:
            try:
                check()
                with _translated():
                    request()
            except StoreError as error:
                if not error.is_transient or monotonic() >= deadline:
                    raise
            else:
                return
            sleep(pause)
            pause = min(2 * pause, LONGEST)


def _check_bucket(error: FileNotFoundError) -> None:
    """Raises the error if the bucket is missing, and not only the object."""
    if "NoSuchBucket" in str(error):
        raise error


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError) as error:
        raise store_error(error) from None


__all__ = ["Bucket"]
