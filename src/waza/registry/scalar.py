"""Values written into people's YAML files: plain where that is safe, in quotes where it is not."""

from __future__ import annotations

import json
import re
from typing import Any

from waza.kit import yaml

# Simple words, refs, digests and commits. What other readers may take for a boolean or a number is quoted.
_PLAIN = re.compile(r"[a-z_][\w./@#+-]*(:[\w./@#+-]+)*|[0-9a-f]{40}", re.ASCII | re.IGNORECASE)
_BOOLEANS = frozenset(("y", "n", "yes", "no", "on", "off"))
# JSON may hold these as they are; YAML may not, or takes them for the end of a line.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def format_scalar(value: Any) -> str:
    """Return a value as YAML on one line: a simple text as it is, everything else as JSON, which is YAML too."""
    simple = isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _BOOLEANS
    if simple and yaml.to_plain(yaml.load(value.encode())) == value:
        return str(value)
    written = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", written)
