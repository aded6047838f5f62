"""The columns of the files of a table, and the conversion of logged rows to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from binarrow.spark.history_files.errors import UnsupportedTableError
from binarrow.spark.mirror.changes import same_name

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Layout:
    """The files of a table of the target."""

    folder: str
    """The local folder of new files."""
    columns: pa.Schema
    """The columns of the table, with their ids if the format has ids."""
    compression: str
    is_case_sensitive: bool
    has_statistics: bool
    """True if tasks compute statistics of the columns; otherwise the driver reads them."""

    def has_columns_of(self, other: Layout) -> bool:
        """True if this layout has all columns of another one, with the same types and ids."""
        own = {field.name: field for field in self.columns}
        return all(
            field.name in own and own[field.name].equals(field, check_metadata=True)
            for field in other.columns
        )

    def conversion(self, logged: pa.Schema) -> Conversion | None:
        """Returns the conversion of logged rows to the columns of the table.

        None if the table lacks a column, or if the conversion may lose values.
        """
        places: list[int | None] = [None] * len(self.columns)
        for place, field in enumerate(logged):
            found = [
                number
                for number, column in enumerate(self.columns)
                if same_name(column.name, field.name, is_case_sensitive=self.is_case_sensitive)
            ]
            if len(found) != 1 or places[found[0]] is not None:
                return None
            if not is_exact(field.type, self.columns.field(found[0]).type):
                return None
            places[found[0]] = place
        return Conversion(self.columns, tuple(places))


@dataclass(frozen=True)
class Conversion:
    """The conversion of rows to the columns of a file."""

    columns: pa.Schema
    places: tuple[int | None, ...]
    """The place of each column in the rows; None if they lack it."""

    def apply(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Returns rows with the columns of the file."""
        import pyarrow as pa

        arrays = []
        for field, place in zip(self.columns, self.places, strict=True):
            if place is None:
                arrays.append(pa.nulls(rows.num_rows, field.type))
                continue
            array = rows.column(place)
            arrays.append(array if array.type == field.type else array.cast(field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)


def is_exact(logged: pa.DataType, stored: pa.DataType) -> bool:
    """True if a cast of the logged value gives the value that Spark stores.

    Spark reads the logged value as text. From FLOAT to DOUBLE, a cast gives another value, because
    the text has fewer digits.
    """
    import pyarrow as pa

    if logged == stored:
        return True
    if pa.types.is_signed_integer(logged):
        if pa.types.is_signed_integer(stored):
            return bool(stored.bit_width > logged.bit_width)
        digits = {8: 3, 16: 5, 32: 10, 64: 19}[logged.bit_width]
        is_decimal = pa.types.is_decimal128(stored)
        return bool(is_decimal and stored.precision - stored.scale >= digits)
    if pa.types.is_decimal128(logged) and pa.types.is_decimal128(stored):
        before = logged.precision - logged.scale
        return bool(stored.scale >= logged.scale and stored.precision - stored.scale >= before)
    return False


def codec(name: str) -> str:
    """Returns the name of a compression in pyarrow.

    Raises:
        UnsupportedTableError: Tasks do not support it.
    """
    found = {"uncompressed": "none"}.get(name.lower(), name.lower())
    if found not in {"none", "snappy", "gzip", "zstd"}:
        raise UnsupportedTableError(f"its files are compressed with {name}")
    return found


def check_storable(columns: pa.Schema, *, lists: bool) -> None:
    """Checks that tasks store the values of all columns in the same form as Spark.

    Raises:
        UnsupportedTableError: They do not, because of the type of a column.
    """
    import pyarrow as pa

    types = pa.types
    checks = (
        *(types.is_boolean, types.is_signed_integer, types.is_float32, types.is_float64),
        *(types.is_decimal128, types.is_date32, types.is_timestamp, types.is_string),
        types.is_binary,
    )
    for field in columns:
        is_list = lists and types.is_list(field.type) and types.is_float32(field.type.value_type)
        if not is_list and not any(check(field.type) for check in checks):
            raise UnsupportedTableError(f"the type of its column {field.name} is {field.type}")
