"""Parked tables: after an error of a table, the query no longer writes this table."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from binarrow import ConfigError, LaterVersionError, SchemaError
from binarrow.atomic_file import replace_file
from binarrow.stored_forms import PARKED_TABLES
from binarrow.syncing.errors import TableError
from binarrow.syncing.names import Name, shown, split

if TYPE_CHECKING:
    from binarrow.syncing.settings import OnTableError

LOG = logging.getLogger("binarrow.spark")

VALUE_ERRORS = ("MALFORMED_RECORD_IN_PARSING", "CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE")
"""Spark's errors if a value does not have the type of its column."""


class ParkedTables:
    """The parked tables of a query, in a file next to its checkpoint.

    The file is written before the batch is complete. If the query is killed in between, the batch
    is repeated without the table. The file of another query is ignored, and then replaced.
    """

    def __init__(self, policy: OnTableError, file: Path | None) -> None:
        self._policy = policy
        self._file = file
        self._query = ""
        self._reasons: dict[Name, str] | None = None

    def begin(self, query: str) -> None:
        """Sets the id of the query, before other functions are called."""
        self._query = query

    def has(self, name: Name) -> bool:
        """True if a table is parked."""
        return name in self._stored()

    def release(self, name: Name) -> None:
        """Ends the parking of a table, whose rows have been loaded again."""
        if self._stored().pop(name, None) is not None:
            self._write()

    @contextmanager
    def parking(self, name: Name) -> Iterator[None]:
        """Parks a table after an error of it, if the policy permits it."""
        try:
            yield
        except LaterVersionError:
            raise
        except (SchemaError, ConfigError, TableError) as error:
            if self._policy == "stop":
                raise
            self._park(name, str(error))
        except PySparkException as error:
            why = _value_error(error)
            if self._policy == "stop" or why is None:
                raise
            self._park(name, why)

    def _park(self, name: Name, reason: str) -> None:
        LOG.warning("%s is parked, other tables continue: %s", shown(name), reason)
        self._stored()[name] = reason
        self._write()

    def _write(self) -> None:
        stored = self._stored()
        assert self._file is not None  # noqa: S101 - the policy needs it
        listed = {shown(one): stored[one] for one in sorted(stored)}
        content = {**PARKED_TABLES.stamp, "query": self._query, "tables": listed}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._file, json.dumps(content, indent=1).encode())

    def _stored(self) -> dict[Name, str]:
        if self._reasons is None:
            self._reasons = {}
            if self._file is not None and self._file.exists():
                content = PARKED_TABLES.parse(self._file.read_bytes(), str(self._file))
                found = content["tables"] if content["query"] == self._query else {}
                self._reasons = {split(name): reason for name, reason in found.items()}
                for name, reason in found.items():
                    LOG.warning("%s is parked since an earlier batch: %s", name, reason)
        return self._reasons


def _value_error(error: PySparkException) -> str | None:
    """Returns the reason of an error, if it is a value; None if it is another error."""
    found = [one for one in VALUE_ERRORS if one in str(error)]
    return f"a value does not have the type of its column ({found[0]})" if found else None


@contextmanager
def value_errors(name: Name) -> Iterator[None]:
    """Raises errors of values as errors of their table.

    Raises:
        TableError: A value does not have the type of its column.
    """
    try:
        yield
    except PySparkException as error:
        why = _value_error(error)
        if why is None:
            raise
        raise TableError(
            name,
            f"{shown(name)} cannot be loaded again: {why}. Drop the table in the target, or leave"
            " it out with exclude_tables",
        ) from error


__all__ = ["ParkedTables", "value_errors"]
