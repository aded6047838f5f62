"""The documentation's examples of Spark run as they are, in the session of the other tests: a JVM takes most of the time."""

from __future__ import annotations

from support.documents import REPOSITORY, examples, needs_spark


def test_examples(spark, monkeypatch, capsys):
    monkeypatch.chdir(REPOSITORY)  # Spark was started there
    found = [code for code in examples("python") if needs_spark(code)]
    assert found
    for code in found:
        names = {"__name__": "__main__"}
        exec(code, names)
        assert names["spark"].sparkContext is spark.sparkContext
        assert capsys.readouterr().out.strip()
    spark.catalog.clearCache()
