"""The README's examples, and how to run one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
BLOCKS: list[tuple[str, str]] = re.findall(
    r"^```(python|console)\n(.*?)^```$", (REPOSITORY / "README.md").read_text(), re.M | re.S
)


def needs_spark(code: str) -> bool:
    return "from pyspark" in code


def run(kind: str, code: str, folder: Path) -> str:
    """Runs an example in `folder`, which looks like a clone to it. Returns what it prints."""
    (folder / "examples").symlink_to(REPOSITORY / "examples")
    python = Path(sys.executable)
    environment = os.environ | {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": str(python),
        "SPARK_CONF_DIR": str(REPOSITORY / "tests" / "spark" / "conf"),
    }
    interpreter = [str(python), "-c"] if kind == "python" else ["bash", "-euc"]
    ran = subprocess.run(
        [*interpreter, code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
