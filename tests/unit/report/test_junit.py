"""JUnit: what a CI server reads of it, whatever a model wrote."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from tests.unit.report.factory import EVIL, checkpoint, invocation, outcome, run, task, verdict

from waza.report.junit import document
from waza.results.outcome import Outcome


def parsed(result: Outcome) -> ET.Element:
    return ET.fromstring(document(invocation(result)))  # noqa: S314  # our own document


def case(root: ET.Element, number: int = 0) -> ET.Element:
    return root.findall("testsuite/testcase")[number]


def attribute(element: ET.Element, child: str, name: str) -> str:
    found = element.find(child)
    assert found is not None
    return found.attrib[name]


def test_counts_times_and_properties() -> None:
    root = parsed(
        outcome(
            task("A"),
            task("B", run(1, "failed")),
            task("C", run(1, "error", [])),
            task("D", status="skipped"),
        )
    )
    assert root.tag == "testsuites"
    assert root.attrib == {"tests": "4", "failures": "1", "errors": "1", "time": "1.234"}
    found = root.find("testsuite")
    assert found is not None
    assert found.attrib == {
        "name": "greeter-eval",
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
        "time": "1.234",
        "timestamp": "2026-01-31T14:25:30Z",
    }
    properties = {one.attrib["name"]: one.attrib["value"] for one in found.findall("properties/property")}
    assert properties == {
        "skill": "greeter", "model": "gpt-x", "engine": "mock", "score": "0.3333", "verdict": "failed",
    }  # fmt: skip
    assert case(root).attrib == {"name": "A", "classname": "greeter", "time": "0.004"}
    assert [child.tag for child in case(root)] == ["properties"]
    assert attribute(case(root, 3), "skipped", "message") == "cut off: 1 of 1 trial did not run"


def test_a_failure_lists_the_failing_graders_of_each_trial_under_its_number() -> None:
    bad = run(
        2,
        "failed",
        [
            verdict("z", passed=False, score=0.25, feedback="no"),
            verdict("ok"),
            verdict("a", passed=False, type="file"),
        ],
        checkpoints=[checkpoint(1, verdict("c", passed=False, feedback="early"))],
    )
    root = parsed(outcome(task("T", run(1), bad, run(3, "failed", [verdict("other", passed=False)]))))
    failure = case(root).find("failure")
    assert failure is not None
    assert failure.attrib == {"type": "GraderFailure", "message": "T: score=0.47"}
    assert failure.text == (
        "Trial 2/3 (failed)\n"
        "[FAIL] a (file): score=0.00 — 'hello' is missing\n"
        "[FAIL] c (text, after turn 1): score=0.00 — early\n"
        "[FAIL] z (text): score=0.25 — no\n"
        "Trial 3/3 (failed)\n"
        "[FAIL] other (text): score=0.00 — 'hello' is missing"
    )


def test_an_error_has_its_message_or_a_generic_one() -> None:
    root = parsed(outcome(task("A", run(1, "error", [])), task("B", status="error")))
    assert attribute(case(root), "error", "type") == "ExecutionError"
    assert attribute(case(root), "error", "message") == "the engine broke"
    assert "did not run" in attribute(case(root, 1), "error", "message")


def test_what_xml_forbids_is_shown() -> None:
    bad = run(1, "failed", [verdict("g", passed=False, feedback=EVIL + "\r\n\tend \ud800")])
    root = parsed(outcome(task(EVIL, bad), eval_name=EVIL))
    shown = 'bad \\x01 \\x1b[31m \\ufffe ]]> <&"'
    assert case(root).attrib["name"] == shown
    failure = case(root).find("failure")
    assert failure is not None
    assert failure.text == f"[FAIL] g (text): score=0.00 — {shown}\n\tend \\ud800"
    assert failure.attrib["message"] == f"{shown}: score=0.00"


@pytest.mark.parametrize(
    "code", [*range(0x20), 0x7F, 0x85, 0x9F, 0xD800, 0xDFFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1F600, 0x10FFFF]
)
def test_any_code_point_can_be_parsed(code: int) -> None:
    name = f"a{chr(code)}b"
    found = case(parsed(outcome(task(name)))).attrib["name"]
    allowed = code in (0x9, 0xA, 0xFFFD, 0x1F600, 0x10FFFF)
    assert found == (name if allowed else f"a\\x{code:02x}b" if code < 256 else f"a\\u{code:04x}b")


def test_a_suite_without_a_skill_uses_its_name_as_class() -> None:
    assert case(parsed(outcome(task(), skill=""))).attrib["classname"] == "greeter-eval"


def test_is_utf8_with_a_header() -> None:
    data = document(invocation(outcome(task("é 你"))))
    assert data.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ')
    assert "é 你".encode() in data
