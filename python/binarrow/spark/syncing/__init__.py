"""`sync`: one streaming query that writes several tables into Delta or Iceberg tables."""
