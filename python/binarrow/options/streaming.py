"""The options of streams: keywords of `Server.stream`, some of which other functions share."""

from __future__ import annotations

from binarrow.options.option import (
    COUNT,
    PATH,
    SECONDS,
    SERVER,
    Flag,
    Kind,
    Option,
    Spark,
    words,
)

STREAM = frozenset({"stream"})

LIVE_PLACE = Kind("place", "Position | str | datetime")

OPTIONS = (
    Option(
        "start",
        LIVE_PLACE,
        "latest",
        """
        The place at which the stream starts: ``"latest"`` (the end of the log now), ``"earliest"``
        (the first file that the server has), ``"snapshot"`` (the existing rows, then the changes),
        a :class:`Position`, ``"file:offset"``, a GTID set that was already read, or a datetime: the
        first transaction committed at or after it. The JSON of a position and a time such as
        ``"2026-11-22T06:00:00Z"`` may be text.
        """,
        STREAM,
        flag=Flag(
            "--start",
            {"tail": "latest"},
            "WHERE",
            "latest (the end of the log now), earliest (the first file that the server has),"
            " snapshot (the existing rows, then the changes),"
            " FILE:OFFSET, a GTID set that was already read, or a time such as 2026-11-21T09:00.",
        ),
    ),
    Option(
        "stop",
        LIVE_PLACE,
        None,
        """
        The place at which the stream ends: ``"end"`` (the end of the log now), or a place in one of
        the forms of ``start``. With a GTID set, the stream ends before the first transaction that
        is not in it.

        With None, the stream does not end.
        """,
        STREAM,
        flag=Flag(
            "--stop",
            {"tail": None},
            "WHERE",
            "end (the end of the log now), FILE:OFFSET, a GTID set or a time. Without it, the"
            " command does not end.",
        ),
    ),
    Option(
        "checkpoint",
        Kind("checkpoint", "Checkpoint"),
        None,
        """
        A :class:`FileCheckpoint`, or another object that loads and saves a position.

        The stream starts at the stored position, and at ``start`` only if no position is stored. It
        saves the position while it reads. A batch counts as done when the next one is requested, or
        when the ``with`` block of the stream ends without an exception.
        """,
        STREAM,
        flag=Flag(
            "--checkpoint",
            {"tail": None},
            "FILE",
            "Save the position in this file. If the file exists, continue from its position instead"
            " of --start.",
        ),
    ),
    Option(
        "server_id",
        COUNT,
        None,
        """
        The id of this reader on the server, from 1; by default a random one.

        Two readers or replicas with the same id disconnect each other.
        """,
        STREAM,
        flag=Flag(
            "--server-id",
            {"tail": None},
            "ID",
            "The id of this reader on the server; a random one, if not given.",
        ),
    ),
    Option(
        "heartbeat",
        SECONDS,
        10.0,
        """
        Seconds without changes after which the server sends a heartbeat; the connection counts as
        lost after three missed heartbeats.
        """,
        STREAM | {"login"},
        Spark(of="server", default="10"),
    ),
    Option(
        "reconnect",
        SECONDS,
        3600.0,
        """
        Seconds for which a lost connection is retried.

        After this time, a :class:`ConnectionLostError` is raised. None disables retries.
        """,
        STREAM | {"login"},
        Spark(of="server", default="300"),
        Flag("--reconnect", {"tail": 3600.0}, "SECONDS"),
    ),
    Option(
        "locks",
        words("brief"),
        None,
        """
        The lock that an initial load may use: ``"brief"`` permits FLUSH TABLES WITH READ LOCK while
        the snapshot of a chunk is opened.

        The lock is necessary only if the server cannot provide the position of a snapshot without
        it; an error reports this. All writes on the server wait for a moment, once for each chunk.
        Requires RELOAD.
        """,
        STREAM,
        Spark(of="server"),
    ),
    Option(
        "chunk_rows",
        COUNT,
        262_144,
        """
        The maximum number of rows that an initial load reads in one snapshot.

        The transaction of a snapshot is open until these rows are read.
        """,
        STREAM,
        Spark(of="server", default="262144"),
    ),
    Option(
        "max_rows_per_commit",
        COUNT,
        250_000,
        """
        The number of rows after which ``sync`` commits before ``every`` seconds have passed.

        A commit can contain a part of a transaction. ``sync`` also commits after 64 MiB of rows.
        """,
        flag=Flag(
            "--max-rows-per-commit",
            {"sync": 250_000},
            "ROWS",
            "The number of rows after which sync commits, even if the time of --every has not"
            " passed. A commit can contain a part of a transaction.",
        ),
    ),
    Option(
        "max_rows_per_second",
        COUNT,
        None,
        """
        The maximum number of rows that an initial load reads per second, to limit the load of the
        server.

        Chunks then have at most this number of rows, so that a transaction is open for a second.
        """,
        STREAM,
        Spark(
            of="server",
            doc="The maximum number of rows that the tasks of a batch together read per second of"
            " existing rows.",
        ),
        Flag(
            "--max-rows-per-second",
            {"sync": None, "tail": None, "verify": None},
            "ROWS",
            "The maximum number of rows that --start snapshot reads per second.",
        ),
    ),
    Option(
        "certificate",
        PATH,
        None,
        """
        A file to which an initial load writes the number and the hash of the rows of each chunk.

        ``binarrow load check`` compares the file with the server. The file contains no values. A
        new initial load replaces the file. A load that continues appends to the file, and raises a
        :class:`ConfigError` if it is the file of another load.
        """,
        STREAM,
        flag=Flag(
            "--certificate",
            {"tail": None},
            "FILE",
            "Write the number and the hash of the rows of each chunk of an initial load to this"
            " file, for 'binarrow load check'.",
        ),
    ),
    Option(
        "rows_from",
        SERVER,
        None,
        """
        A replica from which an initial load reads the existing rows, instead of from this server.

        The log is read from this server. Both servers need GTIDs, and the replica must log what it
        replicates (``log_replica_updates``). Rows are returned at the place of their snapshot in
        the log of this server, so the replica may lag. If the replica has transactions that this
        server does not have, a :class:`ServerIdentityError` is raised.
        """,
        STREAM,
    ),
    Option(
        "max_latency",
        SECONDS,
        0.5,
        """
        The maximum number of seconds that rows wait for their batch to fill, while more rows
        arrive.

        If no more rows arrive, rows do not wait.
        """,
        STREAM,
    ),
)
