"""Parses the values of the options of the format ``binarrow``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from binarrow import ConfigError
from binarrow.byte_size import parse_byte_size
from binarrow.options import spark_options
from binarrow.spark.live.place import parse_timestamp, place_from, start_from
from binarrow.spark.messages import spark_message
from binarrow.spark.options import hint


def canonical(name: str) -> str:
    """Returns the option's name in its own letter case; Spark passes names in lower case."""
    if name.lower() == "masksalt":
        raise ConfigError(
            spark_message("a salt in an option would be visible in plans and logs: set ⟦mask_salt⟧")
        )
    by_lower_case = {known.lower(): known for known in PARSERS}
    canonical = by_lower_case.get(name.lower())
    if canonical is None:
        raise ConfigError(f"unknown option {name!r}{hint(name, PARSERS)}")
    return canonical


def parse(name: str, value: str) -> Any:
    """Parses the value of an option.

    Raises:
        ConfigError: The value is not valid.
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
        raise ValueError("it must be a number of seconds above 0")
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
        raise ValueError("it must be a JSON object")  # noqa: TRY004
    return parsed


def _masks(value: str) -> tuple[tuple[str, str], ...]:
    pairs = [word.rpartition("=") for word in _words(value)]
    if not all(name and mask in ("sha256", "null") for name, _, mask in pairs):
        raise ValueError("it must be COLUMN=sha256 or COLUMN=null, separated by commas")
    return tuple((name, mask) for name, _, mask in pairs)


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value not in words:
            raise ValueError(f"it must be one of {', '.join(words)}")
        return value

    return parse


def _name_case(value: str) -> int:
    return int(_one_of("0", "1", "2")(value))


OF_KIND: dict[str, Callable[[str], Any]] = {
    "bytes": parse_byte_size,
    "codes": _numbers,
    "command": str,
    "count": _count,
    "flag": _boolean,
    "history": str,
    "json": _json_object,
    "mask": _masks,
    "name_case": _name_case,
    "names": _words,
    "path": str,
    "paths": _json_list,
    "place": place_from,
    "salt": str,
    "seconds": _seconds,
    "sql": str,
    "start": start_from,
    "text": str,
    "time": parse_timestamp,
}
"""Parsers, by kind of values."""

PARSERS = {
    name: _one_of(*option.spark_kind.words)
    if option.spark_kind.words
    else OF_KIND[option.spark_kind.name]
    for name, option in spark_options().items()
}
"""Parsers, by name of the option."""

SECRETS = ("storageOptions",)
"""Options whose values are not shown in messages."""
