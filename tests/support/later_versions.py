"""Things that a later version of binarrow has stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from binarrow import LaterVersionError

LATER = 97
"""A version that does not exist yet."""


def check_refused(read: Callable[[], object], known: int) -> None:
    """Checks that the error is one line with both versions and the remedy."""
    with pytest.raises(LaterVersionError) as caught:
        read()
    text = str(caught.value)
    assert text.count("format version") == 1
    assert text.endswith(
        f" has the format version {LATER}, and this binarrow reads versions up to {known}:"
        " install the version of binarrow that wrote it, or a later one"
    )
    assert "\n" not in text


def with_field(text: str | bytes, key: str, value: object) -> str:
    """Returns JSON with another value of a field; without the field if it is None."""
    fields = {name: other for name, other in json.loads(text).items() if name != key}
    return json.dumps(fields if value is None else {key: value, **fields})


def set_field(file: Path, key: str, value: object) -> None:
    """Changes a field of a file of JSON, or removes it if the value is None."""
    file.write_text(with_field(file.read_bytes(), key, value))


def content_of(folder: Path) -> dict[str, bytes]:
    """Returns the files in a folder with their contents."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
