"""Histories of the structures of tables."""

from binarrow.history.change import CoveredRange, HistoryChange
from binarrow.history.schema_history import SchemaHistory

__all__ = ["CoveredRange", "HistoryChange", "SchemaHistory"]
