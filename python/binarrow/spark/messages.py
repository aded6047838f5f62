"""Messages of the library in Spark's words: options of the data source instead of keywords."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from binarrow import BinarrowError, InternalError
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


HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"
"""The variable with which a worker of Spark reports an error without a traceback."""


@contextmanager
def naming_options(*, hides_traceback: bool = True) -> Iterator[None]:
    """Makes errors that are raised in the block name options.

    Args:
        hides_traceback: A worker of Spark reports the message alone, so that its first line has the
            remedy, and not the start of a traceback.
    """
    try:
        yield
    except BinarrowError as error:
        shown = in_spark(error)
        error.args = (shown, *error.args[1:])
        error.parts = (shown,)
        if hides_traceback and not isinstance(error, InternalError):
            _hide_traceback(error)
        raise


def _hide_traceback(error: BinarrowError) -> None:
    """Hides tracebacks as long as the error exists; other errors of the worker keep theirs."""
    if HIDE_TRACEBACK not in os.environ:
        os.environ[HIDE_TRACEBACK] = "1"
        weakref.finalize(error, os.environ.pop, HIDE_TRACEBACK, None)


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
