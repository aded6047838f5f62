"""The properties of tables in which a query stores what it knows about them.

Spark replaces a value by ``*********(redacted)`` in the result of SHOW TBLPROPERTIES if it contains
a word such as ``url``, ``token`` or ``password``. These may be names of columns. Therefore values
are written in hexadecimal digits.

<https://spark.apache.org/docs/latest/sql-ref-syntax-aux-show-tblproperties.html>
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from binarrow.stored_forms import SYNC_PROPERTIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("binarrow.spark")

_HEX = "hex:"
_REDACTED = "(redacted)"


def encoded(value: object) -> str:
    """Returns the text of a property: the value as JSON, in hexadecimal digits."""
    return _HEX + json.dumps(value).encode().hex()


def decoded(properties: Mapping[str, str], key: str, default: Any = None) -> Any:
    """Returns the value of a property, or the default if the table does not have it.

    Earlier versions have stored JSON or plain text. If Spark does not return it, the result is the
    default too.
    """
    text = properties.get(key)
    if text is None:
        return default
    if text.startswith(_HEX):
        return json.loads(bytes.fromhex(text.removeprefix(_HEX)))
    if text.endswith(_REDACTED):
        LOG.warning("Spark does not return the property %s of a table: it is ignored", key)
        return default
    try:
        return json.loads(text)
    except ValueError:
        return text


def written_version() -> dict[str, str]:
    """Returns the property of a new table with the version of its properties."""
    return {SYNC_PROPERTIES.key: str(SYNC_PROPERTIES.version)}


def check_version(properties: Mapping[str, str], target: str) -> None:
    """Checks the version of the properties of a table.

    Raises:
        LaterVersionError: A later version of binarrow has written them.
    """
    text = properties.get(SYNC_PROPERTIES.key)
    version = int(text) if text is not None and text.isdecimal() else text
    SYNC_PROPERTIES.check(version, f"the table {target}")


def read_properties(spark: SparkSession, target: str, form: str) -> dict[str, str]:
    """Returns the properties of a table.

    Args:
        spark: The session.
        target: The name of the table in SQL.
        form: The format of the table.
    """
    rows = spark.sql(f"SHOW TBLPROPERTIES {target}").collect()
    found = {row.key: row.value for row in rows}
    if form == "delta" and any(value.endswith(_REDACTED) for value in found.values()):
        detail = spark.sql(f"DESCRIBE DETAIL {target}").collect()
        found |= detail[0].properties
    return found


__all__ = ["check_version", "decoded", "encoded", "read_properties", "written_version"]
