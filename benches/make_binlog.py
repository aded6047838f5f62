"""Creates large binlogs for the benches, with a MySQL of the lab, in seconds each.

    python benches/make_binlog.py --mb 200                      # all shapes that do not exist yet
    python benches/make_binlog.py --mb 16 --shapes oltp small

Each shape is one closed binlog file, `<folder>/<mb>mb/<shape>.000001`. The folder is
`$BINARROW_BENCH`, else `~/.cache/binarrow/bench`; delete it to create the files again. The rows are
the same every time (one seed). Needs PyMySQL.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.servers.servers import Server, Session  # noqa: E402

SEED = 20260105
SERVER_OPTIONS = (
    "--max-binlog-size=1G",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=OFF",
    "--innodb-buffer-pool-size=256M",
)

Row = tuple[object, ...]


@dataclass(frozen=True)
class Shape:
    """A table, and how its binlog is written."""

    name: str
    columns: str
    row: Callable[[random.Random], Row]
    """The values of one row after its key, `id`."""
    seed_rows: int = 10_000
    """So many different rows; a large table repeats them under new keys."""
    update: str = ""
    """The SET clause of the updates, of a tenth of the rows; none where empty."""
    compressed: bool = False
    one_by_one: bool = False
    """A transaction a row."""


# ------------------------------------------------------------------------------------------ rows

OLTP = """(id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL)
  CHARACTER SET utf8mb4"""

ORDERS = """(
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  store_id SMALLINT NOT NULL,
  status ENUM('placed', 'paid', 'packed', 'sent', 'delivered', 'cancelled') NOT NULL,
  flags SET('gift', 'express', 'insured', 'pickup', 'b2b') NOT NULL,
  priority TINYINT UNSIGNED NOT NULL,
  currency CHAR(3) CHARACTER SET ascii NOT NULL,
  net DECIMAL(12,2) NOT NULL,
  tax DECIMAL(12,2) NOT NULL,
  discount DECIMAL(8,4) NULL,
  weight DOUBLE NULL,
  score FLOAT NULL,
  placed_at DATETIME(6) NOT NULL,
  paid_at DATETIME(6) NULL,
  updated_at TIMESTAMP(3) NOT NULL,
  due DATE NULL,
  email VARCHAR(120) NOT NULL,
  address VARCHAR(200) NOT NULL,
  note VARCHAR(500) NULL,
  details JSON NULL
) CHARACTER SET utf8mb4"""

TEXT = """(
  id BIGINT NOT NULL PRIMARY KEY,
  language VARCHAR(8) NOT NULL,
  author VARCHAR(80) NOT NULL,
  title VARCHAR(200) NOT NULL,
  body TEXT NOT NULL,
  summary MEDIUMTEXT NULL
) CHARACTER SET utf8mb4"""

SMALL = """(id INT NOT NULL PRIMARY KEY, account INT NOT NULL, amount DECIMAL(10,2) NOT NULL,
  at DATETIME(3) NOT NULL, note VARCHAR(40) NULL) CHARACTER SET utf8mb4"""

STATES = ("placed", "paid", "packed", "sent", "delivered", "cancelled")
FLAGS = ("gift", "express", "insured", "pickup", "b2b")
NAMES = ("Ana", "Bram", "Chloé", "Dmitri", "Elif", "Fatima", "Goran", "Hanna", "Ines", "Jürgen")
STREETS = ("Main Street", "Rue de la Paix", "Hauptstraße", "Calle Mayor", "Østergade", "Via Roma")
NOTES = ("leave at the door", "call before delivery", "bitte klingeln", "ring twice 🔔")
WORDS = {
    "en": "the quick brown fox jumps over a lazy dog while seven wizards watch",
    "de": "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich",
    "fr": "Portez ce vieux whisky au juge blond qui fume à l'été où naît le cœur",
    "ru": "Съешь же ещё этих мягких французских булок да выпей чаю",
    "ja": "いろは にほへと ちりぬるを わか よたれそ つね ならむ",
    "zh": "天地 玄黄 宇宙 洪荒 日月 盈昃 辰宿 列张",
    "emoji": "🦀 🏹 ✨ 🗃️ 🎉 hello 🌍 👩‍🚀",
}


def digits(rng: random.Random, groups: int) -> str:
    return "-".join(f"{rng.randrange(10**11):011}" for _ in range(groups))


def moment(rng: random.Random) -> str:
    day = f"2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
    clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    return f"{day} {clock}.{rng.randrange(10**6):06}"


def some(rng: random.Random, share: float, value: object) -> object:
    return value if rng.random() < share else None


def oltp_row(rng: random.Random) -> Row:
    """Returns a row like those of sysbench."""
    return (rng.randrange(1, 10**6), digits(rng, 10), digits(rng, 5))


def order_row(rng: random.Random) -> Row:
    net = rng.randrange(100, 10**7) / 100
    items = [
        {
            "sku": f"S-{rng.randrange(10**5):05}",
            "quantity": rng.randrange(1, 9),
            "price": rng.randrange(9999) / 100,
        }
        for _ in range(rng.randrange(1, 4))
    ]
    details = {
        "channel": rng.choice(("web", "app", "shop")),
        "first": rng.random() < 0.5,
        "items": items,
    }
    return (
        rng.randrange(10**7),
        rng.randrange(-5, 500),
        rng.choice(STATES),
        ",".join(flag for flag in FLAGS if rng.random() < 0.3),
        rng.randrange(256),
        rng.choice(("EUR", "USD", "DKK")),
        net,
        round(net * 0.19, 2),
        some(rng, 0.4, rng.randrange(10**6) / 10**4),
        some(rng, 0.8, rng.random() * 30),
        some(rng, 0.5, rng.random()),
        moment(rng),
        some(rng, 0.7, moment(rng)),
        moment(rng)[:-3],
        some(rng, 0.8, moment(rng)[:10]),
        f"{rng.choice(NAMES).lower()}.{rng.randrange(10**6)}@example.org",
        f"{rng.choice(STREETS)} {rng.randrange(200)}, {rng.randrange(10**5):05} Springfield",
        some(rng, 0.3, rng.choice(NOTES)),
        some(rng, 0.9, json.dumps(details)),
    )


def text_row(rng: random.Random) -> Row:
    language = rng.choice(list(WORDS))
    words = WORDS[language].split()

    def prose(low: int, high: int) -> str:
        return " ".join(rng.choices(words, k=rng.randrange(low, high)))

    summary = some(rng, 0.7, prose(10, 60))
    return (language, rng.choice(NAMES), prose(3, 9), prose(40, 250), summary)


def small_row(rng: random.Random) -> Row:
    amount = rng.randrange(10**6) / 100
    return (rng.randrange(10**6), amount, moment(rng)[:-3], some(rng, 0.5, "card payment"))


PAY = "status = 'sent', paid_at = placed_at, priority = priority DIV 2"
SHAPES = {
    shape.name: shape
    for shape in (
        Shape("oltp", OLTP, oltp_row, update="k = k + 1"),
        Shape("orders", ORDERS, order_row, update=PAY),
        Shape("text", TEXT, text_row, seed_rows=2_000),
        Shape("small", SMALL, small_row, seed_rows=1_000, one_by_one=True),
        Shape("oltp-zstd", OLTP, oltp_row, update="k = k + 1", compressed=True),
        Shape("orders-zstd", ORDERS, order_row, update=PAY, compressed=True),
    )
}

# --------------------------------------------------------------------------------------- recording


def folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("BINARROW_BENCH") or cache / "binarrow" / "bench")


def path_of(name: str, mb: int) -> Path:
    return folder() / f"{mb}mb" / f"{name}.000001"


def make(names: Sequence[str], mb: int) -> dict[str, Path]:
    """Makes the files that are missing, and gives the paths of all."""
    paths = {name: path_of(name, mb) for name in names}
    missing = [name for name, path in paths.items() if not path.exists()]
    if missing:
        with Server.start("mysql", SERVER_OPTIONS) as server:
            for name in missing:
                make_one(server, SHAPES[name], mb, paths[name])
    return paths


def make_one(server: Server, shape: Shape, mb: int, path: Path) -> None:
    start = time.monotonic()
    log = record(server, shape, mb * 1_000_000)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    shutil.copyfile(log, partial)
    partial.rename(path)
    server.execute(f"PURGE BINARY LOGS TO '{server.binlog_files()[-1].name}'")
    seconds = time.monotonic() - start
    print(f"made {path}: {path.stat().st_size / 1e6:.0f} MB in {seconds:.0f} s", file=sys.stderr)


def record(server: Server, shape: Shape, size: int) -> Path:
    """Writes rows until the log has about `size` bytes, before compression; gives the log file."""
    session = server.connect()
    session.execute(
        "SET sql_log_bin = 0",
        "DROP DATABASE IF EXISTS bench",
        "CREATE DATABASE bench",
        "USE bench",
        f"CREATE TABLE seed {shape.columns}",
        f"CREATE TABLE t {shape.columns}",
    )
    fill_seed(session, shape)
    session.execute("SET sql_log_bin = 1")
    write_round = one_by_one(session) if shape.one_by_one else in_bulk(session, shape)

    log = server.binlog_files()[-1]
    before = log.stat().st_size
    write_round(0)  # written to another file, to measure the size of a round
    rounds = max(1, round(size / (log.stat().st_size - before)))
    server.flush_binlog()
    if shape.compressed:
        session.execute("SET binlog_transaction_compression = ON")
    for number in range(1, rounds + 1):
        write_round(number)
    session.close()
    return server.flush_binlog()


def fill_seed(session: Session, shape: Shape) -> None:
    rng = random.Random(SEED)
    rows = [(key, *shape.row(rng)) for key in range(shape.seed_rows)]
    marks = f"({', '.join(['%s'] * len(rows[0]))})"
    for start in range(0, len(rows), 500):
        chunk = rows[start : start + 500]
        sql = f"INSERT INTO seed VALUES {', '.join([marks] * len(chunk))}"
        session.run(sql, *(value for row in chunk for value in row))


def in_bulk(session: Session, shape: Shape) -> Callable[[int], None]:
    """A round is the seed table's rows under new keys, in two transactions, and one of updates."""
    names = session.query(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'bench' AND table_name = 't' AND column_name <> 'id'"
        " ORDER BY ordinal_position"
    )
    values = ", ".join(f"`{name}`" for (name,) in names)
    half = shape.seed_rows // 2

    def write_round(number: int) -> None:
        base = number * shape.seed_rows
        for condition in (f"id < {half}", f"id >= {half}"):
            session.execute(
                f"INSERT INTO t SELECT id + {base}, {values} FROM seed WHERE {condition}"
            )
        if shape.update:
            last = base + shape.seed_rows // 10 - 1
            session.execute(f"UPDATE t SET {shape.update} WHERE id BETWEEN {base} AND {last}")

    return write_round


def one_by_one(session: Session) -> Callable[[int], None]:
    """A round is the seed table's rows under new keys, a transaction each, written by a procedure."""
    session.execute(
        "SET sql_log_bin = 0",
        """CREATE PROCEDURE one_by_one(base INT)
           BEGIN
             DECLARE number INT DEFAULT 0;
             WHILE number < 1000 DO
               INSERT INTO t SELECT id + base, account, amount, at, note FROM seed WHERE id = number;
               SET number = number + 1;
             END WHILE;
           END""",
        "SET sql_log_bin = 1",
    )

    def write_round(number: int) -> None:
        session.execute(f"CALL one_by_one({number * 1000})")

    return write_round


def main() -> None:
    parser = argparse.ArgumentParser(description="Make large binlogs for the benches.")
    parser.add_argument("--mb", type=int, default=16, help="size of a file (default: %(default)s)")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    arguments = parser.parse_args()
    for path in make(arguments.shapes, arguments.mb).values():
        print(path)


if __name__ == "__main__":
    main()
