"""The table of commands."""

import io
import signal
import sys

import typer

from binarrow import __version__
from binarrow.cli.command import SETTINGS, exit_codes, show_help_without_command
from binarrow.cli.lazy import lazy_group
from binarrow.cli.no_pandas import refuse_pandas
from binarrow.supported import TESTED

COMMANDS = (
    *("inspect", "stats", "find", "undo", "at", "export", "index", "schema", "splits", "check"),
    *("tail", "sync", "verify", "history", "load"),
)

app = typer.Typer(
    name="binarrow",
    cls=lazy_group({name: f"binarrow.cli.{name}" for name in COMMANDS}),
    help="Inspect, count, follow and convert the binary logs of MySQL and MariaDB.",
    epilog=exit_codes(),
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"binarrow {__version__}\ntested with")
        for each in TESTED:
            print(f"  {each.name:8} {each}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the version, and the versions of servers and Spark that it was tested with.",
    ),
) -> None:
    """Reads the options before the command."""
    if not version:
        show_help_without_command(ctx)


def main() -> None:
    """The entry point of the executable."""
    refuse_pandas()
    # If a reader closes the output early (`| head`), end without an error, like any Unix tool.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # With PYTHONUNBUFFERED, the rest of a partial write would be lost when a signal arrives.
    if isinstance(sys.stdout, io.TextIOWrapper) and isinstance(sys.stdout.buffer, io.RawIOBase):
        sys.stdout = open(  # noqa: SIM115 - it is open until the end
            sys.stdout.fileno(), "w", buffering=1, encoding=sys.stdout.encoding, closefd=False
        )
    # Characters that the terminal's encoding lacks are escaped, and not errors.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()
