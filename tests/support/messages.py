"""The messages in the source code, and the options that they mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

MARK = re.compile(r"⟦([^⟦⟧]*)⟧")


def texts(root: Path) -> Iterator[tuple[Path, str]]:
    """All string literals of the Rust code without its tests, and of the Python package."""
    for path in sorted((root / "src").rglob("*.rs")):
        if path.name.endswith("tests.rs"):
            continue
        code = path.read_text().partition("#[cfg(test)]\nmod tests {")[0]
        code = re.sub(r"#\[pyo3\(.*?\)\]", "", code, flags=re.DOTALL)
        code = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("//"))
        for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', code, re.DOTALL):
            yield path.relative_to(root), literal


def advised(root: Path) -> set[tuple[str, str | None]]:
    """All options that messages mark, with their values."""
    literals = [text for _, text in texts(root)]
    modules = sorted((root / "python").rglob("*.py"))
    literals += [path.read_text() for path in modules if path.name != "advice.py"]
    found = set()
    for literal in literals:
        for mark in MARK.findall(literal):
            name, equals, value = mark.partition("=")
            found.add((name, value if equals else None))
    return found
