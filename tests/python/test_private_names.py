"""The Python package uses only what its extension module and its classes offer."""

from __future__ import annotations

import ast
from pathlib import Path

import binarrow

PACKAGE = Path(binarrow.__file__).parent


def private_names(tree):
    """Private attributes that calls of `getattr` and `hasattr` name, other than those of `self`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr" | "setattr"),
                args=[owner, ast.Constant(value=str(name)), *_],
            ) if name.startswith("_") and not name.startswith("__"):
                if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                    yield name


def test_no_private_attribute_is_read_by_its_name():
    # Other ways to read one are found by ruff (SLF001).
    found = {
        str(file.relative_to(PACKAGE)): names
        for file in PACKAGE.rglob("*.py")
        if (names := list(private_names(ast.parse(file.read_text()))))
    }
    assert found == {}
    assert list(private_names(ast.parse("getattr(server, '_spec', None)"))) == ["_spec"]
