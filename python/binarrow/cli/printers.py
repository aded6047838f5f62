"""Print changes, and items that are not rows, as lines on standard output."""

from __future__ import annotations

import sys
import time
from datetime import tzinfo
from typing import Protocol

from binarrow import ChangeBatch, Server
from binarrow.cli.change_lines import changes_of, head, json_line, key_of, text_line
from binarrow.cli.found_lines import FoundChange
from binarrow.cli.marker_lines import Marker, json_marker, text_marker
from binarrow.cli.output import Screen

WIDTH = 80
"""The width of wrapped lines if the output is not a terminal."""


class Printer(Protocol):
    """The format of a command's output."""

    def begin(self) -> None:
        """Prints what precedes the first change, once."""

    def print_batch(self, batch: ChangeBatch) -> None:
        """Prints the changes of a batch."""

    def print_marker(self, marker: Marker) -> None:
        """Prints an item that is not a row."""


class JsonPrinter:
    """One JSON object per change, with its lag."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone

    def begin(self) -> None:
        """Does nothing: JSON has no header line."""

    def print_batch(self, batch: ChangeBatch) -> None:
        """Prints a line for each change."""
        now = time.time_ns() // 1000
        table = f"{batch.database}.{batch.table}"
        sys.stdout.writelines(
            f"{json_line(table, change, now, self._zone)}\n" for change in changes_of(batch)
        )

    def print_marker(self, marker: Marker) -> None:
        """Prints a line for a marker."""
        sys.stdout.write(f"{json_marker(marker, time.time_ns() // 1000, self._zone)}\n")


class TextPrinter:
    """One line per change, cut at the width of the terminal."""

    def __init__(self, server: Server, zone: tzinfo | None) -> None:
        major = server.version.partition(".")[0]
        self._in_seconds = server.flavor == "mariadb" or major == "5"
        self._screen = Screen.of_stdout()
        self._zone = zone
        self._has_header = False

    def begin(self) -> None:
        """Prints the header line, once."""
        if not self._has_header:
            line = self._screen.fitted(head(self._zone))
            print(self._screen.styled(line, "bold"), flush=True)
        self._has_header = True

    def print_batch(self, batch: ChangeBatch) -> None:
        """Prints a line for each change."""
        now = time.time_ns() // 1000
        table, key = f"{batch.database}.{batch.table}", key_of(batch)
        for change in changes_of(batch):
            line = text_line(table, change, now, key, self._zone, in_seconds=self._in_seconds)
            sys.stdout.write(f"{self._screen.fitted(line)}\n")

    def print_marker(self, marker: Marker) -> None:
        """Prints a line for a marker."""
        now = time.time_ns() // 1000
        line = text_marker(marker, now, self._zone, in_seconds=self._in_seconds)
        sys.stdout.write(f"{self._screen.fitted(line)}\n")


class FoundPrinter:
    """A few lines or one JSON object per change, with its transaction and its place."""

    def __init__(self, zone: tzinfo | None, *, is_json: bool) -> None:
        self._zone = zone
        self._is_json = is_json
        self._width = Screen.of_stdout().width or WIDTH

    def begin(self) -> None:
        """Does nothing: there is no header line."""

    def print_batch(self, batch: ChangeBatch) -> None:
        """Prints each change."""
        for each in changes_of(batch):
            change = FoundChange(f"{batch.database}.{batch.table}", each, self._zone)
            text = change.json(None) if self._is_json else change.text(self._width)
            sys.stdout.write(f"{text}\n")

    def print_marker(self, marker: Marker) -> None:
        """Prints a line for a marker."""
        now = time.time_ns() // 1000
        if self._is_json:
            line = json_marker(marker, now, self._zone)
        else:
            line = text_marker(marker, now, self._zone, in_seconds=True)
        sys.stdout.write(f"{line}\n")


__all__ = ["WIDTH", "FoundPrinter", "JsonPrinter", "Printer", "TextPrinter"]
