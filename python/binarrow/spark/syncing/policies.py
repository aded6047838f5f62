"""The settings of `binarrow.spark.sync` about what is written, most as in `binarrow.sync`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from binarrow import ConfigError
from binarrow.syncing.settings import (
    WORDS,
    Mode,
    OnDrop,
    OnTableError,
    OnTruncate,
    SchemaChanges,
)

_WORDS = {**WORDS, "files": ("auto", "spark")}


@dataclass(frozen=True)
class Policies:
    """The mode of a target, and the reactions to statements and errors."""

    mode: Mode = "mirror"
    schema_changes: SchemaChanges = "follow"
    on_truncate: OnTruncate = "apply"
    on_drop: OnDrop = "keep"
    on_table_error: OnTableError = "stop"
    files: Literal["auto", "spark"] = "auto"

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ConfigError: A value is not known.
        """
        for name in (field.name for field in fields(self)):
            value, words = getattr(self, name), _WORDS[name]
            if value not in words:
                raise ConfigError(f"{name} is {' or '.join(map(repr, words))}, not {value!r}")

    @property
    def needs_key(self) -> bool:
        """True if rows are identified by a key."""
        return self.mode != "history"


__all__ = ["Policies"]
