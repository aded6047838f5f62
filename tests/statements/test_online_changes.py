"""Online schema changes with the statements of gh-ost and pt-online-schema-change, and writes in between.

Also statements that resemble them: an ordinary reload by a swap of tables with the same names, and a swap back.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

import binarrow
from binarrow import ChangeBatch, SchemaChange, SchemaError
from binarrow.spark import decoder
from support.live import COLUMNS, reach
from support.oracles.changes import joined, shown
from support.servers.servers import Server

TABLE = "CREATE TABLE online.t (id DECIMAL(9,0) PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4)"

GH_OST = """\
create /* gh-ost */ table `online`.`_t_ghc` (
  id decimal(9,0) not null, last_update timestamp not null default current_timestamp,
  hint varchar(64) charset ascii not null, value varchar(4096) charset ascii not null,
  primary key(id), unique key hint_uidx(hint)) comment='gh-ost'
insert /* gh-ost */ into `online`.`_t_ghc` (id, hint, value) values (2, 'state', 'GhostTableMigrated')
create /* gh-ost */ table `online`.`_t_gho` like `online`.`t`
alter /* gh-ost */ table `online`.`_t_gho` add column w decimal(9,0)
insert /* gh-ost `online`.`t` */ ignore into `online`.`_t_gho` (id, v) (select id, v from `online`.`t`)
INSERT INTO online.t VALUES (11, 'while')
replace /* gh-ost */ into `online`.`_t_gho` (id, v) values (11, 'while')
create /* gh-ost */ table `online`.`{old}` (id int auto_increment primary key) engine=InnoDB comment='ghost-cut-over-sentry'
drop /* gh-ost */ table `online`.`{old}`
rename /* gh-ost */ table `online`.`t` to `online`.`{old}`, `online`.`_t_gho` to `online`.`t`
INSERT INTO online.t VALUES (12, 'behind', 1)
drop /* gh-ost */ table if exists `online`.`_t_ghc`
drop /* gh-ost */ table if exists `online`.`{old}`"""

TWO_STEPS = (
    "alter /* gh-ost */ table `online`.`t` rename `_t_del`\n"
    "alter /* gh-ost */ table `online`.`_t_gho` rename `t`"
)

PT_OSC = """\
CREATE TABLE `online`.`{new}` (`id` decimal(9,0) NOT NULL, `v` varchar(20) CHARACTER SET utf8mb4 DEFAULT NULL, PRIMARY KEY (`id`))
ALTER TABLE `online`.`{new}` add column w decimal(9,0)
CREATE TRIGGER `pt_osc_online_t_del` AFTER DELETE ON `online`.`t` FOR EACH ROW BEGIN \
DECLARE CONTINUE HANDLER FOR 1146 begin end; DELETE IGNORE FROM `online`.`{new}` WHERE `online`.`{new}`.`id` <=> OLD.`id`; END
CREATE TRIGGER `pt_osc_online_t_upd` AFTER UPDATE ON `online`.`t` FOR EACH ROW BEGIN \
DECLARE CONTINUE HANDLER FOR 1146 begin end; DELETE IGNORE FROM `online`.`{new}` WHERE !(OLD.`id` <=> NEW.`id`) AND \
`online`.`{new}`.`id` <=> OLD.`id`; REPLACE INTO `online`.`{new}` (`id`, `v`) VALUES (NEW.`id`, NEW.`v`); END
CREATE TRIGGER `pt_osc_online_t_ins` AFTER INSERT ON `online`.`t` FOR EACH ROW BEGIN \
DECLARE CONTINUE HANDLER FOR 1146 begin end; REPLACE INTO `online`.`{new}` (`id`, `v`) VALUES (NEW.`id`, NEW.`v`); END
INSERT LOW_PRIORITY IGNORE INTO `online`.`{new}` (`id`, `v`) SELECT `id`, `v` FROM `online`.`t` LOCK IN SHARE MODE
INSERT INTO online.t VALUES (11, 'while')
ANALYZE TABLE `online`.`{new}`
RENAME TABLE `online`.`t` TO `online`.`{old}`, `online`.`{new}` TO `online`.`t`
INSERT INTO online.t VALUES (12, 'behind', 1)
DROP TABLE IF EXISTS `online`.`{old}`
DROP TRIGGER IF EXISTS `online`.`pt_osc_online_t_del`"""

SWAPS = {
    "gh-ost": (GH_OST.format(old="_t_del"), ["alter online.t by gh-ost"], {"_t_gho", "_t_ghc"}),
    "gh-ost-timestamp": (
        GH_OST.format(old="_t_20261121093000_del"),
        ["alter online.t by gh-ost"],
        {"_t_gho", "_t_ghc"},
    ),
    "gh-ost-two-steps": (
        GH_OST.format(old="_t_del").replace(
            "rename /* gh-ost */ table `online`.`t` to `online`.`_t_del`, `online`.`_t_gho` to `online`.`t`",
            TWO_STEPS,
        ),
        ["rename online.t by gh-ost", "alter online.t by gh-ost"],
        {"_t_gho", "_t_ghc"},
    ),
    "pt-osc": (
        PT_OSC.format(new="_t_new", old="_t_old"),
        ["alter online.t by pt-online-schema-change"],
        {"_t_new"},
    ),
    "pt-osc-underscores": (
        PT_OSC.format(new="___t_new", old="__t_old"),
        ["alter online.t by pt-online-schema-change"],
        {"___t_new"},
    ),
}


pytestmark = pytest.mark.filterwarnings("ignore:.*not in the requested schema")

WARNED = "are left out: with online_schema_change='trust'"
ADVICE = r"continue with online_schema_change='trust'$"
THREADS = ({"threads": 1}, {"threads": 4, "segment_bytes": 200})


class Log:
    """A file of the log with statements played into it."""

    def __init__(self, server: Server, *statements: str) -> None:
        server.flush_binlog()
        session = server.connect()
        session.execute(
            "CREATE DATABASE online",
            "USE online",
            TABLE,
            "INSERT INTO online.t VALUES (1, 'before')",
        )
        for statement in statements:
            session.execute(statement)
        session.execute("DROP DATABASE online")
        session.close()
        self.file = server.flush_binlog()

    def read(self, **keywords: Any) -> list[binarrow.Change]:
        """Reads the changes of the table itself from the log."""
        keywords = {"tables": "online.t", **COLUMNS, **keywords}
        return list(binarrow.read_binlog(self.file, include="schema_change", **keywords))

    def mirror(
        self, truncates: Literal["error", "emit", "skip"], **keywords: Any
    ) -> list[tuple[str, int]]:
        """The rows that a mirror of the table reads, up to the DROP DATABASE."""
        schema = self.schema
        with binarrow.read_binlog(self.file, stop=self.dropped, **COLUMNS, **keywords) as log:
            table = log.table(
                "online.t", schema=schema, on_schema_change="conform", truncates=truncates
            )
            rows = table.read_all().to_pylist()
        return [(row["_change_type"], int(row[schema.names[0]])) for row in rows]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the first rows: servers differ in whether they log names."""
        first = next(change for change in self.read() if isinstance(change, ChangeBatch))
        return pa.schema(first.to_pyarrow().schema)

    @property
    def dropped(self) -> binarrow.Position:
        """Before the DROP DATABASE."""
        return self.positions()[-2]

    def positions(self) -> list[binarrow.Position]:
        """The position after each statement."""
        with binarrow.read_binlog(
            self.file, include="schema_change", batch_end="transaction", **COLUMNS
        ) as reader:
            return [change.position for change in reader]


class Online(Log):
    """A log with one online schema change in it."""

    def __init__(self, server: Server, tool: str) -> None:
        statements, self.swap, self.ghosts = SWAPS[tool]
        self.tool = "gh-ost" if "gh-ost" in tool else "pt-online-schema-change"
        super().__init__(
            server, *statements.replace(",\n  ", ", ").replace("(\n  ", "(").split("\n")
        )


@pytest.fixture(scope="module", params=SWAPS)
def online(live_server: Server, request: pytest.FixtureRequest) -> Online:
    return Online(live_server, request.param)


def warned(records: pytest.WarningsRecorder) -> list[str]:
    return [str(record.message).split()[2] for record in records if WARNED in str(record.message)]


def tables_of(changes: list[binarrow.Change]) -> set[str]:
    return {change.table for change in changes if isinstance(change, ChangeBatch)}


@pytest.mark.filterwarnings("error:.*(left out|other rows):binarrow.BinarrowWarning")
@pytest.mark.parametrize("how", THREADS)
def test_the_swap_is_one_change_of_the_table(online: Online, how: dict[str, int]) -> None:
    changes = online.read(**how)
    expected = ["create online", "create online.t", "t 2", *online.swap, "t 1", "drop online"]
    assert joined(changes) == expected
    *_, last = (change for change in changes if isinstance(change, ChangeBatch))
    assert len(last.to_pyarrow().to_pylist()[0]) == 3 + 4  # the new column, and the envelope
    assert online.mirror("error", **how) == [("insert", key) for key in (1, 11, 12)]


@pytest.mark.parametrize("how", THREADS)
def test_the_tools_tables_are_left_out_at_the_callers_word(
    online: Online, how: dict[str, int]
) -> None:
    # Once for each table, however many threads and segments it was met in.
    with pytest.warns(binarrow.BinarrowWarning) as records:
        changes = online.read(tables="online.*", online_schema_change="trust", **how)
    assert sorted(warned(records)) == sorted(f"online.{name}" for name in online.ghosts)
    assert joined(changes) == joined(online.read())


@pytest.mark.filterwarnings("error:.*(left out|other rows):binarrow.BinarrowWarning")
def test_without_it_they_are_tables_like_all_others(online: Online) -> None:
    changes = online.read(tables="online.*")
    assert tables_of(changes) == {"t", *online.ghosts}
    swaps = [change for change in changes if isinstance(change, SchemaChange) and change.tool]
    assert {(swap.kind, swap.tool) for swap in swaps} == {("rename", online.tool)}
    assert {"online.t"} < {table for swap in swaps for table in swap.tables}


@pytest.mark.filterwarnings("error:.*(left out|other rows):binarrow.BinarrowWarning")
def test_a_table_that_is_named_comes(online: Online) -> None:
    named = [f"online.{name}" for name in online.ghosts]
    changes = online.read(tables=["online.t", *named], online_schema_change="trust")
    assert tables_of(changes) == {"t", *online.ghosts}
    trusting = binarrow.read_binlog(online.file, online_schema_change="trust", **COLUMNS)
    assert trusting.table(named[0]).read_all().num_rows >= 1


def test_a_reading_that_starts_after_the_marks_of_the_tool(online: Online) -> None:
    changes = online.read(batch_end="transaction")
    _, before, _ = (change.position for change in changes if isinstance(change, ChangeBatch))
    if online.tool == "gh-ost":  # whose swap has the comment
        assert online.mirror("error", start=before) == [("insert", 12)]
        return
    for truncates in ("error", "emit"):
        with pytest.raises(SchemaError, match=ADVICE):
            online.mirror(truncates, start=before)
    assert online.mirror("error", start=before, online_schema_change="trust") == [("insert", 12)]


@pytest.mark.filterwarnings("ignore:rows of online:binarrow.BinarrowWarning")
def test_a_stream_does_the_same(live_server: Server, online: Online) -> None:
    with reach(live_server) as connection:
        start = f"{online.file.name}:4"
        with connection.stream(
            start, stop="end", include="schema_change", tables="online.t", **COLUMNS
        ) as stream:
            lines = [shown(change) for change in stream]
    first = lines[: lines.index("drop online")]
    assert [line for line in first if " by " in line] == online.swap


NAMES = {"gh-ost": ("_t_gho", "_t_del"), "pt-online-schema-change": ("_t_new", "_t_old")}


@pytest.mark.parametrize("tool", NAMES)
def test_a_reload_by_the_names_of_a_tool(live_server: Server, tool: str) -> None:
    copy, old = NAMES[tool]
    log = Log(
        live_server,
        f"CREATE TABLE {copy} LIKE t",
        f"INSERT INTO {copy} VALUES (2, 'loaded')",
        f"RENAME TABLE t TO {old}, {copy} TO t",
        "INSERT INTO t VALUES (3, 'after')",
    )
    renamed = f"rename online.t online.{old} online.{copy}"
    for how in THREADS:
        for truncates in ("error", "emit"):
            with pytest.raises(
                SchemaError, match=f"other rows by a RENAME .*of {tool}, .*{ADVICE}"
            ):
                log.mirror(truncates, **how)
        assert renamed in joined(log.read(**how))
    with pytest.warns(binarrow.BinarrowWarning, match=f"other rows by a RENAME .*{ADVICE}"):
        assert log.mirror("skip") == [("insert", 1), ("insert", 3)]
    # Rows of a table whose name alone resembles a tool's are returned like all others.
    assert tables_of(log.read(tables="online.*")) == {"t", copy}
    assert log.mirror("error", online_schema_change="trust") == [("insert", 1), ("insert", 3)]


def test_a_swap_back(live_server: Server) -> None:
    statements, _, _ = SWAPS["pt-osc"]
    kept = [line for line in statements.split("\n") if not line.startswith("DROP")]
    back = "RENAME TABLE `online`.`t` TO `online`.`_t_new`, `online`.`_t_old` TO `online`.`t`"
    log = Log(live_server, *kept, back, "INSERT INTO online.t VALUES (13, 'again')")
    for keywords in ({}, {"online_schema_change": "trust"}):
        with pytest.raises(SchemaError, match="other rows by a RENAME"):
            log.mirror("error", **keywords)
    again = Log(live_server, *kept, back, kept[-2])
    with pytest.raises(SchemaError, match="other rows by a RENAME"):
        again.mirror("error")
    lines = joined(again.read())
    assert [line for line in lines if " by " in line] == [
        "alter online.t by pt-online-schema-change"
    ]


def test_a_task_of_spark_takes_the_callers_word(live_server: Server) -> None:
    log = Log(
        live_server,
        "CREATE TABLE _t_new LIKE t",
        "RENAME TABLE t TO _t_old, _t_new TO t",
        "INSERT INTO t VALUES (3, 'after')",
    )
    names = log.schema.names
    schema = from_arrow_schema(log.schema.remove_metadata())

    def rows(**given: Any) -> list[int]:
        decode = decoder("online.t", schema, **COLUMNS, **given)
        batches = decode(iter([pa.record_batch({"path": [str(log.file)]})]))
        return [int(key) for batch in batches for key in batch.column(names[0]).to_pylist()]

    with pytest.raises(SchemaError, match=ADVICE):
        rows(truncates="error")
    with pytest.warns(binarrow.BinarrowWarning, match=ADVICE):
        assert rows() == [1, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error", binarrow.BinarrowWarning)
        assert rows(online_schema_change="trust") == [1, 3]
