"""The file that a server is writing to, and the one that a crash left."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest

import binarrow
from binarrow import Position
from support.logged import cells_of, database
from support.servers.servers import FLAVORS, Server
from support.waiting import until

TABLE = "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, part INT, pad VARCHAR(4000))"
PARTS = 40  # rows in a transaction, each of its own statement: more than a buffer of the server
pytestmark = pytest.mark.filterwarnings(
    "ignore:no change of a table:binarrow.BinarrowWarning",  # none yet, or none any more
    "ignore:.*without a Rotate or Stop event:binarrow.BinarrowWarning",  # closed by a recovery
    "ignore:.*marked as in use:binarrow.BinarrowWarning",
)

IN_USE_AT = 4 + 17  # the flags of the format description


class Writer(threading.Thread):
    """Commits transactions of `PARTS` rows, one after another, until it is stopped."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self.session = server.connect(database="live")
        self.committed = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self.transaction()
        except pymysql.err.MySQLError:
            assert self.stopping.is_set()
        else:
            self.session.close()

    def transaction(self) -> None:
        self.session.execute("BEGIN")
        for part in range(PARTS):
            self.session.execute(f"INSERT INTO t (part, pad) VALUES ({part}, REPEAT('x', 3000))")
        self.session.execute("COMMIT")
        self.committed += 1


@contextmanager
def writing(server: Server) -> Iterator[Writer]:
    writer = Writer(server)
    writer.start()
    try:
        yield writer
    finally:
        writer.stopping.set()
        writer.join()


def read(files: list[Path], start: Position | None = None) -> binarrow.BinlogReader:
    return binarrow.read_binlog([str(path) for path in files], tables="live.t", start=start)


def assert_whole(parts: list[int]) -> None:
    """Complete transactions only, each row once."""
    assert parts == [*range(PARTS)] * (len(parts) // PARTS)


def last_position(reader: binarrow.BinlogReader) -> Position:
    assert reader.position is not None
    return reader.position


def test_reading_while_the_server_writes(server: Server) -> None:
    with database(server, "live", TABLE):
        server.flush_binlog()
        active = server.binlog_files()[-1]
        ids: list[int] = []
        parts: list[int] = []
        offsets: list[int] = []
        position = None
        with writing(server) as writer:
            while writer.committed < 100 and writer.is_alive():
                batches = read([active], position)
                for batch in batches:
                    ids += cells_of([batch], "id")
                    parts += cells_of([batch], "part")
                assert_whole(parts)
                position = last_position(batches)
                offsets.append(position.offset)
        assert not position or active.read_bytes()[IN_USE_AT] & 1
        rest = read([active], position)
        for batch in rest:
            ids += cells_of([batch], "id")
            parts += cells_of([batch], "part")

        assert_whole(parts)
        assert len(parts) == writer.committed * PARTS
        assert [(one,) for one in ids] == server.query("SELECT id FROM live.t ORDER BY id")
        assert last_position(rest).offset == active.stat().st_size
        assert len(set(offsets)) > 3
        ends = {event.offset + event.size for event in binarrow.inspect(str(active))}
        assert set(offsets) <= ends
        assert cells_of(read([active]), "id") == ids


def test_a_tail_cut_off_by_a_crash(server: Server, tmp_path: Path) -> None:
    """Every cut of the active file ends at the last complete transaction; of a closed one, never."""
    with database(server, "live", TABLE):
        server.flush_binlog()
        server.execute(
            *(f"INSERT INTO t VALUES ({n}, {n}, 'x')" for n in range(1, 4)),
            "BEGIN",
            *(f"INSERT INTO t VALUES ({n}, {n}, 'x')" for n in range(4, 7)),
            "COMMIT",
        )
        active = server.binlog_files()[-1]
        content = active.read_bytes()
        copy = tmp_path / active.name
        events = list(binarrow.inspect(str(active)))
        commits = [e.offset + e.size for e in events if e.type_name == "Xid"]
        assert len(commits) == 4
        assert cells_of(read([active]), "id") == [1, 2, 3, 4, 5, 6]

        for cut in range(commits[1], len(content)):
            copy.write_bytes(content[:cut])
            reader = read([copy])
            expected = [1, 2] if cut < commits[2] else [1, 2, 3]
            assert cells_of(reader, "id") == expected, cut
            at = last_position(reader)
            assert at.offset == max(end for end in commits if end <= cut)
            copy.write_bytes(content)
            assert cells_of(read([copy], at), "id") == [*range(expected[-1] + 1, 7)], cut

        closed = bytearray(content)
        closed[IN_USE_AT] &= 0xFE
        for event in events:
            if event.offset <= commits[1]:
                continue
            for cut in (event.offset, event.offset + 7, event.offset + 19):
                if cut in commits:
                    continue
                copy.write_bytes(closed[:cut])
                with pytest.raises(binarrow.MalformedBinlogError) as caught:
                    list(read([copy]))
                assert caught.value.file is not None
                assert Path(caught.value.file).name == copy.name


@pytest.mark.parametrize("flavor", FLAVORS)
def test_after_a_crash_the_next_file_goes_on(flavor: str, tmp_path: Path) -> None:
    with Server.start(flavor) as server:
        server.execute("CREATE DATABASE live", "USE live", TABLE)
        with writing(server) as writer:
            until(lambda: writer.committed >= 20)
            writer.stopping.set()
            server.kill()
        crashed = server.binlog_files()[-1]
        left = tmp_path / crashed.name
        left.write_bytes(crashed.read_bytes())
        reader = read([left])
        parts = cells_of(reader, "part")
        assert_whole(parts)
        assert len(parts) >= 20 * PARTS
        position = last_position(reader)

        again = Server.start(flavor, datadir=server.datadir)
        try:
            again.execute("USE live", "INSERT INTO t (part) VALUES (-1)")
            files = again.binlog_files()
            assert len(files) >= 2
            held = [one for (one,) in again.query("SELECT id FROM t ORDER BY id")]
            assert cells_of(read(files), "id") == held
            before = cells_of(read([left]), "id")
            assert before + cells_of(read(files, position), "id") == held
            # as one who copied the file right after the crash sees it, with a transaction cut off
            copied = left.read_bytes()
            begin = next(e.offset for e in binarrow.inspect(str(left)) if e.type_name == "Gtid")
            left.write_bytes(copied[: position.offset] + copied[begin : begin + 10_000])
            reader = read([left, *files[1:]])
            assert cells_of(reader, "id") == held
            assert reader.stats()["dropped_rows_events"] > 0
        finally:
            again.shutdown()
