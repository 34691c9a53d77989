"""Canonical JSON: one text for one value, so that equal values have equal digests.

The text is what Python's `json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))` returns, in
UTF-8: no blanks, keys sorted by code points, whole numbers as digits, other numbers as the shortest decimal that is
read back as the same double.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec


def plain_json(value: Any) -> Any:
    """Return structs and what they hold as JSON data: dicts, lists, texts, numbers. Numbers that are not finite are null."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))


def canonical_json(value: Any) -> bytes:
    """Return JSON data as canonical JSON. Raises ValueError for numbers that are not finite, and half characters."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def json_digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a value, in lower-case hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
