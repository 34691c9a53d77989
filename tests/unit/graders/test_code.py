import asyncio
from pathlib import Path

import pytest

from waza.errors import GraderError
from waza.graders._interpreter import Interpreters
from waza.graders.base import GraderLocation
from waza.graders.code import Code
from waza.kit import yaml
from waza.kit.decode import Decoder, Document
from waza.kit.process import find_leftovers
from waza.model.observation import CommandInvocation, Event, Observation, ToolEvent
from waza.model.verdict import Helpers, SharedResources, Verdict

DEPLOYED = Observation(
    output="Deployed web-01 in 3 regions.",
    duration_ms=1200,
    transcript=(
        Event(type="user.message", content="deploy"),
        Event(
            type="tool.execution_start",
            tool_name="bash",
            tool_call_id="c1",
            arguments={"command": "deploy", "env": {"REGION": "eu"}},
            at_ms=5.0,
        ),
        Event(type="tool.execution_complete", tool_call_id="c1", success=False, tool_result="late"),
    ),
    tool_events=(
        ToolEvent(
            turn=1,
            sequence=1,
            tool_call_id="c1",
            tool_name="bash",
            args={"command": "deploy", "env": {"REGION": "eu"}},
            result="late",
            success=False,
        ),
    ),
    command_invocations=(CommandInvocation(command="az", exit_code=0, response_index=-1),),
)


def graded(grader: Code, seen: Observation = DEPLOYED, **helpers) -> Verdict:
    async def scenario() -> Verdict:
        interpreters = Interpreters(1)
        try:
            return await grader.grade(seen, Helpers(shared=SharedResources(interpreters), **helpers))
        finally:
            await interpreters.aclose()

    verdict = asyncio.run(scenario())
    assert find_leftovers() == []
    return verdict


def problems(config: str) -> list[str]:
    decoder = Decoder(Document("eval.yaml", yaml.load(config.encode())))
    decoder.read(Code)
    return [problem.message for problem in decoder.problems]


def warned(grader: Code) -> list[tuple[tuple[str | int, ...], bool]]:
    return [(finding.path, finding.warning) for finding in grader.check(GraderLocation())]


def test_documented_example():
    verdict = graded(
        Code(
            assertions=[
                "'web-01' in output",
                "len(tool_calls) == 2",
                "re.search(r'\\d+ regions', output) is not None",
                "any(r in output for r in ['eu', 'us'])",
            ]
        )
    )
    assert verdict.score == pytest.approx(0.5, abs=1e-9)
    assert not verdict.passed
    assert verdict.details["total_assertions"] == 4
    assert verdict.details["passed_assertions"] == 2
    assert len(verdict.details["failures"]) == 2
    assert "len(tool_calls) == 2" in verdict.feedback
    assert "any(r in output" in verdict.feedback


def test_all_hold():
    verdict = graded(Code(assertions=["True", "duration_ms == 1200"]))
    assert (verdict.score, verdict.passed, verdict.details["failures"]) == (1.0, True, [])


def test_an_exception_is_a_failure_that_names_the_assertion_and_the_error():
    verdict = graded(Code(assertions=["  missing > 1\n"]))
    assert not verdict.passed
    assert verdict.feedback.startswith("missing > 1: NameError: ")


def test_calls_have_the_common_arguments_and_all_others():
    verdict = graded(
        Code(
            assertions=[
                "tool_calls[0]['id'] == 'c1' and tool_calls[0]['name'] == 'bash'",
                "tool_calls[0]['arguments']['command'] == 'deploy'",
                "tool_calls[0]['arguments']['env'] == {'REGION': 'eu'}",
                "[tool_calls[0]['arguments'][k] for k in ['path', 'file_text', 'description', 'skill']] == [''] * 4",
                "tool_calls[0]['result'] == 'late' and tool_calls[0]['success'] == False",
            ]
        )
    )
    assert verdict.feedback == "all assertions hold"


def test_events_have_the_keys_that_are_set():
    verdict = graded(
        Code(
            assertions=[
                "sorted(transcript[0]) == ['content', 'type']",
                "sorted(transcript[1]) == ['arguments', 'tool_call_id', 'tool_name', 'type']",
                "transcript[2]['success'] == False",
                "outcome == {} and errors == [] and output_length == 29",
                "command_invocations == [{'command': 'az', 'args': [], 'exit_code': 0, 'response_index': -1}]",
            ]
        )
    )
    assert verdict.feedback == "all assertions hold"


def test_javascript():
    verdict = graded(
        Code(
            language="javascript",
            assertions=[
                "output.includes('web-01')",
                "tool_calls.length === 2",
                "command_invocations[0].args.length",
            ],
        )
    )
    assert verdict.score == pytest.approx(1 / 3, abs=1e-9)


@pytest.mark.parametrize("limits", [{"timeout": 1}, {}])
def test_a_loop_is_an_error_within_the_limit(limits):
    grader = Code(assertions=["[1 for a in range(10**9) for b in range(10**9)]"], **limits)
    with pytest.raises(GraderError, match="within 1 s"):
        graded(grader, code_timeout=30 if limits else 1)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("assertions: []", "at least 1"),
        ("language: python", "'assertions' is missing"),
        ("assertions: ['']", "must not be empty"),
        ("{assertions: ['True'], language: ruby}", "not one of: python, javascript"),
        ("{assertions: ['True'], timeout: 0}", "at least 1"),
        ("{assertions: ['True'], assertion: 'x'}", "unknown key 'assertion'"),
    ],
)
def test_refused_at_load(config, message):
    assert any(message in problem for problem in problems(config))


def test_python_that_cannot_be_parsed_is_a_warning():
    nested = "(" * 5000 + ")" * 5000
    grader = Code(assertions=[" len(output) > 1 ", "x = 1", "output &&", nested, "'\\d' in output", "a\0b"])
    assert warned(grader) == [(("assertions", index), True) for index in (1, 2, 3, 5)]
    assert not graded(grader).passed


def test_javascript_is_not_parsed_as_python():
    assert warned(Code(language="javascript", assertions=["output && true"])) == []


def test_paths_stay(tmp_path: Path):
    grader = Code(assertions=["True"])
    assert grader.resolve_paths(GraderLocation(base=tmp_path)) == grader
