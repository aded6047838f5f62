"""Translates messages of the library for Spark: they name options, not keywords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from binarrow import BinarrowError
from binarrow.options import OPTIONS

OPTION_OF = {
    **{each.name: each.spark_name for each in OPTIONS if each.functions and each.spark is not None},
    "on_schema_change": "schemaChangePolicy",
    "start": "startingOffsets",
    "stop": "endingOffsets",
    "truncates": "truncates",
}
"""The option for each keyword."""

POLICIES = {"conform": "project", "error": "fail", "evolve": "follow"}
"""Values of ``on_schema_change`` and of ``schemaChangePolicy``."""

COMMANDS = {
    "history.baseline(text, position)": "the command binarrow history baseline",
    "history.baseline(server)": "the command binarrow history baseline",
    "history.baseline(...)": "the command binarrow history baseline",
    "history.baseline": "the command binarrow history baseline",
    "stream(history=...)": "the option history",
}

KEYWORD = re.compile(
    r"""\b(?P<name>[a-z][a-z_]*)=
    (?: '(?P<text>[^']*)' | (?P<flag>True|False) | \[(?P<list>[^\]]*)\] )?
    (?![\w.(])""",
    re.VERBOSE,
)

HINT = re.compile(r" \(in Spark \w+=\w+\)")
"""A hint in messages for users of `decoder()`, which has keywords."""


def in_spark(message: str) -> str:
    """Returns the message with the options of the format ``binarrow`` instead of keywords."""
    message = HINT.sub("", message)
    for call, command in COMMANDS.items():
        message = message.replace(call, command)
    return KEYWORD.sub(_option, message)


@contextmanager
def naming_options() -> Iterator[None]:
    """Makes errors that are raised in the block name options."""
    try:
        yield
    except BinarrowError as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (in_spark(error.args[0]), *error.args[1:])
        raise


def _option(found: re.Match[str]) -> str:
    name = found["name"]
    if name == "schema":
        return ".schema(...)"
    if name not in OPTION_OF:
        return found[0]
    value = next((found[one] for one in ("text", "flag", "list") if found[one] is not None), None)
    if value is None:
        return f"the option {OPTION_OF[name]}"
    if name == "on_schema_change":
        value = POLICIES.get(value, value)
    return f"the option {OPTION_OF[name]}={value.lower() if found['flag'] else value}"
