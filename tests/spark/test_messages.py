"""Messages in Spark name Spark's options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from binarrow.advice import message
from binarrow.options import spark_options
from binarrow.spark.messages import in_spark, option
from support.messages import advised

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
        ("give their schema with ⟦schema⟧", "give their schema with .schema(...)"),
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
    shown = [option(name, value) for name, value in advised(ROOT)]
    named = [match[1] for text in shown if (match := re.match(r"the option (\w+)", text))]
    assert len(set(named)) > 10
    assert set(named) <= {*spark_options()}
