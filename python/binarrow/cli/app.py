"""The table of commands."""

import io
import signal
import sys

import typer

from binarrow import __version__
from binarrow.cli import check, export, history, inspect, schema, splits, stats, tail

app = typer.Typer(
    name="binarrow",
    help="MySQL and MariaDB binary logs: look inside, count, follow, turn into Arrow and Parquet.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for name, module in {
    "inspect": inspect,
    "stats": stats,
    "export": export,
    "schema": schema,
    "splits": splits,
    "check": check,
    "tail": tail,
}.items():
    app.command(name, epilog=module.EXAMPLES)(module.command)
app.add_typer(history.app, name="history")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"binarrow {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Declares the options before the command."""


def main() -> None:
    """The entry point of the executable."""
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
