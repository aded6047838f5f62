"""A server's log in Spark: micro-batches and batches of ranges, each of which a task reads."""
