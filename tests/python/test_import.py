"""`import binarrow` loads little and leaves the process as it was: Spark forks its workers."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROBE = """
import sys, threading
from pathlib import Path

import binarrow

tasks = len(list(Path("/proc/self/task").iterdir()))
heavy = "pyarrow pyspark pandas rich typer http.server asyncio sqlite3 concurrent.futures multiprocessing".split()
print(tasks, threading.active_count(), [name for name in heavy if name in sys.modules])
"""


def test_import_loads_little_and_starts_no_thread():
    assert subprocess.check_output([sys.executable, "-c", PROBE], text=True) == "1 1 []\n"


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


@pytest.mark.pyspark
def test_spark_side_imports_without_spark_threads_and_sockets():
    output = subprocess.check_output(
        [sys.executable, "-c", SPARK_PROBE], text=True, stdin=subprocess.DEVNULL
    )
    assert output == "1\n"


def test_help_is_quick():
    probe = "import binarrow.cli, sys; assert 'pyarrow' not in sys.modules"
    subprocess.check_call([sys.executable, "-c", probe])


WINDOWS_PROBE = """
import importlib, os, select, signal, sys, types
from pathlib import Path

from binarrow.cli.app import app

folder = Path(sys.modules["binarrow"].__file__).parent
names = [
    ".".join(["binarrow", *(part for part in file.relative_to(folder).with_suffix("").parts if part != "__init__")])
    for file in folder.rglob("*.py")
    if file.name != "__main__.py"
]
for name in names:  # this also imports what the package uses
    importlib.import_module(name)
for name in names:
    del sys.modules[name]
sys.platform = "win32"
sys.modules["fcntl"] = None
locked = []
sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=lambda *how: locked.append(how))
for owner, missing in {
    os: "O_CLOEXEC O_NONBLOCK O_DIRECTORY fork register_at_fork geteuid getuid uname fchmod mkfifo".split(),
    select: ["poll"],
    signal: "SIGPIPE SIGALRM SIGHUP SIGKILL SIGQUIT SIGUSR1 setitimer getitimer ITIMER_REAL pthread_sigmask".split(),
}.items():
    for name in missing:
        delattr(owner, name)

for name in names:
    importlib.import_module(name)
import binarrow
from binarrow.cli.app import app
from binarrow.syncing.lock import Lock

files, out = sys.argv[1], Path(sys.argv[2])
checkpoint = binarrow.FileCheckpoint(out / "position.json")
reader = binarrow.read_binlog(files)
next(reader)
checkpoint.save(reader.position)
assert checkpoint.load() == reader.position
with Lock(out / "lock", "the target"):
    assert len(locked) == 1
app(["undo", files, "--tables", "shop.customers", "--to", str(out / "undo.sql")], standalone_mode=False)
assert (out / "undo.sql").stat().st_size > 0
print("done")
"""


@pytest.mark.pyspark
def test_python_code_runs_without_what_windows_lacks(tmp_path):
    command = [sys.executable, "-c", WINDOWS_PROBE, "examples/shop/binlog.000001", str(tmp_path)]
    output = subprocess.check_output(command, text=True)
    assert output.splitlines()[-1] == "done"
