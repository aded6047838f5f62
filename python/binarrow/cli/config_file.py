"""A TOML file with the arguments and options of a command."""

from __future__ import annotations

import difflib
import inspect
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from binarrow._native import has_password
from binarrow.cli.flags import Command, adds_flags

ONLY_ON_THE_COMMAND_LINE = {"config", "help", "password"}


def takes_config(command: Command) -> Command:
    """Adds the option --config to a command, as its argument `config`, which it does not need."""
    option = typer.Option(
        metavar="FILE",
        callback=_read,
        is_eager=True,
        show_default=False,
        help='A TOML file with arguments and options of this command: source = "mysql://db/",'
        ' every = 60, tables = ["shop.*"]. The command line has priority.',
    )
    parameter = inspect.Parameter(
        "config",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[Path | None, option],
    )
    return adds_flags("config", [parameter], lambda values: values["config"])(command)


def _read(ctx: typer.Context, file: Path | None) -> Path | None:
    """Makes the values in a file the defaults of a command.

    Raises:
        BadParameter: The file cannot be read, or has a key or a value that is not valid.
    """
    if file is None:
        return None
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} is not TOML: {error}") from None
    known = {_key(one): one for one in ctx.command.params}
    ctx.default_map = {}
    for key, value in values.items():
        name = key.replace("-", "_")
        if name == "password":
            raise typer.BadParameter(
                f"{file} contains {key}, which is not possible: use password_file,"
                " password_command, option_file or the environment variable MYSQL_PWD"
            )
        if name not in known or name in ONLY_ON_THE_COMMAND_LINE:
            raise typer.BadParameter(f"{file}: {key!r} is not known{_hint(name, known)}")
        ctx.default_map[str(known[name].name)] = _value(f"{file}: {key}", known[name], value)
    return file


def _key(parameter: Any) -> str:
    """Returns the key of a parameter: its name on the command line, with underscores."""
    if parameter.param_type_name == "argument":
        return str(parameter.name)
    longest = max(parameter.opts, key=len)
    return str(longest).lstrip("-").replace("-", "_")


def _value(place: str, parameter: Any, value: Any) -> Any:
    """Checks the kind of a value; its parameter checks the rest."""
    if isinstance(value, str) and has_password(value):
        raise typer.BadParameter(
            f"{place} contains a password: use password_file or password_command"
        )
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise typer.BadParameter(f"{place} is true or false")
        return value
    if parameter.multiple:
        listed = value if isinstance(value, list) else [value]
        if not all(isinstance(one, str) for one in listed):
            raise typer.BadParameter(f"{place} is a list of strings")
        return listed
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise typer.BadParameter(f"{place} is a string or a number")
    return str(value)


def _hint(name: str, known: dict[str, Any]) -> str:
    """Returns a hint with the most similar key, or with all keys."""
    keys = sorted(known.keys() - ONLY_ON_THE_COMMAND_LINE)
    nearest = difflib.get_close_matches(name, keys, n=1, cutoff=0.5)
    return f"; did you mean {nearest[0]!r}?" if nearest else f"; expected one of: {', '.join(keys)}"


__all__ = ["takes_config"]
