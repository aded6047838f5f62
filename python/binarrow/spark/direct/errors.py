"""The reasons for which tasks cannot write the files of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException


class UnfitError(Exception):
    """The files of a table can only be written by Spark. The message contains the reason."""


class UnreadableError(UnfitError):
    """The properties of a table cannot be read now."""


@contextmanager
def known_functions(format_name: str) -> Iterator[None]:
    """Runs code that calls functions of a format, which its versions may lack.

    Other errors are raised as they are. If the connection to the JVM ends during a commit, it is
    not known whether the files are in the table.

    Raises:
        UnfitError: A function is missing, so it was not called.
    """
    try:
        yield
    except (Py4JError, TypeError) as error:
        if isinstance(error, Py4JJavaError) or not _is_missing(error):
            raise
        reason = str(error).partition("\n")[0]
        raise UnfitError(f"this version of {format_name} has other functions: {reason}") from error


def _is_missing(error: Exception) -> bool:
    text = str(error)
    return "is not callable" in text or ("py4j.Py4JException" in text and "does not exist" in text)


@contextmanager
def layout_functions(format_name: str) -> Iterator[None]:
    """Runs code that only reads the properties of a table.

    Raises:
        UnfitError: A function is missing.
        UnreadableError: A function fails. If Spark cannot write the table either, it raises its
            own error.
    """
    try:
        with known_functions(format_name):
            yield
    except (Py4JError, PySparkException) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableError(f"its properties cannot be read: {reason}") from error
