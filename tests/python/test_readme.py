"""The README's examples run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```$", README.read_text(), re.M | re.S)


@pytest.fixture
def clone(tmp_path, repository, monkeypatch):
    """A folder that looks like a clone to the examples, and is thrown away."""
    (tmp_path / "examples").symlink_to(repository / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_is_an_example_of_each_kind():
    python = "".join(code for kind, code in BLOCKS if kind == "python")
    assert "read_binlog" in python
    assert "mapInArrow" in python
    assert any(kind == "console" for kind, _ in BLOCKS)


@pytest.mark.parametrize(("kind", "code"), BLOCKS, ids=[kind for kind, _ in BLOCKS])
def test_example(kind, code, clone):
    python = Path(sys.executable)
    environment = os.environ | {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": str(python),
        "SPARK_CONF_DIR": str(README.parent / "tests" / "spark" / "conf"),
    }
    interpreter = [str(python), "-c"] if kind == "python" else ["bash", "-euc"]
    ran = subprocess.run(
        [*interpreter, code], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout
