"""What is written: random values, tables, transactions, DDL; and the programs that write or read it."""
