"""Is a server set up for reading its changes? Each setting graded, with what to change.

Sources: the manuals' pages on binary logging options, of MySQL (``replication-options-binary-log``)
and of MariaDB (``replication-and-binary-log-system-variables``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from binarrow._native import ServerError

if TYPE_CHECKING:
    from binarrow.server import Server

Grade = Literal["ok", "warning", "error"]

VARIABLES = (
    "log_bin",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "binlog_row_value_options",
    "binlog_checksum",
    "binlog_expire_logs_seconds",
    "binlog_expire_logs_auto_purge",
    "expire_logs_days",
    "max_binlog_total_size",
    "binlog_transaction_compression",
    "log_bin_compress",
    "gtid_mode",
    "server_id",
    "sync_binlog",
    "log_replica_updates",
    "log_slave_updates",
)

DAY = 86_400

ACCESS_DENIED = 1227
"""The server's number for a privilege that is missing."""


@dataclass(frozen=True)
class Check:
    """One setting of a server, graded."""

    name: str
    """What was looked at: a variable, or ``privileges``."""
    grade: Grade
    """``error``: changes cannot be read, or are lost. ``warning``: something may be missed."""
    value: str
    """What the server says."""
    advice: str
    """What it means and what to change; empty where nothing is to be done."""


def checks(server: Server) -> list[Check]:
    """All checks, in the order in which to put things right."""
    values = server.variables(*VARIABLES)
    return [
        *_log(values),
        *_rows(values),
        *_retention(values),
        *_keeping(server, values),
        *_access(server),
    ]


def _log(values: dict[str, str]) -> Iterator[Check]:
    log_bin = values.get("log_bin", "OFF")
    if log_bin == "ON":
        yield Check("log_bin", "ok", log_bin, "")
    else:
        yield Check("log_bin", "error", log_bin, "start the server with log_bin: it writes no log")
    form = values.get("binlog_format", "ROW")  # later versions know no other
    if form == "ROW":
        yield Check("binlog_format", "ok", form, "")
    else:
        yield Check(
            "binlog_format",
            "error",
            form,
            "SET GLOBAL binlog_format = ROW: otherwise the log holds statements, not rows",
        )
    server_id = values.get("server_id", "0")
    if server_id == "0":
        yield Check("server_id", "error", server_id, "give the server a server_id above 0")
    else:
        yield Check("server_id", "ok", server_id, "")


def _rows(values: dict[str, str]) -> Iterator[Check]:
    image = values.get("binlog_row_image", "FULL")
    if image in ("FULL", "FULL_NODUP"):
        yield Check("binlog_row_image", "ok", image, "")
    else:
        yield Check(
            "binlog_row_image",
            "warning",
            image,
            "updates and deletes tell only the key and what changed; FULL tells all columns",
        )
    metadata = values.get("binlog_row_metadata")
    if metadata == "FULL":
        yield Check("binlog_row_metadata", "ok", metadata, "")
    elif metadata is None:
        yield Check(
            "binlog_row_metadata",
            "warning",
            "unknown to this version",
            "the log names no columns: stream(history=...) knows them, or give schemas=",
        )
    else:
        yield Check(
            "binlog_row_metadata",
            "warning",
            metadata,
            "SET GLOBAL binlog_row_metadata = FULL: the log names no columns, so history= or"
            " schemas= must",
        )
    options = values.get("binlog_row_value_options", "")
    if "PARTIAL_JSON" in options and image != "FULL":
        yield Check(
            "binlog_row_value_options",
            "warning",
            options,
            "without binlog_row_image = FULL updated JSON documents cannot be put together;"
            " json='diff' gives what changed",
        )
    elif "binlog_row_value_options" in values:
        yield Check("binlog_row_value_options", "ok", options or "-", "")
    checksum = values.get("binlog_checksum", "NONE")
    if checksum == "NONE":
        yield Check(
            "binlog_checksum",
            "warning",
            checksum,
            "SET GLOBAL binlog_checksum = CRC32: otherwise damage goes unseen",
        )
    else:
        yield Check("binlog_checksum", "ok", checksum, "")
    compressed = values.get("binlog_transaction_compression", values.get("log_bin_compress"))
    if compressed is not None:
        yield Check("compression of the log", "ok", compressed, "")


def _retention(values: dict[str, str]) -> Iterator[Check]:
    seconds = int(values.get("binlog_expire_logs_seconds") or 0)
    seconds = seconds or int(float(values.get("expire_logs_days") or 0) * DAY)
    if seconds == 0 or values.get("binlog_expire_logs_auto_purge") == "OFF":
        yield Check(
            "retention",
            "ok",
            "until purged by hand",
            "mind the disk: nothing purges the log by itself",
        )
    elif seconds < DAY:
        yield Check(
            "retention",
            "warning",
            f"{seconds} s",
            "a reader that stops for longer loses changes: raise binlog_expire_logs_seconds",
        )
    else:
        yield Check("retention", "ok", f"{seconds / DAY:g} days", "")
    size = int(values.get("max_binlog_total_size") or 0)
    if size > 0:
        yield Check(
            "max_binlog_total_size",
            "warning",
            f"{size} bytes",
            "a reader that falls behind by more loses changes: mind that it is large enough",
        )


def _keeping(server: Server, values: dict[str, str]) -> Iterator[Check]:
    if server.flavor == "mysql":
        gtid_mode = values.get("gtid_mode", "OFF")
        if gtid_mode == "ON":
            yield Check("gtid_mode", "ok", gtid_mode, "")
        else:
            yield Check(
                "gtid_mode",
                "warning",
                gtid_mode,
                "with ON a reader can go on at another server after a failover",
            )
    sync = values.get("sync_binlog", "1")
    if sync == "1":
        yield Check("sync_binlog", "ok", sync, "")
    else:
        yield Check(
            "sync_binlog",
            "warning",
            sync,
            "SET GLOBAL sync_binlog = 1: otherwise a crash may take back what was read already",
        )
    updates = values.get("log_replica_updates", values.get("log_slave_updates", "ON"))
    if updates == "ON":
        yield Check("log_replica_updates", "ok", updates, "")
    else:
        yield Check(
            "log_replica_updates",
            "warning",
            updates,
            "if this is a replica, its log lacks what comes from its source: set it ON",
        )
    try:
        filters = server.database_filters()
    except ServerError:
        return  # `privileges` tells why
    if filters:
        yield Check(
            "binlog_do_db, binlog_ignore_db",
            "warning",
            ", ".join(filters),
            "the server leaves changes of some databases out of its log",
        )


def _access(server: Server) -> Iterator[Check]:
    granted = " ".join(
        grant.split(" ON ", 1)[0] for grant in server.grants() if " ON *.* " in f"{grant} "
    ).upper()
    may_dump = ("ALL PRIVILEGES", "REPLICATION SLAVE", "REPLICATION REPLICA")
    missing = [] if any(one in granted for one in may_dump) else ["REPLICATION SLAVE"]
    if not _may_ask(server):
        missing.append("BINLOG MONITOR" if server.flavor == "mariadb" else "REPLICATION CLIENT")
    if missing:
        yield Check(
            "privileges",
            "error",
            f"without {' and '.join(missing)}",
            f"GRANT {', '.join(missing)} ON *.* TO the user",
        )
    else:
        yield Check("privileges", "ok", "may read the log, and ask where it stands", "")
    if server.tls_version is not None:
        yield Check("tls", "ok", server.tls_version, "")
    elif server.is_local:
        yield Check("tls", "ok", "none, on this machine", "")
    else:
        yield Check("tls", "warning", "none", "what is read goes over the network in the clear")


def _may_ask(server: Server) -> bool:
    """Whether the user may see where the log stands: the server knows, roles and all."""
    try:
        server.binlogs()
    except ServerError as error:
        return error.code != ACCESS_DENIED
    return True
