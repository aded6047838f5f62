"""What must come out: what servers select, what `mysqlbinlog` prints, and how to compare with it."""
