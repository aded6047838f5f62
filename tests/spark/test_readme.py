"""The README's examples of Spark run as they stand: in one process, whose JVM takes most of the time."""

from __future__ import annotations

from support.readme import BLOCKS, needs_spark, run

END = "the example ends"


def test_examples(tmp_path):
    examples = [code for kind, code in BLOCKS if kind == "python" and needs_spark(code)]
    assert len(examples) == 2
    each = "".join(
        f"exec({code!r}, {{'__name__': '__main__'}})\nprint({END!r})\n" for code in examples
    )
    *printed, rest = run("python", each, tmp_path).split(END)
    assert len(printed) == 2
    assert all(part.strip() for part in printed)
    assert not rest.strip()
