"""URLs: one parser decides whether a URL contains a password, and no message shows it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

import binarrow
from binarrow import ConfigError, SchemaHistory
from binarrow._native import Url, has_password, shown_uri
from binarrow.cli import app
from binarrow.server.target import target
from binarrow.spark.live.login import login
from binarrow.spark.source_options import SourceOptions

SECRET = "hush"

AUTHORITIES = [
    f"me:{SECRET}@127.0.0.1:1",
    f"me:a@{SECRET}@127.0.0.1:1",
    f"me:a/{SECRET}@127.0.0.1:1",
    f"me:a?{SECRET}@127.0.0.1:1",
    f"me:a::{SECRET}@127.0.0.1:1",
    f"me:a#{SECRET}@127.0.0.1:1",
    f":{SECRET}@127.0.0.1:1",
    f"me:{SECRET}@[::1]:1",
    f"me:{SECRET}@127.0.0.1:x",
]


def spark(**options: str) -> object:
    return SourceOptions.parse({"table": "shop.t", **options})


def command(*arguments: str) -> object:
    done = CliRunner().invoke(app, arguments)
    raise ConfigError(done.output + done.stderr + str(done.exception))


SURFACES: dict[str, Callable[[str], object]] = {
    "connect": lambda url: binarrow.connect(f"mysql://{url}/shop"),
    "history": lambda url: SchemaHistory.open(f"mysql://{url}/"),
    "history in a file": lambda url: SchemaHistory.open(f"sqlite://{url}/shop.db"),
    "history elsewhere": lambda url: SchemaHistory.open(f"s3://{url}/shop.db"),
    "files": lambda url: binarrow.read_binlog(f"s3://{url}/binlog.000001"),
    "server as files": lambda url: binarrow.read_binlog(f"mysql://{url}/"),
    "a chain": lambda url: binarrow.read_binlog(f"zip://binlog.000001::sftp://{url}/a.zip"),
    "file://": lambda url: binarrow.read_binlog(f"file://{url}/binlog.000001"),
    "login of tasks": lambda url: login(f"mysql://{url}/", {}),
    "Spark's url": lambda url: spark(url=f"mysql://{url}/"),
    "Spark's path": lambda url: spark(path=f"mysql://{url}/"),
    "Spark's history": lambda url: spark(path="/archive", history=f"mysql://{url}/h"),
    "the command tail": lambda url: command("tail", f"mysql://{url}/shop"),
    "the command stats": lambda url: command("stats", f"s3://{url}/binlog.000001"),
    "the command history": lambda url: command("history", "show", f"sqlite://{url}/shop.db"),
}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("authority", AUTHORITIES)
def test_no_surface_shows_a_password(surface: str, authority: str) -> None:
    with pytest.raises(ConfigError) as error:
        SURFACES[surface](authority)
    said = (str(error.value), *error.value.args, *getattr(error.value, "__notes__", ()))
    assert not [text for text in said if SECRET in text]


@pytest.mark.parametrize("authority", AUTHORITIES)
def test_one_parser_finds_the_password(authority: str) -> None:
    for url in (f"mysql://{authority}/", f"zip://x::sftp://{authority}/a.zip"):
        assert has_password(url)
        assert SECRET not in shown_uri(url)
    for option in ({"url": f"mysql://{authority}/"}, {"history": f"mysql://{authority}/h"}):
        with pytest.raises(ConfigError, match="a password in the URL of the"):
            spark(**{"path": "/archive"} if "history" in option else {}, **option)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me@db:3306/",
        "mysql://[::1]:3306,db/",
        "s3://bucket/a@b/binlog.000001",
        "abfss://logs@account.dfs.core.windows.net/binlog.000001",
        "http://localhost:9000/logs@2026/binlog.000001",
        "/archive/me:hush@db/binlog.000001",
    ],
)
def test_urls_without_a_password(url: str) -> None:
    assert not has_password(url)
    assert shown_uri(url) == url


def test_parts() -> None:
    url = Url.parse("MySQL://me:a%40b@db:1,[::1]:2/shop?tls=required&compress&&source=x=y")
    assert url is not None
    assert (url.scheme, url.is_server, url.has_at_after_hosts) == ("mysql", True, False)
    assert (url.authority, url.hosts) == ("me:a%40b@db:1,[::1]:2", "db:1,[::1]:2")
    assert (url.user, url.password, url.path) == ("me", "a%40b", "/shop")
    assert url.keywords == [("tls", "required"), ("compress", ""), ("source", "x=y")]
    assert "a%40b" not in repr(url)
    assert Url.parse("/archive/binlog.000001") is None


def test_a_history_is_the_same_on_all_surfaces(tmp_path) -> None:
    file = tmp_path / "shop 1.db"
    with SchemaHistory.open(file) as history:
        history.baseline("CREATE DATABASE d; CREATE TABLE d.t (id INT);", "binlog.000001:4")
    for url in (str(file), f"sqlite:///{file}", f"sqlite:///{tmp_path}/shop%201.db?source=default"):
        SchemaHistory.open(url).close()
        shown = CliRunner().invoke(app, ["history", "show", url, "--json"])
        assert shown.exit_code == 0, shown.stderr
    assert target("mysql://me@db/", environ={}).endpoints[0].host == "db"
