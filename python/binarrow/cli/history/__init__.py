"""`binarrow history`: the structures of tables over time. One module per command."""

import typer

from binarrow.cli.command import SETTINGS, Command, Group, ending, show_help_without_command
from binarrow.cli.failure import exit_codes
from binarrow.cli.history import baseline, check, diff, find, show

EXAMPLES = """\
Examples:
  binarrow history baseline shop.db mysql://repl@db.example/ --password
  binarrow tail mysql://repl@db.example/ --password --history shop.db
  binarrow history show shop.db
  binarrow history find shop.db shop.orders --at binlog.000017:4711 --sql
  binarrow history diff shop.db all --from 2026-11-01 --to 2026-11-21
  binarrow history check shop.db mysql://repl@db.example/ --password"""

app = typer.Typer(
    help="The structures of tables over time, for logs that do not name columns.",
    cls=Group,
    callback=show_help_without_command,
    epilog=ending(EXAMPLES, exit_codes()),
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings=SETTINGS,
)

for name, module in {
    "show": show,
    "find": find,
    "diff": diff,
    "baseline": baseline,
    "check": check,
}.items():
    codes = exit_codes(getattr(module, "EXIT_CODES", None))
    app.command(name, cls=Command, epilog=ending(module.EXAMPLES, codes))(module.command)

__all__ = ["EXAMPLES", "app"]
