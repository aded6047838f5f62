"""The function that connects to a server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from binarrow.password import Password
from binarrow.server.server import Server
from binarrow.server.target import target

TlsMode = Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"]


def connect(
    url: str | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    user: str | None = None,
    password: Password | None = None,
    password_file: str | os.PathLike[str] | None = None,
    password_command: str | Sequence[str] | None = None,
    socket: str | os.PathLike[str] | None = None,
    option_file: str | os.PathLike[str] | None = None,
    tls: TlsMode | None = None,
    tls_ca: str | os.PathLike[str] | bytes | None = None,
    tls_cert: str | os.PathLike[str] | bytes | None = None,
    tls_key: str | os.PathLike[str] | bytes | None = None,
    tls_server_name: str | None = None,
    compression: Literal["zlib", "zstd"] | None = None,
    allow_public_key_retrieval: bool | None = None,
    server_public_key: str | os.PathLike[str] | bytes | None = None,
    allow_clear_password: bool | None = None,
    connect_timeout: float | None = None,
    read_timeout: float | None = None,
) -> Server:
    """Connects to a MySQL or MariaDB server.

        with binarrow.connect("mysql://repl@db.example/", password_file="secret") as server:
            print(server.version, server.position())

    Values that are not given as keywords are taken from the URL, then from the option file, then
    from the environment: ``MYSQL_HOST``, ``MYSQL_TCP_PORT``, ``MYSQL_UNIX_PORT``, ``MYSQL_USER``,
    ``MYSQL_PWD``.

    Args:
        url: ``mysql://user@host:3306/``, or ``mariadb://``. Several hosts with the same log are
            separated by commas, and are tried in order. Keywords of this function may follow a
            ``?``. The URL may contain a password, ``mysql://user:password@host/``, percent-encoded
            (``%40`` for @). binarrow never shows the password, but the history of your shell stores
            it.
        host: The name or address of the server's host.
        port: The port of the server; 3306 by default.
        user: The account's name; by default the name of the system's user.

            It needs REPLICATION SLAVE and REPLICATION CLIENT (MariaDB: BINLOG MONITOR).
        password: The password, or a function that returns it, such as a token that expires.

            The function is called for each connection. If it raises an :class:`OSError`, a stream
            retries, as after a lost connection.
        password_file: A file whose first line is the password.

            It is read for each connection. Only its owner should be able to read it.
        password_command: A command that prints the password; the first line of its output is the
            password.

            It is run for each connection, without a shell: spaces separate its words, and quotation
            marks keep spaces, as in a shell. A list contains the words themselves. If it fails,
            :func:`connect` raises a :class:`ConfigError`, and a stream retries, as after a lost
            connection. After 60 seconds, the command is killed. Errors contain the name of its
            program, but neither its output nor its arguments.
        socket: The path of a Unix socket, instead of a host.
        option_file: A file such as ``~/.my.cnf``: its section ``[client]`` provides the host, the
            user, the password and TLS. Files that it includes are read too.
        tls: The use of TLS: ``"disabled"``, ``"preferred"`` (if the server supports it),
            ``"required"`` (the certificate is not verified), ``"verify_ca"`` (a trusted authority
            must have signed the certificate) or ``"verify_identity"`` (the certificate must also be
            for this host).

            The default is ``"verify_identity"``; for a host of this machine it is ``"preferred"``,
            and with ``tls_ca`` it is ``"verify_ca"``. A failed verification raises a
            :class:`TlsError`.
        tls_ca: Certificates of authorities to trust, in PEM; by default the system's.

            The value is a path, or the PEM text as ``bytes``. This also applies to ``tls_cert``,
            ``tls_key`` and ``server_public_key``.
        tls_cert: The client's own certificate, in PEM.
        tls_key: The key of the client's certificate, in PEM.
        tls_server_name: The host that the server's certificate must be for, if it is not the host
            of the connection.
        compression: Compress the connection: ``"zlib"``, or ``"zstd"`` (MySQL 8 and later).
        allow_public_key_retrieval: Without TLS, accept the RSA key that the server sends, and
            encrypt the password with it.
        server_public_key: The server's RSA key, in PEM. Without TLS, the password is encrypted with
            it.
        allow_clear_password: Send the password itself, over TLS, if the server asks for it.
        connect_timeout: Seconds to connect and log in; 10 by default.

            After this time, a :class:`ConnectionLostError` is raised.
        read_timeout: Seconds to wait for the answer to a statement; 60 by default.

    Raises:
        AuthenticationError: The user or password is wrong, or the plugin is not supported.
        TlsError: The server has no TLS, or its certificate is not trusted. The message contains
            the setting to change.
        ConnectionLostError: There is no server, or it does not answer in time.
        ConfigError: Keywords do not fit together.
    """
    keywords = {
        "tls": tls,
        "tls_ca": tls_ca,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "tls_server_name": tls_server_name,
        "compression": compression,
        "allow_public_key_retrieval": allow_public_key_retrieval,
        "server_public_key": server_public_key,
        "allow_clear_password": allow_clear_password,
        "connect_timeout": connect_timeout,
        "read_timeout": read_timeout,
    }
    return Server(
        target(
            url,
            host=host,
            port=port,
            user=user,
            password=password,
            password_file=password_file,
            password_command=password_command,
            socket=socket,
            option_file=option_file,
            keywords=keywords,
        )
    )
