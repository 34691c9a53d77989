"""Variables in prompts and commands: `{{.Vars.key}}`, `{{.TaskName}}` and their like.

One rule everywhere: only exact references are replaced. These are

* `{{.Vars.key}}` with any key that holds no blanks, braces or `|`; `{{index .Vars "any key"}}` for the others;
* `{{.JobID}}`, `{{.TaskName}}`, `{{.Iteration}}`, `{{.Attempt}}`, `{{.Timestamp}}`;
* `{{"{{"}}`, where asked for: two braces that begin no reference, for texts that must hold one;
* the same with blanks inside the braces, and with trim marks: `{{- .Vars.key -}}` takes the blanks and line
  ends around it away.

Every other brace stays byte for byte, so text for Jinja, Helm or GitHub Actions survives. A value goes
in as it is: it is never rendered again and never escaped (in code, `code_template` does that).

Variables are named as in the template, without the leading dot: `Vars.key`, `TaskName`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from waza.errors import WazaError
from waza.kit.names import nearest_name
from waza.problem import Severity

_BLANKS = " \t\r\n"
_VARIABLE = r"""
    \.Vars\.(?P<key>[^\s{}|]++)
  | index[ \t\r\n]++\.Vars[ \t\r\n]++(?:"(?P<quoted>[^"\\\n]*+)"|`(?P<raw>[^`\n]*+)`)
  | \.(?P<name>JobID|TaskName|Iteration|Attempt|Timestamp)(?![\w.])
"""
BRACES = re.compile(r"\{\{[ \t\r\n]*+(?:\"\{\{\"|`\{\{`)[ \t\r\n]*+\}\}")
# Repetitions are possessive (`++`), so each of these patterns takes one pass.
_REFERENCE = re.compile(
    rf"\{{\{{(?:(?P<left>-)[ \t\r\n]++|[ \t\r\n]*+)(?:{_VARIABLE})(?:[ \t\r\n]++(?P<right>-)|[ \t\r\n]*+)\}}\}}",
    re.VERBOSE,
)
_ACTION = re.compile(r"\{\{[^{}]*+\}\}")
_MENTION = re.compile(rf"(?<![\w.])(?:{_VARIABLE})", re.VERBOSE)


class TemplateError(WazaError):
    """A template names a variable that does not exist."""


class TemplateMistake(NamedTuple):
    """One reference that will not do what its author expects.

    `offset` counts characters from the start of the text. `nearest` is the known name most like
    `name`, or empty. An "error" is a variable that does not exist; a "warning" is a known variable
    inside a template action that is not evaluated, such as `{{if .Vars.x}}`.
    """

    name: str
    offset: int
    nearest: str
    severity: Severity

    @property
    def message(self) -> str:
        """The sentence for people."""
        if self.severity == "warning":
            return (
                f"`{self.name}` is used inside a template action that is not evaluated; the action stays as "
                f"written, only references such as {_format_reference(self.name)} are replaced"
            )
        hint = f"; did you mean `{self.nearest}`?" if self.nearest else ""
        return f"there is no variable `{self.name}`{hint}"


class Reference(NamedTuple):
    """An exact reference: the name of its variable, how it is written, and where it starts in the text."""

    name: str
    text: str
    offset: int


def render(text: str, variables: Mapping[str, str]) -> str:
    """Return the text with every exact reference replaced by its value from `variables`.

    Raises TemplateError if a reference names a variable that is not there.
    """
    if "{{" not in text:
        return text
    return "".join(part if isinstance(part, str) else _value(part, variables) for part in _parts(text))


@lru_cache(maxsize=256)
def _parts(text: str) -> tuple[str | Reference, ...]:
    """Return a text split at its references; the texts of a script are rendered for each task."""
    return tuple(split_references(text))


def split_references(text: str) -> Iterator[str | Reference]:
    """Yield the text in order: what stays as it is, and the references; trim marks are applied."""
    at, trim = 0, False
    for found in _REFERENCE.finditer(text):
        yield _between(text[at : found.start()], trim, found["left"] is not None)
        yield Reference(_name(found), found[0], found.start())
        at, trim = found.end(), found["right"] is not None
    yield _between(text[at:], trim, False)


def fill(value: Any, variables: Mapping[str, str]) -> Any:
    """Return a text rendered, or a struct, list or mapping with all its texts rendered; keys stay.

    `{{"{{"}}` becomes two braces. Raises TemplateError as `render` does.
    """
    if isinstance(value, str):
        return "{{".join(render(part, variables) for part in BRACES.split(value)) if "{{" in value else value
    if isinstance(value, dict):
        return {key: fill(item, variables) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(fill(item, variables) for item in value)
    if isinstance(value, msgspec.Struct):
        filled = {}
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if item and (new := fill(item, variables)) is not item:  # most fields are empty
                filled[name] = new
        return msgspec.structs.replace(value, **filled) if filled else value
    return value


def quote(text: str, opening: str) -> str:
    """Return a text that a template renders as this one: `opening` takes the place of the braces that begin a reference.

    It is what renders as two braces: `{{"{{"}}` where that is asked for, else a reference to a variable that
    holds them. What `fill` would take for `{{"{{"}}` is quoted, too.
    """
    starts = [found.start() for pattern in (_REFERENCE, BRACES) for found in pattern.finditer(text)]
    for at in sorted(starts, reverse=True):
        text = text[:at] + opening + text[at + 2 :]
    return text


def has_references(value: Any) -> bool:
    """Tell whether `fill` would change any text of a value."""
    if isinstance(value, str):
        return "{{" in value and bool(_REFERENCE.search(value) or BRACES.search(value))
    if isinstance(value, dict):
        return any(map(has_references, value.values()))
    return isinstance(value, list | tuple) and any(map(has_references, value))


def find_mistakes(text: str, known: Collection[str]) -> list[TemplateMistake]:
    """Return what is wrong with the references of a text, in the order of the text.

    `known` are the names that will be there when the text is rendered.
    """
    if "{{" not in text:
        return []
    mistakes = [*_unknown(text, known), *_unevaluated(text, known)]
    return sorted(mistakes, key=lambda mistake: mistake.offset)


def _between(text: str, trim_left: bool, trim_right: bool) -> str:
    text = text.lstrip(_BLANKS) if trim_left else text
    return text.rstrip(_BLANKS) if trim_right else text


def _value(reference: Reference, variables: Mapping[str, str]) -> str:
    name = reference.name
    try:
        return variables[name]
    except KeyError:
        mistake = TemplateMistake(name, reference.offset, _nearest(name, variables), "error")
        raise TemplateError(f"{reference.text}: {mistake.message}") from None


def _name(mention: re.Match[str]) -> str:
    if mention["name"] is not None:
        return mention["name"]
    keys = (mention["key"], mention["quoted"], mention["raw"])
    return "Vars." + next(key for key in keys if key is not None)


def _unknown(text: str, known: Collection[str]) -> Iterator[TemplateMistake]:
    for reference in _REFERENCE.finditer(text):
        name = _name(reference)
        if name not in known:
            yield TemplateMistake(name, reference.start(), _nearest(name, known), "error")


def _unevaluated(text: str, known: Collection[str]) -> Iterator[TemplateMistake]:
    for action in _ACTION.finditer(text):
        if _REFERENCE.fullmatch(action[0]):
            continue
        for mention in _MENTION.finditer(action[0]):
            name = _name(mention)
            if name in known:
                yield TemplateMistake(name, action.start(), "", "warning")


def _nearest(name: str, known: Collection[str]) -> str:
    kind = "Vars." if name.startswith("Vars.") else ""
    keys = [other.removeprefix(kind) for other in known if other.startswith(kind)]
    nearest = nearest_name(name.removeprefix(kind), keys)
    return kind + nearest if nearest else ""


def _format_reference(name: str) -> str:
    key = name.removeprefix("Vars.")
    if key != name and re.search(r"[\s{}|]", key):
        return f'{{{{index .Vars "{key}"}}}}'
    return f"{{{{.{name}}}}}"
