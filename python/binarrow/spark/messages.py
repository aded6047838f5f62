"""Messages of the library in Spark's words: options of the data source instead of keywords."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from binarrow import BinarrowError
from binarrow.advice import in_python, message, parts_of, render
from binarrow.options import OPTIONS

OPTION_OF = {
    **{each.name: each.spark_name for each in OPTIONS if each.spark is not None},
    "on_schema_change": "schemaChangePolicy",
    "start": "startingOffsets",
    "stop": "endingOffsets",
}
"""The option for each keyword."""

POLICIES = {"conform": "project", "error": "fail", "evolve": "follow"}
"""Values of ``on_schema_change`` and of ``schemaChangePolicy``."""

OTHER_WORDS = {
    "history.baseline": "the command binarrow history baseline",
    "schema": ".schema(...)",
    "stream": "the option history",
}
"""The words in Spark for functions, and for keywords that are not options."""


def in_spark(said: object) -> str:
    """Returns an error or a text with options of the format ``binarrow`` instead of keywords."""
    return render(parts_of(said), option)


def spark_message(text: str) -> str:
    """Returns the message of a text that marks options, in Spark's words."""
    return in_spark(message(text))


@contextmanager
def naming_options() -> Iterator[None]:
    """Makes errors that are raised in the block name options."""
    try:
        yield
    except BinarrowError as error:
        shown = in_spark(error)
        error.args = (shown, *error.args[1:])
        error.parts = (shown,)
        raise


def option(name: str, value: str | None) -> str:
    """Writes an option as one of the data source."""
    if name in OTHER_WORDS:
        return OTHER_WORDS[name]
    if name not in OPTION_OF:
        return in_python(name, value)
    if value is None:
        return f"the option {OPTION_OF[name]}"
    if name == "on_schema_change":
        value = POLICIES.get(value, value)
    if value in {"True", "False"}:
        value = value.lower()
    return f"the option {OPTION_OF[name]}={value.strip('[]')}"
