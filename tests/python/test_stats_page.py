"""The page of `binarrow stats --html`: complete numbers, escaped names, and nothing from a network."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from binarrow.cli import app
from binarrow.cli.report.counts import Counts
from binarrow.cli.report.page import Report
from binarrow.cli.report.timeline import MAX_BUCKETS, Timeline

VOID = {"meta", "line", "rect"}


class Page(HTMLParser):
    """The elements of a page, its titles of columns, and the cells of its tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()
        assert self.open == [], "all elements are closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1].append(data)


def number(text: str) -> int:
    return int(text.replace(" ", ""))


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["stats", *map(str, arguments)])


def test_the_page_contains_the_numbers_of_stats(shop: Any, tmp_path: Any) -> None:
    path = tmp_path / "changes.html"
    result = run(shop.glob, "--html", path, "--tz", "Asia/Kolkata", "--largest", 12)
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert path.stat().st_mode & 0o777 == 0o600
    page = Page(path.read_text())
    wanted = json.loads(run(shop.glob, "--format", "json", "--largest", 12).stdout)
    by_time, sizes, tables, largest = page.tables
    # Changes by table and minute.
    names, totals = by_time[0][1:], [0] * len(wanted["tables"])
    for row in by_time[1:]:
        assert re.fullmatch(r"2026-11-21 15:\d\d", row[0])
        totals = [one + number(cell) for one, cell in zip(totals, row[1:], strict=True)]
    changes = {
        name: sum(counts[kind] for kind in ("inserts", "updates", "deletes"))
        for name, counts in wanted["tables"].items()
    }
    assert dict(zip(names, totals, strict=True)) == changes
    # The transactions are most of the two files.
    written = sum(file.stat().st_size for file in shop.files)
    assert 0.9 * written < sum(number(row[1]) for row in sizes[1:]) < written
    for row in tables[1:]:
        counts = wanted["tables"][row[0]]
        shown = [*map(number, row[1:])]
        assert shown == [counts[kind] for kind in ("inserts", "updates", "deletes", "bytes")]
    places = [f"{one['file'].rpartition('/')[2]}:{one['offset']}" for one in wanted_largest(wanted)]
    assert [row[0] for row in largest[1:]] == places
    assert [row[1] for row in largest[1:]] == [one["gtid"] for one in wanted_largest(wanted)]
    assert all(row[2].endswith("+05:30") for row in largest[1:])


def wanted_largest(stats: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = stats["largest_transactions"]
    return found


def test_the_page_needs_no_network(shop: Any) -> None:
    result = run(shop.glob, "--html", "-")
    page = Page(result.stdout)
    assert result.exit_code == 0
    assert {"script", "link", "img", "iframe", "object", "a"} & page.tags.keys() == set()
    assert page.tags["svg"] == 2
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert not re.search(r"https?:|url\(|@import|//", result.stdout)


def made(names: list[str], minutes: int) -> str:
    """A page of made-up numbers: one insert per minute and table."""
    begin = datetime(2026, 11, 21, 8, tzinfo=UTC)
    counts = Counts()
    for minute in range(minutes):
        time = int((begin + timedelta(minutes=minute)).timestamp())
        counts.sizes[time // 60] = 100
        for name in names:
            counts.groups.counts[time * 1_000_000, name, "inserts"] = 1
    counts.statements["alter"] = 2
    stats = {
        "changes": minutes * len(names),
        "transactions": minutes,
        "bytes_read": 1,
        "tables": {
            name: {"inserts": minutes, "updates": 0, "deletes": 0, "bytes": 1} for name in names
        },
        "first_commit": begin,
        "last_commit": begin,
        "statements_skipped": 3,
        "dropped_rows_events": 0,
        "largest_transactions": [
            {
                "file": "<b>.000001",
                "offset": 4,
                "bytes": 1,
                "committed": begin,
                "gtid": None,
                "thread_id": None,
                "duration_s": None,
                "changes": 1,
                "tables": {names[0]: {}},
            }
        ],
    }
    return Report(["<i>.000001"], counts, stats, ZoneInfo("Europe/Berlin")).html()


def test_names_are_escaped() -> None:
    names = ["shop.<script>alert(1)</script>", 'shop."><img src=x>', "shop.a\u202eb\x1b[2J"]
    text = made(names, 3)
    page = Page(text)
    assert {"script", "img", "i", "b"} & page.tags.keys() == {"i", "b"}  # legends and times
    assert "<i>.000001" not in text
    assert "<b>.000001" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert names[0] in [row[0] for row in page.tables[2]]
    kinds = [text for _, text in page.texts]
    assert "ALTER" in kinds
    assert "logged as text" in kinds


def test_tables_beyond_the_colours_are_one_series() -> None:
    page = Page(made([f"a.t{number:02}" for number in range(20)], 2))
    assert page.tables[0][0] == ["minute", *(f"a.t0{n}" for n in range(6)), "14 other tables"]
    assert page.tables[0][1] == ["2026-11-21 09:00", *["1"] * 6, "14"]
    classes = {value for name, value in page.attributes if name == "class"}
    assert {f"c{place}" for place in range(7)} <= classes
    assert "c7" not in classes


@pytest.mark.parametrize("minutes", [1, 2, 119, 120, 121, 1440, 100_000, 3_000_000])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_buckets_contain_every_minute(minutes: int, zone: str) -> None:
    first = 29_700_123
    by_minute = Counter({first: 1, first + minutes - 1: 2, first + minutes // 2: 4})
    timeline = Timeline.of(by_minute, ZoneInfo(zone))
    assert timeline.count <= MAX_BUCKETS + 1
    assert sum(timeline.sums(by_minute)) == by_minute.total()
    assert timeline.first <= first
    assert len({timeline.label(bucket) for bucket in range(timeline.count)}) == timeline.count
    if timeline.width >= 60 and minutes < 100_000:
        assert timeline.label(0).endswith(":00")


def test_nothing_found(shop: Any, tmp_path: Any) -> None:
    between = ("--start", "2020-01-01T00:00Z", "--stop", "2020-01-02T00:00Z")
    result = run(shop.glob, *between, "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert "No change was found." in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "minute"], "leave out --by"),
        (["--format", "json"], "leave out --by, --plot and --format"),
        ([], "--html page.html: the file exists"),
    ],
)
def test_calls_that_are_wrong(
    shop: Any, tmp_path: Any, monkeypatch: Any, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if not arguments:
        (tmp_path / "page.html").touch()
    result = run(shop.glob, "--html", "page.html", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "page.html").exists() or not arguments
