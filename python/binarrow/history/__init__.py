"""Histories of the structures of tables."""

from binarrow.history.change import CoveredRange, HistoryChange
from binarrow.history.schema_history import SchemaHistory
from binarrow.history.table_schema import TableColumn, TableIndex, TableSchema

__all__ = [
    "CoveredRange",
    "HistoryChange",
    "SchemaHistory",
    "TableColumn",
    "TableIndex",
    "TableSchema",
]
