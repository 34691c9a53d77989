"""Texts in telemetry: redacted as they are, or their digests and lengths."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec

from waza.kit.text import replace_surrogates

Attributes = dict[str, str | int | float | bool]
_LONGEST_REASON = 1000  # characters of an error

# For each kind of text: the attribute of the conventions, that of the older ones, and how ours begin.
_NAMES = {
    "prompt": ("gen_ai.input.messages", "gen_ai.prompt"),
    "completion": ("gen_ai.output.messages", "gen_ai.completion"),
    "tool.arguments": ("gen_ai.tool.call.arguments", "gen_ai.tool.arguments"),
    "tool.result": ("gen_ai.tool.call.result", "gen_ai.tool.result"),
}
_ROLES = {"prompt": "user", "completion": "assistant"}


class Payloads:
    """Makes attributes of texts of one run; secrets are removed from all of them."""

    def __init__(self, redact: Callable[[Any], Any], *, included: bool, compat: bool) -> None:
        self._redact, self._included, self._compat = redact, included, compat

    def name(self, text: str) -> str:
        """Return a name, such as that of a task, as it may be shown."""
        return replace_surrogates(str(self._redact(text)))

    def reason(self, text: str) -> str:
        """Return why something failed, as it may be shown."""
        return self.name(text)[:_LONGEST_REASON]

    def explanation(self, text: str) -> Attributes:
        """Return the explanation of an evaluation, which quotes the answer and so is a payload."""
        return {"gen_ai.evaluation.explanation": self.name(text)} if self._included and text else {}

    def attributes(self, kind: str, value: Any, *, finish: str = "stop") -> Attributes:
        """Return the attributes of a text, or of data; `kind` is such as `prompt`, `tool.result` or `hook.output`.

        `finish` is how an answer ended. Without payloads these are the SHA-256 in hexadecimal and the length in bytes of its UTF-8, redacted.
        """
        if value is None or value == "":
            return {}
        clean = self._redact(msgspec.to_builtins(value))
        text = replace_surrogates(clean if isinstance(clean, str) else msgspec.json.encode(clean).decode())
        if not self._included:
            data = text.encode()
            return {f"waza.{kind}.sha256": sha256(data).hexdigest(), f"waza.{kind}.length": len(data)}
        if kind not in _NAMES:
            return {f"waza.{kind}": text}
        name, older = _NAMES[kind]
        whole = _message(_ROLES[kind], text, finish) if kind in _ROLES else text
        return {name: whole, **({older: text} if self._compat else {})}


def _message(role: str, text: str, finish: str) -> str:
    """Return a message in the form of the conventions, as JSON."""
    message: dict[str, Any] = {"role": role, "parts": [{"type": "text", "content": text}]}
    if role == "assistant":
        message["finish_reason"] = finish
    return msgspec.json.encode([message]).decode()
