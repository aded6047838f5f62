"""Opens the store that the URL of a history names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from binarrow._native import ConfigError, NativeHistory
from binarrow.password import Password
from binarrow.server.target import SCHEMES, target

DEFAULT_SOURCE = "default"


def open_store(
    url: str | os.PathLike[str],
    *,
    source: str | None,
    user: str | None,
    password: Password | None,
    password_file: str | os.PathLike[str] | None,
    option_file: str | os.PathLike[str] | None,
    keywords: dict[str, Any],
) -> NativeHistory:
    """Opens the store; see :meth:`binarrow.SchemaHistory.open`."""
    text = os.fspath(url)
    scheme, separator, rest = text.partition("://")
    if text == "memory:":
        return NativeHistory.in_memory(source or DEFAULT_SOURCE)
    if separator:
        rest, query, source = _without_source(rest, source)
    else:
        rest, query, source = text, "", source or DEFAULT_SOURCE
    if separator and scheme.lower() in SCHEMES:
        authority, _, database = rest.partition("/")
        if not database or "/" in database:
            raise ConfigError(
                "the URL of a history on a server must contain a database:"
                " mysql://user@host:3306/database"
            )
        place = target(
            f"{scheme}://{authority}/{query}",
            user=user,
            password=password,
            password_file=password_file,
            option_file=option_file,
            keywords=keywords,
        )
        spec = place.connection_spec()
        return NativeHistory.on_server(spec, unquote(database), source)
    if separator and scheme.lower() != "sqlite":
        raise ConfigError(
            "the URL of a history must be sqlite:///path, mysql://user@host/database, or the path"
            " of a file"
        )
    given = {
        "user": user,
        "password": password,
        "password_file": password_file,
        "option_file": option_file,
        **keywords,
    }
    if unfit := [name for name, value in given.items() if value is not None]:
        raise ConfigError(f"{', '.join(unfit)}: not a keyword of an SQLite file: remove it")
    if query:
        raise ConfigError("the URL of an SQLite file accepts ?source=name, and no other keyword")
    if not separator:
        return NativeHistory.in_file(Path(text), source)
    if not rest.startswith("/") or rest == "/":
        raise ConfigError(
            "the URL of an SQLite file must be sqlite:///relative/path or sqlite:////absolute/path"
        )
    return NativeHistory.in_file(Path(unquote(rest[1:])), source)


def _without_source(text: str, source: str | None) -> tuple[str, str, str]:
    """Returns the URL up to the question mark, its other keywords, and the source's name."""
    head, _, query = text.partition("?")
    others = []
    for one in filter(None, query.split("&")):
        key, _, value = one.partition("=")
        if key != "source":
            others.append(one)
        elif source is not None:
            raise ConfigError("source is given twice: in the URL and as a keyword")
        else:
            source = unquote(value)
    return head, "?" + "&".join(others) if others else "", source or DEFAULT_SOURCE
