"""A forked child has its parent's sockets and files: dropping, closing or using them must not affect the parent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.live import NUMBERS, insert
from support.servers.servers import Server

PROCESS = """
import os, sys
import binarrow

keywords = eval(sys.argv[1])
path = sys.argv[2]
server = binarrow.connect(user="live", password="l1ve", allow_public_key_retrieval=True, **keywords)
numbers = server._native.query("SELECT CONNECTION_ID()")
start = server.position()
checkpoint = binarrow.FileCheckpoint(path, interval=0)
options = {"tables": "live.t", "column_names": "positional"}
unread = server.stream(start, **options)
stream = server.stream(start, checkpoint=checkpoint, **options)
stream.start()
print("ready", flush=True)
input()

def in_child(way):
    if way == "exit":
        sys.exit(0)  # the interpreter drops everything
    if way == "drop":
        global server, stream, unread
        del server, stream, unread
    elif way == "close":
        unread.close()
        stream.close()
        server.close()
    elif way == "ask":
        for _ in range(2):
            try:
                server.position()
            except binarrow.ConfigError as error:
                assert "before a fork" in str(error), error
            else:
                os._exit(3)
    elif way == "leave":
        with stream:
            pass  # in the parent, this batch is not done yet
    sys.exit(0)

batch = next(stream)
saved = checkpoint.load()
for way in ("exit", "drop", "close", "ask", "leave"):
    child = os.fork()
    if child == 0:
        in_child(way)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, (way, status)
    assert checkpoint.load() == saved, way  # the row is not done
    assert server._native.query("SELECT CONNECTION_ID()") == numbers, way
    assert server.position().file == start.file, way
with unread:
    assert next(unread).num_rows == 1
with stream:
    pass
assert checkpoint.load() != saved
server.close()
print("done", flush=True)
"""


@pytest.mark.parametrize("transport", ["tcp", "tls", "socket"])
def test_a_child_leaves_the_connection_open(
    live_server: Server, tmp_path: Path, transport: str
) -> None:
    keywords: dict[str, object] = {"host": "127.0.0.1", "port": live_server.port, "tls": "disabled"}
    if transport == "tls":
        keywords["tls"] = "required"
    if transport == "socket":
        keywords = {"socket": str(live_server.socket)}
    path = tmp_path / "position.json"
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, repr(keywords), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    if process.stdout.readline() == "ready\n":
        insert(live_server, next(NUMBERS))
    out, errors = process.communicate("\n", timeout=30)
    assert (out, process.returncode) == ("done\n", 0), errors
