"""The classes of exceptions are the same in the extension module, the stubs and the package."""

import ast
import builtins
import inspect
from pathlib import Path

import binarrow
from binarrow import _native

STUBS = Path(binarrow.__file__).with_name("_native.pyi")


def exceptions() -> dict[str, type[BaseException]]:
    members = inspect.getmembers(_native, inspect.isclass)
    return {name: value for name, value in members if issubclass(value, BaseException)}


def test_the_stubs_have_the_same_bases_and_docstrings():
    stubs = {
        node.name: node
        for node in ast.parse(STUBS.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    for name, raised in exceptions().items():
        bases = [ast.unparse(base) for base in stubs[name].bases]
        assert bases == [base.__name__ for base in raised.__bases__], name
        assert ast.get_docstring(stubs[name]) == inspect.getdoc(raised), name
    declared = {
        name
        for name, node in stubs.items()
        if any(ast.unparse(base) in {*exceptions(), *dir(builtins)} for base in node.bases)
    }
    assert declared == set(exceptions())


def test_the_package_exports_all_of_them():
    for name, raised in exceptions().items():
        assert getattr(binarrow, name) is raised
        assert name in binarrow.__all__
        assert raised.__module__ == "binarrow"
