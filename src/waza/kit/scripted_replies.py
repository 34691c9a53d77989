"""Replies of a model from a file, for trying out without one what asks a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import WazaError
from waza.kit import json_nodes, yaml

SCRIPT_PREFIX = "mock:"
"""What comes before the file where an option names it."""


class ScriptedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reply of a script, for questions that hold the text `match`."""

    reply: str | dict[str, Any]
    match: str = ""


def read_replies(file: Path) -> list[ScriptedReply]:
    """Return the replies of a script in JSON or YAML. Raises WazaError if it cannot be read, or is not valid."""
    try:
        data = file.read_bytes()
        node = json_nodes.load(data) if file.suffix == ".json" else yaml.load(data)
        return msgspec.convert(yaml.to_plain(node), list[ScriptedReply])
    except OSError as error:
        raise WazaError(f"the judge's script {file} cannot be read: {error.strerror or error}") from error
    except (yaml.YamlError, json_nodes.JsonError, msgspec.ValidationError) as error:
        hint = "it is a list of entries with 'reply' and perhaps 'match'"
        raise WazaError(f"the judge's script {file} is not valid: {error}; {hint}") from error


def find_reply(script: Sequence[ScriptedReply], question: str) -> str | None:
    """Return the reply of the first entry whose `match` is in the question; None if no entry fits."""
    for entry in script:
        if entry.match in question:
            return entry.reply if isinstance(entry.reply, str) else json.dumps(entry.reply)
    return None
