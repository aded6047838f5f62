"""The documentation of the data source's options, from the table of options."""

from __future__ import annotations

import re
import textwrap

from binarrow.options import OPTIONS, Option, spark_options

LISTS = {
    "names": "Comma-separated.",
    "codes": "Comma-separated.",
    "mask": "Comma-separated.",
}
"""Notes on the text form, by kind of values."""

MEANING = 64
"""The width of the last column."""

CODE = re.compile(r'``"?([^`"]*)"?``')


def option_tables() -> str:
    """Returns two tables with name, default and meaning: of all queries, and of servers only."""
    options = spark_options()
    general = {name: option for name, option in options.items() if is_of(option, "both", "files")}
    server = {name: option for name, option in options.items() if name not in general}
    return (
        "Options of files and servers:\n\n"
        f"{_table(general)}\n\n"
        "Options of a server, by ``spark.read`` and ``spark.readStream``:\n\n"
        f"{_table(server)}"
    )


def is_of(option: Option, *queries: str) -> bool:
    """True if queries of these kinds accept the option."""
    return option.spark is not None and option.spark.of in queries


def default_of(option: Option) -> str:
    """Returns the default for the table."""
    match option:
        case Option(spark=spark) if spark is not None and spark.default:
            return spark.default
        case Option(default=None):
            return "-"
        case Option(default=bool()):
            return str(option.default).lower()
        case _:
            return str(option.default)


def meaning_of(option: Option) -> str:
    """Returns the effect of the option, with Spark's names of options."""
    spark = option.spark
    text = spark.doc if spark is not None and spark.doc else option.summary
    if not option.functions and not (spark and spark.doc):
        text = option.doc
    text = CODE.sub(_in_spark, " ".join(text.split()))
    text = text[0].upper() + text[1:] if text[0].isalpha() else text
    text = text if text.endswith(".") else f"{text}."
    note = LISTS.get(option.spark_kind.name)
    return f"{text} {note}" if note else text


def _in_spark(found: re.Match[str]) -> str:
    """Returns a word of code for Spark: options by their Spark names, values without quotes."""
    return f"``{_NAMES.get(found[1], found[1])}``"


_NAMES = {option.name: option.spark_name for option in OPTIONS if option.spark is not None}


def _table(options: dict[str, Option]) -> str:
    rows = [("name", "default", "meaning")]
    rows += [(name, default_of(one), meaning_of(one)) for name, one in options.items()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)] + [MEANING]
    rule = "  ".join("=" * width for width in widths)
    lines: list[str] = []
    for name, default, meaning in rows:
        first, *others = textwrap.wrap(
            meaning, MEANING, break_long_words=False, break_on_hyphens=False
        )
        lines.append(f"{name:{widths[0]}}  {default:{widths[1]}}  {first}")
        lines += [f"{'':{widths[0]}}  {'':{widths[1]}}  {line}" for line in others]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


__all__ = ["default_of", "is_of", "meaning_of", "option_tables"]
