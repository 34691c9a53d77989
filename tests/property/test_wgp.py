from __future__ import annotations

import json
import math
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from waza.kit.schema import strict_json
from waza.model.observation import Observation, ToolEvent, WrittenFile
from waza.model.wgp import PROTOCOL, Evidence, Response, decode_response, encode_request

WHOLE = st.text(st.characters(exclude_categories=["Cs"]))
ANY_TEXT = st.text()  # with halves of surrogate pairs
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WHOLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WHOLE, inner, max_size=4),
    max_leaves=10,
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
RESPONSES = st.builds(
    Response,
    schema=st.just(PROTOCOL),
    score=st.floats(0, 1),
    passed=st.booleans(),
    rationale=WHOLE,
    evidence=st.lists(st.builds(Evidence, kind=WHOLE, ref=WHOLE), max_size=3),
    metrics=st.dictionaries(WHOLE, FINITE, max_size=3),
)
FIELDS = ("schema", "score", "passed", "rationale", "evidence", "metrics")
BLANKS = st.text(" \t\r\n", max_size=3).map(str.encode)


def decoded(data: bytes) -> Response | None:
    """The response, which must keep all its promises, or None after a ValueError with a sentence."""
    fault, found = None, None
    try:
        found = decode_response(data)
    except ValueError as error:
        fault = error
    if found is None:
        assert type(fault) is ValueError
        assert str(fault)
        return None
    assert found.schema == PROTOCOL
    assert isinstance(found.passed, bool)
    assert isinstance(found.score, float)
    assert 0 <= found.score <= 1
    assert all(isinstance(value, float) and math.isfinite(value) for value in found.metrics.values())
    strict_json(msgspec.json.encode(found))
    return found


@given(RESPONSES, BLANKS, BLANKS)
def test_a_response_comes_back_as_it_was(response: Response, before: bytes, after: bytes) -> None:
    assert decoded(before + msgspec.json.encode(response) + after) == response


@given(st.binary() | ANY_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_anything_at_all_is_a_response_or_a_sentence(data: bytes) -> None:
    decoded(data)


@given(
    RESPONSES,
    st.dictionaries(st.sampled_from(FIELDS) | WHOLE, JSON, max_size=3),
    st.sets(st.sampled_from(FIELDS)),
)
def test_fields_that_change_or_are_missing(
    response: Response, changes: dict[str, Any], missing: set[str]
) -> None:
    fields = {**msgspec.to_builtins(response), **changes}
    kept = {key: value for key, value in fields.items() if key not in missing}
    found = decoded(json.dumps(kept).encode())
    if missing & {"schema", "score", "passed"}:
        assert found is None
    if found is not None:
        assert (found.score, found.passed) == (fields["score"], fields["passed"])


@given(RESPONSES, st.binary(min_size=1), st.integers(0, 400))
def test_a_damaged_response(response: Response, damage: bytes, place: int) -> None:
    data = msgspec.json.encode(response)
    decoded(data[:place] + damage + data[place + len(damage) :])
    decoded(data[:place])
    decoded(data + damage)


@given(RESPONSES, RESPONSES, BLANKS)
def test_two_documents_are_never_a_response(one: Response, other: Response, between: bytes) -> None:
    assert decoded(msgspec.json.encode(one) + between + msgspec.json.encode(other)) is None


ARGS = (
    st.dictionaries(ANY_TEXT, st.floats() | st.integers() | ANY_TEXT | st.lists(ANY_TEXT), max_size=3)
    | ANY_TEXT
)
SEEN = st.builds(
    Observation,
    task_id=ANY_TEXT,
    prompt=ANY_TEXT,
    expected=st.none() | ANY_TEXT,
    output=ANY_TEXT,
    trial=st.integers(1, 1000),
    tool_events=st.lists(
        st.builds(ToolEvent, turn=st.just(1), sequence=st.just(1), tool_name=ANY_TEXT, args=ARGS, success=st.booleans()),
        max_size=3,
    ).map(tuple),
    files_written=st.lists(st.builds(WrittenFile, path=ANY_TEXT, sha256=st.just("0" * 64)), max_size=3).map(tuple),
)  # fmt: skip


@given(SEEN, st.dictionaries(ANY_TEXT, ANY_TEXT | st.floats(), max_size=3), ANY_TEXT)
def test_a_request_is_strict_json_whatever_was_seen(
    seen: Observation, config: dict[str, Any], workspace: str
) -> None:
    request: Any = strict_json(encode_request(seen, config, workspace))
    shown = seen.output.encode("utf-8", "replace").decode()
    assert request["agent"]["output"] == shown
    assert len(request["agent"]["tool_calls"]) == len(seen.tool_events)
    assert all(isinstance(call["arguments"], dict) for call in request["agent"]["tool_calls"])
