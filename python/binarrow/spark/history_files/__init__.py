"""Direct files: tasks write the Parquet files of a history, and the driver commits them."""
