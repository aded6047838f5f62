"""The parts of a frame of changes: the table's own columns, the key, the envelope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binarrow import ConfigError, SchemaError
from binarrow.options import ENVELOPE_COLUMNS
from binarrow.spark.messages import spark_message
from binarrow.spark.schema import JSON_DIFF
from binarrow.sql import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType

OLD = ("delete", "update_preimage")
NEW = ("insert", "update_postimage")
TRUNCATE = "truncate"

PRIMARY_KEY = "mysql.primary_key"
"""Key of a field's metadata: the column's ordinal in the primary key."""


@dataclass(frozen=True)
class Changes:
    """A frame in the flat layout, and the roles of its columns."""

    frame: DataFrame
    fields: tuple[StructField, ...]
    """The table's own columns, in its order."""
    keys: tuple[int, ...]
    """Indexes of the key's columns in `fields`."""
    prefix: str
    has_present: bool
    is_case_sensitive: bool

    @classmethod
    def of(cls, frame: DataFrame, keys: Sequence[str] | None, prefix: str) -> Changes:
        """Finds the columns in the frame's schema.

        Raises:
            ConfigError: It lacks a column of the envelope or of the key, or the key is unknown.
        """
        is_case_sensitive = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
        envelope = [f"{prefix}{name}" for name in ENVELOPE_COLUMNS]
        found = frame.schema.names
        for name in (
            f"{prefix}{name}" for name in ("change_type", "commit_version", "change_ordinal")
        ):
            if name not in found:
                raise ConfigError(
                    spark_message(
                        f"the changes have no column {name}: apply_changes needs ⟦layout=flat⟧,"
                        " change_type, commit_version and change_ordinal in ⟦envelope⟧, and the"
                        " prefix of ⟦envelope_prefix⟧ as its argument"
                    )
                )
        fields = tuple(field for field in frame.schema.fields if field.name not in envelope)
        diffs = [field.name for field in fields if JSON_DIFF in (field.metadata or {})]
        if diffs:
            raise ConfigError(
                spark_message(
                    f"the changes contain differences of {', '.join(diffs)} (⟦json=diff⟧), and a"
                    " mirror needs complete documents: read them with ⟦json=text⟧ or ⟦json=variant⟧"
                )
            )
        has_present = f"{prefix}present" in found
        names = [field.name for field in fields]
        places = (
            _places(names, keys, is_case_sensitive=is_case_sensitive)
            if keys
            else _primary_key(fields)
        )
        return cls(frame, fields, places, prefix, has_present, is_case_sensitive)

    def envelope(self, name: str) -> str:
        """An envelope column, quoted for SQL."""
        return quoted_name(f"{self.prefix}{name}")

    @property
    def key_names(self) -> tuple[str, ...]:
        """The columns of the key."""
        return tuple(self.fields[place].name for place in self.keys)

    @property
    def is_other_key(self) -> bool:
        """True if the log contains a primary key, and the key is another one."""
        return not self.is_primary_key and any(
            PRIMARY_KEY in (field.metadata or {}) for field in self.fields
        )

    @property
    def is_primary_key(self) -> bool:
        """True if all columns of the key are in the primary key, and so never NULL."""
        return all(PRIMARY_KEY in (self.fields[place].metadata or {}) for place in self.keys)


def find(schema: StructType, name: str, *, is_case_sensitive: bool) -> StructField | None:
    """Returns the field with a name, with case sensitivity as set in Spark; None if missing."""
    for field in schema.fields:
        if same_name(field.name, name, is_case_sensitive=is_case_sensitive):
            return field
    return None


def same_name(one: str, other: str, *, is_case_sensitive: bool) -> bool:
    """True if Spark takes both names for the same column."""
    return one == other or (not is_case_sensitive and one.lower() == other.lower())


def _places(
    names: Sequence[str], keys: Sequence[str], *, is_case_sensitive: bool
) -> tuple[int, ...]:
    places = []
    for key in keys:
        same = [
            place
            for place, name in enumerate(names)
            if same_name(name, key, is_case_sensitive=is_case_sensitive)
        ]
        if len(same) != 1:
            raise ConfigError(
                f"the key column {key} is not in the changes; their columns are {', '.join(names)}"
            )
        places.append(same[0])
    if len(set(places)) < len(places):
        raise ConfigError(f"a column is listed twice in the key: {', '.join(keys)}")
    return tuple(places)


def _primary_key(fields: Sequence[StructField]) -> tuple[int, ...]:
    """Returns the primary key, which the log contains, from the metadata of the fields."""
    ordinals = {
        int(field.metadata[PRIMARY_KEY]): place
        for place, field in enumerate(fields)
        if PRIMARY_KEY in (field.metadata or {})
    }
    if not ordinals:
        raise ConfigError(
            spark_message(
                "the key of the table is unknown: name its columns in ⟦keys⟧. The rows of a table"
                " without a key cannot be identified: add one (ALTER TABLE ... ADD PRIMARY KEY), or"
                " archive the changes instead of mirroring the table"
            )
        )
    if sorted(ordinals) != list(range(1, len(ordinals) + 1)):
        raise SchemaError(
            spark_message(
                "the changes contain only a part of the table's primary key: include all of its"
                " columns, or name another key in ⟦keys⟧"
            )
        )
    return tuple(ordinals[ordinal] for ordinal in sorted(ordinals))
