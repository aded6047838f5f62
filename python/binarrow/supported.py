"""The versions of servers and of Spark that the tests run on.

`binarrow --version`, the README and the documentation show this list.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tested:
    """The versions of one product, the latest first for servers."""

    name: str
    versions: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Versions of which only files were tested, not live streams."""

    def __str__(self) -> str:
        """Returns all versions on one line."""
        return ", ".join([*self.versions, *(f"{one} (log files only)" for one in self.files)])


TESTED = (
    Tested("MySQL", ("9.7", "5.7"), ("5.6",)),
    Tested("MariaDB", ("11.8", "10.11"), ("10.5",)),
    Tested("Spark", ("4.0", "4.1", "4.2", "4.3")),
)

__all__ = ["TESTED", "Tested"]
