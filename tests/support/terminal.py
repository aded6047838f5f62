"""Commands that ask for a password at a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support.waiting import WAIT


@dataclass(frozen=True)
class Answered:
    """The result of a command after its question was answered."""

    exit_code: int
    shown: bytes
    """The output on the terminal up to the question."""
    printed: bytes
    """Its standard output."""


def answer(
    command: list[str], answer: str, *, environment: Mapping[str, str], folder: Path | None = None
) -> Answered:
    """Starts a command at a terminal, and answers its question for the password."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    shown = b""
    while b"Password: " not in shown:
        shown += os.read(controller, 100)
    os.write(controller, f"{answer}\n".encode())
    printed, _ = process.communicate(timeout=WAIT)
    os.close(controller)
    return Answered(process.returncode, shown, printed)
