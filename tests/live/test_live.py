"""Reading a server's log while it is written: what comes is what the server holds and its files say.

`BINARROW_CUTS=600` cuts 200 connections a server and way of reading, more than the usual test does.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import binarrow
from binarrow import Position
from support import live
from support.extent import rounds
from support.live import Played, flat, reach
from support.oracles.compare import assert_same_tables
from support.servers.proxy import cutting

TRANSACTIONS = 120
CUTS = rounds("BINARROW_CUTS", 24, 60)

# A reader of files looks at what was prepared before the start, a server does not send it.
WITHOUT_XA = {"exclude_tables": [f"workload.{name}" for name in ("numbers", "xa_left", "xa_right")]}

WAYS: dict[str, dict[str, Any]] = {
    "file": {},
    "gtid": {},
    "tls": {"tls": "required"},
    "zlib": {"compression": "zlib"},
    "gtid-tls-zlib": {"tls": "required", "compression": "zlib"},
    "zstd": {"compression": "zstd"},
    "gtid-tls-zstd": {"tls": "required", "compression": "zstd"},
}


pytestmark = pytest.mark.filterwarnings("ignore::binarrow.BinarrowWarning")  # see WITHOUT_XA


def ways(flavor: str) -> list[str]:
    """Those that a server offers."""
    return [way for way in WAYS if "zstd" not in way or flavor == "mysql"]


@pytest.fixture(scope="module", params=live.SERVERS)
def played(request: pytest.FixtureRequest) -> Iterator[Played]:
    flavor = request.param
    with live.played(flavor, {way: WAYS[way] for way in ways(flavor)}, TRANSACTIONS) as play:
        yield play


def everything(played: Played) -> str:
    return f"{played.files[0].name}:4"


def test_streaming_while_it_happens_gives_what_select_gives(played: Played) -> None:
    for way in ways(played.server.flavor):
        compared = assert_same_tables(played.replayed(way), played.selected, played.left_out)
        assert compared.rows > 500, way
        assert flat(played.streamed[way]) == played.changes(), way


def test_from_the_oldest_file(played: Played) -> None:
    with reach(played.server) as connection:
        stream = connection.stream("earliest", stop="end", **played.keywords)
        assert flat(stream) == played.changes()


def commit_times(played: Played) -> list[datetime]:
    """When transactions were committed, as the log has it."""
    paths = [str(path) for path in played.files]
    keywords = {**played.keywords, "envelope": ("commit_timestamp",)}
    return sorted(
        {
            cell
            for batch in binarrow.read_binlog(paths, **keywords)
            for cell in batch.to_pyarrow().column("_commit_timestamp").to_pylist()
        }
    )


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_from_a_time_and_to_one(played: Played, share: float) -> None:
    times = commit_times(played)
    middle = times[int(len(times) * share)]
    keywords = {**played.keywords, **WITHOUT_XA}
    with reach(played.server) as connection:
        after = flat(connection.stream(middle, stop="end", **keywords))
        before = flat(connection.stream(everything(played), stop=middle, **keywords))
    assert after == played.changes(start=middle, **WITHOUT_XA)
    assert before == played.changes(stop=middle, **WITHOUT_XA)
    far = datetime.now(UTC) + timedelta(days=1)
    with reach(played.server) as connection:
        assert flat(connection.stream(far, stop="end", **played.keywords)) == []


# --------------------------------------------------------------------------------------- GTIDs


def sets(played: Played) -> Iterator[str]:
    """GTID sets of what was read already: a start in the middle, gaps, one domain ahead of the other."""
    before = played.before.gtid_set
    assert before is not None
    with reach(played.server) as connection:
        after = connection.position().gtid_set
    assert after is not None
    yield before
    if not played.server.is_mariadb:
        uuid, first = before.split(":")[0], int(before.split(":")[1].rsplit("-", 1)[-1])
        tags = [part for part in after.split(":") if part.startswith("tag")]
        tagged = ":tag_a:1-3:7:9-12" if tags else ""
        yield f"{uuid}:1-{first + 40}"
        yield f"{uuid}:1-{first + 5}:{first + 8}-{first + 10}{tagged}"
        yield f"{uuid}:1-{first}:{first + 30}-{first + 60}:{first + 62}{tagged}"
        yield after
        return
    ends = {part.split("-")[0]: part for part in after.split(",")}
    [zero] = [part for part in before.split(",") if part.startswith("0-")]
    server_id, first = (int(part) for part in zero.split("-")[1:])
    last = int(ends["7"].rsplit("-", 1)[-1])
    assert last > 8
    yield f"0-{server_id}-{first + 40}"
    yield f"0-{server_id}-{first + 20},7-{server_id}-{last - 2}"
    yield f"0-{server_id}-{first},7-{server_id}-{last // 2}"
    yield f"7-{server_id}-3"
    yield after


def test_from_gtid_sets(played: Played) -> None:
    lengths = set()
    for start in sets(played):
        wanted = played.changes(**in_files(start))
        with reach(played.server) as connection:
            keywords = {**played.keywords, **WITHOUT_XA}
            assert flat(connection.stream(start, stop="end", **keywords)) == wanted, start
        lengths.add(sum(len(changes) for _, changes in wanted))
    assert len(lengths) > 3


def in_files(start: str) -> dict[str, Any]:
    """Options for reading the files from there on: older transactions of a domain that the set lacks are missing."""
    return {
        "start": start,
        **WITHOUT_XA,
        "gaps": "error" if "0-" in start or ":" in start else "allow",
    }


def test_to_gtid_sets(played: Played) -> None:
    """The read ends once all of the set was read."""
    for stop in sets(played):
        with reach(played.server) as connection:
            stream = connection.stream(everything(played), stop=stop, **played.keywords)
            assert flat(stream) == played.changes(stop=stop), stop


def in_pieces(
    played: Played, start: Any, rng: random.Random, **keywords: Any
) -> Iterator[binarrow.ChangeBatch]:
    """A process is killed every few batches, and continues from its stored position."""
    while True:
        with reach(played.server) as connection:
            stream = connection.stream(
                start, stop="end", segment_bytes=rng.choice((3000, 65536)), **keywords
            )
            for _ in range(rng.randrange(1, 25)):
                batch = next(stream, None)
                if batch is None:
                    return
                yield batch
            assert stream.position is not None
            start = Position.from_json(stream.position.to_json())
            stream.close()


def test_going_on_from_positions(played: Played) -> None:
    rng = random.Random(played.server.flavor)
    pieces = in_pieces(played, everything(played), rng, **played.keywords)
    assert flat(pieces) == played.changes()
    for start in sets(played):
        pieces = in_pieces(played, start, rng, **{**played.keywords, **WITHOUT_XA})
        assert flat(pieces) == played.changes(**in_files(start)), start


def test_a_position_by_gtid_becomes_one_in_a_file(played: Played) -> None:
    """Once a file begins after all that was read elsewhere."""
    [*_, holes, _end] = sets(played)
    with reach(played.server) as connection:
        stream = connection.stream(holes, stop="end", **played.keywords)
        found = [batch.position for batch in stream]
        end = stream.position
    kinds = ["by_gtid" in position.to_json() for position in found if position is not None]
    assert kinds[0]
    assert kinds == sorted(kinds, reverse=True)
    assert end is not None
    assert "by_gtid" not in end.to_json()


# ---------------------------------------------------------------------------------- interruptions


@pytest.mark.parametrize("way", ["file", "gtid", "tls"])
def test_connections_that_are_cut(played: Played, way: str) -> None:
    """Nothing is lost and nothing comes twice, wherever the connection breaks: F1."""
    rng = random.Random(f"{played.server.flavor} {way}")
    wanted, cuts = played.changes(), CUTS // 3
    # An event that is never complete would be requested again and again, after longer and longer pauses.
    longest = 3 * max(event.size for path in played.files for event in binarrow.inspect(str(path)))
    whole = sum(path.stat().st_size for path in played.files)
    start = played.before.gtid_set if way == "gtid" else everything(played)
    assert start is not None
    done = 0
    begin = time.monotonic()
    while done < cuts:
        with cutting(played.server.port, rng, cuts - done, longest, whole) as proxy:
            with reach(played.server, proxy.port, **WAYS[way]) as connection:
                stream = connection.stream(start, stop="end", heartbeat=1.0, **played.keywords)
            assert flat(stream) == wanted
            assert stream.stats()["reconnects"] > 0
            done += proxy.cuts
    print(f"\n{done} cuts, {time.monotonic() - begin:.1f} s")
