"""The table of all options: one entry for each keyword, Spark option and command-line flag.

An entry's ``functions`` are the functions that accept the keyword:

* ``read_binlog``, ``infer_schema`` and ``nested_json_schema``;
* ``read_split``: in the dict of its argument ``options``;
* ``read_table``, ``stream`` and ``range``: methods of :class:`binarrow.Server`;
* ``decoder``: of :mod:`binarrow.spark`, for the tasks;
* ``connect``, and ``login``: the login keywords of Spark's functions;
* ``TypeOptions``.

``make options`` generates from it the text that must be in the repository: the struct of keywords
in Rust, the signatures and docstrings of the stubs, and the typed keywords. All other code reads
the table at run time.
"""

from __future__ import annotations

from binarrow.options import (
    connecting,
    data_source,
    reading,
    schemas,
    selection,
    shape,
    streaming,
    type_options,
)
from binarrow.options.option import Flag, Kind, Option, Spark

OPTIONS: tuple[Option, ...] = (
    *selection.OPTIONS,
    *shape.OPTIONS,
    *schemas.OPTIONS,
    *reading.OPTIONS,
    *type_options.OPTIONS,
    *connecting.OPTIONS,
    *streaming.OPTIONS,
    *data_source.OPTIONS,
)


ENVELOPE_COLUMNS = shape.ENVELOPE.items
"""The names of the columns of the flat envelope, without their prefix."""


def keywords_of(function: str) -> tuple[Option, ...]:
    """Returns the options that a function accepts, in the order of its signature."""
    return tuple(option for option in OPTIONS if function in option.functions)


def spark_options() -> dict[str, Option]:
    """Returns the options of the data source, by name."""
    ordered = (*data_source.OPTIONS, *OPTIONS)
    return {option.spark_name: option for option in ordered if option.spark is not None}


__all__ = [
    "ENVELOPE_COLUMNS",
    "OPTIONS",
    "Flag",
    "Kind",
    "Option",
    "Spark",
    "keywords_of",
    "spark_options",
]
