"""The state of a sync as JSON, for targets that are folders."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from binarrow._native import Position
from binarrow.syncing.errors import SyncError
from binarrow.syncing.operations import Record, State
from binarrow.syncing.schema_text import schema_of_text, text_of_schema

DETAILS = ("reason", "dropped_columns", "unknown_columns", "read_again_from", "lacks_deletes")
"""The attributes that only some tables have."""

PUBLISHED = "complete_through.json"
"""The file for other programs."""


def json_of_state(state: State) -> dict[str, Any]:
    """Returns a state as values of JSON."""
    return {
        "mode": state.mode,
        "position": json.loads(state.position.to_json()),
        "markers": state.markers,
        "complete_through": _text(state.complete_through),
        "tables": [
            [*one.name, one.status, one.key, text_of_schema(one.schema), one.loaded_version]
            for one in state.records.values()
        ],
        "details": [[*one.name, json_of_details(one)] for one in state.records.values()],
    }


def state_of_json(stored: dict[str, Any]) -> State:
    """Returns the state that `json_of_state` has written."""
    records = {}
    details = {(one[0], one[1]): one[2] for one in stored.get("details", [])}
    for database, table, status, key, columns, loaded in stored["tables"]:
        name = (database, table)
        records[name] = Record(
            name,
            schema_of_text(columns),
            tuple(key),
            status,
            loaded,
            **details_of_json(details.get(name, {})),
        )
    position = Position.from_json(json.dumps(stored["position"]))
    first, second = stored["markers"]
    text = stored.get("complete_through")
    through = datetime.fromisoformat(text) if text else None
    return State(stored["mode"], position, (first, second), records, through)


def json_of_details(record: Record) -> dict[str, Any]:
    """Returns what only some tables have."""
    found = {name: getattr(record, name) for name in DETAILS}
    none = Record(record.name, record.schema, ())
    return {name: value for name, value in found.items() if value != getattr(none, name)}


def details_of_json(stored: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a table that `json_of_details` has written.

    Raises:
        SyncError: It has a field that `json_of_details` has not written.
    """
    unknown = sorted(stored.keys() - DETAILS)
    if unknown:
        raise SyncError(f"the state of a sync is damaged: a table has a field {unknown[0]!r}")
    lists = {name: tuple(stored.get(name, [])) for name in ("dropped_columns", "unknown_columns")}
    return {**stored, **lists}


def published(state: State) -> bytes:
    """Returns the content of a file with the time up to which all commits are in the tables.

    The file is for other programs. It is written only when the tables have the rows of the state.
    """
    found = {"complete_through": _text(state.complete_through), "position": str(state.position)}
    return json.dumps(found).encode()


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="microseconds") if moment is not None else None


__all__ = [
    "PUBLISHED",
    "details_of_json",
    "json_of_details",
    "json_of_state",
    "published",
    "state_of_json",
]
