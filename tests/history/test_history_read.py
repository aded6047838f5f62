"""Logs that name no columns, read with a history: every row by the structure that its table had there.

Each reader starts after all statements: by then the tables have changed, or were dropped.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow import ChangeBatch, Position, SchemaHistory
from support import live
from support.servers import replicas
from support.servers.servers import Server

SERVERS = pytest.mark.parametrize("server", ["mysql", "mariadb-11.8"], indirect=True)

Row = dict[str, Any]

OWN = ("_change_type", "_commit_version", "_commit_timestamp", "_change_ordinal")


@contextmanager
def nameless(server: Server) -> Iterator[None]:
    """The log contains as little about tables as by default."""
    least = "NO_LOG" if server.is_mariadb else "MINIMAL"
    server.execute(f"SET GLOBAL binlog_row_metadata = {least}")
    try:
        yield
    finally:
        server.execute("SET GLOBAL binlog_row_metadata = FULL")


def reach(server: Server) -> binarrow.Server:
    return binarrow.connect(socket=str(server.socket), user="root")


@pytest.fixture
def shop(server: Server) -> Iterator[Server]:
    """An empty database in a log that names no columns."""
    server.execute("DROP DATABASE IF EXISTS hist", "CREATE DATABASE hist CHARACTER SET utf8mb4")
    with nameless(server):
        yield server
    server.execute("DROP DATABASE hist")


def baseline(server: Server) -> SchemaHistory:
    """A history that begins where the server is."""
    history = SchemaHistory.open("memory:")
    server.flush_binlog()  # so that files begin where the history does
    with reach(server) as connection:
        history.baseline(connection)
    return history


def start(history: SchemaHistory) -> Position:
    return history.covered[0].start


def rows_of(batches: Sequence[ChangeBatch] | binarrow.BinlogReader) -> list[tuple[str, str, Row]]:
    """Table, kind and cells of every row, in the log's order."""
    found = []
    for batch in batches:
        for row in batch.to_pyarrow().to_pylist():
            kind, version, _, ordinal = (row.pop(name) for name in OWN)
            found.append(((version, ordinal), batch.table, kind, row))
    return [(table, kind, row) for _, table, kind, row in sorted(found, key=lambda each: each[0])]


def files_since(server: Server, position: Position) -> list[str]:
    """The closed files from a position on."""
    server.flush_binlog()
    names = [str(path) for path in server.binlog_files()[:-1]]
    return [name for name in names if Path(name).name >= position.file]


def by_files(
    server: Server, history: SchemaHistory, at: Position, **keywords: Any
) -> list[tuple[str, str, Row]]:
    files = files_since(server, at)
    return rows_of(
        binarrow.read_binlog(files, start=at, history=history, tables="hist.*", **keywords)
    )


def by_stream(
    server: Server, history: SchemaHistory, at: Position | str, **keywords: Any
) -> list[tuple[str, str, Row]]:
    with (
        reach(server) as connection,
        connection.stream(at, stop="end", history=history, tables="hist.*", **keywords) as stream,
    ):
        return rows_of(stream)


def by_splits(
    server: Server, history: SchemaHistory, at: Position, target_bytes: int = 1
) -> tuple[int, list[tuple[str, str, Row]]]:
    """Reads like the tasks of a Spark job: each range separately, with the history on the driver."""
    files = files_since(server, at)
    scanned = [
        split
        for place, file in enumerate(files, start=1)
        for split in binarrow.scan_splits(file, target_bytes=target_bytes, place=place)
    ]
    linked = binarrow.link_splits(scanned, history=history, tables="hist.*")
    texts = [split.to_json() for split in linked]
    rows: list[tuple[str, str, Row]] = []
    for text in texts:
        split = binarrow.Split.from_json(text)
        again = [
            rows_of(binarrow.read_split(split, options={"tables": "hist.*", "threads": threads}))
            for threads in (1, 4)
        ]
        assert again[0] == again[1]
        rows += again[0]
    return len(texts), rows


FAILURES = {
    # A column is added between T0 and T1.
    "added": (
        "CREATE TABLE hist.a (id INT PRIMARY KEY, name VARCHAR(10))",
        "INSERT INTO hist.a VALUES (1, 'one')",
        "ALTER TABLE hist.a ADD qty INT",
        "INSERT INTO hist.a VALUES (2, 'two', 22)",
    ),
    # One is added and one is dropped: their count stays.
    "swapped": (
        "CREATE TABLE hist.a (id INT PRIMARY KEY, name VARCHAR(10), kind ENUM('x', 'y'))",
        "INSERT INTO hist.a VALUES (1, 'one', 'y')",
        "ALTER TABLE hist.a ADD note VARCHAR(10) AFTER id, DROP name",
        "INSERT INTO hist.a VALUES (2, 'two', 'x')",
    ),
    # The table is dropped.
    "dropped": (
        "CREATE TABLE hist.a (id BIGINT UNSIGNED PRIMARY KEY, data VARBINARY(10), j JSON)",
        "INSERT INTO hist.a VALUES (18446744073709551615, X'FF00', '[1]')",
        "DROP TABLE hist.a",
    ),
}

EXPECTED: dict[str, list[Row]] = {
    "added": [{"id": 1, "name": "one"}, {"id": 2, "name": "two", "qty": 22}],
    "swapped": [
        {"id": 1, "name": "one", "kind": "y"},
        {"id": 2, "note": "two", "kind": "x"},
    ],
    "dropped": [{"id": 18446744073709551615, "data": b"\xff\x00", "j": "[1]"}],
}


@SERVERS
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("begins", ["before", "behind the CREATE"])
def test_the_three_failures(shop: Server, failure: str, begins: str) -> None:
    create, *rest = FAILURES[failure]
    if begins == "before":
        history = baseline(shop)
        shop.execute(create, *rest)
    else:
        shop.execute(create)
        history = baseline(shop)
        shop.execute(*rest)
    at = start(history)
    expected = [("a", "insert", row) for row in EXPECTED[failure]]
    for threads in (1, 4):
        for segment_bytes in (1, 8 << 20):
            read = by_files(shop, history, at, threads=threads, segment_bytes=segment_bytes)
            assert read == expected
    assert by_stream(shop, history, at) == expected
    count, rows = by_splits(shop, history, at)
    assert rows == expected
    assert count > len(expected)  # a range a transaction: they fall between the statements
    # What a reader of today's structure would say.
    if failure == "dropped":
        assert history.find("hist", "a") is None


@SERVERS
def test_the_history_is_followed_to_the_start(shop: Server) -> None:
    shop.execute(*FAILURES["swapped"][:2])
    history = baseline(shop)
    shop.execute(*FAILURES["swapped"][2:])
    shop.flush_binlog()
    shop.execute("INSERT INTO hist.a VALUES (3, 'three', 'x')")
    with reach(shop) as connection:
        at = connection.position()
    shop.execute("ALTER TABLE hist.a ADD n INT", "INSERT INTO hist.a VALUES (4, 'four', 'y', 4)")
    expected = [("a", "insert", {"id": 4, "note": "four", "kind": "y", "n": 4})]
    assert by_stream(shop, history, at) == expected
    assert len(history.covered) == 1
    assert history.covered[0].stop.offset > at.offset
    before = history.covered, list(history.changes())
    # Who reads what is covered writes nothing.
    assert by_stream(shop, history, at) == expected
    assert (history.covered, list(history.changes())) == before
    # By files, and in ranges.
    other = SchemaHistory.open("memory:")
    other.baseline(
        "CREATE DATABASE hist; CREATE TABLE hist.a (id INT PRIMARY KEY, name VARCHAR(10),"
        " kind ENUM('x', 'y')) CHARSET utf8mb4",
        start(history),
        server="mariadb-11.8" if shop.is_mariadb else "mysql-9.7",
    )
    files = files_since(shop, start(history))
    reader = binarrow.read_binlog(files, start=at, history=other, tables="hist.*")
    assert rows_of(reader) == expected
    # The files between are not there.
    third = SchemaHistory.open("memory:")
    third.baseline("CREATE DATABASE hist", start(history))
    with pytest.raises(binarrow.SchemaError, match=r"is not among the files.*new baseline"):
        rows_of(binarrow.read_binlog(files[1:], history=third))


@SERVERS
def test_what_the_server_has_purged_cannot_be_followed(shop: Server) -> None:
    if shop.is_mariadb:  # it keeps what no replica has read
        shop.execute("SET GLOBAL slave_connections_needed_for_purge = 0")
    history = baseline(shop)
    shop.execute(*FAILURES["added"][:2])
    shop.flush_binlog()
    shop.flush_binlog()
    newest = shop.binlog_files()[-1].name

    def is_purged() -> bool:  # the baseline's own dump may not have ended yet
        shop.execute(f"PURGE BINARY LOGS TO '{newest}'")
        return shop.binlog_files()[0].name == newest

    live.until(is_purged)
    shop.execute("INSERT INTO hist.a VALUES (5, 'x')")
    with pytest.raises(binarrow.SchemaError, match=r"no longer has this part.*new baseline"):
        by_stream(shop, history, "earliest")


@SERVERS
def test_rows_of_a_create_select(shop: Server) -> None:
    history = baseline(shop)
    shop.execute(
        "CREATE TABLE hist.n (n INT PRIMARY KEY)",
        "INSERT INTO hist.n VALUES " + ", ".join(f"({n})" for n in range(500)),
        "CREATE TABLE hist.c (id INT NOT NULL, v VARCHAR(300)) SELECT n AS id,"
        " REPEAT('v', 300) AS v FROM hist.n",
        "DROP TABLE hist.c, hist.n",
    )
    for segment_bytes in (1, 4096, 8 << 20):
        rows = by_files(shop, history, start(history), segment_bytes=segment_bytes)
        expected = [("c", "insert", {"id": n, "v": "v" * 300}) for n in range(500)]
        assert [row for row in rows if row[0] == "c"] == expected
    _, rows = by_splits(shop, history, start(history))
    assert [row for row in rows if row[0] == "c"] == expected


@SERVERS
def test_tables_that_are_not_there_beside_one_that_is(shop: Server) -> None:
    """A statement that fails in part takes effect in part."""
    history = baseline(shop)
    shop.execute(
        "CREATE TABLE hist.a (id INT)",
        "CREATE TABLE hist.b (id INT)",
        "INSERT INTO hist.b VALUES (1)",
    )
    with pytest.raises(Exception, match="Unknown table"):
        shop.execute("DROP TABLE hist.a, hist.missing")
    with pytest.raises(Exception, match=r"."):
        shop.execute("ALTER TABLE hist.b ADD UNIQUE (missing)")
    shop.execute("INSERT INTO hist.b VALUES (2)")
    if not shop.is_mariadb:  # MariaDB drops those that it finds
        shop.execute("DROP TABLE hist.a")
    shop.execute("CREATE TABLE hist.a (x INT)", "INSERT INTO hist.a VALUES (3)")
    assert by_stream(shop, history, start(history)) == [
        ("b", "insert", {"id": 1}),
        ("b", "insert", {"id": 2}),
        ("a", "insert", {"x": 3}),
    ]


@SERVERS
def test_a_table_takes_the_place_of_another(shop: Server) -> None:
    """Like gh-ost and pt-online-schema-change: the real table gets its new structure immediately."""
    history = baseline(shop)
    shop.execute(
        "CREATE TABLE hist.t (id INT PRIMARY KEY, v VARCHAR(10))",
        "INSERT INTO hist.t VALUES (1, 'a')",
        "CREATE TABLE hist._t_gho LIKE hist.t",
        "ALTER TABLE hist._t_gho ADD w INT FIRST",
        "INSERT INTO hist._t_gho SELECT NULL, id, v FROM hist.t",
        "RENAME TABLE hist.t TO hist._t_del, hist._t_gho TO hist.t",
        "INSERT INTO hist.t VALUES (7, 2, 'b')",
        "DROP TABLE hist._t_del",
    )
    expected = [
        ("t", "insert", {"id": 1, "v": "a"}),
        ("t", "insert", {"w": 7, "id": 2, "v": "b"}),
    ]
    trusted: dict[str, Any] = {"online_schema_change": "trust"}
    with pytest.warns(binarrow.BinarrowWarning, match="gh-ost"):
        assert by_stream(shop, history, start(history), **trusted) == expected
    with reach(shop) as connection:
        changes = connection.stream(
            start(history),
            stop="end",
            history=history,
            tables="hist.t",
            include="schema_change",
            **trusted,
        )
        with changes:
            shown = [
                change.statement.split()[0]
                if isinstance(change, binarrow.SchemaChange)
                else change.to_pyarrow().column_names[0]
                for change in changes
            ]
    assert shown == ["CREATE", "id", "RENAME", "w"]


@SERVERS
def test_keys_members_and_signs(shop: Server) -> None:
    """All that the log leaves out comes from the history: a unique key of NOT NULL columns splits updates."""
    history = baseline(shop)
    shop.execute(
        "CREATE TABLE hist.k (a INT UNSIGNED, code CHAR(3) CHARACTER SET latin1 NOT NULL,"
        " flag TINYINT(1), s SET('p', 'q'), UNIQUE KEY (code))",
        "INSERT INTO hist.k VALUES (4000000000, 'aä', 1, 'p,q')",
        "UPDATE hist.k SET code = 'b'",
        "UPDATE hist.k SET a = 1",
    )
    rows = by_stream(shop, history, start(history))
    kinds = [kind for _, kind, _ in rows]
    assert kinds == ["insert", "delete", "insert", "update_preimage", "update_postimage"]
    assert rows[0][2] == {"a": 4000000000, "code": "aä", "flag": 1, "s": "p,q"}


@SERVERS
def test_a_log_with_names_stands_by_itself(shop: Server) -> None:
    """Metadata that the log lacks comes from the history; if they differ, the log takes precedence, with a warning."""
    shop.execute("SET GLOBAL binlog_row_metadata = FULL")
    shop.execute(
        "CREATE TABLE hist.f (id INT NOT NULL, v VARCHAR(5), UNIQUE KEY (id))",
        "INSERT INTO hist.f VALUES (1, 'x')",
    )
    history = SchemaHistory.open("memory:")
    with reach(shop) as connection:
        now = connection.position()
    shop.execute("INSERT INTO hist.f VALUES (2, 'y')")
    expected = [("f", "insert", {"id": 2, "v": "y"})]
    # It does not know the table.
    history.baseline("CREATE DATABASE hist", now)
    assert by_stream(shop, history, now) == expected
    # It knows another one.
    wrong = SchemaHistory.open("memory:")
    wrong.baseline(
        "CREATE DATABASE hist; CREATE TABLE hist.f (id INT, other INT) CHARSET utf8mb4", now
    )
    with pytest.warns(binarrow.BinarrowWarning, match=r"hist\.f.*history is not used") as warned:
        assert by_stream(shop, wrong, now) == expected
    assert len(warned) == 1


@SERVERS
def test_infer_schema(shop: Server) -> None:
    history = baseline(shop)
    shop.execute(*FAILURES["swapped"])
    files = files_since(shop, start(history))
    schema = binarrow.infer_schema(files, "hist.a", history=history, envelope=[])
    assert schema.names == ["id", "name", "kind"]
    with pytest.raises(binarrow.ConfigError, match="both"):
        binarrow.infer_schema(files, "hist.a", history=history, schemas="CREATE TABLE x.y (a INT)")
    with pytest.raises(binarrow.ConfigError, match="both"):
        binarrow.read_binlog(files, history=history, schemas="CREATE TABLE x.y (a INT)")
    with pytest.raises(TypeError, match="history"):
        binarrow.read_binlog(files, history=3)  # type: ignore[call-overload]


# ---- random statements


class Random:
    """Statements on a few tables, of which each is changed and filled in turn; the same for the same seed."""

    TYPES = (
        ("INT", lambda r: str(r.randrange(1000))),
        ("BIGINT UNSIGNED", lambda r: str(r.randrange(1 << 64))),
        ("VARCHAR(20)", lambda r: repr(r.choice(["x", "ü", "日本", "", "long text"]))),
        ("VARCHAR(10) CHARACTER SET latin1", lambda r: repr(r.choice(["é", "z"]))),
        ("ENUM('a','b','c')", lambda r: repr(r.choice("abc"))),
        ("SET('p','q')", lambda r: repr(r.choice(["", "p", "p,q"]))),
        ("DATETIME(3)", lambda r: repr(f"2026-01-{r.randrange(1, 28):02} 10:00:00.5")),
        ("DECIMAL(10,2)", lambda r: f"{r.randrange(9999)}.5"),
        ("DOUBLE", lambda r: f"{r.randrange(100)}.25"),
        ("TINYTEXT", lambda r: repr("t" * r.randrange(5))),
        ("VARBINARY(8)", lambda r: f"X'{r.randrange(1 << 16):04x}'"),
    )

    def __init__(self, seed: int, database: str) -> None:
        self.random = random.Random(seed)
        self.database = database
        self.tables: dict[str, list[tuple[str, int]]] = {}
        self.names = iter(range(10**6))

    def statements(self, count: int) -> Iterator[str]:
        for _ in range(3):
            yield self.create()
        for _ in range(count):
            act = self.random.choices(
                (self.insert, self.update, self.delete, self.alter, self.rename, self.recreate),
                (10, 5, 2, 8, 1, 1),
            )[0]
            yield act()
        for table in self.tables:
            yield f"UPDATE {self.database}.{table} SET touched = touched + 1"

    def table(self) -> str:
        return self.random.choice(list(self.tables))

    def column(self) -> tuple[str, int]:
        return f"c{next(self.names)}", self.random.randrange(len(self.TYPES))

    def create(self) -> str:
        table = f"t{next(self.names)}"
        self.tables[table] = [self.column() for _ in range(self.random.randrange(1, 4))]
        columns = ", ".join(f"{name} {self.TYPES[kind][0]}" for name, kind in self.tables[table])
        return (
            f"CREATE TABLE {self.database}.{table} (id INT AUTO_INCREMENT PRIMARY KEY, touched INT"
            f" NOT NULL DEFAULT 0, {columns})"
        )

    def values(self, table: str) -> Iterator[tuple[str, str]]:
        for name, kind in self.tables[table]:
            value = self.TYPES[kind][1](self.random)
            yield name, value if self.random.random() > 0.1 else "NULL"

    def insert(self) -> str:
        table = self.table()
        pairs = list(self.values(table))
        names = ", ".join(name for name, _ in pairs)
        values = ", ".join(value for _, value in pairs)
        return f"INSERT INTO {self.database}.{table} ({names}) VALUES ({values})"

    def update(self) -> str:
        table = self.table()
        name, value = self.random.choice(list(self.values(table)))
        return f"UPDATE {self.database}.{table} SET {name} = {value} WHERE id % 2 = 0"

    def delete(self) -> str:
        return f"DELETE FROM {self.database}.{self.table()} WHERE id % 5 = 0"

    def alter(self) -> str:
        table = self.table()
        columns = self.tables[table]
        head = f"ALTER TABLE {self.database}.{table} "
        place = self.random.randrange(len(columns))
        act = self.random.choice(["add", "first", "after", "drop", "rename", "move", "swap"])
        name, kind = columns[place]
        if act == "drop" and len(columns) > 1:
            del columns[place]
            return f"{head}DROP COLUMN {name}"
        if act == "rename":
            columns[place] = (f"r{next(self.names)}", kind)
            return f"{head}CHANGE {name} {columns[place][0]} {self.TYPES[kind][0]}"
        if act == "move":
            return f"{head}MODIFY {name} {self.TYPES[kind][0]} FIRST"
        new = self.column()
        sql = f"{new[0]} {self.TYPES[new[1]][0]}"
        columns.append(new)
        if act == "first":
            return f"{head}ADD COLUMN {sql} FIRST"
        if act == "after":
            return f"{head}ADD {sql} AFTER {name}"
        if act == "swap" and len(columns) > 2:
            del columns[place]
            return f"{head}ADD {sql} FIRST, DROP {name}"
        return f"{head}ADD ({sql})"

    def rename(self) -> str:
        old, new = self.table(), f"t{next(self.names)}"
        self.tables[new] = self.tables.pop(old)
        return f"RENAME TABLE {self.database}.{old} TO {self.database}.{new}"

    def recreate(self) -> str:
        """A table of an old name, with other columns."""
        table = self.table()
        self.tables[table] = [self.column()]
        name, kind = self.tables[table][0]
        return (
            f"CREATE OR REPLACE TABLE {self.database}.{table} (touched INT NOT NULL DEFAULT 0,"
            f" {name} {self.TYPES[kind][0]}, id INT AUTO_INCREMENT PRIMARY KEY)"
        )


@SERVERS
def test_random_statements(shop: Server) -> None:
    """Equal to what the server logs with names, from every place, and at the end to what SELECT gives."""
    seed = 6
    history = baseline(shop)
    play = Random(seed, "hist")
    for statement in play.statements(70):
        if statement.startswith("CREATE OR REPLACE") and not shop.is_mariadb:
            head, columns = statement.removeprefix("CREATE OR REPLACE ").split(" (", 1)
            shop.execute(f"DROP {head}", f"CREATE {head} ({columns}")
        else:
            shop.execute(statement)
    at = start(history)
    with nothing_but_names(shop):
        named = baseline(shop)
        for statement in Random(seed, "hist2").statements(70):
            if statement.startswith("CREATE OR REPLACE") and not shop.is_mariadb:
                head, columns = statement.removeprefix("CREATE OR REPLACE ").split(" (", 1)
                shop.execute(f"DROP {head}", f"CREATE {head} ({columns}")
            else:
                shop.execute(statement)
        files = files_since(shop, start(named))
        expected = rows_of(binarrow.read_binlog(files, start=start(named), tables="hist2.*"))
    rows = by_files(shop, history, at, threads=4, segment_bytes=500)
    assert len(rows) > 50
    assert rows == expected
    assert by_stream(shop, history, at) == rows
    _, split = by_splits(shop, history, at, target_bytes=2000)
    assert split == rows
    # The last image of every row is what SELECT gives.
    for table in play.tables:
        last = {
            row["id"]: row
            for name, kind, row in rows
            if name == table and kind == "update_postimage"
        }
        with reach(shop) as connection:
            described = connection.describe(f"hist.{table}")
        names = [column.name for column in described.columns]
        selected = shop.query(f"SELECT * FROM hist.{table}")
        assert {row[names.index("id")] for row in selected} <= set(last)
        for cells in selected:
            found = last[dict(zip(names, cells, strict=True))["id"]]
            assert list(found) == names
            assert [_plain(found[name]) for name in names] == [_plain(cell) for cell in cells]
    # From anywhere in it.
    files = files_since(shop, at)
    with binarrow.read_binlog(
        files, start=at, history=history, tables="hist.*", batch_end="transaction"
    ) as reader:
        positions = [batch.position.base for batch in reader]
    for position in random.Random(seed).sample(positions, 6):
        rest = by_files(shop, history, position)
        assert rest == rows[len(rows) - len(rest) :]
        assert by_stream(shop, history, position) == rest


def _plain(cell: Any) -> Any:
    """A cell as both pymysql and Arrow give it."""
    if isinstance(cell, (set, frozenset)):
        return ",".join(sorted(cell))
    return cell


@contextmanager
def nothing_but_names(server: Server) -> Iterator[None]:
    """A second database, in a log that names its columns."""
    server.execute("DROP DATABASE IF EXISTS hist2", "CREATE DATABASE hist2 CHARACTER SET utf8mb4")
    server.execute("SET GLOBAL binlog_row_metadata = FULL")
    try:
        yield
    finally:
        server.execute("DROP DATABASE hist2")


@pytest.mark.parametrize("flavor", ["mysql", "mariadb-11.8"])
def test_a_history_goes_on_at_the_replica(flavor: str) -> None:
    """A position of one server, resumed at another by GTID: what is known goes over with it."""
    with replicas.pair(flavor) as (source, replica), nameless(source), nameless(replica):
        source.execute("CREATE DATABASE hist CHARACTER SET utf8mb4", FAILURES["added"][0])
        history = baseline(source)
        begin = start(history)
        source.execute(*FAILURES["added"][1:])
        with (
            reach(source) as connection,
            connection.stream(begin, stop="end", history=history) as stream,
        ):
            first = rows_of(stream)
            position = stream.position
        assert position is not None
        assert first == [("a", "insert", row) for row in EXPECTED["added"]]
        own = binarrow.SchemaHistory.open("memory:")
        with (
            reach(source) as connection,
            connection.stream("earliest", stop="end", history=own, tables="hist.*") as stream,
        ):
            assert rows_of(stream) == first
        source.execute(
            "INSERT INTO hist.a VALUES (3, 'three', 3)",
            "ALTER TABLE hist.a DROP name",
            "INSERT INTO hist.a VALUES (4, 4)",
        )
        replicas.catch_up(replica, replicas.executed(source))
        rest = [
            ("a", "insert", {"id": 3, "name": "three", "qty": 3}),
            ("a", "insert", {"id": 4, "qty": 4}),
        ]
        for known in (history, history, own):
            assert by_stream(replica, known, position) == rest
        assert by_stream(replica, history, begin) == first + rest
        assert {each.server for each in history.covered} == {reach(s).id for s in (source, replica)}
