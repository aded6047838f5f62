"""The file in which a stream stores how the existing rows are divided."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from binarrow import ConfigError, InputError, LaterVersionError
from binarrow._native import is_uri, shown_uri
from binarrow.atomic_file import replace_file
from binarrow.remote_files import absolute, find, open_file, write_file
from binarrow.spark.live.row_ranges import RowChunks
from binarrow.spark.messages import spark_message

MAX_BYTES = 1 << 30
"""More bytes than a file has."""


class StateFile:
    """The file of the option ``snapshotStateFile``. It contains keys of rows."""

    def __init__(self, path: str | None) -> None:
        """Uses a local path, or a URI.

        Raises:
            ConfigError: It is neither.
        """
        if path and path.lower().startswith("file:/"):
            path = "/" + unquote(path[len("file:") :]).lstrip("/")
        if path and not is_uri(path) and re.match(r"[A-Za-z][\w+.-]+:/", path):
            raise ConfigError(
                spark_message(
                    f"⟦snapshot_state_file⟧: {path} is neither a path nor a URI such as"
                    " s3://bucket/orders.rows; on Databricks, name /Volumes/... or /dbfs/..."
                )
            )
        self._given = absolute(path) if path else None

    @property
    def name(self) -> str:
        """The path or URI, for messages: without the query of a URI, which may be a secret."""
        return shown_uri(self._place) if is_uri(self._place) else self._place

    def exists(self) -> bool:
        """True if the file exists."""
        if not is_uri(self._place):
            return Path(self._place).exists()
        try:
            _, found = find(self._place)
        except OSError as error:
            raise self._unreachable(error) from error
        return bool(found)

    def load(self) -> RowChunks:
        """Reads the file.

        Raises:
            InputError: It cannot be read, or has another content.
            LaterVersionError: A later version of binarrow has stored it.
        """
        try:
            if is_uri(self._place):
                file, size = open_file(self._place)
                text = file.read(size if size is not None else MAX_BYTES)
                file.close()
            else:
                text = Path(self._place).read_bytes()
        except OSError as error:
            raise self._unreachable(error) from error
        try:
            return RowChunks.from_json(text.decode(), f"the state of a load in {self.name}")
        except LaterVersionError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.name} is not the state of a load: {error}") from None

    def save(self, chunks: RowChunks) -> None:
        """Writes the file, or replaces it.

        Raises:
            InputError: It cannot be written.
        """
        content = chunks.to_json().encode()
        try:
            if is_uri(self._place):
                write_file(self._place, content)
            else:
                path = Path(self._place)
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, content)
        except OSError as error:
            raise self._unreachable(error) from error

    @property
    def _place(self) -> str:
        if self._given is None:
            raise ConfigError(
                spark_message(
                    "a stream with ⟦start=snapshot⟧ stores how it divides the rows: set"
                    " ⟦snapshot_state_file⟧ to a file beside the checkpoint, for example"
                    ' "/lake/orders.checkpoint.rows"'
                )
            )
        return self._given

    def _unreachable(self, error: OSError) -> InputError:
        return InputError(
            spark_message(
                f"⟦snapshot_state_file⟧: {self.name}: {error.strerror or type(error).__name__}. The"
                " query needs it until all existing rows were read: use the file with which it ran,"
                " or start with a new checkpoint"
            )
        )
