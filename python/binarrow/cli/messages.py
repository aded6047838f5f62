"""Messages of the library in the words of the command line: flags instead of keywords."""

from __future__ import annotations

from binarrow.advice import in_python, parts_of, render
from binarrow.options import OPTIONS

_FLAGS = [(option, option.flag) for option in OPTIONS if option.flag is not None]

FLAG_OF = {
    **{option.name: flag.name.partition("/")[0] for option, flag in _FLAGS if not flag.word},
    "archive": "--archive",
    "exclude_tables": "--tables, which names only the others",
    "mode": "--mode",
    "position": "--position",
    "reload": "--reload",
    "schema_changes": "--schema-changes",
    "schemas": "--schemas FILE",
    "server": "--server",
    "source": "--history-source",
}
"""The flag for each keyword."""

FLAG_OF_VALUE = {(option.name, flag.word): flag.name for option, flag in _FLAGS if flag.word}
"""The flag for a keyword with a value."""

IN_URL = {
    "allow_clear_password": "?allow_clear_password=1 in the URL",
    "allow_public_key_retrieval": "?allow_public_key_retrieval=1 in the URL",
    "compression": "?compression=... in the URL",
    "tls_cert": "?tls_cert=... in the URL",
    "tls_key": "?tls_key=... in the URL",
    "tls_server_name": "?tls_server_name=... in the URL",
    "user": "the user in the URL",
}
"""Keywords of a login that have no flag."""

COMMAND_OF: dict[str, dict[str | None, str]] = {
    "binarrow.roll_forward": {
        "source=...": "--archive",
        "source={name: path}": "--archive NAME=FILE",
    },
    "binarrow.rows_at": {
        "archive=...": "--archive",
        "archive={name: path}": "--archive NAME=FILE",
    },
    "history.baseline": {
        None: "binarrow history baseline",
        "text, position": "binarrow history baseline HISTORY FILE.sql --position",
        "server": "binarrow history baseline HISTORY URL",
    },
    "stream": {"history=...": "--history"},
}
"""The command for each function, by its arguments."""


def in_cli(said: object) -> str:
    """Returns an error, a warning or a text with flags instead of keywords."""
    return render(parts_of(said), flag)


def flag(name: str, value: str | None) -> str:
    """Writes an option as a flag, and a function as a command."""
    if command := COMMAND_OF.get(name, {}).get(value):
        return command
    if (name, value) in FLAG_OF_VALUE:
        return FLAG_OF_VALUE[name, value or ""]
    if name in IN_URL:
        return IN_URL[name]
    if name not in FLAG_OF:
        return in_python(name, value)
    return FLAG_OF[name] if value is None else f"{FLAG_OF[name]} {value}"
