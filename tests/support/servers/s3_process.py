"""A process with a server of the S3 protocol: moto, and in front of it a layer that causes faults."""

from __future__ import annotations

import io
import json
import re
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass
class Fault:
    """A planned fault: the requests that it concerns, and the answer to them."""

    method: str = ".*"
    path: str = ""
    """A regular expression that is searched in the path of the request."""
    skip: int = 0
    """The number of requests before the first fault."""
    times: int = 1 << 30
    """The number of faults."""
    status: int = 503
    code: str = "SlowDown"
    is_executed: bool = False
    """True if the request is executed, and only its answer is replaced."""
    is_ignored: bool = False
    """True if the request is executed without its conditions, and its answer is not replaced."""
    keeps: int | None = None
    """The index of an object that a request to delete several objects does not delete: the answer is 200, with an error."""

    def hits(self, method: str, path: str) -> bool:
        """True if a request gets the fault."""
        if not re.fullmatch(self.method, method) or not re.search(self.path, path):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        return self.times >= 0


class Faults:
    """A WSGI application in front of another one."""

    def __init__(self, inner: Application) -> None:
        self._inner = inner
        self._faults: list[Fault] = []
        self._requests: list[str] = []
        self._mutex = threading.Lock()

    def __call__(
        self, environment: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        method, path = environment["REQUEST_METHOD"], environment["PATH_INFO"]
        if path.startswith("/-control/"):
            return self._control(path, environment, start_response)
        # A conditional write is atomic: no other request is executed between the check and the write.
        with self._mutex:
            self._requests.append(f"{method} {path}")
            fault = next((one for one in self._faults if one.hits(method, path)), None)
            if fault is None:
                return self._executed(environment, start_response)
            if fault.is_ignored:
                environment.pop("HTTP_IF_NONE_MATCH", None)
                environment.pop("HTTP_IF_MATCH", None)
                return self._executed(environment, start_response)
            if fault.keeps is not None:
                return self._deleted_others(fault, environment, start_response)
            if fault.is_executed:
                self._executed(environment, lambda *_: None)
        text = f"<Error><Code>{fault.code}</Code><Message>a fault</Message></Error>".encode()
        start_response(
            f"{fault.status} Fault",
            [("Content-Type", "application/xml"), ("Content-Length", str(len(text)))],
        )
        return [text]

    def _deleted_others(
        self, fault: Fault, environment: dict[str, Any], start_response: Callable[..., Any]
    ) -> list[bytes]:
        given = environment["wsgi.input"].read(int(environment["CONTENT_LENGTH"])).decode()
        objects = re.findall(r"<Object>.*?</Object>", given, re.S)
        kept = objects[fault.keeps or 0]
        rest = given.replace(kept, "") if objects[1:] else ""
        if rest:
            inner = {**environment, "wsgi.input": io.BytesIO(rest.encode())}
            self._executed({**inner, "CONTENT_LENGTH": str(len(rest.encode()))}, lambda *_: None)
        key = re.findall(r"<Key>.*?</Key>", kept)[0]
        text = f"<DeleteResult><Error>{key}<Code>{fault.code}</Code><Message>a fault</Message></Error></DeleteResult>"
        start_response(
            "200 OK", [("Content-Type", "application/xml"), ("Content-Length", str(len(text)))]
        )
        return [text.encode()]

    def _executed(
        self, environment: dict[str, Any], start_response: Callable[..., Any]
    ) -> list[bytes]:
        answer = self._inner(environment, start_response)
        body = [*answer]
        if hasattr(answer, "close"):
            answer.close()
        return body

    def _control(
        self, path: str, environment: dict[str, Any], start_response: Callable[..., Any]
    ) -> list[bytes]:
        given = json.loads(environment["wsgi.input"].read(int(environment["CONTENT_LENGTH"])))
        with self._mutex:
            answer: Any = None
            if path.endswith("faults"):
                self._faults = [Fault(**one) for one in given]
            else:
                answer, self._requests = self._requests, []
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *arguments: Any) -> None:
        """Prints nothing: the requests are stored."""


def serve() -> None:
    """Serves until the standard input ends, and prints the port."""
    application = Faults(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Quiet)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    server.shutdown()
