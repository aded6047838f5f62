"""Reads of files with an index, compared with full reads."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import binarrow
from binarrow import BinarrowError

_ENVELOPE = (
    "change_type",
    "commit_version",
    "commit_timestamp",
    "binlog_file",
    "binlog_position",
    "gtid",
)


@dataclass
class Logs:
    """The files of a log, with the values in them from which conditions are made."""

    files: list[str]
    keywords: dict[str, Any] = field(default_factory=dict)
    values: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    positions: list[binarrow.Position] = field(default_factory=list)
    times: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        with self.opened(index="ignore") as reader:
            for batch in reader:
                if not isinstance(batch, binarrow.ChangeBatch):
                    continue
                self.positions.append(reader.position)
                table = self.values.setdefault(f"{batch.database}.{batch.table}", {})
                rows = batch.to_pyarrow()
                self.times += rows.column("_commit_timestamp").to_pylist()[:1]
                for name in rows.schema.names:
                    found = rows.column(name).to_pylist()[:20]
                    known = table.setdefault(name, [])
                    if not name.startswith("_"):
                        known += [each for each in found if isinstance(each, int | str)]

    def opened(self, **keywords: Any) -> binarrow.BinlogReader:
        return binarrow.read_binlog(
            self.files,
            statements="skip",
            threads=2,
            segment_bytes=4096,
            **{**self.keywords, **keywords},
        )


def outcome(logs: Logs, index: str, keywords: dict[str, Any]) -> Any:
    """Everything that a read returns: rows and items in order, the end, or the error."""
    rows: dict[str, list[Any]] = {}
    items = []
    try:
        with (
            warnings.catch_warnings(),
            logs.opened(index=index, envelope=_ENVELOPE, **keywords) as reader,
        ):
            warnings.simplefilter("ignore")
            for each in reader:
                if isinstance(each, binarrow.ChangeBatch):
                    name = f"{each.database}.{each.table}"
                    rows.setdefault(name, []).extend(each.to_pyarrow().to_pylist())
                elif isinstance(each, binarrow.UnloggedChange):
                    # A read may continue at any place before it.
                    items.append((repr(each).partition(", position")[0], None))
                else:
                    items.append((repr(each), end(reader)))
            return {name: found for name, found in rows.items() if found}, items, end(reader)
    except BinarrowError as error:
        return type(error), str(error)


def resumed(rng: random.Random, logs: Logs, keywords: dict[str, Any]) -> None:
    """Stops a read with an index after a random batch, and compares the rest with a full read."""
    whole = outcome(logs, "ignore", keywords)
    if len(whole) < 3 or not whole[0] or "start" in keywords:
        return
    rows: dict[str, list[Any]] = {}
    with warnings.catch_warnings(), logs.opened(envelope=_ENVELOPE, **keywords) as reader:
        warnings.simplefilter("ignore")
        for each in reader:
            if isinstance(each, binarrow.ChangeBatch):
                name = f"{each.database}.{each.table}"
                rows.setdefault(name, []).extend(each.to_pyarrow().to_pylist())
                if rng.random() < 0.3:
                    break
        position = reader.position
    rest = outcome(logs, "ignore", {**keywords, "start": position})
    for name, found in rest[0].items():
        rows.setdefault(name, []).extend(found)
    assert {name: found for name, found in rows.items() if found} == whole[0], keywords


def end(reader: binarrow.BinlogReader) -> str | None:
    return None if reader.position is None else reader.position.to_json()


def read_keywords(rng: random.Random, logs: Logs) -> dict[str, Any]:
    """A random selection of tables, rows, and a part of the log."""
    tables = rng.sample(sorted(logs.values), k=rng.randint(1, min(2, len(logs.values))))
    keywords: dict[str, Any] = {"tables": tables}
    if rng.random() < 0.85:
        keywords["where"] = condition(rng, [logs.values[table] for table in tables])
    if rng.random() < 0.3 and logs.positions:
        keywords[rng.choice(["start", "stop"])] = rng.choice(logs.positions)
    elif rng.random() < 0.2 and logs.times:
        keywords[rng.choice(["start", "stop"])] = rng.choice(logs.times)
    if rng.random() < 0.3:
        items = ["schema_change", "truncate", "skipped_statement", "unlogged_change"]
        keywords["include"] = rng.sample(items, k=2)
    if rng.random() < 0.1:
        keywords["include"] = ["transaction"]
    if rng.random() < 0.3:
        keywords["operations"] = rng.sample(["insert", "update", "delete"], k=2)
    if rng.random() < 0.5:
        keywords["unlogged_changes"] = "ignore"
    return keywords


def condition(rng: random.Random, tables: Sequence[dict[str, list[Any]]], depth: int = 2) -> str:
    """A random condition: mostly on values that exist, or nearly."""
    if depth and rng.random() < 0.4:
        parts = [condition(rng, tables, depth - 1) for _ in range(2)]
        text = f" {rng.choice(['AND', 'OR'])} ".join(parts)
        return f"{'NOT ' if rng.random() < 0.2 else ''}({text})"
    table = rng.choice(tables)
    names = [name for name in table if table[name]] or list(table)
    name = rng.choice(names[:2] if rng.random() < 0.6 else names)
    column = rng.choice(["", "", "old.", "new."]) + f"`{name}`"
    values = table[name] or [0]

    def value() -> str:
        found = rng.choice(values)
        if isinstance(found, bool):
            return str(found).upper()
        if isinstance(found, int):
            return str(found + rng.choice([0, 0, 0, 1, -1, 100_000, 0.5]))
        changed = found + rng.choice(["", "", "", "x"])
        return "'" + changed.replace("\\", "\\\\").replace("'", "''") + "'"

    match rng.randrange(8):
        case 0:
            return f"{column} IN ({value()}, {value()}, {value()})"
        case 1:
            return f"{column} BETWEEN {value()} AND {value()}"
        case 2:
            return f"{column} {rng.choice(['<', '<=', '>', '>=', '<>'])} {value()}"
        case 3:
            return f"{column} IS {rng.choice(['', 'NOT '])}NULL"
        case _:
            return f"{column} = {value()}"


def damaged(rng: random.Random, content: bytes) -> Iterator[bytes]:
    """An index that is damaged in several ways."""
    for _ in range(4):
        changed = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        yield bytes(changed)
    yield content[: rng.randrange(len(content))]
    yield content[:14] + bytes([content[14] + 1]) + content[15:]
    yield b""


def bytes_read() -> int:
    """The bytes that this process has read so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])
