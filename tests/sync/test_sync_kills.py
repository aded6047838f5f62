"""`binarrow sync` is killed at random while tables change: at the end, the target equals SELECT.

`BINARROW_SYNC_KILLS=100` kills it a hundred times for each target and server, `BINARROW_SYNC_TABLES=100` has about this number
of tables besides those whose structures change. `BINARROW_SYNC_SECONDS=6` is the longest time from a start to a kill: on a slow
machine, a shorter one kills most of the runs before their first commit.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import Any

from support.extent import rounds
from support.sync_source import Source
from support.waiting import WAIT, pause_at_random, until
from support.workloads.many_tables import Writer, many_tables
from support.workloads.sync_storm import TABLES, Storm, created

KILLS = {"duckdb": 5, "delta": 2, "delta+s3": 1, "iceberg": 2}
KINDS = [*KILLS]
GIVEN = os.environ.get("BINARROW_SYNC_KILLS")
SECONDS = float(os.environ.get("BINARROW_SYNC_SECONDS", "0"))
COUNT = rounds("BINARROW_SYNC_TABLES", 5, 5)
LARGE = 2000
"""The rows of every fifth table before the sync begins."""
SEED = int(os.environ.get("BINARROW_SEED", "5"))
EXECUTABLE = [sys.executable, "-c", "from binarrow.cli import main; main()", "sync"]


def test_kills(source: Source) -> None:
    wanted = int(GIVEN or KILLS[source.kind])
    chosen = random.Random(SEED)
    count = 20_000 if GIVEN or source.kind == "duckdb" else 5_000
    rows = ", ".join(f"({number}, {number}, 'row')" for number in range(count))
    source.execute(
        *(created(table) for table in TABLES),
        "CREATE TABLE big LIKE s0",
        f"INSERT INTO big VALUES {rows}",
    )
    many = many_tables(COUNT)
    for number, table in enumerate(many):
        source.execute(*table.created, table.filled(10 if number % 5 else LARGE))
    names = [*TABLES, "big", *(name for table in many for name in table.tables)]
    longest = SECONDS or (0.9 if source.kind == "duckdb" else 1.8)
    sessions = 3 if source.kind == "duckdb" else 1
    # Each ALTER TABLE and each table of a commit is a commit of a lake, which takes much longer than a statement.
    pause = 0.004 if source.kind == "duckdb" else 0.05
    seeds = range(SEED, SEED + sessions)
    storms = [Storm(source.server, seed, alters=seed < SEED + 2, pause=pause) for seed in seeds]
    writers = [Writer(source.server, many, seed, pause) for seed in seeds]
    tables = ",".join(["shop.s*", *(f"shop.{one}" for one in names[len(TABLES) :])])
    command = [*EXECUTABLE, source.url, source.target, "--tables", tables]
    command += ["--max-rows-per-second", "10000"]  # the load takes as long as a few runs
    command += ["--password-file", str(source.password_file)]
    for session in (*storms, *writers):
        session.start()
    kills = 0
    messages = source.folder / "messages"
    try:
        for _ in range(wanted):
            with messages.open("w") as output:
                process = subprocess.Popen(
                    [*command, "--every", "0.1"], stdout=subprocess.DEVNULL, stderr=output
                )
            # On a slow machine, most kills would happen before a commit. Therefore half of the kills wait for a commit.
            last = source.last_commit if GIVEN and chosen.random() < 0.5 else None

            def has_committed(process: Any = process, last: object = last) -> bool:
                return process.poll() is not None or source.last_commit != last

            until(has_committed, 10 * WAIT if GIVEN else WAIT)
            pause_at_random(chosen, longest)
            assert process.poll() is None, messages.read_text()
            process.kill()
            process.wait()
            kills += 1
    finally:
        for session in (*storms, *writers):
            session.end()
    assert kills == wanted
    # A commit to a hundred tables of a lake takes seconds, so fewer commits take less time.
    ran = subprocess.run(
        [*command, "--once", "--every", "60"],
        capture_output=True,
        text=True,
        check=False,
        timeout=3600 if GIVEN else 120,
    )
    assert ran.returncode == 0, ran.stderr
    source.check(*(f"shop.{name}" for name in names))
    verified = source.verify()
    assert {one.result for one in verified.tables.values()} == {"MATCH"}, verified.tables
    assert len(verified.tables) == len(names)
    statements = sum(session.statements for session in (*storms, *writers))
    assert all(writer.refused < writer.statements for writer in writers)
    print(f"{kills} kills, {len(names)} tables, {statements} statements")
