"""Evaluation documents for tests: made here, or from the corpus that `WAZA_CORPUS` names."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from waza.kit.decode import Document
from waza.kit.json_nodes import load
from waza.m365.document.read import EvalDocument, read_document
from waza.m365.document.validate import validate

CORPUS = Path(os.environ.get("WAZA_CORPUS") or Path(__file__).parents[4] / "shared" / "corpus") / "m365"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"there are no documents in {CORPUS}")

VALID = sorted((CORPUS / "schema" / "v1" / "examples" / "valid").glob("*.json"))
INVALID = sorted((CORPUS / "schema" / "v1" / "examples" / "invalid").glob("*.json"))
SAMPLES = sorted((CORPUS / "samples").glob("*.json"))


@cache
def oracle() -> Draft202012Validator:
    """The format's own JSON Schema; ours must agree with it."""
    schema = json.loads((CORPUS / "schema" / "v1" / "eval-document.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator(schema)


def document(*items: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A document of the current version with these items."""
    return {"schemaVersion": "1.7.0", **keys, "items": list(items)}


def nodes(data: Any) -> Document:
    """The nodes of a document, each value on a line of its own."""
    text = data if isinstance(data, str) else json.dumps(data, indent=1, ensure_ascii=False)
    return Document("doc.json", load(text.encode()))


def mistakes(data: Any) -> list[str]:
    """What validation finds, without file and line; warnings are marked as such."""
    found = []
    for problem in validate(nodes(data)):
        words = [
            f"{problem.path}: " if problem.path else "",
            "warning: " if problem.severity == "warning" else "",
        ]
        hint = f"; {problem.hint}" if problem.hint else ""
        found.append(f"{''.join(words)}{problem.message}{hint}")
    return found


def read(directory: Path, data: Any) -> EvalDocument:
    """Write a document to a file and read it."""
    file = directory / "doc.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return read_document(file)
