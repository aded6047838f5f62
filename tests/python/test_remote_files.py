"""Files that lie elsewhere give what the same files here give, over few reads, and keep secrets."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import zipfile

import pyarrow as pa
import pytest

import binarrow
from binarrow import remote_files

pytestmark = pytest.mark.filterwarnings("ignore:.*shop.orders. the column channel:UserWarning")


def table(source, **keywords) -> pa.Table:
    """All changes of one table, as a reader of several files gives them."""
    return pa.table(binarrow.read_binlog(source, **keywords).table("shop.products"))


@pytest.fixture(scope="module")
def expected(shop):
    return table(shop.glob)


def test_files_of_this_system(shop, expected):
    assert table(f"file://{shop.folder}").equals(expected)
    assert table(f"file://localhost{shop.folder}/binlog.00000%2A").equals(expected)
    assert binarrow.expand_source(f"file://{shop.folder}") == [str(path) for path in shop.files]
    with pytest.raises(binarrow.ConfigError, match="another machine; write file:///path"):
        table("file://elsewhere/binlog.000001")
    with pytest.raises(binarrow.MissingInputError, match=r"no file matches .*nothing\.\*"):
        table(f"file://{shop.folder}/nothing.*")


def test_a_bucket(objects, shop, expected):
    """The files, a folder, globs; sizes come with the names."""
    options = objects.s3_options
    names = [f"s3://logs/shop/{path.name}" for path in shop.files]
    for source in ("s3://logs/shop", "s3://logs/shop/", "s3://logs/shop/binlog.*", names):
        assert binarrow.expand_source(source, storage_options=options) == names
        assert table(source, storage_options=options).equals(expected)
    globs = ("s3a://logs/*/binlog.00000[12]", "s3a://logs/**/binlog.*", "s3a://logs/s*/[!R]*")
    for glob in globs:
        found = binarrow.expand_source(glob, storage_options=options)
        assert found == [f"s3a://logs/shop/{path.name}" for path in shop.files]
    assert remote_files.size(names[0], options) == shop.files[0].stat().st_size
    assert objects.keys_seen == {"AKIATEST"}
    for missing in ("s3://logs/shop/binlog.000009", "s3://logs/nothing/", "s3://logs/shop/x*"):
        with pytest.raises(
            binarrow.MissingInputError, match=r"cannot|no such file|no file matches"
        ):
            table(missing, storage_options=options)
    [event, *_] = binarrow.inspect(names[0], storage_options=options)
    assert event.file == "binlog.000001"
    assert binarrow.infer_schema(names[0], "shop.products", storage_options=options).equals(
        binarrow.infer_schema(shop.files[0], "shop.products"), check_metadata=True
    )


def test_the_bucket_of_the_environment(objects, shop):
    """Like the command line: no options, and the file system's own variables."""
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL": objects.http,
        "AWS_ACCESS_KEY_ID": "AKIAENV",
        "AWS_SECRET_ACCESS_KEY": "another",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    main = [sys.executable, "-c", "from binarrow.cli import main; main()", "splits"]
    call = [*main, "s3://logs/shop/binlog.*", "--target-bytes", "100k", "--format", "json"]
    found = subprocess.run(call, env=environment, check=True, capture_output=True, text=True)
    splits = [binarrow.Split.from_json(line) for line in found.stdout.splitlines()]
    assert {split.path for split in splits} == {
        f"s3://logs/shop/{path.name}" for path in shop.files
    }
    assert len(splits) > 10
    assert objects.keys_seen == {"AKIAENV"}


def test_a_web_server_a_zip_file_and_memory(objects, shop, expected, tmp_path):
    import fsspec

    files = [f"{objects.http}/logs/shop/{path.name}" for path in shop.files]
    assert table(files).equals(expected)
    assert table(f"{objects.http}/logs/shop/").equals(expected)
    assert table([f"{each}?X-Amz-Signature=abc" for each in files]).equals(expected)
    objects.ranges = False  # then it is a stream
    assert table(files).equals(expected)
    objects.ranges = True

    archive = objects.folder / "logs" / "archive.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for path in shop.files:
            written.write(path, f"2026/{path.name}")
        written.writestr("2026/notes.index", "")
    for place in (f"file://{archive}", f"{objects.http}/logs/archive.zip"):
        assert table(f"zip://2026/*::{place}").equals(expected)
        [first, _] = binarrow.expand_source(f"zip://2026::{place}")
        assert first == f"zip://2026/binlog.000001::{place}"

    memory = fsspec.filesystem("memory")
    for path in shop.files:
        memory.pipe(f"/here/{path.name}", path.read_bytes())
    assert table("memory://here").equals(expected)
    assert table("memory://here/binlog.*").equals(expected)


def test_ranges(objects, shop, tmp_path):
    """By ranges of one file, each task with an input of its own, XA transactions or none."""
    options = objects.s3_options
    uris = [f"s3://logs/shop/{path.name}" for path in shop.files]
    splits = binarrow.link_splits(
        [
            split
            for place, uri in enumerate(uris, start=1)
            for split in binarrow.scan_splits(
                uri, target_bytes=100_000, place=place, storage_options=options
            )
        ]
    )
    assert len(splits) > 10
    assert not any(secret in split.to_json() for split in splits for secret in options.values())
    target = binarrow.infer_schema(shop.files[0], "shop.products")
    rows = [
        batch
        for split in splits
        for batch in binarrow.read_split(split, options={"storage_options": options}).table(
            "shop.products", schema=target
        )
    ]
    local = table(shop.glob).cast(target)
    assert pa.Table.from_batches([pa.record_batch(each) for each in rows], target).equals(local)
    with binarrow.SchemaHistory.open(tmp_path / "history.db") as history:
        history.baseline("CREATE DATABASE other", "binlog.000001:4", server="mysql-9.7")
        linked = binarrow.link_splits(splits, history=history, storage_options=options)
    assert all('"history"' in split.to_json() for split in linked)


class CountingFile(io.BytesIO):
    """A file object that notes what is asked of it."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.asked: list[tuple[int, int]] = []

    def read(self, size: int | None = -1) -> bytes:
        self.asked.append((self.tell(), size or 0))
        return super().read(size)


def test_reads_are_few_and_large(objects, shop):
    data = shop.files[0].read_bytes()
    file = CountingFile(data)
    assert sum(change.num_rows for change in binarrow.read_binlog(file)) > 1000
    # 256 KiB, then always twice as much up to 8 MiB.
    sizes = [size for _, size in file.asked]
    assert sizes[:3] == [256 << 10, 512 << 10, 1 << 20]
    assert len(sizes) <= 4  # the last one finds the end
    # The last range: the format description at the front, and the range.
    uri = f"s3://logs/shop/{shop.files[0].name}"
    *_, last = binarrow.scan_splits(uri, target_bytes=100_000, storage_options=objects.s3_options)
    objects.requests.clear()
    list(binarrow.read_split(last, options={"storage_options": objects.s3_options}))
    assert len(objects.reads("binlog.000001")) <= 4
    assert sum(objects.reads("binlog.000001")) <= (256 << 10) + len(data) - last.start


def test_what_cannot_be_read(objects, shop, monkeypatch):
    with pytest.raises(binarrow.ConfigError, match=r"nosuch://host/b: Protocol not known"):
        table("nosuch://host/b?sig=secret")
    with pytest.raises(binarrow.ConfigError, match=r"mysql://db/ is a server: .*connect\(url\)"):
        table("mysql://db/")
    secret = "s3://AKIA:very-secret@logs/shop/"
    for call in (table, binarrow.expand_source, binarrow.scan_splits):
        with pytest.raises((binarrow.ConfigError, binarrow.InputError)) as failure:
            call(secret)
        assert "in storage_options=" in str(failure.value)
        assert "very-secret" not in str(failure.value)
    with pytest.raises(binarrow.MissingInputError) as failure:
        list(binarrow.scan_splits(f"{objects.http}/logs/nothing?sig=hush"))
    assert "hush" not in str(failure.value)
    with pytest.raises(TypeError, match="storage_options must be a dict"):
        table(shop.glob, storage_options="key=value")
    with pytest.raises(binarrow.MalformedBinlogError, match=r"README") as failure:
        table(f"{objects.http}/logs/shop/README?sig=hush")
    assert "hush" not in str(failure.value)
    # A server that fails is an error that says so, whatever library reports it.
    shutil.rmtree(objects.folder)
    with pytest.raises(binarrow.InputError):
        table(f"{objects.http}/logs/shop/binlog.000001")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(binarrow.ConfigError, match="fsspec is not installed: pip install fsspec"):
        table("memory://here")
