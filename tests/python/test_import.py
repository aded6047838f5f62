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


SPARK_PROBE = """
import os, sys
from pathlib import Path

import binarrow.spark
assert not [name for name in sys.modules if "pyspark" in name or "fsspec" in name]
import binarrow.spark.datasource, binarrow.spark.mirror, binarrow.remote_files
files = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
assert not [file for file in files if "socket:" in file], files
print(len(list(Path("/proc/self/task").iterdir())))
"""


def test_spark_side_imports_without_spark_threads_and_sockets():
    output = subprocess.check_output(
        [sys.executable, "-c", SPARK_PROBE], text=True, stdin=subprocess.DEVNULL
    )
    assert output == "1\n"


def test_help_is_quick():
    probe = "import binarrow.cli, sys; assert 'pyarrow' not in sys.modules"
    subprocess.check_call([sys.executable, "-c", probe])
