"""Servers that are not servers must cause an error of the right class, soon, without a secret in it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import binarrow
from support.fakes.fake_server import FakeServer, Peer

LIMIT = 2.0
"""Seconds that an error may take."""

SECRET = "hunter2"

Script = Callable[[Peer], None]


def reach(server: FakeServer, **keywords: Any) -> binarrow.Server:
    given = {"user": "me", "password": SECRET, "tls": "disabled", **keywords}
    return binarrow.connect(host="127.0.0.1", port=server.port, **given)


def assert_refused(
    kind: type[binarrow.BinarrowError],
    match: str,
    script: Script,
    call: Callable[[FakeServer], object],
) -> FakeServer:
    """Plays the script; the server that it was played on."""
    with FakeServer(script) as server:
        begin = time.monotonic()
        with pytest.raises(kind, match=match) as caught:
            call(server)
        assert time.monotonic() - begin < LIMIT
        assert type(caught.value) is kind
        shown = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
        assert SECRET not in shown
        assert len(shown) < 10_000
        del caught
    assert SECRET.encode() not in server.received
    return server


def first(data: bytes) -> Script:
    """Says this, whatever the client says."""
    return lambda peer: peer.raw(data)
