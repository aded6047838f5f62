"""How commands end: exit code 1 for bad input, 2 for a bad call, 130 for Ctrl-C; one clear line."""

import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

import typer

from binarrow import BinarrowError, ConfigError, InputError, UnmatchedPatternWarning
from binarrow.cli.output import printable

P = ParamSpec("P")

BAD_INPUT = 1
BAD_CALL = 2
INTERRUPTED = 130


@contextmanager
def unmatched_patterns_are_errors() -> Iterator[None]:
    """Turns the warning about a pattern that nothing matches into an error of the command."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnmatchedPatternWarning)
        try:
            yield
        except UnmatchedPatternWarning as warning:
            raise InputError(str(warning)) from None


def reports_failure(command: Callable[P, None]) -> Callable[P, None]:
    """Turns what a command raises into a line on stderr and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            try:
                command(*args, **kwargs)
            except ConfigError as error:
                raise _failed(error, BAD_CALL) from None
            except (BinarrowError, OSError) as error:
                raise _failed(error, BAD_INPUT) from None
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None

    return run


# What the library calls its keywords, and what they are on the command line.
OPTIONS = {
    "online_schema_change='trust'": "--online-schema-change trust",
    "unlogged_changes='warn'": "--unlogged-changes warn",
    "column_names='positional'": "--positional",
    "with schemas=": "in a file, with --schemas",
    "stream(history=...)": "--history",
    "with history=": "with --history",
    "history=": "--history",
    "history.baseline(text, position)": "binarrow history baseline HISTORY FILE.sql --position",
    "(history.baseline)": "(binarrow history baseline)",
    "history.baseline(server)": "binarrow history baseline HISTORY URL",
    "history.baseline": "binarrow history baseline",
    "exclude_tables=": "tables=",
    "schemas=": "--schemas",
    "tls='": "--tls '",
    "tls=": "--tls",
    "tls_ca=": "--tls-ca",
    "tls_cert=, tls_key=": "in the URL: ?tls_cert=…&tls_key=…",
    "allow_public_key_retrieval=True": "?allow_public_key_retrieval=1 in the URL",
    "give each its own with server_id=": "give each its own with --server-id",
    "start=": "--start",
    "tables=": "--tables",
}


def _failed(error: Exception, code: int) -> typer.Exit:
    for message in (str(error), *getattr(error, "__notes__", ())):
        print(f"binarrow: {printable(translated(message))}", file=sys.stderr)
    return typer.Exit(code)


def translated(message: str) -> str:
    """What the library says, with the names that things have on the command line."""
    for keyword, option in OPTIONS.items():
        message = message.replace(keyword, option)
    return message


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"binarrow: warning: {printable(translated(str(message)))}", file=sys.stderr)
