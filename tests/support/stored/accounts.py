"""The account of the recorded servers."""

from collections.abc import Sequence

from support.sync_source import SECRET


def accounts(flavor: str) -> Sequence[str]:
    """Returns the statements that create it."""
    privileges = "REPLICATION SLAVE, REPLICATION CLIENT, SELECT"
    # For the position of a snapshot: on MySQL of a table without a key, on MariaDB after XA COMMIT.
    privileges += ", BACKUP_ADMIN" if flavor == "mysql" else ", RELOAD"
    return (
        f"CREATE USER mirror@'%' IDENTIFIED BY '{SECRET}'",
        f"GRANT {privileges} ON *.* TO mirror@'%'",
    )
