"""Concurrent writers of all kinds, whose log `test_storm.py` reads at the same time.

Several sessions change the same tables: transactions with savepoints, XA transactions that others decide, DDL, triggers,
temporary tables, settings of the log that change during the run. A statement that is refused changes nothing and is counted.
The server's own SELECT provides the final rows of the tables, so this module does not compute any row. It only records the
effects of DDL on existing rows, because a replay must apply them too.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

import pymysql

from support.oracles.cells import Cell
from support.servers.servers import Server, Session
from support.waiting import pause_at_random
from support.workloads import values
from support.workloads.table import Column, Table, quote

SESSIONS = 4
LONGEST_PAUSE = 0.02
"""Seconds between two transactions of a session."""

LOST = (2006, 2013, 2055)
"""Error codes of a lost connection, which is not a refusal."""

XAER_NOTA = 1397
XA_RBROLLBACK = 1402

CASCADES = ("mysql",)
"""Servers that log the changes of a foreign key's action."""

ODD = ("c", "größe ", "x`y", "KEY", "a.b", "名前", "select", "e,f", "(g)", "'q'", '"')
"""Prefixes of names; a number follows, so that each name is used once."""

NUMBER = Column("n", "INT", values.integer(32))
NOTE = Column("note", "VARCHAR(40) CHARACTER SET utf8mb4", values.text("utf8mb4", 40))


@dataclass(frozen=True)
class Kind:
    """A column that may be added."""

    definition: str
    value: values.Value
    wider: str = ""
    default: tuple[str, Cell] | None = None


KINDS = (
    Kind("INT", values.integer(32), "BIGINT", ("7", 7)),
    Kind("BIGINT UNSIGNED", values.integer(64, unsigned=True)),
    Kind("DECIMAL(10,3)", values.decimal(10, 3), "DECIMAL(20,5)", ("1.5", Decimal("1.5"))),
    Kind("DOUBLE", values.floating("d")),
    Kind("FLOAT", values.floating("f")),
    Kind(
        "VARCHAR(20) CHARACTER SET latin1",
        values.text("latin1", 20),
        "VARCHAR(300) CHARACTER SET latin1",
    ),
    Kind("VARCHAR(30) CHARACTER SET utf8mb4", values.text("utf8mb4", 30), "", ("'é🎉'", "é🎉")),
    Kind(
        "TEXT CHARACTER SET utf8mb4", values.text("utf8mb4", 60), "LONGTEXT CHARACTER SET utf8mb4"
    ),
    Kind("VARBINARY(40)", values.binary(40), "VARBINARY(400)"),
    Kind("BLOB", values.binary(300), "MEDIUMBLOB"),
    Kind("DATE", values.date(), "", ("'2020-02-29'", date(2020, 2, 29).toordinal())),
    Kind("DATETIME(6)", values.datetime_(6)),
    Kind("TIMESTAMP(3) NULL", values.timestamp(3)),
    Kind("TIME(2)", values.time(2)),
    Kind("YEAR", values.year()),
    Kind("BIT(9)", values.bit(9)),
    Kind(
        "ENUM('a', 'b', 'ü') CHARACTER SET utf8mb4",
        values.member(3),
        "ENUM('a', 'b', 'ü', '名') CHARACTER SET utf8mb4",
    ),
    Kind("SET('r', 'w', 'x') CHARACTER SET utf8mb4", values.members(3)),
)


@dataclass
class Known:
    """The effects of DDL that a replay needs. Names are used once, so the effects do not depend on the time."""

    columns: dict[str, str] = field(default_factory=dict)
    """The first name of each column that was renamed."""
    tables: dict[str, str] = field(default_factory=dict)
    """The first name of each table that was renamed."""
    defaults: dict[str, Cell] = field(default_factory=dict)
    """The value of existing rows in each added column, by the column's first name."""


@dataclass
class Prepared:
    """An XA transaction after XA PREPARE."""

    xid: str
    session: Session


class Storm:
    """The writers on one database, which is created for them."""

    def __init__(self, server: Server, database: str, seed: str, *, any_metadata: bool) -> None:
        self.server = server
        self.database = database
        self.seed = seed
        self.any_metadata = any_metadata
        """True if the log may leave out the names of columns."""
        self.known = Known()
        self.refused: Counter[int] = Counter()
        self.transactions = 0
        self.tables: list[Table] = []
        self.evolving: list[Table] = []
        self.failures: list[BaseException] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._prepared: list[Prepared] = []
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._create()

    # ---------------------------------------------------------------------------------- tables

    def _create(self) -> None:
        few = Column("a", "INT NOT NULL", values.one_of(*map(str, range(-20, 20))))
        words = values.one_of("'x'", "'y'", "'é'", "''")
        word = Column("b", "VARCHAR(10) CHARACTER SET utf8mb4 NOT NULL", words)
        day = Column("c", "DATE NOT NULL", values.one_of("'2020-02-29'", "'1999-12-31'"))
        evolving = [
            Table("orders", [NUMBER, NOTE]),
            Table("Order Lines", [NUMBER, NOTE]),
            Table("größe.名", [NOTE, NUMBER]),
            Table("sel`ect (c), d", [NUMBER, NOTE]),
            Table("composite", [few, NUMBER, word, NOTE, day], "PRIMARY KEY (c, a, b))", None),
            Table("unique_key", [few, NUMBER, NOTE], "UNIQUE KEY (a))", None),
            Table("keyless", [NUMBER, NOTE, day], ")", None),
            Table(
                "partitioned",
                [NUMBER, NOTE],
                "PRIMARY KEY (id)) PARTITION BY HASH (id) PARTITIONS 5",
            ),
        ]
        fixed = [
            Table("xa_left", [NUMBER, NOTE]),
            Table("xa_right", [NUMBER, day]),
            Table("truncated", [NUMBER, NOTE]),
        ]
        unused = [
            Table("audit", [NUMBER, NOTE], ")", None),
            Table("plain", [NUMBER, NOTE], "PRIMARY KEY (id)) ENGINE=MyISAM"),
        ]
        if not self.server.is_mariadb:
            document = Column("doc", "JSON", values.json_text(depth=3))
            required = Column("required", "JSON NOT NULL", values.json_text(depth=2))
            fixed.append(Table("documents", [document, required]))
        if self.server.flavor in CASCADES:
            parent_id = Column(
                "parent_id", "BIGINT UNSIGNED", values.one_of("(SELECT MAX(id) FROM parent)")
            )
            key = (
                "FOREIGN KEY (parent_id) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE"
            )
            fixed.append(Table("parent", [NUMBER, NOTE]))
            fixed.append(Table("child", [parent_id, NOTE], f"PRIMARY KEY (id), {key})"))
        self.tables = [*evolving, *fixed, *unused]
        self.evolving = evolving
        session = self.server.connect()
        session.execute(
            f"CREATE DATABASE {quote(self.database)} CHARACTER SET utf8mb4",
            f"USE {quote(self.database)}",
            *(table.create() for table in self.tables),
            "CREATE TABLE mark (id INT PRIMARY KEY)",
            "CREATE TRIGGER after_update AFTER UPDATE ON xa_left FOR EACH ROW"
            " INSERT INTO audit (n, note) VALUES (NEW.n, OLD.note)",
            "CREATE TRIGGER after_delete AFTER DELETE ON composite FOR EACH ROW"
            " INSERT INTO audit (n, note) VALUES (OLD.n, OLD.b)",
            "CREATE TRIGGER before_insert BEFORE INSERT ON composite FOR EACH ROW"
            " UPDATE audit SET n = n + 1 WHERE n < 0 LIMIT 2",
        )
        session.close()
        self._usable = [*evolving, *fixed]
        self._plain = unused[-1]

    # --------------------------------------------------------------------------------- running

    def start(self) -> None:
        for number in range(SESSIONS):
            rng = random.Random(f"{self.seed}/{number}")
            self._threads.append(threading.Thread(target=self._write, args=(rng,), daemon=True))
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Ends the writers; the very last row is a row of `mark`."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        with self._session() as session:
            while self._prepared:
                self._decide(random.Random(0), session)
            session.execute(f"USE {quote(self.database)}", "INSERT INTO mark VALUES (1)")
        if self.failures:
            raise self.failures[0]

    def select_names(self) -> list[str]:
        """The current tables, as `database.table`."""
        with self._session() as session:
            found = session.query(f"SHOW TABLES FROM {quote(self.database)}")
        return [f"{self.database}.{name}" for (name,) in found if name != "mark"]

    @contextmanager
    def _session(self) -> Iterator[Session]:
        session = self.server.connect()
        try:
            yield session
        finally:
            with contextlib.suppress(pymysql.err.MySQLError):
                session.close()

    def _write(self, rng: random.Random) -> None:
        try:
            with self._session() as session:
                session.execute(
                    f"USE {quote(self.database)}",
                    "SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1",
                )
                if self.server.flavor == "mariadb-11.8":
                    # An ALTER TABLE that copies while others write keeps rows that were rolled back.
                    session.execute(
                        "SET SESSION old_mode = 'UTF8_IS_UTF8MB3,LOCK_ALTER_TABLE_COPY'"
                    )
                while not self._stopping.is_set():
                    self._one(rng, session)
                    pause_at_random(rng, LONGEST_PAUSE)
        except BaseException as error:  # noqa: BLE001 - raised again by `finish`
            self.failures.append(error)

    def _one(self, rng: random.Random, session: Session) -> None:
        """Runs one transaction or a similar action."""
        actions: tuple[tuple[int, Callable[[random.Random, Session], None]], ...] = (
            (30, self._statement),
            (25, self._transaction),
            (3, self._large),
            (8, self._xa),
            (8, self._decide),
            (8, self._ddl),
            (6, self._settings),
            (3, self._temporary),
            (4, self._upsert),
            (3, self._not_transactional),
            (4, self._documents),
            (2, self._copy),
            (2, self._truncate),
            (1, self._rotate),
        )
        weights = [weight for weight, _ in actions]
        [action] = rng.choices([action for _, action in actions], weights)
        action(rng, session)
        self.transactions += 1

    def attempt(self, session: Session, *statements: str) -> bool:
        """Runs statements up to the first that is refused; returns True if none was."""
        try:
            session.execute(*statements)
        except (pymysql.err.MySQLError, UnicodeError) as error:
            code = error.args[0]
            if not isinstance(code, int) or code in LOST:
                raise
            self.refused[code] += 1
            return False
        return True

    # ------------------------------------------------------------------------------------ rows

    def _sql(self, rng: random.Random, table: Table | None = None) -> str:
        table = table or rng.choice(self._usable)
        roll = rng.random()
        if roll < 0.55:
            verb = (
                "INSERT" if table.next_id is not None else rng.choice(("INSERT IGNORE", "REPLACE"))
            )
            return table.insert(rng, rng.choice((1, 1, 2, 5, 20)), verb)
        return table.update(rng) if roll < 0.85 else table.delete(rng)

    def _statement(self, rng: random.Random, session: Session) -> None:
        self.attempt(session, self._sql(rng))

    def _transaction(self, rng: random.Random, session: Session) -> None:
        self.attempt(session, rng.choice(("BEGIN", "START TRANSACTION")))
        for _ in range(rng.randint(1, 6)):
            roll = rng.random()
            if roll < 0.7:
                self.attempt(session, self._sql(rng))
            elif roll < 0.85:
                self.attempt(session, f"SAVEPOINT {rng.choice(('a', '`b c`'))}")
            else:
                self.attempt(session, f"ROLLBACK TO SAVEPOINT {rng.choice(('a', '`b c`'))}")
        self.attempt(session, rng.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))

    def _large(self, rng: random.Random, session: Session) -> None:
        table = rng.choice([one for one in self._usable if one.next_id is not None])
        self.attempt(session, "BEGIN", table.insert(rng, rng.choice((100, 300))))
        self.attempt(session, table.update(rng, "WHERE id % 3 = 1"))
        self.attempt(session, table.delete(rng, "WHERE id % 7 = 3"), self._sql(rng))
        self.attempt(session, rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))

    def _upsert(self, rng: random.Random, session: Session) -> None:
        table = rng.choice([one for one in self._usable if one.name in ("composite", "unique_key")])
        update = f"ON DUPLICATE KEY UPDATE n = {rng.randint(-9, 9)}"
        self.attempt(session, f"{table.insert(rng, rng.randint(1, 5))} {update}")

    def _not_transactional(self, rng: random.Random, session: Session) -> None:
        """One session at a time: concurrent changes of several sessions need not be in the log's order."""
        with self._one_at_a_time:
            self.attempt(session, self._sql(rng, self._plain))

    def _documents(self, rng: random.Random, session: Session) -> None:
        """Changes inside documents, which may be logged as differences."""
        if self.server.is_mariadb:
            return
        column = rng.choice(("doc", "required"))
        change = rng.choice(
            (
                f"JSON_SET({column}, '$.a', {rng.randint(-9, 9)}, '$.\"ключ\"', 'new')",
                f"JSON_SET({column}, '$[0]', JSON_ARRAY('x', 1.5))",
                f"JSON_REPLACE({column}, '$.a', '🎉', '$[1]', NULL)",
                f"JSON_REMOVE({column}, '$.b', '$.aa')",
                f"JSON_ARRAY_APPEND({column}, '$', 'tail')",
            )
        )
        where = f"WHERE id >= {rng.randint(1, 200)} LIMIT 10"
        self.attempt(session, f"UPDATE documents SET {column} = {change} {where}")

    def _temporary(self, rng: random.Random, session: Session) -> None:
        name = quote(f"temporary {next(self._numbers)}")
        self.attempt(session, "BEGIN", self._sql(rng))
        self.attempt(session, f"CREATE TEMPORARY TABLE {name} (a INT)")
        self.attempt(session, f"INSERT INTO {name} VALUES (1)", self._sql(rng))
        self.attempt(session, rng.choice(("COMMIT", "ROLLBACK")))
        self.attempt(session, f"DROP TEMPORARY TABLE IF EXISTS {name}")

    def _copy(self, rng: random.Random, session: Session) -> None:
        source = rng.choice(self.evolving)
        name = f"copy {next(self._numbers)}"
        key = "(PRIMARY KEY (id)) " if source.next_id is not None else ""
        select = f"SELECT * FROM {source.sql_name} LIMIT 50"
        if self.attempt(session, f"CREATE TABLE {quote(name)} {key}ENGINE=InnoDB {select}"):
            with self._lock:
                for column in source.columns:
                    self.known.defaults.setdefault(self.first_name(column.name), None)
            if rng.random() < 0.5:
                self.attempt(session, f"DROP TABLE {quote(name)}")

    def first_name(self, name: str) -> str:
        return self.known.columns.get(name, name)

    # -------------------------------------------------------------------------------------- XA

    def _xa(self, rng: random.Random, _: Session) -> None:
        """In a session of its own: a prepared transaction holds locks until another session decides it."""
        name = f"X'{next(self._numbers):08x}'"
        xid = rng.choice((name, f"{name}, 'branch'", f"{name}, X'00ff', {rng.randint(1, 9)}"))
        session = self.server.connect()
        session.execute(
            f"USE {quote(self.database)}",
            "SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1",
        )
        self._session_settings(rng, session)
        session.execute(f"XA START {xid}")
        tables = [one for one in self._usable if one.name.startswith("xa_")]
        for _number in range(rng.randint(0, 4)):
            self.attempt(session, self._sql(rng, rng.choice(tables)))
        if not self.attempt(session, f"XA END {xid}"):
            self.attempt(session, f"XA ROLLBACK {xid}")
            session.close()
            return
        roll = rng.random()
        if roll < 0.2:
            self.attempt(session, f"XA COMMIT {xid} ONE PHASE")
        elif roll < 0.3 or not self.attempt(session, f"XA PREPARE {xid}"):
            self.attempt(session, f"XA ROLLBACK {xid}")
        else:
            with self._lock:
                self._prepared.append(Prepared(xid, session))
            return
        session.close()

    def _decide(self, rng: random.Random, other: Session) -> None:
        """Commits or rolls back a prepared transaction, from its own session or from another."""
        with self._lock:
            if not self._prepared:
                return
            one = self._prepared.pop(rng.randrange(len(self._prepared)))
        statement = f"XA {rng.choice(('COMMIT', 'COMMIT', 'ROLLBACK'))} {one.xid}"
        if rng.random() < 0.5:
            one.session.execute(statement)
            one.session.close()
            return
        # A server that still ends that session may log the decision of another and not carry it out (MySQL 5.7, MariaDB).
        one.session.close_and_wait()
        try:
            other.execute(statement)
        except pymysql.err.MySQLError as error:
            # It had changed nothing, so the server has forgotten it with its session.
            if error.args[0] not in (XAER_NOTA, XA_RBROLLBACK):
                raise

    # ------------------------------------------------------------------------------------- DDL

    def _name(self, rng: random.Random) -> str:
        return f"{rng.choice(ODD)}{next(self._numbers)}"

    def _ddl(self, rng: random.Random, session: Session) -> None:
        """One at a time: its effect on rows is recorded after it has ended."""
        table = rng.choice(self.evolving)
        actions = (
            (self._add_column, 6),
            (self._drop_column, 3),
            (self._rename_column, 3),
            (self._widen_column, 3),
            (self._rename_table, 2),
            (self._swap_tables, 2),
            (self._rebuild, 4),
            (self._create_and_drop, 3),
            (self._other_objects, 2),
        )
        [action] = rng.choices(*zip(*actions, strict=True))
        with self._one_at_a_time:
            action(rng, session, table)

    def _alter(self, session: Session, table: Table, change: str) -> bool:
        return self.attempt(session, f"ALTER TABLE {table.sql_name} {change}")

    def _own(self, rng: random.Random, table: Table) -> Column | None:
        """One of the columns that were added."""
        added = [column for column in table.columns if column.name[-1].isdigit()]
        return rng.choice(added) if added else None

    def _add_column(self, rng: random.Random, session: Session, table: Table) -> None:
        if len(table.columns) > 12:
            self._drop_column(rng, session, table)
            return
        kind = rng.choice(KINDS)
        column = Column(self._name(rng), kind.definition, kind.value)
        definition, cell = column.definition, None
        if kind.default is not None and rng.random() < 0.5:
            text, cell = kind.default
            column.definition = f"{definition} NOT NULL"
            definition = f"{column.definition} DEFAULT {text}"
        place = rng.choice(("FIRST", f"AFTER {quote(rng.choice(table.columns).name)}", "", ""))
        with self._lock:
            self.known.defaults[column.name] = cell
        if self._alter(session, table, f"ADD COLUMN {quote(column.name)} {definition} {place}"):
            table.columns = [*table.columns, column]

    def _drop_column(self, rng: random.Random, session: Session, table: Table) -> None:
        column = self._own(rng, table)
        if column and self._alter(session, table, f"DROP COLUMN {quote(column.name)}"):
            table.columns = [one for one in table.columns if one is not column]

    def _rename_column(self, rng: random.Random, session: Session, table: Table) -> None:
        column = self._own(rng, table)
        if column is None:
            return
        renamed = Column(self._name(rng), column.definition, column.value)
        with self._lock:
            self.known.columns[renamed.name] = self.first_name(column.name)
        old, new = quote(column.name), quote(renamed.name)
        change = f"CHANGE {old} {new} {column.definition}"
        if self.server.flavor != "mysql-5.7" and rng.random() < 0.5:
            change = f"RENAME COLUMN {old} TO {new}"
        if self._alter(session, table, change):
            table.columns = [renamed if one is column else one for one in table.columns]

    def _widen_column(self, rng: random.Random, session: Session, table: Table) -> None:
        column = self._own(rng, table)
        if column is None:
            return
        definition = column.definition
        for kind in KINDS:
            if kind.wider and definition == kind.definition:
                definition = kind.wider
        place = rng.choice(("", "FIRST", "AFTER note"))
        if self._alter(session, table, f"MODIFY {quote(column.name)} {definition} {place}"):
            column.definition = definition

    def _rename_table(self, rng: random.Random, session: Session, table: Table) -> None:
        if table.name in ("composite", "unique_key"):  # others look for them by these names
            return
        name = self._name(rng)
        with self._lock:
            old, new = (f"{self.database}.{one}" for one in (table.name, name))
            self.known.tables[new] = self.known.tables.get(old, old)
        rename = rng.choice(("RENAME TABLE {0} TO {1}", "ALTER TABLE {0} RENAME TO {1}"))
        if self.attempt(session, rename.format(table.sql_name, quote(name))):
            table.name = name

    def _swap_tables(self, rng: random.Random, session: Session, table: Table) -> None:
        """Swaps two tables like a reload: each gets the rows and columns of the other."""
        others = [one for one in self.evolving if one.next_id is not None and one is not table]
        if table.next_id is None:
            return
        other = rng.choice(others)
        first, second = table.sql_name, other.sql_name
        between = quote(f"between {next(self._numbers)}")
        swap = f"RENAME TABLE {first} TO {between}, {second} TO {first}, {between} TO {second}"
        if self.attempt(session, swap):
            table.name, other.name = other.name, table.name

    def _rebuild(self, rng: random.Random, session: Session, table: Table) -> None:
        """DDL that does not change rows."""
        column = rng.choice(table.columns)
        index = quote(f"i{next(self._numbers)}")
        change = rng.choice(
            (
                "ENGINE=InnoDB",
                "FORCE",
                "COMMENT='it''s; -- no'",
                "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                f"ADD INDEX {index} (n)",
                f"ADD INDEX {index} (n), ALGORITHM=INPLACE",
                f"ALTER COLUMN n SET DEFAULT {rng.randint(1, 9)}, ALTER COLUMN n DROP DEFAULT",
                f"MODIFY {quote(column.name)} {column.definition}",
                "ROW_FORMAT=DYNAMIC, ORDER BY n",
            )
        )
        self._alter(session, table, change)

    def _create_and_drop(self, rng: random.Random, session: Session, _: Table) -> None:
        """A table with a name that other tables had before."""
        name = quote(rng.choice(("comes and goes", "näxt")))
        kinds = rng.sample(KINDS, rng.randint(1, 4))
        columns = ", ".join(f"v{number} {kind.definition}" for number, kind in enumerate(kinds))
        key = rng.choice(("id INT PRIMARY KEY", "id INT NOT NULL"))
        if not self.attempt(session, f"CREATE TABLE {name} ({key}, {columns})"):
            like = quote(f"like {next(self._numbers)}")
            self.attempt(session, f"CREATE TABLE {like} LIKE {name}", f"DROP TABLE {like}")
            self.attempt(session, f"DROP TABLE {name}")
            return
        for number in range(rng.randint(0, 3)):
            cells = ", ".join(kind.value(rng) for kind in kinds)
            self.attempt(session, f"INSERT INTO {name} VALUES ({number}, {cells})")

    def _other_objects(self, rng: random.Random, session: Session, table: Table) -> None:
        name = quote(f"object {next(self._numbers)}")
        statements = rng.choice(
            (
                (f"CREATE VIEW {name} AS SELECT n FROM {table.sql_name}", f"DROP VIEW {name}"),
                (f"CREATE PROCEDURE {name}() DELETE FROM orders", f"DROP PROCEDURE {name}"),
                (
                    f"CREATE DATABASE {name}",
                    f"CREATE TABLE {name}.t (a INT)",
                    f"DROP DATABASE {name}",
                ),
                (f"ANALYZE TABLE {table.sql_name}",),
                (f"OPTIMIZE TABLE {table.sql_name}",),
                ("FLUSH TABLES",),
            )
        )
        self.attempt(session, *statements)

    def _truncate(self, rng: random.Random, session: Session) -> None:
        # MySQL 5.7 empties a table with rows of a prepared transaction of a closed session.
        left_out = ("parent", "child", "xa_left", "xa_right")
        tables = [one for one in self._usable if one.name not in left_out]
        table = rng.choice(tables) if rng.random() < 0.2 else self._named("truncated")
        self.attempt(session, f"TRUNCATE TABLE {table.sql_name}")

    def _named(self, name: str) -> Table:
        return next(one for one in self.tables if one.name == name)

    # -------------------------------------------------------------------------------- settings

    def _session_settings(self, rng: random.Random, session: Session) -> None:
        on = rng.choice(("ON", "OFF"))
        choices = [
            f"SET SESSION binlog_row_image = {rng.choice(('FULL', 'FULL', 'MINIMAL', 'NOBLOB'))}"
        ]
        if self.server.is_mariadb:
            choices += [
                f"SET SESSION gtid_domain_id = {rng.choice((0, 0, 7))}",
                f"SET SESSION binlog_annotate_row_events = {on}",
                f"SET SESSION binlog_alter_two_phase = {on}",
            ]
        elif not self.server.is_old:
            partial = rng.choice(("", "PARTIAL_JSON"))
            choices += [
                f"SET SESSION binlog_transaction_compression = {on}",
                f"SET SESSION binlog_rows_query_log_events = {on}",
                f"SET SESSION binlog_row_value_options = '{partial}'",
                f"SET gtid_next = '{rng.choice(('AUTOMATIC', 'AUTOMATIC:tag'))}'",
            ]
        isolation = rng.choice(("REPEATABLE READ", "READ COMMITTED"))
        choices.append(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        self.attempt(session, rng.choice(choices))

    def _settings(self, rng: random.Random, session: Session) -> None:
        if rng.random() < 0.7:
            self._session_settings(rng, session)
            return
        choices = [f"SET GLOBAL binlog_checksum = {rng.choice(('NONE', 'CRC32'))}"]
        if self.server.is_mariadb:
            choices += [
                f"SET GLOBAL log_bin_compress = {rng.choice(('ON', 'OFF'))}",
                "SET GLOBAL log_bin_compress_min_len = 10",
            ]
        if self.any_metadata and not self.server.is_old:
            levels = ("FULL", "MINIMAL", *(["NO_LOG"] if self.server.is_mariadb else []))
            choices.append(f"SET GLOBAL binlog_row_metadata = {rng.choice(levels)}")
        self.attempt(session, rng.choice(choices))

    def _rotate(self, _: random.Random, session: Session) -> None:
        self.attempt(session, "FLUSH BINARY LOGS")


def reset(server: Server) -> None:
    """The settings that a storm has changed for all, as they were."""
    session = server.connect()
    statements: Sequence[str] = ("SET GLOBAL binlog_checksum = CRC32",)
    if server.is_mariadb:
        statements = (*statements, "SET GLOBAL log_bin_compress = OFF")
    if not server.is_old:
        statements = (*statements, "SET GLOBAL binlog_row_metadata = FULL")
    session.execute(*statements)
    session.close()
