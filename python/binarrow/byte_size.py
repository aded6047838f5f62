"""Parses sizes such as ``64m``, ``1g`` and ``65536``."""

import re

from binarrow._native import ConfigError

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"\s*(\d+)\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)


def parse_byte_size(size: int | str) -> int:
    """Returns the number of bytes of a size; ``k``, ``m``, ``g`` are powers of 1024."""
    match = _SIZE.fullmatch(str(size))
    if match is None or int(match[1]) == 0:
        raise ConfigError(f"{size!r} is not a size in bytes; write it as 64m, 1g or 65536")
    return int(match[1]) * _UNITS[match[2].lower()]
