"""A sync that starts writes into a bucket or a catalog, but not if a later version has stored its state there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from binarrow.stored_forms import LAKE_STATE, STORE_LOCK
from binarrow.syncing.catalog_state import CatalogState
from binarrow.syncing.catalog_table_set import CatalogTableSet
from binarrow.syncing.store_lock import StoreLock
from binarrow.syncing.store_state import StoreState
from support.later_versions import LATER, check_refused, with_field


class MemoryBucket:
    """A bucket with conditional writes, in memory."""

    shown = "s3://bucket/lake"

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def impatient(self, _: float) -> MemoryBucket:
        return self

    def get(self, name: str) -> tuple[bytes, str] | None:
        content = self.objects.get(name)
        return None if content is None else (content, content.decode())

    def put_if(self, name: str, content: bytes, tag: str | None) -> str | None:
        if self.objects.get(name) != (None if tag is None else tag.encode()):
            return None
        self.objects[name] = content
        return content.decode()

    def delete(self, names: list[str], *_: object) -> None:
        for name in names:
            del self.objects[name]


def test_a_lock_in_a_bucket(tmp_path: Path) -> None:
    """The "lock of a sync in an object store" is not taken, even if its owner has ended."""
    bucket = MemoryBucket()
    lock = StoreLock(bucket, "lock.json", lambda: tmp_path)  # type: ignore[arg-type]
    stored = json.loads(lock._text())
    assert stored["version"] == STORE_LOCK.version
    (tmp_path / "owner").write_text(stored["id"])
    later = json.dumps({**stored, "version": LATER}).encode()
    bucket.objects["lock.json"] = later

    def take() -> None:
        with lock:
            pytest.fail("it was taken")

    check_refused(take, stored["version"])
    assert bucket.objects["lock.json"] == later
    bucket.objects["lock.json"] = with_field(later, "version", None).encode()
    with StoreLock(bucket, "lock.json", lambda: tmp_path):  # type: ignore[arg-type]
        assert json.loads(bucket.objects["lock.json"])["version"] == stored["version"]


def checked(position: bytes) -> object:
    """Checks a position as the lake does."""
    return LAKE_STATE.parse(position, "the target")


def test_a_sync_does_not_change_a_bucket() -> None:
    """A sync that starts writes its ID into the position, but not into one of a later version."""
    bucket = MemoryBucket()
    state = StoreState(bucket)  # type: ignore[arg-type]
    state._lock.check = lambda: None  # type: ignore[method-assign]
    assert state.position(checked) is None
    bucket.objects["_binarrow/position.json"] = later = json.dumps({"version": LATER}).encode()
    check_refused(lambda: state.position(checked), 1)
    assert bucket.objects["_binarrow/position.json"] == later
    bucket.objects["_binarrow/position.json"] = b'{"version": 1}'
    assert StoreState(bucket).peek() == b'{"version": 1}'  # type: ignore[arg-type]


def test_a_sync_does_not_change_a_catalog(tmp_path: Path) -> None:
    catalog = SqlCatalog("lake", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}")

    def started(version: int) -> bytes | None:
        """Commits the position of a version, and starts another sync."""
        tables = CatalogTableSet(catalog)
        first = CatalogState("lake", catalog, tables, 1)
        first.position(lambda _: None)
        first.commit(version, json.dumps({"version": version}).encode())
        return CatalogState("lake", catalog, tables, 1).position(checked)

    def snapshots() -> int:
        return len(catalog.load_table(("_binarrow", "sync")).snapshots())

    assert started(1) == b'{"version": 1}'
    before = snapshots()
    check_refused(lambda: started(LATER), 1)
    assert snapshots() == before + 2  # those of the first sync
