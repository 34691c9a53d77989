"""Lines of JSON that carry a checksum, so that a line that was damaged on the disk is never taken for a record.

::

    {"trial": {...},"sum":"9f3a1c2b"}

The checksum (CRC-32) is over all before it. It guards against accidents, not against people.
"""

from __future__ import annotations

import zlib

import msgspec

_BEFORE, _AFTER = b',"sum":"', b'"}'
_LENGTH = len(_BEFORE) + 8 + len(_AFTER)
_encoder = msgspec.json.Encoder(enc_hook=str)


def with_checksum(value: msgspec.Struct) -> bytes:
    """Return a struct as a line with its checksum; at least one of its fields must be set."""
    body = _encoder.encode(value)[:-1]
    return body + _BEFORE + f"{zlib.crc32(body):08x}".encode() + _AFTER


def checksum_matches(line: bytes) -> bool:
    """Tell whether a line is as `with_checksum` wrote it."""
    body, end = line[:-_LENGTH], line[-_LENGTH:]
    return end == _BEFORE + f"{zlib.crc32(body):08x}".encode() + _AFTER
