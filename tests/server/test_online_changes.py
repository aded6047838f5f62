"""Online schema changes, their statements as gh-ost and pt-online-schema-change send them, with writes in between."""

from __future__ import annotations

from typing import Any

import pytest
from live import COLUMNS, reach
from servers import Server
from test_items import joined, shown

import binarrow
from binarrow import ChangeBatch, SchemaChange

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
CREATE TRIGGER `online`.`pt_osc_online_t_ins` AFTER INSERT ON `online`.`t` FOR EACH ROW \
REPLACE INTO `online`.`{new}` (`id`, `v`) VALUES (NEW.`id`, NEW.`v`)
INSERT LOW_PRIORITY IGNORE INTO `online`.`{new}` (`id`, `v`) SELECT `id`, `v` FROM `online`.`t` LOCK IN SHARE MODE
INSERT INTO online.t VALUES (11, 'while')
ANALYZE TABLE `online`.`{new}`
RENAME TABLE `online`.`t` TO `online`.`{old}`, `online`.`{new}` TO `online`.`t`
INSERT INTO online.t VALUES (12, 'behind', 1)
DROP TABLE IF EXISTS `online`.`{old}`"""

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


class Online:
    """A log with one online schema change in it."""

    def __init__(self, server: Server, tool: str) -> None:
        statements, self.swap, self.ghosts = SWAPS[tool]
        server.flush_binlog()
        session = server.connect()
        session.execute(
            "CREATE DATABASE online",
            "USE online",
            TABLE,
            "INSERT INTO online.t VALUES (1, 'before')",
        )
        for statement in statements.replace(",\n  ", ", ").replace("(\n  ", "(").split("\n"):
            session.execute(statement)
        session.execute("DROP DATABASE online")
        session.close()
        self.file = server.flush_binlog()

    def read(self, **keywords: Any) -> list[binarrow.Change]:
        """What the log gives of the table itself."""
        keywords = {"tables": "online.*", **COLUMNS, **keywords}
        return list(binarrow.read_binlog(self.file, include="schema_change", **keywords))


@pytest.fixture(scope="module", params=SWAPS)
def online(live_server: Server, request: pytest.FixtureRequest) -> Online:
    return Online(live_server, request.param)


def warned(records: pytest.WarningsRecorder) -> list[str]:
    return [
        str(record.message).split()[2]
        for record in records
        if "are left out" in str(record.message)
    ]


def test_the_swap_is_one_change_of_the_real_table(online: Online) -> None:
    with pytest.warns(binarrow.BinarrowWarning) as records:
        changes = online.read(threads=1)
    assert sorted(warned(records)) == sorted(f"online.{name}" for name in online.ghosts)
    assert joined(changes) == [
        "create online",
        "create online.t",
        "t 2",
        *online.swap,
        "t 1",
        "drop online",
    ]
    *_, last = (change for change in changes if isinstance(change, ChangeBatch))
    assert len(last.to_pyarrow().to_pylist()[0]) == 3 + 4  # the new column, and the envelope
    # Once for each table, however many threads and segments it was met in.
    with pytest.warns(binarrow.BinarrowWarning) as records:
        again = online.read(threads=4, segment_bytes=200)
    assert sorted(warned(records)) == sorted(f"online.{name}" for name in online.ghosts)
    assert joined(again) == joined(changes)


@pytest.mark.filterwarnings("error::binarrow.BinarrowWarning")
def test_all_tables_are_alike_where_that_is_asked_for(online: Online) -> None:
    changes = online.read(ghost_tables="keep")
    tables = {change.table for change in changes if isinstance(change, ChangeBatch)}
    assert tables == {"t", *online.ghosts}
    assert not any(change.tool for change in changes if isinstance(change, SchemaChange))


@pytest.mark.filterwarnings("error::binarrow.BinarrowWarning")
def test_a_table_that_is_named_comes(online: Online) -> None:
    named = [f"online.{name}" for name in online.ghosts]
    changes = online.read(tables=["online.t", *named])
    tables = {change.table for change in changes if isinstance(change, ChangeBatch)}
    assert tables == {"t", *online.ghosts}
    one = named[0]
    table = binarrow.read_binlog(online.file, **COLUMNS).table(one)
    assert table.read_all().num_rows >= 1


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
