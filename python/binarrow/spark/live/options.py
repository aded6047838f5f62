"""The options that are about a server: how to reach it, where to begin, how much at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from binarrow import ConfigError
from binarrow.connect import Target, target

DEFAULT_PARTITIONS = 4
"""Dumps of a server at once, while a stream catches up."""

SCHEMES = ("mysql://", "mariadb://")


@dataclass(frozen=True)
class LiveOptions:
    """A server, and which part of its log."""

    target: Target = field(repr=False)
    """As the options say: a password file is read at each connection that is made with it."""
    starting_offsets: str
    ending_offsets: str
    num_partitions: int
    max_bytes: int | None
    max_rows: int | None
    fail_on_data_loss: bool
    heartbeat: float
    reconnect: float

    @classmethod
    def of(cls, parsed: Mapping[str, Any]) -> LiveOptions | None:
        """What options say of a server; None where they name none."""
        url = parsed.get("url")
        path = parsed.get("path", "")
        if path.lower().startswith(SCHEMES):
            if url is not None:
                raise ConfigError("load() and the option url both name a server: name one")
            url = path
        elif url is None and not any(name in parsed for name in ("host", "socket", "optionFile")):
            return None
        elif path or "paths" in parsed:
            raise ConfigError("load() names files and options name a server: name one of them")
        keywords = {key: parsed[name] for name, key in _TLS_KEYWORDS.items() if name in parsed}
        place = {key: parsed[name] for name, key in _PLACE_KEYWORDS.items() if name in parsed}
        return cls(
            target=target(url, **place, keywords=keywords),
            starting_offsets=parsed.get("startingOffsets", "latest"),
            ending_offsets=parsed.get("endingOffsets", "latest"),
            num_partitions=parsed.get("numPartitions", DEFAULT_PARTITIONS),
            max_bytes=parsed.get("maxBytesPerTrigger"),
            max_rows=parsed.get("maxRowsPerTrigger"),
            fail_on_data_loss=parsed.get("failOnDataLoss", True),
            heartbeat=parsed.get("heartbeat", 10.0),
            reconnect=parsed.get("reconnect", 300.0),
        )


_PLACE_KEYWORDS = {
    "host": "host",
    "port": "port",
    "user": "user",
    "password": "password",
    "passwordFile": "password_file",
    "socket": "socket",
    "optionFile": "option_file",
}

_TLS_KEYWORDS = {
    "tls": "tls",
    "tlsCa": "tls_ca",
    "tlsCert": "tls_cert",
    "tlsKey": "tls_key",
    "tlsServerName": "tls_server_name",
    "compression": "compression",
    "allowPublicKeyRetrieval": "allow_public_key_retrieval",
    "serverPublicKey": "server_public_key",
    "allowClearPassword": "allow_clear_password",
    "connectTimeout": "connect_timeout",
    "readTimeout": "read_timeout",
}
