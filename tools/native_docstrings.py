"""Writes the docstrings of the stubs into the Rust code, so that `help()` shows them.

A docstring of one line becomes a `///` comment of the class, method, property or function. A longer
one is a file in `src/python/docs`, which the Rust code includes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

DOCS = "src/python/docs"

PYTHON_NAME = re.compile(r'(?:name = "|getter\()(\w+)')
"""The name in Python, in the attributes of an item that has another one in Rust."""

ITEM = re.compile(
    r"(?P<indent> *)(?:pub(?:\([^)]*\))? )?(?P<kind>struct|impl|fn)? ?(?:r#)?(?P<name>\w+)"
)


def functions_of(stubs: str) -> dict[str, ast.FunctionDef]:
    """Returns the functions of the stubs, with their first definition."""
    found: dict[str, ast.FunctionDef] = {}
    for node in ast.parse(stubs).body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, node)
    return found


def docstrings(stubs: str) -> dict[str, str]:
    """Returns the docstrings of functions, classes (`Position`) and members (`Position.file`)."""
    found = {}
    for node in [*functions_of(stubs).values(), *ast.parse(stubs).body]:
        match node:
            case ast.FunctionDef(name=name):
                found.setdefault(name, ast.get_docstring(node) or "")
            case ast.ClassDef(name=name, body=body):
                found[name] = ast.get_docstring(node) or ""
                for member in body:
                    if isinstance(member, ast.FunctionDef):
                        found[f"{name}.{member.name}"] = ast.get_docstring(member) or ""
    return {name: text for name, text in found.items() if text}


def text_signature(stubs: str, function: str) -> str:
    """Returns the signature as `inspect` reads it from the head of a native docstring."""
    arguments = functions_of(stubs)[function].args
    for argument in [*arguments.args, *arguments.kwonlyargs]:
        argument.annotation = None
    return f"({ast.unparse(arguments)})"


def written(root: Path, stubs: str, with_signature: Iterable[str]) -> dict[str, str]:
    """Returns the files with docstrings, by name: those in `DOCS`, and the Rust code.

    `with_signature` are the functions whose signature PyO3 does not know.
    """
    texts = docstrings(stubs)
    for name in with_signature:
        texts[name] = f"{name}{text_signature(stubs, name)}\n--\n\n{texts[name]}"
    folder = root / "src/python"
    files = {}
    for path in sorted(folder.rglob("*.rs")):
        above = "../" * (len(path.relative_to(folder).parts) - 1)
        code = path.read_text()
        lines = []
        for name, head, item in items(code.splitlines()):
            file = f"{above}docs/{name}.txt"
            lines += documented(head, texts[name], file) if name in texts else head
            lines.append(item)
        files[path.relative_to(root).as_posix()] = text = "\n".join(lines) + "\n"
        included = re.findall(r"docs/([\w.]+)\.txt", text)
        files |= {f"{DOCS}/{name}.txt": f"{texts[name]}\n" for name in included}
    return files


def is_long(text: str) -> bool:
    """True if a docstring has more than one line."""
    return "\n" in text


def documented(head: Iterable[str], text: str, file: str) -> Iterator[str]:
    """Returns the attributes of an item after its docstring."""
    others = [line for line in head if not line.lstrip().startswith(("///", "#[doc"))]
    indent = " " * (len(others[0]) - len(others[0].lstrip())) if others else "    "
    yield f'{indent}#[doc = include_str!("{file}")]' if is_long(text) else f"{indent}/// {text}"
    yield from others


def items(lines: Iterable[str]) -> Iterator[tuple[str, list[str], str]]:
    """Returns each line of code: its name in Python, the attributes before it, the line itself.

    The name is empty if the line defines nothing that Python sees.
    """
    classes: dict[str, str] = {}  # the names in Python
    block = Block()
    head: list[str] = []
    for line in lines:
        attributes = "\n".join(head)
        if line.lstrip().startswith(("///", "#[")) or attributes.count("[") > attributes.count("]"):
            head.append(line)
            continue
        name = ""
        if found := ITEM.match(line):
            given = PYTHON_NAME.search(attributes)
            own = given[1] if given else found["name"]
            match found["kind"], found["indent"]:
                case "struct", "":
                    name = own if "#[pyclass" in attributes else ""
                    classes[found["name"]] = name
                    block = Block(name, has_fields=True, is_public="get_all" in attributes)
                case "impl", "":
                    block = Block(classes.get(found["name"], ""))
                    block.has_methods = "#[pymethods]" in attributes
                case "fn", "":
                    name = own if "#[pyfunction" in attributes else ""
                case kind, "    " if block.contains(kind, attributes):
                    name = f"{block.owner}.{own}"
        yield name, head, line
        head = []


@dataclass
class Block:
    """A struct or an `impl` in Rust."""

    owner: str = ""
    """The name of its class in Python; empty if there is none."""
    has_methods: bool = False
    has_fields: bool = False
    is_public: bool = False
    """True if Python sees all fields."""

    def contains(self, kind: str | None, attributes: str) -> bool:
        """True if Python sees an item: a function, or a field, which has no kind."""
        if kind == "fn":
            return self.has_methods
        is_field = kind is None and self.has_fields and bool(self.owner)
        return is_field and (self.is_public or "#[pyo3(get" in attributes)


def unused(root: Path, files: Mapping[str, str]) -> list[str]:
    """Returns the files in `DOCS` that no longer belong to a docstring."""
    there = {path.relative_to(root).as_posix() for path in (root / DOCS).iterdir()}
    return sorted(there - files.keys())
