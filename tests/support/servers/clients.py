"""The clients `mysql` and `mariadb`, which execute files of SQL."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.servers.servers import LAB, LabError, Server


def execute(server: Server, script: Path, *arguments: str) -> str:
    """Executes a file with the client of the server, as root. For MySQL 5 it is that of MySQL 9.7.

    Raises:
        LabError: The server refuses a statement.
    """
    tools = server.flavor if server.is_mariadb else "mysql"
    plugins = subprocess.check_output([str(LAB), "path", tools], text=True).strip()
    command = [
        *(str(LAB), "run", tools, "mariadb" if server.is_mariadb else "mysql"),
        *("--no-defaults", f"--plugin-dir={plugins}/tree/usr/lib/mysql/plugin"),
        *(f"--socket={server.socket}", "--user=root", "--max-allowed-packet=64M", *arguments),
    ]
    with script.open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, check=False)
    if done.returncode != 0:
        raise LabError(done.stderr.decode(errors="backslashreplace"))
    return done.stdout.decode()
