"""Servers that would have us talk in the clear, or under a cover that is none."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme

import binarrow
from support.fakes.fake_server import (
    ALL,
    OK,
    PLAIN,
    FakeServer,
    Peer,
    greeting,
    packet,
    refusal,
)
from support.fakes.hostile import SECRET, assert_refused, first, reach


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


@pytest.fixture(scope="module")
def context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return context


@pytest.mark.parametrize("mode", ["required", "verify_ca", "verify_identity"])
def test_tls_that_is_stripped(mode: str, ca: str) -> None:
    server = assert_refused(
        binarrow.TlsError,
        "offers no TLS",
        first(packet(greeting(PLAIN), 0)),
        lambda server: reach(server, tls=mode, tls_ca=ca),
    )
    assert server.received == b""  # not even the user's name


def test_an_authority_is_asked_on_this_machine_too(
    ca: str, context: ssl.SSLContext, tmp_path: Path
) -> None:
    stripped = first(packet(greeting(PLAIN), 0))
    assert_refused(
        binarrow.TlsError,
        "offers no TLS",
        stripped,
        lambda server: reach(server, tls=None, tls_ca=ca),
    )
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    assert_refused(
        binarrow.TlsError,
        "authority that signed",
        lambda peer: peer.start_tls(context),
        lambda server: reach(server, tls=None, tls_ca=other),
    )


@pytest.mark.parametrize("mode", ["preferred", "required", "verify_ca"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_clear_bytes_beside_tls(mode: str, when: str, ca: str, context: ssl.SSLContext) -> None:
    """Bytes that were sent before the encryption must not be treated as encrypted."""

    def script(peer: Peer) -> None:
        injected = packet(OK, 2) if when == "after" else packet(OK, 1)
        peer.raw(packet(greeting(ALL), 0) + (injected if when == "before" else b""))
        peer.receive()
        if when == "after":
            peer.raw(injected)
        peer.socket = context.wrap_socket(peer.socket, server_side=True)
        peer.receive()
        peer.send(OK)

    server = assert_refused(
        binarrow.TlsError,
        "not TLS",
        script,
        lambda server: reach(server, tls=mode, tls_ca=ca),
    )
    assert b"me\0" not in server.received


def test_tls_that_breaks_off(ca: str) -> None:
    def leave(peer: Peer) -> None:
        peer.greet(ALL)
        peer.read(5)
        peer.leave()

    def alert(peer: Peer) -> None:
        peer.greet(ALL)
        peer.raw(b"\x15\x03\x03\0\x02\x02\x28")  # fatal: handshake failure

    def chatter(peer: Peer) -> None:
        peer.greet(ALL)
        while True:
            peer.raw(b"\x16\x03\x03\0\x04\0\0\0\0" * 100)  # HelloRequests

    for kind, match, script in (
        (binarrow.ConnectionLostError, "handshake was interrupted", leave),
        (binarrow.TlsError, "HandshakeFailure", alert),
        (binarrow.TlsError, "TLS", chatter),
    ):
        for mode in ("preferred", "required", "verify_identity"):
            assert_refused(
                kind, match, script, lambda server, mode=mode: reach(server, tls=mode, tls_ca=ca)
            )


def test_weak_tls(tmp_path: Path, authority: trustme.CA, ca: str) -> None:
    weak = tmp_path / "weak.pem"
    weak.write_text(CERTIFICATE_OF_512_BITS)
    small = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    small.set_ciphers("ALL:@SECLEVEL=0")
    small.load_cert_chain(weak)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.deprecated_call():
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    authority.issue_cert("localhost").configure_cert(old)
    small_12 = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    small_12.set_ciphers("ALL:@SECLEVEL=0")
    small_12.load_cert_chain(weak)
    small_12.maximum_version = ssl.TLSVersion.TLSv1_2
    for context in (small, small_12, old):
        for mode in ("preferred", "required", "verify_ca"):
            assert_refused(
                binarrow.TlsError,
                "HandshakeFailure|ProtocolVersion|BadSignature|certificate of an authority",
                lambda peer, context=context: peer.start_tls(context),
                lambda server, mode=mode: reach(server, tls=mode, tls_ca=ca),
            )


def test_a_password_that_is_asked_for_under_tls(ca: str, context: ssl.SSLContext) -> None:
    """Only where the caller allows it."""

    def script(peer: Peer) -> None:
        peer.start_tls(context)
        peer.receive()
        peer.send(b"\xfemysql_clear_password\0")
        assert peer.receive() == SECRET.encode() + b"\0"
        peer.send(refusal(1045, b"Access denied"))

    keywords = {"tls": "verify_identity", "tls_ca": ca, "tls_server_name": "localhost"}
    assert_refused(
        binarrow.AuthenticationError,
        "mysql_clear_password.*allow_clear_password=True",
        script,
        lambda server: reach(server, **keywords),
    )
    with (
        FakeServer(script) as server,
        pytest.raises(binarrow.AuthenticationError, match="Access denied"),
    ):
        reach(server, **keywords, allow_clear_password=True)


CERTIFICATE_OF_512_BITS = """\
-----BEGIN PRIVATE KEY-----
MIIBVQIBADANBgkqhkiG9w0BAQEFAASCAT8wggE7AgEAAkEAqC1fH//mevoOka/E
CYXSIbC8L/aoY/bKF7NZI2ZRNS0Y3j0+FO2+rniiAzFSQMnBYSmVg5dcvuZWblBI
X5nlywIDAQABAkEAlJzrd4KR8FAyOalhiay4oM7lrVjBOvzlXwY8mdybnGmbZzfB
sR2FR1GWdVQ9yRetGp118LnvHJDIZl/A2RjmAQIhANowt/S740GtAyEj8Gpbafq/
1+i6qkJYBOw7V74Dfi8BAiEAxVH9mz7d4CpUsQvVuAn8iDeG5zn5gxEDprNkcAcq
oMsCIQCnhNIn332a9ge6EQrLzcWvlE1jzLVd3JBjAyjZpXrjAQIgOCku8mnBQtUp
h76jlJ8bBjYvqk5A6wIDtQWoF46inmMCIFnYmbi42WEG+Y3hS9G79J+9j77aM6zh
QaS3m5JGrYiT
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBgTCCASugAwIBAgIUXyFNPf4hI3R3hfhwc1APMBubPQswDQYJKoZIhvcNAQEL
BQAwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTE5NDI1MFoYDzIxMjYx
MDI4MTk0MjUwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwXDANBgkqhkiG9w0BAQEF
AANLADBIAkEAqC1fH//mevoOka/ECYXSIbC8L/aoY/bKF7NZI2ZRNS0Y3j0+FO2+
rniiAzFSQMnBYSmVg5dcvuZWblBIX5nlywIDAQABo1MwUTAdBgNVHQ4EFgQUodaM
dWk4H+QRh7FRxcbd/iH8yYowHwYDVR0jBBgwFoAUodaMdWk4H+QRh7FRxcbd/iH8
yYowDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0BAQsFAANBADtwwAptl3EoMF4v
7lNlim92OYbc0aD1aWsCUP5OV2ttVE2j7e8x7aMfss/fGzMOHXXQLkBvL3sROI1Z
rqQ4N18=
-----END CERTIFICATE-----
"""
