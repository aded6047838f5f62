"""`binarrow load`: the certificates of initial loads. One module per command."""

import typer

from binarrow.cli.command import SETTINGS, Command, Group, ending, show_help_without_command
from binarrow.cli.failure import exit_codes
from binarrow.cli.load import check

EXAMPLES = """\
Examples:
  binarrow tail mysql://repl@db/ --password --start snapshot --certificate load.jsonl
  binarrow load check load.jsonl mysql://repl@db.example/ --password
  binarrow load check load.jsonl --log '/archive/binlog.*'"""

app = typer.Typer(
    help="Certificates of initial loads.",
    cls=Group,
    callback=show_help_without_command,
    epilog=ending(EXAMPLES, exit_codes()),
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings=SETTINGS,
)

codes = exit_codes(check.EXIT_CODES)
app.command("check", cls=Command, epilog=ending(check.EXAMPLES, codes))(check.command)

__all__ = ["EXAMPLES", "app"]
