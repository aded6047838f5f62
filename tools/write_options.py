"""Generates text from the table of options (python/binarrow/options), and writes it to files.

    tools/write_options.py          writes the files
    tools/write_options.py --check  prints the files that differ, and fails

The files: the struct of keywords in Rust, the stubs of functions with keywords, the types of
keywords, the entries of `Args:` in docstrings, and the run-time docstrings of the extension module,
which are those of the stubs.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import native_docstrings

ROOT = Path(__file__).parents[1]
STUBS = "python/binarrow/_native.pyi"
CONNECT = "python/binarrow/server/connection.py"
SERVER = "python/binarrow/server/server.py"
TYPED = "python/binarrow/typed_keywords.py"
RUST = "src/python/read_keywords.rs"
WIDTH = 100

RUST_WORDS = ("where",)
"""Keywords that are reserved words in Rust."""

WITH_KEYWORDS = ("read_binlog", "infer_schema", "nested_json_schema")
"""The functions of the extension module with `**keywords` in Rust."""

READ_KEYWORDS = (*WITH_KEYWORDS, "read_split", "read_table")
"""All functions of the extension module whose keywords are in the table."""


def table() -> ModuleType:
    """Imports the table without the package, whose extension module may not be built yet."""
    package = ModuleType("binarrow")
    package.__path__ = [str(ROOT / "python/binarrow")]
    sys.modules.setdefault("binarrow", package)
    return importlib.import_module("binarrow.options")


def written(options: ModuleType) -> dict[str, str]:
    """Returns the generated files, by name."""
    stubs = (ROOT / STUBS).read_text()
    for function in WITH_KEYWORDS:
        keywords = options.keywords_of(function)
        stubs = with_signatures(stubs, function, keywords)
        stubs = with_arguments(stubs, function, keywords, is_short=function != "read_binlog")
    stubs = with_arguments(stubs, "TypeOptions", options.keywords_of("TypeOptions"))
    connect = (ROOT / CONNECT).read_text()
    connect = with_arguments(connect, "connect", options.keywords_of("connect"))
    server = (ROOT / SERVER).read_text()
    of_stream = [each for each in options.keywords_of("stream") if "range" not in each.functions]
    server = with_arguments(server, "stream", of_stream)
    files = {
        RUST: formatted_rust(rust(options)),
        STUBS: stubs,
        CONNECT: connect,
        SERVER: server,
        TYPED: typed_keywords(options),
    }
    return native_docstrings.written(ROOT, stubs, WITH_KEYWORDS) | files


# --------------------------------------------------------------------------------------- Rust


def rust(options: ModuleType) -> str:
    """Returns the struct of all keywords, its parser, and the keywords of each function."""
    fields, reads, types = [], [], set()
    for option in options.keywords_of("read_binlog"):
        kind = option.kind
        field = f"r#{option.name}" if option.name in RUST_WORDS else option.name
        fields.append(f"pub(super) {field}: {rust_type(option)},")
        default = rust_literal(option.default)
        words = ", ".join(f'"{word}"' for word in kind.words)
        match kind.words, option.default:
            case (), _:
                read = f'given.get("{option.name}", {default})?'
            case _, None:
                read = f'given.optional_word("{option.name}", &[{words}])?'
            case _:
                read = f'given.word("{option.name}", &[{words}], {default})?'
        reads.append(f"{field}: {read},")
        if "::" in kind.rust:
            types.add(kind.rust)
    modules: dict[str, list[str]] = {}
    for path in sorted(types):
        module, name = path.split("::")
        modules.setdefault(module, []).append(name)
    uses = [f"use super::{module}::{{{', '.join(names)}}};" for module, names in modules.items()]
    keywords = [
        f'("{option.name}", &[{", ".join(f"{chr(34)}{each}{chr(34)}" for each in users)}]),'
        for option in options.keywords_of("read_binlog")
        if (users := [each for each in READ_KEYWORDS if each in option.functions])
    ]
    return f"""
//! The keywords of `read_binlog`, and the functions that accept each of them.
//!
//! Written by `make options` from the table in `python/binarrow/options`: edit the table.

{chr(10).join(uses)}
use super::given::Given;
use pyo3::PyResult;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The keywords, and the functions that accept them.
const KEYWORDS: &[(&str, &[&str])] = &[
    {chr(10).join(keywords)}
];

/// The keywords of a read.
pub(super) struct ReadKeywords {{
    {chr(10).join(fields)}
}}

impl ReadKeywords {{
    /// The keywords of a call of this function, and the defaults of the others.
    ///
    /// # Errors
    ///
    /// A keyword is unknown (a `TypeError`), or has a value of another kind.
    pub(super) fn of_call(
        function: &str,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {{
        let accepted = KEYWORDS.iter().filter(|(_, functions)| functions.contains(&function));
        let accepted: Vec<_> = accepted.map(|(name, _)| *name).collect();
        let given = Given::try_new(function, &accepted, keywords)?;
        Ok(Self {{
            {chr(10).join(reads)}
        }})
    }}
}}
"""


def rust_type(option: Any) -> str:
    """Returns the type of a field."""
    name = option.kind.rust.rpartition("::")[2]
    return f"Option<{name}>" if option.default is None else name


def rust_literal(value: object) -> str:
    """Returns a default in Rust."""
    match value:
        case None:
            return "None"
        case bool():
            return str(value).lower()
        case str() if value == "_":
            return '"_".to_owned()'
        case _:
            return json.dumps(value)


def formatted_rust(code: str) -> str:
    """Formats code like `cargo fmt`."""
    command = ["rustfmt", "--edition=2024", f"--config-path={ROOT}", "--emit=stdout"]
    return subprocess.run(
        command, input=code, capture_output=True, text=True, check=True
    ).stdout.lstrip()


# ------------------------------------------------------------------------------------- Python


def keyword(option: Any, *, overload: int = 0) -> str:
    """Returns a parameter of a stub. The second of two overloads is the one with items."""
    if option.name == "include" and overload == 0:
        return "    include: None = None,\n"
    if option.name == "include":
        return f"    include: {option.annotation},\n"
    return f"    {option.name}: {option.annotation} = {python_literal(option.default)},\n"


def python_literal(value: object) -> str:
    """Returns a default as the formatter writes it."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def with_signatures(code: str, function: str, keywords: Iterable[Any]) -> str:
    """Returns the code with these keywords after the `*` of each `def` of a function."""
    pieces = re.split(
        rf"(?<=^def {function}\()(.*?)^(?=\) -> )", code, flags=re.MULTILINE | re.DOTALL
    )
    for overload, index in enumerate(range(1, len(pieces), 2)):
        positional = pieces[index].partition("    *,\n")[0]
        own = "".join(keyword(option, overload=overload) for option in keywords)
        pieces[index] = f"{positional}    *,\n{own}"
    return "".join(pieces)


def with_arguments(
    code: str, function: str, keywords: Iterable[Any], *, is_short: bool = False
) -> str:
    """Returns the code with these entries in `Args:` of a docstring; other entries are kept."""
    lines = code.splitlines(keepends=True)
    described = next(
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.name == function
        and ast.get_docstring(node)
    )
    start = next(
        at for at in range(described.body[0].lineno, len(lines)) if lines[at].strip() == "Args:"
    )
    indent = depth(lines[start])
    end = next(
        at
        for at in range(start + 1, len(lines))
        if lines[at].strip() and depth(lines[at]) <= indent
    )
    entries: dict[str, str] = {}
    for line in lines[start + 1 : end]:
        if depth(line) == indent + 4 and line.strip():
            entries[name := line.split(":")[0].strip()] = line
        elif line.strip():
            entries[name] += line
    own = {
        option.name: argument(option, " " * (indent + 4), is_short=is_short) for option in keywords
    }
    if isinstance(described, ast.FunctionDef):
        order = [each.arg for each in (*described.args.args, *described.args.kwonlyargs)]
        own = {name: own[name] for name in sorted(own, key=order.index)}
    kept = {name: text for name, text in entries.items() if name not in own}
    if "keywords" in kept:
        own["keywords"] = kept.pop("keywords")
    text = "".join([*kept.values(), *own.values()])
    blank = "" if lines[end].strip() == '"""' else "\n"
    return "".join(lines[: start + 1]) + text + blank + "".join(lines[end:])


def depth(line: str) -> int:
    """Returns the number of spaces at the start of a line."""
    return len(line) - len(line.lstrip(" "))


def argument(option: Any, indent: str, *, is_short: bool) -> str:
    """Returns an entry of `Args:`."""
    text = option.summary if is_short else inspect.cleandoc(option.doc)
    lines = wrapped(f"{option.name}: {text}", indent)
    return "\n".join(lines) + "\n"


def wrapped(text: str, indent: str) -> list[str]:
    """Wraps paragraphs of a docstring: the first line at `indent`, others deeper; code is kept."""
    lines: list[str] = []
    for number, paragraph in enumerate(text.split("\n\n")):
        deeper = indent + 4 * " "
        if number:
            lines.append("")
        if paragraph.startswith("    "):
            lines += [f"{deeper}{line}" for line in paragraph.splitlines()]
            continue
        lines += textwrap.wrap(
            " ".join(paragraph.split()),
            WIDTH,
            initial_indent=deeper if number else indent,
            subsequent_indent=deeper,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def typed_keywords(options: ModuleType) -> str:
    """Returns the module with the types of keywords that functions pass to others."""
    reading = options.keywords_of("read_binlog")
    shaping = [option for option in reading if "range" in option.functions]
    others = [option.name for option in reading if "range" not in option.functions]
    tasks = options.keywords_of("decoder")
    login = options.keywords_of("login")
    return f'''"""The types of keywords that functions pass to others.

Written by ``make options`` from the table in ``binarrow.options``: edit the table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from binarrow._native import History, Schemas, TypeOptions
    from binarrow.password import Password


class ShapingKeywords(TypedDict, total=False):
    """The keywords that select rows and set their form; see :func:`binarrow.read_binlog`."""

{members(shaping)}

NOT_SHAPING = frozenset(
    {{
{"".join(f'        "{name}",{chr(10)}' for name in ["source", *others])}    }}
)
"""The other parameters of :func:`binarrow.read_binlog`: for files, or for the stream itself."""


class TaskKeywords(TypedDict, total=False):
    """Keywords of :func:`binarrow.read_binlog` that have a meaning inside a Spark task."""

{members(tasks, in_tasks=True)}

class SchemaKeywords(TypedDict, total=False):
    """Keywords of :func:`binarrow.spark.schema`, which are those of :func:`infer_schema`."""

{members(options.keywords_of("infer_schema"))}

class TableKeywords(TypedDict, total=False):
    """Keywords of :meth:`binarrow.Server.read_table` for the form of the rows."""

{members([option for option in options.keywords_of("read_table") if option.name != "columns"])}

class LoginKeywords(TypedDict, total=False):
    """Keywords of :func:`binarrow.connect` besides the URL, and of its streams."""

{members(login)}

__all__ = [
    "NOT_SHAPING",
    "LoginKeywords",
    "SchemaKeywords",
    "ShapingKeywords",
    "TableKeywords",
    "TaskKeywords",
]
'''


def members(options: Iterable[Any], *, in_tasks: bool = False) -> str:
    """Returns the body of a class."""
    types = {option.name: (in_tasks and option.in_tasks) or option.annotation for option in options}
    return "".join(f"    {name}: {annotation}\n" for name, annotation in types.items())


def main() -> int:
    """Writes the files, or compares them."""
    files = written(table())
    stale = [name for name, text in files.items() if not is_current(ROOT / name, text)]
    unused = native_docstrings.unused(ROOT, files)
    if "--check" in sys.argv[1:]:
        for name in stale + unused:
            print(f"{name} does not agree with the options or the stubs: run `make options`")
        return bool(stale + unused)
    for name in unused:
        (ROOT / name).unlink()
        print(f"removed {name}")
    for name in stale:
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(files[name])
        print(f"wrote {name}")
    return 0


def is_current(path: Path, text: str) -> bool:
    """True if the file has this text."""
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
