"""The expected results: rows that servers select, output of `mysqlbinlog`, and comparisons."""
