"""The hash of rows in a certificate of an initial load, written from its description (`src/load/row_hash.rs`) alone."""

from __future__ import annotations

import struct

import pyarrow as pa

MASK = (1 << 64) - 1
C1, C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def hash_of_rows(table: pa.Table) -> int:
    """Returns the sum of the hashes of all rows."""
    columns = [_cells(column.combine_chunks()) for column in table.columns]
    return sum(murmur3(b"".join(row)) for row in zip(*columns, strict=True)) % 2**128


def _cells(column: pa.Array) -> list[bytes]:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return _cells(column.storage)
    if pa.types.is_dictionary(kind):
        return _cells(column.dictionary_decode())
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    return [b"\0" if value is None else b"\1" + _bytes(value, kind) for value in column.to_pylist()]


def _bytes(value: object, kind: pa.DataType) -> bytes:
    match value:
        case bool():
            return bytes([value])
        case int():
            return (value % 2**64).to_bytes(8, "little")
        case float():
            return struct.pack("<f" if pa.types.is_float32(kind) else "<d", value)
        case str():
            return struct.pack("<I", len(value.encode())) + value.encode()
        case bytes():
            return struct.pack("<I", len(value)) + value
        case _:
            number = int(value.scaleb(kind.scale))  # type: ignore[attr-defined]
            return number.to_bytes(16, "little", signed=True)


def murmur3(data: bytes) -> int:
    """MurmurHash3, x64, 128 bits, seed 0."""
    h1 = h2 = 0
    blocks = len(data) // 16 * 16
    for start in range(0, blocks, 16):
        k1, k2 = struct.unpack_from("<QQ", data, start)
        h1 ^= _first(k1)
        h1 = (_rotated(h1, 27) + h2) * 5 + 0x52DCE729 & MASK
        h2 ^= _second(k2)
        h2 = (_rotated(h2, 31) + h1) * 5 + 0x38495AB5 & MASK
    k1, k2 = struct.unpack("<QQ", data[blocks:].ljust(16, b"\0"))
    h1 ^= _first(k1) ^ len(data)
    h2 ^= _second(k2) ^ len(data)
    h1 = h1 + h2 & MASK
    h2 = h1 + h2 & MASK
    h1, h2 = _mixed(h1), _mixed(h2)
    h1 = h1 + h2 & MASK
    h2 = h1 + h2 & MASK
    return h2 << 64 | h1


def _first(k: int) -> int:
    return _rotated(k * C1 & MASK, 31) * C2 & MASK


def _second(k: int) -> int:
    return _rotated(k * C2 & MASK, 33) * C1 & MASK


def _rotated(k: int, bits: int) -> int:
    return (k << bits | k >> (64 - bits)) & MASK


def _mixed(k: int) -> int:
    k ^= k >> 33
    k = k * 0xFF51AFD7ED558CCD & MASK
    k ^= k >> 33
    k = k * 0xC4CEB9FE1A85EC53 & MASK
    return k ^ k >> 33
