"""The options of servers: how to connect, where to begin, how much to read per batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from binarrow import ConfigError
from binarrow.options import keywords_of, spark_options
from binarrow.server.target import Target, is_server_url, target
from binarrow.spark.live.login import (
    DEFAULT_HEARTBEAT,
    DEFAULT_RECONNECT,
    check_no_secret,
)
from binarrow.spark.live.place import SNAPSHOT, Place, chosen
from binarrow.spark.live.read_limit import check_limits
from binarrow.spark.messages import option, spark_message

DEFAULT_CHUNK_ROWS = 262_144
"""Rows of a chunk."""

DEFAULT_PARTITIONS = 4
"""Concurrent dumps from a server, while a stream catches up."""


@dataclass(frozen=True)
class LiveOptions:
    """A server, and the part of its log to read."""

    target: Target = field(repr=False)
    """The server and login. A password file is read again for each connection."""
    given: Mapping[str, Any] = field(repr=False)
    """All options, parsed."""
    num_partitions: int
    max_bytes: int | None
    max_rows: int | None
    fail_on_data_loss: bool
    state_file: str | None
    """The file in which a stream stores how the existing rows are divided."""
    locks: str | None
    chunk_rows: int
    max_rows_per_second: int | None
    heartbeat: float
    reconnect: float

    @classmethod
    def of(cls, parsed: Mapping[str, Any]) -> LiveOptions | None:
        """Returns the options of a server; None if they name none.

        Raises:
            ConfigError: Options exclude each other, or a URL contains a password.
        """
        url = parsed.get("url")
        path = parsed.get("path", "")
        if is_server_url(path):
            if url is not None:
                raise ConfigError(spark_message("load() and ⟦url⟧ both name a server: name one"))
            url = path
        elif url is None and not any(name in parsed for name in ("host", "socket", "optionFile")):
            return None
        elif path or "paths" in parsed:
            raise ConfigError("load() names files and options name a server: name one of them")
        _refuse(parsed, _names("files"), "it is for files, and the options name a server")
        if url is not None:
            check_no_secret("the URL of the server", url, "password_file")
        keywords = {key: parsed[name] for name, key in _TLS_KEYWORDS.items() if name in parsed}
        place = {key: parsed[name] for name, key in _PLACE_KEYWORDS.items() if name in parsed}
        return cls(
            target=target(url, **place, keywords=keywords),
            given=parsed,
            num_partitions=parsed.get("numPartitions", DEFAULT_PARTITIONS),
            max_bytes=parsed.get("maxBytesPerTrigger"),
            max_rows=parsed.get("maxRowsPerTrigger"),
            fail_on_data_loss=parsed.get("failOnDataLoss", True),
            state_file=parsed.get("snapshotStateFile"),
            locks=parsed.get("locks"),
            chunk_rows=parsed.get("chunkRows", DEFAULT_CHUNK_ROWS),
            max_rows_per_second=parsed.get("maxRowsPerSecond"),
            heartbeat=parsed.get("heartbeat", DEFAULT_HEARTBEAT),
            reconnect=parsed.get("reconnect", DEFAULT_RECONNECT),
        )

    @property
    def loads(self) -> bool:
        """True if a query without a checkpoint reads the existing rows."""
        return self.given.get("startingOffsets") == SNAPSHOT

    def check_load(self, options: Mapping[str, Any]) -> None:
        """Checks the options of existing rows. `options` are those of the decoder.

        Raises:
            ConfigError: One has no meaning without them, or excludes them.
        """
        if not self.loads:
            why = f"it is for {option('start', SNAPSHOT)}"
            own = ("locks", "chunkRows", "maxRowsPerSecond", "snapshotStateFile")
            _refuse(self.given, own, why)
            return
        self.starting("latest")  # an error if a time is set too
        if "insert" not in options.get("operations", ("insert",)):
            raise ConfigError(
                spark_message(
                    "⟦operations⟧ without 'insert' leaves out the existing rows, which"
                    " ⟦start=snapshot⟧ returns as inserts"
                )
            )

    def check_stream(self) -> None:
        """Checks that all options are valid for a stream.

        Raises:
            ConfigError: One is for batch queries.
        """
        _refuse(self.given, _names("batches"), "a stream has no end: remove it, or use spark.read")
        check_limits(self.max_bytes, self.max_rows)

    def check_batch(self) -> None:
        """Checks that all options are valid for a batch query.

        Raises:
            ConfigError: One is for streams.
        """
        _refuse(self.given, _names("streams"), "it is for spark.readStream")
        if self.loads:
            why = f"{option('start', SNAPSHOT)} reads the existing rows, and no log: remove it"
            _refuse(self.given, _names("batches"), why)

    def starting(self, default: Place) -> Place:
        """Returns the place in the log to begin."""
        offsets, timestamp = self.given.get("startingOffsets"), self.given.get("startingTimestamp")
        place: Place = chosen("starting", offsets, timestamp, default)
        return place

    def ending(self) -> Place:
        """Returns the place where a batch query ends: by default the end of the log."""
        offsets, timestamp = self.given.get("endingOffsets"), self.given.get("endingTimestamp")
        return chosen("ending", offsets, timestamp, "latest")


def stream_options() -> list[str]:
    """Returns the options that only streams accept."""
    return _names("streams")


def check_files(parsed: Mapping[str, Any]) -> None:
    """Checks that all options are valid for files.

    Raises:
        ConfigError: One is for servers.
    """
    of_servers = _names("server", "batches", "streams")
    _refuse(parsed, of_servers, "it is for a server, and load() names files")


def _refuse(parsed: Mapping[str, Any], names: Iterable[str], why: str) -> None:
    for name in names:
        if name in parsed:
            raise ConfigError(f"{option(spark_options()[name].name, None)}: {why}")


def _names(*of: str) -> list[str]:
    """The options that only queries of these kinds accept."""
    return [name for name, each in spark_options().items() if each.spark and each.spark.of in of]


_PLACES = (
    *("host", "port", "user", "socket", "option_file"),
    *("password", "password_file", "password_command"),
)

_PLACE_KEYWORDS = {
    option.spark_name: option.name for option in keywords_of("connect") if option.name in _PLACES
}

_TLS_KEYWORDS = {
    option.spark_name: option.name
    for option in keywords_of("connect")
    if option.name not in _PLACES
}
