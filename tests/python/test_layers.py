"""Modules of the Python package import only modules of lower layers, and never in a circle."""

from __future__ import annotations

import ast
from pathlib import Path

import binarrow

PACKAGE = Path(binarrow.__file__).parent

LAYERS = (
    ("_native",),
    ("advice",),
    (
        "options",
        "password",
        "mask_salt",
        "byte_size",
        "atomic_file",
        "sql",
        "stored_forms",
        "remote_files",
        "notebook",
        "background",
        "supported",
        "metrics",
    ),
    ("typed_keywords", "checkpoint", "index"),
    ("stream",),
    ("server",),
    ("history",),
    ("past", "syncing", "undo"),
    ("verifying",),
    ("native_hooks",),
    ("",),  # the package itself
    ("cli", "spark"),
    ("__main__",),
)
"""Modules and folders of the package, the lowest layer first. Those of one layer are independent."""


def modules():
    """The files of the package by the dotted names of their modules, without `binarrow`."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = file
    return found


def imports(code, known):
    """The modules of the package that code imports; also for types only, and in functions."""
    names = {f"binarrow.{name}".rstrip("."): name for name in (*known, "_native")}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                for name in (f"{node.module}.{alias.name}", node.module):
                    if name in names:
                        yield names[name]
                        break
        elif isinstance(node, ast.Import):
            yield from (names[alias.name] for alias in node.names if alias.name in names)


def graph():
    known = modules()
    # A function that Spark sends to its workers may import its own module there.
    return {name: set(imports(file.read_text(), known)) - {name} for name, file in known.items()}


def layer(module):
    head = module.partition(".")[0]
    return next(number for number, names in enumerate(LAYERS) if head in names)


def circles(edges):
    """The modules that import themselves through others: each is reachable from itself."""

    def reachable(module):
        seen, todo = set(), [module]
        while todo:
            for target in edges.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    return {module for module in edges if module in reachable(module)}


def test_modules_import_lower_layers():
    wrong = [
        f"{module or 'binarrow'} imports {target or 'binarrow'}"
        for module, targets in graph().items()
        for target in targets
        if module.partition(".")[0] != target.partition(".")[0] and layer(target) >= layer(module)
    ]
    assert wrong == []


def test_no_module_imports_itself_through_others():
    assert circles(graph()) == set()


def test_imports_and_circles_are_found():
    known = ["", "a", "a.b", "c"]
    code = "from binarrow.a import b\nfrom binarrow.c import x\ndef f():\n  from binarrow import y"
    assert set(imports(code, known)) == {"a.b", "c", ""}
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == {"b", "c"}
    assert len(modules()) > 90
    assert "spark.schema" in graph()["spark.decoder"]
