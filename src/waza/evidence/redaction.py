"""Redaction policies: a file of rules for what snapshots, logs and artifacts must not hold (`--redact`)."""

from __future__ import annotations

from pathlib import Path

from waza.errors import SuiteError
from waza.kit.credentials import FULL_SHAPES, LABELLED, SHAPES
from waza.kit.decode import Decoder, Document
from waza.kit.pattern import PatternError, compile_pattern
from waza.kit.redact import DEFAULT_POLICY, KEY_DENY_LIST, RedactionPolicy
from waza.model.base import Keys, NonBlank
from waza.problem import Problem
from waza.suite.read import at, read_document


class PolicyRule(Keys, frozen=True, kw_only=True):
    """A rule of a policy: what its pattern matches is replaced."""

    name: NonBlank
    """The name of the rule in snapshots."""
    pattern: NonBlank
    """A pattern in RE2 syntax; of several matches at one place, the longest counts."""


class PolicyFile(Keys, frozen=True, kw_only=True):
    """The keys of a redaction policy."""

    extend: bool = True
    """False: the rules and keys of this file replace those of waza for long hex words, `basic` headers, mail addresses
    and secret names."""
    rules: list[PolicyRule] = []
    """What is redacted by its form."""
    envKeyDenyList: list[NonBlank] = []  # noqa: N815  # the file format's own spelling
    """Parts of names, in any case, whose values are redacted as a whole."""


def read_policy(path: Path) -> RedactionPolicy:
    """Read a redaction policy, YAML or JSON. Raises SuiteError with all mistakes in it."""
    document = read_document(path, "redaction policy")
    if isinstance(document, Problem):
        raise SuiteError([document])
    decoder = Decoder(document)
    file, document = decoder.read_partial(PolicyFile)
    problems = [*decoder.problems, *(_mistakes(document, file) if file else ())]
    if problems or file is None:
        raise SuiteError(problems)
    own = {rule.name: rule.pattern for rule in file.rules}
    keys = tuple(part.upper() for part in file.envKeyDenyList)
    if not file.extend:
        return RedactionPolicy(label="custom", rules=own, secret_keys=keys)
    if not (own or keys):
        return DEFAULT_POLICY
    return RedactionPolicy(
        label="default+custom", rules={**FULL_SHAPES, **own}, secret_keys=(*KEY_DENY_LIST, *keys)
    )


def _mistakes(document: Document, file: PolicyFile) -> list[Problem]:
    problems, taken = list[Problem](), {*SHAPES, *LABELLED, *FULL_SHAPES, "known_value"}
    if not (file.extend or file.rules or file.envKeyDenyList or document.error_paths):
        node = at(document, "extend")
        message = "without rules of its own, this policy would take those of waza away and add none"
        problems.append(
            document.problem("empty-check", node, ("extend",), message, "add rules, or remove extend")
        )
    for index, rule in enumerate(file.rules):
        if rule.name in taken:
            path = ("rules", index, "name")
            problems.append(
                document.problem(
                    "duplicate-name", at(document, *path), path, f"there is a rule {rule.name!r} already"
                )
            )
        taken.add(rule.name)
        if rule.pattern and (why := _fault(rule.pattern)):
            path = ("rules", index, "pattern")
            problems.append(document.problem("invalid-value", at(document, *path), path, why))
    return problems


def _fault(pattern: str) -> str:
    try:
        compiled = compile_pattern(pattern)
    except PatternError as error:
        return str(error)
    return (
        "this pattern matches an empty text, so it would find something everywhere"
        if compiled.search("")
        else ""
    )
