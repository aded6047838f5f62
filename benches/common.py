"""Code that the benches share: the folders, the environment with the Python packages, the programs in `peers`, measured processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "binarrow"
ENVIRONMENT = Path(os.environ.get("BINARROW_BENCH") or CACHE / "bench") / "venv"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or CACHE / "target")
PROGRAMS = TARGET / "release"
JAVA_CLASSES = ENVIRONMENT.parent / "java"
JAVA_ARTIFACTS = (
    "com.zendesk:mysql-binlog-connector-java:0.30.1",
    "com.github.luben:zstd-jni:1.5.7-4",
)


def enter_environment(script: str) -> None:
    """Continues in the environment with the Python packages; creates it if it is missing."""
    python = ENVIRONMENT / "bin" / "python"
    if Path(sys.prefix) == ENVIRONMENT:
        return
    ready = ENVIRONMENT / "ready"
    if not ready.exists():
        say(f"making the environment {ENVIRONMENT}")
        venv.create(ENVIRONMENT, with_pip=True)
        packages = ["PyMySQL>=1.1", "cryptography>=42", "mysql-replication==1.0.17"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        ready.touch()
    sys.stdout.flush()
    os.execv(python, [str(python), str(HERE / script), *sys.argv[1:]])


def build_peers(folder: Path = HERE / "peers") -> None:
    """Builds the programs in `peers`; with another `folder`, those of another commit."""
    say("building the programs in benches/peers")
    command = ["cargo", "build", "--quiet", "--release", "--manifest-path", folder / "Cargo.toml"]
    subprocess.run(command, env={**os.environ, "CARGO_TARGET_DIR": str(TARGET)}, check=True)


def build_go_peer() -> bool:
    """Builds the program in `peers/go-mysql`. Returns False if there is no Go compiler."""
    go = shutil.which("go")
    if go is None:
        say("go is not installed: go-mysql is left out")
        return False
    folder = HERE / "peers" / "go-mysql"
    subprocess.run([go, "build", "-o", PROGRAMS / "go-mysql", "."], cwd=folder, check=True)
    return True


def build_java_peer() -> bool:
    """Builds the program in `peers/java`. Returns False if there is no Java compiler or no Maven."""
    javac, maven = shutil.which("javac"), shutil.which("mvn")
    if javac is None or maven is None:
        say("javac or mvn is not installed: mysql-binlog-connector-java is left out")
        return False
    for artifact in JAVA_ARTIFACTS:
        if not (JAVA_CLASSES / f"{artifact.split(':')[1]}.jar").exists():
            copy = f"-Dartifact={artifact}", f"-DoutputDirectory={JAVA_CLASSES}"
            command = [maven, "--quiet", "--batch-mode", "dependency:copy", *copy]
            subprocess.run([*command, "-Dmdep.stripVersion=true"], check=True)
    source = HERE / "peers" / "java" / "BinlogConnector.java"
    subprocess.run(
        [javac, "-nowarn", "-cp", f"{JAVA_CLASSES}/*", "-d", JAVA_CLASSES, source], check=True
    )
    return True


def build_debezium() -> bool:
    """Builds the program in `peers/debezium`. Returns False if there is no Java compiler or no Maven."""
    javac, maven = shutil.which("javac"), shutil.which("mvn")
    if javac is None or maven is None:
        say("javac or mvn is not installed: Debezium is left out")
        return False
    folder, classes = HERE / "peers" / "debezium", JAVA_CLASSES / "debezium"
    if not classes.exists():
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={classes}"]
        subprocess.run([maven, "--quiet", "--batch-mode", *copy], cwd=folder, check=True)
    compiled = [javac, "-nowarn", "-cp", f"{classes}/*", "-d", classes, folder / "Debezium.java"]
    subprocess.run(compiled, check=True)
    return True


def measured(command: list[str], output: int = subprocess.DEVNULL) -> tuple[float, float, float]:
    """Runs a command. Returns its seconds, its CPU seconds, and its peak of memory in MiB."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    messages = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"{messages}{command[0]} failed: {status}")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def program(*command: str | Path) -> dict[str, float]:
    """The output of a program that prints one line of JSON."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    if not result.get("rows"):
        result.pop("rows", None)
    return result


def short(number: float) -> str:
    """Rows, in millions or thousands."""
    return f"{number / 1e6:.2f} M" if number >= 1e6 else f"{number / 1e3:.0f} k"


def say(message: str) -> None:
    """Prints progress."""
    print(f"bench: {message}", file=sys.stderr)
