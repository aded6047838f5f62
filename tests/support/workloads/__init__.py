"""The written data: random values, tables, transactions, DDL; and the programs that write or read it."""
