"""What each option of the format ``binarrow`` may be, and the names of all of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from binarrow import ConfigError
from binarrow.byte_size import parse_byte_size
from binarrow.spark.live.place import parse_place, parse_timestamp
from binarrow.spark.options import hint


def canonical(name: str) -> str:
    """The option's name in its own case; Spark hands the names over in lower case."""
    if name.lower() == "masksalt":
        raise ConfigError("a salt in an option would stand in plans and logs: set 'maskSaltFile'")
    by_lower_case = {known.lower(): known for known in PARSERS}
    canonical = by_lower_case.get(name.lower())
    if canonical is None:
        raise ConfigError(f"unknown option {name!r}{hint(name, PARSERS)}")
    return canonical


def parse(name: str, value: str) -> Any:
    """The value of an option.

    Raises:
        ConfigError: It cannot have this one.
    """
    try:
        return PARSERS[name](value)
    except (ValueError, KeyError) as error:
        if name in SECRETS:
            raise ConfigError(f"option {name!r}: {error}") from None
        raise ConfigError(f"option {name!r} cannot be {value!r}: {error}") from error


def _boolean(value: str) -> bool:
    return _one_of("true", "false")(value.lower()) == "true"


def _count(value: str) -> int:
    if int(value) < 1:
        raise ValueError("it must be at least 1")
    return int(value)


def _seconds(value: str) -> float:
    if not 0 < float(value) < math.inf:
        raise ValueError("it is a number of seconds above 0")
    return float(value)


def _words(value: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(",") if word.strip())


def _numbers(value: str) -> tuple[int, ...]:
    return tuple(int(word) for word in _words(value))


def _json_list(value: str) -> tuple[str, ...]:
    return tuple(json.loads(value))


def _json_object(value: str) -> dict[str, Any]:
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise ValueError("it is a JSON object")  # noqa: TRY004
    return parsed


def _masks(value: str) -> tuple[tuple[str, str], ...]:
    pairs = [word.rpartition("=") for word in _words(value)]
    if not all(name and mask in ("sha256", "null") for name, _, mask in pairs):
        raise ValueError("it is COLUMN=sha256 or COLUMN=null, with commas between several")
    return tuple((name, mask) for name, _, mask in pairs)


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value not in words:
            raise ValueError(f"it is one of {', '.join(words)}")
        return value

    return parse


def _name_case(value: str) -> int:
    return int(_one_of("0", "1", "2")(value))


PARSERS: dict[str, Callable[[str], Any]] = {
    # what to read
    "table": str,
    "tables": _words,
    "excludeTables": _words,
    "path": str,
    "paths": _json_list,  # Spark's own, for load([...])
    "gaps": _one_of("error", "allow"),
    "storageOptions": _json_object,
    # the server
    "url": str,
    "host": str,
    "port": _count,
    "user": str,
    "password": str,
    "passwordFile": str,
    "socket": str,
    "optionFile": str,
    "tls": _one_of("disabled", "preferred", "required", "verify_ca", "verify_identity"),
    "tlsCa": str,
    "tlsCert": str,
    "tlsKey": str,
    "tlsServerName": str,
    "compression": _one_of("zlib", "zstd"),
    "allowPublicKeyRetrieval": _boolean,
    "serverPublicKey": str,
    "allowClearPassword": _boolean,
    "connectTimeout": _seconds,
    "readTimeout": _seconds,
    "heartbeat": _seconds,
    "reconnect": _seconds,
    # where to begin and end in its log
    "startingOffsets": parse_place,
    "startingTimestamp": parse_timestamp,
    "endingOffsets": parse_place,
    "endingTimestamp": parse_timestamp,
    "maxBytesPerTrigger": parse_byte_size,
    "maxRowsPerTrigger": _count,
    "failOnDataLoss": _boolean,
    # how to share it out
    "targetBytes": parse_byte_size,
    "numPartitions": _count,
    # types
    "zeroDates": _one_of("null", "error", "text"),
    "json": _one_of("text", "variant", "bytes", "diff"),
    "time": _one_of("micros", "interval", "text"),
    "geometry": _one_of("ewkb", "wkb", "mysql"),
    "enum": _one_of("text", "ordinal"),
    "invalidText": _one_of("error", "replace", "binary"),
    # columns and rows
    "columns": _words,
    "operations": _words,
    "mask": _masks,
    "maskSaltFile": str,
    "columnNames": _one_of("log", "positional"),
    "schemas": str,
    "schemasFile": _words,
    "history": str,
    "historySource": str,
    "historyPasswordFile": str,
    "envelope": _words,
    "envelopePrefix": str,
    "layout": _one_of("flat", "nested", "nested-json"),
    "oldValue": _boolean,
    "splitKeyUpdates": _boolean,
    "uncommitted": _one_of("skip", "emit"),
    "truncates": _one_of("error", "emit", "skip"),
    "partialImages": _one_of("error", "null"),
    "onlineSchemaChange": _one_of("evidence", "trust"),
    "lowerCaseTableNames": _name_case,
    "unloggedChanges": _one_of("error", "warn", "ignore"),
    "schemaChangePolicy": _one_of("follow", "project", "fail"),
    # decoding
    "batchRows": _count,
    "batchBytes": parse_byte_size,
    "statements": _one_of("error", "skip"),
    "skipEvents": _numbers,
    "verifyChecksum": _boolean,
}

SECRETS = ("storageOptions",)
"""Options whose values no message shows."""
