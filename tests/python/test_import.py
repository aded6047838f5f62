"""`import binarrow` is quick and leaves the process as it was: Spark forks its workers."""

from __future__ import annotations

import subprocess
import sys

LIMIT_SECONDS = 0.1

PROBE = """
import sys, threading, time
from pathlib import Path

started = time.process_time()  # what else runs on the machine does not count
import binarrow
seconds = time.process_time() - started

tasks = len(list(Path("/proc/self/task").iterdir()))
heavy = [name for name in ("pyarrow", "pyspark", "pandas", "rich", "typer") if name in sys.modules]
print(seconds, tasks, threading.active_count(), ",".join(heavy) or "-")
"""


def test_import_is_quick_and_starts_no_thread():
    best = LIMIT_SECONDS * 100
    for _ in range(5):
        output = subprocess.check_output([sys.executable, "-c", PROBE], text=True)
        seconds, native_threads, python_threads, heavy = output.split()
        assert (int(native_threads), int(python_threads), heavy) == (1, 1, "-")
        best = min(best, float(seconds))
    assert best < LIMIT_SECONDS


def test_spark_side_imports_without_spark():
    probe = "import binarrow.spark, sys; assert not [m for m in sys.modules if 'pyspark' in m]"
    subprocess.check_call([sys.executable, "-c", probe])


def test_help_is_quick():
    probe = "import binarrow.cli, sys; assert 'pyarrow' not in sys.modules"
    subprocess.check_call([sys.executable, "-c", probe])
