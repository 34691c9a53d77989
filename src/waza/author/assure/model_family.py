"""Which family a model is of, by its name: models of one family make the same mistakes, and like what they wrote themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "GPT": ("gpt", "chatgpt", "codex", "o1", "o3", "o4"),
    "Claude": ("claude",),
    "Gemini": ("gemini", "gemma"),
    "Llama": ("llama", "codellama"),
    "Mistral": ("mistral", "mixtral", "codestral", "ministral", "magistral", "devstral", "pixtral"),
    "Qwen": ("qwen", "qwq"),
    "DeepSeek": ("deepseek",),
    "Grok": ("grok",),
    "Phi": ("phi",),
    "Command": ("command", "aya"),
    "Nova": ("nova",),
    "Kimi": ("kimi",),
    "GLM": ("glm", "chatglm"),
}
_OF_WORD = {word: family for family, words in _FAMILIES.items() for word in words}
_WORDS = re.compile(r"[a-z0-9]+")
_VERSION = re.compile(r"(?<=[a-z])[0-9]+[a-z]?$")


def find_family(model: str) -> str:
    """Return the family of a model, such as `GPT` for `azure/gpt-5-mini`; of an unknown one its name."""
    for word in _WORDS.findall(model.lower()):
        family = _OF_WORD.get(word) or _OF_WORD.get(_VERSION.sub("", word))
        if family:
            return family
    return model
