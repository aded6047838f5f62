"""The rows that a table had at another moment."""

from binarrow.past.roll_forward import roll_forward
from binarrow.past.rows_at import RowsAt, rows_at

__all__ = ["RowsAt", "roll_forward", "rows_at"]
