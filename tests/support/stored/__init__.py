"""Targets of `binarrow sync` that an earlier version has written, with the log of their server."""
