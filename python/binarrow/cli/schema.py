"""`binarrow schema`: prints the columns of one table."""

from typing import Annotated

import typer

import binarrow
from binarrow.cli.arguments import Files, Format, FormatOption, sources
from binarrow.cli.failure import reports_failure
from binarrow.cli.flags import Reading, reads
from binarrow.cli.output import print_json, print_table

EXAMPLES = """\
Examples:
  binarrow schema binlog.000001 --table shop.orders
  binarrow schema binlog.000001 --table shop.orders --types spark --format json
  binarrow schema binlog.000001 --table shop.orders --schemas shop.sql
  binarrow schema binlog.000001 --table shop.orders --history shop.db"""


@reports_failure
@reads("schema")
def command(
    files: Files,
    table: Annotated[str, typer.Option(metavar="DB.TABLE", help="The table.", show_default=False)],
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
    *,
    reading: Reading,
) -> None:
    """Print a table's columns: the Arrow type, and MySQL's properties, if they are logged."""
    with reading.keywords() as keywords:
        schema = binarrow.infer_schema(sources(files), table, **keywords)
    metadata = [_metadata(field.metadata) for field in schema]
    if format is Format.json:
        for field, mysql in zip(schema, metadata, strict=True):
            print_json({"name": field.name, "type": str(field.type), **mysql})
        return
    keys = [key for key in _ORDER if any(key in mysql for mysql in metadata)]
    rows = [
        [field.name, str(field.type), *(mysql.get(key, "") for key in keys)]
        for field, mysql in zip(schema, metadata, strict=True)
    ]
    print_table(["column", "arrow", *keys], rows)


_ORDER = (
    "mysql.type",
    "mysql.primary_key",
    "mysql.nullable",
    "mysql.unsigned",
    "mysql.visible",
    "mysql.collation",
    "mysql.geometry_type",
    "mysql.members",
)


def _metadata(metadata: dict[bytes, bytes] | None) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (metadata or {}).items()}
