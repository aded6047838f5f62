"""Errors of commands: one line on stderr, and an exit code."""

import functools
import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

import typer

from binarrow import BinarrowError, ConfigError, InputError, UnmatchedPatternWarning
from binarrow.advice import Message, parts_of
from binarrow.cli.command import BAD_CALL, BAD_INPUT, INTERRUPTED
from binarrow.cli.messages import in_cli
from binarrow.cli.output import printable

P = ParamSpec("P")


@contextmanager
def unmatched_patterns_are_errors(*, in_part: bool) -> Iterator[None]:
    """Turns the warning about a pattern that nothing matches into an error of the command.

    A command that reads a part of the log, with --start or --stop, only warns about a table: it
    may have changes in another part. A pattern of --mask must match in any case.
    """
    errors = "mask:" if in_part else ""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", errors, UnmatchedPatternWarning)
        try:
            yield
        except UnmatchedPatternWarning as warning:
            raise InputError(Message(parts_of(warning))) from None


def reports_failure(command: Callable[P, None]) -> Callable[P, None]:
    """Turns the exceptions of a command into a line on stderr and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        # Imported objects exist until the exit, so garbage collections need not visit them.
        gc.freeze()
        gc.enable()
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            try:
                command(*args, **kwargs)
            except ConfigError as error:
                raise failed(error, BAD_CALL) from None
            except (BinarrowError, OSError) as error:
                raise failed(error, BAD_INPUT) from None
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None

    return run


_ARGUMENT = "while processing '"
"""The start of a note that names an argument of a function."""


def failed(error: Exception, code: int) -> typer.Exit:
    """Prints an error, and returns the exception that ends the command."""
    notes = [note for note in getattr(error, "__notes__", ()) if not note.startswith(_ARGUMENT)]
    for message in (error, *notes):
        print(f"binarrow: {printable(in_cli(message))}", file=sys.stderr)
    return typer.Exit(code)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"binarrow: warning: {printable(in_cli(message))}", file=sys.stderr)
