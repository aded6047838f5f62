"""Tasks write the Parquet files of a history, and the driver commits them."""
