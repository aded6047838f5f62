"""The endpoint and the account: URL, keywords, option file, environment. No server is needed."""

from __future__ import annotations

import getpass
import socket
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import binarrow
from binarrow.server.target import Endpoint, Target, target

SECRET = "hunter2"


def found(url: str | None = None, **given: Any) -> Target:
    """The target, with nothing of the environment unless given."""
    return target(url, **{"environ": {}, "user": "me", **given})


def places(url: str | None = None, **given: Any) -> list[str]:
    return [str(endpoint) for endpoint in found(url, **given).endpoints]


def shown_by(error: BaseException) -> Iterator[str]:
    """All that an error shows, with those that it came from."""
    yield from traceback.format_exception(error)
    chain: list[BaseException | None] = [error]
    for one in chain:
        if one is not None:
            yield f"{one} {one!r} {one.args!r} {vars(one)!r}"
            chain += [one.__cause__, one.__context__]


def refusal(call: Callable[[], object], match: str) -> binarrow.ConfigError:
    with pytest.raises(binarrow.ConfigError, match=match) as caught:
        call()
    for text in shown_by(caught.value):
        assert SECRET not in text
        assert "hunter" not in text
    return caught.value


# ------------------------------------------------------------------------------------- URL


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mysql://", ["localhost:3306"]),
        ("mysql:///", ["localhost:3306"]),
        ("mysql://db", ["db:3306"]),
        ("MariaDB://db:3307/", ["db:3307"]),
        ("mysql://me@a:1,b,c:3/", ["a:1", "b:3306", "c:3"]),
        ("mysql://[::1]/", ["[::1]:3306"]),
        ("mysql://[fe80::1%25eth0]:7,db/", ["[fe80::1%eth0]:7", "db:3306"]),
        ("mysql://me:a@b@127.0.0.1/", ["127.0.0.1:3306"]),
        ("mysql://me@%2Frun%2Fmysqld.sock/", ["/run/mysqld.sock"]),
        ("mysql:///?socket=/run/my%26sqld.sock", ["/run/my&sqld.sock"]),
    ],
)
def test_places_of_urls(url, expected):
    assert places(url) == expected


@pytest.mark.parametrize(
    ("url", "user", "password"),
    [
        ("mysql://ann:hunter2@db/", "ann", b"hunter2"),
        ("mysql://ann@db/", "ann", b""),
        ("mysql://ann:@db/", "ann", b""),
        ("mysql://a%40b:p%3A%2F%3Fw@db/", "a@b", b"p:/?w"),
        ("mysql://ann:with:colons@db/", "ann", b"with:colons"),
        ("mysql://ann:at@sign@db/", "ann", b"at@sign"),
        ("mysql://ann:p%C3%A4ss@db/", "ann", "päss".encode()),
        ("mysql://ann:päss+1@db/", "ann", "päss+1".encode()),
        ("mysql://ann:%ff%00@db/", "ann", b"\xff\x00"),
    ],
)
def test_users_and_passwords_of_urls(url, user, password):
    one = found(url, user=None)
    assert (one.user, one.secret()) == (user, password)


def test_keywords_of_urls():
    one = found(
        "mysql://db/?tls=verify_ca&tls_ca=/a+b%20c.pem&allow_clear_password&connect_timeout=1.5"
        "&allow_public_key_retrieval=off&compression=zstd"
    )
    assert one.keywords == {
        "tls": "verify_ca",
        "tls_ca": "/a+b c.pem",
        "allow_clear_password": True,
        "connect_timeout": 1.5,
        "allow_public_key_retrieval": False,
        "compression": "zstd",
    }


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("db:3306", "must be mysql://"),
        ("postgres://me:hunter2@db/", "must be mysql://"),
        ("mysql://me:hunter2@db/shop", "names a database"),
        ("mysql://me:hunter2@db/?passwd=hunter2", "unknown keyword.*tls_ca"),
        ("mysql://me:hunter2@db/?connect_timeout=soon", "connect_timeout is not a number"),
        ("mysql://me:hunter2@db/?allow_clear_password=maybe", "neither true nor false"),
        ("mysql://me:hunter2@db:0/", "from 1 to 65535"),
        ("mysql://me:hunter2@db:70000/", "from 1 to 65535"),
        ("mysql://me:hunter2@db:1e3/", "host 1 of the URL: a port is a number"),
        ("mysql://a,::1/", "host 2 of the URL: write an IPv6 address in brackets"),
        ("mysql://[::1/", "brackets"),
        ("mysql://[::1]x/", "brackets"),
        ("mysql://db/?socket=/s", "a host and a socket"),
        # the part before @ was not meant as a host, nor the part after it as a path
        ("mysql://me:hunter2", "a port is a number"),
        ("mysql://me:hun/ter2@db/", "%2F"),
        ("mysql://me:12?hunter2@db/", "%3F"),
        ("mysql://me:12?a=1&hunter2@db/", "%3F"),
    ],
)
def test_urls_that_are_none(url, match):
    refusal(lambda: found(url), match)
    refusal(lambda: binarrow.connect(url), match)


# -------------------------------------------------------------------------------- keywords


def test_places_of_keywords():
    assert places(host="db") == ["db:3306"]
    assert places(host="::1", port=7) == places(host="[::1]", port=7) == ["[::1]:7"]
    assert places(host="") == ["localhost:3306"]
    assert places(socket=Path("/run/s")) == ["/run/s"]
    refusal(lambda: found(host="db", socket="/s"), "the keywords name a host and a socket")
    for port in (0, -1, 70_000):
        refusal(lambda port=port: found(host="db", port=port), "port")


def test_unknown_keywords():
    with pytest.raises(TypeError, match="passwd"):
        binarrow.connect(host="db", passwd=SECRET)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("keywords", "match"),
    [
        ({"tls": "sometimes"}, "tls=.*'verify_identity'"),
        ({"compression": "lz4"}, "compression=.*'zstd'"),
        ({"connect_timeout": 0.0}, "connect_timeout"),
        ({"read_timeout": float("nan")}, "read_timeout"),
        ({"user": "root\0me"}, "user contains a NUL"),
    ],
)
def test_keywords_that_are_none(keywords, match):
    refusal(
        lambda: binarrow.connect(**{"host": "db", "user": "me", "password": SECRET, **keywords}),
        match,
    )


def test_files_that_are_not_there(tmp_path):
    missing = tmp_path / "missing"
    for name in ("option_file", "password_file"):
        refusal(
            lambda name=name: binarrow.connect(host="db", **{name: missing}), f"{name}.*missing"
        )
    refusal(lambda: found(password=SECRET, password_file=missing), "give one of them")
    with pytest.raises(binarrow.MissingInputError, match="server_public_key"):
        binarrow.connect(host="db", user="me", server_public_key=missing)


def test_a_user_without_a_name(monkeypatch):
    assert target(None, environ={}).user == getpass.getuser()

    def no_name():
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", no_name)
    refusal(lambda: target(None, environ={}), "set user=")


# ----------------------------------------------------------------------------- option files


def option_file(folder: Path, text: str | bytes) -> Path:
    path = folder / "my.cnf"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_an_option_file(tmp_path):
    path = option_file(
        tmp_path,
        """
# a comment
; another
[mysqld]
user = of the server
socket = /not/this/one
[client]
  user = ann  # indented, and with a comment after it
\tpassword = "hunter2 # \\" \\\\ \\s"\t
host=db
port   =   3307
no-auto-rehash
[mysql]
user=of the shell
[ client ]
ssl_ca = '/etc/ca.pem'
ssl-mode = verify_ca
ssl-cert=/etc/cert.pem
ssl-key=/etc/key.pem
server-public-key-path=/etc/public.pem
get-server-public-key
enable_cleartext_plugin=0
""",
    )
    one = found(user=None, option_file=path)
    assert one.user == "ann"
    assert one.secret() == b'hunter2 # " \\  '
    assert [str(endpoint) for endpoint in one.endpoints] == ["db:3307"]
    assert one.keywords == {
        "tls": "verify_ca",
        "tls_ca": "/etc/ca.pem",
        "tls_cert": "/etc/cert.pem",
        "tls_key": "/etc/key.pem",
        "server_public_key": "/etc/public.pem",
        "allow_public_key_retrieval": True,
        "allow_clear_password": False,
    }
    assert found(option_file=option_file(tmp_path, "[mysqld]\nuser=x\n")).keywords == {}


@pytest.mark.parametrize(
    ("line", "password"),
    [
        ("hunter2", b"hunter2"),
        ("hunter2#3", b"hunter2"),
        ("'hunter2#3'", b"hunter2#3"),
        ('"it\'s"', b"it's"),
        ("a=b;c", b"a=b;c"),
        ("'", b"'"),
        ("'open", b"'open"),
        ("%d{x}", b"%d{x}"),
        (r"a\tb\q\\", b"a\tb\\q\\"),
        ("\xe4", "ä".encode()),
        (b"\xe4\xff", b"\xe4\xff"),
        ("", b""),
    ],
)
def test_passwords_of_option_files(tmp_path, line, password):
    line = line.encode() if isinstance(line, str) else line
    for end in (b"\n", b"\r\n", b""):
        path = option_file(tmp_path, b"[client]\npassword=" + line + end)
        assert found(option_file=path).secret() == password


def test_option_files_that_include_others(tmp_path):
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "2.cnf").write_text("[client]\nuser=second\n")
    (folder / "1.cnf").write_text("[client]\nuser=first\npassword=hunter2\n")
    (folder / "0.txt").write_text("[client]\nport=1\n")
    (tmp_path / "more.cnf").write_text("[client]\nhost=db\n")
    path = option_file(tmp_path, f"!includedir {folder}\n!include more.cnf\n[client]\nport=3307\n")
    one = found(user=None, option_file=path)
    assert (one.user, one.secret(), str(one.endpoints[0])) == ("second", b"hunter2", "db:3307")
    for line, match in (
        (f"!include {path}", "too deeply"),
        ("!include missing.cnf", "missing.cnf"),
        (f"!includedir {path}", "not a folder"),
        ("!inkludedir x", "line with !"),
    ):
        text = f"[client]\npassword=hunter2\n{line}\n"
        refusal(lambda text=text: found(option_file=option_file(tmp_path, text)), match)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", {}),
        ("ssl", {}),
        ("ssl=0", {"tls": "disabled"}),
        ("skip-ssl", {"tls": "disabled"}),
        ("ssl-verify-server-cert=off", {}),
        ("ssl-verify-server-cert\nssl", {"tls": "verify_identity"}),
        ("ssl-mode=REQUIRED", {"tls": "required"}),
    ],
)
def test_tls_of_option_files(tmp_path, lines, expected):
    path = option_file(tmp_path, f"[client]\n{lines}\n")
    assert found(option_file=path).keywords == expected


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("password=hunter2\n", "line 1: an option before"),
        ("[client]\npassword=hunter2\n[client\n", "line 3: a section without"),
        ("[client]\npassword=hunter2\nport=x\n", "port is a number"),
        ("[client]\npassword=hunter2\nssl-mode=maybe\n", "VERIFY_IDENTITY"),
        ("[client]\npassword=hunter2\nenable-cleartext-plugin=hunter2\n", "neither true nor false"),
    ],
)
def test_option_files_that_are_none(tmp_path, text, match):
    path = option_file(tmp_path, text)
    refusal(lambda: found(option_file=path), match)


def test_sockets_and_hosts_of_option_files(tmp_path):
    for lines, expected in (
        ("socket=/s", "/s"),
        ("socket=/s\nhost=localhost", "/s"),
        ("socket=/s\nhost=db", "db:3306"),
        ("host=localhost", "localhost:3306"),
        ("port=7", "localhost:7"),
    ):
        assert places(option_file=option_file(tmp_path, f"[client]\n{lines}\n")) == [expected]


# ------------------------------------------------------------------ environment, precedence


def test_the_environment():
    environ = {
        "MYSQL_HOST": "db",
        "MYSQL_TCP_PORT": "3307",
        "MYSQL_USER": "ann",
        "MYSQL_PWD": SECRET,
    }
    one = target(None, environ=environ)
    assert (one.user, one.secret(), str(one.endpoints[0])) == ("ann", b"hunter2", "db:3307")
    assert places(environ={"MYSQL_UNIX_PORT": "/s"}) == ["/s"]
    assert places(environ={"MYSQL_UNIX_PORT": "/s", "MYSQL_HOST": "db"}) == ["db:3306"]
    assert places(environ={"MYSQL_UNIX_PORT": "", "MYSQL_HOST": "", "MYSQL_TCP_PORT": ""}) == [
        "localhost:3306"
    ]
    refusal(lambda: found(environ={"MYSQL_TCP_PORT": "x", "MYSQL_PWD": SECRET}), "MYSQL_TCP_PORT")
    assert found(environ={"MYSQL_PWD": "\udce4"}).secret() == b"\xe4"


def test_what_is_said_first_wins(tmp_path):
    path = option_file(
        tmp_path,
        "[client]\nuser=file\npassword=of-file\nhost=file\nport=2\nssl-mode=required\nssl-ca=/file",
    )
    environ = {
        "MYSQL_HOST": "environ",
        "MYSQL_TCP_PORT": "1",
        "MYSQL_USER": "environ",
        "MYSQL_PWD": "of-environ",
    }
    url = "mysql://url:of-url@url:3/?tls=verify_ca"

    def both(given: dict[str, Any]) -> tuple[str, bytes, str, object]:
        one = target(**{"url": None, "environ": environ, **given})
        return one.user, one.secret(), str(one.endpoints[0]), one.keywords.get("tls")

    given: dict[str, Any] = {}
    assert both(given) == ("environ", b"of-environ", "environ:1", None)
    given["option_file"] = path
    assert both(given) == ("file", b"of-file", "file:2", "required")
    given["url"] = url
    assert both(given) == ("url", b"of-url", "url:3", "verify_ca")
    given |= {"user": "keyword", "password": "of-keyword", "host": "keyword", "port": 4}
    given["keywords"] = {"tls": "disabled", "tls_ca": None}
    assert both(given) == ("keyword", b"of-keyword", "keyword:4", "disabled")
    # each thing by itself
    one = found("mysql://db", option_file=path, environ=environ)
    assert (one.user, one.secret(), str(one.endpoints[0])) == ("me", b"of-file", "db:2")
    assert one.keywords == {"tls": "required", "tls_ca": "/file"}
    assert places("mysql://a:1,b", port=9) == ["a:9", "b:9"]
    assert found("mysql://me:@db/", environ=environ).secret() == b""
    assert places("mysql://db", socket="/s") == ["/s"]


# --------------------------------------------------------------------------------- passwords


def test_a_password_file_is_read_at_each_connection(tmp_path):
    path = tmp_path / "password"
    one = found(password_file=path)
    for content, password in (
        (b"hunter2\n", b"hunter2"),
        (b"new\r\nsecond line", b"new"),
        (b"\xff\xfe", b"\xff\xfe"),
        (b" spaces \n", b" spaces "),
        (b"", b""),
    ):
        path.write_bytes(content)
        assert one.secret() == password
    path.unlink()
    refusal(one.secret, "password_file")


def test_what_gives_a_password_is_called_at_each_connection():
    passwords: Iterator[str | bytes] = iter(["one", b"tw\xff", "thr\u00e9\u00e9"])
    one = found(password=lambda: next(passwords))
    assert [one.secret() for _ in range(3)] == [b"one", b"tw\xff", "thréé".encode()]
    assert found(password=SECRET).secret() == found(password=b"hunter2").secret() == b"hunter2"
    assert found(password=bytearray(b"hunter2")).secret() == b"hunter2"


@pytest.mark.parametrize("password", [5, ["hunter2"], b"x".join, lambda: None, "hunter2\ud800"])
def test_passwords_that_are_none(password):
    given = password if password != b"x".join else (lambda: 7)
    refusal(found(password=given).secret, "neither text nor bytes")
    refusal(lambda: binarrow.connect(host="127.0.0.1", port=1, password=given), "neither text")


def test_a_function_that_fails():
    class ExpiredError(Exception):
        pass

    def token() -> str:
        raise ExpiredError

    with pytest.raises(ExpiredError):
        binarrow.connect(host="127.0.0.1", port=1, user="me", password=token)


def test_connecting_asks_for_the_password_and_tries_each_host():
    calls = []

    def token() -> str:
        calls.append(1)
        return SECRET

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"mysql://me@127.0.0.1:{port},127.0.0.1:1/"
    for attempt in (1, 2):
        with pytest.raises(binarrow.ConnectionLostError, match=r"127\.0\.0\.1:1: cannot") as caught:
            binarrow.connect(url, password=token)
        assert len(calls) == attempt
        assert all(SECRET not in text for text in shown_by(caught.value))


def test_nothing_shows_a_password(tmp_path):
    path = option_file(tmp_path, "[client]\npassword=hunter2\n")
    for one in (
        found("mysql://me:hunter2@db/"),
        found(password=SECRET),
        found(password=b"hunter2"),
        found(option_file=path),
        found(environ={"MYSQL_PWD": SECRET}),
    ):
        assert one.secret() == b"hunter2"
        assert SECRET not in f"{one} {one!r} {one.keywords} {one.endpoints}"
        spec = binarrow._native.ConnectionSpec(
            [("127.0.0.1", 1, None)], one.user, one.secret, connect_timeout=1.0
        )
        assert SECRET not in f"{spec} {spec!r}"
        with pytest.raises(binarrow.ConnectionLostError) as caught:
            spec.open()
        assert all(SECRET not in text for text in shown_by(caught.value))
    assert repr(Endpoint("db", 7)) == "Endpoint(host='db', port=7, socket=None)"
