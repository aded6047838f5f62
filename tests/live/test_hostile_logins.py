"""Servers that lie, stall, or ask for what is not theirs while one logs in."""

from __future__ import annotations

from typing import Any

import pytest

import binarrow
from support.fakes.fake_server import (
    ALL,
    NONCE,
    OK,
    PLAIN,
    Peer,
    greeting,
    packet,
    refusal,
)
from support.fakes.hostile import Script, assert_refused, assert_silence_ends, first, reach
from support.waiting import drip


def after_greeting(*payloads: bytes, plugin: bytes = b"mysql_native_password") -> Script:
    """Greets, and answers each packet of the client's with the next of these."""

    def script(peer: Peer) -> None:
        peer.greet(PLAIN, plugin)
        for payload in payloads:
            peer.send(payload)
            peer.receive()

    return script


def endless_data(peer: Peer) -> None:
    peer.greet(PLAIN, b"caching_sha2_password")
    while True:
        peer.send(b"\x01\x03")


RSA_OF_512_BITS = b"""-----BEGIN PUBLIC KEY-----
MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKgtXx//5nr6DpGvxAmF0iGwvC/2qGP2
yhezWSNmUTUtGN49PhTtvq54ogMxUkDJwWEplYOXXL7mVm5QSF+Z5csCAwEAAQ==
-----END PUBLIC KEY-----
"""

SHA2 = b"caching_sha2_password"
KEY = {"allow_public_key_retrieval": True}
SWITCH = b"\xfemysql_native_password\0" + NONCE + b"\0"

LOGINS: dict[str, tuple[type[binarrow.BinarrowError], str, Script, dict[str, Any]]] = {
    "no-greeting": (
        binarrow.ConnectionLostError,
        "closed the connection",
        lambda peer: peer.leave(),
        {},
    ),
    "old-greeting": (
        binarrow.MalformedBinlogError,
        "version of the client protocol",
        first(packet(b"\x093.23.58\0", 0)),
        {},
    ),
    "cut-greeting": (
        binarrow.MalformedBinlogError,
        "nonce needs",
        first(packet(greeting()[:20], 0)),
        {},
    ),
    "http": (
        binarrow.MalformedBinlogError,
        "check that a MySQL",
        first(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        {},
    ),
    "without-4.1": (
        binarrow.MalformedBinlogError,
        "before MySQL 4.1",
        first(packet(greeting(PLAIN & ~0x8200), 0)),
        {},
    ),
    "refused-early": (
        binarrow.ServerError,
        r"Too many connections \(error 1040\)",
        first(packet(refusal(1040, b"Too many connections", b""), 0)),
        {},
    ),
    "refused-without-a-word": (
        binarrow.AuthenticationError,
        r"gives no reason \(error 1130\)",
        first(packet(refusal(1130, b"", b""), 0)),
        {},
    ),
    "refused-in-one-byte": (
        binarrow.ServerError,
        r"no reason \(error 0\)",
        first(packet(b"\xff", 0)),
        {},
    ),
    "refused-with-half-a-state": (
        binarrow.AuthenticationError,
        "#28",
        after_greeting(refusal(1045, b"28", b"#")),
        {},
    ),
    "refused-at-length": (
        binarrow.AuthenticationError,
        "denied x+ ",
        after_greeting(refusal(1045, b"denied " + b"x" * 65_000)),
        {},
    ),
    "huge-login-packet": (
        binarrow.MalformedBinlogError,
        "limit is 65536",
        first(packet(greeting() + bytes(70_000), 0)),
        {},
    ),
    "endless-login-packet": (
        binarrow.MalformedBinlogError,
        "limit is 65536",
        first(b"\xff\xff\xff\0"),
        {},
    ),
    "local-infile": (
        binarrow.MalformedBinlogError,
        "0xfb",
        after_greeting(b"\xfb/etc/passwd"),
        {},
    ),
    "old-auth": (binarrow.AuthenticationError, "mysql_old_password", after_greeting(b"\xfe"), {}),
    "old-auth-by-name": (
        binarrow.AuthenticationError,
        "mysql_old_password",
        after_greeting(b"\xfemysql_old_password\0" + NONCE[:8] + b"\0"),
        {},
    ),
    "plugin-with-a-long-name": (
        binarrow.AuthenticationError,
        'x{64}"',
        after_greeting(b"\xfe" + b"x" * 60_000),
        {},
    ),
    "clear": (
        binarrow.AuthenticationError,
        "mysql_clear_password.*allow_clear_password=True",
        after_greeting(b"\xfemysql_clear_password\0"),
        {},
    ),
    "clear-without-tls": (
        binarrow.AuthenticationError,
        r"use TLS \(tls='required' or stricter\)$",
        after_greeting(b"\xfemysql_clear_password\0"),
        {"allow_clear_password": True},
    ),
    "full-without-tls": (
        binarrow.AuthenticationError,
        "secure transport",
        after_greeting(b"\x01\x04", plugin=SHA2),
        {},
    ),
    "sha256-without-tls": (
        binarrow.AuthenticationError,
        "secure transport",
        after_greeting(b"\xfesha256_password\0" + NONCE + b"\0"),
        {},
    ),
    "second-switch": (
        binarrow.MalformedBinlogError,
        "unexpected packet.*0xfe",
        after_greeting(SWITCH, SWITCH),
        {},
    ),
    "data-for-native": (
        binarrow.MalformedBinlogError,
        "unexpected packet.*0x01",
        after_greeting(b"\x01\x04"),
        {},
    ),
    "endless-data": (binarrow.MalformedBinlogError, "more than 16", endless_data, {}),
    "small-key": (
        binarrow.AuthenticationError,
        "RSA key",
        after_greeting(b"\x01\x04", b"\x01" + RSA_OF_512_BITS, plugin=SHA2),
        KEY,
    ),
    "no-key": (
        binarrow.AuthenticationError,
        "RSA key",
        after_greeting(b"\x01\x04", b"\x01" + b"A" * 60_000, plugin=SHA2),
        KEY,
    ),
    "key-never-comes": (
        binarrow.MalformedBinlogError,
        "unexpected packet.*0x00",
        after_greeting(b"\x01\x04", OK, plugin=SHA2),
        KEY,
    ),
    "parsec-without-salt": (
        binarrow.MalformedBinlogError,
        "unexpected packet",
        after_greeting(b"\xfeparsec\0" + bytes(32), b"P\0"),
        {},
    ),
    "parsec-that-costs": (
        binarrow.MalformedBinlogError,
        "unexpected packet",
        after_greeting(b"\xfeparsec\0" + bytes(32), b"P\x1f" + bytes(18)),
        {},
    ),
    "cut-ok": (binarrow.MalformedBinlogError, "OK packet", after_greeting(OK[:4]), {}),
    "empty-answer": (binarrow.MalformedBinlogError, "unexpected", after_greeting(b""), {}),
    "sequence-gap": (
        binarrow.MalformedBinlogError,
        "received 3 instead of 2",
        lambda peer: (peer.greet(), peer.raw(packet(OK, 3)))[1],
        {},
    ),
    "sequence-repeated": (
        binarrow.MalformedBinlogError,
        "received 0 instead of 2",
        lambda peer: (peer.greet(), peer.raw(packet(OK, 0)))[1],
        {},
    ),
    "greeting-twice": (
        binarrow.MalformedBinlogError,
        "out of order|unexpected",
        first(packet(greeting(), 0) + packet(greeting(), 1)),
        {},
    ),
}


@pytest.mark.parametrize("name", LOGINS)
def test_logins(name: str) -> None:
    kind, match, script, keywords = LOGINS[name]
    assert_refused(kind, match, script, lambda server: reach(server, **keywords))


STALLS: dict[str, Script] = {
    "at-once": first(b""),
    "in-the-greeting": first(packet(greeting(), 0)[:30]),
    "in-the-login": lambda peer: peer.greet() and None,
    "in-a-switch": lambda peer: (peer.greet(), peer.send(SWITCH), peer.receive())[2] and None,
    "in-tls": lambda peer: peer.greet(ALL) and None,
}


@pytest.mark.parametrize("name", STALLS)
def test_logins_that_stall(name: str) -> None:
    assert_silence_ends(
        STALLS[name],
        lambda server, seconds: reach(server, connect_timeout=seconds, tls="preferred"),
    )


def test_a_login_that_arrives_byte_by_byte() -> None:
    """The limit is for the complete login."""
    sent: list[bytes] = []
    data = packet(greeting(version=b"9.7" + b"x" * 1000), 0)

    def script(peer: Peer) -> None:
        drip(data, lambda byte: (peer.raw(byte), sent.append(byte)), 0.01)

    assert_refused(
        binarrow.ConnectionLostError,
        "no answer in time",
        script,
        lambda server: reach(server, connect_timeout=0.1),
    )
    assert len(sent) < len(data)
