"""The functions that share options."""

from __future__ import annotations

READS = frozenset({"read_binlog", "read_split"})
STREAMS = READS | {"stream", "range"}
TASKS = STREAMS | {"decoder"}
SCHEMAS = TASKS | {"infer_schema"}
TABLES = frozenset({"read_table"})
ENVELOPES = SCHEMAS | {"nested_json_schema"}
