"""The servers that were recorded with what earlier versions have stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.servers.s3 import S3
from support.stored.servers import RecordedServers


@pytest.fixture(scope="session")
def recorded_servers() -> Iterator[RecordedServers]:
    """The recorded servers, each of which is started once."""
    with RecordedServers.opened() as servers:
        yield servers


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """A server of the S3 protocol."""
    with S3.started() as store:
        yield store
