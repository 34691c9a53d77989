"""What `waza new` makes of any description and any answer is read back as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from waza.author.scaffold.evaluation import plan_evaluation, suite_path
from waza.author.scaffold.from_prompt import Observed, PromptRequest, make_task
from waza.author.scaffold.names import check_agent_name, check_skill_name
from waza.author.scaffold.place import choose_executor, find_place
from waza.author.scaffold.skill import plan_skill
from waza.author.scaffold.skill_text import SkillText, complete
from waza.errors import UsageError
from waza.kit import yaml
from waza.kit.template import fill
from waza.model.observation import ToolEvent
from waza.model.result import SessionDigest, TrialResult
from waza.suite.definition import read_definition
from waza.suite.load import load
from waza.suite.loading import LoadOptions

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
PHRASE = st.text(st.sampled_from("ab,.:;'\"#-|>{}[]&*!%@`~ \n\t?äß漢{{.Vars.x}}"), max_size=60)
DESCRIPTIONS = st.one_of(
    TEXT, st.builds("{} USE FOR: {}. DO NOT USE FOR: {}.".format, PHRASE, PHRASE, PHRASE), PHRASE
)


def loaded(suite: Path) -> int:
    """Load a suite as on the mock; return how many tasks it has."""
    return len(load(suite, LoadOptions(executor="mock")).tasks)


@settings(max_examples=60, deadline=None)
@given(DESCRIPTIONS)
def test_a_suite_of_any_usable_skill_can_be_loaded(description: str):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        file = root / "skills" / "greeter" / "SKILL.md"
        file.parent.mkdir(parents=True)
        frontmatter = yaml.dump({"name": "greeter", "description": description})
        file.write_text(f"---\n{frontmatter}---\nGreet.\n", encoding="utf-8")
        definition = read_definition(file)
        if not definition.is_fit:
            return
        place = find_place(root)
        suite = suite_path(definition.target, place, None)
        plan_evaluation(definition.target, place, choose_executor("", place), suite).write()
        assert loaded(suite) == 3


@settings(max_examples=60, deadline=None)
@given(PHRASE, PHRASE, PHRASE)
def test_a_new_skill_says_what_its_author_said_or_refuses_to(what: str, trigger: str, against: str):
    given_text = SkillText(name="greeter", what=what, triggers=(trigger,), anti_triggers=(against,))
    try:
        text = complete(given_text)
    except UsageError:
        return
    with tempfile.TemporaryDirectory() as directory:
        place = find_place(Path(directory))
        plan = plan_skill("greeter", text, place, choose_executor("", place))
        plan.files.write()
        definition = read_definition(plan.definition)
        assert definition.is_fit, definition.problems
        assert definition.target.description.startswith(text.what)
        assert loaded(plan.suite) == 3


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT, PHRASE)
def test_a_task_plays_exactly_what_was_seen(output: str, result: str, argument: str):
    trial = TrialResult(
        run_number=1,
        attempts=1,
        prompt="p",
        status="passed",
        duration_ms=0,
        validations=None,
        session_digest=SessionDigest(tool_call_count=0, tools_used=None, errors=None),
        final_output=output,
        tool_events=[
            ToolEvent(
                turn=1, sequence=1, tool_name="bash", args={"command": argument}, result=result, success=True
            )
        ],
    )
    observed = Observed(trial=trial, written={"a.txt": result}, executor="mock", model="m")
    file = Path("/project/tasks/a.yaml")
    text = make_task(PromptRequest(prompt="p"), "a", observed, file, find_place(Path("/project")))
    task: Any = yaml.to_plain(yaml.load(text.encode()))
    script = fill(task["mock"], {})
    assert script["output"] == output
    assert script["files"] == [{"path": "a.txt", "content": result}]
    (call,) = script["tool_calls"]
    assert call["args"] == {"command": argument}
    assert call.get("result", "") == result


@given(st.text(max_size=80))
def test_names_that_are_accepted_are_names_of_files(name: str):
    for check in (check_skill_name, check_agent_name):
        try:
            accepted = check(name)
        except UsageError:
            continue
        assert not {*accepted} & {*'/\\:*?"<>|\n\t\0'}
        assert accepted == accepted.strip()
        assert accepted not in (".", "..")
