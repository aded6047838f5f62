"""How tasks log in by themselves: keywords that hold no place, and the password in no DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from binarrow import ConfigError
from binarrow.server.target import Target, target
from binarrow.typed_keywords import LoginKeywords

DEFAULT_HEARTBEAT = 10.0
"""Seconds of silence after which the server says that it lives."""

DEFAULT_RECONNECT = 300.0
"""Seconds for which a server that does not answer is waited for."""

SCHEMES = ("mysql://", "mariadb://")


WAITING: Mapping[str, float] = {"heartbeat": DEFAULT_HEARTBEAT, "reconnect": DEFAULT_RECONNECT}
"""The keywords of streams among them, as they are by default."""

_PLACES = ("password", "password_file", "option_file")


def check_no_secret(what: str, url: str, instead: str) -> None:
    """Whether a URL, which stands in plans and logs, is free of a password.

    Raises:
        ConfigError: It is not; the message does not quote it.
    """
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0]
    credentials, at, _ = authority.rpartition("@")
    if at and ":" in credentials:
        raise ConfigError(
            f"a password in {what} would stand in plans and logs: set the option {instead}, a file"
            " on the driver whose first line it is"
        )


def login(url: str | None, given: Mapping[str, Any]) -> Target:
    """The server of a URL and who asks; without a URL, only how, for a place that a range names.

    Raises:
        ConfigError: A password stands in the URL, or keywords do not fit together.
    """
    if url is not None:
        check_no_secret("the URL of the server", url, "password_file")
    # A range brings its own place: none of the environment's may take it.
    place: dict[str, Any] = {} if url is not None else {"host": "range", "user": "range"}
    own = {key: given[key] for key in _PLACES if key in given}
    keywords = {
        key: value for key, value in given.items() if key not in _PLACES and key not in WAITING
    }
    return target(url, **place, **own, keywords=keywords)


def waiting_of(given: Mapping[str, Any]) -> dict[str, float]:
    """The keywords of streams among them."""
    return {key: given.get(key, value) for key, value in WAITING.items()}


def task_login(given: Mapping[str, Any]) -> Target | None:
    """What a task logs in with, contents in the place of the driver's files; None without any."""
    of_login = {key: given[key] for key in LoginKeywords.__annotations__ if key in given}
    if not of_login.keys() - WAITING.keys():
        return None
    return with_secret(login(None, of_login))


class Pem(bytes):
    """What a file of certificates or keys holds; it shows nothing of it."""

    def __repr__(self) -> str:
        return "<PEM>"


_FILES = ("tls_ca", "tls_cert", "tls_key", "server_public_key")


def with_secret(target: Target) -> Target:
    """With the password and what files hold in their place: a task may not see the driver's files.

    Raises:
        ConfigError: A file cannot be read.
    """
    keywords: dict[str, Any] = dict(target.keywords)
    for name in _FILES:
        if name in keywords and not isinstance(keywords[name], bytes):
            try:
                keywords[name] = Pem(Path(keywords[name]).read_bytes())
            except OSError as error:
                raise ConfigError(f"{name}: {keywords[name]}: {error.strerror}") from error
    return replace(target, password=target.secret(), keywords=keywords)
