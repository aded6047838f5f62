"""Checks and converts the keywords of the functions for Spark, and their defaults in tasks."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from binarrow import (
    ConfigError,
    InputError,
    SchemaHistory,
    TableSchema,
    TableSchemas,
    TypeOptions,
)
from binarrow.advice import message
from binarrow.options import keywords_of

if TYPE_CHECKING:
    from binarrow._native import History, Schemas, Sql

DEFAULT_TARGET_BYTES = 64 << 20
"""Bytes of log for one task: a few seconds of work, so that it is cheap to repeat a task."""

TASK_DEFAULTS: Mapping[str, Any] = {
    "batch_rows": 16_384,  # flat optimum of the transfer to the JVM: 4 to 64 thousand rows
    "batch_bytes": 16 << 20,  # the JVM holds a batch off-heap
    "threads": 1,  # Spark gives a task one core
    "types": "spark",
}


SCHEMA_OPTIONS = tuple(
    option.name
    for option in keywords_of("infer_schema")
    if option.name not in ("history", "storage_options")
)
"""The keywords that change the schema, which :func:`binarrow.infer_schema` accepts too."""


TABLES_SCHEMA_OPTIONS = tuple(option.name for option in keywords_of("nested_json_schema"))
"""The keywords that change the schema of several tables."""


@contextmanager
def opened(
    history: History | None,
    source: str | None = None,
    password_file: str | None = None,
    password_command: str | Sequence[str] | None = None,
) -> Iterator[SchemaHistory | None]:
    """Opens a history by its URL, and closes it afterwards. An open history remains open."""
    if history is None or isinstance(history, SchemaHistory):
        if source is not None:
            raise ConfigError(
                message("⟦history_source⟧ needs the URL of a history: pass it as ⟦history⟧")
            )
        yield history
        return
    with SchemaHistory.open(
        history, source=source, password_file=password_file, password_command=password_command
    ) as own:
        yield own


def check_keywords(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises a TypeError for an unknown keyword, like Python, with the most similar name."""
    for name in given:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword {name!r}{hint(name, known)}")


def spark_types(types: str | TypeOptions) -> Literal["spark"] | TypeOptions:
    """Checks that types are of the profile ``spark``, and returns them.

    Raises:
        ConfigError: They are of the profile ``native``.
    """
    if isinstance(types, TypeOptions) and types.profile == "spark":
        return types
    if types == "spark":
        return "spark"
    raise ConfigError(
        message(
            f"Spark does not support the types {types!r}; use TypeOptions(⟦profile=spark⟧, ...)"
        )
    )


def loaded(schemas: Schemas) -> Schemas:
    """Replaces names of files by their text: tasks may not see the driver's files.

    Raises:
        InputError: A file cannot be read.
    """
    if isinstance(schemas, Mapping):
        return {table: _sql(statement) for table, statement in schemas.items()}
    if isinstance(schemas, str | bytes | bytearray | PathLike | TableSchema | TableSchemas):
        return _sql(schemas)
    return [_sql(each) for each in schemas]


def _sql(given: Sql | TableSchema | TableSchemas) -> Sql | TableSchema:
    if isinstance(given, TableSchemas):
        return given.script
    if not isinstance(given, PathLike):
        return given
    try:
        return Path(given).read_bytes()
    except OSError as error:
        raise InputError(f"schemas: {given}: {error.strerror}") from error


def hint(name: str, known: Iterable[str]) -> str:
    """Returns a hint with the most similar known name, or with all known names."""
    by_lower_case = {each.lower(): each for each in known}
    nearest = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.5)
    if nearest:
        return f"; did you mean {by_lower_case[nearest[0]]!r}?"
    return f"; expected one of: {', '.join(sorted(by_lower_case.values()))}"


def check_layout(layout: str | None, *, several: bool) -> bool:
    """Checks that a layout fits one or several tables; True if it is ``nested-json``.

    Raises:
        ConfigError: It does not fit.
    """
    if several and layout not in (None, "nested-json"):
        raise ConfigError(message(f"several tables need ⟦layout=nested-json⟧, not {layout!r}"))
    if layout == "nested-json" and not several:
        text = "⟦layout=nested-json⟧ is for several tables: name them in ⟦tables⟧"
        raise ConfigError(message(text))
    return layout == "nested-json"
