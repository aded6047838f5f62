"""How to reach a server: a URL, keywords, an option file, the environment, put together."""

from __future__ import annotations

import configparser
import getpass
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from binarrow._native import ConfigError

Password = str | bytes | Callable[[], str | bytes]
"""A password, or what gives one: asked anew at each connection, for tokens that expire."""

DEFAULT_PORT = 3306
MAX_PORT = 65_535

SCHEMES = ("mysql", "mariadb")

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
"""Keywords that may stand in a URL, behind the question mark."""

TLS_MODES = {
    "DISABLED": "disabled",
    "PREFERRED": "preferred",
    "REQUIRED": "required",
    "VERIFY_CA": "verify_ca",
    "VERIFY_IDENTITY": "verify_identity",
}
"""The values of ``ssl-mode`` in option files."""


@dataclass(frozen=True)
class Endpoint:
    """Where a server listens: a host and a port, or a Unix socket."""

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
    """One server, or several that hold the same log, and who asks."""

    endpoints: tuple[Endpoint, ...]
    user: str
    password: Password = field(repr=False)
    keywords: Mapping[str, object] = field(default_factory=dict)

    def secret(self) -> bytes:
        """The password now."""
        password = self.password() if callable(self.password) else self.password
        return password.encode() if isinstance(password, str) else bytes(password)


def target(
    url: str | None,
    *,
    host: str | None,
    port: int | None,
    user: str | None,
    password: Password | None,
    password_file: str | os.PathLike[str] | None,
    socket: str | os.PathLike[str] | None,
    option_file: str | os.PathLike[str] | None,
    keywords: Mapping[str, object],
    environ: Mapping[str, str] | None = None,
) -> Target:
    """What is said first wins: a keyword, the URL, the option file, the environment."""
    environ = os.environ if environ is None else environ
    from_url = _Parts.of_url(url) if url is not None else _Parts()
    from_file = _Parts.of_option_file(Path(option_file)) if option_file is not None else _Parts()
    from_environ = _Parts.of_environ(environ)
    if password is not None and password_file is not None:
        raise ConfigError("password and password_file: give one of them")

    given = _Parts()
    if socket is not None:
        given.socket = os.fspath(socket)
    elif host is not None:
        given.endpoints = [Endpoint(host, port or DEFAULT_PORT)]
    named = [one for one in (given, from_url, from_file, from_environ) if one.names_host()]
    if named:
        endpoints = named[0].all_endpoints()
    else:
        other_port = from_file.port or from_environ.port or DEFAULT_PORT
        endpoints = (Endpoint("localhost", other_port),)
    if port is not None:
        endpoints = tuple(
            one if one.socket is not None else Endpoint(one.host, port) for one in endpoints
        )

    parts = (from_url, from_file, from_environ)
    secret: Password | None = password
    if password_file is not None:
        secret = _PasswordFile(Path(password_file))
    if secret is None:
        secret = next((part.password for part in parts if part.password is not None), "")
    name = user or next((part.user for part in parts if part.user), None) or getpass.getuser()
    merged = {**from_file.keywords, **from_url.keywords}
    merged |= {key: value for key, value in keywords.items() if value is not None}
    return Target(endpoints, name, secret, merged)


@dataclass
class _Parts:
    """What one place says."""

    endpoints: list[Endpoint] = field(default_factory=list)
    port: int | None = None
    socket: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    keywords: dict[str, object] = field(default_factory=dict)

    def names_host(self) -> bool:
        return self.socket is not None or bool(self.endpoints)

    def all_endpoints(self) -> tuple[Endpoint, ...]:
        if self.socket is not None:
            return (Endpoint(None, socket=self.socket),)
        return tuple(self.endpoints)

    @classmethod
    def of_url(cls, url: str) -> _Parts:
        """``mysql://user:password@host:port,host:port/?keyword=value``."""
        scheme, separator, rest = url.partition("://")
        if not separator or scheme.lower() not in SCHEMES:
            raise ConfigError(
                "the URL must be mysql://user@host:3306/ (or mariadb://…), with the password apart"
            )
        rest, _, query = rest.partition("?")
        authority, _, path = rest.partition("/")
        if path.strip("/"):
            raise ConfigError("the URL names a database: tables are chosen with tables=")
        parts = cls()
        credentials, at, hosts = authority.rpartition("@")
        if at:
            name, colon, password = credentials.partition(":")
            parts.user = unquote(name) or None
            parts.password = unquote(password) if colon else None
        for one in filter(None, hosts.split(",")):
            parts.endpoints.append(_endpoint(one))
        for key, value in parse_qsl(query, keep_blank_values=True):
            parts._add(key, value)
        return parts

    def _add(self, key: str, value: str) -> None:
        kind = URL_KEYWORDS.get(key)
        if kind is None:
            known = ", ".join(URL_KEYWORDS)
            raise ConfigError(f"the URL has an unknown keyword {key!r}: it may have {known}")
        if key == "socket":
            self.socket = value
        elif kind is bool:
            self.keywords[key] = _boolean(key, value)
        elif kind is float:
            try:
                self.keywords[key] = float(value)
            except ValueError:
                raise ConfigError(f"the URL's {key} is no number") from None
        else:
            self.keywords[key] = value

    @classmethod
    def of_option_file(cls, path: Path) -> _Parts:
        """``[client]`` of a file such as ``~/.my.cnf``."""
        parser = configparser.RawConfigParser(
            allow_no_value=True, strict=False, comment_prefixes=("#", ";"), delimiters=("=",)
        )
        try:
            # Lines such as !includedir are of no section of ours.
            lines = path.read_text(encoding="utf-8").splitlines()
            parser.read_string("\n".join(line for line in lines if not line.startswith("!")))
        except OSError as error:
            raise ConfigError(f"option_file: {error}") from None
        except (configparser.Error, UnicodeDecodeError):
            raise ConfigError(f"option_file: {path} is not an option file") from None
        parts = cls()
        if not parser.has_section("client"):
            return parts
        options = {
            key.strip().replace("_", "-"): _unquoted(value) for key, value in parser.items("client")
        }
        parts.user = options.get("user")
        parts.password = options.get("password")
        parts.socket = options.get("socket")
        if (port := options.get("port")) is not None:
            parts.port = _port(port)
        if (host := options.get("host")) is not None:
            parts.endpoints = [Endpoint(host, parts.port or DEFAULT_PORT)]
            parts.socket = None
        for key, name in (("ssl-ca", "tls_ca"), ("ssl-cert", "tls_cert"), ("ssl-key", "tls_key")):
            if options.get(key):
                parts.keywords[name] = options[key]
        if (mode := options.get("ssl-mode")) is not None:
            if mode.upper() not in TLS_MODES:
                raise ConfigError(f"option_file: ssl-mode is one of {', '.join(TLS_MODES)}")
            parts.keywords["tls"] = TLS_MODES[mode.upper()]
        return parts

    @classmethod
    def of_environ(cls, environ: Mapping[str, str]) -> _Parts:
        """Host, port, socket, user and password, by the names that MySQL's own clients use."""
        parts = cls(
            socket=environ.get("MYSQL_UNIX_PORT"),
            user=environ.get("MYSQL_USER"),
            password=environ.get("MYSQL_PWD"),
        )
        if (port := environ.get("MYSQL_TCP_PORT")) is not None:
            parts.port = _port(port)
        if (host := environ.get("MYSQL_HOST")) is not None:
            parts.endpoints = [Endpoint(host, parts.port or DEFAULT_PORT)]
            parts.socket = None
        return parts


@dataclass(frozen=True)
class _PasswordFile:
    """A file's first line, read at each connection."""

    path: Path

    def __call__(self) -> str:
        try:
            with self.path.open(encoding="utf-8") as file:
                return next(_lines(file), "")
        except OSError as error:
            raise ConfigError(f"password_file: {error}") from None


def _lines(file: Iterator[str]) -> Iterator[str]:
    return (line.rstrip("\r\n") for line in file)


def _endpoint(text: str) -> Endpoint:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ConfigError(f"{text!r} is no host: an IPv6 address stands in brackets")
        port = rest[1:]
    else:
        host, _, port = text.partition(":")
        if ":" in port:
            raise ConfigError(f"{text!r} is no host: an IPv6 address stands in brackets")
    return Endpoint(unquote(host) or "localhost", _port(port) if port else DEFAULT_PORT)


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = 0
    if not 0 < port <= MAX_PORT:
        raise ConfigError(f"{text!r} is no port")
    return port


def _boolean(key: str, value: str) -> bool:
    match value.lower():
        case "1" | "true" | "on" | "yes" | "":
            return True
        case "0" | "false" | "off" | "no":
            return False
    raise ConfigError(f"the URL's {key} is neither true nor false")


def _unquoted(value: str | None) -> str:
    value = (value or "").strip()
    for quote in "'\"":
        if value != quote and value.startswith(quote) and value.endswith(quote):
            return value[1:-1]
    return value
