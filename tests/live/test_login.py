"""Logging in: each authentication plugin, with TLS and without, known to the server's cache or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

import binarrow
from binarrow.server.target import target
from binarrow.spark.live.login import with_secret
from support.servers.servers import Server

PASSWORD = "s3cret-'\"\\ pässwörd"
SERVERS = ("mysql", "mysql-5.7", "mariadb-11.8", "mariadb-10.11")


@dataclass(frozen=True)
class Certificates:
    """Authorities and what they signed: one for ``localhost``, one expired, one of an unknown authority."""

    folder: Path

    def path(self, name: str) -> str:
        return str(self.folder / f"{name}.pem")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    made = Certificates(tmp_path_factory.mktemp("certificates"))
    authority = trustme.CA()
    authority.cert_pem.write_to_path(made.path("ca"))
    trustme.CA().cert_pem.write_to_path(made.path("other-ca"))
    past = datetime(2020, 1, 1, tzinfo=UTC)
    for name, issued in (
        ("server", authority.issue_cert("localhost")),
        ("client", authority.issue_cert("client")),
        (
            "expired",
            authority.issue_cert("localhost", not_before=past, not_after=past + timedelta(days=9)),
        ),
    ):
        issued.private_key_pem.write_to_path(made.path(f"{name}-key"))
        issued.cert_chain_pems[0].write_to_path(made.path(name))
    return made


def tls_options(certificates: Certificates, name: str = "server") -> list[str]:
    return [
        f"--ssl-ca={certificates.path('ca')}",
        f"--ssl-cert={certificates.path(name)}",
        f"--ssl-key={certificates.path(f'{name}-key')}",
    ]


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[Server]:
    with Server.start(request.param, tls_options(certificates)) as server:
        yield server


PLUGINS = {
    "mysql": ("caching_sha2_password", "sha256_password"),
    "mysql-5.7": ("mysql_native_password", "sha256_password"),
    "mariadb-11.8": ("mysql_native_password", "ed25519", "parsec"),
    "mariadb-10.11": ("mysql_native_password", "ed25519"),
}


def make_user(server: Server, name: str, plugin: str, password: str) -> None:
    literal = "'" + password.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if server.is_mariadb:
        if plugin in ("ed25519", "parsec"):
            server.execute(f"INSTALL PLUGIN IF NOT EXISTS {plugin} SONAME 'auth_{plugin}'")
        identified = f"IDENTIFIED VIA {plugin} USING PASSWORD({literal})"
    else:
        identified = f"IDENTIFIED WITH {plugin} BY {literal}"
    server.execute(
        f"DROP USER IF EXISTS {name}@'%'",
        f"CREATE USER {name}@'%' {identified}",
        f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {name}@'%'",
    )


def reach(server: Server, **keywords: Any) -> binarrow.Server:
    place = {"host": "127.0.0.1", "port": server.port} if "socket" not in keywords else {}
    return binarrow.connect(**{"user": "me", "password": PASSWORD, **place, **keywords})


def assert_logged_in(server: Server, **keywords: Any) -> None:
    with reach(server, **keywords) as connection:
        assert connection.position().offset > 4
        assert connection.flavor == ("mariadb" if server.is_mariadb else "mysql")


def assert_refused(
    kind: type[binarrow.BinarrowError], match: str, connect: Callable[[], object]
) -> binarrow.BinarrowError:
    with pytest.raises(kind, match=match) as caught:
        connect()
    assert type(caught.value) is kind
    shown = f"{caught.value!r} {caught.value}"
    assert PASSWORD not in shown
    assert "s3cret" not in shown
    return caught.value


def forget(server: Server) -> None:
    """Empties the cache of caching_sha2_password."""
    server.execute("FLUSH PRIVILEGES")


@pytest.mark.parametrize("compression", [None, "zlib", "zstd"])
@pytest.mark.parametrize(
    "tls", ["disabled", "preferred", "required", "verify_ca", "verify_identity"]
)
def test_every_plugin_and_mode(
    server: Server, certificates: Certificates, tls: str, compression: str | None
) -> None:
    if compression == "zstd" and server.flavor != "mysql":
        assert_refused(
            binarrow.ConfigError,
            "zstd",
            lambda: reach(server, tls=tls, compression="zstd", tls_ca=certificates.path("ca")),
        )
        return
    keywords: dict[str, Any] = {"tls": tls, "compression": compression}
    if tls.startswith("verify"):
        keywords["tls_ca"] = certificates.path("ca")
    if tls == "verify_identity":
        keywords["tls_server_name"] = "localhost"
    for plugin in PLUGINS[server.flavor]:
        for password in (PASSWORD, ""):
            if plugin in ("ed25519", "parsec") and not password:
                continue
            make_user(server, "me", plugin, password)
            given = {**keywords, "password": password}
            asks_for_itself = password and plugin in ("caching_sha2_password", "sha256_password")
            if tls == "disabled" and asks_for_itself:
                forget(server)
                assert_refused(
                    binarrow.AuthenticationError,
                    "secure transport",
                    lambda given=given: reach(server, **given),
                )
                assert_logged_in(server, **given, allow_public_key_retrieval=True)
                key = server.datadir / "public_key.pem"
                forget(server)
                assert_logged_in(server, **given, server_public_key=str(key))
            else:
                forget(server)
                assert_logged_in(server, **given)
            if plugin != "sha256_password" or tls != "disabled":
                assert_logged_in(server, **given)  # warm


def test_over_a_unix_socket(server: Server) -> None:
    for plugin in PLUGINS[server.flavor]:
        make_user(server, "me", plugin, PASSWORD)
        forget(server)
        assert_logged_in(server, socket=str(server.socket))


def test_wrong_passwords_and_users(server: Server, certificates: Certificates) -> None:
    for plugin in PLUGINS[server.flavor]:
        make_user(server, "me", plugin, PASSWORD)
        for given in ({"password": "s3cret wrong"}, {"user": "nobody"}, {"password": ""}):
            error = assert_refused(
                binarrow.AuthenticationError,
                "Access denied",
                lambda given=given: reach(server, **given),
            )
            assert error.code == 1045
            assert error.sqlstate == "28000"
            assert isinstance(error, PermissionError)


def test_without_the_privilege(server: Server) -> None:
    make_user(server, "me", PLUGINS[server.flavor][0], PASSWORD)
    server.execute("REVOKE REPLICATION CLIENT ON *.* FROM me@'%'")
    with reach(server) as connection:
        error = assert_refused(binarrow.ServerError, "GRANT", connection.binlogs)
        assert error.code == 1227
        # the connection is as good as before
        assert connection.variables("server_id")["server_id"] == str(connection.server_id)
        [privileges] = [one for one in connection.check() if one.name == "privileges"]
        assert (
            privileges.grade,
            "CLIENT" in privileges.advice or "MONITOR" in privileges.advice,
        ) == ("error", True)


def test_certificates_that_are_not_trusted(server: Server, certificates: Certificates) -> None:
    make_user(server, "me", PLUGINS[server.flavor][0], PASSWORD)
    for mode in ("verify_ca", "verify_identity"):
        assert_refused(
            binarrow.TlsError,
            "tls_ca",
            lambda mode=mode: reach(server, tls=mode, tls_ca=certificates.path("other-ca")),
        )
        assert_refused(binarrow.TlsError, "tls_ca", lambda mode=mode: reach(server, tls=mode))
    # the certificate is for localhost, not for 127.0.0.1
    assert_refused(
        binarrow.TlsError,
        "verify_ca",
        lambda: reach(server, tls="verify_identity", tls_ca=certificates.path("ca")),
    )
    with reach(
        server, host="localhost", tls="verify_identity", tls_ca=certificates.path("ca")
    ) as connection:
        assert connection.tls_version in ("TLSv1.2", "TLSv1.3")


def test_certificates_that_mysql_made_itself(mysql: Server) -> None:
    """They contain no host name: the error says what to use, and why."""
    make_user(mysql, "me", "caching_sha2_password", PASSWORD)
    ca = str(mysql.datadir / "ca.pem")
    nameless = "tls='verify_ca'"
    for host in ("127.0.0.1", "localhost"):
        for keywords in ({}, {"tls_ca": ca}):
            error = assert_refused(
                binarrow.TlsError,
                "contain no host name",
                lambda host=host, keywords=keywords: reach(
                    mysql, host=host, tls="verify_identity", **keywords
                ),
            )
            assert nameless in str(error)
            assert "tls_ca=" in str(error)
    error = assert_refused(
        binarrow.TlsError, "tls_ca=.*ca.pem", lambda: reach(mysql, tls="verify_ca")
    )
    assert nameless not in str(error)
    with reach(mysql, tls="verify_ca", tls_ca=ca) as connection:
        assert connection.tls_version == "TLSv1.3"


def test_our_own_certificate(server: Server, certificates: Certificates) -> None:
    make_user(server, "me", PLUGINS[server.flavor][0], PASSWORD)
    server.execute("ALTER USER me@'%' REQUIRE X509")
    assert_refused(
        binarrow.AuthenticationError, "Access denied", lambda: reach(server, tls="required")
    )
    assert_logged_in(
        server,
        tls="required",
        tls_cert=certificates.path("client"),
        tls_key=certificates.path("client-key"),
    )
    # The same from memory, as a Spark task has it: what the driver read of its files.
    given = {
        "tls": "verify_ca",
        "tls_ca": certificates.path("ca"),
        "tls_cert": certificates.path("client"),
        "tls_key": certificates.path("client-key"),
    }
    told = with_secret(target(None, host="127.0.0.1", keywords=given))
    assert all(isinstance(told.keywords[one], bytes) for one in ("tls_ca", "tls_cert", "tls_key"))
    assert "PRIVATE" not in repr(told)
    assert_logged_in(server, **told.keywords)
    for key in ("tls_ca", "tls_cert", "tls_key"):
        error = assert_refused(
            binarrow.ConfigError, key, lambda key=key: reach(server, **{**told.keywords, key: b"x"})
        )
        assert "the PEM text" in str(error)


@pytest.mark.parametrize("flavor", SERVERS)
def test_expired_and_missing_tls(flavor: str, certificates: Certificates) -> None:
    with Server.start(flavor, tls_options(certificates, "expired")) as server:
        make_user(server, "me", PLUGINS[flavor][0], PASSWORD)
        ca = certificates.path("ca")
        assert_refused(
            binarrow.TlsError, "expired", lambda: reach(server, tls="verify_ca", tls_ca=ca)
        )
    off = ["--skip-ssl"] if flavor != "mysql" else ["--tls-version="]
    with Server.start(flavor, off) as server:
        make_user(server, "me", PLUGINS[flavor][0], PASSWORD)
        assert_refused(binarrow.TlsError, "no TLS", lambda: reach(server, tls="required"))


def test_questions(server: Server) -> None:
    make_user(server, "me", PLUGINS[server.flavor][0], PASSWORD)
    server.execute(
        "CREATE DATABASE IF NOT EXISTS `q``1`",
        "CREATE OR REPLACE TABLE `q``1`.`t'2` (id INT PRIMARY KEY, name VARCHAR(20) CHARACTER SET latin1)"
        if server.is_mariadb
        else "CREATE TABLE `q``1`.`t'2` (id INT PRIMARY KEY, name VARCHAR(20) CHARACTER SET latin1)",
        "GRANT SELECT ON `q``1`.* TO me@'%'",
    )
    with reach(server) as connection:
        before = connection.position()
        server.execute("INSERT INTO `q``1`.`t'2` VALUES (1, 'x')")
        after = connection.position()
        assert (after.file, after.server) == (before.file, before.server)
        assert after.offset > before.offset
        assert connection.binlogs()[-1] == (after.file, after.offset)
        table = connection.describe("q`1.t'2")
        assert [column.name for column in table.columns] == ["id", "name"]
        assert table.columns[1].charset == "latin1"
        assert table.primary_key == ("id",)
        assert table.create_statement.startswith("CREATE TABLE `t'2` (")
        assert_refused(binarrow.ServerError, "1146|1142", lambda: connection.describe("q`1.none"))
        assert_refused(binarrow.ConfigError, "server_id=0", lambda: connection.stream(server_id=0))
        grades = {one.name: one.grade for one in connection.check()}
        assert grades["log_bin"] == grades["binlog_format"] == grades["privileges"] == "ok"
        assert "error" not in grades.values()


def test_nobody_there() -> None:
    for keywords in ({"host": "127.0.0.1", "port": 1}, {"socket": "/nowhere/mysqld.sock"}):
        error = assert_refused(
            binarrow.ConnectionLostError,
            "cannot connect",
            lambda k=keywords: binarrow.connect(user="me", **k),
        )
        assert isinstance(error, ConnectionError)
