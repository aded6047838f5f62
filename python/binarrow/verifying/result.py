"""The result of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from binarrow._native import Position
    from binarrow.syncing.names import Name

Verdict: TypeAlias = Literal["MATCH", "MISMATCH", "INCONCLUSIVE"]
Difference: TypeAlias = Literal["missing", "extra", "different", "unlogged"]

DIFFERENCES: tuple[Difference, ...] = ("missing", "extra", "different", "unlogged")


@dataclass(frozen=True)
class DifferingKey:
    """The key of a row that differs, from a comparison with ``show_keys``.

        for each in summary.tables["shop", "orders"].keys:
            print(each.difference, each.key["id"])

    Attributes:
        difference: As in :attr:`VerifiedTable.differences`.
        key: The values of the columns of the key.
    """

    difference: Difference
    key: dict[str, Any] = field(repr=False)


@dataclass
class VerifiedTable:
    """A table in the result of :func:`binarrow.verify`.

    Attributes:
        result: ``"MATCH"``: the target has exactly the rows that the server had at the target's
            position. ``"MISMATCH"``: it does not. ``"INCONCLUSIVE"``: it is not known.
        reason: The reason why the result is not ``"MATCH"``. It is empty for ``"MATCH"``, and if
            rows differ.
        source_rows: The number of rows of the server, at the target's position.
        target_rows: The number of rows of the target.
        differences: The numbers of differing rows. ``"missing"``: only the server has the row.
            ``"extra"``: only the target has it. ``"different"``: both have it, with other values.
            ``"unlogged"``: the row of the server differs from its latest change in the log.
        is_complete: False if there are more differences than were counted.
        keys: The keys of the first rows that differ, with ``show_keys``.
        position: The position in the log at which the tables were compared.
    """

    result: Verdict = "INCONCLUSIVE"
    reason: str = ""
    source_rows: int = 0
    target_rows: int = 0
    differences: dict[Difference, int] = field(
        default_factory=lambda: dict.fromkeys(DIFFERENCES, 0)
    )
    is_complete: bool = True
    keys: list[DifferingKey] = field(default_factory=list, repr=False)
    position: Position | None = None


@dataclass
class VerifySummary:
    """The result of :func:`binarrow.verify`.

        summary = binarrow.verify("mysql://repl@db.example/", "duckdb:///mirror.duckdb",
                                  password_file="secret")
        assert summary.result == "MATCH", summary.tables

    Attributes:
        tables: The result of each table, by database and name.
        seconds: The duration.
    """

    tables: dict[Name, VerifiedTable] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def result(self) -> Verdict:
        """``"MISMATCH"`` if one table has it, otherwise ``"INCONCLUSIVE"`` if one has it."""
        results = {one.result for one in self.tables.values()}
        if "MISMATCH" in results:
            return "MISMATCH"
        return "MATCH" if results == {"MATCH"} else "INCONCLUSIVE"


@dataclass(frozen=True)
class VerifyProgress:
    """The progress of :func:`binarrow.verify`.

    Attributes:
        table: The table that is read.
        side: The side that is read: ``"target"``, ``"log"`` or ``"source"``.
        rows: The number of its rows that were read.
        estimate: The server's estimate of the number of rows; 0 before it is known.
    """

    table: Name
    side: Literal["target", "log", "source"]
    rows: int
    estimate: int = 0


__all__ = [
    "DIFFERENCES",
    "Difference",
    "DifferingKey",
    "Verdict",
    "VerifiedTable",
    "VerifyProgress",
    "VerifySummary",
]
