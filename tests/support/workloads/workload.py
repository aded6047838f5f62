"""A random workload for differential tests: every column type, and every shape of transaction.

    tables = run(server, seed=7, transactions=500)

plays it on a server from `servers.py` and gives the tables to compare, as `database.table`: the
rows that a reader gathers from the server's binlog, from its beginning, must be those that SELECT
gives now. The same seed gives the same statements on the same server version.

What a comparison has to know:

* `TRUNCATE` empties a table by a Query event; no table here is dropped or renamed.
* Columns are added while the workload runs, always as NULL for the rows that are there; others are
  dropped, or made wider. Rows that the log holds without a column have NULL in it.
* Tables without a key hold equal rows: compare them as multisets.
* MariaDB 11.8 leaves generated columns out of the images of updates and deletes, whatever
  `binlog_row_image` says: do not compare `GENERATED` there.
* SELECT shows a FLOAT with six digits: compare `CAST(x AS DOUBLE)` or the column's bytes.
* Text may hold any character, NUL and U+FFFF among them; SELECT it with utf8mb4.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pymysql

from support.servers.servers import Server, Session
from support.waiting import until
from support.workloads import values
from support.workloads.table import Column, Table
from support.workloads.type_tables import (
    charset_table,
    mariadb_tables,
    shape_tables,
    type_tables,
    zero_table,
)

DATABASE = "workload"

GENERATED = {f"{DATABASE}.generated": ("half", "third")}

# A system-versioned table holds its history too, a sequence's rows are its counters: `test_mariadb.py` has them.
NOT_COMPARED = (f"{DATABASE}.versioned", f"{DATABASE}.numbers")

# Statements that MySQL 5.7 does not allow with GTIDs, and tables whose structure its log lacks.
NOT_WITH_OLD = {
    *("temporary_table_rolled_back", "create_select", "create_select_that_fails", "alter")
}

# Errors for an XA transaction: the server does not know it, the server has rolled it back.
XAER_NOTA = 1397
XA_RBROLLBACK = 1402


def run(
    server: Server,
    seed: int,
    transactions: int,
    *,
    row_images: Sequence[str] = ("FULL",),
    compressed_share: float = 0.3,
    partial_json: bool = False,
    zero_dates: bool = False,
    extras: bool = False,
) -> list[str]:
    """Plays the workload in a new database; gives the tables to compare, as `database.table`.

    `row_images`: the values of `binlog_row_image` that transactions pick from. `compressed_share`:
    how many of them the log holds compressed. `partial_json` (MySQL): some updates of documents are
    logged as differences. `zero_dates`: adds a table with dates such as '0000-00-00', and with ENUM
    values that are not among the members. `extras`: adds what only MariaDB has: UUID, INET4, INET6,
    compressed columns; a sequence and a system-versioned table, which are not to be compared.
    """
    play = begin(
        server,
        seed,
        row_images=row_images,
        compressed_share=compressed_share,
        partial_json=partial_json,
        zero_dates=zero_dates,
        extras=extras,
    )
    return play.run(transactions)


def begin(
    server: Server,
    seed: int,
    *,
    row_images: Sequence[str] = ("FULL",),
    compressed_share: float = 0.3,
    partial_json: bool = False,
    zero_dates: bool = False,
    extras: bool = False,
) -> Workload:
    """The first half of `run`: the tables are there, without rows."""
    rng = random.Random(seed)
    session = server.connect()
    session.execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4", f"USE {DATABASE}")
    play = Workload(server, session, rng, row_images, compressed_share, partial_json)
    play.create_tables(zero_dates=zero_dates, extras=extras)
    return play


@dataclass
class Prepared:
    """An XA transaction after XA PREPARE, with the rows that it holds locks on."""

    xid: str
    session: Session
    inserted: dict[str, set[int]]
    changed: dict[str, set[int]]


@dataclass
class Workload:
    """A running workload. `step` runs one transaction, or a group of statements instead of one."""

    server: Server
    session: Session
    rng: random.Random
    row_images: Sequence[str]
    compressed_share: float
    partial_json: bool
    tables: dict[str, Table] = field(default_factory=dict)
    copies: list[str] = field(default_factory=list)  # the tables of CREATE TABLE ... SELECT
    prepared: list[Prepared] = field(default_factory=list)
    xa_rows: dict[str, set[int]] = field(default_factory=dict)  # committed and not locked
    counter: int = 0  # for names that are used once

    def run(self, transactions: int) -> list[str]:
        """Plays transactions; gives the tables to compare."""
        for _ in range(transactions):
            self.step()
        self.finish()
        names = {f"{DATABASE}.{name}" for name in (*self.tables, *self.copies)}
        return sorted(names.difference(NOT_COMPARED))

    def created(self) -> dict[str, str]:
        """The output of SHOW CREATE TABLE for each table, for servers whose log does not contain column names."""
        return {
            f"{DATABASE}.{name}": self.session.query(f"SHOW CREATE TABLE {table.sql_name}")[0][1]
            for name, table in self.tables.items()
        }

    def create_tables(self, *, zero_dates: bool, extras: bool) -> None:
        flavor = self.server.flavor
        tables = [*type_tables(flavor), *shape_tables(flavor), charset_table(self.session)]
        if extras and self.server.is_mariadb:
            tables += mariadb_tables(flavor)
            self.session.execute("CREATE SEQUENCE numbers", *["DO NEXTVAL(numbers)"] * 3)
        statements = [table.create() for table in tables]
        if self.server.is_old:
            statements = [one.replace("SET utf8mb3", "SET utf8") for one in statements]
        self.session.execute(*statements)
        self.tables = {table.name: table for table in tables}
        self.xa_rows = {"xa_left": set(), "xa_right": set()}
        self.session.execute(
            "CREATE TRIGGER after_update AFTER UPDATE ON composite FOR EACH ROW"
            " INSERT INTO audit (n, note) VALUES (NEW.n, OLD.b)",
            "CREATE TRIGGER before_delete BEFORE DELETE ON composite FOR EACH ROW"
            " UPDATE audit SET n = NULL WHERE note = OLD.b LIMIT 2",
        )
        if flavor == "mysql":
            self.session.execute(
                "SET SESSION sql_generate_invisible_primary_key = ON",
                "CREATE TABLE generated_key (n INT, note VARCHAR(40) CHARACTER SET utf8mb4)",
                "SET SESSION sql_generate_invisible_primary_key = OFF",
            )
            template = self.tables["keyless"]
            self.tables["generated_key"] = Table("generated_key", template.columns[:2], ")", None)
        if zero_dates:
            table = zero_table()
            self.session.execute("SET SESSION sql_mode = ''", table.create())
            for _ in range(20):
                self.session.execute(table.insert(self.rng, 5), table.update(self.rng))
            self.session.execute("SET SESSION sql_mode = DEFAULT")
            # not among self.tables: the other sessions are strict
            self.copies.append(table.name)

    def step(self) -> None:
        if self.prepared and self.rng.random() < 0.3:
            self.decide_prepared()
        self.vary_session()
        actions: tuple[tuple[int, Callable[[], None]], ...] = (
            (30, self.one_statement),
            (20, self.several_statements),
            (5, self.rolled_back),
            (6, self.savepoints),
            (3, self.temporary_table_rolled_back),
            (3, self.big_transaction),
            (4, self.change_keys),
            (4, self.upsert),
            (3, self.several_tables_at_once),
            (3, self.statement_that_fails),
            (4, self.edit_documents),
            (5, self.plain_table),
            (5, self.insert_select),
            (8, self.xa_transaction),
            (2, self.alter),
            (1, self.truncate),
            (1, self.create_select),
            (1, self.create_select_that_fails),
            (2, self.rotate),
        )
        if self.server.is_old:
            actions = tuple(one for one in actions if one[1].__name__ not in NOT_WITH_OLD)
        [action] = self.rng.choices([a for _, a in actions], [weight for weight, _ in actions])
        action()

    def finish(self) -> None:
        while self.prepared:
            self.decide_prepared()
        self.session.close()

    # ----------------------------------------------------------------------------- settings

    def vary_session(self, session: Session | None = None) -> None:
        """Draws the settings that change how the next transaction is logged."""
        session = session or self.session
        on = "ON" if self.rng.random() < self.compressed_share else "OFF"
        image = self.rng.choice(self.row_images)
        session.execute(f"SET SESSION binlog_row_image = {image}")
        if self.server.is_mariadb:
            session.execute(
                f"SET GLOBAL log_bin_compress = {on}",
                "SET GLOBAL log_bin_compress_min_len = 10",
                f"SET SESSION gtid_domain_id = {self.rng.choice((0, 0, 0, 7))}",
                f"SET SESSION binlog_annotate_row_events = {self.rng.choice(('ON', 'OFF'))}",
            )
            if self.server.flavor != "mariadb-10.5":
                session.execute(
                    f"SET SESSION binlog_alter_two_phase = {self.rng.choice(('ON', 'OFF'))}"
                )
            return
        if self.server.is_old:
            return
        options = "PARTIAL_JSON" if self.partial_json and self.rng.random() < 0.7 else ""
        session.execute(
            f"SET SESSION binlog_transaction_compression = {on}",
            f"SET SESSION binlog_rows_query_log_events = {self.rng.choice(('ON', 'OFF'))}",
            f"SET SESSION binlog_row_value_options = '{options}'",
            f"SET gtid_next = '{self.rng.choice(('AUTOMATIC', 'AUTOMATIC', 'AUTOMATIC:tag_a'))}'",
        )

    # ------------------------------------------------------------- transactions of all kinds

    def statement(self, table: Table | None = None) -> str:
        """An INSERT, UPDATE or DELETE on a table, by default on any transactional one."""
        table = table or self.rng.choice(self.transactional())
        kind = self.rng.random()
        if kind < 0.5:
            verb = "INSERT"
            if table.next_id is None:
                verb = self.rng.choice(("INSERT IGNORE", "REPLACE"))
            return table.insert(self.rng, self.rng.choice((1, 1, 2, 5, 20)), verb)
        if kind < 0.85:
            return table.update(self.rng)
        return table.delete(self.rng)

    def transactional(self) -> list[Table]:
        left_out = {"plain", "aria", "xa_left", "xa_right"}
        return [table for table in self.tables.values() if table.name not in left_out]

    @contextmanager
    def transaction(self, end: str = "COMMIT") -> Iterator[None]:
        self.session.execute(self.rng.choice(("BEGIN", "START TRANSACTION")))
        yield
        self.session.execute(end)

    def one_statement(self) -> None:
        self.session.execute(self.statement())

    def several_statements(self) -> None:
        with self.transaction():
            self.session.execute(*(self.statement() for _ in range(self.rng.randint(2, 8))))

    def rolled_back(self) -> None:
        with self.transaction("ROLLBACK"):
            self.session.execute(*(self.statement() for _ in range(self.rng.randint(1, 4))))

    def savepoints(self) -> None:
        with self.transaction():
            self.session.execute(self.statement(), "SAVEPOINT `a 1`", self.statement())
            if self.rng.random() < 0.5:
                self.session.execute("SAVEPOINT b", self.statement(), "ROLLBACK TO SAVEPOINT b")
            if self.server.is_mariadb and self.rng.random() < 0.5:
                # what cannot be undone keeps the log from being cut back: ROLLBACK TO is logged
                self.session.execute(self.statement(self.tables["plain"]), self.statement())
            if self.rng.random() < 0.3 and not self.server.is_old:
                self.session.execute(f"CREATE TEMPORARY TABLE {self.new_name('temp')} (a INT)")
            self.session.execute("ROLLBACK TO SAVEPOINT `a 1`", self.statement())
            if self.rng.random() < 0.5:
                self.session.execute("RELEASE SAVEPOINT `a 1`")

    def temporary_table_rolled_back(self) -> None:
        """MariaDB logs this transaction, with a ROLLBACK at its end."""
        name = self.new_name("temp")
        with self.transaction("ROLLBACK"):
            self.session.execute(self.statement(), f"CREATE TEMPORARY TABLE {name} (a INT)")
            self.session.execute(f"INSERT INTO {name} VALUES (1)", self.statement())
        self.session.execute(f"DROP TEMPORARY TABLE IF EXISTS {name}")

    def big_transaction(self) -> None:
        with self.transaction():
            for _ in range(self.rng.randint(1, 3)):
                table = self.rng.choice([table for table in self.transactional() if table.next_id])
                rows = 20 if table.name == "documents" else self.rng.choice((100, 400))
                self.session.execute(table.insert(self.rng, rows))
                if self.rng.random() < 0.3:
                    self.session.execute(table.update(self.rng, ""))
                if self.rng.random() < 0.3:
                    self.session.execute(table.delete(self.rng, "WHERE id % 5 = 3"))

    def change_keys(self) -> None:
        table = self.rng.choice([table for table in self.transactional() if table.next_id])
        where = f"WHERE id = {self.rng.randint(1, table.next_id or 1)}"
        self.session.execute(f"UPDATE {table.sql_name} SET id = {table.new_id()} {where}")

    def upsert(self) -> None:
        table = self.tables[self.rng.choice(("composite", "unique_key"))]
        insert = table.insert(self.rng, self.rng.randint(1, 5))
        self.session.execute(f"{insert} ON DUPLICATE KEY UPDATE n = {self.rng.randint(-9, 9)}")

    def several_tables_at_once(self) -> None:
        first = self.rng.randint(1, self.tables["ints"].next_id or 1)
        where = f"ints.id BETWEEN {first} AND {first + 9}"
        if self.rng.random() < 0.7:
            sets = f"ints.`int` = {self.rng.randint(-99, 99)}, decimals.d10_2 = ints.`tinyint`"
            self.session.execute(f"UPDATE ints JOIN decimals USING (id) SET {sets} WHERE {where}")
        else:
            joined = "ints JOIN floats USING (id)"
            self.session.execute(f"DELETE ints, floats FROM {joined} WHERE {where}")

    def statement_that_fails(self) -> None:
        """A statement undone in the middle of a transaction that continues."""
        table = self.tables["partitioned"]
        with self.transaction():
            self.session.execute(self.statement())
            insert = table.insert(self.rng, 3)
            self.session.execute(insert)
            self.fail(f"{table.insert(self.rng, 2)}, {insert.split(' VALUES ')[1]}")
            self.session.execute(self.statement())

    def edit_documents(self) -> None:
        """Changes inside documents, which `binlog_row_value_options` can log as differences."""
        column = self.rng.choice(("doc", "required"))
        change = self.rng.choice(
            (
                f"JSON_SET({column}, '$.a', {self.rng.randint(-9, 9)}, '$.\"ключ\"', 'new')",
                f"JSON_SET({column}, '$[0]', JSON_ARRAY('x', 1.5))",
                f"JSON_REPLACE({column}, '$.a', '🎉', '$[1]', NULL)",
                f"JSON_REMOVE({column}, '$.b', '$.aa')",
                f"JSON_ARRAY_APPEND({column}, '$', 'tail')",
            )
        )
        table = self.tables["documents"]
        where = f"WHERE id >= {self.rng.randint(1, table.next_id or 1)} LIMIT 10"
        self.session.execute(f"UPDATE documents SET {column} = {change} {where}")

    def plain_table(self) -> None:
        """Tables whose changes cannot be rolled back."""
        table = self.tables["plain"]
        if self.server.is_mariadb:
            table = self.rng.choice((table, self.tables["aria"]))
            if self.rng.random() < 0.4:  # (MySQL with GTIDs forbids the mixture)
                with self.transaction(self.rng.choice(("COMMIT", "ROLLBACK"))):
                    self.session.execute(self.statement(), self.statement(table), self.statement())
                return
        self.session.execute(self.statement(table))
        if self.rng.random() < 0.3:
            insert = table.insert(self.rng, 1)
            self.session.execute(insert)
            # two rows stay, the third is refused
            self.fail(f"{table.insert(self.rng, 2)}, {insert.split(' VALUES ')[1]}")

    def insert_select(self) -> None:
        rows = "SELECT n, note, '2020-02-02' FROM partitioned ORDER BY id DESC LIMIT 20"
        self.session.execute(f"INSERT INTO keyless (n, note, c) {rows}")

    # ------------------------------------------------------------------------------------ XA

    def xa_transaction(self) -> None:
        """On tables of their own: prepared transactions hold locks for a while."""
        self.counter += 1
        name = f"X'{self.counter:08x}'"
        xid = self.rng.choice(
            (name, f"{name}, 'branch'", f"{name}, X'00ff', {self.rng.randint(1, 9)}")
        )
        session = self.server.connect()
        session.execute(f"USE {DATABASE}", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        self.vary_session(session)
        one = Prepared(xid, session, {}, {})
        session.execute(f"XA START {xid}")
        for _ in range(self.rng.randint(0, 4)):
            self.xa_statement(one)
        session.execute(f"XA END {xid}")
        if self.rng.random() < 0.25:
            session.execute(f"XA COMMIT {xid} ONE PHASE")
            self.release(one, committed=True)
        elif self.rng.random() < 0.15:
            session.execute(f"XA ROLLBACK {xid}")
            self.release(one, committed=False)
        else:
            session.execute(f"XA PREPARE {xid}")
            self.prepared.append(one)
            if self.rng.random() < 0.3 or len(self.prepared) > 4:
                self.decide_prepared()

    def xa_statement(self, one: Prepared) -> None:
        name = self.rng.choice(sorted(self.xa_rows))
        table, free = self.tables[name], self.xa_rows[name]
        if not free or self.rng.random() < 0.6:
            ids = {table.new_id()}
            assert table.next_id is not None
            table.next_id -= 1
            one.session.execute(table.insert(self.rng))
            one.inserted.setdefault(name, set()).update(ids)
            return
        row = self.rng.choice(sorted(free))
        free.remove(row)
        if self.rng.random() < 0.6:
            one.session.execute(table.update(self.rng, f"WHERE id = {row}"))
        else:
            one.session.execute(table.delete(self.rng, f"WHERE id = {row}"))
        one.changed.setdefault(name, set()).add(row)

    def decide_prepared(self) -> None:
        """Commits or rolls back a prepared transaction, from its own session or from another."""
        one = self.prepared.pop(self.rng.randrange(len(self.prepared)))
        committed = self.rng.random() < 0.65
        session = one.session
        if self.rng.random() < 0.4:
            session = self.after(session)
        statement = f"XA {'COMMIT' if committed else 'ROLLBACK'} {one.xid}"

        def decided() -> str | None:
            try:
                session.execute(statement)
            except pymysql.err.MySQLError as error:
                if error.args[0] == XA_RBROLLBACK:  # it had changed nothing, its session is closed
                    return "rolled back"
                if error.args[0] != XAER_NOTA:  # else the disconnection has not been noticed yet
                    raise
                return None
            return "as requested"

        committed = until(decided) == "as requested" and committed
        one.session = session
        self.release(one, committed=committed)

    def after(self, session: Session) -> Session:
        """Opens another session after this one has ended on the server.

        While it is going, MySQL 5.7 and MariaDB may log another's decision and not carry it out.
        """
        session.close_and_wait()
        return self.server.connect()

    def release(self, one: Prepared, *, committed: bool) -> None:
        """Gives back the rows that a transaction had locked, those it deleted too: see below."""
        for name, ids in one.changed.items():
            self.xa_rows[name] |= ids  # (a deleted row's id matches nothing from now on)
        if committed:
            for name, ids in one.inserted.items():
                self.xa_rows[name] |= ids
        one.session.close()

    # ----------------------------------------------------------------------------------- DDL

    def alter(self) -> None:
        table = self.tables["evolving"]
        added = table.columns[2:]
        kind = self.rng.choice(("add", "add", "drop", "widen"))
        if kind == "add" or not added:
            column = self.rng.choice(
                (
                    Column("", "INT", values.integer(32)),
                    Column("", "VARCHAR(20) CHARACTER SET latin1", values.text("latin1", 20)),
                    Column("", "DECIMAL(10,3)", values.decimal(10, 3)),
                    Column("", "TIMESTAMP(3) NULL", values.timestamp(3)),
                    Column("", "ENUM('a', 'b', 'ü') CHARACTER SET utf8mb4", values.member(3)),
                )
            )
            column.name = self.new_name("added")
            place = self.rng.choice(("FIRST", "AFTER n", ""))
            change = f"ADD COLUMN {column.name} {column.definition} {place}"
            table.columns.append(column)
        elif kind == "drop":
            column = self.rng.choice(added)
            table.columns.remove(column)
            change = f"DROP COLUMN {column.name}"
        else:
            wider = {"INT": "BIGINT", "DECIMAL(10,3)": "DECIMAL(20,5)"}
            column = self.rng.choice(added)
            column.definition = wider.get(column.definition, column.definition)
            change = f"MODIFY COLUMN {column.name} {column.definition}"
        self.session.execute(f"ALTER TABLE evolving {change}")

    def truncate(self) -> None:
        self.session.execute("TRUNCATE TABLE truncated")

    def create_select(self) -> None:
        if len(self.copies) >= 12:
            return
        name = self.new_name("copy")
        # (MariaDB logs the new table's definition in utf8mb3: an ENUM's emoji becomes a '?' there)
        left_out = {"generated_key", "choices" if self.server.is_mariadb else ""}
        source = self.rng.choice([t for t in self.transactional() if t.name not in left_out])
        engine = self.rng.choice(self.engines())
        key = "(PRIMARY KEY (id)) " if source.next_id is not None else ""
        select = f"SELECT * FROM {source.sql_name}"
        self.session.execute(f"CREATE TABLE {name} {key}ENGINE={engine} {select}")
        self.copies.append(name)

    def create_select_that_fails(self) -> None:
        rows = "SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 1"
        engine = self.rng.choice(self.engines())
        self.fail(
            f"CREATE TABLE {self.new_name('broken')} (PRIMARY KEY (a)) ENGINE={engine} {rows}"
        )

    def engines(self) -> Sequence[str]:
        """The engines for CREATE TABLE ... SELECT; MySQL with GTIDs wants one that can undo it."""
        return ("InnoDB", "MyISAM", "Aria") if self.server.is_mariadb else ("InnoDB",)

    def rotate(self) -> None:
        self.session.execute("FLUSH BINARY LOGS")

    def fail(self, statement: str) -> None:
        try:
            self.session.execute(statement)
        except pymysql.err.IntegrityError:
            return
        message = "the statement was meant to fail"
        raise AssertionError(message)

    def new_name(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}_{self.counter}"
