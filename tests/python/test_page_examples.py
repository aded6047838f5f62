"""The examples of the README and the documentation run as they are; for those of Spark see tests/spark."""

from __future__ import annotations

import re
import shlex
import tomllib

import pytest
import typer.main

import binarrow
from binarrow.cli import app
from support.documents import (
    NOT_RUN,
    PAGES,
    REPOSITORY,
    TESTED,
    blocks,
    examples,
    needs_spark,
    run,
)

PLAIN = [
    *(("python", code) for code in examples("python") if not needs_spark(code)),
    *(("sh", code) for code in examples("sh")),
]


def test_there_are_examples_of_each_kind():
    python = "".join(examples("python"))
    assert "read_binlog" in python
    assert "mapInArrow" in python
    assert examples("sh")
    assert len(PAGES) > 20


@pytest.mark.parametrize(("kind", "code"), PLAIN, ids=[kind for kind, _ in PLAIN])
def test_example(kind, code, tmp_path):
    assert run(kind, code, tmp_path)


each_page = pytest.mark.parametrize(
    "page", PAGES, ids=[str(page.relative_to(REPOSITORY)) for page in PAGES]
)


@each_page
def test_every_block_is_of_a_tested_kind(page):
    found = blocks(page)
    assert {one[:2] for one in found} <= {*TESTED, *NOT_RUN}
    text = page.read_text()
    fences = [line for line in text.splitlines() if line.lstrip().startswith(("```", "~~~"))]
    assert len(fences) == 2 * len(found), "a fence without a language, or inside a list"
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    assert not re.search(r"\n\s*\n(?: {4}|\t)\s*\S", outside), "a code block without a fence"


@pytest.mark.parametrize(
    ("section", "program"), [("Undo of a log", "undo"), ("Two cores", "cores")]
)
def test_a_bench_prints_the_columns_of_its_page(section, program):
    page = (REPOSITORY / "benches" / "README.md").read_text()
    columns = re.search(rf"^##+ {section}\n.*?^\| (.*?) \|$", page, re.M | re.S)[1].split(" | ")
    source = (REPOSITORY / "benches" / program).read_text()
    for name, value in {"{many}": "2 processes", "{CORES}": "2"}.items():
        source = source.replace(name, value)
    assert [one for one in columns if f"| {one} |" not in source] == []


def test_the_tables_of_tests_are_of_existing_blocks():
    kinds = {one[:2] for page in PAGES for one in blocks(page)}
    assert kinds == {*TESTED, *NOT_RUN}
    for (_, marker), files in TESTED.items():
        for file in files:
            test = (REPOSITORY / "tests" / file).read_text()
            assert f'"{marker}' in test if marker else "examples(" in test, (file, marker)


def test_commands_that_install():
    """Their extras and targets exist. They are parsed, not run."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    targets = re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text(), re.M)
    ci = (REPOSITORY / ".ci" / "run").read_text()
    for code in examples("sh", "install"):
        for line in code.splitlines():
            assert line.startswith(("pip install ", "make ", "python3 -m venv ")), line
        for extras in re.findall(r"\[([\w,]+)\]", code):
            assert {*extras.split(",")} <= {*project["optional-dependencies"]}
        assert {*re.findall(r"^make ([\w-]+)", code, re.M)} <= {*targets}
    for code in examples("sh", "clone"):
        for line in code.splitlines():
            assert shlex.join(shlex.split(line, comments=True)) in ci, line


def options_of(words: list[str]) -> set[str]:
    """The options of the command that `words` name."""
    command = typer.main.get_command(app)
    for word in words[1:]:
        found = getattr(command, "commands", {}).get(word)
        if found is None:
            break
        command = found
    assert not hasattr(command, "commands") or len(words) < 3, words
    known = {"--help", "--install-completion", "--show-completion"}
    return known.union(*(one.opts + one.secondary_opts for one in command.params))


@each_page
def test_commands_in_the_text(page):
    """Commands between words, such as `binarrow history check`, have the options that are named."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for code in re.findall(r"`(binarrow [^`]+)`", text):
        words = shlex.split(code)
        assert {word.partition("=")[0] for word in words if word[0] == "-"} <= options_of(words)


@each_page
def test_links_between_files(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if "://" not in target and not target.startswith("#"):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_all_statistics_are_described():
    page = (REPOSITORY / "docs" / "reference" / "statistics.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    described = set(re.findall(r"`(\w+)`", " ".join(rows)))
    with binarrow.read_binlog(REPOSITORY / "examples" / "shop" / "binlog.000001") as reader:
        keys = set(reader.stats())
    live = {"lag_seconds", "events", "bytes_received", "reconnects", "last_received"}
    assert described == keys | live


def test_messages_in_the_table_of_troubleshooting():
    table = (REPOSITORY / "docs" / "operations.md").read_text().split("| the message contains |")[1]
    folders = (("src", "*.rs"), ("python/binarrow", "*.py"))
    sources = "".join(
        path.read_text() for folder, names in folders for path in (REPOSITORY / folder).rglob(names)
    )
    found = re.findall(r"`([^`]+)`", " ".join(row.split("|")[1] for row in table.splitlines()[2:]))
    assert len(found) > 8
    assert [text for text in found if text not in sources] == []


def test_the_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= 150
