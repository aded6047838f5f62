"""Metrics for Prometheus: their text format. The module ``server`` serves it over HTTP."""

from binarrow.metrics.exposition import Family, Histogram, Kind, exposition

__all__ = ["Family", "Histogram", "Kind", "exposition"]
