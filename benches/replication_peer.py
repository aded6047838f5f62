"""python-mysql-replication on a binlog file: prints one line of JSON, as the programs in `peers` do.

The package reads from a server only. So a lab server gets the file as the first of its own logs, and
the package streams it from there, over a socket, with its logging off and without checking checksums.
It reads `--mb` of the file (from the start), for it is slow.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from pymysqlreplication import BinLogStreamReader  # noqa: E402
from pymysqlreplication.row_event import (  # noqa: E402
    DeleteRowsEvent,
    UpdateRowsEvent,
    WriteRowsEvent,
)

from support.servers.servers import Server  # noqa: E402


def stream(server: Server, log: str, end: int) -> tuple[int, int, float]:
    """Rows (an update has two images), bytes, seconds."""
    reader = BinLogStreamReader(
        connection_settings={"unix_socket": str(server.socket), "user": "root"},
        server_id=99,
        resume_stream=True,
        log_file=log,
        log_pos=4,
        end_log_pos=end,
        only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
        enable_logging=False,
    )
    rows = 0
    start = time.perf_counter()
    for event in reader:
        images = 2 if isinstance(event, UpdateRowsEvent) else 1
        rows += images * len(event.rows)
    seconds = time.perf_counter() - start
    position = reader.log_pos
    reader.close()
    return rows, position, seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--mb", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="binarrow-bench-") as work:
        datadir = Path(work) / "data"
        server = Server.start("mysql", datadir=datadir)
        log = server.binlog_files()[0]
        server.shutdown()
        shutil.copyfile(arguments.file, log)
        server = Server.start("mysql", datadir=datadir)
        end = min(arguments.file.stat().st_size, int(arguments.mb * 1e6))
        results = [stream(server, log.name, end) for _ in range(arguments.rounds)]
        server.stop()
    for rows, size, seconds in results:
        print(json.dumps({"rows": rows, "seconds": seconds, "bytes": size}))


if __name__ == "__main__":
    main()
