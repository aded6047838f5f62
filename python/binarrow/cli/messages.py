"""Translates messages of the library for the command line: they name options, not keywords."""

from __future__ import annotations

import re

from binarrow.options import OPTIONS

_FLAGS = [(option, option.flag) for option in OPTIONS if option.flag is not None]

OPTION_OF = {
    **{option.name: flag.name.partition("/")[0] for option, flag in _FLAGS if not flag.word},
    "exclude_tables": "--tables, which names only the others",
    "position": "--position",
    "server": "--server",
    "source": "--history-source",
}
"""The option for each keyword."""

FLAG_OF = {(option.name, flag.word): flag.name for option, flag in _FLAGS if flag.word}
"""The option for a keyword with a value."""

IN_URL = {
    "allow_clear_password": "?allow_clear_password=1 in the URL",
    "allow_public_key_retrieval": "?allow_public_key_retrieval=1 in the URL",
    "compression": "?compression=... in the URL",
    "tls_cert": "?tls_cert=... in the URL",
    "tls_key": "?tls_key=... in the URL",
    "tls_server_name": "?tls_server_name=... in the URL",
    "user": "the user in the URL",
}
"""Keywords of a login that have no option."""

BASELINES = {
    "(text, position)": "binarrow history baseline HISTORY FILE.sql --position",
    "(server)": "binarrow history baseline HISTORY URL",
}

CALL = re.compile(
    r"(?<![\w/.])(?:history\.baseline(?P<arguments>\([^()]*\))?|stream\(history=\.\.\.\))(?![\w/]|\.\w)"
)

KEYWORD = re.compile(
    r"""(?<![\w/.:?&-])(?P<in_file>with\ (?=schemas=))?
    (?P<name>[a-z][a-z_]*)=
    (?: '(?P<single>[^'/]*)' | "(?P<double>[^"/]*)" | (?P<flag>True|False) )?
    (?![\w./({\[<>=])""",
    re.VERBOSE,
)
"""A keyword in a message. A part of a path is none: ``/archive/start=2026-11-01/binlog.000001``."""


def in_cli(message: str) -> str:
    """Returns the message with options of the command line instead of keywords."""
    return KEYWORD.sub(_option, CALL.sub(_call, message))


def _call(found: re.Match[str]) -> str:
    if found[0].startswith("stream"):
        return "--history"
    return BASELINES.get(found["arguments"] or "", "binarrow history baseline")


def _option(found: re.Match[str]) -> str:
    name = found["name"]
    value = next((found[one] for one in ("single", "double") if found[one] is not None), None)
    if (flag := FLAG_OF.get((name, value or ""))) is not None:
        return flag
    if name in IN_URL:
        return IN_URL[name]
    if name not in OPTION_OF:
        return found[0]
    in_file = "in a file, with " if found["in_file"] else ""
    return f"{in_file}{OPTION_OF[name]}{'' if value is None else ' ' + value}"
