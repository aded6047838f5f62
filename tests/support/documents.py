"""The examples in the README and in the documentation, and how to run one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md")))

# "```python live" in the README, "``` { .python .live }" in the site.
FENCE = re.compile(r"^```(?:(\w+)(?: (\w+))?| { \.(\w+) \.(\w+) })\n(.*?)^```$", re.M | re.S)


def examples(kind: str, marker: str = "") -> list[str]:
    """The examples of a language with a marker, each once."""
    found = [
        (one[0] or one[2], one[1] or one[3], one[4])
        for page in PAGES
        for one in FENCE.findall(page.read_text())
    ]
    return list(dict.fromkeys(code for *other, code in found if other == [kind, marker]))


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


def environment() -> dict[str, str]:
    """The environment of a program that looks like that of a shell in which `.venv` is active."""
    python = Path(sys.executable)
    return os.environ | {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": str(python),
        "SPARK_CONF_DIR": str(REPOSITORY / "tests" / "spark" / "conf"),
    }


def run(kind: str, code: str, folder: Path) -> str:
    """Runs an example in `folder`, which looks like a clone to it. Returns what it prints."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(REPOSITORY / "examples")
    interpreter = [sys.executable, "-c"] if kind == "python" else ["bash", "-euc"]
    ran = subprocess.run(
        [*interpreter, code],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
