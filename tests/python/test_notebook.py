"""Representations: `repr()` without values and passwords, HTML for notebooks with the first rows."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binarrow
from binarrow import (
    Column,
    FileCheckpoint,
    Key,
    Position,
    SchemaHistory,
    Stream,
    TableSchema,
)
from binarrow.notebook import MAX_CELL, MAX_COLUMNS, MAX_ROWS, batch_html, card
from binarrow.server.target import target

SECRET = "s3cr3t"
HOSTILE = "<script>alert('x')</script>&amp;\"'"


class Table(HTMLParser):
    """The cells of a table in HTML. Each element must be closed, and only these elements are allowed."""

    ELEMENTS = ("div", "strong", "span", "table", "thead", "tbody", "tr", "th", "td", "br")

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in self.ELEMENTS, tag
        assert {name for name, _ in attrs} <= {"style"}
        if tag != "br":
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "td" in self._open or "th" in self._open:
            self.rows[-1][-1] += data


class FakeBatch:
    """A batch of any content, as `batch_html` sees it."""

    def __init__(self, batch: pa.RecordBatch, table: str = "t") -> None:
        self._batch = batch
        self.database, self.table = "d", table
        self.position = Position("binlog.000001", 4)

    def to_pyarrow(self) -> pa.RecordBatch:
        return self._batch


def shown(table: str = "t", **columns: Any) -> Table:
    batch = pa.RecordBatch.from_arrays([*columns.values()], [*columns])
    return Table(batch_html(FakeBatch(batch, table)))  # type: ignore[arg-type]


def test_a_batch_shows_its_first_rows(shop):
    [batch] = [
        batch
        for batch in binarrow.read_binlog(shop.files[0], tables="shop.customers")
        if batch.num_rows > MAX_ROWS
    ][:1]
    table = Table(batch._repr_html_())
    columns = batch.schema.names
    assert [name for name, _ in zip(table.rows[0], columns, strict=True)]
    assert all(head.startswith(name) for head, name in zip(table.rows[0], columns, strict=True))
    assert len(table.rows) == 1 + MAX_ROWS
    first = batch.to_pyarrow().to_pylist()[0]
    assert table.rows[1][columns.index("email")] == first["email"]
    assert f"{batch.num_rows - MAX_ROWS:,} more rows" in table.text
    assert table.text.startswith(f"shop.customers {batch.num_rows:,} rows, {len(columns)} columns")
    assert str(batch.position) in table.text


def test_masked_columns_remain_masked(shop):
    options = {"tables": "shop.customers", "operations": "insert"}
    plain = next(iter(binarrow.read_binlog(shop.files[0], **options)))
    emails = plain.to_pyarrow().column("email").to_pylist()[:MAX_ROWS]
    assert all(email in plain._repr_html_() for email in emails)
    masked = next(
        iter(
            binarrow.read_binlog(
                shop.files[0],
                mask={"*.*.email": "sha256", "*.*.points": "null"},
                mask_salt=SECRET,
                **options,
            )
        )
    )
    html = masked._repr_html_()
    assert not any(email in html for email in emails)
    assert masked.to_pyarrow().column("email")[0].as_py()[:40] in html
    left_out = next(
        iter(binarrow.read_binlog(shop.files[0], columns={"shop.customers": ["id"]}, **options))
    )
    assert "email" not in left_out._repr_html_()


def test_no_repr_of_a_batch_or_reader_contains_values(shop):
    for layout in ("flat", "nested"):
        reader = binarrow.read_binlog(shop.files[0], tables="shop.customers", layout=layout)
        batch = next(iter(reader))
        rows = str(batch.to_pyarrow().to_pylist())
        [email, *_] = re.findall(r"'email': '([^']+)'", rows)
        assert email in batch._repr_html_() or layout == "nested"
        for text in (repr(batch), str(batch), repr(reader), reader._repr_html_()):
            assert email not in text
        assert repr(batch) == (
            f"<ChangeBatch shop.customers, {batch.num_rows} rows,"
            f" {len(batch.schema.names)} columns, position {batch.position}>"
        )


def test_names_and_cells_are_escaped():
    table = shown(HOSTILE, **{HOSTILE: pa.array([HOSTILE, None])})
    assert table.rows == [[f"{HOSTILE}string"], [HOSTILE], ["NULL"]]
    assert HOSTILE in table.text
    assert Table(card(HOSTILE, [(HOSTILE, HOSTILE)])).rows == [[HOSTILE, HOSTILE]]


def test_the_size_is_bounded():
    wide = {f"c{number}": pa.array([number] * 1000) for number in range(5000)}
    table = shown(**wide)
    assert len(table.rows) == 1 + MAX_ROWS
    assert len(table.rows[0]) == MAX_COLUMNS + 1
    assert table.rows[0][0].startswith("c0")
    assert table.rows[0][-1].startswith("c4999")  # the envelope is last
    assert "990 more rows and 4,980 more columns" in table.text

    large = 50_000_000
    columns = {
        "text": pa.array(["é" * large]),
        "bytes": pa.array([b"\xff" * large]),
        "list": pa.array([[1] * 100_000]),
        "deep": pa.array([{"a": {"b": ["x" * 1000] * 1000}, **{f"c{n}": n for n in range(100)}}]),
        "n" * 1000: pa.array([1]),
    }
    batch = pa.RecordBatch.from_arrays([*columns.values()], [*columns])
    html = batch_html(FakeBatch(batch, "t" * 1000))  # type: ignore[arg-type]
    assert len(html) < 10_000
    assert all(len(cell) <= MAX_CELL for cell in Table(html).rows[1])
    assert Table(html).rows[1][0] == "é" * (MAX_CELL - 1) + "…"


def test_cells_of_all_types():
    columns = {
        "number": pa.array([1]),
        "real": pa.array([1.5]),
        "decimal": pa.array([Decimal("12.30")]),
        "flag": pa.array([True]),
        "text": pa.array(["x"], pa.large_string()),
        "view": pa.array(["x"], pa.string_view()),
        "bytes": pa.array([b"\x01\xff"]),
        "fixed": pa.array([b"\x01\xff"], pa.binary(2)),
        "member": pa.array(["new"]).dictionary_encode(),
        "time": pa.array([timedelta(hours=-1)], pa.duration("us")),
        "moment": pa.array([datetime(2026, 1, 2, 3, 4, 5, 6)], pa.timestamp("us", "UTC")),
        "list": pa.array([["a", None]]),
        "struct": pa.array([{"a": 1, "b": None}]),
        "nothing": pa.nulls(1),
    }
    assert shown(**columns).rows[1] == [
        "1", "1.5", "12.30", "True", "x", "x", "0x01ff", "0x01ff", "new",
        "-1 day, 23:00:00", "2026-01-02 03:04:05.000006+00:00",
        "[a, NULL]", "{a: 1, b: NULL}", "NULL",
    ]  # fmt: skip


def test_readers(shop, tmp_path):
    reader = binarrow.read_binlog(shop.glob, batch_rows=100)
    assert repr(reader) == "<BinlogReader of 2 files, not started>"
    assert ["state", "open"] in Table(reader._repr_html_()).rows
    batch = next(reader)
    assert repr(reader) == (
        f"<BinlogReader, 1 batches, {batch.num_rows} rows, position {batch.position}>"
    )
    facts = dict(Table(reader._repr_html_()).rows)
    assert (facts["state"], facts["position"]) == ("open", str(batch.position))
    assert facts["rows"] == str(batch.num_rows)
    reader.close()
    assert repr(reader).startswith("<BinlogReader, closed, 1 batches")
    assert dict(Table(reader._repr_html_()).rows)["state"] == "closed"

    table = binarrow.read_binlog(shop.files[0]).table("shop.orders")
    assert repr(table).startswith("<TableReader of shop.orders, 0 batches, 0 rows")
    table.read_all()
    assert int(dict(Table(table._repr_html_()).rows)["rows"].replace(",", "")) > 0
    everything = binarrow.read_binlog(shop.files[0], types="spark").nested_json()
    assert repr(everything).startswith("<TableReader of all tables, ")

    with Stream(binarrow.read_binlog(shop.glob), FileCheckpoint(tmp_path / "p.json")) as stream:
        first = next(stream)
        assert repr(stream) == f"<Stream, position {first.position}>"
        assert dict(Table(stream._repr_html_()).rows)["position"] == str(first.position)
    assert repr(stream) == "<Stream, closed>"


def test_events(shop):
    events = binarrow.inspect(shop.glob)
    assert repr(events) == "<EventReader of 2 files, 0 events read>"
    next(events)
    assert repr(events) == "<EventReader of 2 files, 1 event read>"
    count = 1 + sum(1 for _ in events)
    assert repr(events) == f"<EventReader of 2 files, {count} events read>"
    assert repr(binarrow.inspect(shop.files[0])).startswith("<EventReader of 1 file, ")


def test_positions():
    plain = Position("binlog.000001", 4711)
    assert repr(plain) == 'Position("binlog.000001", 4711)'
    assert Table(plain._repr_html_()).rows == [["file", "binlog.000001"], ["offset", "4,711"]]
    server = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    full = plain.replace(server=server, gtid_set=f"{server}:1-5")
    assert repr(full) == (f"<Position binlog.000001:4711, server {server}, GTID set {server}:1-5>")
    facts = dict(Table(full._repr_html_()).rows)
    assert (facts["server"], facts["GTID set"]) == (server, f"{server}:1-5")
    many = ",".join(f"{number:08x}-71ca-11e1-9e33-c80aa9429562:1-5" for number in range(1000))
    for position in (plain.replace(gtid_set=many), Position.after_gtids(many)):
        assert len(repr(position)) < 300
        assert repr(position).endswith("…>")
        assert len(position._repr_html_()) < 3000
    assert repr(Position.after_gtids(f"{server}:1")) == f"<Position after GTID set {server}:1>"


def test_positions_inside_a_transaction(shop):
    reader = binarrow.read_binlog(shop.files[0], batch_rows=3)
    position = next(batch.position for batch in reader if batch.position.ahead)
    assert f", ahead: {', '.join(position.ahead)}>" in repr(position)
    assert dict(Table(position._repr_html_()).rows)["tables ahead"] == ", ".join(position.ahead)


def test_structures():
    columns = [
        Column("id", "int", nullable=False, auto_increment=True),
        Column("name", "varchar(20)", nullable=True, default="'x'", comment=HOSTILE),
        Column("upper", "varchar(20)", nullable=True, generated="stored"),
    ]
    keys = [Key("PRIMARY", "primary", ["id"], identifies_rows=True)]
    table = TableSchema("shop", "orders", columns, keys)
    assert Table(table._repr_html_()).rows == [
        ["column", "type", "NULL", "default", "comment"],
        ["id", "int", "NOT NULL", "AUTO_INCREMENT", ""],
        ["name", "varchar(20)", "", "'x'", HOSTILE],
        ["upper", "varchar(20)", "", "generated, stored", ""],
        ["key", "kind", "columns"],
        ["PRIMARY", "primary", "id"],
    ]
    wide = [Column(f"c{number}", "int", nullable=True) for number in range(4000)]
    html = TableSchema("shop", "wide", wide)._repr_html_()
    assert Table(html).text.endswith("… 3,800 more")
    assert len(html) < 200_000


def test_histories(tmp_path: Path):
    with SchemaHistory.open(tmp_path / "history.db", source="shop") as history:
        assert repr(history) == f"<SchemaHistory 'shop' in {tmp_path}/history.db>"
        assert dict(Table(history._repr_html_()).rows)["tables"].startswith("0, 0")
        statement = f"CREATE TABLE t (id INT, v VARCHAR(9) DEFAULT '{SECRET}')"
        history.baseline(f"CREATE DATABASE d; USE d; {statement};", "binlog.000001:4")
        change = history.apply("binlog.000001:200", "d", "CREATE TABLE u (id INT)")
        facts = dict(Table(history._repr_html_()).rows)
        assert facts["tables"] == "2, 0 of them unknown"
        assert facts["covered"] == "binlog.000001:4 to binlog.000001:200"
        assert "CREATE" not in repr(change)
        assert SECRET not in "".join(map(repr, history.changes()))
    closed = dict(Table(history._repr_html_()).rows)
    assert closed["source"] == "shop"


@pytest.mark.parametrize("url", [f"mysql://u:{SECRET}@h/", f"mysql://u:{SECRET}@h,i/?tls=required"])
def test_no_repr_contains_a_password(url):
    found = target(url, environ={"MYSQL_PWD": SECRET})
    assert SECRET not in repr(found)
    assert SECRET not in repr(found.connection_spec())
