"""Arguments of commands that connect to a server, and the connection that they stand for."""

from __future__ import annotations

import getpass
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

import binarrow
from binarrow.cli.flags import flag


class Tls(StrEnum):
    """How much TLS is asked for."""

    disabled = "disabled"
    preferred = "preferred"
    required = "required"
    verify_ca = "verify_ca"
    verify_identity = "verify_identity"


Url: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="URL",
        help="mysql://user@host:3306/, or mariadb://. Keywords of connect() may follow a ?, as in"
        " ?tls_cert=me.pem&tls_key=key.pem. Without a URL the option file says where, or the"
        " environment: MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT, MYSQL_USER. A password in the"
        " URL works, but all users of this machine see it in the list of processes, and it stays in"
        " the shell's history.",
        show_default=False,
    ),
]
PANEL = "Connecting"

AskPassword: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--password",
        help="Ask for the password; without this it is MYSQL_PWD.",
        rich_help_panel=PANEL,
    ),
]
PasswordFile: TypeAlias = Annotated[Path | None, flag("password_file", rich_help_panel=PANEL)]
OptionFile: TypeAlias = Annotated[Path | None, flag("option_file", rich_help_panel=PANEL)]
TlsOption: TypeAlias = Annotated[Tls | None, flag("tls", show_default=False, rich_help_panel=PANEL)]
TlsCa: TypeAlias = Annotated[Path | None, flag("tls_ca", rich_help_panel=PANEL)]


def reach(
    url: str | None,
    *,
    ask_password: bool,
    password_file: Path | None,
    option_file: Path | None,
    tls: Tls | None,
    tls_ca: Path | None,
) -> binarrow.Server:
    """Connects as the arguments say."""
    try:
        return binarrow.connect(
            url,
            password=_asked() if ask_password else None,
            password_file=password_file,
            option_file=option_file,
            tls=None if tls is None else tls.value,
            tls_ca=tls_ca,
        )
    except binarrow.AuthenticationError as error:
        if "using password: NO" in str(error):
            error.add_note(
                "no password was given: --password asks for it, --password-file, --option-file and"
                " MYSQL_PWD hold it"
            )
        raise


def _asked() -> str:
    if not sys.stdin.isatty():
        raise binarrow.ConfigError(
            "--password asks on the terminal, and standard input is none: use --password-file,"
            " --option-file or MYSQL_PWD"
        )
    try:
        return getpass.getpass("Password: ")
    except EOFError:
        raise binarrow.ConfigError("no password was given") from None
