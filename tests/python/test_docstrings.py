"""`help()` shows the documentation of everything that is public: the same text as in the stubs, with examples that run."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from pathlib import Path

import pytest

import binarrow
from binarrow import _native

STUBS = ast.parse(Path(binarrow.__file__).with_name("_native.pyi").read_text())
DEFINED = (ast.ClassDef, ast.FunctionDef)
PUBLIC = {
    name: value
    for name in binarrow.__all__
    if inspect.isclass(value := getattr(binarrow, name)) or callable(value)
}
NEED_NO_EXAMPLE = {
    *(
        name
        for name, value in PUBLIC.items()
        if inspect.isclass(value) and issubclass(value, Exception)
    ),
    "Change",  # a type
}


def stubs() -> dict[str, str | None]:
    """The docstrings of the stubs, by the names of functions and classes, and of members (`Position.file`)."""
    found: dict[str, str | None] = {}
    for node in STUBS.body:
        if isinstance(node, DEFINED) and not node.name.startswith("_"):
            found[node.name] = found.get(node.name) or ast.get_docstring(node)
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    found[f"{node.name}.{member.name}"] = ast.get_docstring(member)
    return found


@pytest.mark.parametrize("name", stubs())
def test_the_stubs_have_the_same_docstrings(name):
    owner, _, member = name.partition(".")
    described = getattr(_native, owner)
    if member:
        described = getattr(described, member)
    assert stubs()[name]
    assert inspect.getdoc(described) == stubs()[name]


def test_members_are_described():
    """Also those of classes that are written in Python."""
    assert [
        f"{name}.{member}"
        for name, value in PUBLIC.items()
        if inspect.isclass(value)
        for member, described in vars(value).items()
        if (callable(described) or isinstance(described, property))
        and not member.startswith("_")
        and not inspect.getdoc(described)
    ] == []


def test_fields_are_described():
    """`help()` does not show the text after a field, so the docstring of the class has it."""
    for name, value in PUBLIC.items():
        for field in getattr(value, "__match_args__", ()):
            assert re.search(rf"\n    {field}: ", inspect.getdoc(value) or ""), f"{name}.{field}"


def test_the_reference_contains_everything(repository):
    page = (repository / "docs" / "reference" / "python.md").read_text()
    assert {*re.findall(r"^::: binarrow\.(\w+)$", page, re.M)} == {*PUBLIC} - NEED_NO_EXAMPLE


@pytest.mark.parametrize("name", sorted({*PUBLIC} - NEED_NO_EXAMPLE))
def test_there_is_an_example(name):
    """Either of the class or function, or of one of its methods."""
    value = PUBLIC[name]
    members = vars(value).values() if inspect.isclass(value) else ()
    texts = [inspect.getdoc(value), *(inspect.getdoc(member) for member in members)]
    assert any(
        ">>> " in text or re.search(r":\n\n    \S|\.\n\n    \S", text) for text in texts if text
    )


@pytest.mark.parametrize(
    "name", [name for name, text in stubs().items() if text and ">>> " in text]
)
def test_examples(name, repository, monkeypatch, tmp_path):
    """In the folder of the sample log."""
    for file in (repository / "examples" / "shop").glob("binlog.*"):
        (tmp_path / file.name).symlink_to(file)
    for host in ("db1", "db2"):
        (tmp_path / "archive" / host).mkdir(parents=True)
        (tmp_path / "archive" / host / "binlog.000001").symlink_to(tmp_path / "binlog.000001")
    (tmp_path / "shop.sql").write_text("CREATE DATABASE shop; USE shop; CREATE TABLE new (a INT);")
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    names = {"binarrow": binarrow, "Path": Path}
    test = doctest.DocTestParser().get_doctest(stubs()[name], names, name, None, None)
    lines: list[str] = []
    doctest.DocTestRunner(optionflags=flags).run(test, out=lines.append)
    assert not lines, "".join(lines)
