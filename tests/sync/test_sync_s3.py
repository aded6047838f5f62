"""`binarrow.sync` into Delta tables in an object store: faults of the store, errors, and other syncs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

import binarrow
from support.documents import environment, examples
from support.extent import rounds
from support.servers.s3 import KEY, SECRET
from support.sync_source import SECRET as PASSWORD
from support.sync_source import Source

SERVERS = ["mysql"]
KINDS = ["delta+s3"]

STRIDE = rounds("BINARROW_SYNC_CRASHES", 123, 41)


def test_changes(shop: Source) -> None:
    """Statements and changes of all kinds arrive, also with names that need quoting."""
    assert shop.store
    shop.execute(
        "UPDATE t SET v = 2",
        'CREATE TABLE `a/b %41.ü x` (`C` INT PRIMARY KEY, `select` INT, `d.e` INT, `f"` INT)',
        "INSERT INTO `a/b %41.ü x` VALUES (1, 2, 3, 4)",
        "CREATE TABLE u (id INT PRIMARY KEY, d DECIMAL(30, 2))",
        "INSERT INTO u VALUES (1, 2), (2, 3)",
    )
    shop.sync()
    shop.check("shop.t", "shop.u", "shop.a/b %41.ü x")
    shop.execute(
        "UPDATE `a/b %41.ü x` SET `d.e` = 5",
        "ALTER TABLE u ADD COLUMN c INT DEFAULT 7 FIRST",
        "RENAME TABLE t TO s, u TO t, s TO u",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO u VALUES (2, 3)",
    )
    shop.sync()
    shop.check("shop.t", "shop.u", "shop.a/b %41.ü x")
    shop.execute("TRUNCATE u", "DROP TABLE t", "CREATE TABLE t (x INT PRIMARY KEY)")
    shop.execute("INSERT INTO t VALUES (9)")
    shop.sync(on_drop="drop")
    shop.check("shop.t", "shop.u", "shop.a/b %41.ü x")
    own = [
        one.split("/")[2].split("-")[0] for one in shop.store.objects(f"{shop.prefix}/_binarrow")
    ]
    assert sorted(own) == ["complete_through.json", "position.json", "structures"]


def test_a_cut_at_each_request(shop: Source) -> None:
    """The store refuses all writes after one, as if the process had ended there.

    `BINARROW_SYNC_CRASHES=1` does this at each write, not at a few.
    """
    assert shop.store
    shop.execute(
        *(f"CREATE TABLE {one} (id INT PRIMARY KEY, v INT)" for one in "abcd"),
        *(f"INSERT INTO {one} VALUES (1, 1), (2, 2), (3, 3)" for one in "abcd"),
    )
    place, errors = 1, 1
    while errors:
        # Each round has a new target: RENAME copies all versions of a table, so the number of writes would grow.
        shop = replace(shop, prefix=f"{shop.prefix}-{place}")
        shop.sync(on_drop="drop")
        assert shop.store
        shop.execute(
            "UPDATE a SET v = v + 1",
            f"INSERT INTO b (id) VALUES ({place + 10})",
            "DELETE FROM b WHERE id = 2",
            "TRUNCATE c",
            f"INSERT INTO c VALUES ({place}, 0)",
            "RENAME TABLE a TO x, d TO a, x TO d",
            "UPDATE a SET v = v + 1",
            f"DROP TABLE IF EXISTS `e{place - STRIDE}`",
            f"CREATE TABLE e{place} (id INT PRIMARY KEY)",
        )
        shop.execute(f"INSERT INTO e{place} VALUES (1)")
        shop.store.fail(method="PUT|POST|DELETE", skip=place - 1, status=403, code="AccessDenied")
        errors = 0
        try:
            shop.sync(on_drop="drop", every=60)
        except binarrow.SyncError as error:
            errors += str(error).count("access is denied: the credentials need")
        shop.store.fail()
        shop.sync(on_drop="drop")
        shop.check(*(f"shop.{one}" for one in "abcd"), f"shop.e{place}")
        place += STRIDE
    assert place > 60
    found = {
        one.split("/")[2].split("-")[0] for one in shop.store.objects(f"{shop.prefix}/_binarrow")
    }
    assert found == {"complete_through.json", "position.json", "structures"}


def test_transient_errors(shop: Source) -> None:
    """Requests are repeated for the time of busy_timeout. After a lost answer, no change is applied twice."""
    assert shop.store

    def versions() -> int:
        assert shop.store
        return sum("/t/_delta_log/" in one for one in shop.store.objects(shop.prefix))

    before = versions()
    for number, fault in enumerate(
        (
            {"path": "", "skip": 5, "times": 3},
            {"method": "PUT", "path": "position.json", "is_executed": True, "times": 1},
            {"method": "PUT", "path": "position.json", "skip": 1, "is_executed": True, "times": 1},
            {"method": "PUT", "path": "_delta_log", "is_executed": True, "times": 1},
            {"method": "PUT", "path": "part-", "is_executed": True, "times": 1},
            {"method": "PUT", "path": "lock.json", "is_executed": True, "times": 1},
            {"method": "POST", "is_executed": True, "times": 1},
        )
    ):
        shop.execute(f"INSERT INTO t VALUES ({number + 10}, 1)")
        shop.store.fail(**fault, status=500, code="InternalError")
        shop.sync(mode="mirror")
        shop.check("shop.t")
    assert versions() == before + 7


@pytest.mark.parametrize(("skip", "keeps"), [(0, 0), (0, -1), (1, 0)])
@pytest.mark.parametrize("is_rename", [False, True])
def test_an_object_that_is_not_deleted(
    shop: Source, skip: int, keeps: int, *, is_rename: bool
) -> None:
    """The answer to a request to delete many objects is 200, and contains an error of one of them.

    The removal is completed before another table gets the name: else a later sync would remove it.
    """
    assert shop.store
    shop.execute("CREATE TABLE u (id INT PRIMARY KEY, w INT)", "INSERT INTO u VALUES (7, 7)")
    shop.sync()
    if is_rename:
        shop.execute("RENAME TABLE t TO s, u TO t")
    else:
        shop.execute("DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY)")
    shop.execute("INSERT INTO t (id) VALUES (8), (9)")
    shop.store.fail(method="POST", skip=skip, times=1, keeps=keeps, code="ServiceUnavailable")
    shop.sync(on_drop="drop")
    shop.store.fail()
    names = ["shop.t", "shop.s" if is_rename else "shop.u"]
    shop.check(*names)
    shop.execute("UPDATE t SET id = id + 100")
    shop.sync(on_drop="drop")
    shop.check(*names)
    position = json.loads(shop.store.read(f"{shop.prefix}/_binarrow/position.json"))
    assert position["removals"] == []


def test_a_store_that_fails_during_a_commit(shop: Source) -> None:
    """The error is one line with a remedy, and the next sync completes the commit."""
    assert shop.store
    paths = ["position.json", "_delta_log", "commit-.*rows", "part-", "structures", "lock.json"]
    for number, path in enumerate(paths):
        shop.execute(
            "UPDATE t SET v = v + 5",
            f"INSERT INTO t VALUES ({number + 2}, 2)",
            f"CREATE TABLE u{number} (id INT PRIMARY KEY)",
        )
        shop.store.fail(method="PUT", path=path)
        with pytest.raises(binarrow.SyncError) as error:
            shop.sync(busy_timeout=0.3)
        words = "the store answers requests with errors: run the command"
        check_message(shop, str(error.value), words)
        shop.store.fail()
        shop.sync()
        shop.check("shop.t", f"shop.u{number}")


def check_message(shop: Source, text: str, words: str) -> None:
    assert words in text
    assert "\n" not in text
    assert SECRET not in text
    assert KEY not in text
    assert len(text) < 400


FAULTS: dict[tuple[int, str], str] = {
    (404, "NoSuchBucket"): "the bucket does not exist: create it",
    (403, "AccessDenied"): "access is denied: the credentials need",
    (403, "InvalidAccessKeyId"): "does not accept the credentials: check",
    (400, "ExpiredToken"): "the credentials have expired: set new ones",
    (400, "AuthorizationHeaderMalformed"): "another region: set AWS_REGION",
}


def test_errors(shop: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of the store at the start, and while tables are read; a store that is not there."""
    assert shop.store
    for (status, code), words in FAULTS.items():
        for path in ("", "_delta_log") if status != 404 else ("",):
            method = ".*" if path == "" else "GET"
            shop.store.fail(path=path, method=method, status=status, code=code)
            with pytest.raises(binarrow.SyncError) as error:
                shop.sync(busy_timeout=0)
            check_message(shop, str(error.value), words)
    shop.store.fail()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    with pytest.raises(binarrow.SyncError) as error:
        shop.sync(busy_timeout=0.2)
    check_message(shop, str(error.value), "the store cannot be reached: check the network")


def test_a_missing_bucket(source: Source) -> None:
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with pytest.raises(binarrow.SyncError) as error:
        binarrow.sync(
            source.url, "delta+s3://no-such/x", once=True, password_file=source.password_file
        )
    check_message(source, str(error.value), "s3://no-such/x cannot be written: the bucket does not")


def test_a_store_without_conditions(source: Source) -> None:
    """Such a store cannot refuse a second sync."""
    assert source.store
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    source.store.fail(method="PUT", is_ignored=True)
    with pytest.raises(binarrow.SyncError, match="ignores the conditions If-None-Match and"):
        source.sync()


@pytest.mark.parametrize(
    "url",
    [
        f"delta+s3://{KEY}:{SECRET}@lake/x",
        f"delta+s3://lake/x?aws_secret_access_key={SECRET}",
        f"delta+s3://{KEY}:{SECRET}/x@lake/y",
        "delta+s3://lake/a b",
        "delta+s3://Lake/a",
        "delta+s3://lake/a//b",
    ],
)
def test_urls(url: str) -> None:
    with pytest.raises(binarrow.ConfigError, match=r"write delta\+s3://bucket/prefix") as error:
        binarrow.sync("mysql://repl@localhost/", url, once=True)
    assert SECRET not in str(error.value)


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(binarrow.ConfigError, match=r"pip install 'binarrow\[delta,s3\]'"):
        binarrow.sync("mysql://repl@localhost/", "delta+s3://lake/x", once=True)


def test_the_examples(source: Source) -> None:
    """The examples of the documentation, with the environment of AWS."""
    shop = source
    (shop.folder / "secret").write_text(PASSWORD)
    shop.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (2, 2)")
    for example in examples("sh", "store"):
        code = example.replace("mysql://repl@db.example/", f"'{shop.url}'")
        ran = subprocess.run(
            ["bash", "-euc", code.replace("delta+s3://lake/mirror", shop.target)],
            cwd=shop.folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode == 0, ran.stderr
        shop.check("shop.t")
