"""Findings as SARIF 2.1.0, for code scanning of GitHub and other readers.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/ and GitHub's page on its support for SARIF.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from waza.author.check.finding import SEVERITIES, Finding, Severity, path_below, worst_first
from waza.kit.unsafe_text import escape_unsafe
from waza.problem import Code
from waza.problem_codes import EXPLANATIONS
from waza.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 5000  # of a run; GitHub keeps no more
_LONGEST = 1024  # characters of the descriptions of a rule
_KINDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "recommendation"}


def to_sarif(findings: Sequence[Finding], root: Path) -> dict[str, Any]:
    """Return the document; paths are relative to `root`, the top of the repository. Without findings it has no results."""
    kept = worst_first(findings)[:MOST_RESULTS]
    codes = sorted({finding.code for finding in kept})
    worst = {code: _worst(code, kept) for code in codes}
    seen: Counter[str] = Counter()
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "waza",
                        "semanticVersion": __version__,
                        "rules": [_rule(code, worst[code]) for code in codes],
                    }
                },
                "automationDetails": {"id": "waza-check/"},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, codes.index(finding.code), root, seen) for finding in kept],
            }
        ],
    }


def _worst(code: Code, findings: Sequence[Finding]) -> Severity:
    return min((one.severity for one in findings if one.code == code), key=SEVERITIES.index)


def _rule(code: Code, severity: Severity) -> dict[str, Any]:
    meaning, remedy, example = EXPLANATIONS[code]
    return {
        "id": code,
        "shortDescription": {"text": f"{meaning.partition('. ')[0].rstrip('.')}."[:_LONGEST]},
        "fullDescription": {"text": meaning[:_LONGEST]},
        "help": {
            "text": f"{remedy}\n\nExample: {example}",
            "markdown": f"{remedy}\n\nExample:\n\n```\n{example}\n```\n",
        },
        "defaultConfiguration": {"level": severity},
        "properties": {
            "tags": ["agent-skills"],
            "precision": "high",
            "problem.severity": _KINDS[severity],
        },
    }


def _result(finding: Finding, rule: int, root: Path, seen: Counter[str]) -> dict[str, Any]:
    uri = quote(path_below(finding.file, root).lstrip("/"))
    message = ". ".join(
        escape_unsafe(part) for part in (_sentence(finding.message), _sentence(finding.remedy)) if part
    )
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": f"{message}."},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": finding.line, "startColumn": finding.column},
                }
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(finding, uri, seen)},
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".rstrip(".")


def _fingerprint(finding: Finding, uri: str, seen: Counter[str]) -> str:
    """Return what stays the same when lines move and counts change: code, file, words, and which of equal ones it is."""
    text = "\0".join((finding.code, uri, re.sub(r"\d[\d,.]*", "#", finding.message)))
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    seen[digest] += 1
    return f"{digest}:{seen[digest]}"
