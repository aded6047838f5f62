"""Checks that a server and its table fulfil the requirements of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binarrow import ConfigError, SchemaError, ServerError
from binarrow.advice import restated
from binarrow.server import Server
from binarrow.server.check import persistently
from binarrow.spark.messages import spark_message

if TYPE_CHECKING:
    import pyarrow as pa

    from binarrow.spark.source_options import SourceOptions

NO_SUCH_TABLE = {1049, 1146}
"""Server errors for a database and a table that do not exist."""


DENIED = {1044, 1142, 1143}
"""Server errors for a database, a table and a column to which the user has no access."""


def check_names(server: Server, options: SourceOptions) -> None:
    """Checks that the names of columns are known.

    Raises:
        ConfigError: Neither the log nor an option contains them.
    """
    is_known = (
        options.history is not None
        or "schemas" in options.read
        or options.read.get("column_names") == "positional"
    )
    if is_known:
        return
    metadata = server.variables("binlog_row_metadata").get("binlog_row_metadata")
    if metadata == "FULL":
        return
    if metadata is None:
        raise ConfigError(
            spark_message(
                f"the log of this server ({server.version}) contains no column names: set"
                ' ⟦history⟧, for example "sqlite:////var/lib/binarrow/history.db", which follows'
                " the tables from now on; or ⟦schemas⟧, with CREATE TABLE"
            )
        )
    persistent = persistently(server.flavor, server.version, "binlog_row_metadata", "FULL")
    raise ConfigError(
        spark_message(
            f"binlog_row_metadata is {metadata} on this server, so its log contains no column"
            f" names. Either {persistent} (events logged before that remain without names), or set"
            ' ⟦history⟧, for example "sqlite:////var/lib/binarrow/history.db", which follows the'
            " tables from now on"
        )
    )


def check_columns(server: Server, options: SourceOptions, schema: pa.Schema) -> None:
    """Checks that the query's schema has all current columns of the table.

    Raises:
        SchemaError: The table has new columns: restart the query to read them.
    """
    if options.table is None:
        return  # a document has the columns of its row
    if "columns" in options.read or options.read.get("column_names") == "positional":
        return  # the columns are fixed
    try:
        described = server.describe(options.table)
    except ServerError as error:
        if error.code in NO_SUCH_TABLE:
            return
        if error.code in DENIED:
            database, _, table = options.table.partition(".")
            after = (
                "; under ⟦schema_change_policy=follow⟧ the user needs GRANT SELECT ON"
                f" `{database}`.`{table}`, to see new columns before their rows are read"
            )
            raise restated(error, after=spark_message(after)) from error
        raise
    known = {name.lower() for name in _columns(schema, options)}
    new = [
        column.name
        for column in described.columns
        if column.name.lower() not in known and column.generated != "virtual"
    ]
    if new:
        again = (
            "Restart the query with the same checkpoint, and add them to its .schema(...)"
            if options.is_schema_given
            else "Restart the query with the same checkpoint: load() finds the new columns"
        )
        raise SchemaError(
            spark_message(
                f"{options.table} now has columns that this query does not know: {', '.join(new)}."
                f" {again}; nothing is lost, because no row of this batch was read. Or set"
                " ⟦schema_change_policy=project⟧ to continue without them"
            )
        )


def _columns(schema: pa.Schema, options: SourceOptions) -> list[str]:
    if options.read.get("layout") == "nested":
        return [field.name for side in ("before", "after") for field in schema.field(side).type]
    return list(schema.names)
