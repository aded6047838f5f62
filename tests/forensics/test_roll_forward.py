"""`roll_forward`, and moments next to rotations and statements."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app
from support import live
from support.servers.fixtures import loading_servers
from support.servers.servers import Server

server = loading_servers()


@pytest.fixture
def source(server: Server) -> Iterator[binarrow.Server]:
    server.execute("DROP DATABASE live", "CREATE DATABASE live", "USE live")
    server.execute("CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE other (id INT PRIMARY KEY)")
    with live.reach(server) as connected:
        yield connected


def place(source: binarrow.Server) -> binarrow.Position:
    """The current end of the log, as a file and an offset."""
    end = source.position()
    return end if end.file else source.range_end(end, stop=end)


def archived(server: Server, folder: Path) -> str:
    """Rotates the log, and returns a copy of the last file."""
    return str(shutil.copy(server.flush_binlog(), folder))


def purge(server: Server, oldest: str) -> None:
    """Removes the files before one. MariaDB keeps a file until its transactions are in the engine."""

    def is_purged() -> bool:
        server.execute(f"PURGE BINARY LOGS TO '{oldest}'")
        return server.binlog_files()[0].name == oldest

    live.until(is_purged)


def ids(rows: binarrow.RowsAt) -> list[int]:
    with rows:
        return sorted(rows.read_all().column("id").to_pylist())


def test_a_time_in_the_second_of_a_rotation(
    server: Server, source: binarrow.Server, tmp_path: Path
) -> None:
    """Transactions in the server's oldest file may be older than the time."""
    server.execute("INSERT INTO t VALUES (1)")
    live.later_second(server)
    archive = archived(server, tmp_path)
    oldest = server.binlog_files()[-1].name
    created = datetime.fromtimestamp(source.file_start(oldest).file_created or 0, UTC)
    if server.is_mariadb:
        server.execute(f"SET timestamp = {created.timestamp():.0f} - 3")
    server.execute("INSERT INTO t VALUES (2)")
    time = created if server.is_mariadb else datetime.now(UTC)
    server.execute("SET timestamp = DEFAULT", "INSERT INTO t VALUES (3)")
    purge(server, oldest)
    assert time < created + timedelta(seconds=1)
    keywords: dict[str, Any] = {"archive": archive}
    assert ids(binarrow.rows_at(source, "live.t", time, **keywords)) == [1, 2]
    server.execute("ALTER TABLE t ADD COLUMN n INT")
    with pytest.raises(binarrow.SchemaError, match=r"ALTER of live\.t|its structure"):
        binarrow.rows_at(source, "live.t", time, **keywords)


ROWS = pa.table({"id": pa.array([1], pa.int32())})


@pytest.mark.filterwarnings("ignore:.* without a Rotate or Stop event")
def test_places_that_are_not_in_the_log(
    server: Server, source: binarrow.Server, tmp_path: Path
) -> None:
    server.execute("INSERT INTO t VALUES (1)")
    start = place(source)
    server.execute("INSERT INTO t VALUES (2)")
    end = place(source)
    archive = [archived(server, tmp_path)]
    size = Path(archive[0]).stat().st_size
    server.execute("INSERT INTO t VALUES (3)")
    after = place(source)
    archive.append(archived(server, tmp_path))
    cut = tmp_path / "cut" / end.file
    cut.parent.mkdir()
    cut.write_bytes(Path(archive[0]).read_bytes()[: end.offset])
    for log in (archive, archive[0], str(cut), source):
        for moment in (f"{end.file}:99999999", f"{end.file}:{end.offset - 5}"):
            with pytest.raises(binarrow.ConfigError, match="the end of a transaction"):
                binarrow.roll_forward(ROWS, start, log, "live.t", moment)
        assert ids(binarrow.roll_forward(ROWS, start, log, "live.t", end)) == [1, 2]
    with pytest.raises(binarrow.ConfigError, match="is not in the log"):
        binarrow.roll_forward(ROWS, start, source, "live.t", "binlog.009999:4")
    with pytest.warns(), pytest.raises(binarrow.ConfigError, match="was read up to"):
        binarrow.roll_forward(ROWS, start, str(cut), "live.t", f"{end.file}:{size}")
    for log in (archive, archive[0], source):
        rows = binarrow.roll_forward(ROWS, start, log, "live.t", f"{end.file}:{size}")
        assert ids(rows) == [1, 2]
    for log in (archive, source):
        rows = binarrow.roll_forward(ROWS, start, log, "live.t", f"{after.file}:4")
        assert ids(rows) == [1, 2]
        assert ids(binarrow.roll_forward(ROWS, start, log, "live.t", after)) == [1, 2, 3]


def test_names_of_tables(server: Server, source: binarrow.Server, tmp_path: Path) -> None:
    """An unknown name is an error: the stored rows may be of another table."""
    start = place(source)
    server.execute("INSERT INTO other VALUES (1), (2)")
    end = place(source)
    archive = archived(server, tmp_path)
    for table, near in (("live.othr", "live.other"), ("Live.Other", "live.other"), ("x.y", None)):
        with pytest.raises(binarrow.ConfigError, match="no change of the table") as caught:
            binarrow.roll_forward(ROWS.slice(1), start, archive, table, end)
        assert (f"changes of {near}" in str(caught.value)) is (near is not None)
    rows = binarrow.roll_forward(
        ROWS.slice(1), start, archive, "Live.Other", end, lower_case_table_names=1
    )
    assert ids(rows) == [1, 2]
    with pytest.raises(binarrow.ServerError, match="doesn't exist"):
        binarrow.roll_forward(ROWS, start, source, "live.othr", end)
    with pytest.raises(binarrow.ConfigError, match="is for files"):
        binarrow.roll_forward(ROWS, start, source, "live.t", end, lower_case_table_names=1)


def test_columns_of_stored_rows(server: Server, source: binarrow.Server, tmp_path: Path) -> None:
    """Columns of the envelope are left out; the schema is that of the log."""
    server.execute("INSERT INTO t VALUES (1)")
    with source.read_table("live.t") as read:
        rows, start = read.read_all(), read.position
    assert start is not None
    assert "_commit_version" in rows.schema.names
    server.execute("INSERT INTO other VALUES (1)")
    unchanged = place(source)
    server.execute("INSERT INTO t VALUES (2)")
    end = place(source)
    archive = archived(server, tmp_path)
    for moment, wanted in ((start, [1]), (end, [1, 2])):
        with binarrow.roll_forward(rows, start, archive, "live.t", moment) as later:
            assert later.read_all().to_pydict() == {"id": wanted}
    with binarrow.roll_forward(rows, start, source, "live.t", unchanged) as later:
        assert later.read_all().to_pydict() == {"id": [1]}
    required = ROWS.cast(pa.schema([pa.field("id", pa.int32(), nullable=False)]))
    assert ids(binarrow.roll_forward(required, start, archive, "live.t", end)) == [1, 2]
    extra = rows.append_column("more", pa.array([1]))
    with pytest.raises(binarrow.SchemaError, match="columns more, which"):
        binarrow.roll_forward(extra, start, archive, "live.t", end)


@pytest.mark.parametrize("statement", ["ALTER TABLE t ADD COLUMN n INT", "DROP TABLE t"])
def test_statements_after_the_moment(
    server: Server, source: binarrow.Server, statement: str
) -> None:
    """The structure that the table has now is not that of the moment."""
    server.execute("INSERT INTO t VALUES (1)")
    start = place(source)
    server.execute("INSERT INTO t VALUES (2)")
    end = place(source)
    server.execute(statement)
    assert ids(binarrow.roll_forward(ROWS, start, source, "live.t", end)) == [1, 2]


def test_an_order_of_columns_after_the_moment(server: Server, source: binarrow.Server) -> None:
    """The log does not name the columns, and the table has them in another order now."""
    create = "CREATE TABLE u (id INT PRIMARY KEY, a INT, b INT)"
    server.execute("SET GLOBAL binlog_row_metadata = MINIMAL", create)
    try:
        start = place(source)
        server.execute("INSERT INTO u VALUES (1, 2, 3)")
        end = place(source)
        none = pa.table({name: pa.array([], pa.int32()) for name in ("id", "a", "b")})
        wanted = [{"id": 1, "a": 2, "b": 3}]
        rows = binarrow.roll_forward(none, start, source, "live.u", end)
        assert rows.read_all().to_pylist() == wanted
        server.execute("ALTER TABLE u MODIFY a INT AFTER b")
        with pytest.raises(binarrow.SchemaError, match="schemas"):
            binarrow.roll_forward(none, start, source, "live.u", end)
        rows = binarrow.roll_forward(none, start, source, "live.u", end, schemas={"live.u": create})
        assert rows.read_all().to_pylist() == wanted
    finally:
        server.execute("SET GLOBAL binlog_row_metadata = FULL")


@pytest.mark.parametrize("statement", ["ALTER TABLE t ADD COLUMN n INT", "TRUNCATE TABLE t"])
def test_the_moment_before_a_statement(
    server: Server, source: binarrow.Server, tmp_path: Path, statement: str
) -> None:
    server.execute("INSERT INTO t VALUES (1)")
    start = place(source)
    server.execute("INSERT INTO t VALUES (2)")
    live.later_second(server)
    time = datetime.now(UTC).replace(microsecond=0)
    server.execute(statement)
    after = place(source)
    server.execute("DELETE FROM t")
    archive = archived(server, tmp_path)
    last = (after.gtid_set or "").rpartition("-")[2]
    gtid = None if server.is_mariadb else f"{after.server}:{last}"
    for log in (archive, source):
        rows = binarrow.roll_forward(ROWS, start, log, "live.t", time)
        assert ids(rows) == [1, 2]
        if gtid is not None:
            rows = binarrow.roll_forward(ROWS, start, log, "live.t", gtid, before=True)
            assert ids(rows) == [1, 2]
        for moment in filter(None, (after, gtid)):
            with pytest.raises(
                binarrow.SchemaError, match=r"is after the rows.*a moment before it"
            ):
                binarrow.roll_forward(ROWS, start, log, "live.t", moment)
        with pytest.raises(binarrow.ConfigError, match="before the rows"):
            binarrow.roll_forward(ROWS, after, log, "live.t", time)


def test_changes_after_the_search(
    server: Server, source: binarrow.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction after the end of the search is after a time that is before it."""
    server.execute("INSERT INTO t VALUES (1)")
    start = place(source)
    server.execute("INSERT INTO t VALUES (2)")
    live.later_second(server)
    calls: list[str] = []

    def patch(name: str) -> None:
        known = getattr(binarrow.Server, name)

        def later(*arguments: Any, **keywords: Any) -> Any:
            if len(calls) == 1:
                server.execute("INSERT INTO t VALUES (3)")
            calls.append(name)
            return known(*arguments, **keywords)

        monkeypatch.setattr(binarrow.Server, name, later)

    patch("stream")
    patch("range")
    rows = binarrow.roll_forward(ROWS, start, source, "live.t", datetime.now(UTC))
    assert ids(rows) == [1, 2]


@pytest.mark.parametrize("server", ["mysql"], indirect=True)
def test_a_transaction_that_was_prepared_in_the_archive(
    server: Server, source: binarrow.Server, tmp_path: Path
) -> None:
    """Its rows are in the archive, and its commit in the server's log."""
    server.execute("CREATE TABLE u (id INT PRIMARY KEY, n INT)", "INSERT INTO u VALUES (1, 1)")
    start = place(source)
    session = server.connect()
    session.execute("USE live", "XA START 'x'", "UPDATE u SET n = 2", "XA END 'x'")
    session.execute("XA PREPARE 'x'")
    prepared = place(source)
    session.close_and_wait()
    archive = [archived(server, tmp_path)]
    live.decide(server, "XA COMMIT 'x'")
    committed = place(source)
    # A search beyond these bytes also gets the warning about the XA COMMIT.
    server.execute("CREATE TABLE b (a LONGBLOB)", "INSERT INTO b VALUES (REPEAT('x', 4000000))")
    server.execute("UPDATE u SET n = 3")
    after = place(source)
    archive.append(archived(server, tmp_path))
    purge(server, Path(archive[1]).name)
    rows = pa.table({"id": pa.array([1], pa.int32()), "n": pa.array([1], pa.int32())})
    with binarrow.roll_forward(rows, start, archive, "live.u", committed) as later:
        assert later.read_all().to_pylist() == [{"id": 1, "n": 2}]
    with pytest.raises(binarrow.UnsupportedEventError, match="XA transaction"):
        binarrow.rows_at(source, "live.u", start, archive=archive)
    with pytest.raises(binarrow.UnsupportedEventError, match="XA transaction"):
        binarrow.roll_forward(rows, prepared, archive, "live.u", after)
    stored = pa.table({"id": rows["id"], "n": pa.array([2], pa.int32())})
    gtid = f"{after.server}:{(after.gtid_set or '').rpartition('-')[2]}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for moment in (gtid, after.gtid_set or ""):
            with binarrow.roll_forward(stored, committed, archive[1], "live.u", moment) as later:
                assert later.read_all().to_pylist() == [{"id": 1, "n": 3}]
            with binarrow.rows_at(source, "live.u", moment) as earlier:
                assert earlier.read_all().to_pylist() == [{"id": 1, "n": 3}]


@pytest.mark.parametrize("server", ["mysql"], indirect=True)
def test_rows_that_cannot_be_read(server: Server, source: binarrow.Server, tmp_path: Path) -> None:
    start = place(source)
    server.execute("INSERT INTO t VALUES (9999)")
    end = place(source)
    archive = archived(server, tmp_path)
    with pytest.raises(binarrow.ConfigError, match="list has no Arrow stream"):
        binarrow.roll_forward([1], start, archive, "live.t", end)
    field = pa.field("id", pa.int32(), nullable=False)
    rows = pa.table({"id": pa.array(range(5000), pa.int32())}, pa.schema([field]))
    stored, written = tmp_path / "t.parquet", tmp_path / "new.arrow"
    parquet.write_table(rows, stored, compression="zstd", use_dictionary=False)
    arguments = ["at", str(end), "--table", "live.t", "--rows", str(stored), "--rows-position"]
    arguments += [str(start), "--archive", archive, "--to", str(written)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    with pa.ipc.open_file(written) as file:
        assert file.read_all().num_rows == 5001
    content = bytearray(stored.read_bytes())
    content[4:40] = b"\xff" * 36  # the header of the first page
    stored.write_bytes(content)
    written.unlink()
    failed = CliRunner().invoke(app, arguments)
    assert failed.exit_code == 1, failed.exception
    assert "the stored rows cannot be read" in failed.stderr
