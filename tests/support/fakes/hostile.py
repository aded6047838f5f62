"""Servers that are not servers must cause an error of the right class, without a secret in it."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import binarrow
from support.fakes.fake_server import FakeServer, Peer
from support.waiting import at_any_pace

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
        with pytest.raises(kind, match=match) as caught:
            call(server)
        assert type(caught.value) is kind
        shown = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
        assert SECRET not in shown
        assert len(shown) < 10_000
        del caught
    assert SECRET.encode() not in server.received
    return server


def assert_silence_ends(script: Script, call: Callable[[FakeServer, float], object]) -> None:
    """Calls with a time limit in seconds, which ends the call after the script, without a second attempt."""

    def check(unit: float) -> None:
        is_silent = threading.Event()

        def play(peer: Peer) -> None:
            script(peer)
            is_silent.set()

        server = assert_refused(
            binarrow.ConnectionLostError,
            "no answer in time",
            play,
            lambda server: call(server, 5 * unit),
        )
        assert is_silent.is_set()
        assert server.connections == 1

    at_any_pace(check)


def first(data: bytes) -> Script:
    """Says this, whatever the client says."""
    return lambda peer: peer.raw(data)
