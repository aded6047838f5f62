"""The table of options is exactly what the data source accepts."""

from __future__ import annotations

import re

import pytest

from binarrow import ConfigError, TypeOptions
from binarrow.options import keywords_of, spark_options
from binarrow.spark.datasource import BinarrowDataSource
from binarrow.spark.documentation import default_of, meaning_of
from binarrow.spark.live.options import check_files
from binarrow.spark.option_parsers import PARSERS, canonical, parse
from binarrow.spark.options import TASK_DEFAULTS
from binarrow.spark.source_options import SourceOptions

SPARK = spark_options()


def test_spark_takes_the_options_of_the_table():
    assert PARSERS.keys() == SPARK.keys()
    for name in SPARK:
        assert canonical(name.lower()) == name
    with pytest.raises(ConfigError, match="unknown option 'tabels'; did you mean 'tables'"):
        canonical("tabels")


@pytest.mark.parametrize("name", [name for name, each in SPARK.items() if each.spark_kind.words])
def test_words_of_spark_are_those_of_the_table(name):
    words = SPARK[name].spark_kind.words
    assert [parse(name, word) for word in words] == list(words)
    with pytest.raises(ConfigError) as failure:
        parse(name, "nonsense")
    assert str(failure.value).endswith(f"it must be one of {', '.join(words)}")


VALUES = {
    "codes": "161",
    "count": "7",
    "bytes": "7",
    "columns": "id",
    "flag": "true",
    "mask": "id=null",
    "name_case": "1",
    "names": "gtid",
    "salt": __file__,
    "text": "x",
    "sql": "CREATE TABLE t (id INT)",
}


@pytest.mark.parametrize(
    "option",
    [
        option
        for option in (*keywords_of("decoder"), *keywords_of("TypeOptions"))
        if option.spark is not None and option.name not in ("history", "storage_options")
    ],
    ids=lambda option: option.name,
)
def test_spark_hands_keywords_to_the_reader(option):
    kind = option.spark_kind
    value = kind.words[1] if kind.words else VALUES[kind.name]
    given = {"path": "binlog.000001", "table": "shop.orders", option.spark_name: value}
    if value == "nested-json":
        value = given[option.spark_name] = "nested"
    read = SourceOptions.parse(given).read
    if "TypeOptions" in option.functions:
        assert getattr(read["types"], option.name) == value
    else:
        assert read[option.name]


def test_spark_refuses_what_is_for_other_queries():
    for name, option in SPARK.items():
        if option.spark.of in ("server", "batches", "streams") and name != "url":
            with pytest.raises(ConfigError, match=f"the option {name}: it is for a server"):
                check_files({name: "x"})


def test_defaults_of_spark_are_those_of_the_table():
    def default(name):
        return parse(name, default_of(SPARK[name]))

    files = SourceOptions.parse({"path": "binlog.000001", "table": "shop.orders"})
    assert files.place.target_bytes == default("targetBytes")
    assert files.place.gaps == default("gaps")
    assert files.place.index == default("index")
    assert files.schema_change_policy == default("schemaChangePolicy")
    live = SourceOptions.parse({"host": "db", "user": "repl", "table": "shop.orders"}).place
    assert live.heartbeat == default("heartbeat")
    assert live.reconnect == default("reconnect")
    assert live.fail_on_data_loss == default("failOnDataLoss")
    assert TASK_DEFAULTS["batch_rows"] == default("batchRows")
    assert TASK_DEFAULTS["batch_bytes"] == default("batchBytes")
    types = TypeOptions(profile="spark")
    for option in keywords_of("TypeOptions"):
        if option.spark is not None:
            assert getattr(types, option.name) == default_of(option)


def test_the_data_source_documents_its_options():
    text = BinarrowDataSource.__doc__
    for name, option in SPARK.items():
        assert re.search(rf"^    {name} ", text, re.M), name
        assert f"  {default_of(option)}  " in text, name
        assert " ".join(meaning_of(option).split())[:40] in " ".join(text.split()), name
    assert '"' not in meaning_of(SPARK["statements"])
    assert "``schemas``" in meaning_of(SPARK["schemasFile"])
