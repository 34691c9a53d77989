"""From a prompt template and values to the messages of a chat, so that no value can begin a message.

A message begins at a line like `user:` of the template. The same line inside a value, say of a hostile
agent's response, is text. So every value is put between marks while it is rendered, and a line with
anything of a value in it begins no message. Only a value that is a role and nothing else is not marked:
that is how a template writes a history, with `{{turn.role}}:`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

ROLES = ("system", "user", "assistant")
_UNSUPPORTED = ("function", "tool")

# The author of a value cannot know the marks; without letters, filters such as `upper` leave them alone.
_SECRET = f"{secrets.randbelow(10**18):018}"
_OPEN, _CLOSE = f"\ufdd0{_SECRET}\ufdd1", f"\ufdd1{_SECRET}\ufdd0"
_MARK = re.compile(f"{_OPEN}|{_CLOSE}")

_ROLE_LINE = re.compile(rf"\s*#?\s*({'|'.join(ROLES + _UNSUPPORTED)})\s*:[^\S\n]*\n", re.IGNORECASE)
_IMAGE = re.compile(r"!\[\s*image\s*\]\(\s*\{\{")  # promptflow takes any other reference for text, too


class PromptTemplateError(Exception):
    """A template that cannot be rendered, or is not a chat."""


def render_text(template: str, values: Mapping[str, object]) -> str:
    """Render a template to plain text. Raises PromptTemplateError."""
    return _MARK.sub("", _render_marked(template, values))


def render_messages(template: str, values: Mapping[str, object]) -> list[dict[str, str]]:
    """Render a template to messages, each with `role` and `content`. Raises PromptTemplateError."""
    found: list[tuple[str, list[str]]] = []
    depth = 0  # of values; macros and filters may mark a marked value
    for line in StringIO(_render_marked(template, values)):
        role = _read_role(line) if depth == 0 else None
        depth += line.count(_OPEN) - line.count(_CLOSE)
        if role:
            found.append((role, []))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise PromptTemplateError(
                f"the text {_MARK.sub('', line.strip())[:80]!r} comes before the first message; "
                "begin each with a line of its own: 'system:', 'user:' or 'assistant:'"
            )
    if not found:
        raise PromptTemplateError(
            "it has no message; begin each with a line of its own: 'system:' or 'user:'"
        )
    return [{"role": role, "content": _MARK.sub("", "".join(part)).strip()} for role, part in found]


def find_variables(template: str) -> dict[str, int]:
    """Return the variables that values fill, each with the line (from 1) of its first use. Raises PromptTemplateError.

    Without jinja2 the result is empty.
    """
    try:
        from jinja2 import TemplateError as BadTemplate
        from jinja2 import meta, nodes
    except ImportError:
        return {}
    try:
        tree = _environment().parse(template)
        free = meta.find_undeclared_variables(tree) - _environment().globals.keys()
    except BadTemplate as error:
        raise _template_error(error) from error
    used = [(name.lineno, name.name) for name in tree.find_all(nodes.Name) if name.name in free]
    return {name: line for line, name in sorted(used, reverse=True)}


def _read_role(line: str) -> str | None:
    match = _ROLE_LINE.fullmatch(line)
    role = match[1].lower() if match else None
    if role in _UNSUPPORTED:
        raise PromptTemplateError(f"messages of the role {role!r} are not supported")
    return role


def _render_marked(template: str, values: Mapping[str, object]) -> str:
    if _IMAGE.search(template):
        raise PromptTemplateError("images are not supported")
    try:
        return _environment().from_string(template).render(dict(values))
    except Exception as error:
        raise _template_error(error) from error


def _template_error(error: Exception) -> PromptTemplateError:
    return PromptTemplateError(f"the template cannot be rendered: {type(error).__name__}: {error}")


@cache
def _environment() -> Environment:
    from jinja2 import Environment

    return Environment(
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - a prompt is plain text for a model; escaping would change it
        finalize=_mark_value,
    )


def _mark_value(value: object) -> str:
    """Return a value as text between marks."""
    text = str(value)
    return text if not text or text.lower() in ROLES else f"{_OPEN}{text}{_CLOSE}"
