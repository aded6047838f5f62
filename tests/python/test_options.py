"""The table of options is exactly what functions and commands accept; for Spark see tests/spark."""

from __future__ import annotations

import contextlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import binarrow
from binarrow import ConfigError, TypeOptions
from binarrow.cli.app import app
from binarrow.cli.flags import help_of
from binarrow.options import OPTIONS, keywords_of

NATIVE = {
    "read_binlog": lambda **given: binarrow.read_binlog(b"", **given),
    "read_split": lambda **given: binarrow.read_split(SPLIT, options=given),
    "infer_schema": lambda **given: binarrow.infer_schema(b"", "shop.orders", **given),
    "nested_json_schema": lambda **given: binarrow.nested_json_schema(**{"types": "spark"} | given),
    "TypeOptions": lambda **given: TypeOptions(**given),
}
SPLIT = binarrow.scan_splits(
    str(Path(__file__).parents[2] / "examples/shop/binlog.000001"), target_bytes=1 << 30
)[0]
WORDS = [
    (function, option)
    for function in NATIVE
    for option in keywords_of(function)
    if option.kind.words
]


def refusal(function, keyword, value):
    """The message of the error, if there is one."""
    try:
        NATIVE[function](**{keyword: value})
    except binarrow.BinarrowError as error:
        return str(error)
    return ""


def test_what_the_table_writes_is_current(repository):
    ran = subprocess.run(
        [sys.executable, repository / "tools" / "write_options.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("function", "signature"),
    {
        "read_binlog": inspect.signature(binarrow.read_binlog),
        "infer_schema": inspect.signature(binarrow.infer_schema),
        "nested_json_schema": inspect.signature(binarrow.nested_json_schema),
        "TypeOptions": inspect.signature(TypeOptions),
        "connect": inspect.signature(binarrow.connect),
        "stream": inspect.signature(binarrow.Server.stream),
    }.items(),
)
def test_signatures(function, signature):
    handed_on = {option.name for option in keywords_of("range")}
    of_table = {
        option.name: option.default
        for option in keywords_of(function)
        if function != "stream" or option.name not in handed_on
    }
    positional = {"source", "table", "url", "self", "keywords"}
    of_code = {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if name not in positional
    }
    assert of_code == of_table


@pytest.mark.parametrize("function", NATIVE)
def test_keywords_are_those_of_the_table(function):
    own = {option.name for option in keywords_of(function)}
    for option in OPTIONS:
        if option.name in own:
            with contextlib.suppress(binarrow.BinarrowError):  # an empty input
                NATIVE[function](**{option.name: option.default})
        else:
            with pytest.raises(
                TypeError, match=r"unexpected keyword|start and stop|multiple values"
            ):
                NATIVE[function](**{option.name: option.default})


@pytest.mark.parametrize(
    ("function", "option"), WORDS, ids=[f"{function}-{option.name}" for function, option in WORDS]
)
def test_words_are_those_of_the_table(function, option):
    refused = f"{option.name} must be one of .*".replace("enum", "enum(eration)?")
    for word in option.kind.words:
        assert "must be one of" not in refusal(function, option.name, word)
    with pytest.raises(ConfigError, match=refused) as failure:
        NATIVE[function](**{option.name: "nonsense"})
    listed = str(failure.value).rpartition(", not ")[0].replace('"', "'")
    assert [word.strip("'[] ") for word in listed.rpartition("one of ")[2].split(",")] == list(
        option.kind.words
    )


@pytest.mark.parametrize("name", ["include", "operations", "envelope"])
def test_lists_are_those_of_the_table(name):
    [option] = [each for each in keywords_of("read_binlog") if each.name == name]
    given = {"statements": "skip"} if name == "include" else {}
    for item in option.kind.items:
        assert f"``{item}``" in option.doc.replace('"', "")
        binarrow.read_binlog(b"", **{name: [item]}, **given)
    with pytest.raises(ConfigError) as failure:
        binarrow.read_binlog(b"", **{name: ["nonsense"]}, **given)
    listed = re.findall(r"[a-z]+(?:_[a-z]+)*", str(failure.value))
    prose = {name, "must", "be", "one", "no", "column", "there", "are", "is", "none", "of", "not"}
    prose |= {"use", "unknown"}
    assert set(listed) - prose - {"nonsense"} == set(option.kind.items)


def test_help_shows_the_documentation():
    text = binarrow.read_binlog.__doc__
    for option in keywords_of("read_binlog"):
        shown = " ".join(text.partition(f"\n    {option.name}: ")[2].split())
        assert shown.startswith(" ".join(option.doc.split())), option.name
    for function in ("infer_schema", "inspect", "link_splits", "scan_splits", "read_split"):
        text = getattr(binarrow, function).__doc__
        assert len(text) > 80
        assert "--\n" not in text, "the signature is no part of the text"


@pytest.mark.parametrize("function", ["read_binlog", "read_split", "infer_schema"])
def test_misspelt_keywords(function):
    expected = (
        rf"{function}\(\) got an unexpected keyword argument 'collumns'; did you mean 'columns'\?"
    )
    with pytest.raises(TypeError, match=expected):
        NATIVE[function](collumns=None)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'qqqqqqq'$"):
        NATIVE[function](qqqqqqq=None)


def test_a_wrong_type_names_the_keyword():
    with pytest.raises(TypeError) as failure:
        binarrow.read_binlog(b"", threads="many")
    assert failure.value.__notes__ == ["while processing 'threads'"]
    with pytest.raises(TypeError) as failure:
        binarrow.read_binlog(b"", layout=None)
    assert failure.value.__notes__ == ["while processing 'layout'"]


@pytest.mark.parametrize("option", OPTIONS, ids=[option.name for option in OPTIONS])
def test_documentation_is_complete(option):
    assert option.summary.endswith((".", ":", "?")), "the first paragraph is a sentence"
    assert len(option.summary) < 420
    assert option.functions or option.spark or option.flag
    if option.kind.words and option.functions:
        assert all(f'"{word}"' in option.doc for word in option.kind.words)


def test_each_function_takes_a_name_once():
    functions = {function for option in OPTIONS for function in option.functions}
    for function in functions:
        names = [option.name for option in keywords_of(function)]
        assert len(names) == len(set(names)), function


OWN_FLAGS = {
    "inspect": {"--type", "--start", "--stop", "--queries", "--table-metadata", "--hexdump"}
    | {"--tables", "--tz", "--format"},
    "find": {"--between", "--gtid", "--thread", "--tz", "--password", "--format"},
    "undo": {"--between", "--gtid", "--thread", "--password", "--redo", "--dry-run", "--to"}
    | {"--ignore-schema-changes", "--foreign-key-checks", "--tz"},
    "at": {
        *("--table", "--columns", "--before", "--to", "--locks", "--password", "--format"),
        *("--archive", "--rows", "--rows-position"),
    },
    "stats": {"--largest", "--by", "--plot", "--html", "--tz", "--format"},
    "export": {"--to", "--file-format", "--source-name", "--query", "--overwrite"},
    "index": {"--check", "--format"},
    "schema": {"--table", "--format"},
    "splits": {"--target-bytes", "--format"},
    "check": {"--password", "--for", "--json", "--format", "--tables"},
    "tail": {"--follow", "--tz", "--password", "--json", "--format"},
    "sync": {"--tables", "--exclude-tables", "--once", "--every", "--mode", "--schema-changes"}
    | {
        "--metrics",
        "--on-table-error",
        "--reload",
        "--on-truncate",
        "--on-drop",
        "--locks",
        "--rows-from",
        "--busy-timeout",
        "--config",
        "--password",
        "--json",
        "--format",
    },
    "verify": {"--tables", "--exclude-tables", "--show-keys", "--locks", "--password"}
    | {"--busy-timeout", "--json", "--format"},
}
COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("name", OWN_FLAGS)
def test_flags_are_those_of_the_table(name):
    of_table = {
        option.flag.name.partition("/")[0]: option.flag.commands[name]
        for option in OPTIONS
        if option.flag is not None and name in option.flag.commands
    }
    flags = {flag.opts[0]: flag for flag in COMMANDS[name].params if flag.opts[0].startswith("-")}
    assert flags.keys() == of_table.keys() | OWN_FLAGS[name]
    for flag, default in of_table.items():
        assert flags[flag].default == default, flag
        assert flags[flag].help


def test_flags_are_described_in_their_own_words():
    for option in OPTIONS:
        if option.flag is not None:
            text = help_of(option, option.flag)
            assert "`" not in text, option.name
            assert '"' not in text, option.name
            assert f" {option.name} " not in text or "_" not in option.name, option.name


def test_each_command_is_in_the_table_of_flags():
    assert OWN_FLAGS.keys() | {"history", "load"} == COMMANDS.keys()
