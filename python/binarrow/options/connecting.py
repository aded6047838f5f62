"""The options of connections and streams: keywords of `connect`, `Server.stream` and the like."""

from __future__ import annotations

from binarrow.options.option import (
    COUNT,
    FLAG,
    PATH,
    PEM,
    SECONDS,
    TEXT,
    Flag,
    Kind,
    Option,
    Spark,
    words,
)

CONNECT = frozenset({"connect"})
LOGIN = CONNECT | {"login"}
STREAM = frozenset({"stream"})

LIVE_PLACE = Kind("place", "Position | str | datetime")
PASSWORD = Kind("text", "Password")
SERVER_COMMANDS = {"check": None, "tail": None}

OPTIONS = (
    Option(
        "host",
        TEXT,
        None,
        """
        The name or address of the server's host.
        """,
        CONNECT,
        Spark(of="server", default="localhost"),
    ),
    Option(
        "port",
        COUNT,
        None,
        """
        The port of the server; 3306 by default.
        """,
        CONNECT,
        Spark(of="server", default="3306", doc="the port of the server"),
    ),
    Option(
        "user",
        TEXT,
        None,
        """
        The account's name; by default the name of the system's user.

        It needs REPLICATION SLAVE and REPLICATION CLIENT (MariaDB: BINLOG MONITOR).
        """,
        CONNECT,
        Spark(
            of="server",
            default="the system's",
            doc="""
            the account's name. It needs REPLICATION SLAVE and REPLICATION CLIENT (MariaDB: BINLOG
            MONITOR), and SELECT on the table to read its schema
            """,
        ),
    ),
    Option(
        "password",
        PASSWORD,
        None,
        """
        The password, or a function that returns it, such as a token that expires.

        The function is called for each connection. If it raises an :class:`OSError`, a stream
        retries, as after a lost connection.
        """,
        LOGIN,
        Spark(of="server", doc="the password itself; better use ``passwordFile``"),
    ),
    Option(
        "password_file",
        PATH,
        None,
        """
        A file whose first line is the password.

        It is read for each connection. Only its owner should be able to read it.
        """,
        LOGIN,
        Spark(
            of="server",
            doc="a file on the driver whose first line is the password; it is read for each batch",
        ),
        Flag(
            "--password-file",
            SERVER_COMMANDS,
            "FILE",
            "A file whose first line is the password; only its owner should be able to read it.",
        ),
    ),
    Option(
        "socket",
        PATH,
        None,
        """
        The path of a Unix socket, instead of a host.
        """,
        CONNECT,
        Spark(of="server"),
    ),
    Option(
        "option_file",
        PATH,
        None,
        """
        A file such as ``~/.my.cnf``: its section ``[client]`` provides the host, the user, the
        password and TLS. Files that it includes are read too.
        """,
        LOGIN,
        Spark(of="server"),
        Flag("--option-file", SERVER_COMMANDS, "FILE"),
    ),
    Option(
        "tls",
        words("disabled", "preferred", "required", "verify_ca", "verify_identity"),
        None,
        """
        The use of TLS: ``"disabled"``, ``"preferred"`` (if the server supports it), ``"required"``
        (the certificate is not verified), ``"verify_ca"`` (a trusted authority must have signed the
        certificate) or ``"verify_identity"`` (the certificate must also be for this host).

        The default is ``"verify_identity"``; for a host of this machine it is ``"preferred"``, and
        with ``tls_ca`` it is ``"verify_ca"``. A failed verification is a :class:`TlsError`.
        """,
        LOGIN,
        Spark(of="server", default="as connect"),
        Flag(
            "--tls",
            SERVER_COMMANDS,
            "MODE",
            "disabled, preferred, required, verify_ca or verify_identity. The default is"
            " verify_identity; for a host of this machine it is preferred.",
        ),
    ),
    Option(
        "tls_ca",
        PEM,
        None,
        """
        Certificates of authorities to trust, in PEM; by default the system's.

        The value is a path, or the PEM text as ``bytes``; so are the values of the keywords below.
        """,
        LOGIN,
        Spark(of="server"),
        Flag("--tls-ca", SERVER_COMMANDS, "FILE"),
    ),
    Option(
        "tls_cert",
        PEM,
        None,
        """
        The client's own certificate, in PEM.
        """,
        LOGIN,
        Spark(of="server"),
    ),
    Option(
        "tls_key",
        PEM,
        None,
        """
        The key of the client's certificate, in PEM.
        """,
        LOGIN,
        Spark(of="server"),
    ),
    Option(
        "tls_server_name",
        TEXT,
        None,
        """
        The host that the server's certificate must be for, if it is not the host of the connection.
        """,
        LOGIN,
        Spark(of="server"),
    ),
    Option(
        "compression",
        words("zlib", "zstd"),
        None,
        """
        Compress the connection: ``"zlib"``, or ``"zstd"`` (MySQL 8 and later).
        """,
        LOGIN,
        Spark(of="server"),
    ),
    Option(
        "allow_public_key_retrieval",
        FLAG,
        None,
        """
        Without TLS, accept the RSA key that the server sends, and encrypt the password with it.
        """,
        LOGIN,
        Spark(of="server"),
    ),
    Option(
        "server_public_key",
        PEM,
        None,
        """
        The server's RSA key, in PEM. Without TLS, the password is encrypted with it.
        """,
        LOGIN,
        Spark(of="server"),
    ),
    Option(
        "allow_clear_password",
        FLAG,
        None,
        """
        Send the password itself, over TLS, if the server asks for it.
        """,
        LOGIN,
        Spark(of="server"),
    ),
    Option(
        "connect_timeout",
        SECONDS,
        None,
        """
        Seconds to connect and log in; 10 by default.

        After this time, a :class:`ConnectionLostError` is raised.
        """,
        LOGIN,
        Spark(of="server", default="10", doc="seconds to connect and log in"),
    ),
    Option(
        "read_timeout",
        SECONDS,
        None,
        """
        Seconds to wait for the answer to a statement; 60 by default.
        """,
        LOGIN,
        Spark(of="server", default="60", doc="seconds to wait for the answer to a statement"),
    ),
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
        when the ``with`` block of the stream is left without an exception.
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

        Needed only if the server has no position of a snapshot without a lock; an error says so.
        All writes on the server wait for a moment, once for each chunk. Requires RELOAD.
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
        "max_rows_per_second",
        COUNT,
        None,
        """
        The maximum number of rows that an initial load reads per second, to limit the load of the
        server.

        Chunks then have at most this number of rows, so that a transaction is open for a second.
        """,
        STREAM,
        flag=Flag(
            "--max-rows-per-second",
            {"tail": None},
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

        ``binarrow load check`` compares it with the server. It contains no values. An initial load
        that begins replaces the file. One that continues appends to it, and raises a
        :class:`ConfigError` if it is not the file of this load.
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
