"""Why a table cannot be compared."""

from __future__ import annotations

from binarrow._native import BinarrowError


class InconclusiveError(BinarrowError):
    """Two copies of a table cannot be compared. The message says why."""


__all__ = ["InconclusiveError"]
