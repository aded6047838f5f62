"""The rows of a batch with the columns and types of the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binarrow.syncing.errors import TableError
from binarrow.syncing.names import Name, shown
from binarrow.syncing.reduce import CHANGE, VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from binarrow.syncing.settings import Mode

PREFIX = "_"
ENVELOPE = ("change_type", "commit_version", "commit_timestamp", "change_ordinal", "present")
"""The columns that a stream adds to those of the table."""

PRESENT = PREFIX + "present"
ADDED = tuple(PREFIX + name for name in ENVELOPE if name != "present")
"""The columns of the envelope that a history of changes has."""

VALID_FROM, VALID_TO = "_valid_from", "_valid_to"
"""The columns with the times of the commits that begin and end a version of a row."""

FROM_VERSION, TO_VERSION = "_valid_from_version", "_valid_to_version"
"""The columns with the versions of these commits."""

VALIDITY = (VALID_FROM, VALID_TO, FROM_VERSION, TO_VERSION)
"""The columns that a table with all versions of rows has."""

LARGEST_DECIMAL = 38
"""The digits of the largest DECIMAL of most databases."""


def plain(schema: pa.Schema, left_out: Sequence[str] = ()) -> pa.Schema:
    """Returns the columns that a target has, with the types in which they are stored there."""
    import pyarrow as pa

    fields = [pa.field(one.name, _plain(one.type)) for one in schema if one.name not in left_out]
    return pa.schema(fields)


def _plain(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_decimal(kind) and kind.precision > LARGEST_DECIMAL:
        return pa.string()
    return kind


def with_envelope(schema: pa.Schema) -> pa.Schema:
    """Returns the columns of a history of changes."""
    import pyarrow as pa

    types = (pa.string(), pa.int64(), pa.timestamp("us", "UTC"), pa.int64())
    added = [pa.field(name, kind) for name, kind in zip(ADDED, types, strict=True)]
    return pa.schema([*schema, *added])


def with_validity(schema: pa.Schema) -> pa.Schema:
    """Returns the columns of a table with all versions of rows."""
    import pyarrow as pa

    time, version = pa.timestamp("us", "UTC"), pa.int64()
    types = (time, time, version, version)
    added = [pa.field(name, kind) for name, kind in zip(VALIDITY, types, strict=True)]
    return pa.schema([*schema, *added])


def stored(mode: Mode, schema: pa.Schema) -> pa.Schema:
    """Returns the columns of a table in a target."""
    match mode:
        case "history":
            return with_envelope(schema)
        case "scd2":
            return with_validity(schema)
        case "mirror":
            return schema


def fits(batch: pa.RecordBatch, schema: pa.Schema, left_out: Sequence[str]) -> bool:
    """True if the target has all columns of the batch, with types that can be stored."""
    others = {*ADDED, PRESENT, *left_out}
    own = [one for one in batch.schema if one.name not in others]
    names = set(schema.names)
    return all(one.name in names and _plain(one.type) == schema.field(one.name).type for one in own)


def after(batch: pa.RecordBatch, version: int) -> pa.RecordBatch:
    """Returns the changes after a version."""
    import pyarrow.compute as pc

    return batch.filter(pc.greater(batch.column(VERSION), version))


def check_complete(name: Name, batch: pa.RecordBatch, left_out: Sequence[str]) -> None:
    """Checks that the log contains all columns of inserted and updated rows.

    Raises:
        TableError: It leaves columns out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    others = {*ADDED, PRESENT}
    columns = [one.name for one in batch.schema if one.name not in others]
    needed = sum(1 << place for place, one in enumerate(columns) if one not in left_out)
    present = batch.column(PRESENT)
    if not _lacks(present, needed):
        return
    new = pc.is_in(batch.column(CHANGE), value_set=pa.array(["insert", "update_postimage"]))
    if _lacks(present.filter(new), needed):
        raise TableError(
            name,
            f"{shown(name)}: the log contains only a part of a row: sync needs"
            " binlog_row_image=FULL. Set it, then begin with a new target, or use"
            " on_table_error='park' and load the table again",
        )


def _lacks(present: pa.Array, needed: int) -> bool:
    """True if images lack one of the columns. Each image has a bit for each column that it has."""
    import pyarrow.compute as pc

    images = (bits for bits in pc.unique(present).to_pylist() if bits is not None)
    return any(int.from_bytes(bits, "little") & needed != needed for bits in images)


def conformed(name: Name, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Returns a batch with the columns of the target, and the envelope.

    Raises:
        TableError: A value does not have the type of the target.
    """
    import pyarrow as pa

    wanted = with_envelope(schema)
    columns = []
    for field in wanted:
        if field.name not in batch.schema.names:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        column = batch.column(field.name)
        if column.type != field.type:
            try:
                column = column.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise TableError(
                    name,
                    f"{shown(name)}: a value of {field.name} does not have the type {field.type},"
                    " which the column has in the target",
                ) from None
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def check_keys(name: Name, keys: pa.Table, changes: pa.Table) -> None:
    """Checks that no key contains NULL, which would make different rows one.

    Raises:
        TableError: A key contains NULL.
    """
    for column in keys.column_names:
        if keys.column(column).null_count:
            kinds = ", ".join(sorted(set(changes.column(CHANGE).to_pylist()[:1])))
            raise TableError(
                name,
                f"{shown(name)}: the column {column} of the key is NULL in a row ({kinds}): dates"
                " that are zero have no value in the target. Leave the table out, or use"
                " mode='history'",
            )


__all__ = [
    "ADDED",
    "ENVELOPE",
    "FROM_VERSION",
    "PREFIX",
    "PRESENT",
    "TO_VERSION",
    "VALIDITY",
    "VALID_FROM",
    "VALID_TO",
    "after",
    "check_complete",
    "check_keys",
    "conformed",
    "fits",
    "plain",
    "stored",
    "with_envelope",
    "with_validity",
]
