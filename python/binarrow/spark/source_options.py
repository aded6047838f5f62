"""Parses and checks the options of the format ``binarrow``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from binarrow import ConfigError, SchemaHistory, TypeOptions
from binarrow.mask_salt import read_mask_salt
from binarrow.options import keywords_of
from binarrow.spark.live.login import check_no_secret
from binarrow.spark.live.options import LiveOptions, check_files
from binarrow.spark.messages import spark_message
from binarrow.spark.option_parsers import canonical, parse
from binarrow.spark.options import DEFAULT_TARGET_BYTES, check_layout, loaded, opened
from binarrow.spark.table_batches import Truncates
from binarrow.sql import quoted_name


@dataclass(frozen=True)
class FileOptions:
    """The files of a query, and the settings for dividing them."""

    paths: tuple[str, ...]
    target_bytes: int
    num_partitions: int | None
    gaps: Literal["error", "allow"]
    index: Literal["use", "ignore"] = "use"
    storage_options: dict[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class SourceOptions:
    """The options of ``format("binarrow")``: one table's changes or several tables'."""

    table: str | None
    """None if there are several: ``read["tables"]``."""
    place: FileOptions | LiveOptions
    schema_change_policy: Literal["follow", "project", "fail"]
    truncates: Truncates | None = None
    """None if not set: batch queries skip such statements, streams report them as errors."""
    is_schema_given: bool = False
    """True if the query declares a schema."""
    history: str | None = None
    history_source: str | None = None
    history_password_file: str | None = None
    history_password_command: str | Sequence[str] | None = field(default=None, repr=False)
    read: dict[str, Any] = field(default_factory=dict, repr=False)  # it may contain a salt

    @property
    def tables(self) -> str | tuple[str, ...]:
        """The value of the keyword ``tables``."""
        patterns: tuple[str, ...] = self.read.get("tables", ())
        return patterns if self.table is None else self.table

    @property
    def name(self) -> str:
        """The table or tables, for messages."""
        return ", ".join(self.tables) if self.table is None else self.table

    @property
    def on_schema_change(self) -> Literal["error", "conform", "evolve"]:
        """The decoder's policy for rows of another structure."""
        match self.schema_change_policy:
            case "fail":
                return "error"
            case "follow" if not self.is_schema_given:
                return "evolve"
            case _:
                return "conform"

    def opened_history(self) -> AbstractContextManager[SchemaHistory | None]:
        """Opens the history, if there is one, and closes it afterwards."""
        return opened(
            self.history,
            self.history_source,
            self.history_password_file,
            self.history_password_command,
        )

    @classmethod
    def parse(cls, options: Mapping[str, str], *, is_schema_given: bool = False) -> SourceOptions:
        """Parses the options; their names may be in any letter case.

        Raises:
            ConfigError: An option is unknown, missing, or has an invalid value.
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
            history_password_command=parsed.get("historyPasswordCommand"),
            read=_read_keywords(parsed),
        )


def _files(parsed: Mapping[str, Any]) -> FileOptions:
    paths = parsed.get("paths", ()) + ((parsed["path"],) if "path" in parsed else ())
    if not paths:
        raise ConfigError(
            'no log is set: name files in .load("/archive/binlog.*"), or a server in'
            ' .option("host", "db.example")'
        )
    check_files(parsed)
    return FileOptions(
        paths=paths,
        target_bytes=parsed.get("targetBytes", DEFAULT_TARGET_BYTES),
        num_partitions=parsed.get("numPartitions"),
        gaps=parsed.get("gaps", "error"),
        index=parsed.get("index", "use"),
        storage_options=parsed.get("storageOptions"),
    )


def _read_keywords(parsed: Mapping[str, Any]) -> dict[str, Any]:
    """Converts the options to keywords of :func:`binarrow.read_binlog`."""
    types = {key: parsed[name] for name, key in _TYPE_KEYWORDS.items() if name in parsed}
    read = {key: parsed[name] for name, key in _READ_KEYWORDS.items() if name in parsed}
    read["types"] = TypeOptions(profile="spark", **types)
    if "tables" in parsed:
        read.pop("layout", None)  # a method of the reader sets it
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
        raise ConfigError(
            spark_message("⟦schemas⟧ is text and ⟦schemas_file⟧ names files: set one of them")
        )
    if "schemas" in parsed and "table" in parsed:  # names without a database: that of the table
        database = parsed["table"].partition(".")[0]
        read["schemas"] = f"USE {quoted_name(database)}; {parsed['schemas']}"
    if "schemasFile" in parsed:
        read["schemas"] = loaded([Path(name) for name in parsed["schemasFile"]])
    return read


def _check_tables(parsed: Mapping[str, Any]) -> None:
    several = "tables" in parsed
    if several == ("table" in parsed):
        raise ConfigError(
            'no table is set, or two options set it: set either .option("table", "database.table"),'
            ' or .option("tables", "database.*") for several'
        )
    check_layout(parsed.get("layout"), several=several)
    if not several and "excludeTables" in parsed:
        raise ConfigError(
            spark_message("⟦exclude_tables⟧ is for several tables: set ⟦tables⟧, not ⟦table⟧")
        )
    if not several and parsed.get("truncates") == "emit_all":
        raise ConfigError(
            spark_message("⟦truncates=emit_all⟧ is for several tables: set ⟦tables⟧, not ⟦table⟧")
        )
    for name in ("columns", "schemaChangePolicy"):
        if several and name in parsed:
            raise ConfigError(
                f"{name} is for one table: rows of several tables have the columns of the time when"
                " they were logged; select columns with table_of()"
            )


def _check_history(parsed: Mapping[str, Any]) -> None:
    if "history" in parsed:
        check_no_secret("the URL of the history", parsed["history"], "history_password_file")
    passwords = [f"⟦{name}⟧" for option, name in _PASSWORDS_OF_HISTORY.items() if option in parsed]
    if len(passwords) > 1:
        raise ConfigError(spark_message(f"{' and '.join(passwords)}: set one of them"))
    if passwords and "history" not in parsed:
        raise ConfigError(
            spark_message(f"{passwords[0]} is for a history on a server: set ⟦history⟧ too")
        )
    if "history" in parsed and ("schemas" in parsed or "schemasFile" in parsed):
        raise ConfigError(
            spark_message("⟦history⟧ and ⟦schemas⟧ both contain structures: set one of them")
        )
    if "historySource" in parsed and "history" not in parsed:
        raise ConfigError(
            spark_message("⟦history_source⟧ names a source of a history: set ⟦history⟧ too")
        )


_PASSWORDS_OF_HISTORY = {
    "historyPasswordFile": "history_password_file",
    "historyPasswordCommand": "history_password_command",
}

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
