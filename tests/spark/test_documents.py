"""The documentation's examples of Spark run as they are: in one process, because a JVM takes most of the time."""

from __future__ import annotations

from support.documents import examples, needs_spark, run

END = "the example ends"


def test_examples(tmp_path):
    found = [code for code in examples("python") if needs_spark(code)]
    assert found
    each = "".join(
        f"exec({code!r}, {{'__name__': '__main__'}})\nprint({END!r})\n" for code in found
    )
    *printed, rest = run("python", each, tmp_path).split(END)
    assert len(printed) == len(found)
    assert all(part.strip() for part in printed)
    assert not rest.strip()
