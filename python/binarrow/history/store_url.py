"""Opens the store that the URL of a history names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from binarrow._native import BinarrowError, ConfigError, NativeHistory, Url
from binarrow.password import Password
from binarrow.server.target import target

DEFAULT_SOURCE = "default"


def open_store(
    url: str | os.PathLike[str],
    *,
    source: str | None,
    user: str | None,
    password: Password | None,
    password_file: str | os.PathLike[str] | None,
    password_command: str | Sequence[str] | None,
    option_file: str | os.PathLike[str] | None,
    keywords: dict[str, Any],
) -> NativeHistory:
    """Opens the store; see :meth:`binarrow.SchemaHistory.open`."""
    text = os.fspath(url)
    if text == "memory:":
        return NativeHistory.in_memory(source or DEFAULT_SOURCE)
    parts = Url.parse(text)
    keywords_of_url = [] if parts is None else parts.keywords
    source, others = _without_source(keywords_of_url, source)
    if parts is not None and parts.is_server:
        database = parts.path.removeprefix("/")
        if not database or "/" in database:
            raise ConfigError(
                "the URL of a history on a server must contain a database:"
                " mysql://user@host:3306/database"
            )
        place = target(
            f"{parts.scheme}://{parts.authority}/?{others}",
            user=user,
            password=password,
            password_file=password_file,
            password_command=password_command,
            option_file=option_file,
            keywords=keywords,
        )
        spec = place.connection_spec()
        try:
            return NativeHistory.on_server(spec, unquote(database), source)
        except BinarrowError as error:
            if isinstance(error.__cause__, ConfigError):  # of the file or command of the password
                raise error.__cause__ from None
            raise
    if parts is not None and parts.scheme != "sqlite":
        raise ConfigError(
            "the URL of a history must be sqlite:///path, mysql://user@host/database, or the path"
            " of a file"
        )
    given = {
        "user": user,
        "password": password,
        "password_file": password_file,
        "password_command": password_command,
        "option_file": option_file,
        **keywords,
    }
    if unfit := [name for name, value in given.items() if value is not None]:
        raise ConfigError(f"{', '.join(unfit)}: not a keyword of an SQLite file: remove it")
    if others:
        raise ConfigError("the URL of an SQLite file accepts ?source=name, and no other keyword")
    return NativeHistory.in_file(_file(text, parts), source)


def is_on_server(url: str) -> bool:
    """True if a history is in a database of a server, not in a file."""
    parts = Url.parse(url)
    return parts is not None and parts.scheme != "sqlite"


def file_of(url: str) -> Path:
    """Returns the file of a history that is not on a server.

    Raises:
        ConfigError: The URL has no path.
    """
    return _file(url, Url.parse(url))


def _file(text: str, parts: Url | None) -> Path:
    if parts is None:
        return Path(text)
    if parts.authority or parts.path in ("", "/"):
        raise ConfigError(
            "the URL of an SQLite file must be sqlite:///relative/path or sqlite:////absolute/path"
        )
    return Path(unquote(parts.path[1:]))


def _without_source(keywords: list[tuple[str, str]], source: str | None) -> tuple[str, str]:
    """Returns the name of the source, and the other keywords of a URL."""
    others = []
    for key, value in keywords:
        if key != "source":
            others.append(f"{key}={value}")
        elif source is not None:
            raise ConfigError("source is given twice: in the URL and as a keyword")
        else:
            source = unquote(value)
    return source or DEFAULT_SOURCE, "&".join(others)
