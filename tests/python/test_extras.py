"""Which packages the library and the command line need."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys


def ran(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_library_needs_only_pyarrow():
    needed = importlib.metadata.requires("binarrow")
    names = {re.match(r"[\w-]+", one)[0] for one in needed if "extra ==" not in one}
    assert names == {"pyarrow"}


def test_a_read_imports_no_package_of_an_extra():
    code = """
import sys
for name in ("typer", "rich", "pyspark", "pandas", "fsspec"):
    sys.modules[name] = None
import binarrow
assert "pyarrow" not in sys.modules
print(sum(change.num_rows for change in binarrow.read_binlog("examples/shop/binlog.000001")))
assert "pyarrow" not in sys.modules
"""
    done = ran(code)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_without_its_packages_the_command_names_the_extra():
    done = ran(
        "import sys; sys.modules['typer'] = None; from binarrow.__main__ import main; main()"
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "binarrow: the command line needs more packages: pip install 'binarrow[cli]'\n"
    )


def test_the_package_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "binarrow", "--version"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("binarrow ")
