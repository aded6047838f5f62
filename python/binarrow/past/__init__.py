"""The rows that a table had at an earlier moment."""

from binarrow.past.rows_at import RowsAt, rows_at

__all__ = ["RowsAt", "rows_at"]
