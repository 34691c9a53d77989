r"""How objects of results are named, and how labels are written where only ASCII can be.

`{skill}/{run id}.json`, in each part `_` for `/`, `\`, `:` and blanks, is the layout of the reference program. Labels are
header texts: one that is not plain ASCII is written as `UTF-8''...` (RFC 8187), so that plain ones stay as the reference
program writes them and every text comes back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import quote, unquote

SUFFIX = ".json"
_LONGEST = 200  # bytes of a part; file systems allow 255, and what is behind it needs some
_UNFIT = re.compile(r"[/\\: \x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_ENCODED = "UTF-8''"
_PLAIN = re.compile(r"[!-~]([ -~]*[!-~])?")  # blanks at the ends of a header get lost
_SAFE = "!#$&+^`|~"  # besides letters, digits and _.-: the attr-char of RFC 8187


def name_part(text: str) -> str:
    """Return a text as a part of a name. One that is too long is cut and gets a digest."""
    part = _UNFIT.sub("_", text)
    if not part.strip("."):
        part = "_" * len(part)
    data = part.encode("utf-8", "replace")
    if len(data) > _LONGEST:
        digest = sha256(data).hexdigest()[:12]
        data = data[: _LONGEST - 13].decode("utf-8", "ignore").encode() + b"-" + digest.encode()
    return data.decode()


def file_name(run_id: str) -> str:
    """Return the name of the results file of a run, without a folder."""
    return f"{name_part(run_id)}{SUFFIX}"


def object_name(skill: str, run_id: str) -> str:
    """Return the name of the results of a run."""
    return folder_name(skill) + file_name(run_id)


def folder_name(skill: str) -> str:
    """Return what the names of all results of a skill begin with."""
    return f"{name_part(skill) or '_'}/"


def encode_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels as header texts; empty ones are left out, since not every server keeps them."""
    return {key: _encode(value) for key, value in labels.items() if value}


def decode_labels(headers: Mapping[str, str]) -> dict[str, str]:
    """Return labels from header texts, with lower-case keys."""
    return {key.lower(): _decode(value) for key, value in headers.items()}


def _encode(value: str) -> str:
    if _PLAIN.fullmatch(value) and not value.startswith(_ENCODED):
        return value
    return _ENCODED + quote(value, safe=_SAFE, errors="replace")


def _decode(value: str) -> str:
    return unquote(value.removeprefix(_ENCODED)) if value.startswith(_ENCODED) else value
