"""The state of a sync as JSON, for targets that are folders."""

from __future__ import annotations

import json
from typing import Any

from binarrow._native import Position
from binarrow.syncing.operations import Record, State
from binarrow.syncing.schema_text import schema_of_text, text_of_schema


def json_of_state(state: State) -> dict[str, Any]:
    """Returns a state as values of JSON."""
    return {
        "mode": state.mode,
        "position": json.loads(state.position.to_json()),
        "markers": state.markers,
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
    return State(stored["mode"], position, (first, second), records)


def json_of_details(record: Record) -> dict[str, Any]:
    """Returns what only some tables have."""
    return {"reason": record.reason} if record.reason else {}


def details_of_json(stored: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a table that `json_of_details` has written."""
    return {"reason": stored.get("reason", "")}


__all__ = ["details_of_json", "json_of_details", "json_of_state", "state_of_json"]
