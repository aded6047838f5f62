"""Metrics for Prometheus: their text format, and a server from which they are read."""

from binarrow.metrics.exposition import Family, Histogram, Kind, exposition
from binarrow.metrics.server import serve

__all__ = ["Family", "Histogram", "Kind", "exposition", "serve"]
