"""The messages in the source code, and the options that they mark."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

MARK = re.compile(r"⟦([^⟦⟧]*)⟧")


def texts(root: Path) -> Iterator[tuple[Path, str]]:
    """All string literals of the Rust code without its tests."""
    for path in sorted((root / "src").rglob("*.rs")):
        if path.name.endswith("tests.rs"):
            continue
        code = path.read_text().partition("#[cfg(test)]\nmod tests {")[0]
        code = re.sub(r"#\[pyo3\(.*?\)\]", "", code, flags=re.DOTALL)
        code = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("//"))
        for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', code, re.DOTALL):
            yield path.relative_to(root), literal


def python_texts(root: Path) -> Iterator[tuple[Path, str]]:
    """All string literals of the Python package, without docstrings and the table of options."""
    package = root / "python/binarrow"
    for path in sorted(package.rglob("*.py")):
        if path.is_relative_to(package / "options") or path.name == "advice.py":
            continue
        tree = ast.parse(path.read_text())
        # A docstring, also that of a constant, is a statement of its own.
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in docs:
                yield path.relative_to(root), node.value


def is_of_spark(path: Path) -> bool:
    """True for the files of `binarrow.spark`."""
    return path.is_relative_to("python/binarrow/spark")


def advised(root: Path, *, spark: bool = False) -> set[tuple[str, str | None]]:
    """All options that messages mark, with their values: those of Spark alone, or all others."""
    found = set()
    for path, literal in [*texts(root), *python_texts(root)]:
        if is_of_spark(path) != spark:
            continue
        for mark in MARK.findall(literal):
            name, equals, value = mark.partition("=")
            found.add((name, value if equals else None))
    return found
