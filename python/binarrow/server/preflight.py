"""Grades each setting of a server for reading its changes, and suggests fixes.

Sources: the manuals' pages on binary logging options, of MySQL (``replication-options-binary-log``)
and of MariaDB (``replication-and-binary-log-system-variables``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from binarrow._native import ServerError
from binarrow.advice import message
from binarrow.server.check import (
    FIRST_WITH_PERSIST,
    Check,
    in_option_file,
    is_from,
    persistently,
)
from binarrow.server.privileges import Use, may_lock, privileges
from binarrow.server.session import Session

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

RETENTION = 30 * DAY
"""MySQL's default for `binlog_expire_logs_seconds`."""


def checks(server: Session, use: Use | None = None, tables: Sequence[str] = ()) -> list[Check]:
    """Returns all checks, in the order in which to fix problems."""
    values = server.variables(*VARIABLES)
    remedy = partial(persistently, server.flavor, server.version)
    return [
        *_log(values, server.flavor, remedy),
        *_rows(values, remedy),
        *_retention(values, remedy),
        *_continuity(server, values, remedy),
        *_position(server),
        *_snapshots(server, values, use),
        *privileges(server, use, tables),
        *_network(server),
    ]


Remedy = Callable[[str, str], str]
"""Returns the advice to set a variable so that it keeps its value after a restart."""


def _log(values: dict[str, str], flavor: str, remedy: Remedy) -> Iterator[Check]:
    log_bin = values.get("log_bin", "OFF")
    if log_bin == "ON":
        yield Check("log_bin", "ok", log_bin, "")
    else:
        advice = f"{in_option_file(flavor, 'log_bin', 'binlog')}, and restart it: it writes no log"
        yield Check("log_bin", "error", log_bin, advice)
    form = values.get("binlog_format", "ROW")  # later versions have no other format
    if form == "ROW":
        yield Check("binlog_format", "ok", form, "")
    else:
        yield Check(
            "binlog_format",
            "error",
            form,
            f"{remedy('binlog_format', 'ROW')}: otherwise the log contains statements, not rows;"
            " open connections keep the old value",
        )
    server_id = values.get("server_id", "0")
    if server_id == "0":
        advice = f"{remedy('server_id', '1')}, or another number that is unique among servers"
        yield Check("server_id", "error", server_id, advice)
    else:
        yield Check("server_id", "ok", server_id, "")


def _rows(values: dict[str, str], remedy: Remedy) -> Iterator[Check]:
    image = values.get("binlog_row_image", "FULL")
    if image in ("FULL", "FULL_NODUP"):
        yield Check("binlog_row_image", "ok", image, "")
    else:
        yield Check(
            "binlog_row_image",
            "warning",
            image,
            f"{remedy('binlog_row_image', 'FULL')}: otherwise updates and deletes contain only the"
            " key and the changed columns",
        )
    metadata = values.get("binlog_row_metadata")
    if metadata == "FULL":
        yield Check("binlog_row_metadata", "ok", metadata, "")
    elif metadata is None:
        yield Check(
            "binlog_row_metadata",
            "warning",
            "unknown to this version",
            message("the log contains no column names: use ⟦history⟧ or ⟦schemas⟧"),
        )
    else:
        yield Check(
            "binlog_row_metadata",
            "warning",
            metadata,
            message(
                f"{remedy('binlog_row_metadata', 'FULL')}: otherwise the log contains no column"
                " names, and ⟦history⟧ or ⟦schemas⟧ is needed"
            ),
        )
    options = values.get("binlog_row_value_options", "")
    if "PARTIAL_JSON" in options and image != "FULL":
        yield Check(
            "binlog_row_value_options",
            "warning",
            options,
            message(
                "without binlog_row_image = FULL updated JSON documents cannot be reconstructed;"
                " ⟦json=diff⟧ returns the changes"
            ),
        )
    elif "binlog_row_value_options" in values:
        yield Check("binlog_row_value_options", "ok", options or "-", "")
    checksum = values.get("binlog_checksum", "NONE")
    if checksum == "NONE":
        yield Check(
            "binlog_checksum",
            "warning",
            checksum,
            f"{remedy('binlog_checksum', 'CRC32')}: otherwise damage is not detected",
        )
    else:
        yield Check("binlog_checksum", "ok", checksum, "")
    compressed = values.get("binlog_transaction_compression", values.get("log_bin_compress"))
    if compressed is not None:
        yield Check("compression of the log", "ok", compressed, "")


def _retention(values: dict[str, str], remedy: Remedy) -> Iterator[Check]:
    seconds = int(values.get("binlog_expire_logs_seconds") or 0)
    seconds = seconds or int(float(values.get("expire_logs_days") or 0) * DAY)
    if seconds == 0 or values.get("binlog_expire_logs_auto_purge") == "OFF":
        yield Check(
            "retention",
            "ok",
            "until purged by hand",
            "monitor the disk: the log is not purged automatically",
        )
    elif seconds < DAY:
        by_seconds = "binlog_expire_logs_seconds" in values
        name = "binlog_expire_logs_seconds" if by_seconds else "expire_logs_days"
        value = str(RETENTION if by_seconds else RETENTION // DAY)
        yield Check(
            "retention",
            "warning",
            f"{seconds} s",
            f"a reader that is stopped for longer loses changes: {remedy(name, value)}, or more",
        )
    else:
        yield Check("retention", "ok", f"{seconds / DAY:g} days", "")
    size = int(values.get("max_binlog_total_size") or 0)
    if size > 0:
        yield Check(
            "max_binlog_total_size",
            "warning",
            f"{size} bytes",
            "a reader that lags by more than this loses changes: check that it is large enough",
        )


def _continuity(server: Session, values: dict[str, str], remedy: Remedy) -> Iterator[Check]:
    if server.flavor == "mysql":
        gtid_mode = values.get("gtid_mode", "OFF")
        if gtid_mode == "ON":
            yield Check("gtid_mode", "ok", gtid_mode, "")
        else:
            yield Check(
                "gtid_mode",
                "warning",
                gtid_mode,
                "with ON a reader can continue at another server after a failover. Take the steps"
                f" of the manual (first ON_PERMISSIVE), then {remedy('gtid_mode', 'ON')}",
            )
    sync = values.get("sync_binlog", "1")
    if sync == "1":
        yield Check("sync_binlog", "ok", sync, "")
    else:
        yield Check(
            "sync_binlog",
            "warning",
            sync,
            f"{remedy('sync_binlog', '1')}: otherwise a crash may undo changes that were read",
        )
    name = "log_replica_updates" if "log_replica_updates" in values else "log_slave_updates"
    updates = values.get(name, "ON")
    if updates == "ON":
        yield Check("log_replica_updates", "ok", updates, "")
    else:
        yield Check(
            "log_replica_updates",
            "warning",
            updates,
            "if this is a replica, its log does not contain the changes from its source:"
            f" {in_option_file(server.flavor, name, 'ON')}, and restart it",
        )
    try:
        filters = server.database_filters()
    except ServerError:
        return  # the check `privileges` reports the reason
    if filters:
        yield Check(
            "binlog_do_db, binlog_ignore_db",
            "warning",
            ", ".join(filters),
            "the server does not log changes of some databases",
        )


def _position(server: Session) -> Iterator[Check]:
    """Checks that a copy of a table may begin at `Session.position()`."""
    try:
        is_visible = server.position().visible_to_select
    except ServerError:
        return  # the check `log_bin` or `privileges` reports the reason
    if is_visible:
        yield Check("position()", "ok", "a SELECT after it sees all transactions before it", "")
        return
    lacks = "a copy of a table by SELECT that is continued from position() may lack changes:"
    earlier = "continue from an earlier position, such as file_start(position.file)"
    if server.flavor == "mariadb":
        remedy = f"{lacks} XA transactions were committed since the server started; {earlier}"
    else:
        grant = (
            f"; or, if XA is not used, {GRANT_LOG_STATUS}, with performance_schema = ON"
            if is_from(server.version, FIRST_WITH_PERSIST)
            else ""
        )
        remedy = f"{lacks} set gtid_mode = ON{grant}; or {earlier}"
    yield Check("position()", "warning", "may be ahead of what a SELECT sees", remedy)


def _snapshots(server: Session, values: dict[str, str], use: Use | None) -> Iterator[Check]:
    """Checks whether the position of a snapshot is known, for `stream("snapshot")`."""
    name = "snapshot positions"
    may_use_lock = may_lock(server)
    lock = 'locks="brief"' + ("" if may_use_lock else ", with GRANT RELOAD ON *.* TO the user")
    has_xa = server.xa_commits() > 0
    is_mysql = server.flavor == "mysql"
    has_log_status = is_mysql and is_from(server.version, FIRST_WITH_PERSIST)
    may_read = not is_mysql or (has_log_status and server.may_read_log_status())
    grants = [GRANT_LOG_STATUS] if has_log_status and not may_read and not has_xa else []
    if may_read and not has_xa:
        yield Check(name, "ok", "exact, without a lock", "")
    elif is_mysql and values.get("gtid_mode") == "ON":
        remedy = "; or ".join([*grants, f"use {lock}"])
        advice = f"a load of tables without a key needs exact positions: {remedy}"
        yield Check(name, "ok", "before the snapshot, by GTIDs", advice)
    else:
        cause = "XA transactions were committed since the server started: " if has_xa else ""
        gtids = ["set gtid_mode = ON"] if is_mysql else []
        advice = cause + "; or ".join([*grants, *gtids, f"use {lock}"])
        is_error = use == "load" and not may_use_lock
        yield Check(name, "error" if is_error else "warning", "only with a lock", advice)


GRANT_LOG_STATUS = (
    "GRANT BACKUP_ADMIN ON *.* TO the user and GRANT SELECT ON performance_schema.log_status TO"
    " the user"
)


def _network(server: Session) -> Iterator[Check]:
    if server.tls_version is not None:
        yield Check("tls", "ok", server.tls_version, "")
    elif server.is_local:
        yield Check("tls", "ok", "none, on this machine", "")
    else:
        yield Check("tls", "warning", "none", "changes are sent over the network unencrypted")
