"""Completes the reference pages of the site: replaces `{{ name }}` by text from the package.

mkdocs calls it as a hook. The text comes from the table of options, the commands and the
exceptions, so that the pages cannot differ from the code.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer.main

import binarrow
from binarrow.cli.app import app
from binarrow.options import keywords_of, spark_options
from binarrow.spark.documentation import default_of, is_of, meaning_of
from binarrow.supported import TESTED

MARK = re.compile(r"^\{\{ (\S+)(?: (\S+))? \}\}$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replaces the marks of a page. An unknown mark is an error."""
    return MARK.sub(lambda found: WRITERS[found[1]](*filter(None, (found[2],))), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Removes what Markdown does not know (roles, `::`); keeps each `--option` on one line."""
    html = re.sub(r":(?:class|func|meth|mod|attr|exc):(<code>)~?", r"\1", html)
    html = re.sub(r"<code>(?=-[\w-]+</code>)", '<code style="white-space: nowrap">', html)
    return html.replace("::</p>", ":</p>")


def on_post_build(config: Any, **_: Any) -> None:
    """Writes the index of the search as a script too, for a site that is opened from a file."""
    folder = Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text()
    (folder / "search_index.js").write_text(f"var __index = {index}")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Returns a table in Markdown."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def keywords(function: str) -> str:
    """The keywords of a function: name, values, default, meaning."""
    return table(
        ("keyword", "values", "default", "meaning"),
        (
            (f"`{one.name}`", f"`{one.annotation}`", f"`{one.default!r}`", markdown_of(one.doc))
            for one in keywords_of(function)
        ),
    )


def spark(queries: str) -> str:
    """The options of the data source, for all queries (`general`) or those of servers."""
    general = ("both", "files")
    return table(
        ("option", "default", "meaning"),
        (
            (f"`{name}`", f"`{default_of(one)}`", markdown_of(meaning_of(one)))
            for name, one in spark_options().items()
            if is_of(one, *general) == (queries == "general")
        ),
    )


def envelope() -> str:
    """The option `envelope`."""
    [option] = [one for one in keywords_of("read_binlog") if one.name == "envelope"]
    return markdown_of(option.doc)


def versions() -> str:
    """The versions of servers and of Spark that the tests run on."""
    return table(("product", "versions"), ((one.name, str(one)) for one in TESTED))


def command_line() -> str:
    """The help of all commands."""
    group: Any = typer.main.get_command(app)
    return "\n\n".join(
        f"## `binarrow {name}`\n\n```text\n{help_of(name)}\n```" for name in commands("", group)
    )


def exceptions() -> str:
    """All exceptions and warnings with their base classes."""
    found = [
        one
        for _, one in inspect.getmembers(binarrow, inspect.isclass)
        if issubclass(one, Exception) and one.__module__.startswith("binarrow")
    ]
    return table(
        ("exception", "is also a", "meaning"),
        (
            (
                f"`{one.__name__}`",
                ", ".join(f"`{base.__name__}`" for base in one.__bases__),
                markdown_of(inspect.getdoc(one) or "").partition(" Attributes:")[0],
            )
            for one in sorted(found, key=lambda one: (issubclass(one, Warning), one.__name__))
        ),
    )


def markdown_of(text: str) -> str:
    """A docstring as one line of Markdown."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    text = re.sub(r"``(.*?)``", r"`\1`", text)
    return " ".join(text.split())


def commands(prefix: str, group: Any) -> Iterable[str]:
    """The names of all commands of a group."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(f"{prefix}{name} ", command)
        else:
            yield f"{prefix}{name}"


def help_of(name: str) -> str:
    """The output of `--help`, without colors and frames. The examples keep their lines."""
    plain = os.environ | {"NO_COLOR": "1", "COLUMNS": "90"}
    ran = subprocess.run(
        [sys.executable, "-c", "from binarrow.cli import main; main()", *name.split(), "--help"],
        env=plain,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip().replace("Usage: -c ", "Usage: binarrow ")


WRITERS: dict[str, Callable[..., str]] = {
    "keywords": keywords,
    "spark": spark,
    "envelope": envelope,
    "command_line": command_line,
    "versions": versions,
    "exceptions": exceptions,
}
