"""Every character that a column of every charset can hold, and bytes that are none, as the server itself shows them.

The expected text is what `CONVERT(column USING utf8mb4)` gives on the same server. That has `?` for a character that
Unicode lacks; binarrow has an error there, or U+FFFD by `invalid_text="replace"`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pytest

import binarrow
from binarrow import TypeOptions
from support.logged import cells_of, database, logging, read
from support.oracles.charset_tables import (
    collations,
    four_byte_sequences,
    measure,
    recorded,
    short_sequences,
)
from support.servers.servers import FLAVORS, Server, Session

REPLACE = TypeOptions(invalid_text="replace")
REPLACED = "\N{REPLACEMENT CHARACTER}"

# How Python calls those that hold all of Unicode.
UNICODE = {
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}
ONLY_FIRST_PLANE = ("ucs2", "utf8mb3")

CHARACTERS_A_ROW = 4000
ROWS_A_STATEMENT = 64
RANDOM_CELLS = 300

SURROGATES = range(0xD800, 0xE000)


@dataclass
class Everything:
    """The values that a server stored and logged: for each charset a table `mapped_*`, `unmapped_*`, `random_*`."""

    server: Server
    charsets: list[str]
    characters: dict[str, int] = field(default_factory=dict)
    shown: dict[str, list[str]] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)

    def read(self, table: str, **keywords: object) -> list[str]:
        return cells_of(read(self.files, f"all_charsets.{table}", **keywords), "t")


@pytest.fixture(scope="module", params=FLAVORS)
def everything(request: pytest.FixtureRequest) -> Iterator[Everything]:
    name = request.param.replace("-", "_").replace(".", "_")
    server: Server = request.getfixturevalue(name)
    with database(server, "all_charsets"):
        session = server.connect()
        session.execute("USE all_charsets", "SET sql_mode = ''")
        charsets = [name for name, *_ in session.query("SHOW CHARACTER SET") if name != "binary"]
        made = Everything(server, sorted(charsets))
        with logging(server) as files:
            for charset in made.charsets:
                fill(session, charset, made)
        made.files = files
        session.close()
        yield made


def fill(session: Session, charset: str, made: Everything) -> None:
    session.execute("SET sql_log_bin = OFF")
    mapped, unmapped = characters_of(session, charset)
    session.execute("SET sql_log_bin = ON")
    made.characters[charset] = len(mapped)
    keep_all(session, made, charset, "mapped", mapped)
    keep_all(session, made, charset, "unmapped", unmapped)
    create(session, charset, "random")
    generator = random.Random(charset)
    cells = [random_bytes(generator) for _ in range(RANDOM_CELLS)]
    if (
        charset == "ucs2"
    ):  # MySQL converts no text with a surrogate; there is a test of its own for them
        cells = [bytes(byte for byte in cell if byte not in range(0xD8, 0xE0)) for cell in cells]
    values = ", ".join(f"(x'{cell.hex()}')" for cell in cells)
    session.execute(f"INSERT INTO random_{charset} (t) VALUES {values}")
    made.shown[f"random_{charset}"] = select(session, f"random_{charset}")


def characters_of(session: Session, charset: str) -> tuple[list[bytes], list[bytes]]:
    """The byte sequences that are characters in a column; and those that are, but not in Unicode."""
    if charset in UNICODE:
        planes = 0x10000 if charset in ONLY_FIRST_PLANE else 0x110000
        points = (point for point in range(planes) if point not in SURROGATES)
        return [chr(point).encode(UNICODE[charset]) for point in points], []
    meanings = measure(session, charset, short_sequences(charset))
    if charset == "gb18030":  # too many for a row each
        sequences = list(four_byte_sequences())
        create(session, charset, "four")
        insert(session, f"four_{charset}", sequences)
        shown = "".join(select(session, f"four_{charset}"))
        assert len(shown) == len(sequences)
        four = zip(sequences, shown, strict=True)
        meanings.update((one, None if text == "?" else text) for one, text in four)
    # two bytes may be two characters
    meanings = {one: text for one, text in meanings.items() if text is None or len(text) == 1}
    mapped = [one for one, text in meanings.items() if text is not None]
    return mapped, [one for one, text in meanings.items() if text is None]


def create(session: Session, charset: str, what: str) -> None:
    session.execute(
        f"CREATE TABLE {what}_{charset}"
        f" (id INT AUTO_INCREMENT PRIMARY KEY, t LONGTEXT CHARACTER SET {charset} NOT NULL)"
    )


def insert(session: Session, table: str, sequences: Iterable[bytes]) -> None:
    """Many characters a row; the server must keep each as it is."""
    left = iter(sequences)
    rows = list(iter(lambda: b"".join(islice(left, CHARACTERS_A_ROW)), b""))
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        some = ", ".join(f"(x'{row.hex()}')" for row in rows[start : start + ROWS_A_STATEMENT])
        session.execute(f"INSERT INTO {table} (t) VALUES {some}")
    kept = session.query(f"SELECT CAST(t AS BINARY) FROM {table} ORDER BY id")
    assert [cell for (cell,) in kept] == rows, table


def select(session: Session, table: str) -> list[str]:
    rows = session.query(
        f"SELECT CAST(CONVERT(t USING utf8mb4) AS BINARY) FROM {table} ORDER BY id"
    )
    return [cell.decode(errors="surrogatepass") for (cell,) in rows]


def keep_all(
    session: Session, made: Everything, charset: str, what: str, sequences: list[bytes]
) -> None:
    create(session, charset, what)
    insert(session, f"{what}_{charset}", sequences)
    made.shown[f"{what}_{charset}"] = select(session, f"{what}_{charset}")


def random_bytes(generator: random.Random) -> bytes:
    """Bytes that often are characters of many charsets, most of them cut or out of step."""
    words = [generator.randbytes(generator.choice((1, 2, 2, 3, 4))) for _ in range(6)]
    words += [bytes(generator.choices(range(0x81, 0xFF), k=2)) for _ in range(4)]
    words += [
        generator.choice(("a", "é", "あ", "中", "🎉")).encode(code) for code in UNICODE.values()
    ]
    length = generator.choice((1, 1, 2, 4, 8))
    return b"".join(generator.choices(words, k=length))


# ------------------------------------------------------------------------- text of every charset


def test_every_character_is_the_servers(everything: Everything) -> None:
    for charset in everything.charsets:
        table = f"mapped_{charset}"
        assert_same(everything.read(table), everything.shown[table], table)
    counted = everything.characters
    print(f"\n{everything.server.flavor}: {sum(counted.values())} characters equal: {counted}")
    least = {"gb18030": 1_112_000, "utf8mb4": 1_112_064, "utf16": 1_112_064, "utf32": 1_112_064}
    least |= {"gbk": 21_000, "ujis": 13_000, "euckr": 17_000, "ucs2": 63_488, "latin1": 256}
    for charset in set(least) & set(counted):
        assert counted[charset] >= least[charset]


def test_characters_that_unicode_lacks_are_replaced_where_the_server_has_a_mark(
    everything: Everything,
) -> None:
    count = 0
    for charset in everything.charsets:
        table = f"unmapped_{charset}"
        shown = everything.shown[table]
        if not shown:
            continue
        assert not set("".join(shown)) - {"?"}
        assert_same(
            everything.read(table, types=REPLACE), [s.replace("?", REPLACED) for s in shown], table
        )
        count += sum(map(len, shown))
    print(f"\n{everything.server.flavor}: {count} characters that Unicode lacks, all replaced")
    assert count > 20_000


def test_characters_that_unicode_lacks_are_errors_by_default(everything: Everything) -> None:
    for charset in everything.charsets:
        if not everything.shown[f"unmapped_{charset}"]:
            continue
        wanted = f"unmapped_{charset}.*column t: a cell is not valid {charset} text"
        with pytest.raises(binarrow.MalformedBinlogError, match=wanted):
            everything.read(f"unmapped_{charset}")


def test_whatever_bytes_the_server_kept_are_read_as_it_shows_them(everything: Everything) -> None:
    for charset in everything.charsets:
        table = f"random_{charset}"
        ours = [text.replace(REPLACED, "?") for text in everything.read(table, types=REPLACE)]
        # MariaDB shows half a pair as if it were a character
        half = "?" * (3 if charset.startswith("utf8") else 1)
        shown = [re.sub(f"[{chr(0xD800)}-{chr(0xDFFF)}]", half, s) for s in everything.shown[table]]
        assert_same(ours, [text.replace(REPLACED, "?") for text in shown], table)
        assert len(ours) == RANDOM_CELLS


def assert_same(ours: list[str], shown: list[str], table: str) -> None:
    if ours == shown:
        return
    for row, (our, their) in enumerate(zip(ours, shown, strict=True)):
        for place, (one, other) in enumerate(zip(our, their, strict=False)):
            assert one == other, (
                f"{table}, row {row}, character {place}: U+{ord(one):04X}, not U+{ord(other):04X}"
            )
        assert len(our) == len(their), (
            f"{table}, row {row}: {len(our)} characters, not {len(their)}"
        )


# ------------------------------------------------------------------------- halves of pairs

# Which of these a column keeps differs between servers.
LONE_SURROGATES = {
    "ucs2": (b"\xd8\x3c\xdf\x89\x00a", REPLACED * 2 + "a"),
    "utf32": (b"\0\0\xd8\x3c\0\0\0a", REPLACED + "a"),
    "utf8mb3": (b"\xed\xa0\xbca", REPLACED * 3 + "a"),
    "utf8mb4": (b"\xed\xa0\xbca", REPLACED * 3 + "a"),
}
KEPT = {"mysql": ["ucs2"], "mariadb-10.11": [*LONE_SURROGATES], "mariadb-11.8": [*LONE_SURROGATES]}


def test_lone_surrogates_are_errors_or_replaced(server: Server) -> None:
    with database(server, "surrogates"):
        with logging(server) as files:
            for charset, (stored, _) in LONE_SURROGATES.items():
                server.execute(
                    "SET sql_mode = ''", f"CREATE TABLE {charset} (t TEXT CHARACTER SET {charset})"
                )
                server.execute(f"INSERT INTO {charset} VALUES (x'{stored.hex()}')")
        kept = [
            charset
            for charset, (stored, _) in LONE_SURROGATES.items()
            if server.query(f"SELECT CAST(t AS BINARY) FROM {charset}") == [(stored,)]
        ]
        server.execute("SET sql_mode = DEFAULT")
    assert kept == KEPT[server.flavor]
    for charset in kept:
        table = f"surrogates.{charset}"
        assert cells_of(read(files, table, types=REPLACE), "t") == [LONE_SURROGATES[charset][1]]
        with pytest.raises(
            binarrow.MalformedBinlogError, match=f"column t: a cell is not valid {charset} text"
        ):
            list(read(files, table))


# ------------------------------------------------------------------------- types and members

SAMPLES = {
    "big5": "中文 A", "cp932": "ソ表ｱ～", "eucjpms": "日本ｱ丂", "euckr": "가힣 A", "gb18030": "中🎉ḿ", "gb2312": "中文 ・",
    "gbk": "丂中 A", "sjis": "ソ表ｱ 予", "ujis": "日本ｱ丂", "swe7": "Åéü", "utf16": "é€中", "utf16le": "é€中",
    "utf32": "é€中", "ucs2": "é€中", "cp1251": "ДЪ я", "hebrew": "אב", "greek": "αβ", "tis620": "กข", "geostd8": "აბ",
    "armscii8": "ԱԲ", "koi8r": "ДЯ", "koi8u": "ЇЯ", "keybcs2": "čů", "macce": "čů", "cp866": "ДЯ", "cp1256": "اب",
    "ascii": "Az 9",
}  # fmt: skip


def test_types_of_text_and_members(server: Server) -> None:
    """CHAR loses its spaces, of two or four bytes too; members are in the log in their column's charset."""
    known = [name for name, *_ in server.query("SHOW CHARACTER SET") if name != "binary"]
    with database(server, "members"):
        shown = {}
        with logging(server) as files:
            for charset in known:
                word = SAMPLES.get(charset, "é")
                text = f"CHARACTER SET {charset}"
                server.execute(
                    f"CREATE TABLE {charset} (c CHAR(9) {text}, v VARCHAR(99) {text}, t TINYTEXT {text},"
                    f" e ENUM('{word}', 'x y') {text} COMMENT '{word}', s SET('{word}', 'z') {text},"
                    f" `{name_of(word)}` CHAR(1) {text})",
                    f"INSERT INTO {charset} VALUES ('{word}  ', '{word}  ', '{word}', 1, 3, ' '),"
                    f" ('', ' ', '{word}{word}', 2, 1, 'A'), (NULL, NULL, NULL, NULL, 0, NULL)",
                )
                shown[charset] = server.query(f"SELECT * FROM {charset}")
    for charset in known:
        for types in ("native", "spark"):
            [batch] = read(files, f"members.{charset}", types=types)
            data = batch.to_pyarrow()
            own = [column.to_pylist() for column in data.columns[:6]]
            assert list(zip(*own, strict=True)) == shown[charset], charset
            assert data.schema.field("c").metadata[b"mysql.charset"].decode() == charset


def name_of(word: str) -> str:
    """A column's name: it holds no spaces here, and never a character above U+FFFF."""
    return "".join(character for character in word if " " < character <= "\uffff")


# ------------------------------------------------------------------------- statements

# Words with a backslash or a backtick among their bytes, and others.
CLIENTS = {
    "sjis": ("cp932", "ソ表"),
    "gbk": ("gbk", "乗中"),
    "big5": ("big5", "功許"),
    "latin1": ("cp1252", "é€"),
    "cp1251": ("cp1251", "Дя"),
    "utf8mb4": ("utf-8", "é中"),
}


def test_statements_are_text_whatever_the_client_speaks(server: Server) -> None:
    found: dict[str, list[str]] = {}
    for charset, (encoding, word) in CLIENTS.items():
        statements = [
            f"CREATE TABLE `{word}` (id INT PRIMARY KEY COMMENT '{word}', `c{word}` INT)",
            f"ALTER TABLE `{word}` COMMENT '{word}'",
            f"CREATE VIEW `v{word}` AS SELECT '{word}' AS `{word}` FROM `{word}`",
            f"CREATE TABLE `copy{word}` AS SELECT 1 AS `{word}`",
            "BEGIN",
            f"INSERT INTO `{word}` VALUES (1, 1)",
            f"SAVEPOINT `{word}`",
            f"INSERT INTO `{word}` VALUES (2, 1)",
            f"ROLLBACK TO `{word}`",
            f"INSERT INTO `{word}` VALUES (3, 1)",
            "COMMIT",
            f"DROP TABLE `copy{word}`",
        ]
        with database(server, f"speaks_{charset}") as name:
            session = server.connect(database=name)
            with logging(server) as files:
                session.execute(f"SET NAMES {charset}")
                for statement in statements:
                    session._connection.query(statement.encode(encoding))
            session.close()
            paths = [str(path) for path in files]
            found[charset] = [
                event.info
                for event in binarrow.inspect(paths, queries=True)
                if event.type_name.startswith("Query")
            ]
            rows = cells_of(read(files, f"{name}.{word}"), f"c{word}")
            assert rows == [1, 1]
        infos = found[charset]
        # a view's name is there in UTF-8, its SELECT in the client's character set
        [view] = [info for info in infos if " VIEW " in info]
        assert f"'{word}' AS `{word}`" in view
        infos.remove(view)
        assert not [info for info in infos if REPLACED in info], infos
        for statement in statements[:2]:
            assert f"use `{name}`; {statement}" in infos
        assert (
            sum(
                info.startswith(f"use `{name}`; DROP TABLE") and f"`copy{word}`" in info
                for info in infos
            )
            == 1
        )
        assert sum(f"`copy{word}`" in info for info in infos) == 2
        assert sum("SAVEPOINT" in info and f"`{word}`" in info for info in infos) == 1


# ------------------------------------------------------------------------- collations


def test_the_recorded_collations_are_all_that_the_server_has(server: Server) -> None:
    """`tests/it/collations.rs` compares the recorded lists with the ids that binarrow knows."""
    unknown = set(collations(server)) - set(recorded(server.flavor))
    assert not unknown, "record the lists again: python tests/support/oracles/charset_tables.py"
    assert len(collations(server)) > 250
