"""The folder of an exported table: `DATABASE.TABLE`, escaped so that it can be read back."""

from __future__ import annotations

from urllib.parse import unquote

from binarrow import ConfigError

MOST_BYTES = 255
"""The maximum length of a file's name on Linux."""


def folder_name(database: str, table: str) -> str:
    """Returns the name of a table's folder, which is unique.

    ``%``, ``.``, ``/`` and control characters of a name are escaped as in a URL: the table ``b.c``
    of the database ``a`` is in ``a.b%2Ec``.

    Raises:
        ConfigError: The name is too long for a file system.
    """
    name = f"{_escaped(database)}.{_escaped(table)}"
    if len(name.encode()) > MOST_BYTES or name == ".":
        raise ConfigError(
            f"the table {table!r} of the database {database!r} cannot be exported: its folder would"
            f" be named {name!r}, and file systems allow 1 to {MOST_BYTES} bytes; leave it out with"
            " --tables"
        )
    return name


def table_of(folder: str) -> tuple[str, str]:
    """Returns the database and the table of a folder that :func:`folder_name` named."""
    database, _, table = folder.partition(".")
    return unquote(database, errors="strict"), unquote(table, errors="strict")


def _escaped(name: str) -> str:
    return "".join(_escape(each) if each in "%./" or _is_control(each) else each for each in name)


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character < "\xa0"
