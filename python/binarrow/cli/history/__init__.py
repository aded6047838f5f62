"""`binarrow history`: the structures of tables over time. One module per command."""

from binarrow.cli.command import group
from binarrow.cli.history import baseline, check, diff, find, show

EXAMPLES = """\
Examples:
  binarrow history baseline shop.db mysql://repl@db.example/ --password
  binarrow tail mysql://repl@db.example/ --password --history shop.db
  binarrow history show shop.db
  binarrow history find shop.db shop.orders --at binlog.000017:4711 --sql
  binarrow history diff shop.db all --from 2026-11-01 --to 2026-11-21
  binarrow history check shop.db mysql://repl@db.example/ --password"""

app = group(
    "The structures of tables over time, for logs that do not name columns.",
    EXAMPLES,
    {"show": show, "find": find, "diff": diff, "baseline": baseline, "check": check},
)

__all__ = ["EXAMPLES", "app"]
