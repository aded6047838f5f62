"""The options of the format ``binarrow``, understood."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from binarrow import ConfigError, TypeOptions
from binarrow.byte_size import parse_byte_size
from binarrow.mask_salt import read_mask_salt
from binarrow.spark.options import DEFAULT_TARGET_BYTES, hint, loaded


@dataclass(frozen=True)
class SourceOptions:
    """The options of ``spark.read.format("binarrow")``, understood."""

    table: str
    paths: tuple[str, ...]
    target_bytes: int
    num_partitions: int | None
    gaps: Literal["error", "allow"]
    on_schema_change: Literal["error", "conform"]
    history: str | None = None
    history_source: str | None = None
    read: dict[str, Any] = field(default_factory=dict, repr=False)  # it may hold a salt

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> SourceOptions:
        """Understand the options, whatever the case of their names.

        Raises:
            ConfigError: One is unknown, is missing, or has a value that it cannot have.
        """
        given = {_canonical(name): value for name, value in options.items()}
        parsed = {name: _parse(name, value) for name, value in given.items()}

        if "table" not in parsed:
            raise ConfigError('which table? set .option("table", "database.table")')
        paths = parsed.get("paths", ()) + ((parsed["path"],) if "path" in parsed else ())
        if not paths:
            raise ConfigError('which files? name them in .load("/archive/binlog.*")')

        types = {key: parsed[name] for name, key in _TYPE_KEYWORDS.items() if name in parsed}
        read = {key: parsed[name] for name, key in _READ_KEYWORDS.items() if name in parsed}
        read["types"] = TypeOptions(profile="spark", **types)
        if "columns" in parsed:
            read["columns"] = {parsed["table"]: parsed["columns"]}
        if "mask" in parsed:
            read["mask"] = {f"{parsed['table']}.{name}": mask for name, mask in parsed["mask"]}
        if "maskSaltFile" in parsed:
            read["mask_salt"] = read_mask_salt(parsed["maskSaltFile"])
        if "schemas" in parsed and "schemasFile" in parsed:
            raise ConfigError("schemas is text and schemasFile names files: set one of them")
        if "schemas" in parsed:  # of tables without a database: that of the table
            database = parsed["table"].partition(".")[0].replace("`", "``")
            read["schemas"] = f"USE `{database}`; {parsed['schemas']}"
        if "schemasFile" in parsed:
            read["schemas"] = loaded([Path(name) for name in parsed["schemasFile"]])
        _check_history(parsed)
        return cls(
            table=parsed["table"],
            paths=paths,
            target_bytes=parsed.get("targetBytes", DEFAULT_TARGET_BYTES),
            num_partitions=parsed.get("numPartitions"),
            gaps=parsed.get("gaps", "error"),
            on_schema_change=parsed.get("schemaChangePolicy", "conform"),
            history=parsed.get("history"),
            history_source=parsed.get("historySource"),
            read=read,
        )


def _check_history(parsed: Mapping[str, Any]) -> None:
    if "history" in parsed and ("schemas" in parsed or "schemasFile" in parsed):
        raise ConfigError("history and schemas both tell structures: set one of them")
    if "historySource" in parsed and "history" not in parsed:
        raise ConfigError("historySource names a source of a history: set history too")


def _canonical(name: str) -> str:
    """The option's name in its own case; Spark hands the names over in lower case."""
    if name.lower() == "masksalt":
        raise ConfigError("a salt in an option would stand in plans and logs: set 'maskSaltFile'")
    by_lower_case = {known.lower(): known for known in _PARSERS}
    canonical = by_lower_case.get(name.lower())
    if canonical is None:
        raise ConfigError(f"unknown option {name!r}{hint(name, _PARSERS)}")
    return canonical


def _parse(name: str, value: str) -> Any:
    try:
        return _PARSERS[name](value)
    except (ValueError, KeyError) as error:
        raise ConfigError(f"option {name!r} cannot be {value!r}: {error}") from error


def _boolean(value: str) -> bool:
    return _one_of("true", "false")(value.lower()) == "true"


def _count(value: str) -> int:
    if int(value) < 1:
        raise ValueError("it must be at least 1")
    return int(value)


def _words(value: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(",") if word.strip())


def _numbers(value: str) -> tuple[int, ...]:
    return tuple(int(word) for word in _words(value))


def _json_list(value: str) -> tuple[str, ...]:
    return tuple(json.loads(value))


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


def _schema_change(value: str) -> str:
    return {"fail": "error", "project": "conform"}[_one_of("fail", "project")(value)]


_PARSERS: dict[str, Callable[[str], Any]] = {
    # what to read
    "table": str,
    "path": str,
    "paths": _json_list,  # Spark's own, for load([...])
    "gaps": _one_of("error", "allow"),
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
    "envelope": _words,
    "envelopePrefix": str,
    "layout": _one_of("flat", "nested"),
    "oldValue": _boolean,
    "splitKeyUpdates": _boolean,
    "uncommitted": _one_of("skip", "emit"),
    "schemaChangePolicy": _schema_change,
    # decoding
    "batchRows": _count,
    "batchBytes": parse_byte_size,
    "skipEvents": _numbers,
    "verifyChecksum": _boolean,
}

_TYPE_KEYWORDS = {
    "zeroDates": "zero_dates",
    "json": "json",
    "time": "time",
    "geometry": "geometry",
    "enum": "enum",
    "invalidText": "invalid_text",
}

_READ_KEYWORDS = {
    "operations": "operations",
    "columnNames": "column_names",
    "schemas": "schemas",
    "envelope": "envelope",
    "envelopePrefix": "envelope_prefix",
    "layout": "layout",
    "oldValue": "old_value",
    "splitKeyUpdates": "split_key_updates",
    "uncommitted": "uncommitted",
    "batchRows": "batch_rows",
    "batchBytes": "batch_bytes",
    "skipEvents": "skip_events",
    "verifyChecksum": "verify_checksum",
}
