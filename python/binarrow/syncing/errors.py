"""Errors of a sync."""

from __future__ import annotations

from binarrow._native import BinarrowError


class SyncError(BinarrowError):
    """A sync cannot start or continue. The target contains the rows up to its last commit."""


class TargetBusyError(SyncError):
    """Another process uses the target."""


class TargetDiffersError(SyncError):
    """A table of the target, or a column of it, does not exist."""


__all__ = ["SyncError", "TargetBusyError", "TargetDiffersError"]
