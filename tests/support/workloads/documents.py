"""Random documents, and random changes inside them that MySQL can log as differences."""

from __future__ import annotations

import json
import random
from typing import Any

from support.oracles.oracle import text

KEYS = ("", "a", "b", "age", 'q"uote', "x.y[0]", "ключ", "back\\slash", "\\u0041", "\x01\n", "😀")
KEYS += ("1x", "$d", "_e\u0301", "with space")

LARGE = 70_000


def document(rng: random.Random, depth: int = 3) -> Any:
    kind = rng.random()
    if depth == 0 or kind < 0.15:
        return scalar(rng)
    if kind < 0.4:
        return [document(rng, depth - 1) for _ in range(rng.randint(0, 5))]
    return {key: document(rng, depth - 1) for key in rng.sample(KEYS, rng.randint(0, 7))}


def scalar(rng: random.Random) -> Any:
    return rng.choice(
        (
            None,
            rng.random() < 0.5,
            rng.randint(-100, 100),
            rng.choice((1 << 15, -(1 << 31), (1 << 63) - 1, (1 << 64) - 1)),
            rng.randint(-(10**6), 10**6) / 64,
            rng.choice(("", "plain", 'a "b"\\\n', "é😀", "x" * rng.choice((127, 128, 300)))),
        )
    )


def new_row_text(rng: random.Random) -> str:
    """A document as an SQL expression, with a pad that makes differences worth while."""
    content = {key: document(rng) for key in rng.sample(KEYS, 8)} | {"pad": "p" * 200}
    if rng.random() < 0.1:
        content["large"] = "l" * LARGE
    root: Any = content if rng.random() < 0.8 else [*content.values(), content]
    return text(json.dumps(root, ensure_ascii=False))


def path(rng: random.Random) -> str:
    legs = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        if rng.random() < 0.75:
            legs.append("." + json.dumps(rng.choice(KEYS), ensure_ascii=rng.random() < 0.3))
        else:
            legs.append(rng.choice(("[0]", "[1]", "[3]", "[9]", "[last]", "[last-1]")))
    return text("$" + "".join(legs))


def value(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.3:
        return str(rng.randint(-70_000, 70_000))
    if kind < 0.5:
        return text(rng.choice(("", "short", 'quo"te\n', "é😀", "m" * 200)))
    if kind < 0.8:
        return f"CAST({text(json.dumps(document(rng, 2), ensure_ascii=False))} AS JSON)"
    return rng.choice(
        (
            "NULL",
            "TRUE",
            "1.50",
            "1.5e0",
            "CAST('2020-02-29 12:34:56.654321' AS DATETIME(6))",
            "CAST('-01:02:03' AS TIME)",
            "CAST('2020-02-29' AS DATE)",
            "X'00ff'",
            f"REPEAT('r', {LARGE})",
        )
    )


def change(rng: random.Random, column: str) -> str:
    """An expression that changes a document; most of them can be logged as differences."""
    if rng.random() < 0.08:
        return other_change(rng, column)
    expression = column
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        function = rng.choice(("JSON_SET", "JSON_SET", "JSON_REPLACE", "JSON_REMOVE"))
        parts = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            parts.append(path(rng))
            if function != "JSON_REMOVE":
                parts.append(value(rng))
        expression = f"{function}({expression}, {', '.join(parts)})"
    return expression


def other_change(rng: random.Random, column: str) -> str:
    """A document that is always logged completely."""
    return rng.choice(
        (
            f"JSON_INSERT({column}, {path(rng)}, 1)",
            f"JSON_ARRAY_APPEND({column}, '$', 1)",
            f'JSON_MERGE_PATCH({column}, \'{{"age": null, "b": [1]}}\')',
            f"JSON_REMOVE({column}, '$.large')",
            f"JSON_SET({column}, '$', 1)",
            new_row_text(rng),
        )
    )
