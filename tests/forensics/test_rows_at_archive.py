"""`rows_at` with archived files: the server has purged a part of the log since the moment."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import binarrow
from binarrow.cli import app
from binarrow.cli.messages import in_cli
from support import live
from support.servers.servers import Server

Rows = dict[str, list[tuple[Any, ...]]]

SERVERS = {
    "mysql": ("mysql", ()),
    "mysql without GTIDs": ("mysql", live.NO_GTIDS),
    "mariadb": ("mariadb-11.8", ()),
}


@dataclass(frozen=True)
class Moment:
    """A moment, and the rows of the tables at that moment."""

    place: binarrow.Position
    time: datetime | None
    gtids: str
    rows: Rows


@dataclass(frozen=True)
class Purged:
    """A server that has purged the first files of its log, and an archive of all its files."""

    server: Server
    source: binarrow.Server
    archive: Path
    moments: list[Moment]
    oldest: str

    @property
    def names(self) -> list[str]:
        return sorted(path.name.partition(".gz")[0] for path in self.archive.glob("*.0*[0-9z]"))

    def path(self, name: str) -> Path:
        packed = self.archive / f"{name}.gz"
        return packed if packed.exists() else self.archive / name

    def purged_names(self) -> list[str]:
        return [name for name in self.names if name < self.oldest]

    def files(self, names: list[str]) -> list[str]:
        return [str(self.path(name)) for name in names]


@pytest.fixture(scope="module", params=SERVERS)
def purged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Purged]:
    flavor, options = SERVERS[request.param]
    with live.loading_server(flavor, *options) as server, live.reach(server) as source:
        server.execute("DROP DATABASE live", "CREATE DATABASE live", "USE live", *TABLES)
        moments, archive = [], tmp_path_factory.mktemp("archive")
        for number in range(ROUNDS):
            if number:
                server.flush_binlog()
            server.execute(*changes(number))
            is_timed = number in (0, ROUNDS - 1)
            moments.append(moment(server, source, is_timed=is_timed))
            server.execute(*changes(number + 10))
        files = server.binlog_files()
        oldest = files[-1].name
        server.flush_binlog()
        server.execute("DELETE FROM t WHERE id % 5 = 2", "DELETE FROM pile LIMIT 2")
        shutil.copytree(files[0].parent, archive, dirs_exist_ok=True, ignore=not_a_log(server))
        first = archive / files[0].name
        Path(f"{first}.gz").write_bytes(gzip.compress(first.read_bytes()))
        first.unlink()
        server.execute(f"PURGE BINARY LOGS TO '{oldest}'")
        server.flush_binlog()
        server.execute(*changes(20))
        yield Purged(server, source, archive, moments, oldest)


ROUNDS = 4
"""The number of files with a moment in each."""

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20))",
    "CREATE TABLE pile (a INT)",
)


def not_a_log(server: Server) -> Any:
    names = {path.name for path in server.binlog_files()}
    return lambda _folder, found: set(found) - names


def changes(number: int) -> list[str]:
    """Statements that change some rows in each file: a wrong order or a missing change is noticed."""
    return [
        "BEGIN",
        f"REPLACE INTO t VALUES ({number}, 'n{number}'), ({number + 1}, 'x'), (100, '{number}')",
        f"UPDATE t SET s = CONCAT(s, '.{number}') WHERE id % 2 = {number % 2}",
        f"INSERT INTO pile VALUES (1), (1), ({number})",
        "COMMIT",
        f"DELETE FROM t WHERE id = {number + 1}",
        f"DELETE FROM pile WHERE a = {number // 2} LIMIT 1",
    ]


def moment(server: Server, source: binarrow.Server, *, is_timed: bool) -> Moment:
    """Returns the current moment. MariaDB logs times in seconds, and both servers the creation of files."""
    rows = {name: server.query(f"SELECT * FROM live.{name}") for name in ("t", "pile")}
    time = None
    if is_timed:
        live.later_second(server)
        # All later changes have this time or a later one.
        time = datetime.now(UTC).replace(microsecond=0)
    place = source.position()
    gtids = place.gtid_set or ""
    if not place.file:
        place = source.range_end(place, stop=place)
    return Moment(place.replace(gtid_set=None, by_gtid=False), time, gtids, rows)


def found(purged: Purged, place: Any, table: str = "t", **keywords: Any) -> list[tuple[Any, ...]]:
    locks: Any = "brief" if table == "pile" else None
    with binarrow.rows_at(purged.source, f"live.{table}", place, locks=locks, **keywords) as rows:
        return [tuple(row.values()) for row in rows.read_all().to_pylist()]


def assert_same(purged: Purged, place: Any, rows: Rows, **keywords: Any) -> None:
    for table, wanted in rows.items():
        assert sorted(found(purged, place, table, **keywords)) == sorted(wanted), (table, place)


def test_every_kind_of_moment(purged: Purged) -> None:
    archive = str(purged.archive / "binlog.*")
    for one in purged.moments:
        places: list[Any] = [f"{one.place.file}:{one.place.offset}", one.time]
        places = [place for place in (*places, one.gtids) if place]
        for place in places:
            rows = {"t": one.rows["t"]} if place is one.gtids else one.rows
            assert_same(purged, place, rows, archive=archive)


def test_a_transaction(purged: Purged) -> None:
    one = purged.moments[1]
    source, _, last = one.gtids.strip().rpartition(":")
    archive = str(purged.archive)
    if "-" not in source:  # the log contains no GTIDs of MySQL
        with pytest.raises(binarrow.PositionPurgedError, match="contains no transaction"):
            found(purged, f"{uuid4()}:1", archive=archive)
        return
    assert_same(purged, f"{source}:{last.rpartition('-')[2]}", one.rows, archive=archive)
    following = f"{source}:{int(last.rpartition('-')[2]) + 1}"
    keywords: dict[str, Any] = {"archive": archive, "before": True}
    assert_same(purged, following, one.rows, **keywords)


def test_without_the_files_that_the_server_has(purged: Purged) -> None:
    one = purged.moments[0]
    for names in (purged.purged_names(), [*purged.purged_names(), purged.oldest]):
        assert_same(purged, one.time, one.rows, archive=purged.files(names))


def test_where_and_indexes(purged: Purged) -> None:
    one = purged.moments[0]
    wanted = [row for row in one.rows["t"] if row[0] == 100]
    archive = str(purged.archive)
    assert found(purged, one.time, where="id = 100", archive=archive) == wanted
    for name in purged.names[:-1]:
        binarrow.write_index(str(purged.path(name)))
    assert found(purged, one.time, where="id = 100", archive=archive) == wanted
    assert_same(purged, one.time, one.rows, archive=archive)


def test_moments_that_the_server_has(purged: Purged, tmp_path: Path) -> None:
    """The archive is not read: it need not contain the log of the moment, but it must exist."""
    one = purged.moments[-1]
    assert_same(purged, one.time, one.rows, archive=purged.files(purged.names[:1]))
    with pytest.raises(binarrow.MissingInputError):
        found(purged, one.time, archive=str(tmp_path / "binlog.*"))


def test_gaps(purged: Purged) -> None:
    one, names = purged.moments[0], purged.purged_names()
    for place in (f"{one.place.file}:{one.place.offset}", one.time):
        with pytest.raises(binarrow.PositionPurgedError):
            found(purged, place)
    with pytest.raises(binarrow.PositionPurgedError) as caught:
        found(purged, one.time, archive=purged.files(names[:-1]))
    assert str(purged.path(names[-2])) in str(caught.value)
    assert purged.oldest in str(caught.value)
    with pytest.raises(binarrow.ConfigError, match="files are missing or out of order"):
        found(purged, one.time, archive=purged.files([names[0], *names[2:]]))
    with pytest.raises(binarrow.PositionPurgedError, match="the archive has no log of"):
        found(purged, one.time, archive=purged.files(purged.names[2:]))
    with pytest.raises(binarrow.PositionPurgedError, match="the archive has no file"):
        found(purged, f"{names[0]}:4", archive=purged.files(purged.names[1:]))


def test_a_copy_of_a_file_that_was_in_use(purged: Purged, tmp_path: Path) -> None:
    """The copy ends after a transaction, before the end of the file."""
    *names, last = purged.purged_names()
    one = purged.moments[names.index(purged.moments[0].place.file)]
    before = next(each for each in purged.moments if each.place.file == last)
    content = bytearray(purged.path(last).read_bytes()[: before.place.offset])
    content[4 + 17] |= 1  # LOG_EVENT_BINLOG_IN_USE_F
    copy = tmp_path / last
    copy.write_bytes(content)
    with (
        pytest.warns(binarrow.BinarrowWarning, match="is marked as in use"),
        pytest.raises(binarrow.PositionPurgedError) as caught,
    ):
        found(purged, one.time, archive=[*purged.files(names), str(copy)])
    assert purged.oldest in str(caught.value)
    assert str(copy) in str(caught.value)


@pytest.mark.filterwarnings("ignore:.* without a Rotate or Stop event")
def test_a_file_that_a_server_did_not_close(
    purged: Purged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server crashed: the file has no Rotate event. It is marked as closed by the recovery."""
    *names, last = purged.purged_names()
    content = purged.path(last).read_bytes()
    copy = tmp_path / last
    copy.write_bytes(content[: -(19 + 8 + len(last) + 4)])
    one = purged.moments[0]
    files = [*purged.files(names), str(copy)]
    if not one.gtids:
        with pytest.raises(binarrow.ServerIdentityError, match="not closed by a rotation"):
            found(purged, one.time, archive=files)
        files.append(str(purged.path(purged.oldest)))
    assert_same(purged, one.time, one.rows, archive=files)
    if one.gtids and not purged.server.is_mariadb:
        # The file may have lost transactions without GTIDs.
        known = purged.source.variables
        monkeypatch.setattr(
            binarrow.Server, "variables", lambda _, *names: {**known(*names), "gtid_mode": "OFF"}
        )
        with pytest.raises(binarrow.ServerIdentityError, match="not closed by a rotation"):
            found(purged, one.time, archive=files)


def test_archives_of_other_servers(purged: Purged) -> None:
    last = purged.purged_names()[-1]
    for name in ("mysql-no-gtids", "mysql-compressed", "mariadb11-transactions"):
        other = f"tests/fixtures/{name}/binlog.000002"
        with pytest.raises(binarrow.BinarrowError) as caught:
            found(purged, f"{last}:4", archive={last: other})
        error = caught.value
        if isinstance(error, binarrow.UnsupportedEventError):
            assert "XA COMMIT" in str(error)  # of a transaction before the file
            continue
        assert isinstance(error, binarrow.ServerIdentityError | binarrow.PositionPurgedError)
        assert other in str(error)
        assert purged.oldest in str(error)


def test_other_names(purged: Purged) -> None:
    """Files with other names, as those of the server before a failover, are joined by GTIDs."""
    one, name = purged.moments[-2], purged.purged_names()[-1]
    archive = {"old.000001": str(purged.path(name))}
    place = f"old.000001:{one.place.offset}"
    if not one.gtids or purged.server.is_mariadb:
        # The server_id does not prove that MariaDB's GTIDs are of the same log.
        with pytest.raises(
            (binarrow.PositionPurgedError, binarrow.ServerIdentityError),
            match=r"is missing|have other names",
        ):
            found(purged, place, archive=archive)
        return
    assert_same(purged, place, one.rows, archive=archive)
    assert_same(purged, one.gtids, one.rows, archive=archive)


def test_files_of_one_name_with_other_contents(purged: Purged) -> None:
    """The archive may be that of the source before a failover."""
    one, name = purged.moments[-1], purged.server.binlog_files()[-1].name
    other = purged.path(purged.names[0])
    archive = {name: str(other)}
    with pytest.raises(binarrow.ConfigError, match="both the server and the archive have"):
        found(purged, f"{name}:4", archive=archive)
    now = purged.source.file_start(name)
    then = now.replace(file_created=next(binarrow.inspect(str(other))).timestamp)
    assert found(purged, now, archive=archive) == found(purged, f"{name}:4")
    with pytest.raises(binarrow.SchemaError, match="CREATE of live"):  # in the archived file
        found(purged, then.replace(gtid_set=None), archive=archive)
    if one.gtids:
        assert_same(purged, one.gtids, {"t": one.rows["t"]}, archive=archive)


def stored(purged: Purged, table: str) -> Any:
    one = purged.moments[0]
    locks: Any = "brief"
    archive = str(purged.archive)
    with binarrow.rows_at(
        purged.source, f"live.{table}", one.place, archive=archive, locks=locks
    ) as rows:
        return rows.read_all()


def test_stored_rows_and_later_changes(purged: Purged) -> None:
    first, *later = purged.moments
    archive = str(purged.archive)
    for table in ("t", "pile"):
        rows = stored(purged, table)
        for one in later:
            for place in filter(None, (one.place, one.time, one.gtids)):
                with binarrow.roll_forward(
                    rows, first.place.to_json(), archive, f"live.{table}", place
                ) as found:
                    wanted = sorted(one.rows[table])
                    assert sorted(tuple(r.values()) for r in found.read_all().to_pylist()) == wanted
        with binarrow.roll_forward(
            rows, first.place, archive, f"live.{table}", first.place
        ) as same:
            assert same.read_all() == rows


def test_rows_that_are_not_those_of_the_position(purged: Purged) -> None:
    first, last = purged.moments[0], purged.moments[-1].place
    archive = str(purged.archive)
    rows = stored(purged, "t")
    changed = pa.array(["changed"] * len(rows))
    for wrong in (rows.slice(0, 0), rows.set_column(1, "s", changed)):
        with pytest.raises(binarrow.UnsupportedEventError, match="differ from the rows before"):
            binarrow.roll_forward(wrong, first.place, archive, "live.t", last).read_all()
    for wrong, message in (
        (rows.select(["id"]), "lack the column 's'"),
        (rows.set_column(0, "id", rows["id"].cast("int64")), "Arrow type int64, and int32"),
    ):
        with pytest.raises(binarrow.SchemaError, match=message):
            binarrow.roll_forward(wrong, first.place, archive, "live.t", last).read_all()


def test_moments_outside_the_rows_and_the_archive(purged: Purged) -> None:
    first, second = purged.moments[0], purged.moments[1]
    archive, rows = str(purged.archive), stored(purged, "t")
    now = datetime.now(UTC)
    for position, moment, message in (
        (second.place, first.place, "before the rows"),
        (second.place, first.time, "before the rows"),
        (first.place, now, "no transaction at"),
        ("earliest", second.place, "Position with a file"),
        (first.place, "binlog.999999:4", "no file"),
    ):
        with pytest.raises(binarrow.BinarrowError, match=message):
            binarrow.roll_forward(rows, position, archive, "live.t", moment)


def test_bad_calls(purged: Purged, tmp_path: Path) -> None:
    time = purged.moments[0].time
    name = purged.names[1]
    packed = tmp_path / f"{name}.gz"
    shutil.copy(purged.path(name), packed)
    odd = tmp_path / "copy.binlog"
    shutil.copy(purged.path(name), odd)
    for archive, message in (
        (purged.path(name).read_bytes(), "pass paths"),
        ([str(purged.path(name)), str(packed)], "several folders|same file"),
        (str(odd), "not the name of a file of a log"),
    ):
        with pytest.raises(binarrow.ConfigError, match=message) as caught:
            found(purged, time, archive=archive)
        assert "binarrow.rows_at(archive=" in str(caught.value)
        assert " --archive" in in_cli(caught.value)
        with pytest.raises(binarrow.ConfigError, match=message) as caught:
            binarrow.roll_forward(purged, f"{name}:4", archive, "live.t", f"{name}:4")
        assert "binarrow.roll_forward(source=" in str(caught.value)
        assert " --archive" in in_cli(caught.value)
    with pytest.raises(binarrow.ConfigError, match="storage_options is for archive"):
        found(purged, time, storage_options={})


def test_command_line(purged: Purged, tmp_path: Path) -> None:
    one, later = purged.moments[:2]
    secret = tmp_path / "secret"
    secret.write_text(live.USER["password"])
    secret.chmod(0o600)
    url = f"mysql://live@127.0.0.1:{purged.server.port}/"
    login = [url, "--password-file", str(secret), "--table", "live.t", "--format", "json"]
    place = f"{one.place.file}:{one.place.offset}"
    archive = ["--archive", str(purged.archive / "binlog.*")]
    result = CliRunner().invoke(app, ["at", place, *login, *archive])
    assert result.exit_code == 0, result.stderr
    rows = [tuple(json.loads(line).values()) for line in result.stdout.splitlines()]
    assert sorted(rows) == sorted(one.rows["t"])
    failed = CliRunner().invoke(app, ["at", place, *login])
    assert failed.exit_code == 1
    assert "--archive" in failed.stderr
    piped = CliRunner().invoke(app, ["at", place, *login, "--archive", "-"])
    assert (piped.exit_code, "--archive" in piped.stderr) == (2, True)
    parquet = ["--to", str(tmp_path / "t.parquet")]
    written = CliRunner().invoke(app, ["at", place, *login, *archive, *parquet])
    assert written.exit_code == 0, written.stderr
    moment = f"{later.place.file}:{later.place.offset}"
    from_rows = ["--table", "live.t", "--rows", parquet[1], "--rows-position", place]
    forward = CliRunner().invoke(app, ["at", moment, *from_rows, *archive, "--format", "json"])
    assert forward.exit_code == 0, forward.stderr
    rows = [tuple(json.loads(line).values()) for line in forward.stdout.splitlines()]
    assert sorted(rows) == sorted(later.rows["t"])
    for arguments, message in (
        (from_rows, "--rows needs either"),
        ([*from_rows, *archive, "--where", "id = 1"], "--rows excludes --where"),
        ([*login, "--rows-position", place], "--rows-position needs --rows"),
        (["--table", "live.t", "--rows", "t.csv", "--rows-position", place, *archive], "suffix"),
    ):
        bad = CliRunner().invoke(app, ["at", moment, *arguments])
        assert (bad.exit_code, message in bad.stderr) == (2, True), bad.stderr
