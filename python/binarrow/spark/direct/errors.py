"""The reasons for which tasks cannot write the files of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException


class UnfitError(Exception):
    """The files of a table can only be written by Spark. The message contains the reason."""


@contextmanager
def known_functions(format_name: str) -> Iterator[None]:
    """Runs code that calls functions of a format, which its versions may lack.

    Raises:
        UnfitError: A function is missing.
    """
    try:
        yield
    except Py4JJavaError:
        raise
    except (Py4JError, TypeError) as error:
        raise UnfitError(f"this version of {format_name} has other functions: {error}") from error


@contextmanager
def layout_functions(format_name: str) -> Iterator[None]:
    """Runs code that only reads the properties of a table.

    Raises:
        UnfitError: A function is missing or fails. If Spark cannot write the table either, it
            raises its own error.
    """
    try:
        with known_functions(format_name):
            yield
    except (Py4JError, PySparkException) as error:
        reason = str(error).partition("\n")[0]
        raise UnfitError(f"its properties cannot be read: {reason}") from error
