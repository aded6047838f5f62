"""The file in which a stream stores how the existing rows are divided."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from binarrow import ConfigError, InputError
from binarrow._native import is_uri
from binarrow.atomic_file import replace_file
from binarrow.remote_files import absolute, find, open_file, write_file
from binarrow.spark.live.row_ranges import RowChunks
from binarrow.spark.messages import spark_message

MAX_BYTES = 1 << 30
"""More bytes than a file has."""


class StateFile:
    """The file of the option ``snapshotStateFile``. It contains keys of rows."""

    def __init__(self, path: str | None) -> None:
        if path is not None and path.lower().startswith("file://"):
            path = unquote(path[len("file://") :])
        self._path = None if path is None else absolute(path)

    @property
    def name(self) -> str:
        """The path or URI.

        Raises:
            ConfigError: The option is not set.
        """
        if self._path is None:
            raise ConfigError(
                spark_message(
                    "a stream with ⟦start=snapshot⟧ stores how it divides the rows: set"
                    " ⟦snapshot_state_file⟧ to a file beside the checkpoint, for example"
                    ' "/lake/orders.checkpoint.rows"'
                )
            )
        return self._path

    def exists(self) -> bool:
        """True if the file exists."""
        if not is_uri(self.name):
            return Path(self.name).exists()
        try:
            _, found = find(self.name)
        except OSError as error:
            raise self._unreachable(error) from error
        return bool(found)

    def load(self) -> RowChunks:
        """Reads the file.

        Raises:
            InputError: It cannot be read, or has another content.
        """
        try:
            if is_uri(self.name):
                file, size = open_file(self.name)
                text = file.read(size if size is not None else MAX_BYTES)
                file.close()
            else:
                text = Path(self.name).read_bytes()
        except OSError as error:
            raise self._unreachable(error) from error
        try:
            return RowChunks.from_json(text.decode())
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.name} is not the state of a load: {error}") from None

    def save(self, chunks: RowChunks) -> None:
        """Writes the file, or replaces it.

        Raises:
            InputError: It cannot be written.
        """
        content = chunks.to_json().encode()
        try:
            if is_uri(self.name):
                write_file(self.name, content)
            else:
                path = Path(self.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, content)
        except OSError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: OSError) -> InputError:
        return InputError(
            spark_message(
                f"⟦snapshot_state_file⟧: {self._path}: {error.strerror or error}. The query needs"
                " it until all existing rows were read"
            )
        )
