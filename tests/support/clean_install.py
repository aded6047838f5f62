"""A virtual environment in which only binarrow is installed, by the commands of the documentation."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import binarrow
from support.documents import examples


def write_wheel(folder: Path) -> Path:
    """Writes a wheel of the package as it is built for the tests, with its own metadata."""
    info = distribution("binarrow")
    package = Path(binarrow.__file__).parent
    names = f"binarrow-{info.version}"
    files = {
        f"binarrow/{file.relative_to(package).as_posix()}": file.read_bytes()
        for file in package.rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    }
    for name in ("METADATA", "WHEEL", "entry_points.txt"):
        files[f"{names}.dist-info/{name}"] = (info.read_text(name) or "").encode()
    record = f"{names}.dist-info/RECORD"
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    [tag] = re.findall(r"^Tag: (\S+)$", info.read_text("WHEEL") or "", re.M)
    path = folder / f"{names}-{tag}.whl"
    with zipfile.ZipFile(path, "w", compresslevel=1) as wheel:
        for name, content in files.items():
            wheel.writestr(name, content, zipfile.ZIP_DEFLATED)
    return path


def install(folder: Path) -> Path:
    """Creates an environment and runs the commands of the README in it. Returns its Python.

    The package is not on PyPI yet, so its name is replaced by the wheel. Spark's packages are large:
    they are those of the tests.
    """
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    wheel = write_wheel(folder)
    commands = [
        words
        for code in examples("sh", "install")
        for line in code.splitlines()
        if (words := shlex.split(line, comments=True))[:2] == ["pip", "install"]
    ]
    packages = [word.replace("binarrow", f"{wheel}", 1) for words in commands for word in words[2:]]
    assert f"{wheel}[spark]" in packages
    wanted = [f"{wheel}", f"{wheel}[cli]", f"{wheel}[duckdb]"]
    assert {*wanted} <= {*packages}
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
    installed = Path(sysconfig.get_path("purelib", vars={"base": f"{folder / 'venv'}"}))
    (installed / "spark.pth").write_text(sysconfig.get_path("purelib"))
    return python
