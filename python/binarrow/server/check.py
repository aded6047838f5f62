"""One graded setting of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grade = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Check:
    """One setting of a server with its grade, returned by :meth:`Server.check`.

        for check in server.check():
            if check.grade != "ok":
                print(check.name, check.value, check.advice)

    Attributes:
        name: The name of a variable, ``privileges``, or ``privileges for`` and a use.
        grade: ``"error"``: changes cannot be read, or are lost. ``"warning"``: something may be
            missed. ``"ok"``: there is nothing to do.
        value: The value that the server reports.
        advice: The meaning of the value and the suggested fix; empty if there is nothing to do.
    """

    name: str
    grade: Grade
    value: str
    advice: str


def persistently(flavor: str, version: str, name: str, value: str) -> str:
    """Returns the advice to set a global variable so that it keeps its value after a restart."""
    if flavor == "mysql" and is_from(version, FIRST_WITH_PERSIST):
        return f"SET PERSIST {name} = {value}"
    return f"SET GLOBAL {name} = {value}, and {in_option_file(flavor, name, value)}"


def is_from(version: str, first: int) -> bool:
    """True if a version of a server is a first number or a later one."""
    digits = version.partition(".")[0]
    return digits.isdecimal() and int(digits) >= first


def in_option_file(flavor: str, name: str, value: str) -> str:
    """Returns the advice to set a variable for the next start of the server."""
    section = "mariadb" if flavor == "mariadb" else "mysqld"
    return f"write {name} = {value} under [{section}] in the server's option file"


FIRST_WITH_PERSIST = 8
"""The first version of MySQL that has SET PERSIST."""
