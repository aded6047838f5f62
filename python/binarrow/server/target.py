"""The server to connect to, from keywords, a URL, an option file and the environment."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

from binarrow._native import ConfigError, ConnectionSpec, Url
from binarrow.advice import message
from binarrow.password import Password, password_bytes, password_source
from binarrow.server.option_file import read_section

DEFAULT_PORT = 3306
MAX_PORT = 65_535

URL_KEYWORDS = {
    "tls": str,
    "tls_ca": str,
    "tls_cert": str,
    "tls_key": str,
    "tls_server_name": str,
    "compression": str,
    "socket": str,
    "server_public_key": str,
    "allow_public_key_retrieval": bool,
    "allow_clear_password": bool,
    "connect_timeout": float,
    "read_timeout": float,
}
"""Keywords that a URL may have after its question mark."""

TLS_MODES = {
    "DISABLED": "disabled",
    "PREFERRED": "preferred",
    "REQUIRED": "required",
    "VERIFY_CA": "verify_ca",
    "VERIFY_IDENTITY": "verify_identity",
}
"""The values of ``ssl-mode`` in option files."""


OPTION_FILE_KEYWORDS = {
    "ssl-ca": "tls_ca",
    "ssl-cert": "tls_cert",
    "ssl-key": "tls_key",
    "server-public-key-path": "server_public_key",
}
"""Options of option files that are keywords of another name."""

OPTION_FILE_FLAGS: dict[str, tuple[str, bool | str | None, bool | str | None]] = {
    "ssl": ("tls", None, "disabled"),  # the default is at least as strict as MariaDB's "on"
    "skip-ssl": ("tls", "disabled", None),
    "ssl-verify-server-cert": ("tls", "verify_identity", None),
    "get-server-public-key": ("allow_public_key_retrieval", True, False),
    "enable-cleartext-plugin": ("allow_clear_password", True, False),
}
"""Options that are on or off: the keyword, its value when on, and when off; later ones win."""


@dataclass(frozen=True)
class Endpoint:
    """The address of a server: a host and a port, or a Unix socket."""

    host: str | None
    port: int = DEFAULT_PORT
    socket: str | None = None

    def __str__(self) -> str:
        if self.socket is not None:
            return self.socket
        host = self.host or "localhost"
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


@dataclass(frozen=True)
class Target:
    """A server, or several servers with the same log, and the login."""

    endpoints: tuple[Endpoint, ...]
    user: str
    password: Password = field(repr=False)
    keywords: Mapping[str, object] = field(default_factory=dict, repr=False)  # or a key

    def secret(self) -> bytes:
        """Returns the password; calls the function that provides it."""
        return password_bytes(self.password)

    def connection_spec(self) -> ConnectionSpec:
        """The endpoints and the login for the extension module. Nothing is connected yet."""
        return ConnectionSpec(
            [(one.host, one.port, one.socket) for one in self.endpoints],
            self.user,
            self.secret,
            **self.keywords,  # type: ignore[arg-type]
        )


def target(
    url: str | None,
    *,
    host: str | None = None,
    port: int | None = None,
    user: str | None = None,
    password: Password | None = None,
    password_file: str | os.PathLike[str] | None = None,
    password_command: str | Sequence[str] | None = None,
    socket: str | os.PathLike[str] | None = None,
    option_file: str | os.PathLike[str] | None = None,
    keywords: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Target:
    """Returns the target; keywords override the URL, then the option file, then the environment."""
    given = _Parts(
        hosts=[(_without_brackets(host), None)] if host is not None else [],
        port=None if port is None else _port(str(port), "port"),
        socket=None if socket is None else os.fspath(socket),
        user=user,
        password=password_source(password, password_file, password_command),
        keywords={key: value for key, value in (keywords or {}).items() if value is not None},
    )
    parts = [
        given.one_place("the keywords"),
        _Parts.of_url(url).one_place("the URL") if url is not None else _Parts(),
        _Parts.of_option_file(Path(option_file)) if option_file is not None else _Parts(),
        _Parts.of_environ(os.environ if environ is None else environ),
    ]

    place = next((part for part in parts if part.hosts or part.socket is not None), _Parts())
    fallback = next((part.port for part in parts if part.port is not None), DEFAULT_PORT)
    if place.socket is not None:
        endpoints = [Endpoint(None, socket=place.socket)]
    else:
        endpoints = [
            Endpoint(name, given.port or own or fallback)
            for name, own in place.hosts or [("localhost", None)]
        ]
    merged: dict[str, object] = {}
    for part in reversed(parts):
        merged |= part.keywords
    secret = next((part.password for part in parts if part.password is not None), "")
    name = next((part.user for part in parts if part.user), None) or _system_user()
    return Target(tuple(endpoints), name, secret, merged)


def is_server_url(text: str) -> bool:
    """True if text is the URL of a server."""
    url = Url.parse(text)
    return url is not None and url.is_server


@dataclass
class _Parts:
    """The settings from one place."""

    hosts: list[tuple[str, int | None]] = field(default_factory=list)
    """Each with its own port, if it has one."""
    port: int | None = None
    """The port of hosts that do not have their own."""
    socket: str | None = None
    user: str | None = None
    password: Password | None = field(default=None, repr=False)
    keywords: dict[str, object] = field(default_factory=dict)

    def one_place(self, who: str) -> _Parts:
        """Returns itself, unless it names both a host and a socket."""
        if self.hosts and self.socket is not None:
            raise ConfigError(f"{who} name a host and a socket: give one of them")
        return self

    @classmethod
    def of_url(cls, url: str) -> _Parts:
        """Parses ``mysql://user:password@host:port,host:port/?keyword=value``.

        Messages of errors quote no part of it, because it may contain a password.
        """
        found = Url.parse(url)
        if found is None or not found.is_server:
            raise ConfigError(
                "the URL must be mysql://user@host:3306/ or mariadb://user@host:3306/"
            )
        if found.has_at_after_hosts:
            raise ConfigError(
                "the URL has an @ after / or ?: write these as %2F and %3F in a user or password"
            )
        if found.path.strip("/"):
            raise ConfigError(
                message("the URL names a database: remove it, and select tables with ⟦tables⟧")
            )
        parts = cls()
        parts.user = unquote(found.user or "") or None
        parts.password = None if found.password is None else unquote_to_bytes(found.password)
        for number, one in enumerate(filter(None, found.hosts.split(",")), 1):
            parts._add_host(one, f"host {number} of the URL")
        for key, value in found.keywords:
            parts._add_keyword(key, unquote(value))
        return parts

    def _add_host(self, text: str, what: str) -> None:
        if text.startswith("["):
            host, bracket, port = text[1:].partition("]")
            is_odd = not bracket or not (port == "" or port.startswith(":"))
            port = port[1:]
        else:
            host, _, port = text.partition(":")
            is_odd = ":" in port
        if is_odd:
            raise ConfigError(f"{what}: write an IPv6 address in brackets, as in [::1]:3306")
        host = unquote(host)
        if host.startswith("/"):
            if self.socket is not None:
                raise ConfigError(f"{what}: there is one socket already")
            self.socket = host
        else:
            self.hosts.append((host or "localhost", _port(port, what) if port else None))

    def _add_keyword(self, key: str, value: str) -> None:
        kind = URL_KEYWORDS.get(key)
        if kind is None:
            known = ", ".join(URL_KEYWORDS)
            raise ConfigError(f"the URL has an unknown keyword: it may have {known}")
        if key == "socket":
            self.socket = value
        elif kind is bool:
            self.keywords[key] = _boolean(value, f"the URL's {key}")
        elif kind is float:
            self.keywords[key] = _number(value, f"the URL's {key}")
        else:
            self.keywords[key] = value

    @classmethod
    def of_option_file(cls, path: Path) -> _Parts:
        """Reads the section ``[client]`` of a file such as ``~/.my.cnf``."""
        options = read_section(path, "client")
        parts = cls(user=options.get("user"), password=options.get("password"))
        if port := options.get("port"):
            parts.port = _port(port, "option_file: port")
        parts._set_place(options.get("host"), options.get("socket"))
        for name, keyword in OPTION_FILE_KEYWORDS.items():
            if value := options.get(name):
                parts.keywords[keyword] = value
        for name, (keyword, on, off) in OPTION_FILE_FLAGS.items():
            if name in options:
                is_on = _boolean(options[name] or "", f"option_file: {name}")
                choice = on if is_on else off
                if choice is not None:
                    parts.keywords[keyword] = choice
        if (mode := options.get("ssl-mode")) is not None:
            if mode.upper() not in TLS_MODES:
                raise ConfigError(f"option_file: ssl-mode is one of {', '.join(TLS_MODES)}")
            parts.keywords["tls"] = TLS_MODES[mode.upper()]
        return parts

    @classmethod
    def of_environ(cls, environ: Mapping[str, str]) -> _Parts:
        """Reads the variables of MySQL's own clients."""
        parts = cls(user=environ.get("MYSQL_USER"), password=environ.get("MYSQL_PWD"))
        if port := environ.get("MYSQL_TCP_PORT"):
            parts.port = _port(port, "MYSQL_TCP_PORT")
        parts._set_place(environ.get("MYSQL_HOST"), environ.get("MYSQL_UNIX_PORT"))
        return parts

    def _set_place(self, host: str | None, socket: str | None) -> None:
        """Sets the socket or the host; for localhost, MySQL's clients use the socket."""
        if socket and host in (None, "", "localhost"):
            self.socket = socket
        elif host:
            self.hosts = [(_without_brackets(host), None)]


def _without_brackets(host: str) -> str:
    return host.removeprefix("[").removesuffix("]") or "localhost"


def _port(text: str, what: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_PORT))):
        raise ConfigError(f"{what}: a port is a number")
    if not 0 < int(text) <= MAX_PORT:
        raise ConfigError(f"{what}: a port is from 1 to {MAX_PORT}")
    return int(text)


def _boolean(text: str, what: str) -> bool:
    match text.lower():
        case "1" | "true" | "on" | "yes" | "":
            return True
        case "0" | "false" | "off" | "no":
            return False
    raise ConfigError(f"{what} is neither true nor false")


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{what} is not a number") from None


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        text = "no user is given, and the system's has no name: set ⟦user⟧"
        raise ConfigError(message(text)) from None
