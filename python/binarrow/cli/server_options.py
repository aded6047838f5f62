"""The flags of commands that connect to a server."""

from __future__ import annotations

import getpass
import inspect
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

import binarrow
from binarrow.cli.flags import Command, adds_flags, flag


class Tls(StrEnum):
    """Values of --tls."""

    disabled = "disabled"
    preferred = "preferred"
    required = "required"
    verify_ca = "verify_ca"
    verify_identity = "verify_identity"


URL_HELP = (
    "mysql://user@host:3306/, or mariadb://. Keywords of connect() may follow a ?, as in"
    " ?tls_cert=me.pem&tls_key=key.pem. Without a URL, the server is that of the option file or"
    " of the environment: MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT, MYSQL_USER. A password"
    " in the URL is visible to all users of this machine in the list of processes, and the"
    " shell's history stores it."
)
"""The help of an argument that is a URL."""

Url: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="URL", help=URL_HELP, show_default=False),
]
PANEL = "Connecting"


def _flag(name: str) -> Any:
    return flag(name, show_default=False, rich_help_panel=PANEL)


def _parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


_FLAGS = (
    _parameter(
        "ask_password",
        Annotated[
            bool,
            typer.Option(
                "--password",
                help="Ask for the password. Without this flag, MYSQL_PWD contains it.",
                rich_help_panel=PANEL,
            ),
        ],
        default=False,
    ),
    _parameter("password_file", Annotated[Path | None, _flag("password_file")]),
    _parameter("password_command", Annotated[str | None, _flag("password_command")]),
    _parameter("option_file", Annotated[Path | None, _flag("option_file")]),
    _parameter("tls", Annotated[Tls | None, _flag("tls")]),
    _parameter("tls_ca", Annotated[Path | None, _flag("tls_ca")]),
)


@dataclass(frozen=True)
class Login:
    """The flags with which a command connects to a server."""

    ask_password: bool
    password_file: Path | None
    password_command: str | None
    option_file: Path | None
    tls: Tls | None
    tls_ca: Path | None

    def connect(self, url: str | None) -> binarrow.Server:
        """Connects to the server."""
        try:
            return binarrow.connect(
                url,
                password=_asked() if self.ask_password else None,
                password_file=self.password_file,
                password_command=self.password_command,
                option_file=self.option_file,
                tls=None if self.tls is None else self.tls.value,
                tls_ca=self.tls_ca,
            )
        except binarrow.AuthenticationError as error:
            if "using password: NO" in str(error):
                error.add_note(
                    "no password was given: use --password, --password-file, --password-command,"
                    " --option-file or MYSQL_PWD"
                )
            raise


def logs_in(command: Command) -> Command:
    """Adds the flags of a login to a command, as its argument `login`."""
    return adds_flags("login", _FLAGS, lambda values: Login(**values))(command)


def _asked() -> str:
    if not sys.stdin.isatty():
        raise binarrow.ConfigError(
            "--password needs a terminal, but standard input is not one: use --password-file,"
            " --password-command, --option-file or MYSQL_PWD"
        )
    try:
        return getpass.getpass("Password: ")
    except EOFError:
        raise binarrow.ConfigError("no password was given") from None
