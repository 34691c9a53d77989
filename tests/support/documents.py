"""Evaluation documents that a test runs through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.program import Ended, strict_json, waza, write_tree

GOOD = [{"reply": {"score": 4, "reason": "good"}}]
MATCH: dict[str, Any] = {"PartialMatch": {}}


def document(*items: dict[str, Any], **keys: Any) -> str:
    """A document of these items, which PartialMatch judges unless the keys say otherwise."""
    return json.dumps({"schemaVersion": "1.7.0", "default_evaluators": MATCH, **keys, "items": items})


def run(root: Path, text: str, *flags: str, name: str = "evals.json") -> tuple[Ended, dict[str, Any]]:
    """Run a document; return how that ended, and the result, which must be a valid document.

    `judge.json` beside it is the script of a judge that finds everything good.
    """
    write_tree(root, {name: text, "judge.json": json.dumps(GOOD)})
    ended = waza("m365", "run", name, *flags, "-o", "result.json", cwd=root)
    result = strict_json((root / "result.json").read_text(encoding="utf-8"))
    checked = waza("m365", "validate", "result.json", cwd=root)
    assert checked.code == 0, checked.out
    return ended, result


def statuses(result: dict[str, Any]) -> list[str]:
    """The statuses of all turns of a result."""
    return [turn["status"] for item in result["items"] for turn in item.get("turns", [item])]
