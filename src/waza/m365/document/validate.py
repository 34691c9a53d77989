"""The rules of an evaluation document beyond types: versions, kinds of items, evaluators, scores, summaries."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from waza.kit import yaml
from waza.kit.decode import Document, KeyPath, fields_of
from waza.kit.names import nearest_name
from waza.m365.document.check import SIMILAR, Checker, check_all
from waza.m365.document.model import DocumentFile, DocumentTurn, Thread
from waza.m365.document.objects import DocumentObject
from waza.m365.document.options import BUILT_IN, CITATION_FORMATS, CustomOptions, name_conflict
from waza.m365.document.scores import SCORES, ErroredScore
from waza.m365.document.version import SCHEMA_VERSION, version_problem
from waza.problem import Problem

_EVALUATOR_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
_VERSIONED: dict[str, yaml.Node] = {"schemaVersion": yaml.Scalar(SCHEMA_VERSION, SCHEMA_VERSION, 0, 0)}


def validate(document: Document) -> list[Problem]:
    """Return what is wrong with a document by the current schema, in the order of the file.

    A document without errors is valid; warnings name what will not work. Evaluator folders are not looked for.
    """
    checker = _Validator(document)
    checker.check_document()
    return sorted(checker.problems, key=lambda problem: (problem.line, problem.column))


def validate_evaluators(document: Document) -> list[Problem]:
    """Return what is wrong with evaluators and their options; the root maps the ones to the others, as in items."""
    checker = _Validator(document)
    checker.check_evaluators(document.root)
    return checker.problems


class _Validator(Checker):
    """The rules of evaluation documents."""

    def __init__(self, document: Document) -> None:
        rules = {
            "version": self._version,
            "date": self._date,
            "item": self._item,
            "evaluators": self._evaluators,
            "citation_format": self._citation_format,
            "scores": self._scores,
            "summary": self._summary,
        }
        super().__init__(document, rules)

    def check_document(self) -> None:
        """Check the whole document."""
        node, upgrade = self.document.root, f"run `waza m365 upgrade {self.document.file}`"
        if isinstance(node, yaml.Sequence) and not self._are_objects(node):
            return
        if form := older_form(node):
            self.report(
                node, (), f"this is {form}, an older form of the document", upgrade, code="older-form"
            )
        elif isinstance(node, yaml.Mapping) and "schemaVersion" not in node.entries:
            meant = nearest_name("schemaVersion", node.entries.keys() - {"$schema"}, SIMILAR)
            advice = f'write "schemaVersion": "{SCHEMA_VERSION}"' if meant else upgrade
            self.report(node, (), "'schemaVersion' is missing", advice, code="missing-key")
            versioned = yaml.Mapping(_VERSIONED | node.entries, node.keys, node.line, node.column)
            self.check_object(DocumentFile, versioned, ())
        else:
            self.check_object(DocumentFile, node, ())
        if isinstance(node, yaml.Mapping):
            self._top(node)

    def check_evaluators(self, node: yaml.Node) -> bool:
        """Check evaluators outside of a document."""
        return self._evaluators(None, node, ())

    def _are_objects(self, prompts: yaml.Sequence) -> bool:
        """Check that an upgrade could convert every prompt."""
        if not prompts.items:
            return self.report(prompts, (), "is empty, but must have at least one entry")
        example = 'an object such as {"prompt": "Where is Lima?"}'
        return check_all(
            isinstance(one, yaml.Mapping) or self.report_mismatch(one, (i,), example)
            for i, one in enumerate(prompts.items)
        )

    def _top(self, node: yaml.Mapping) -> None:
        """Warn of keys at the top that are surely typing mistakes; others are legal there, and ignored."""
        known = [field.key for field in fields_of(DocumentFile)]
        missing = [field.key for field in fields_of(DocumentFile) if field.required]
        for key in node.entries.keys() - known:
            meant = nearest_name(key, known, SIMILAR)
            surely = meant and (meant in node.entries or meant not in missing)
            hint = DocumentFile.advice.get(key) or (f"did you mean {meant!r}?" if surely else "")
            if hint:
                self.report(
                    node.keys[key],
                    (key,),
                    f"unknown key {key!r}, ignored",
                    hint,
                    "warning",
                    code="unknown-key",
                )

    def _version(self, wanted: Any, node: yaml.Node, path: KeyPath) -> bool:
        del wanted
        if not (isinstance(node, yaml.Scalar) and isinstance(node.value, str)):
            return self.report_mismatch(node, path, f'a text such as "{SCHEMA_VERSION}"')
        why = version_problem(node.value)
        return self.report(node, path, *why, code="version") if why else True

    def _date(self, wanted: Any, node: yaml.Node, path: KeyPath) -> bool:
        if not self.check_value(wanted, node, path):
            return False
        try:
            datetime.fromisoformat(_text(node))
        except ValueError:
            message = f"{_text(node)[:60]!r} is not a date of ISO 8601, such as 2026-01-20T10:00:00Z"
            return self.report(node, path, message, severity="warning")
        return True

    def _item(self, wanted: Any, node: yaml.Node, path: KeyPath) -> bool:
        del wanted
        if not isinstance(node, yaml.Mapping):
            return self.report_mismatch(node, path, "an object with 'prompt' or 'turns'")
        if "prompt" in node.entries and "turns" in node.entries:
            advice = "keep 'prompt' for a single question, 'turns' for a conversation"
            return self.report(node, path, "has both 'prompt' and 'turns'", advice, code="conflicting-keys")
        if is_thread(node):
            return self.check_object(Thread, node, path)
        if nearest_name("prompt", node.entries, SIMILAR):
            return self.check_object(DocumentTurn, node, path)
        advice = "write 'prompt' for a single question, 'turns' for a conversation"
        return self.report(node, path, "has neither 'prompt' nor 'turns'", advice, code="missing-key")

    def _evaluators(self, wanted: Any, node: yaml.Node, path: KeyPath) -> bool:
        del wanted
        if not isinstance(node, yaml.Mapping):
            return self.report_mismatch(node, path, 'an object such as {"Relevance": {}}')
        return check_all(self._evaluator(node, name, (*path, name)) for name in node.entries)

    def _evaluator(self, node: yaml.Mapping, name: str, path: KeyPath) -> bool:
        key, options = node.keys[name], node.entries[name]
        if not _EVALUATOR_NAME.fullmatch(name):
            advice = "it starts with a letter; letters, digits and underscores follow"
            return self.report(
                key, path, f"{name!r} cannot be the name of an evaluator", advice, code="evaluator-name"
            )
        if not isinstance(options, yaml.Mapping):
            return self.report_mismatch(options, path, "an object", "write {} for the defaults")
        if taken := name_conflict(name):
            self.report(key, path, taken.message, taken.hint, "warning", code="evaluator-name")
        right = self.check_object(BUILT_IN.get(name, CustomOptions), options, path)
        checks = {"expected_items", "min_expected_count"}
        if right and name == "RetrievalResult" and not checks & options.entries.keys():
            return self.report(
                options,
                path,
                "checks nothing",
                "set 'expected_items', 'min_expected_count' or both",
                code="empty-check",
            )
        return right

    def _citation_format(self, wanted: Any, node: yaml.Node, path: KeyPath) -> bool:
        if not self.check_value(wanted, node, path):
            return False
        if _text(node) not in CITATION_FORMATS:
            message = f"{_text(node)[:60]!r} is not a known format, and is read as {CITATION_FORMATS[0]!r}"
            self.report(node, path, message, f"known: {', '.join(CITATION_FORMATS)}", "warning")
        return True

    def _scores(self, wanted: Any, node: yaml.Node, path: KeyPath) -> bool:
        del wanted
        if not isinstance(node, yaml.Mapping):
            return self.report_mismatch(node, path, 'an object such as {"relevance": {...}}')
        own = [key for key in node.entries if key in SCORES]  # the entries of custom evaluators are free
        return check_all(self._score(SCORES[key], node.entries[key], (*path, key)) for key in own)

    def _score(self, wanted: type[DocumentObject], node: yaml.Node, path: KeyPath) -> bool:
        if not isinstance(node, yaml.Mapping):
            return self.check_object(wanted, node, path)
        result = node.entries.get("result")
        value = result.value if isinstance(result, yaml.Scalar) else None
        if value == "error" or (result is None and "error" in node.entries):
            return self._errored(node, path)
        if result is not None and value not in ("pass", "fail"):
            return self.report_choice(result, (*path, "result"), ("pass", "fail", "error"))
        return self.check_object(wanted, node, path)

    def _errored(self, node: yaml.Mapping, path: KeyPath) -> bool:
        others = [key for key in node.entries if key not in ("result", "error")]
        if others:
            message = f"has the result 'error' and yet {', '.join(map(repr, others))}"
            advice = "keep 'result' and 'error' only, or write a result of pass or fail"
            return self.report(node.keys[others[0]], path, message, advice, code="conflicting-keys")
        return self.check_object(ErroredScore, node, path)

    def _summary(self, wanted: Any, node: yaml.Node, path: KeyPath) -> bool:
        if not self.check_value(wanted, node, path):
            return False
        counts: Any = yaml.to_plain(node)
        parts = [counts[f"turns_{word}"] for word in ("passed", "failed", "partial", "errored")]
        if sum(parts) == counts["turns_total"]:
            return True
        sums = " + ".join(f"{part:g}" for part in parts)
        return self.report(
            node,
            path,
            f"the counts do not add up: {sums} is not turns_total, {counts['turns_total']:g}",
            code="summary-counts",
        )


def older_form(node: yaml.Node) -> str:
    """Describe the older form that a document has, by its root; empty for the current form."""
    if isinstance(node, yaml.Sequence):
        return "a bare list of prompts"
    if isinstance(node, yaml.Mapping) and "prompts" in node.entries and "items" not in node.entries:
        return "lists of prompts and of expected responses"
    return ""


def is_thread(item: yaml.Mapping) -> bool:
    """Tell whether an item is a conversation, or was probably meant to be one."""
    return "turns" in item.entries or (
        "prompt" not in item.entries and bool(nearest_name("turns", item.entries, SIMILAR))
    )


def _text(node: yaml.Node) -> str:
    return str(node.value) if isinstance(node, yaml.Scalar) else ""
