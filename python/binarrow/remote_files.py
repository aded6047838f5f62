"""Finds and opens files at URIs, with the file systems of pyarrow, else of fsspec.

The native readers call :func:`find` and :func:`open_file`; pyarrow and fsspec are imported when the
first URI is used. Credentials come from the file system (environment, profile, instance), or from
``storage_options``: keywords of pyarrow's file system (``S3FileSystem``: ``endpoint_override``,
...), or of fsspec's.
"""

from __future__ import annotations

import fnmatch
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import unquote

from binarrow._native import ConfigError, Url, has_password, is_uri, shown_uri
from binarrow.advice import message

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

Options = Mapping[str, Any] | None
Files = list[tuple[str, int | None]]
"""URIs, with their sizes if known."""


def absolute(path: str) -> str:
    """Returns a path that is valid in all processes, whatever their working folder is."""
    return path if is_uri(path) else os.path.abspath(path)


def size(path: str, options: Options = None) -> int:
    """Returns the size of the file at a path or a URI; 0 if it is unknown."""
    if not is_uri(path):
        return Path(path).stat().st_size
    return sum(size or 0 for _, size in find(path, options)[1])


def find(
    uri: str, options: Options = None
) -> tuple[Literal["path", "file", "folder", "glob"], Files]:
    """Returns the kind of a URI, and its files: those in a folder, or those that match a glob.

    The kind ``path`` is a local path. ``*`` and ``[...]`` make a glob; ``?`` begins a URI's query.

    Raises:
        ConfigError: No installed package opens such a URI, or the URI contains a password.
        OSError: It cannot be reached. For a missing file, the list of files is empty instead.
    """
    if uri.lower().startswith("file://"):
        return "path", [(_local_path(uri), None)]
    try:
        return _place(uri, options).find()
    except FileNotFoundError:
        return "file", []
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001  each library has its own exceptions
        raise _without_query(error, uri) from None


def open_file(uri: str, options: Options = None) -> tuple[Any, int | None]:
    """Opens a file for reading at any offset, without a buffer. Returns it with its size.

    Raises:
        ConfigError: No installed package opens such a URI, or the URI contains a password.
        OSError: There is no such file, or it cannot be reached.
    """
    if uri.lower().startswith("file://"):
        path = Path(_local_path(uri))
        return path.open("rb", buffering=0), path.stat().st_size
    try:
        return _place(uri, options).open()
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001  each library has its own exceptions
        raise _without_query(error, uri) from None


def write_file(uri: str, content: bytes, options: Options = None) -> None:
    """Writes a file of a remote file system, or replaces it. Object stores do this at once.

    Raises:
        ConfigError: No installed package opens such a URI, or the URI contains a password.
        OSError: It cannot be written.
    """
    try:
        _place(uri, options).write(content)
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001  each library has its own exceptions
        raise _without_query(error, uri) from None


class _ArrowPlace(NamedTuple):
    """A path in a file system of pyarrow."""

    system: FileSystem
    path: str
    uri: Callable[[str], str]
    """Returns the URI of a path."""

    def find(self) -> tuple[Literal["file", "folder", "glob"], Files]:
        from pyarrow.fs import FileSelector, FileType

        if _is_glob(self.path):
            parts = self.path.split("/")
            first = next(place for place, part in enumerate(parts) if _is_glob(part))
            return "glob", self._matches("/".join(parts[:first]), parts[first:])
        info = self.system.get_file_info(self.path)
        if info.type == FileType.File:
            return "file", [(self.uri(info.path), info.size)]
        if info.type == FileType.NotFound:
            return "file", []
        found = self.system.get_file_info(FileSelector(info.path))
        files = [each for each in found if each.type == FileType.File]
        return "folder", [(self.uri(each.path), each.size) for each in files]

    def _matches(self, folder: str, parts: list[str]) -> Files:
        """Returns matching files below a folder; each part of the glob matches one level."""
        from pyarrow.fs import FileSelector, FileType

        pattern, *rest = parts
        if pattern == "**":
            selector = FileSelector(folder, allow_not_found=True, recursive=True)
            below = [each.path for each in self.system.get_file_info(selector) if not each.is_file]
            return [
                file for each in [folder, *below] for file in self._matches(each, rest or ["*"])
            ]
        if rest and not _is_glob(pattern):
            return self._matches(f"{folder}/{pattern}", rest)
        found = self.system.get_file_info(FileSelector(folder, allow_not_found=True))
        matching = [each for each in found if fnmatch.fnmatchcase(each.base_name, pattern)]
        if not rest:
            files = [each for each in matching if each.type == FileType.File]
            return [(self.uri(each.path), each.size) for each in files]
        folders = [each.path for each in matching if each.type == FileType.Directory]
        return [file for each in folders for file in self._matches(each, rest)]

    def open(self) -> tuple[Any, int | None]:
        file = self.system.open_input_file(self.path)
        return file, file.size()

    def write(self, content: bytes) -> None:
        with self.system.open_output_stream(self.path) as file:
            file.write(content)


class _FsspecPlace(NamedTuple):
    """A path in a file system of fsspec."""

    system: Any
    path: str
    uri: Callable[[str], str]

    def find(self) -> tuple[Literal["file", "folder", "glob"], Files]:
        if _is_glob(self.path.partition("?")[0]):
            found = self.system.glob(self.path, detail=True).values()
            return "glob", self._files(found)
        # A web server has no folders: `info` would read the complete file to look for links.
        if self.path.endswith("/") or self.system.info(self.path)["type"] == "directory":
            return "folder", self._files(self.system.ls(self.path, detail=True))
        return "file", [(self.uri(self.path), self.system.info(self.path).get("size"))]

    def _files(self, found: Any) -> Files:
        files = [each for each in found if each["type"] == "file"]
        return [(self.uri(each["name"]), each.get("size")) for each in files]

    def open(self) -> tuple[Any, int | None]:
        # The reader requests large blocks: a cache would only read more than needed.
        file = self.system.open(self.path, "rb", cache_type="none")
        if hasattr(file, "size"):
            size = file.size if _gives_ranges(file) else None
        else:
            size = self.system.info(self.path).get("size")
        if size is not None:
            return _File(self.system, file, self.path, seekable=True), size
        # The stream of a web server reports that it is seekable, but it is not.
        stream = self.system.open(self.path, "rb", block_size=0)
        return _File(self.system, stream, self.path, seekable=False), None

    def write(self, content: bytes) -> None:
        self.system.pipe_file(self.path, content)


def _gives_ranges(file: Any) -> bool:
    """True if a file can be read at any offset. Not all web servers report that correctly."""
    if not str(getattr(file, "path", "")).startswith(("http://", "https://")) or not file.size:
        return file.size is not None
    try:
        file.seek(file.size - 1)
        file.read(1)
        file.seek(0)
    except ValueError:
        return False
    return True


class _File:
    """A file of fsspec, with its file system, which may close the file when it is deleted."""

    def __init__(self, system: Any, file: IO[bytes], uri: str, *, seekable: bool) -> None:
        self._system = system
        self._file = file
        self._uri = uri
        self._seekable = seekable
        self.close = file.close

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except Exception as error:  # noqa: BLE001  each library has its own exceptions
            raise _without_query(error, self._uri) from None

    def seek(self, offset: int) -> int:
        try:
            return self._file.seek(offset)
        except Exception as error:  # noqa: BLE001  each library has its own exceptions
            raise _without_query(error, self._uri) from None

    def seekable(self) -> bool:
        return self._seekable


def _place(uri: str, options: Options) -> _ArrowPlace | _FsspecPlace:
    if has_password(uri):
        raise ConfigError(
            message(
                f"{shown_uri(uri)}: a password in a URI would be visible in plans and logs:"
                " pass it in ⟦storage_options⟧, or set it in the environment of the file system"
            )
        )
    url = Url.parse(uri)
    if url is not None and url.is_server:
        raise ConfigError(f"{shown_uri(uri)} is a server: binarrow.connect(url).stream() reads it")
    if url is not None and url.scheme in _ARROW_SCHEMES:
        place = _arrow_place(_ARROW_SCHEMES[url.scheme], url, options)
        if place is not None:
            return place
    return _fsspec_place(uri, options)


_ARROW_SCHEMES = {
    "s3": "s3",
    "s3a": "s3",  # Hadoop's names for it
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfss",
    "hdfs": "hdfs",
    "viewfs": "viewfs",
}
"""pyarrow's names of the schemes that it supports."""


def _arrow_place(scheme: str, url: Url, options: Options) -> _ArrowPlace | None:
    """Returns a path in a file system of pyarrow; None if none of them accepts the options."""
    authority = url.authority
    query = f"?{url.query}" if url.query else ""
    text = json.dumps(options, sort_keys=True, default=repr, skipkeys=True)
    # Connections and threads do not survive a fork.
    key = (os.getpid(), scheme, authority, query, text)
    if key not in _SYSTEMS:
        try:
            system = _arrow_system(scheme, authority, query, options)
        except (ImportError, NotImplementedError, TypeError):
            return None
        if len(_SYSTEMS) >= _MAX_SYSTEMS:
            _SYSTEMS.clear()
        _SYSTEMS[key] = system
    system, base = _SYSTEMS[key]
    prefix = f"{base}/" if base else "/"

    def named(path: str) -> str:
        return f"{url.scheme}://{authority}/{path.removeprefix(prefix)}{query}"

    return _ArrowPlace(system, f"{prefix}{url.path[1:]}".rstrip("/"), named)


_SYSTEMS: dict[tuple[int, str, str, str, str], tuple[FileSystem, str]] = {}
"""Open file systems, with the paths of their roots: creating one may take round trips."""

_MAX_SYSTEMS = 16


def _arrow_system(
    scheme: str, authority: str, query: str, options: Options
) -> tuple[FileSystem, str]:
    """Creates a file system, and returns it with the path of its root.

    Raises:
        ImportError: This pyarrow was built without it.
        NotImplementedError: This pyarrow does not support it.
        TypeError: It does not have such options.
    """
    from pyarrow import fs

    if options and not query:
        if scheme == "s3":
            own = dict(options)
            if not own.keys() & {"region", "endpoint_override"}:
                elsewhere = os.environ.get("AWS_ENDPOINT_URL")
                own |= {"endpoint_override": elsewhere} if elsewhere else _region(authority)
            return fs.S3FileSystem(**own), authority
        if scheme == "gs":
            return fs.GcsFileSystem(**options), authority
        if scheme in ("abfs", "abfss"):
            container, _, host = authority.rpartition("@")
            account = {"account_name": host.partition(".")[0]}
            return fs.AzureFileSystem(**{**account, **options}), container
        host, _, port = authority.partition(":")
        host = f"viewfs://{host}" if scheme == "viewfs" else host or "default"
        return fs.HadoopFileSystem(**{"host": host, "port": int(port or 0), **options}), ""
    system, path = fs.FileSystem.from_uri(f"{scheme}://{authority}{query}")
    return system, path.strip("/")


def _region(bucket: str) -> dict[str, str]:
    from pyarrow.fs import resolve_s3_region

    return {"region": resolve_s3_region(bucket)}


def _check_options(uri: str, system: type, options: Options) -> None:
    """Rejects unknown keys: file systems of fsspec accept any key and ignore most."""
    known = set(_FSSPEC_OPTIONS)
    for part in uri.split("::"):
        known.add(part.partition("://")[0])  # in a chain of URIs, each part has its own options
    for each in system.__mro__:
        if "__init__" in vars(each):
            known |= set(inspect.signature(vars(each)["__init__"]).parameters)
    if "http" in getattr(system, "protocol", ()):
        known |= _HTTP_OPTIONS
    if unknown := sorted(map(str, (options or {}).keys() - known)):
        raise ConfigError(
            f"{shown_uri(uri)}: storage_options has keys that {system.__name__} does not know:"
            f" {', '.join(unknown)}"
        )


_FSSPEC_OPTIONS = frozenset(
    {
        *("use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache"),
        *("asynchronous", "loop", "batch_size", "auto_mkdir"),
    }
)
"""Options that all file systems of fsspec accept."""

_HTTP_OPTIONS = frozenset(
    {
        *("allow_redirects", "auth", "cookies", "headers", "max_redirects", "params", "proxy"),
        *("proxy_auth", "proxy_headers", "raise_for_status", "ssl", "timeout", "trust_env"),
    }
)
"""Options that the HTTP file system passes to each request."""


def _fsspec_place(uri: str, options: Options) -> _FsspecPlace:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ConfigError(
            f"{shown_uri(uri)}: pyarrow has no file system for it"
            f"{' with these storage_options' if options else ''}, and fsspec is not installed:"
            " pip install fsspec, and the package that it requires for the scheme"
        ) from error
    try:
        system, path = url_to_fs(uri, **(options or {}))
    except (ImportError, ValueError, TypeError) as error:
        # The message names the package to install, or says that the scheme is unknown.
        raise ConfigError(f"{shown_uri(uri)}: {error}") from None
    _check_options(uri, type(system), options)
    system.invalidate_cache()  # new files are added all the time
    parts = uri.split("::")
    first = next(place for place, part in enumerate(parts) if "://" in part)
    asked = parts[first].rstrip("/")
    prefix = asked.removesuffix(str(path).rstrip("/"))
    if uri.endswith("/"):
        path = f"{path.rstrip('/')}/"

    def named(path: str) -> str:
        own = path if "://" in path else f"{prefix}{path}"
        return "::".join([*parts[:first], own, *parts[first + 1 :]])

    return _FsspecPlace(system, path, named)


def _is_glob(path: str) -> bool:
    return "*" in path or "[" in path


def _local_path(uri: str) -> str:
    host, slash, path = uri[len("file://") :].partition("/")
    if host not in ("", "localhost") or not slash:
        raise ConfigError(f"{shown_uri(uri)}: the file is on another machine; write file:///path")
    return unquote(f"/{path}")


_QUERY = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s?'\"<>]*\?)[^\s'\"<>]+", re.IGNORECASE)


def _without_query(error: Exception, uri: str) -> OSError:
    """Returns an OSError with the same message, without URI queries, which may be signatures."""
    text = str(error) or type(error).__name__
    for part in uri.split("::"):
        query = part.partition("?")[2]
        if query:
            text = text.replace(query, "...")
    # Libraries may print a URL with other escapes than in `uri`.
    text = _QUERY.sub(r"\1...", text)
    kinds = (FileNotFoundError, PermissionError)
    return next((kind for kind in kinds if isinstance(error, kind)), OSError)(text)
