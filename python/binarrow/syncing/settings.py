"""The settings of a sync."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from binarrow._native import ConfigError
from binarrow.syncing.progress import SyncProgress
from binarrow.syncing.summary import SyncSummary

if TYPE_CHECKING:
    from binarrow.server import Server

Mode: TypeAlias = Literal["mirror", "history", "scd2"]
SchemaChanges: TypeAlias = Literal["follow", "widen", "fail"]
OnTruncate: TypeAlias = Literal["apply", "keep", "fail"]
OnDrop: TypeAlias = Literal["keep", "drop", "fail"]
OnTableError: TypeAlias = Literal["stop", "park"]

WORDS = {
    "mode": ("mirror", "history", "scd2"),
    "schema_changes": ("follow", "widen", "fail"),
    "on_truncate": ("apply", "keep", "fail"),
    "on_drop": ("keep", "drop", "fail"),
    "on_table_error": ("stop", "park"),
}
"""The values of the settings that are words."""


class SelectedTables(TypedDict):
    """Keywords that select tables."""

    tables: tuple[str, ...] | None
    exclude_tables: tuple[str, ...] | None


@dataclass(frozen=True)
class Settings:
    """The settings of a sync, as :func:`binarrow.sync` describes them."""

    tables: tuple[str, ...] = ()
    exclude_tables: tuple[str, ...] = ()
    mode: Mode = "mirror"
    once: bool = False
    every: float = 10.0
    schema_changes: SchemaChanges = "follow"
    on_truncate: OnTruncate = "apply"
    on_drop: OnDrop = "keep"
    on_table_error: OnTableError = "stop"
    reload: tuple[str, ...] = ()
    """Patterns of tables that are loaded again."""
    locks: Literal["brief"] | None = None
    max_rows_per_second: int | None = None
    rows_from: Server | None = None
    """A replica from which existing rows are read."""
    max_rows_per_commit: int = 250_000
    """The number of rows in memory at which they are committed before the interval ends."""
    max_bytes: int = 64 << 20
    """The number of bytes in memory at which they are committed."""
    busy_timeout: float = 300.0
    """Seconds for which a commit waits while another process uses the target, and for which failed
    requests to an object store or a catalog are repeated."""
    on_commit: Callable[[SyncSummary], object] = lambda _: None
    """A function that is called after each commit."""
    is_stopped: Callable[[], bool] = lambda: False
    """True if the sync is to end after a commit."""
    progress: SyncProgress = field(default_factory=SyncProgress)
    """The state for other threads."""

    @property
    def selected(self) -> SelectedTables:
        """The tables, as keywords of a server's methods."""
        return {
            "tables": self.tables or None,
            "exclude_tables": self.exclude_tables or None,
        }

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ConfigError: A value is not valid.
        """
        for name, words in WORDS.items():
            if getattr(self, name) not in words:
                listed = " or ".join(repr(word) for word in words)
                raise ConfigError(f"{name} is {listed}, not {getattr(self, name)!r}")
        if self.locks not in {None, "brief"}:
            raise ConfigError(f"locks is None or 'brief', not {self.locks!r}")
        for name in ("every", "busy_timeout"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} is a number of seconds")
        for name in ("max_rows_per_commit", "max_bytes"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is at least 1")


def patterns(given: str | Sequence[str] | None, keyword: str) -> tuple[str, ...]:
    """Returns patterns as a tuple; they may be separated by commas.

    Raises:
        ConfigError: The list is empty.
    """
    if given is None:
        return ()
    listed = [given] if isinstance(given, str) else list(given)
    found = tuple(part for each in listed for part in each.split(",") if part)
    if not found:
        raise ConfigError(f"{keyword} is empty: leave it out, or write for example shop.*")
    return found


__all__ = ["Mode", "OnDrop", "OnTableError", "OnTruncate", "SchemaChanges", "Settings", "patterns"]
