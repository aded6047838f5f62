"""The largest transactions of files: their tables, rows, connection and duration."""

from __future__ import annotations

import heapq
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import binarrow

KEPT = 10
"""The number of the largest transactions that `stats()` contains."""

ENVELOPE = ("change_type", "gtid", "thread_id")

OPERATIONS = {"insert": "inserts", "update_postimage": "updates", "delete": "deletes"}


def largest_of(transactions: Iterable[binarrow.Transaction], count: int) -> list[dict[str, Any]]:
    """Returns the largest transactions in the form of `stats()`, the largest first.

    Args:
        transactions: The begins and ends of transactions.
        count: The number of transactions to return.
    """
    found = heapq.nlargest(count, _sizes(transactions), key=lambda one: one[:3])
    return [
        {"file": file, "offset": -offset, "bytes": size, "committed": committed}
        for size, _, offset, file, committed in found
    ]


def _sizes(
    transactions: Iterable[binarrow.Transaction],
) -> Iterator[tuple[int, int, int, str, datetime]]:
    begin = None
    for mark in transactions:
        if mark.kind == "begin":
            begin = mark.position
        elif mark.kind == "end" and begin is not None and mark.rows:
            size = mark.position.offset - begin.offset
            number = -(begin.file_number or 0)
            yield size, number, -begin.offset, begin.file, mark.commit_timestamp


def described(files: Any, transaction: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    """Returns a transaction of `stats()` with its GTID, connection, duration and tables.

    The duration is the time between the first statement and the commit, in seconds: the log
    contains no smaller unit.
    """
    name, offset = transaction["file"], transaction["offset"]
    stop = offset + transaction["bytes"]
    tables: dict[str, Counter[str]] = {}
    gtid = thread = None
    with warnings.catch_warnings():
        # The first read has warned.
        warnings.simplefilter("ignore", binarrow.BinarrowWarning)
        reader = binarrow.read_binlog(
            files,
            **{
                **keywords,
                "start": f"{name}:{offset}",
                "stop": f"{name}:{stop}",
                "column_names": "none",
                "envelope": ENVELOPE,
                "split_key_updates": False,
            },
        )
        for batch in reader:
            rows = batch.to_pyarrow()
            counts = tables.setdefault(f"{batch.database}.{batch.table}", Counter())
            for kind in rows.column("_change_type").value_counts().to_pylist():
                if kind["values"] in OPERATIONS:
                    counts[OPERATIONS[kind["values"]]] += kind["counts"]
            gtid, thread = (rows.column(f"_{one}")[0].as_py() for one in ENVELOPE[1:])
        times = [
            event.timestamp
            for event in binarrow.inspect(files, start=f"{name}:{offset}", stop=f"{name}:{stop}")
            if event.timestamp and "tid" not in event.type_name.lower()
        ]
    return {
        **transaction,
        "gtid": gtid,
        "thread_id": thread,
        "duration_s": max(times) - min(times) if times else None,
        "changes": sum(counts.total() for counts in tables.values()),
        "tables": {name: {**counts} for name, counts in tables.items()},
    }


__all__ = ["KEPT", "described", "largest_of"]
