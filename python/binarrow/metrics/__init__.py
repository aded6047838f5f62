"""Metrics for Prometheus: their text format. ``server`` shows it to other programs."""

from binarrow.metrics.exposition import Family, Histogram, Kind, exposition

__all__ = ["Family", "Histogram", "Kind", "exposition"]
