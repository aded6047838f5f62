"""Readers of a server's log in Spark: batches and micro-batches of ranges, one task per range."""
