"""The examples in the README and in the documentation, and how to run one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[2]
PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md")))

# "```python live" in the README, "``` { .python .live }" in the site.
FENCE = re.compile(r"^```(?:(\w+)(?: (\w+))?| { \.(\w+) \.(\w+) })\n(.*?)^```$", re.M | re.S)

TESTED = {
    ("python", ""): ("python/test_page_examples.py", "spark/test_spark_examples.py"),
    ("python", "at"): ("forensics/test_at.py",),
    ("python", "again"): ("live/test_server_examples.py",),
    ("python", "duckdb"): ("live/test_server_examples.py",),
    ("python", "lake"): ("lakes/test_spark_sync_examples.py",),
    ("python", "listener"): ("spark_live/test_spark_metrics.py",),
    ("python", "live"): ("live/test_server_examples.py",),
    ("python", "mirror"): ("spark_live/test_newcomer.py",),
    ("python", "ranges"): ("spark_live/test_newcomer.py",),
    ("python", "rows"): ("live/test_server_examples.py",),
    ("python", "snapshot"): ("spark_live/test_newcomer.py",),
    ("python", "sync"): ("sync/test_sync_examples.py",),
    ("python", "verify"): ("sync/test_verify_command.py",),
    ("python", "spark"): ("spark_live/test_newcomer.py",),
    ("sh", ""): ("python/test_page_examples.py",),
    ("sh", "at"): ("forensics/test_at.py",),
    ("sh", "catalog"): ("sync/test_sync_catalog.py",),
    ("sh", "check"): ("live/test_server_examples.py",),
    ("sh", "dump"): ("live/test_server_examples.py",),
    ("sh", "live"): ("live/test_server_examples.py",),
    ("sh", "store"): ("sync/test_sync_s3.py",),
    ("sh", "sync"): ("sync/test_sync_examples.py",),
    ("sh", "verify"): ("sync/test_verify_command.py",),
    ("sh", "password"): ("live/test_server_examples.py", "spark_live/test_newcomer.py"),
    ("ini", "mariadb"): ("live/test_server_examples.py",),
    ("sql", "grant"): ("spark_live/test_newcomer.py",),
    ("sql", "mariadb"): ("live/test_server_examples.py",),
    ("sql", "mysql"): ("live/test_server_examples.py", "spark_live/test_newcomer.py"),
    ("sql", "sync"): ("sync/test_sync_examples.py",),
    ("sql", "shop"): ("live/test_server_examples.py", "spark_live/test_newcomer.py"),
}
"""The tests that run the blocks of each language and marker. A block of another kind is an error."""

NOT_RUN = {
    ("text", ""): "a picture, or output that depends on a server",
    ("yaml", ""): "settings of a server that tests do not have; they set variables instead",
    ("sh", "clone"): "CI runs exactly these commands, each in one step",
    (
        "sh",
        "install",
    ): "the package is not on PyPI yet, and a release build takes minutes; its words are tested",
}
"""The blocks that no test runs, with the reason."""


class Block(NamedTuple):
    """A fenced block of a page: `marker` selects the test that runs it."""

    language: str
    marker: str
    code: str


def blocks(page: Path) -> list[Block]:
    return [
        Block(one[0] or one[2], one[1] or one[3], one[4]) for one in FENCE.findall(page.read_text())
    ]


def examples(kind: str, marker: str = "") -> list[str]:
    """The examples of a language with a marker, each once."""
    found = [one for page in PAGES for one in blocks(page)]
    return list(dict.fromkeys(one.code for one in found if one[:2] == (kind, marker)))


def example(kind: str, marker: str) -> str:
    """The only example of a language with a marker."""
    [found] = examples(kind, marker)
    return found


def statements(marker: str) -> list[str]:
    """The statements of an example in SQL, as a client sends them."""
    text = re.sub(r"--.*$", "", example("sql", marker), flags=re.M)
    return [*filter(None, map(str.strip, text.split(";")))]


def needs_spark(code: str) -> bool:
    return "from pyspark" in code


def environment(python: Path | None = None) -> dict[str, str]:
    """The environment of a program, like that of a shell in which an environment is active: by default `.venv`."""
    python = python or Path(sys.executable)
    return os.environ | {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": str(python),
        "SPARK_CONF_DIR": str(REPOSITORY / "tests" / "spark" / "conf"),
    }


def run(kind: str, code: str, folder: Path, python: Path | None = None) -> str:
    """Runs an example in `folder`, which looks like a clone to it. Returns what it prints."""
    python = python or Path(sys.executable)
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(REPOSITORY / "examples")
    interpreter = [python, "-c"] if kind == "python" else ["bash", "-euc"]
    ran = subprocess.run(
        [*interpreter, code],
        cwd=folder,
        env=environment(python),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
