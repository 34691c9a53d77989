"""The format of skills: what a frontmatter must have, may have, and should have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from waza.author.check.compliance import LONGEST
from waza.author.check.finding import Finding
from waza.author.check.report import CheckStatus, NamedCheck
from waza.author.check.source import Source
from waza.kit import yaml
from waza.kit.names import nearest_name

LONGEST_NAME = 64  # characters
_LONGEST_COMPATIBILITY = 500  # characters
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

ALLOWED = ("name", "description", "license", "allowed-tools", "metadata", "compatibility", "triggers")
"""The keys of the format of skills, and the one that waza adds."""
# Keys that only certain agents know.
_OF_AGENTS = frozenset(
    {
        *(
            "disable-model-invocation",
            "user-invocable",
            "user-invokable",
            "argument-hint",
            "model",
            "context",
        ),
        *("agent", "hooks", "version", "parameters", "params", "inputs"),
    }
)


def check_format(source: Source) -> Iterator[Finding]:
    """Yield what is wrong with the frontmatter of a skill, and what it could have besides."""
    if not source.has_frontmatter:
        yield source.finding(
            "missing-frontmatter",
            "error",
            "the file has no frontmatter, so that no agent knows its name and when to use it",
            "begin it with a line '---', the keys 'name:' and 'description:', and another line '---'",
        )
        return
    yield from _check_name(source)
    yield from _check_keys(source)
    yield from _check_values(source)
    if not source.text_of("license"):
        message = "the frontmatter has no license"
        yield source.finding("missing-license", "note", message, "add 'license:' before you share the skill")
    if not version_of(source):
        message = "the frontmatter has no version"
        yield source.finding("missing-version", "note", message, "add 'metadata:' with a 'version:'")


def version_of(source: Source) -> str:
    """Return `metadata.version`, or an empty text."""
    metadata = source.meta.entries.get("metadata") if source.meta else None
    node = metadata.entries.get("version") if isinstance(metadata, yaml.Mapping) else None
    return node.text.strip() if isinstance(node, yaml.Scalar) and node.value is not None else ""


def _check_name(source: Source) -> Iterator[Finding]:
    name, place = source.definition.declared_name, source.place_of_value("name")
    folder = source.path.parent.name
    if not name:
        yield source.finding(
            "name-missing", "error", "the frontmatter has no name", f"write 'name: {folder}'", place
        )
        return
    if len(name) > LONGEST_NAME:
        message = f"the name has {len(name)} characters; {LONGEST_NAME} are allowed"
        yield source.finding("name-format", "error", message, "choose a shorter one", place)
    if not NAME.fullmatch(name):
        yield source.finding(
            "name-format",
            "error",
            f"the name {name!r} is not made of lower-case letters, digits and single hyphens between them",
            f"use {suggest_name(name)!r}" if suggest_name(name) else "choose another one",
            place,
        )
    if name != folder:
        message = f"the name is {name!r}, and the directory of the skill {folder!r}"
        yield source.finding("name-mismatch", "error", message, "give both the same name", place)


def suggest_name(name: str) -> str:
    """Return the name of a skill in the form that the format allows, or an empty text."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower())
    return "-".join(words)[:LONGEST_NAME].rstrip("-")


def _check_keys(source: Source) -> Iterator[Finding]:
    for key, node in source.meta.keys.items() if source.meta else ():
        if key in ALLOWED:
            continue
        place = node.line, node.column
        meant = nearest_name(key, ALLOWED)
        if key in _OF_AGENTS:
            message = f"the key {key!r} is not of the format of skills; only some agents heed it"
            yield source.finding("unknown-key", "note", message, "", place)
        elif meant:
            message, remedy = f"unknown key {key!r}", f"did you mean {meant!r}?"
            yield source.finding("unknown-key", "error", message, remedy, place)
        else:
            message = f"unknown key {key!r}, which the format of skills does not allow"
            remedy = "move it below 'metadata:', or remove it"
            yield source.finding("unknown-key", "error", message, remedy, place)


def _check_values(source: Source) -> Iterator[Finding]:
    """Yield values of the wrong kind; what may be a text or a map of texts is accepted as either."""
    entries = source.meta.entries if source.meta else {}
    metadata = entries.get("metadata")
    if metadata is not None and not isinstance(metadata, yaml.Mapping) and not _is_null(metadata):
        remedy = "write keys and values below it, such as 'version: \"1.0\"'"
        yield _value(source, metadata, "metadata: is not a map of texts", remedy)
    compatibility = entries.get("compatibility")
    if compatibility is None:
        return
    remedy = "write a sentence, or a map of texts such as 'python: \">=3.11\"'"
    if isinstance(compatibility, yaml.Mapping):
        for key, node in compatibility.entries.items():
            if not isinstance(node, yaml.Scalar) or not isinstance(node.value, str):
                yield _value(source, node, f"compatibility.{key}: is not a text", "put the value in quotes")
    elif not isinstance(compatibility, yaml.Scalar) or not isinstance(compatibility.value, str):
        yield _value(source, compatibility, "compatibility: is neither a text nor a map of texts", remedy)
    elif len(compatibility.value) > _LONGEST_COMPATIBILITY:
        message = (
            f"compatibility: has {len(compatibility.value)} characters; {_LONGEST_COMPATIBILITY} are allowed"
        )
        yield _value(source, compatibility, message, "move details into the text below the frontmatter")


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.Scalar) and node.value is None


def _value(source: Source, node: yaml.Node, message: str, remedy: str) -> Finding:
    return source.finding("wrong-type", "error", message, remedy, (node.line, node.column))


class _Rule(msgspec.Struct, frozen=True):
    """A named check: what it looks at, the codes of findings that fail it, and what a finding's message begins with."""

    name: str
    summary: str
    codes: tuple[str, ...]
    about: str = ""


_RULES = (
    _Rule(
        "spec-frontmatter",
        "has a frontmatter with name and description",
        ("missing-frontmatter", "skill-definition", "name-missing"),
    ),
    _Rule("spec-allowed-fields", "has only keys of the format", ("unknown-key",)),
    _Rule(
        "spec-name", "has a name of the right form", ("missing-frontmatter", "name-format", "name-missing")
    ),
    _Rule(
        "spec-dir-match",
        "is named like its directory",
        ("missing-frontmatter", "name-mismatch", "name-missing"),
    ),
    _Rule(
        "spec-description", f"has a description of at most {LONGEST:,} characters", ("description-too-long",)
    ),
    _Rule("spec-compatibility", "says what it is compatible with in texts", ("wrong-type",), "compatibility"),
)


CODES = frozenset(code for rule in _RULES for code in rule.codes)
"""The codes of findings that fail one of these checks."""


def name_spec_checks(source: Source, findings: Iterable[Finding]) -> Iterator[NamedCheck]:
    """Yield the eight checks of the format, which pass unless a finding of severity error is about them."""
    errors = [one for one in findings if one.severity == "error" and one.file == source.file]
    described = bool(source.target.description)
    for rule in _RULES:
        against = [
            one.message for one in errors if one.code in rule.codes and one.message.startswith(rule.about)
        ]
        if rule.name == "spec-description" and not described:
            against = ["the description is missing", *against]
        passed = not against
        yield NamedCheck(rule.name, passed, rule.summary, "ok" if passed else "warning", "; ".join(against))
    for name, what, value in (
        ("spec-license", "license", source.text_of("license")),
        ("spec-version", "version", version_of(source)),
    ):
        status: CheckStatus = "optimal" if value else "warning"
        yield NamedCheck(name, True, f"says its {what}", status, value or f"no {what} is given")
