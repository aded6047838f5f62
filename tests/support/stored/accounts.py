"""The account of the recorded servers."""

from collections.abc import Sequence

from support.sync_source import SECRET


def accounts(flavor: str) -> Sequence[str]:
    """Returns the statements that create it."""
    privileges = "REPLICATION SLAVE, REPLICATION CLIENT, SELECT, RELOAD"
    if flavor == "mysql":
        privileges += ", BACKUP_ADMIN"  # for the position of a snapshot without locks
    return (
        f"CREATE USER mirror@'%' IDENTIFIED BY '{SECRET}'",
        f"GRANT {privileges} ON *.* TO mirror@'%'",
    )
