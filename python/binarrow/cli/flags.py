"""Flags of commands, from the table of options, and their conversion to keywords."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from binarrow import ConfigError, SchemaHistory
from binarrow.cli.arguments import check_order, where
from binarrow.history.store_url import is_on_server
from binarrow.mask_salt import read_mask_salt
from binarrow.options import OPTIONS, Flag, Option

SALT_VARIABLE = "BINARROW_MASK_SALT"


@dataclass(frozen=True)
class Reading:
    """The flags of one call that are keywords of `read_binlog`."""

    values: Mapping[str, Any] = field(repr=False)

    @property
    def is_part(self) -> bool:
        """True if only a part of the log is read: from --start, or to --stop."""
        return any(self.values.get(name) for name in ("start", "stop"))

    @contextmanager
    def keywords(self) -> Iterator[dict[str, Any]]:
        """Returns the keywords. A history is open in the block.

        Raises:
            ConfigError: A value is invalid, or flags exclude each other.
            InputError: The file of the salt cannot be read.
        """
        given = dict(self.values)
        salt_file = given.pop("mask_salt", None)
        history = given.pop("history", None)
        store = {
            name: given.pop(f"history_{name}", None)
            for name in ("source", "password_file", "password_command")
        }
        keywords = {name: _keyword(*_OF_READS[name], value) for name, value in given.items()}
        check_order(keywords.get("start"), keywords.get("stop"))
        if "sha256" in (keywords.get("mask") or {}).values():
            keywords["mask_salt"] = _salt(salt_file)
        if history is None:
            if any(value is not None for value in store.values()):
                raise ConfigError(
                    "--history-source, --history-password-file and --history-password-command are"
                    " for --history"
                )
            yield keywords
            return
        with open_history(history, **store) as opened:
            yield {**keywords, "history": opened}


def open_history(
    history: str, source: str | None, password_file: Path | None, password_command: str | None
) -> SchemaHistory:
    """Opens a history. Passwords are for one on a server.

    Raises:
        ConfigError: Two passwords are given, or the history cannot be opened.
    """
    if password_file is not None and password_command is not None:
        raise ConfigError(
            "--history-password-file and --history-password-command: give one of them"
        )
    login: dict[str, Any] = {}
    if is_on_server(history):
        login = {"password_file": password_file, "password_command": password_command}
    return SchemaHistory.open(history, source=source, **login)


Command = Callable[..., None]


def reads(command: str) -> Callable[[Command], Command]:
    """Adds a command's flags of reading, from the table, as its argument `reading`."""
    own_flags = {name: both for name, both in _OF_READS.items() if command in both[1].commands}
    return adds_flags(
        "reading", [_parameter(*both, command) for both in own_flags.values()], Reading
    )


def adds_flags(
    argument: str, flags: Sequence[inspect.Parameter], value: Callable[[dict[str, Any]], Any]
) -> Callable[[Command], Command]:
    """Replaces a command's argument by flags.

    Args:
        argument: The name of the command's argument.
        flags: The parameters of the flags.
        value: Creates the argument from the values of the flags, by name.
    """

    def with_flags(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        own = [each for each in signature.parameters.values() if each.name != argument]

        @wraps(function)
        def run(**values: Any) -> None:
            of_flags = {flag.name: values.pop(flag.name) for flag in flags}
            function(**values, **{argument: value(of_flags)})

        parameters = [*own, *flags]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return with_flags


def flag(name: str, command: str = "", **settings: Any) -> Any:
    """Returns the flag of an option, for a parameter that a command declares itself."""
    option, own = next(
        (option, own)
        for option, own in _FLAGS
        if option.name == name and (command in own.commands or not command)
    )
    if option.kind.items:
        settings["autocompletion"] = _completions(option.kind.items)
    return typer.Option(
        own.name, **{"metavar": own.metavar, "help": help_of(option, own), **settings}
    )


def _completions(items: Sequence[str]) -> Callable[[str], list[str]]:
    """Completes the last word of a list with commas in a shell."""

    def complete(incomplete: str) -> list[str]:
        before, comma, _ = incomplete.rpartition(",")
        return [f"{before}{comma}{item}" for item in items if item not in before.split(",")]

    return complete


def help_of(option: Option, own: Flag) -> str:
    """Returns the help text of an option's flag."""
    text = re.sub(r":\w+:`([^`]*)`", r"\1", own.doc or option.summary)
    text = re.sub(r'``"?([^`"]*)"?``', lambda found: _NAMES.get(found[1], found[1]), text)
    if _is_list(option):
        text = f"{text} May be given again."
    return text


_FLAGS = [(option, option.flag) for option in OPTIONS if option.flag is not None]

_OF_READS = {
    option.name: (option, own)
    for option, own in _FLAGS
    if "read_binlog" in option.functions or option.name.startswith("history_")
}

_NAMES = {option.name: own.name.partition("/")[0] for option, own in _FLAGS}

_TYPES: Mapping[str, Any] = {
    "columns": list[str] | None,
    "command": str | None,
    "flag": bool,
    "history": str | None,
    "mask": list[str] | None,
    "names": list[str] | None,
    "path": Path | None,
    "place": str | None,
    "salt": Path | None,
    "sql": list[Path] | None,
    "text": str | None,
}
"""The type of a flag's parameter, by the kind of the option's values."""


def _is_list(option: Option) -> bool:
    return option.kind.name in ("columns", "mask", "names", "sql")


def _parameter(option: Option, own: Flag, command: str) -> inspect.Parameter:
    """Returns the flag as a parameter of a command."""
    default = own.commands[command]
    settings: dict[str, Any] = {"show_default": False} if default is None else {}
    choices: Any = StrEnum
    kind: Any
    if own.word:
        kind = bool
    elif words := option.kind.words or own.words:
        kind = choices(option.name, list(words))
        default = kind(default)
    else:
        kind = _TYPES[option.kind.name]
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, flag(option.name, command, **settings)],
    )


def _keyword(option: Option, own: Flag, value: Any) -> Any:
    """Converts the value of a flag to the value of its keyword."""
    if own.word:
        return own.word if value else option.default
    if isinstance(value, StrEnum):
        return value.value
    if _is_list(option) and not value:
        return None
    if str(own.metavar).endswith(",...") and option.kind.name == "names":
        return [word for text in value for each in text.split(",") if (word := each.strip())]
    return _CONVERTED.get(option.kind.name, lambda value: value)(value)


def _columns(texts: list[str]) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for text in texts:
        table, equals, names = text.partition("=")
        if not equals:
            raise ConfigError(f"--columns {text!r}: write DB.TABLE=COLUMN,COLUMN")
        columns.setdefault(table, []).extend(name for name in names.split(",") if name)
    return columns


def _masks(texts: list[str]) -> dict[str, str]:
    masks: dict[str, str] = {}
    for text in texts:
        column, equals, how = text.rpartition("=")
        if not equals:
            raise ConfigError(f"--mask {text!r}: write DB.TABLE.COLUMN=sha256, or =null")
        masks[column] = how
    return masks


_CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "columns": _columns,
    "mask": _masks,
    "place": where,
}
"""Converts a flag's value to the keyword's value, by the kind of the option's values."""


def _salt(file: Path | None) -> str | bytes:
    salt = read_mask_salt(file) if file else os.environ.get(SALT_VARIABLE)
    if not salt:
        raise ConfigError(
            f"--mask ...=sha256 needs a salt: set --mask-salt-file, or {SALT_VARIABLE}"
        )
    return salt


__all__ = ["Reading", "adds_flags", "flag", "help_of", "reads"]
