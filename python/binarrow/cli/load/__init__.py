"""`binarrow load`: the certificates of initial loads. One module per command."""

from binarrow.cli.command import group
from binarrow.cli.load import check

EXAMPLES = """\
Examples:
  binarrow tail mysql://repl@db/ --password --start snapshot --certificate load.jsonl
  binarrow load check load.jsonl mysql://repl@db.example/ --password
  binarrow load check load.jsonl --log '/archive/binlog.*'"""

app = group("Certificates of initial loads.", EXAMPLES, {"check": check})

__all__ = ["EXAMPLES", "app"]
