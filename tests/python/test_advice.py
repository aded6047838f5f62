"""Messages name options as data: by the keyword, marked, and on no surface by its name elsewhere."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path

import pytest

import binarrow
from binarrow.advice import Message, in_python, message, parts_of, render, restated
from binarrow.cli.messages import in_cli
from binarrow.options import OPTIONS, spark_options
from support.messages import advised, texts

ROOT = Path(__file__).parents[2]

KEYWORDS = {option.name for option in OPTIONS if option.functions}
OF_METHODS = {
    *(
        "archive",
        "data",
        "locks",
        "on_schema_change",
        "position",
        "schema",
        "server",
        "source",
        "start",
    ),
    *("stop", "where"),
    "truncates",
}
"""Keywords of methods that are not in the table of options."""

OF_SYNC = {"mode", "reload", "schema_changes"}
"""Keywords of `sync` that messages mark. Most of its messages write its keywords as text."""

TEXTS_OF_SQL = {
    "src/history/catalog/script.rs",
    "src/history/secrets.rs",
    "src/ddl/statement.rs",
    "src/reader/statement.rs",
}


def test_each_marked_option_exists() -> None:
    marked = advised(ROOT)
    assert len(marked) > 40
    functions = {name for name, _ in marked if "." in name}
    assert functions == {"history.baseline"}
    assert {name for name, _ in marked} - functions <= KEYWORDS | OF_METHODS | OF_SYNC


def test_no_keyword_is_written_as_text() -> None:
    names = "|".join(sorted(KEYWORDS | OF_METHODS, key=len, reverse=True))
    keyword = re.compile(rf"(?<![\w/.⟦?&])(?:{names})=(?![\w{{(<>=])")
    wrong = [
        (str(path), text)
        for path, text in texts(ROOT)
        if str(path) not in TEXTS_OF_SQL and keyword.search(text)
    ]
    assert wrong == []


def test_rust_knows_no_option_of_spark_and_no_flag() -> None:
    camel = {name for name in spark_options() if name.lower() != name}
    names = [option.flag.name.partition("/")[0] for option in OPTIONS if option.flag is not None]
    flag = re.compile(rf"(?<![\w-])(?:{'|'.join(names)})(?![\w-])")
    wrong = [
        (str(path), text)
        for path, text in texts(ROOT)
        if flag.search(text) or camel & set(re.findall(r"\w+", text))
    ]
    assert wrong == []


def test_an_error_has_parts() -> None:
    with pytest.raises(binarrow.ConfigError) as caught:
        binarrow.read_binlog("x", column_names="none", layout="nested")
    error = caught.value
    assert str(error) == "".join(
        part if isinstance(part, str) else in_python(*part) for part in error.parts
    )
    assert ("column_names", "none") in error.parts
    assert parts_of(pickle.loads(pickle.dumps(error))) == error.parts
    longer = restated(error, "before: ", "; after ⟦gaps=allow⟧")
    assert str(longer) == f"before: {error}; after gaps='allow'"
    assert parts_of(longer)[-1] == ("gaps", "allow")
    assert parts_of(ValueError("text")) == ("text",)
    assert binarrow.ConfigError("text").parts == ()


def test_a_warning_has_parts() -> None:
    fixture = ROOT / "tests/fixtures/mysql-unfinished/binlog.000001"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(binarrow.read_binlog(str(fixture)))
    warning = caught[-1].message
    assert isinstance(warning, binarrow.BinarrowWarning)
    assert render(warning.parts, in_python) == str(warning)


def test_brackets_of_names_are_text() -> None:
    assert message("a⟦b.000001 ends; ⟦gaps=allow⟧") == "a⟦b.000001 ends; gaps='allow'"
    for text in ("the table ⟦A⟧", "⟦⟧", "⟦x y⟧", "⟦"):
        assert message(text) == text
    # A name that looks like an option is shown as one.
    assert in_cli(message("⟦stream⟧, ⟦history.baseline=x⟧")) == "stream=, history.baseline(x)"


def test_a_message() -> None:
    text = message("set ⟦json=diff⟧, ⟦skip_events=[99]⟧ or ⟦history.baseline=server⟧")
    assert text == "set json='diff', skip_events=[99] or history.baseline(server)"
    assert pickle.loads(pickle.dumps(text)).parts == text.parts
    assert Message(("a", ("gaps", None))) == "agaps="
