"""The columns of a table as text, to be stored in a target."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def text_of_schema(schema: pa.Schema) -> str:
    """Returns the columns as text: Arrow's message of a schema, in base64."""
    return base64.b64encode(schema.serialize()).decode()


def schema_of_text(text: str) -> pa.Schema:
    """Returns the columns that `text_of_schema` has written."""
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


__all__ = ["schema_of_text", "text_of_schema"]
