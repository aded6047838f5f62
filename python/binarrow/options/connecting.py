"""The options of connections: keywords of `connect`, and the login keywords of other functions."""

from __future__ import annotations

from binarrow.options.option import (
    COMMAND,
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

PASSWORD = Kind("text", "Password")
SERVER_COMMANDS = dict.fromkeys(("at", "check", "find", "sync", "tail", "undo", "verify"))

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
        "password_command",
        COMMAND,
        None,
        """
        A command that prints the password; the first line of its output is the password.

        It is run for each connection, without a shell: spaces separate its words, and quotation
        marks keep spaces, as in a shell. A list contains the words themselves. If it fails,
        :func:`connect` raises a :class:`ConfigError`, and a stream retries, as after a lost
        connection. After 60 seconds, the command is killed. Errors contain the name of its program,
        but neither its output nor its arguments.
        """,
        LOGIN,
        Spark(
            of="server",
            doc="a command that the driver runs for each batch, without a shell. The first line of"
            " its output is the password",
        ),
        Flag(
            "--password-command",
            SERVER_COMMANDS,
            "COMMAND",
            "A command that prints the password in the first line of its output, such as"
            " 'pass show repl'. It is run without a shell for each connection.",
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
        with ``tls_ca`` it is ``"verify_ca"``. A failed verification raises a :class:`TlsError`.
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

        The value is a path, or the PEM text as ``bytes``. This also applies to ``tls_cert``,
        ``tls_key`` and ``server_public_key``.
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
)
