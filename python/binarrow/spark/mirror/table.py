"""Mirrors in tables that support MERGE: Delta and Iceberg. A batch is one commit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql.functions import lit

from binarrow import SchemaError
from binarrow.spark.mirror.fold import Folded
from binarrow.sql import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

    from binarrow.spark.mirror.columns import Difference


@dataclass(frozen=True)
class TableMirror:
    """A table, by its name in SQL."""

    spark: SparkSession
    name: str
    format: Literal["delta", "iceberg"]
    properties: Mapping[str, str]
    """The properties of a new table."""

    def schema(self) -> StructType | None:
        """The columns of the table; None if there is no such table."""
        try:
            return self.spark.table(self.name).schema
        except AnalysisException as error:
            if "NOT_FOUND" in (error.getCondition() or "") or "not exist" in str(error):
                return None
            raise

    def is_empty(self) -> bool:
        """True if the table has no rows."""
        return self.spark.table(self.name).isEmpty()

    def create(self, schema: StructType) -> None:
        """Creates the table."""
        columns = ", ".join(_column(field.name, field.dataType) for field in schema.fields)
        properties = ", ".join(f"{_text(k)} = {_text(v)}" for k, v in self.properties.items())
        self.spark.sql(
            f"CREATE TABLE {self.name} ({columns}) USING {self.format}"
            + (f" TBLPROPERTIES ({properties})" if properties else "")
        )

    def set_property(self, key: str, value: str) -> None:
        """Sets a property of the table."""
        pair = f"{_text(key)} = {_text(value)}"
        self.spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({pair})")

    def unset_property(self, key: str) -> None:
        """Removes a property of the table."""
        self.spark.sql(f"ALTER TABLE {self.name} UNSET TBLPROPERTIES IF EXISTS ({_text(key)})")

    def evolve(self, difference: Difference) -> None:
        """Adds columns and widens types.

        Raises:
            SchemaError: The format does not support it.
        """
        if self.format == "delta":
            self._enable_types([*difference.added, *difference.widened])
        for field in difference.widened:
            wider = field.dataType.simpleString()
            try:
                self.spark.sql(
                    f"ALTER TABLE {self.name} ALTER COLUMN {quoted_name(field.name)} TYPE {wider}"
                )
            except PySparkException as error:
                enable = (
                    f" (ALTER TABLE {self.name} SET TBLPROPERTIES"
                    " ('delta.enableTypeWidening' = 'true') enables it, if Delta has both types)"
                )
                raise SchemaError(
                    f"column {field.name} of {self.name} has become {wider}, and {self.format} does"
                    f" not widen it{enable if self.format == 'delta' else ''}: alter the target's"
                    " column, or create the mirror again under another name"
                ) from error
        if difference.added:
            columns = ", ".join(_column(f.name, f.dataType) for f in difference.added)
            self.spark.sql(f"ALTER TABLE {self.name} ADD COLUMNS ({columns})")

    def _enable_types(self, fields: Sequence[StructField]) -> None:
        """Enables the features of Delta that types need. Delta does this itself in a new table."""
        types = {field.dataType.simpleString() for field in fields}
        needed = {feature for name, feature in _DELTA_FEATURES.items() if name in types}
        if needed:
            rows = self.spark.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
            for feature in sorted(needed - {row.key for row in rows}):
                self.set_property(feature, "supported")

    def merge(self, folded: Folded) -> None:
        """Merges a folded batch into the table."""
        if folded.replaces_all:
            self._content(folded).writeTo(self.name).overwrite(lit(True))  # noqa: FBT003
            return
        with named_view(folded.frame) as view:
            self.spark.sql(self._merge_sql(folded, view))

    def set_columns(
        self, rows: DataFrame, key: Sequence[str], columns: Sequence[str], condition: str
    ) -> None:
        """Sets columns to the values in `rows`, which are matched by the key, in one commit.

        Only rows of the table, `t` in SQL, to which the condition applies are changed.
        """
        with named_view(rows.select(*map(quoted_name, (*key, *columns)))) as view:
            self.spark.sql(
                f"MERGE INTO {self.name} t USING {view} s ON {_is_same(key)} AND {condition}"
                f" WHEN MATCHED AND NOT ({_is_equal(columns)})"
                f" THEN UPDATE SET {_assignments(columns)}"
            )

    def replace_rows(
        self,
        rows: DataFrame,
        key: Sequence[str],
        columns: Sequence[str],
        *,
        deletes: bool = True,
    ) -> None:
        """Replaces all rows of the table by `rows`, in one commit.

        If `deletes` is false, rows whose key is not in `rows` stay.

        Columns that are not among the given ones keep their values in rows with the same key. If
        several rows of the table have the same key, these columns become NULL in all rows.
        """
        if deletes and not self._has_unique_key(key):
            # After a change of the key. MERGE would keep several rows for one of `rows`.
            self._selected(rows, columns).writeTo(self.name).overwrite(lit(True))  # noqa: FBT003
            return
        names = ", ".join(map(quoted_name, columns))
        values = ", ".join(f"s.{quoted_name(one)}" for one in columns)
        with named_view(rows.select(*map(quoted_name, columns))) as view:
            self.spark.sql(
                f"MERGE INTO {self.name} t USING {view} s ON {_is_same(key)}"
                f" WHEN MATCHED AND NOT ({_is_equal(columns)})"
                f" THEN UPDATE SET {_assignments(columns)}"
                f" WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"
                + (" WHEN NOT MATCHED BY SOURCE THEN DELETE" if deletes else "")
            )

    def _has_unique_key(self, key: Sequence[str]) -> bool:
        """True if no two rows of the table have the same values in the columns of a key."""
        names = ", ".join(map(quoted_name, key))
        return self.spark.sql(
            f"SELECT 1 FROM {self.name} GROUP BY {names} HAVING count(*) > 1 LIMIT 1"
        ).isEmpty()

    def _selected(self, rows: DataFrame, columns: Sequence[str]) -> DataFrame:
        """Returns rows with the columns of the table, which are NULL if they are not given."""
        given = {one.lower(): quoted_name(one) for one in columns}
        return rows.selectExpr(
            *(
                f"CAST({given.get(field.name.lower(), 'NULL')} AS {field.dataType.simpleString()})"
                f" AS {quoted_name(field.name)}"
                for field in self.spark.table(self.name).schema.fields
            )
        )

    def _merge_sql(self, folded: Folded, view: str) -> str:
        columns = {place: quoted_name(name) for name, place in folded.difference.places.items()}
        equal = "<=>" if folded.summary.has_null_keys else "="
        on = " AND ".join(
            f"t.{columns[place]} {equal} s.key._{i}" for i, place in enumerate(folded.changes.keys)
        )
        sets = ", ".join(
            f"t.{column} = " + folded.value(place, f"t.{column}")
            for place, column in columns.items()
        )
        values = ", ".join(folded.new_value(place) for place in columns)
        return (
            f"MERGE INTO {self.name} t USING {view} s ON {on}"
            " WHEN MATCHED AND s.is_deleted THEN DELETE"
            f" WHEN MATCHED THEN UPDATE SET {sets}"
            f" WHEN NOT MATCHED AND {folded.is_inserted}"
            f" THEN INSERT ({', '.join(columns.values())}) VALUES ({values})"
        )

    def _content(self, folded: Folded) -> DataFrame:
        """Returns the complete content of the table after it was emptied."""
        values = {name: folded.new_value(place) for name, place in folded.difference.places.items()}
        cells = (
            f"CAST({values.get(field.name, 'NULL')} AS {field.dataType.simpleString()})"
            f" AS {quoted_name(field.name)}"
            for field in folded.difference.evolved.fields
        )
        return folded.frame.alias("s").where(folded.is_inserted).selectExpr(*cells)


def _is_same(key: Sequence[str]) -> str:
    return " AND ".join(f"t.{one} = s.{one}" for one in map(quoted_name, key))


def _is_equal(columns: Sequence[str]) -> str:
    return " AND ".join(f"t.{one} <=> s.{one}" for one in map(quoted_name, columns))


def _assignments(columns: Sequence[str]) -> str:
    return ", ".join(f"t.{one} = s.{one}" for one in map(quoted_name, columns))


_DELTA_FEATURES = {
    "timestamp_ntz": "delta.feature.timestampNtz",
    "variant": "delta.feature.variantType",
}
"""The property that enables a type, by the name of the type."""


@contextmanager
def named_view(frame: DataFrame) -> Iterator[str]:
    """Creates a temporary view of a frame, and yields its name in SQL."""
    name = f"binarrow_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        frame.sparkSession.catalog.dropTempView(name)


def _column(name: str, data_type: object) -> str:
    return f"{quoted_name(name)} {data_type.simpleString()}"  # type: ignore[attr-defined]


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
