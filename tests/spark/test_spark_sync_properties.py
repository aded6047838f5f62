"""The properties of the tables of `binarrow.spark.sync`, some of which Spark does not show."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from binarrow.spark.syncing.properties import decoded, encoded, read_properties

SECRET = "(?i)url|secret|password|token|access[.]?key|credential"
"""The words in keys and values that Spark redacts."""


class Redacting:
    """A session whose tables have the properties of `stored`, some of which Spark does not show."""

    def __init__(self, stored):
        self.stored = stored

    def sql(self, text):
        shown = {
            key: "*********(redacted)" if re.search(SECRET, value) else value
            for key, value in self.stored.items()
        }
        rows = [SimpleNamespace(key=key, value=value) for key, value in shown.items()]
        if text.startswith("DESCRIBE DETAIL"):
            rows = [SimpleNamespace(properties=self.stored)]
        return SimpleNamespace(collect=lambda: rows)


@pytest.mark.parametrize("value", [["url"], "shop.tokens", {"columns": [{"name": "Password"}]}])
def test_properties_with_secret_words(value):
    found = read_properties(Redacting({"key": encoded(value)}), "t", "iceberg")
    assert decoded(found, "key") == value
    assert decoded(found, "other", 5) == 5


@pytest.mark.parametrize("text", ['["url"]', "shop.urls"])
def test_properties_of_earlier_versions(text):
    expected = ["url"] if text.startswith("[") else text
    stored = Redacting({"key": text})
    assert decoded(read_properties(stored, "t", "delta"), "key") == expected
    assert decoded(read_properties(stored, "t", "iceberg"), "key", 5) == 5
    assert decoded({"key": '["id"]'}, "key") == ["id"]
