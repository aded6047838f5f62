"""Strings and names in SQL statements."""


def quoted(text: str) -> str:
    """A string in SQL, whatever the SQL mode: in hexadecimal."""
    return f"_utf8mb4 X'{text.encode().hex()}'"


def quoted_name(name: str) -> str:
    """A name in SQL."""
    return "`" + name.replace("`", "``") + "`"
