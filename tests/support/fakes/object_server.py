"""Files over HTTP on loopback: with ranges, as web servers have them, and as an S3 bucket, as pyarrow asks for one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass
class ObjectServer:
    """Serves the files of a folder, and knows what was asked of it."""

    folder: Path
    port: int = 0
    ranges: bool = True
    requests: list[tuple[str, str, int]] = field(default_factory=list)
    """Method, path, bytes of the answer's body."""
    keys_seen: set[str] = field(default_factory=set)
    """Access keys that S3 requests were signed with."""

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def s3_options(self) -> dict[str, str]:
        """Keywords of pyarrow's S3FileSystem."""
        return {
            "endpoint_override": f"127.0.0.1:{self.port}",
            "scheme": "http",
            "region": "us-east-1",
            "access_key": "AKIATEST",
            "secret_key": "oh-so-secret",
        }

    def reads(self, name: str) -> list[int]:
        """The sizes of the bodies that were read of a file."""
        return [
            size
            for method, path, size in self.requests
            if method == "GET" and path.split("?")[0].endswith(name)
        ]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_HEAD(self) -> None:
        self._answer(body_wanted=False)

    def do_GET(self) -> None:
        self._answer(body_wanted=True)

    def _answer(self, *, body_wanted: bool) -> None:
        objects = self.server.objects
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        signed = self.headers.get("Authorization", "")
        if "Credential=" in signed:
            objects.keys_seen.add(signed.split("Credential=")[1].split("/")[0])
        path = unquote(url.path).strip("/")
        place = objects.folder / path
        if "list-type" in query:
            self._send(200, _listing(objects.folder, path, query), {}, body_wanted=body_wanted)
        elif place.is_dir() and "Credential=" not in signed:
            links = "".join(f'<a href="{each.name}">{each.name}</a>' for each in place.iterdir())
            html = {"Content-Type": "text/html"}
            self._send(200, links.encode(), html, body_wanted=body_wanted)
        elif place.is_dir() and "/" not in path:  # a bucket
            self._send(200, b"", {}, body_wanted=body_wanted)
        elif not place.is_file():
            self._send(404, b"", {}, body_wanted=body_wanted)
        else:
            data = place.read_bytes()
            headers = {"ETag": '"0"', "Last-Modified": "Sun, 22 Nov 2026 00:00:00 GMT"}
            status, asked = 200, self.headers.get("Range", "")
            if objects.ranges:
                headers["Accept-Ranges"] = "bytes"
            if objects.ranges and asked.startswith("bytes="):
                first, _, last = asked.removeprefix("bytes=").partition("-")
                end = min(int(last or len(data) - 1), len(data) - 1)
                headers["Content-Range"] = f"bytes {first}-{end}/{len(data)}"
                status, data = 206, data[int(first) : end + 1]
            self._send(status, data, headers, body_wanted=body_wanted)

    def _send(
        self, status: int, body: bytes, headers: dict[str, str], *, body_wanted: bool
    ) -> None:
        self.server.objects.requests.append(
            (self.command, self.path, len(body) if body_wanted else 0)
        )
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if body_wanted:
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Requests are kept, not printed."""


def _listing(root: Path, bucket: str, query: dict[str, list[str]]) -> bytes:
    """ListObjectsV2 with the delimiter `/` or none."""
    prefix = query.get("prefix", [""])[0]
    deep = query.get("delimiter", [""])[0] == ""
    keys = sorted(
        str(each.relative_to(root / bucket))
        for each in (root / bucket).rglob("*")
        if each.is_file()
    )
    contents, folders = [], set()
    for key in keys:
        if not key.startswith(prefix):
            continue
        rest = key[len(prefix) :]
        if "/" in rest and not deep:
            folders.add(prefix + rest.split("/")[0] + "/")
        else:
            size = (root / bucket / key).stat().st_size
            contents.append(
                f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size><ETag>0</ETag>"
                "<LastModified>2026-11-22T00:00:00.000Z</LastModified></Contents>"
            )
    common = "".join(
        f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>"
        for each in sorted(folders)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>'
        f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>"
        f"<KeyCount>{len(contents) + len(folders)}</KeyCount>{''.join(contents)}{common}"
        "</ListBucketResult>"
    ).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    objects: ObjectServer


@contextmanager
def serving(folder: Path) -> Iterator[ObjectServer]:
    """A server for the files in a folder, whose subfolders are its buckets."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.objects = ObjectServer(folder, server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.objects
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
