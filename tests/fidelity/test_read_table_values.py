"""Rows that `Server.read_table` loads are what SELECT shows and what a stream delivers: cell by cell, every type."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
import pytest

import binarrow
from support import live
from support.oracles import oracle
from support.oracles.compare import as_shown_by_5_7, assert_same_rows, assert_same_tables
from support.oracles.replay import ENVELOPE, TableState, changes_of, remapped, replay
from support.servers.servers import ALL_FLAVORS
from support.workloads import matrix
from support.workloads.matrix import Case, Matrix

SEED = int(os.environ.get("BINARROW_SEED", "1"))


@dataclass(frozen=True)
class Loaded:
    """A batch of loaded rows, as `changes_of` reads it."""

    database: str
    table: str
    batch: pa.RecordBatch

    def to_pyarrow(self) -> pa.RecordBatch:
        return self.batch


@pytest.mark.parametrize("flavor", ALL_FLAVORS)
def test_loaded_rows_are_the_streamed_rows(flavor: str) -> None:
    with live.server(flavor, *matrix.options(flavor)) as server, ExitStack() as stack:
        server.execute("GRANT SELECT, RELOAD ON *.* TO live@'%'")
        source = stack.enter_context(live.reach(server))
        player = Matrix(server, SEED)
        play = player.play(Case("FULL", matrix.cases(flavor)[-1].metadata), 1)
        read = {"schemas": play.schemas, "envelope": ENVELOPE}
        paths = [str(path) for path in play.files]
        schemas = {
            f"{batch.database}.{batch.table}": batch.to_pyarrow().schema
            for batch in binarrow.read_binlog(paths, **read)
        }
        streamed = replay(binarrow.read_binlog(paths, **read), defaults=play.defaults())
        if flavor == "mysql-5.7":
            as_shown_by_5_7(streamed[f"{play.database}.documents"])
        cells = 0
        for name in play.names():
            database, table = name.split(".", 1)
            loaded = TableState(name)
            [[engine]] = server.query(
                "SELECT ENGINE FROM information_schema.TABLES"
                f" WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = '{table}'"
            )
            with source.read_table(name, locks="brief", envelope=ENVELOPE) as rows:
                assert rows.is_exact == (engine == "InnoDB")
                if name in schemas:
                    assert rows.schema.equals(schemas[name], check_metadata=True), name
                for batch in rows:
                    loaded.apply(changes_of(Loaded(database, table, batch)))
            selected = oracle.select(server, name, written_out=True)
            assert_same_tables({name: loaded}, {name: selected}, {})
            wanted = streamed.get(name, TableState(name))
            absent = play.left_out(flavor).get(name, ())
            names = tuple(one for one in loaded.names if one not in absent)
            content = [remapped(row, loaded.names, names) for row in loaded.content(loaded.names)]
            assert_same_rows(name, names, content, wanted.content(names))
            cells += len(names) * len(content)
        assert cells > 1000, cells
