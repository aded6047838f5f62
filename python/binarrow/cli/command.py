"""Commands as typer builds them, with help and errors as plain text, in which no name is cut."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from binarrow.cli.output import printable

BAD_INPUT = 1
BAD_CALL = 2
INTERRUPTED = 130
OUTPUT_CLOSED = 128 + 13  # the number of SIGPIPE

# typer has its own copy of click, or imports it, depending on the version.
UsageError: Any = typer.BadParameter.__base__

_TYPE = re.compile(r" <[^<>]*>$")
"""The type after the name of an argument, which is text, or a list of texts."""

SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
}
"""The settings of all commands. Help is as wide as the terminal, up to this width."""


class Command(TyperCommand):
    """A command whose help has a section for each group of options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the arguments, then the options of each group."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Options"
                if parameter.param_type_name == "argument":
                    kind = "Arguments"
                    record = (_TYPE.sub("", record[0]), record[1])
                title = getattr(parameter, "rich_help_panel", None) or kind
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Group(TyperGroup):
    """A group of commands. An error in a call is two lines: the error, and where the help is."""

    def main(self, args: Any = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Runs a command, and ends the process with its exit code."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except UsageError as error:
            path = error.ctx.command_path if error.ctx is not None else "binarrow"
            message = " ".join(error.format_message().split())
            print(f"binarrow: {printable(_lowered(message))}", file=sys.stderr)
            print(f"See '{path} --help'.", file=sys.stderr)
            sys.exit(BAD_CALL)
        except typer.Abort:
            sys.exit(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - of the base class
        """Writes all commands, each with the complete first sentence of its help."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, _first_paragraph(command.help)) for name, command in self.commands.items()]
            )


def show_help_without_command(ctx: typer.Context) -> None:
    """Prints the help of a group that is called without a command."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit(BAD_CALL)


def ending(examples: str, exit_codes: str) -> str:
    """Returns the end of a command's help: examples, which keep their lines, and exit codes."""
    return f"\b\n{examples}\n\n{exit_codes}"


def exit_codes(others: Mapping[int, str] | None = None) -> str:
    """Returns the description of the exit codes of a command, for its help.

    Args:
        others: The meaning of codes, if it differs.
    """
    codes = {
        0: "success",
        BAD_INPUT: "the input or the server cannot be read",
        BAD_CALL: "wrong arguments",
        INTERRUPTED: "ended by Ctrl-C",
        OUTPUT_CLOSED: "the process that reads the output has ended",
        **(others or {}),
    }
    return f"Exit codes: {'; '.join(f'{code} {codes[code]}' for code in sorted(codes))}."


def add_commands(app: typer.Typer, modules: Mapping[str, ModuleType]) -> None:
    """Adds commands to a group.

    Args:
        app: The group.
        modules: One module per command: `command`, `EXAMPLES`, and `EXIT_CODES` if they differ.
    """
    for name, module in modules.items():
        codes = exit_codes(getattr(module, "EXIT_CODES", None))
        app.command(name, cls=Command, epilog=ending(module.EXAMPLES, codes))(module.command)


def group(summary: str, examples: str, modules: Mapping[str, ModuleType]) -> typer.Typer:
    """Returns a group of commands inside `binarrow`.

    Args:
        summary: A sentence for the help.
        examples: Calls of the commands.
        modules: As in `add_commands`.
    """
    app = typer.Typer(
        help=summary,
        cls=Group,
        callback=show_help_without_command,
        epilog=ending(examples, exit_codes()),
        invoke_without_command=True,
        rich_markup_mode=None,
        context_settings=SETTINGS,
    )
    add_commands(app, modules)
    return app


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
