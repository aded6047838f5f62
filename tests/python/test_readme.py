"""The README's examples run as they stand; for those of Spark see tests/spark."""

from __future__ import annotations

import pytest

from support.readme import BLOCKS, needs_spark, run

PLAIN = [(kind, code) for kind, code in BLOCKS if not needs_spark(code)]


def test_there_is_an_example_of_each_kind():
    python = "".join(code for kind, code in BLOCKS if kind == "python")
    assert "read_binlog" in python
    assert "mapInArrow" in python
    assert any(kind == "console" for kind, _ in BLOCKS)


@pytest.mark.parametrize(("kind", "code"), PLAIN, ids=[kind for kind, _ in PLAIN])
def test_example(kind, code, tmp_path):
    assert run(kind, code, tmp_path)
