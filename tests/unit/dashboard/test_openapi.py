"""The OpenAPI document and the types of the front end are made of the structs of answers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from waza.dashboard import pages
from waza.dashboard.openapi import make_document
from waza.dashboard.routes import ROUTES
from waza.kit.field_docs import field_docs

ROOT = Path(__file__).parents[3]
PAGES = [
    kind
    for kind in vars(pages).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__ == pages.__name__
]


def test_the_types_of_the_front_end_are_those_of_the_structs():
    script = ROOT / "scripts" / "api_types.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_reference_of_the_document_leads_somewhere():
    document = make_document()
    text = msgspec.json.encode(document).decode()
    used = set(re.findall(r'"\$ref":"#/components/schemas/([^"]+)"', text))
    assert used <= document["components"]["schemas"].keys()
    assert {"RunSummary", "TaskSummary", "TrialDetail", "LiveEvent", "ErrorAnswer"} <= used


def test_every_name_in_a_path_is_a_parameter():
    for route in ROUTES:
        named = set(re.findall(r"{(\w+)}", route.path))
        assert named == {one.name for one in route.parameters if one.needed and one.name in named}, route.path


@pytest.mark.parametrize("kind", PAGES, ids=lambda kind: kind.__name__)
def test_every_field_of_an_answer_has_a_docstring(kind):
    fields = {field.name for field in msgspec.structs.fields(kind)}
    assert fields - field_docs(kind).keys() == set()
    assert kind.__doc__
