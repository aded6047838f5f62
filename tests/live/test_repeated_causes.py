"""A cause that comes again and again is reported once: as a warning, and in the log."""

from __future__ import annotations

import logging
import warnings

import pytest

import binarrow
from support import live


def test_a_warning_is_given_once_per_reader() -> None:
    with live.server("mysql") as started:
        started.execute("CREATE TABLE live.T (id INT)")
        for _ in range(5):
            started.execute(
                "TRUNCATE live.T", "INSERT INTO live.t VALUES (1, 'x')", "DELETE FROM live.t"
            )
            last = started.flush_binlog()
        files = [str(path) for path in started.binlog_files() if path.name <= last.name]
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                reader = binarrow.read_binlog(
                    files, tables="live.t", include="truncate", segment_bytes=1024, **live.COLUMNS
                )
                kinds = [type(each).__name__ for each in reader]
            assert kinds.count("Truncate") == 5
            texts = [str(each.message) for each in caught]
            [named] = [text for text in texts if "in other letter case" in text]
            assert "live.T" in named
            assert len(texts) == len(set(texts))


@pytest.mark.parametrize("flavor", ["mysql"])
def test_a_server_that_is_away_is_logged_once(
    flavor: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="binarrow")
    with live.server(flavor) as started, live.reach(started) as connection:
        stream = connection.stream("latest", tables="live.t", reconnect=2.0, **live.COLUMNS)
        with stream:
            stream.start()
            live.until(lambda: live.dumps(started))
            started.kill()
            with pytest.raises(binarrow.ConnectionLostError):
                stream.poll(live.WAIT)
    found = [one for one in caplog.records if "cannot continue yet" in one.getMessage()]
    shown = [
        one.getMessage().partition(" s: ")[2] for one in found if one.levelno >= logging.WARNING
    ]
    assert len(found) > 2
    assert len(shown) == len(set(shown)) < len(found)


def test_a_server_in_a_notebook_shows_no_password() -> None:
    with live.server("mysql") as started, live.reach(started) as connection:
        html = connection._repr_html_()
        for text in (repr(connection), html, repr(connection.stream("latest"))):
            assert live.USER["password"] not in text
        assert connection.version in html
        assert connection.id in html
        assert f"127.0.0.1:{started.port}" in html
    assert connection.version in connection._repr_html_()  # also when it is closed
