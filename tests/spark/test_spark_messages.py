"""Messages in Spark name Spark's options."""

from __future__ import annotations

import gc
import inspect
import os
import re
from pathlib import Path
from typing import Any

import pytest

from binarrow import BinarrowError, ConfigError, InternalError
from binarrow.advice import message
from binarrow.options import OPTIONS, spark_options
from binarrow.spark import apply_changes, register
from binarrow.spark.messages import HIDE_TRACEBACK, in_spark, naming_options, option
from support.messages import advised, is_of_spark, python_texts

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("use ⟦history⟧ or ⟦schemas⟧", "use the option history or the option schemas"),
        ("add it to ⟦schemas⟧, which lacks it", "add it to the option schemas, which lacks it"),
        (
            "names @1, @2 with ⟦column_names=positional⟧",
            "names @1, @2 with the option columnNames=positional",
        ),
        ("⟦skip_events=[161]⟧ passes over them", "the option skipEvents=161 passes over them"),
        (
            "accept NULL with ⟦partial_images=null⟧",
            "accept NULL with the option partialImages=null",
        ),
        (
            "with ⟦on_schema_change=conform⟧",
            "with the option schemaChangePolicy=project",
        ),
        (
            "⟦allow_public_key_retrieval=True⟧ encrypts it",
            "the option allowPublicKeyRetrieval=true encrypts it",
        ),
        (
            "leave them out (⟦exclude_tables⟧), or start later",
            "leave them out (the option excludeTables), or start later",
        ),
        ("wait for it longer (⟦reconnect⟧)", "wait for it longer (the option reconnect)"),
        ("with ⟦tls_ca⟧ (a MySQL", "with the option tlsCa (a MySQL"),
        ("pass their schema with ⟦schema⟧", "pass their schema with .schema(...)"),
        (
            "⟦history.baseline=server⟧ recovers it",
            "the command binarrow history baseline recovers it",
        ),
        (
            "binlog_row_image=MINIMAL and sync_binlog=1",
            "binlog_row_image=MINIMAL and sync_binlog=1",
        ),
        ("with gtid_mode=ON at both, ⟦server_id⟧", "with gtid_mode=ON at both, server_id="),
        (
            "sql_mode=ANSI, TypeOptions(⟦json=diff⟧)",
            "sql_mode=ANSI, TypeOptions(the option json=diff)",
        ),
    ],
)
def test_options_in_the_place_of_keywords(text: str, shown: str) -> None:
    assert in_spark(message(text)) == shown


def test_each_option_exists() -> None:
    shown = [option(name, value) for name, value in advised(ROOT) | advised(ROOT, spark=True)]
    named = [match[1] for text in shown if (match := re.match(r"the option (\w+)", text))]
    assert len(set(named)) > 10
    assert set(named) <= {*spark_options()}


OF_FUNCTIONS = {"keys", "missing_columns", "backfilled_columns", "missing_rows"}
"""Keywords of `apply_changes`, which are no options."""


def test_messages_of_spark_mark_options_that_exist() -> None:
    marked = {name for name, _ in advised(ROOT, spark=True)}
    assert len(marked) > 20
    assert inspect.signature(apply_changes).parameters.keys() >= OF_FUNCTIONS
    known = {each.name for each in OPTIONS if each.spark is not None or each.functions}
    assert marked - {"history.baseline"} <= known | OF_FUNCTIONS


def test_no_option_is_written_as_text() -> None:
    names = "|".join(sorted((each.name for each in OPTIONS if "_" in each.name), key=len))
    keyword = re.compile(rf"(?<![⟦\w.?&])(?:{names}|{'|'.join(OF_FUNCTIONS)})=")
    named = re.compile(rf"the option (?:$|(?:{'|'.join(spark_options())})\b)")
    camel = {name for name in spark_options() if name.lower() != name}
    wrong = [
        (str(path), text)
        for path, text in python_texts(ROOT)
        if " " in text
        and path.name != "messages.py"
        and (
            camel & set(re.findall(r"\w+", text))
            or (is_of_spark(path) and (keyword.search(text) or named.search(text)))
        )
    ]
    assert wrong == []


def test_the_remedy_is_in_the_first_line(spark, shop) -> None:
    from pyspark.errors import AnalysisException, PythonException

    register(spark)

    def source() -> Any:
        return spark.read.format("binarrow").option("table", "shop.orders")

    with pytest.raises(AnalysisException) as caught:
        source().option("tagetBytes", "1m").load(shop.glob)
    first, *_ = str(caught.value).splitlines()
    assert first.endswith("ConfigError: unknown option 'tagetbytes'; did you mean 'targetBytes'?")

    # In a task, the first line is Spark's.
    with pytest.raises(PythonException) as caught:
        source().option("schemaChangePolicy", "fail").load(shop.glob).count()
    message = str(caught.value)
    assert "binarrow.SchemaError: table shop.orders: " in message
    assert "the option schemaChangePolicy=project" in message
    assert "Traceback" not in message.partition("SchemaError")[0]

    # Errors of other code in the same workers keep their traceback.
    for _ in range(2):
        with pytest.raises(PythonException) as caught:
            spark.range(2).rdd.map(lambda _: 1 // 0).toDF("int").count()
        assert "Traceback" in str(caught.value)


def test_tracebacks_are_hidden_as_long_as_the_error_exists(monkeypatch) -> None:
    monkeypatch.delenv(HIDE_TRACEBACK, raising=False)

    def shown(error: BinarrowError) -> str | None:
        try:
            with naming_options():
                raise error
        except BinarrowError:
            return os.environ.get(HIDE_TRACEBACK)

    assert shown(ConfigError("x")) == "1"
    gc.collect()
    assert HIDE_TRACEBACK not in os.environ
    assert shown(InternalError("x")) is None
    monkeypatch.setenv(HIDE_TRACEBACK, "0")
    assert shown(ConfigError("x")) == "0"
    gc.collect()
    assert os.environ[HIDE_TRACEBACK] == "0"
