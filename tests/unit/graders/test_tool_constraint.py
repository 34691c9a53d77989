import pytest
from tests.unit.graders._configs import called, errors, read, refused

from waza.graders.argument import Matcher
from waza.graders.tool_constraint import ToolConstraint, ToolSpec
from waza.model.observation import Denial, Observation, Usage
from waza.model.verdict import Helpers, Verdict


def graded(grader: ToolConstraint, *calls, **seen) -> Verdict:
    return grader.grade(called(*calls, **seen), Helpers())


def expects(*calls, **spec) -> bool:
    """Tell whether a call matches the spec; `reject_tools` must see it the other way round."""
    expected = graded(ToolConstraint(expect_tools=[ToolSpec(**spec)]), *calls)
    rejected = graded(ToolConstraint(reject_tools=[ToolSpec(**spec)]), *calls)
    assert (expected.score, rejected.score) in {(1.0, 0.0), (0.0, 1.0)}
    assert (expected.passed, rejected.passed) == (expected.score == 1, rejected.score == 1)
    return expected.passed


def allowed(*calls, **spec) -> bool:
    return graded(ToolConstraint(allow_only=[ToolSpec(**spec)]), *calls).passed


POLICY = r"""
expect_tools: [{tool: "^bash$", command_pattern: "^npm test"}]
reject_tools: [{tool: bash, command_pattern: 'rm\s+-rf'}]
allow_only: [{tool: bash, command_pattern: "^npm "}, {tool: fileRead}]
"""
CALLS = (("view", {"path": "a.py"}), ("bash", {"command": "npm test"}), ("bash", {"command": "ls"}))


def test_the_documented_example():
    grader = read(ToolConstraint, POLICY)
    assert errors(grader) == []
    verdict = graded(grader, *CALLS)
    assert not verdict.passed
    assert verdict.score == pytest.approx(0.8, abs=1e-9)
    assert verdict.details == {
        "expect_tools": ["^bash$ (command ~ ^npm test)"],
        "reject_tools": [r"bash (command ~ rm\s+-rf)"],
        "allow_only": ["bash (command ~ ^npm )", "fileRead"],
        "allow_only_declared": True,
        "allow_only_violations": ["bash"],
        "tools_used": ["view", "bash", "bash"],
        "failures": ["not allowed: bash (1 of 3 calls)"],
    }
    assert verdict.feedback == "not allowed: bash (1 of 3 calls)"


def test_a_call_that_the_policy_denied_is_none_that_was_allowed():
    denied = (Denial(tool="hub-list", kind="tool", reason="r"),)
    verdict = graded(ToolConstraint(allow_only=[ToolSpec(tool="hub-list")]), "hub-list", denials=denied)
    assert verdict.feedback == "not allowed: hub-list (1 of 1 calls)"
    assert allowed("hub-list", tool="hub-list")


def test_expected_tools_are_patterns_without_regard_to_case():
    assert expects("bashful", tool="bash")
    assert expects("x", "BASH", tool="bash")
    assert not expects("bashful", tool="^bash$")
    assert expects("bash", tool=" ^bash$ ")
    assert not expects(tool="bash")


def test_all_patterns_must_hold_on_the_same_call():
    spec = {"tool": "t", "command_pattern": "go", "path_pattern": "src"}
    assert not expects(("t", {"command": "go"}), ("t", {"path": "src"}), **spec)
    assert expects(("t", {"command": "GO", "path": "a/SRC/b"}), **spec)
    assert not expects(("u", {"command": "go", "path": "src"}), **spec)


@pytest.mark.parametrize("argument", ["command", "path", "skill"])
def test_patterns_on_arguments(argument):
    spec = {"tool": "t", f"{argument}_pattern": "^x"}
    assert expects(("t", {argument: "Xyz"}), **spec)
    assert not expects(("t", {argument: "yx"}), **spec)
    assert not expects(("t", {"other": "x"}), **spec)
    assert not expects(("t", "x"), **spec)


def test_an_empty_argument_counts_as_absent_for_a_pattern():
    assert not expects(("t", {"command": ""}), tool="t", command_pattern="^$")
    assert expects(("t", {"command": ""}), tool="t", args={"command": Matcher(equals="")})


def test_an_argument_that_is_no_text_is_looked_at_as_json():
    assert expects(("t", {"command": ["npm", "test"]}), tool="t", command_pattern='^."npm","test"')


def test_matchers_on_any_argument():
    spec = {"tool": "t", "args": {"n": Matcher(equals=1), "deep": Matcher(contains="x")}}
    assert expects(("t", {"n": 1.0, "deep": {"a": ["x"]}}), **spec)
    assert not expects(("t", {"n": 1}), **spec)


def test_allowed_tools_are_names_with_aliases_and_never_patterns():
    assert allowed("BASH", "runCommand", "bash", tool="Bash")
    assert allowed("view", "read", "readFile", "builtin:view", tool="fileRead")
    assert allowed("edit", tool="write")
    assert allowed("web_fetch", tool="fetch")
    assert not allowed("bashful", tool="bash")
    assert not allowed("bash", tool="ba.*")
    assert not allowed("view", tool="edit")
    assert allowed("search", tool="mcp:search")
    assert not allowed("mcp:search", tool="search")
    assert not allowed("view", tool="mcp:read")


def test_an_allowed_tool_may_be_restricted():
    spec = {"tool": "bash", "command_pattern": "^npm", "args": {"cwd": Matcher(equals="app")}}
    assert allowed(("bash", {"command": "npm i", "cwd": "app"}), **spec)
    assert not allowed(("bash", {"command": "npm i", "cwd": "/"}), **spec)
    assert not allowed(("bash", {"command": "ls", "cwd": "app"}), **spec)


def test_each_call_is_a_check_and_each_tool_one_note():
    verdict = graded(read(ToolConstraint, "allow_only: [{tool: view}]"), "rm", "view", "rm", "curl")
    assert verdict.score == pytest.approx(0.25, abs=1e-9)
    assert verdict.details["allow_only_violations"] == ["rm", "curl"]
    assert len(verdict.details["failures"]) == 2
    assert "2 of 4 calls" in verdict.details["failures"][0]


def test_an_empty_allow_only_allows_no_call():
    grader = read(ToolConstraint, "allow_only: []")
    assert errors(grader) == []
    assert graded(grader).score == 1.0
    verdict = graded(grader, "view", "bash")
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert verdict.details["allow_only"] == []


def test_allow_only_without_a_call_is_one_check_that_passes():
    grader = read(ToolConstraint, "{expect_tools: [{tool: bash}], allow_only: [{tool: bash}]}")
    verdict = graded(grader)
    assert not verdict.passed
    assert verdict.score == pytest.approx(0.5, abs=1e-9)


def test_details_without_allow_only_and_with_usage():
    usage = Usage(
        turns=3,
        input_tokens=10,
        output_tokens=5,
        cache_read_tokens=0,
        cache_write_tokens=0,
        premium_requests=0,
    )
    verdict = graded(ToolConstraint(expect_tools=[ToolSpec(tool="a")]), "b", usage=usage)
    assert verdict.details == {
        "expect_tools": ["a"],
        "reject_tools": [],
        "tools_used": ["b"],
        "tokens_total": 15,
        "total_turns": 3,
        "failures": ["expected but not called: a"],
    }


def test_without_a_session_it_fails():
    verdict = ToolConstraint(allow_only=[]).grade(Observation(has_session=False), Helpers())
    assert (verdict.passed, verdict.score) == (False, 0.0)


def test_configs_that_check_nothing():
    assert errors(ToolConstraint()) == [()]
    assert errors(ToolConstraint(expect_tools=[], reject_tools=[])) == [()]
    assert errors(read(ToolConstraint, "allow_only:")) == [()]


@pytest.mark.parametrize("key", ["expect_tools", "reject_tools", "allow_only"])
def test_patterns_that_do_not_compile_are_errors_at_load(key):
    spec = ToolSpec(tool="t", command_pattern="(?=x)", skill_pattern="(", args={"a": Matcher(regex="[")})
    assert errors(ToolConstraint(**{key: [ToolSpec(tool="t"), spec]})) == [
        (key, 1, "command_pattern"),
        (key, 1, "skill_pattern"),
        (key, 1, "args", "a", "regex"),
    ]


def test_the_tool_is_a_pattern_only_where_it_is_one():
    assert errors(ToolConstraint(expect_tools=[ToolSpec(tool="(")])) == [("expect_tools", 0, "tool")]
    assert errors(ToolConstraint(reject_tools=[ToolSpec(tool="(")])) == [("reject_tools", 0, "tool")]
    assert errors(ToolConstraint(allow_only=[ToolSpec(tool="(")])) == []


@pytest.mark.parametrize(
    "text",
    [
        "expect_tools: [bash]",
        "expect_tools: [{tool: ''}]",
        "expect_tools: [{command_pattern: x}]",
        "max_turns: 3",
        "allow_only: [{tool: a, max_tokens: 1}]",
    ],
)
def test_forms_that_are_gone_are_refused(text):
    assert refused(ToolConstraint, text)
