"""The logins of tasks: keywords without the address, and passwords kept out of DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from binarrow import ConfigError
from binarrow._native import has_password
from binarrow.server.target import Target, target
from binarrow.spark.messages import option
from binarrow.typed_keywords import LoginKeywords

DEFAULT_HEARTBEAT = 10.0
"""The heartbeat interval in seconds."""

DEFAULT_RECONNECT = 300.0
"""Seconds for which a lost connection is retried."""

STREAM_DEFAULTS: Mapping[str, float] = {
    "heartbeat": DEFAULT_HEARTBEAT,
    "reconnect": DEFAULT_RECONNECT,
}
"""The keywords of streams, with their defaults."""

_PLACES = ("password", "password_file", "password_command", "option_file")


def check_no_secret(what: str, url: str, instead: str) -> None:
    """Checks that a URL contains no password, because it is shown in plans and logs.

    Raises:
        ConfigError: It contains one. The message does not show it.
    """
    if has_password(url):
        raise ConfigError(
            f"a password in {what} would be visible in plans and logs: set {option(instead, None)},"
            " a file on the driver with the password in its first line"
        )


def login(url: str | None, given: Mapping[str, Any]) -> Target:
    """Returns the server and login of a URL; without a URL, the login for the server of a range.

    Raises:
        ConfigError: The URL contains a password, or keywords exclude each other.
    """
    if url is not None:
        check_no_secret("the URL of the server", url, "password_file")
    # A range has its own address, which must not come from the environment.
    place: dict[str, Any] = {} if url is not None else {"host": "range", "user": "range"}
    own = {key: given[key] for key in _PLACES if key in given}
    keywords = {
        key: value
        for key, value in given.items()
        if key not in _PLACES and key not in STREAM_DEFAULTS
    }
    return target(url, **place, **own, keywords=keywords)


def stream_keywords(given: Mapping[str, Any]) -> dict[str, float]:
    """Returns the keywords of streams."""
    return {key: given.get(key, value) for key, value in STREAM_DEFAULTS.items()}


def task_login(given: Mapping[str, Any]) -> Target | None:
    """Returns the login of tasks, with the contents of the driver's files; None if not given."""
    of_login = {key: given[key] for key in LoginKeywords.__annotations__ if key in given}
    if not of_login.keys() - STREAM_DEFAULTS.keys():
        return None
    return with_secret(login(None, of_login))


class Pem(bytes):
    """The content of a file of certificates or keys, not shown in its `repr`."""

    def __repr__(self) -> str:
        return "<PEM>"


_FILES = ("tls_ca", "tls_cert", "tls_key", "server_public_key")


def with_secret(target: Target) -> Target:
    """Returns the login with the contents of its files: tasks may not see the driver's files.

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
