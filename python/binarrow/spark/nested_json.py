"""`table_of`: the typed rows of one table from a frame of several (``layout="nested-json"``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Literal

from binarrow import ConfigError
from binarrow.options import ENVELOPE_COLUMNS
from binarrow.spark.messages import spark_message
from binarrow.sql import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField, StructType

SIDES = ("before", "after")

ENVELOPE = (*ENVELOPE_COLUMNS, "op", "present_before", "present_after")
"""The names of all columns of envelopes, without their prefix."""

FROM_JSON = {
    # A document that does not fit the schema is an error, not a row of NULLs.
    "mode": "FAILFAST",
    # Without it strings end at 20 million characters.
    "maxStringLen": str(2**31 - 1),
}


def table_of(
    frame: DataFrame,
    table: str,
    schema: StructType,
    *,
    layout: Literal["flat", "nested"] = "flat",
    envelope_prefix: str = "_",
) -> DataFrame:
    """Returns the rows of one table from a frame of several, as if read with ``table``.

    Such a frame is the result of the option ``tables`` of the format, or of
    :func:`binarrow.spark.decoder` with ``tables``. In ``foreachBatch``, persist the frame: the log
    is then read once for all tables:

        def mirror(changes, batch_id):
            changes.persist()
            orders(table_of(changes, "shop.orders", orders_schema), batch_id)
            users(table_of(changes, "shop.users", users_schema), batch_id)
            changes.unpersist()

    Each document has the columns of its row at the time it was logged. So the frame needs no fixed
    schema, and a change of a table does not end the query: ``schema`` may have other columns in the
    next batch. Columns that are not in a document are NULL. Columns that are not in ``schema`` are
    left out, and so are rows with the ``_op`` ``a`` (``truncates=emit_all``). A value that does not
    fit the declared type is an error, except that decimals are rounded if the type has fewer
    fractional digits. Column names are case-sensitive.

    Args:
        frame: Changes of several tables, as text or VARIANT.
        table: ``database.table``.
        schema: The result of :func:`binarrow.spark.schema` for the table, in either layout. Or only
            columns of the table; the envelope of the frame is then added.
        layout: ``"flat"`` for rows with ``_change_type``, one before and one after an update;
            ``"nested"`` for one row with ``_op``, ``before`` and ``after``.
        envelope_prefix: The prefix of the envelope columns, in the frame and in the result.

    Returns:
        The columns and the envelope. If the frame has ``_present_before`` and
        ``_present_after``, flat rows have ``_present``, with a bit for each column of the table in
        ``schema``, in its order.
    """
    p = envelope_prefix
    for needed in (f"{p}database", f"{p}table", f"{p}op", *SIDES):
        if needed not in frame.columns:
            raise ConfigError(
                spark_message(
                    f"the frame has no column {needed!r}, which frames of several tables have: read"
                    f" it with ⟦tables⟧, or pass another envelope_prefix than {p!r}"
                )
            )
    database, dot, name = table.partition(".")
    if not (database and dot and name):
        raise ConfigError(f"{table!r} is not a table: write database.table")

    # DROP DATABASE empties all tables of the database.
    is_named = (_column(f"{p}table") == name) | _column(f"{p}table").isNull()
    # The document of a statement that alters the table is not a row.
    is_row = _column(f"{p}op") != "a"
    rows = frame.where((_column(f"{p}database") == database) & is_named & is_row)
    sides = {side: _Side.of(frame.schema[side], _own_fields(schema, p)) for side in SIDES}
    if layout == "nested":
        return _nested(rows, sides, p)
    return _flat(rows, sides, _declared_envelope(schema, p), p)


@dataclass(frozen=True)
class _Side:
    """The column `before` or `after` of documents, and the fields to read from them."""

    name: str
    is_variant: bool
    fields: Sequence[StructField]

    @classmethod
    def of(cls, documents: StructField, fields: Sequence[StructField]) -> _Side:
        from pyspark.sql.types import StringType, VariantType

        is_variant = isinstance(documents.dataType, VariantType)
        if not is_variant and not isinstance(documents.dataType, StringType):
            raise ConfigError(
                spark_message(
                    f"the frame's column {documents.name!r} is neither text nor VARIANT: pass a"
                    " frame that was read with ⟦tables⟧"
                )
            )
        variants = [field.name for field in fields if isinstance(field.dataType, VariantType)]
        if variants and not is_variant:
            raise ConfigError(
                spark_message(
                    f"the column {variants[0]!r} is VARIANT in the schema, and text in the frame:"
                    " read the frame with ⟦json=variant⟧ too"
                )
            )
        return cls(documents.name, is_variant, fields)

    def read(self) -> Column:
        """Returns a struct of the columns, read from the documents."""
        from pyspark.sql import functions as sf
        from pyspark.sql.types import StructType

        if not self.is_variant:
            return sf.from_json(_column(self.name), StructType(list(self.fields)), FROM_JSON)
        members = ", ".join(_member(field) for field in self.fields)
        return sf.variant_get(_column(self.name), "$", f"struct<{members}>")

    def columns(self, row: Column) -> list[Column]:
        """Returns the columns of the struct."""
        return [
            self._column(row, field).alias(field.name, metadata=field.metadata)
            for field in self.fields
        ]

    def bits(self) -> Column:
        """Returns one bit per column that a document has; the first column's bit is the lowest."""
        from pyspark.sql import functions as sf

        documents = _column(self.name)
        if self.is_variant:
            members = sf.variant_get(documents, "$", "map<string,variant>")
        else:
            members = sf.from_json(documents, "map<string,string>", FROM_JSON)
        keys = sf.map_keys(members)
        held = [sf.array_contains(keys, field.name).cast("int") for field in self.fields]
        octets = [
            reduce(add, [bit * (1 << place) for place, bit in enumerate(held[start : start + 8])])
            for start in range(0, len(held), 8)
        ]
        return sf.unhex(sf.concat(*(sf.lpad(sf.hex(octet), 2, "0") for octet in octets)))

    def _column(self, row: Column, field: StructField) -> Column:
        from pyspark.sql import functions as sf
        from pyspark.sql.types import DayTimeIntervalType, VariantType

        value = row.getField(field.name)
        if not self.is_variant:
            return value
        if isinstance(field.dataType, DayTimeIntervalType):  # VARIANT does not support it
            return sf.timestamp_micros(value) - sf.timestamp_micros(sf.lit(0))
        if isinstance(field.dataType, VariantType):
            is_document = row.getField(_mark(field.name)).isNotNull()
            return sf.when(is_document | ~sf.is_variant_null(value), value)
        return value


def _flat(
    rows: DataFrame, sides: dict[str, _Side], declared: Sequence[str], prefix: str
) -> DataFrame:
    from pyspark.sql import functions as sf

    own_names = {f"{prefix}{word}" for word in ("database", "table", "op", "present_after")}
    rest = [name for name in rows.columns if name not in own_names and name not in SIDES]
    has_present = f"{prefix}present_before" in rest
    ordinal_name = f"{prefix}change_ordinal"
    ordinal = _column(ordinal_name) if ordinal_name in rest else sf.lit(None).cast("bigint")
    op = _column(f"{prefix}op")

    def image(side: str, change_type: Column, ordinal: Column, is_there: Column) -> Column:
        parts = {
            "change_type": change_type,
            "row": sides[side].read(),
            "present": sides[side].bits() if has_present else sf.lit(None).cast("binary"),
            "ordinal": ordinal,
            "is_there": is_there,
        }
        return sf.struct(*(part.alias(_INNER + name) for name, part in parts.items()))

    before = image(
        "before",
        sf.when(op == "d", "delete").when(op == "u", "update_preimage"),
        ordinal,
        _column("before").isNotNull(),
    )
    after = image(
        "after",
        sf.when(op == "c", "insert")
        .when(op == "u", "update_postimage")
        .when(op == "t", "truncate"),
        # It is the second of the two rows of an update.
        sf.when(op == "u", ordinal.bitwiseOR(sf.lit(1))).otherwise(ordinal),
        _column("after").isNotNull() | (op == "t"),
    )
    halves = rows.select(sf.inline(sf.array(before, after)), *map(_column, rest))
    envelope = {f"{prefix}change_type": _column(f"{_INNER}change_type")}
    for name in rest:
        if name == f"{prefix}present_before":
            envelope[f"{prefix}present"] = _column(f"{_INNER}present")
        elif name == ordinal_name:
            envelope[name] = _column(f"{_INNER}ordinal")
        else:
            envelope[name] = _column(name)
    missing = [name for name in declared if name not in envelope]
    if missing:
        raise ConfigError(
            spark_message(
                f"the schema contains envelope column {missing[0]!r} but the frame does not: add it"
                " to ⟦envelope⟧ when reading"
            )
        )
    wanted = declared or list(envelope)
    return halves.where(_column(f"{_INNER}is_there")).select(
        *sides["after"].columns(_column(f"{_INNER}row")),
        *(envelope[name].alias(name) for name in wanted),
    )


def _nested(rows: DataFrame, sides: dict[str, _Side], prefix: str) -> DataFrame:
    from pyspark.sql import functions as sf

    dropped = {f"{prefix}database", f"{prefix}table"}
    names = [name for name in rows.columns if name not in dropped]
    read = {f"{prefix}present_{side}": sides[side].bits() for side in SIDES}
    read |= {side: sides[side].read() for side in SIDES}
    typed = rows.select(*(read.get(name, _column(name)).alias(name) for name in names))
    made = {
        side: sf.when(_column(side).isNotNull(), sf.struct(*sides[side].columns(_column(side))))
        for side in SIDES
    }
    return typed.select(*(made.get(name, _column(name)).alias(name) for name in names))


def _own_fields(schema: StructType, prefix: str) -> list[StructField]:
    """The table's own columns in a schema of either layout."""
    from pyspark.sql.types import StructType

    inner = [schema[side].dataType if side in schema.names else None for side in SIDES]
    if f"{prefix}op" in schema.names and isinstance(inner[1], StructType):
        return list(inner[1])
    envelope = {f"{prefix}{word}" for word in ENVELOPE}
    own = [field for field in schema if field.name not in envelope]
    if not own:
        raise ConfigError("the schema has no columns of the table: add the columns to read")
    return own


def _declared_envelope(schema: StructType, prefix: str) -> list[str]:
    """The envelope columns in a schema of the flat layout."""
    envelope = {f"{prefix}{word}" for word in ENVELOPE}
    if f"{prefix}op" in schema.names:
        return []
    return [name for name in schema.names if name in envelope]


def _member(field: StructField) -> str:
    """Returns the member of a struct type that reads a column from a VARIANT."""
    from pyspark.sql.types import DayTimeIntervalType, VariantType

    kind = field.dataType.simpleString()
    if isinstance(field.dataType, DayTimeIntervalType):
        kind = "bigint"
    member = f"{quoted_name(field.name)}: {kind}"
    if isinstance(field.dataType, VariantType):
        return f"{member}, {quoted_name(_mark(field.name))}: boolean"
    return member


def _mark(name: str) -> str:
    """The name of an extra member, which shows whether a document is JSON `null` or missing."""
    return f"{name} "


def _column(name: str) -> Column:
    from pyspark.sql import functions as sf

    return sf.col(quoted_name(name))


_INNER = "binarrow "
"""The prefix of temporary columns next to the frame's own."""
