"""Converts schemas of tables to Spark's StructType, and back to Arrow."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, Unpack

from binarrow import TypeOptions, infer_schema, nested_json_schema
from binarrow.server import Server
from binarrow.server.target import Target
from binarrow.spark.live.patience import patiently
from binarrow.spark.options import check_keywords, opened, spark_types
from binarrow.typed_keywords import SchemaKeywords

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from binarrow._native import Source

JSON_DIFF = "binarrow.json_diff"
"""Key of a field's metadata: its values may be differences instead of documents."""


NULLABLE = "mysql.nullable"
"""Key of a field's metadata: true if the column may be NULL."""

GENERATED = "mariadb.generated"
"""Key of a field's metadata: true if MariaDB computes the column. Images of updates may then leave
it out, even if its value has changed."""

HAS_DEFAULT = "mysql.has_default"
"""Key of a field's metadata, in the schema of a server's table: true if INSERT may omit the column
(DEFAULT, AUTO_INCREMENT or generated)."""


def schema(
    source: Source,
    table: str,
    *,
    history_source: str | None = None,
    **keywords: Unpack[SchemaKeywords],
) -> StructType:
    """Returns the Spark schema of a table's changes, at the first Table_map event of the table.

    Every field is nullable. Pass the same keywords to :func:`binarrow.spark.decoder`.

    Args:
        source: Files, in log order; one that contains the table is enough.
        table: ``database.table``.
        history_source: The name of the history, if ``history`` is the URL of a store of several.
        keywords: As for :func:`binarrow.infer_schema`; ``types`` is ``"spark"`` by default, or a
            ``TypeOptions(profile="spark", ...)``.
    """
    check_keywords("schema", keywords, SchemaKeywords.__annotations__)
    shaping: dict[str, Any] = dict(keywords)
    types = shaping["types"] = spark_types(shaping.get("types", "spark"))
    with opened(shaping.pop("history", None), history_source) as structures:
        inferred = infer_schema(source, table, history=structures, **shaping)
    return _declared(inferred, types)


def tables_schema(
    *,
    types: Literal["spark"] | TypeOptions = "spark",
    envelope: str | Sequence[str] | None = None,
    envelope_prefix: str = "_",
) -> StructType:
    """Returns the Spark schema of several tables' changes (``layout="nested-json"``).

    It is the same for all tables. Pass the same keywords to :func:`binarrow.spark.decoder`.

    Args:
        types: ``TypeOptions(profile="spark", json="variant", ...)`` returns rows as VARIANT instead
            of text.
        envelope: The envelope columns; None for the default ones.
        envelope_prefix: The prefix of their names.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = nested_json_schema(
        types=spark_types(types), envelope=envelope, envelope_prefix=envelope_prefix
    )
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def server_schema(
    target: Target, table: str, *, reconnect: float = 0.0, has_history: bool = False, **shaping: Any
) -> StructType:
    """Returns the Spark schema of the changes of a server's table, as the table is now.

    `has_history` is true if the query has a history. The history is not opened for this: at the end
    of the log it has the same structures as the server.
    """

    def ask() -> StructType:
        with Server(target) as server:
            return schema_of_server(server, table, has_history=has_history, **shaping)

    return patiently(ask, reconnect)


def schema_of_server(
    server: Server, table: str, *, has_history: bool = False, **shaping: Any
) -> StructType:
    """Returns the schema of :func:`server_schema`, over a connection that is open."""
    shaping["types"] = spark_types(shaping.get("types", "spark"))
    history = "memory:" if has_history else None
    declared = _declared(infer_schema(server, table, history=history, **shaping), shaping["types"])
    columns = {column.name: column for column in server.describe(table).columns}
    is_mariadb = server.flavor == "mariadb"
    for field in declared.fields:
        column = columns.get(field.name)
        if column is None or not field.metadata:  # envelope columns have no metadata
            continue
        field.metadata[HAS_DEFAULT] = str(column.has_default).lower()
        if is_mariadb and column.generated is not None:
            field.metadata[GENERATED] = "true"
    return declared


def _declared(inferred: pa.Schema, types: str | TypeOptions) -> StructType:
    """Converts the schema to Spark's types, with MySQL's properties as metadata of the fields."""
    from pyspark.sql.pandas.types import from_arrow_schema

    declared = from_arrow_schema(_plain(inferred), prefer_timestamp_ntz=True)
    has_diffs = isinstance(types, TypeOptions) and types.json == "diff"
    for field, source in zip(declared.fields, inferred, strict=True):
        metadata = {key.decode(): value.decode() for key, value in (source.metadata or {}).items()}
        field.metadata = {k: v for k, v in metadata.items() if k.startswith("mysql.")}
        if has_diffs and field.metadata.get("mysql.type") == "json":
            field.metadata[JSON_DIFF] = "true"
    return declared


def arrow_schema(declared: StructType) -> pa.Schema:
    """Returns the Arrow schema that Spark expects for a declared schema."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark 4.2 and later need the time zone; earlier versions always use UTC.
    knows_timezone = "timezone" in inspect.signature(to_arrow_schema).parameters
    schema = (
        to_arrow_schema(declared, timezone="UTC") if knows_timezone else to_arrow_schema(declared)
    )
    # Shows whether rows that were logged without a column may have a value in it.
    properties = [
        {key: field.metadata[key] for key in (NULLABLE, HAS_DEFAULT) if key in field.metadata}
        for field in declared.fields
    ]
    return pa.schema(
        field.with_metadata({**(field.metadata or {}), **own})
        for field, own in zip(schema, properties, strict=True)
    )


def difference(expected: pa.Schema, actual: pa.Schema) -> str:
    """Describes the differences of two schemas by field; empty if they are equal.

    Metadata is not compared.
    """
    lines = []
    for place, (wanted, got) in enumerate(zip_longest(expected, actual), start=1):
        if wanted is None or got is None or not wanted.equals(got, check_metadata=False):
            lines.append(
                f"  column {place}: declared {_describe(wanted)}, decoded {_describe(got)}"
            )
    return "\n".join(lines)


def _describe(field: pa.Field | None) -> str:
    if field is None:
        return "nothing"
    return f"`{field.name}` {field.type}{'' if field.nullable else ' not null'}"


def _plain(inferred: pa.Schema) -> pa.Schema:
    """Returns the schema without metadata and extension types, which Spark does not know."""
    import pyarrow as pa

    def plain(field: pa.Field) -> pa.Field:
        arrow_type = field.type
        if isinstance(arrow_type, pa.BaseExtensionType):
            arrow_type = arrow_type.storage_type
        elif pa.types.is_struct(arrow_type):
            inner = [arrow_type.field(place) for place in range(arrow_type.num_fields)]
            if any(b"mysql.type" in (each.metadata or {}) for each in inner):  # layout="nested"
                arrow_type = pa.struct([plain(each) for each in inner])
        return pa.field(field.name, arrow_type)

    return pa.schema([plain(field) for field in inferred])
