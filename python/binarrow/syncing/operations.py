"""The contents of a commit: operations on tables of the target, and the state after them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from binarrow.syncing.names import Name

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa

    from binarrow._native import Position

Status: TypeAlias = Literal["followed", "incomplete", "dropped", "left out", "parked"]


@dataclass(frozen=True)
class Record:
    """A table of the target."""

    name: Name
    schema: pa.Schema
    """The columns of the table that are in the target, with the types of the change stream."""
    key: tuple[str, ...]
    """The columns that identify a row; empty if there are none."""
    status: Status = "followed"
    loaded_version: int = -1
    """The version up to which the log's changes are in the loaded rows of a table without a key."""
    reason: str = ""
    """The error after which the table was parked."""
    dropped_columns: tuple[str, ...] = ()
    """Columns of earlier versions of rows, which the source does not have any more."""
    unknown_columns: tuple[str, ...] = ()
    """Columns that are NULL in rows until these are read again."""
    read_again_from: int = -1
    """While rows are read again, the version at its start: older versions of rows end after it."""
    lacks_deletes: bool = False
    """True if the table is incomplete only because it may have rows that the source has deleted."""

    @property
    def source_schema(self) -> pa.Schema:
        """The columns of the table that the source has, too."""
        import pyarrow as pa

        dropped = {*self.dropped_columns}
        return pa.schema([one for one in self.schema if one.name not in dropped])

    @property
    def is_stored(self) -> bool:
        """True if the target has the table."""
        return bool(self.schema.names)

    @property
    def is_followed(self) -> bool:
        """True if changes of the table are applied."""
        return self.status in {"followed", "incomplete"}


def parked(record: Record | None, name: Name, reason: str) -> Record:
    """Returns a table that is not followed after an error, with the columns that it has."""
    import pyarrow as pa

    known = record or Record(name, pa.schema([]), ())
    return replace(known, status="parked", reason=reason, lacks_deletes=False)


@dataclass(frozen=True)
class State:
    """The content of a target besides the rows, with which it is committed."""

    mode: str
    position: Position
    markers: tuple[int, int] = (-1, 0)
    """The version of the last statement that was applied, and the number of statements with it."""
    records: dict[Name, Record] = field(default_factory=dict)
    complete_through: datetime | None = None
    """The time of the server up to which the target contains all commits."""


@dataclass(frozen=True)
class Write:
    """Rows of a mirror: rows with these keys are replaced, or deleted."""

    name: Name
    key: tuple[str, ...]
    """The columns that identify a row."""
    rows: pa.Table
    """The rows that exist afterwards."""
    deleted: pa.Table
    """The keys of the rows that do not exist afterwards."""


@dataclass(frozen=True)
class Versions:
    """New versions of rows, and the ends of those that were current."""

    name: Name
    key: tuple[str, ...]
    """The columns that identify a row."""
    rows: pa.Table
    """The new versions."""
    ended: pa.Table
    """Keys, and the times and versions at which their current rows end."""


@dataclass(frozen=True)
class End:
    """The end of all current versions of rows, or of those that began before a version."""

    name: Name
    time: datetime
    version: int
    before: int | None = None


@dataclass(frozen=True)
class Append:
    """Rows of a history of changes."""

    name: Name
    rows: pa.Table


@dataclass(frozen=True)
class Create:
    """A table without rows; it replaces one with the name."""

    name: Name
    schema: pa.Schema


@dataclass(frozen=True)
class Clear:
    """All rows of a table are removed."""

    name: Name


@dataclass(frozen=True)
class Drop:
    """A table is removed."""

    name: Name


@dataclass(frozen=True)
class Rename:
    """A table gets another name; it replaces one with the name."""

    name: Name
    to: Name


@dataclass(frozen=True)
class NewColumn:
    """A column after a change of the structure."""

    field: pa.Field
    source: str | None
    """The column that has its values; None if it is added."""
    value: Any = None
    """The value of an added column in existing rows."""


@dataclass(frozen=True)
class Alter:
    """A table gets other columns; its rows stay."""

    name: Name
    columns: tuple[NewColumn, ...]
    fills_current: bool = False
    """True if only current versions of rows get the values of added columns."""


Operation: TypeAlias = Write | Versions | End | Append | Create | Clear | Drop | Rename | Alter

__all__ = [
    "Alter",
    "Append",
    "Clear",
    "Create",
    "Drop",
    "End",
    "NewColumn",
    "Operation",
    "Record",
    "Rename",
    "State",
    "Status",
    "Versions",
    "Write",
    "parked",
]
