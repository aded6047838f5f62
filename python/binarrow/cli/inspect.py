"""`binarrow inspect`: every event as it stands in the files."""

from datetime import UTC, datetime

import binarrow
from binarrow.cli.arguments import Files, Format, FormatOption, Start, Stop
from binarrow.cli.failure import reports_failure
from binarrow.cli.output import print_json

EXAMPLES = """\
Examples:
  binarrow inspect binlog.000001
  binarrow inspect binlog.000001 --start binlog.000001:4096 --stop binlog.000001:8192
  binarrow inspect 'binlog.*' --format json | jq -r .type | sort | uniq -c"""


@reports_failure
def command(
    files: Files,
    start: Start = None,
    stop: Stop = None,
    format: FormatOption = Format.table,  # noqa: A002 - the option's name
) -> None:
    """Print the events of binlog files, one a line; rows are counted, never shown."""
    events = binarrow.inspect(files, start=start, stop=stop)
    if format is Format.json:
        for event in events:
            print_json(_record(event))
        return
    print(f"{'time (UTC)':19}  {'file':16} {'offset':>12} {'size':>10}  {'type':24} info")
    for event in events:
        print(_line(event))


def _line(event: binarrow.Event) -> str:
    name = f"  {event.type_name}" if event.compressed else event.type_name
    info = " ".join(event.info.split())  # a statement may have many lines
    return (
        f"{_time(event) or '-':19}  {event.file:16} {event.offset:12} {event.size:10}  {name:24}"
        f" {info}"
    ).rstrip()


def _time(event: binarrow.Event) -> str | None:
    if event.timestamp == 0:
        return None
    return datetime.fromtimestamp(event.timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _record(event: binarrow.Event) -> dict[str, object]:
    return {
        "file": event.file,
        "offset": event.offset,
        "size": event.size,
        "type": event.type_name,
        "type_code": event.type_code,
        "timestamp": event.timestamp,
        "server_id": event.server_id,
        "log_pos": event.log_pos,
        "flags": event.flags,
        "compressed": event.compressed,
        "info": event.info,
    }
