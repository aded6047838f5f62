"""The options of the format ``binarrow``, understood."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from binarrow import ConfigError, SchemaHistory, TypeOptions
from binarrow.mask_salt import read_mask_salt
from binarrow.options import keywords_of
from binarrow.spark.live.login import check_no_secret
from binarrow.spark.live.options import LiveOptions, check_files
from binarrow.spark.option_parsers import canonical, parse
from binarrow.spark.options import DEFAULT_TARGET_BYTES, check_layout, loaded, opened
from binarrow.sql import quoted_name


@dataclass(frozen=True)
class FileOptions:
    """Which files, and how they are cut."""

    paths: tuple[str, ...]
    target_bytes: int
    num_partitions: int | None
    gaps: Literal["error", "allow"]
    storage_options: dict[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class SourceOptions:
    """The options of ``format("binarrow")``: one table's changes or several tables'."""

    table: str | None
    """None where there are several: ``read["tables"]``."""
    place: FileOptions | LiveOptions
    schema_change_policy: Literal["follow", "project", "fail"]
    truncates: Literal["error", "emit", "skip"] | None = None
    """None where it is not said: batches skip them, to a stream they are errors."""
    is_schema_given: bool = False
    """Whether the query names its columns itself."""
    history: str | None = None
    history_source: str | None = None
    history_password_file: str | None = None
    read: dict[str, Any] = field(default_factory=dict, repr=False)  # it may hold a salt

    @property
    def tables(self) -> str | tuple[str, ...]:
        """What the keyword ``tables`` takes for them."""
        patterns: tuple[str, ...] = self.read.get("tables", ())
        return patterns if self.table is None else self.table

    @property
    def name(self) -> str:
        """The table or tables, for messages."""
        return ", ".join(self.tables) if self.table is None else self.table

    @property
    def on_schema_change(self) -> Literal["error", "conform", "evolve"]:
        """What the decoder does with rows of another structure."""
        match self.schema_change_policy:
            case "fail":
                return "error"
            case "follow" if not self.is_schema_given:
                return "evolve"
            case _:
                return "conform"

    def opened_history(self) -> AbstractContextManager[SchemaHistory | None]:
        """The history, if there is one; closed afterwards."""
        return opened(self.history, self.history_source, self.history_password_file)

    @classmethod
    def parse(cls, options: Mapping[str, str], *, is_schema_given: bool = False) -> SourceOptions:
        """Understand the options, whatever the case of their names.

        Raises:
            ConfigError: One is unknown, is missing, or has a value that it cannot have.
        """
        given = {canonical(name): value for name, value in options.items()}
        parsed = {name: parse(name, value) for name, value in given.items()}

        _check_tables(parsed)
        _check_history(parsed)
        place = LiveOptions.of(parsed) or _files(parsed)
        return cls(
            table=parsed.get("table"),
            place=place,
            schema_change_policy=parsed.get("schemaChangePolicy", "follow"),
            is_schema_given=is_schema_given,
            truncates=parsed.get("truncates"),
            history=parsed.get("history"),
            history_source=parsed.get("historySource"),
            history_password_file=parsed.get("historyPasswordFile"),
            read=_read_keywords(parsed),
        )


def _files(parsed: Mapping[str, Any]) -> FileOptions:
    paths = parsed.get("paths", ()) + ((parsed["path"],) if "path" in parsed else ())
    if not paths:
        raise ConfigError(
            'which log? name files in .load("/archive/binlog.*"), or a server in'
            ' .option("host", "db.example")'
        )
    check_files(parsed)
    return FileOptions(
        paths=paths,
        target_bytes=parsed.get("targetBytes", DEFAULT_TARGET_BYTES),
        num_partitions=parsed.get("numPartitions"),
        gaps=parsed.get("gaps", "error"),
        storage_options=parsed.get("storageOptions"),
    )


def _read_keywords(parsed: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of :func:`binarrow.read_binlog` that the options stand for."""
    types = {key: parsed[name] for name, key in _TYPE_KEYWORDS.items() if name in parsed}
    read = {key: parsed[name] for name, key in _READ_KEYWORDS.items() if name in parsed}
    read["types"] = TypeOptions(profile="spark", **types)
    if "tables" in parsed:
        read.pop("layout", None)  # which is the readers' method
        read["tables"] = parsed["tables"]
        read["exclude_tables"] = parsed.get("excludeTables", ())
    if "columns" in parsed:
        read["columns"] = {parsed["table"]: parsed["columns"]}
    if "mask" in parsed:
        place = f"{parsed['table']}." if "table" in parsed else ""
        read["mask"] = {f"{place}{name}": mask for name, mask in parsed["mask"]}
    if "maskSaltFile" in parsed:
        read["mask_salt"] = read_mask_salt(parsed["maskSaltFile"])
    if "schemas" in parsed and "schemasFile" in parsed:
        raise ConfigError("schemas is text and schemasFile names files: set one of them")
    if "schemas" in parsed and "table" in parsed:  # of tables without a database: that of the table
        database = parsed["table"].partition(".")[0]
        read["schemas"] = f"USE {quoted_name(database)}; {parsed['schemas']}"
    if "schemasFile" in parsed:
        read["schemas"] = loaded([Path(name) for name in parsed["schemasFile"]])
    return read


def _check_tables(parsed: Mapping[str, Any]) -> None:
    several = "tables" in parsed
    if several == ("table" in parsed):
        raise ConfigError(
            'which table? set .option("table", "database.table"), or'
            ' .option("tables", "database.*") for several: one of the two'
        )
    check_layout(parsed.get("layout"), several=several)
    if not several and "excludeTables" in parsed:
        raise ConfigError("excludeTables leaves out some of several: set tables, not table")
    for name in ("columns", "schemaChangePolicy"):
        if several and name in parsed:
            raise ConfigError(
                f"{name} is for one table: of several each row has the columns that it had"
                " when it was logged, and table_of() takes those that are wanted"
            )


def _check_history(parsed: Mapping[str, Any]) -> None:
    if "history" in parsed:
        check_no_secret("the URL of the history", parsed["history"], "historyPasswordFile")
    if "historyPasswordFile" in parsed and "history" not in parsed:
        raise ConfigError("historyPasswordFile is for a history on a server: set history too")
    if "history" in parsed and ("schemas" in parsed or "schemasFile" in parsed):
        raise ConfigError("history and schemas both tell structures: set one of them")
    if "historySource" in parsed and "history" not in parsed:
        raise ConfigError("historySource names a source of a history: set history too")


_TYPE_KEYWORDS = {
    option.spark_name: option.name
    for option in keywords_of("TypeOptions")
    if option.spark is not None
}

_PARSED_APART = ("columns", "mask", "mask_salt", "history", "storage_options")

_READ_KEYWORDS = {
    option.spark_name: option.name
    for option in keywords_of("decoder")
    if option.spark is not None and option.name not in _PARSED_APART
}
