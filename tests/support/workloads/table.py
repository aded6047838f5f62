"""A table of random values, and the statements that change it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from support.workloads.values import Value

NULL_SHARE = 0.15


@dataclass
class Column:
    """A column: its definition without the name, and how to draw a value for it."""

    name: str
    definition: str
    value: Value | None  # None: the server makes the value

    def draw(self, rng: random.Random) -> str:
        if "NOT NULL" not in self.definition and rng.random() < NULL_SHARE:
            return "NULL"
        assert self.value is not None
        return self.value(rng)


@dataclass
class Table:
    """A table; `tail` is what follows its columns: keys, then `)` and the table's options."""

    name: str
    columns: list[Column]
    tail: str = "PRIMARY KEY (id))"
    next_id: int | None = 1  # None: the table has no column `id`

    @property
    def sql_name(self) -> str:
        return quote(self.name)

    @property
    def drawn(self) -> list[Column]:
        """The columns that statements name."""
        return [column for column in self.columns if column.value is not None]

    def create(self) -> str:
        lines = [f"{quote(column.name)} {column.definition}" for column in self.columns]
        if self.next_id is not None:
            lines.insert(0, "id BIGINT UNSIGNED NOT NULL")
        tail = self.tail if self.tail.startswith(")") else f", {self.tail}"
        return f"CREATE TABLE {self.sql_name} ({', '.join(lines)}{tail}"

    def new_id(self) -> int:
        assert self.next_id is not None
        self.next_id += 1
        return self.next_id - 1

    def insert(self, rng: random.Random, rows: int = 1, verb: str = "INSERT") -> str:
        names = [quote(column.name) for column in self.drawn]
        if self.next_id is not None:
            names.insert(0, "id")
        lines = []
        for _ in range(rows):
            cells = [column.draw(rng) for column in self.drawn]
            if self.next_id is not None:
                cells.insert(0, str(self.new_id()))
            lines.append(f"({', '.join(cells)})")
        return f"{verb} INTO {self.sql_name} ({', '.join(names)}) VALUES {', '.join(lines)}"

    def update(self, rng: random.Random, where: str | None = None) -> str:
        count = rng.choice((1, 2, len(self.drawn)))
        chosen = rng.sample(self.drawn, min(count, len(self.drawn)))
        settings = ", ".join(f"{quote(column.name)} = {column.draw(rng)}" for column in chosen)
        ignore = "" if self.next_id is not None else "IGNORE "
        return f"UPDATE {ignore}{self.sql_name} SET {settings} {where or self.some_rows(rng)}"

    def delete(self, rng: random.Random, where: str | None = None) -> str:
        return f"DELETE FROM {self.sql_name} {where or self.some_rows(rng)}"

    def some_rows(self, rng: random.Random) -> str:
        """A clause that picks a few rows, perhaps none."""
        if self.next_id is None:
            return f"LIMIT {rng.choice((1, 1, 3))}"
        first = rng.randint(1, self.next_id)
        kind = rng.random()
        if kind < 0.6:
            return f"WHERE id = {first}"
        if kind < 0.8:
            return f"WHERE id BETWEEN {first} AND {first + rng.randint(1, 10)}"
        return f"WHERE id IN ({first}, {max(1, first - 7)}, {first + 3})"


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
