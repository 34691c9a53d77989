"""The OpenAPI document is made of the structs of answers."""

from __future__ import annotations

import re

import msgspec
import pytest

from waza.dashboard import pages
from waza.dashboard.openapi import make_document
from waza.dashboard.routes import ROUTES
from waza.kit.field_docs import field_docs

PAGES = [
    kind
    for kind in vars(pages).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__ == pages.__name__
]


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
