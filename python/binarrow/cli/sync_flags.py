"""Flags that `sync` and `verify` share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer


class Locks(StrEnum):
    """Values of --locks."""

    brief = "brief"


def seconds(given: str | float) -> float:
    """Parses a number of seconds, such as 10 or 10s."""
    text = str(given)  # the default is a number
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number of seconds, such as 10s") from None


BusyTimeout: TypeAlias = Annotated[
    float,
    typer.Option(
        "--busy-timeout",
        metavar="SECONDS",
        parser=seconds,
        help="The maximum time to wait while another process uses the target, and to repeat failed"
        " requests to an object store or a catalog.",
    ),
]

__all__ = ["BusyTimeout", "Locks", "seconds"]
