"""SQL that reverses changes in the log, or repeats them.

`log` reads the log and passes batches to Rust; `script` is the SQL. Rows that unlogged actions of
foreign keys changed are restored from their earlier images: `cascades` follows the log up to the
actions, `known_rows` keeps the latest image of each row, `key_values` compares keys as servers do,
and `effects` adds the changes to the script.
"""

from binarrow.undo.script import UndoCounts, UndoScript, undo

__all__ = ["UndoCounts", "UndoScript", "undo"]
