"""Errors of a sync."""

from __future__ import annotations

from binarrow._native import BinarrowError


class SyncError(BinarrowError):
    """A sync cannot start or continue. The target contains the rows up to its last commit."""


class TargetBusyError(SyncError):
    """Another process uses the target."""


__all__ = ["SyncError", "TargetBusyError"]
