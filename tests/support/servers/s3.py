"""A server of the S3 protocol in a process of its own. It can fail at any request.

with S3.started() as store:
    store.fail(method="PUT", path="position.json", status=503, times=2)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

KEY, SECRET = "AKIASTORETEST", "wJalr-not-in-messages"
"""The credentials. They must not be in messages."""

BUCKET = "lake"


@dataclass(frozen=True)
class S3:
    """A server with a bucket."""

    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of AWS that name the server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def catalog(self, kind: str, folder: Path) -> dict[str, str]:
        """The variables of pyiceberg that describe a catalog `lake`, in SQLite or Glue, with its tables in the bucket."""
        places = {
            "sql": {"URI": f"sqlite:///{folder}/catalog.db"},
            "glue": {"GLUE__ENDPOINT": self.endpoint, "GLUE__REGION": "us-east-1"},
        }
        return {
            "PYICEBERG_CATALOG__LAKE__TYPE": kind,
            **{f"PYICEBERG_CATALOG__LAKE__{name}": value for name, value in places[kind].items()},
            "PYICEBERG_CATALOG__LAKE__WAREHOUSE": f"s3://{BUCKET}/{folder.name}-{uuid.uuid4()}",
            "PYICEBERG_CATALOG__LAKE__S3__ENDPOINT": self.endpoint,
            "PYICEBERG_CATALOG__LAKE__S3__REGION": "us-east-1",
        }

    def use(self, patched: pytest.MonkeyPatch) -> None:
        """Sets the variables of AWS in this process."""
        for name in [one for one in os.environ if one.startswith("AWS_")]:
            patched.delenv(name)
        for name, value in self.environment.items():
            patched.setenv(name, value)

    def fail(self, **fault: Any) -> None:
        """Plans a fault, instead of earlier ones; see :class:`Fault`. Without arguments, there is none."""
        self._control("faults", [fault] if fault else [])

    def requests(self) -> list[str]:
        """Returns the requests since the last call: the method and the path."""
        found: list[str] = self._control("requests", None)
        return found

    def objects(self, prefix: str) -> list[str]:
        """Returns the names of objects."""
        import obstore

        found = obstore.list(self._client(), prefix)
        return sorted(one["path"] for chunk in found for one in chunk)

    def read(self, name: str) -> bytes:
        """Returns the content of an object."""
        import obstore

        return bytes(obstore.get(self._client(), name).bytes())

    def write(self, name: str, content: bytes) -> None:
        """Writes an object."""
        import obstore

        obstore.put(self._client(), name, content)

    def _client(self) -> Any:
        from obstore.store import S3Store

        return S3Store(
            BUCKET,
            config={
                "endpoint": self.endpoint,
                "access_key_id": KEY,
                "secret_access_key": SECRET,
                "region": "us-east-1",
            },
            client_options={"allow_http": True},
        )

    def _control(self, name: str, value: Any) -> Any:
        body = json.dumps(value).encode()
        request = urllib.request.Request(f"{self.endpoint}/-control/{name}", body, method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def create(self, bucket: str) -> None:
        """Creates a bucket."""
        request = urllib.request.Request(f"{self.endpoint}/{bucket}", method="PUT")
        urllib.request.urlopen(request, timeout=30).close()

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[S3]:
        """Starts a server, which ends with the block, or with this process."""
        code = "from support.servers.s3_process import serve; serve()"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        ) as process:
            assert process.stdin
            assert process.stdout
            try:
                store = cls(int(process.stdout.readline()))
                store.create(BUCKET)
                yield store
            finally:
                process.stdin.close()
                process.wait(30)
