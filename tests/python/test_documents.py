"""The examples of the README and the documentation run as they are; for those of Spark see tests/spark."""

from __future__ import annotations

import re

import pytest

import binarrow
from support.documents import PAGES, REPOSITORY, examples, needs_spark, run

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


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(REPOSITORY)) for page in PAGES])
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
