"""Strings and names in SQL statements."""


def quoted(text: str) -> str:
    """Returns a string literal for MySQL and MariaDB: in hexadecimal, for all SQL modes."""
    return f"_utf8mb4 X'{text.encode().hex()}'"


def quoted_name(name: str) -> str:
    """Returns a name in backticks, for MySQL, MariaDB and Spark."""
    return f"`{name.replace('`', '``')}`"
