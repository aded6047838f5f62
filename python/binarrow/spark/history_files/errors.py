"""The reasons for which tasks cannot write the files of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException


class UnsupportedTableError(Exception):
    """Only Spark's own writer can write the files of a table. The message contains the reason."""


class UnreadableError(UnsupportedTableError):
    """The properties of a table cannot be read now."""


@contextmanager
def known_functions(format_name: str) -> Iterator[None]:
    """Runs code that calls Java functions of a format. Some versions of the format may lack them.

    Other errors are raised unchanged. If the connection to the JVM ends during a commit, it is
    not known whether the files are in the table.

    Raises:
        UnsupportedTableError: A function is missing, so it was not called.
    """
    try:
        yield
    except (Py4JError, TypeError) as error:
        if isinstance(error, Py4JJavaError) or not _is_missing(error):
            raise
        reason = str(error).partition("\n")[0]
        raise UnsupportedTableError(
            f"this version of {format_name} lacks a function: {reason}"
        ) from error


def _is_missing(error: Exception) -> bool:
    text = str(error)
    return "is not callable" in text or ("py4j.Py4JException" in text and "does not exist" in text)


@contextmanager
def layout_functions(format_name: str) -> Iterator[None]:
    """Runs code that only reads the properties of a table.

    Raises:
        UnsupportedTableError: A function is missing.
        UnreadableError: A function fails. Spark then writes the table, or raises its own error.
    """
    try:
        with known_functions(format_name):
            yield
    except (Py4JError, PySparkException) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableError(f"its properties cannot be read: {reason}") from error
