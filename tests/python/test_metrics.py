"""The text format of metrics, read by another parser, and the server that shows them."""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

import binarrow
from binarrow.metrics import Family, Histogram, exposition
from binarrow.metrics.server import serve
from support.waiting import WAIT, within


def parsed(text: str) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    return {
        sample.name: {
            tuple(sorted(one.labels.items())): one.value
            for one in family.samples
            if one.name == sample.name
        }
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


STRANGE = ['a"b', "back\\slash", "line\nbreak", "\\n", "ü 表", "{a='b'}", ""]


def test_labels_are_escaped() -> None:
    values = [({"table": text, "kind": "load"}, float(place)) for place, text in enumerate(STRANGE)]
    text = exposition([Family("b_rows_total", "counter", 'rows\nof "a" \\ table', values)])
    assert text.count("\n") == 2 + len(STRANGE)
    expected = {
        (("kind", "load"), ("table", text)): float(place) for place, text in enumerate(STRANGE)
    }
    assert parsed(text)["b_rows_total"] == expected


def test_numbers() -> None:
    for number in (0.0, 1.5, -3.0, 1e300, 1732570000.123456, 2.0**53, float("inf")):
        assert parsed(exposition([Family("b", "gauge", "b", [({}, number)])]))["b"][()] == number
    assert exposition([Family("b", "gauge", "not known")]) == ""


def test_histogram() -> None:
    histogram = Histogram((0.5, 1))
    for value in (0.1, 0.5, 0.7, 1.0, 9.0):
        histogram.add(value)
    copy = histogram.copy()
    histogram.add(1)
    found = parsed(exposition([Family("b_seconds", "histogram", "b", histogram=copy)]))
    assert found["b_seconds_bucket"] == {
        (("le", "0.5"),): 2,
        (("le", "1"),): 4,
        (("le", "+Inf"),): 5,
    }
    assert found["b_seconds_count"][()] == 5
    assert found["b_seconds_sum"][()] == pytest.approx(11.3)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:0", "0", "localhost:0", "[::1]:0", "0.0.0.0:0", ":0"]
)
def test_addresses(address: str) -> None:
    with serve(address, lambda: "b 1\n") as url:
        reached = url.replace("0.0.0.0", "127.0.0.1")
        with urllib.request.urlopen(reached, timeout=WAIT) as answer:
            assert answer.read() == b"b 1\n"
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        if "0.0.0.0" not in address:
            assert urlsplit(url).hostname in {"127.0.0.1", "::1"}
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(reached, timeout=WAIT)


def test_methods_and_paths() -> None:
    with serve("0", lambda: "b 1\n") as url:
        place = urlsplit(url)
        for method, path, status, body in (
            ("GET", "/metrics", 200, b"b 1\n"),
            ("GET", "/metrics?x=1", 200, b"b 1\n"),
            ("HEAD", "/metrics", 200, b""),
            ("GET", "/", 200, b"The metrics are at /metrics\n"),
            ("GET", "/etc/passwd", 404, b"not found\n"),
            ("HEAD", "/x", 404, b""),
            ("GET", "/metrics/..", 404, b"not found\n"),
            ("POST", "/metrics", 501, None),
        ):
            connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=WAIT)
            connection.request(method, path)
            answer = connection.getresponse()
            read = answer.read()
            assert answer.status == status, path
            assert body is None or read == body
            if status == 200 and path.startswith("/metrics"):
                assert answer.headers["Content-Length"] == "4"
            connection.close()


@pytest.mark.parametrize(
    "address", ["", "host", "127.0.0.1", "1.2.3.4:x", "::1:9100", "[::1]", "[::1]9100", "a:b:1"]
)
def test_wrong_addresses(address: str) -> None:
    with pytest.raises(binarrow.ConfigError, match="metrics is an address such as"):
        serve(address, str).__enter__()


def test_ports_that_cannot_be_used() -> None:
    with serve("0", str) as url:
        port = urlsplit(url).port
        with pytest.raises(binarrow.ConfigError, match=r"in use\. Choose another"):
            serve(f"127.0.0.1:{port}", str).__enter__()
    with serve(str(port), str):
        pass  # it is free again
    for address in ("70000", "999999"):
        with pytest.raises(binarrow.ConfigError, match="metrics is an address"):
            serve(address, str).__enter__()
    with pytest.raises(binarrow.ConfigError, match=r"cannot be shown at 203\.0\.113\.1:1"):
        serve("203.0.113.1:1", str).__enter__()


def test_clients_that_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """They neither prevent the end, nor others from reading for long; there is a limit of them."""
    monkeypatch.setattr("binarrow.metrics.server._Handler.timeout", 2 * WAIT)
    with ExitStack() as stack, within(), serve("0", lambda: "b 1\n") as url:
        place = urlsplit(url)
        for _ in range(20):
            client = socket.create_connection((place.hostname or "", place.port or 0))
            stack.callback(client.close)
            client.sendall(b"GET /met")


def test_an_error_of_the_text(caplog: pytest.LogCaptureFixture) -> None:
    """It ends the request, is logged, and later requests are answered."""
    texts = iter(["", "b 1\n"])

    def text() -> str:
        found = next(texts)
        if not found:
            raise RuntimeError("no text")
        return found

    with serve("0", text) as url:
        with pytest.raises((OSError, http.client.HTTPException)):
            urllib.request.urlopen(url, timeout=WAIT)
        with urllib.request.urlopen(url, timeout=WAIT) as answer:
            assert answer.read() == b"b 1\n"
    assert "a request for metrics failed: RuntimeError('no text')" in caplog.text
