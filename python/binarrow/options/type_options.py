"""The options of types: keywords of `TypeOptions`."""

from __future__ import annotations

from binarrow.options.option import Option, Spark, words

TYPES = frozenset({"TypeOptions"})

OPTIONS = (
    Option(
        "profile",
        words("native", "spark"),
        "native",
        """
        The types to start from: ``"native"``, Arrow's closest types, or ``"spark"``, those that
        Spark can read.

        ``"spark"`` widens unsigned integers, returns TIME as microseconds, and uses no
        dictionaries.
        """,
        TYPES,
    ),
    Option(
        "zero_dates",
        words("null", "error", "text"),
        "null",
        """
        Dates that are zero (``0000-00-00``), partial or impossible: ``"null"``, ``"error"``, or
        ``"text"``, which makes the column a string.

        ``"null"`` counts them in ``stats()`` and warns. ``"error"`` raises an error that names the
        column.
        """,
        TYPES,
        Spark(),
    ),
    Option(
        "json",
        words("text", "variant", "bytes", "diff"),
        "text",
        """
        The form of JSON columns: ``"text"`` as the server prints it, ``"variant"``, ``"bytes"`` as
        stored, or ``"diff"``: the changes of a document, if the log contains only these.
        """,
        TYPES,
        Spark(),
    ),
    Option(
        "time",
        words("duration", "micros", "interval", "text"),
        None,
        """
        The form of TIME columns: ``"duration"``, ``"micros"`` (int64), ``"interval"``, or
        ``"text"``.

        None is ``"duration"``, and ``"micros"`` in the profile ``"spark"``.
        """,
        TYPES,
        Spark(
            kind=words("micros", "interval", "text"),
            default="micros",
            doc="the form of TIME columns: ``micros`` (bigint), ``interval`` or ``text``",
        ),
    ),
    Option(
        "geometry",
        words("ewkb", "wkb", "mysql"),
        "ewkb",
        """
        The form of GEOMETRY columns: ``"ewkb"``, ``"wkb"`` (without the SRID), or ``"mysql"`` as
        stored.
        """,
        TYPES,
        Spark(),
    ),
    Option(
        "enum",
        words("dictionary", "text", "ordinal"),
        None,
        """
        The form of ENUM columns: ``"dictionary"``, ``"text"``, or ``"ordinal"``, the number of the
        member.

        None is ``"dictionary"``, and ``"text"`` in the profile ``"spark"``.
        """,
        TYPES,
        Spark(
            kind=words("text", "ordinal"),
            default="text",
            doc="the form of ENUM columns: ``text``, or ``ordinal``, the number of the member",
        ),
    ),
    Option(
        "invalid_text",
        words("error", "replace", "binary"),
        "error",
        """
        Text that is not valid in its character set: ``"error"``, ``"replace"`` by U+FFFD, or
        ``"binary"``, which makes the column binary.
        """,
        TYPES,
        Spark(),
    ),
)
