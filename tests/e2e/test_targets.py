"""The skill or agent under test: found by name or path, or said to be missing; and what keeps it from its part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.program import newest_results, waza, write_tree

from waza.errors import SuiteError
from waza.model.loaded import Suite
from waza.suite.load import load
from waza.suite.loading import LoadOptions

REAL = "copilot-sdk"
COMMAND = "command, executor_options: {command: cat}"
A2A = "a2a, executor_options: {url: 'http://127.0.0.1:9'}"


def skill(name: str, *lines: str) -> str:
    return "\n".join(["---", f"name: {name}", "description: d", *lines, "---", f"Body of {name}.", ""])


def agent(*lines: str, name: str = "rev") -> str:
    return skill(name, *lines)


def suite(
    root: Path, target: str, *, executor: str = REAL, config: str = "", tail: str = "", place: str = ""
) -> Path:
    """Write a suite of one task, and return its path."""
    more = f", {config}" if config else ""
    head = f"name: s\nskill: {target}\nconfig: {{executor: {executor}{more}}}\n{tail}\ntasks: [t.yaml]\n"
    head += "graders: [{type: text, name: said, config: {contains: [p]}}]\n"
    text = "id: t\ninputs: {prompt: p}\nmock: {output: p, tool_calls: [{name: bash}]}\n"
    write_tree(root / place, {"eval.yaml": head, "t.yaml": text})
    return root / place / "eval.yaml"


def target_of(loaded: Suite, root: Path) -> str | None:
    target = loaded.tasks[0].target
    return target.path.relative_to(root).as_posix() if target else None


def mistakes(path: Path, **request: object) -> str:
    with pytest.raises(SuiteError) as caught:
        load(path, LoadOptions(**request))  # type: ignore[arg-type]  # the keys of a Request
    return str(caught.value)


# --- by path ---


@pytest.mark.parametrize(
    "path",
    ["./rev.agent.md", "rev.agent.md", "sub/../rev.agent.md", "{root}/rev.agent.md", ".\\rev.agent.md"],
)
def test_an_agent_is_named_by_its_path(tmp_path: Path, path: str) -> None:
    write_tree(tmp_path, {"rev.agent.md": agent("tools: []", name="reviewer"), "sub/x": ""})
    loaded = load(suite(tmp_path, path.format(root=tmp_path)))
    assert target_of(loaded, tmp_path) == "rev.agent.md"
    assert loaded.file.skill == "reviewer"
    assert [grader.spec.name for grader in loaded.tasks[0].graders] == ["said", "allowed_tools"]


@pytest.mark.parametrize("path", ["skills/x", "skills/x/", "skills/x/SKILL.md", "./skills/x/SKILL.md"])
def test_a_skill_is_named_by_its_file_or_directory(tmp_path: Path, path: str) -> None:
    write_tree(tmp_path, {"skills/x/SKILL.md": skill("greeter"), "SKILL.md": skill("x")})
    loaded = load(suite(tmp_path, path))
    assert (target_of(loaded, tmp_path), loaded.file.skill) == ("skills/x/SKILL.md", "greeter")


def test_the_policy_of_an_agent_that_is_named_by_its_path_fails_a_call(tmp_path: Path) -> None:
    write_tree(tmp_path, {"rev.agent.md": agent("tools: []")})
    suite(tmp_path, "./rev.agent.md", executor="mock")
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 1
    assert newest_results(tmp_path)["tasks"][0]["runs"][0]["validations"]["allowed_tools"]["passed"] is False


def test_a_path_is_relative_to_the_suite_then_to_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(
        tmp_path, {"work/rev.agent.md": agent(), "evals/rev.agent.md": agent(), "work/x.agent.md": agent()}
    )
    monkeypatch.chdir(tmp_path / "work")
    own = suite(tmp_path, "rev.agent.md", place="evals")
    assert target_of(load(own), tmp_path) == "evals/rev.agent.md"
    other = suite(tmp_path, "x.agent.md", place="evals")
    assert target_of(load(other), tmp_path) == "work/x.agent.md"


@pytest.mark.parametrize(
    ("path", "files", "words"),
    [
        ("./rve.agent.md", {"rev.agent.md": agent()}, "there is no './rve.agent.md'; looked in"),
        ("skills/y", {"skills/x/SKILL.md": skill("x")}, "there is no 'skills/y'"),
        (
            "./agents",
            {"agents/a.agent.md": agent(), "agents/b.agent.md": agent()},
            "holds no single SKILL.md",
        ),
        ("./empty", {"empty/x": ""}, "holds no single SKILL.md"),
        ("./rev.md", {"rev.md": agent("tools: []")}, "is neither a SKILL.md nor a *.agent.md"),
    ],
)
def test_a_path_to_no_definition_is_refused(
    tmp_path: Path, path: str, files: dict[str, str], words: str
) -> None:
    write_tree(tmp_path, files)
    assert words in mistakes(suite(tmp_path, path))


# --- by name ---


def test_a_misspelt_name_is_refused_with_the_nearest_one_and_the_places(tmp_path: Path) -> None:
    write_tree(tmp_path, {".git/HEAD": "", "skills/greeter/SKILL.md": skill("greeter")})
    said = mistakes(suite(tmp_path, "greter", place="evals"))
    assert "evals/eval.yaml:2:1: skill: no skill or agent 'greter' was found; did you mean 'greeter'?" in said
    assert f"looked in {tmp_path}/evals, {tmp_path}, {tmp_path}/skills" in said


@pytest.mark.parametrize("start", [".", "evals", "skills", "elsewhere"])
def test_the_same_skill_is_found_from_every_directory(
    tmp_path: Path, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"project/.git/HEAD": "", "project/skills/greeter/SKILL.md": skill("greeter")}
    write_tree(tmp_path, {**files, "project/elsewhere/skills/greeter/SKILL.md": skill("greeter")})
    path = suite(tmp_path, "greeter", place="project/evals")
    monkeypatch.chdir(tmp_path / "project" / start)
    assert target_of(load(path), tmp_path) == "project/skills/greeter/SKILL.md"


@pytest.mark.parametrize("start", [".", "one", "two"])
def test_a_tasks_own_directories_decide_between_agents_of_one_name(
    tmp_path: Path, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path, {"one/rev.agent.md": agent("tools: [view]"), "two/rev.agent.md": agent("tools: []")})
    path = suite(tmp_path, "rev")
    write_tree(tmp_path, {"t.yaml": "id: t\ninputs: {prompt: p}\nskill_directories: [two]\n"})
    monkeypatch.chdir(tmp_path / start)
    assert target_of(load(path), tmp_path) == "two/rev.agent.md"


@pytest.mark.parametrize("executor", [REAL, "mock", A2A])
@pytest.mark.parametrize("places", [("a.agent.md", "b.agent.md"), ("one/x.agent.md", "two/x.agent.md")])
def test_two_of_one_name_in_one_place_are_refused(
    tmp_path: Path, executor: str, places: tuple[str, str]
) -> None:
    write_tree(tmp_path, dict.fromkeys(places, agent()))
    said = mistakes(suite(tmp_path, "rev", executor=executor))
    assert "skill: 'rev' is defined more than once in one place: " in said
    assert all(f"{tmp_path}/{place}" in said for place in places)


def test_a_name_that_is_only_a_label_needs_no_skill(tmp_path: Path) -> None:
    loaded = load(suite(tmp_path, "label", config="skill_required: false"))
    assert (loaded.tasks[0].target, loaded.warnings) == (None, ())
    assert load(suite(tmp_path, "label", executor=A2A, config="skill_required: false")).warnings == ()


@pytest.mark.parametrize("executor", ["mock", A2A])
def test_a_missing_skill_is_a_warning_where_no_agent_would_get_it(tmp_path: Path, executor: str) -> None:
    loaded = load(suite(tmp_path, "greter", executor=executor))
    said = [str(warning) for warning in loaded.warnings]
    assert "skill: warning: no skill or agent 'greter' was found, so none is under test" in said[0]


def test_an_executor_without_skills_says_that_the_skill_is_not_under_test(tmp_path: Path) -> None:
    write_tree(tmp_path, {"SKILL.md": skill("greeter")})
    [warning] = load(suite(tmp_path, "greeter", executor=A2A)).warnings
    assert warning.message.endswith("hands no skill to its agent, so 'greeter' is not under test")


# --- switched off ---

PARENT = "skill_directories: [skills]"


@pytest.mark.parametrize(
    ("target", "entry"),
    [
        ("alpha", "alpha"),
        ("Alpha", "alpha"),
        ("alpha", "skills/a"),
        ("alpha", "a"),
        ("alpha", "skills"),
        ("skills/a", "alpha"),
        ("rev", "rev"),
        ("./agents/rev.agent.md", "rev"),
        ("rev", "agents"),
    ],
)
@pytest.mark.parametrize("executor", [REAL, "mock"])
def test_a_target_that_is_switched_off_is_refused(
    tmp_path: Path, target: str, entry: str, executor: str
) -> None:
    write_tree(tmp_path, {"skills/a/SKILL.md": skill("alpha"), "agents/rev.agent.md": agent("tools: []")})
    config = f"{PARENT}, disabled_skills: ['{entry}']"
    said = mistakes(suite(tmp_path, target, executor=executor, config=config))
    assert f"{target!r} is under test, and config.disabled_skills switches it off" in said


def test_a_skill_that_is_switched_off_in_one_directory_is_found_in_another(tmp_path: Path) -> None:
    write_tree(tmp_path, {"one/a/SKILL.md": skill("alpha"), "two/a/SKILL.md": skill("alpha")})
    config = "skill_directories: [one, two], disabled_skills: [one]"
    loaded = load(suite(tmp_path, "alpha", config=config))
    assert target_of(loaded, tmp_path) == "two/a/SKILL.md"
    assert loaded.tasks[0].skill_paths == (tmp_path / "two",)


@pytest.mark.parametrize("entry", ["alpha", "a", "skills/a", "./skills/a/"])
def test_a_neighbour_that_is_switched_off_is_not_offered(tmp_path: Path, entry: str) -> None:
    write_tree(tmp_path, {"skills/a/SKILL.md": skill("alpha"), "skills/b/SKILL.md": skill("beta")})
    loaded = load(suite(tmp_path, "beta", config=f"{PARENT}, disabled_skills: ['{entry}']"))
    assert target_of(loaded, tmp_path) == "skills/b/SKILL.md"
    assert "alpha" in loaded.tasks[0].disabled_skills
    assert "beta" not in loaded.tasks[0].disabled_skills
    assert loaded.disabled_skills == loaded.tasks[0].disabled_skills


def test_the_directories_of_a_task_are_switched_off_too(tmp_path: Path) -> None:
    write_tree(tmp_path, {"one/a/SKILL.md": skill("alpha"), "two/a/SKILL.md": skill("alpha")})
    path = suite(tmp_path, "alpha", config="skill_directories: [two], disabled_skills: [one]")
    write_tree(tmp_path, {"t.yaml": "id: t\ninputs: {prompt: p}\nskill_directories: [one]\n"})
    loaded = load(path)
    assert target_of(loaded, tmp_path) == "two/a/SKILL.md"
    assert loaded.tasks[0].skill_paths == ()


def test_a_required_skill_that_is_switched_off_is_missing(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/a/SKILL.md": skill("alpha"), "skills/b/SKILL.md": skill("beta")})
    config = f"{PARENT}, required_skills: [alpha], disabled_skills: [alpha]"
    assert "required skills are missing: alpha" in mistakes(suite(tmp_path, "beta", config=config))


@pytest.mark.parametrize(
    ("entry", "warning"),
    [
        ("betta", "there is no skill 'betta', so this switches nothing off; did you mean 'beta'?"),
        ("./skils/beta", "there is no directory './skils/beta', so this switches nothing off"),
        ("beta", ""),
        ("skills/beta", ""),
        ("something-else", ""),  # perhaps the agent knows it
    ],
)
def test_a_misspelt_entry_that_switches_nothing_off_is_warned_of(tmp_path: Path, entry: str, warning: str):
    write_tree(tmp_path, {"skills/alpha/SKILL.md": skill("alpha"), "skills/beta/SKILL.md": skill("beta")})
    config = f"skill_directories: [skills], disabled_skills: ['{entry}']"
    ended = waza("run", suite(tmp_path, "alpha", config=config), "--executor", "mock", cwd=tmp_path)
    assert ended.code == 0
    assert ("switches nothing off" in ended.err) == bool(warning)
    assert warning in ended.err


@pytest.mark.parametrize("own", ["disabled_skills: ['*']", "skill_directories: [none]"])
def test_everything_switched_off_is_the_arm_without_skills(tmp_path: Path, own: str) -> None:
    write_tree(tmp_path, {"rev.agent.md": agent("tools: []")})
    [task] = load(suite(tmp_path, "rev", config=own)).tasks
    assert (task.no_skills, task.target) == (True, None)
    assert [grader.spec.name for grader in task.graders] == ["said"]


def test_none_in_a_task_switches_its_skills_off(tmp_path: Path) -> None:
    write_tree(tmp_path, {"rev.agent.md": agent("tools: []")})
    path = suite(tmp_path, "rev")
    write_tree(tmp_path, {"t.yaml": "id: t\ninputs: {prompt: p}\nskill_directories: [none]\n"})
    [task] = load(path).tasks
    assert (task.no_skills, task.target) == (True, None)
    assert [grader.spec.name for grader in task.graders] == ["said"]


# --- required skills ---


def test_a_required_skill_is_found_below_its_directory(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/greeter/SKILL.md": skill("greeter")})
    load(suite(tmp_path, "greeter", config=f"{PARENT}, required_skills: [greeter]"))
    said = mistakes(suite(tmp_path, "greeter", config=f"{PARENT}, required_skills: [greter]"))
    assert "required skills are missing: greter; did you mean greeter?; searched " in said


# --- mistakes in definitions ---


@pytest.mark.parametrize("executor", [REAL, "mock"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\nname: x\ndescription: a: b\n---\nBody\n", "SKILL.md:3:15"),
        ("---\nname: x\n---\nBody\n", "has no description"),
        ("Only a body\n", "has no description"),
        ("", "the skill is empty"),
    ],
)
def test_a_skill_that_a_runtime_would_not_offer_is_refused(
    tmp_path: Path, executor: str, text: str, words: str
) -> None:
    write_tree(tmp_path, {"x/SKILL.md": text})
    assert words in mistakes(suite(tmp_path, "x", executor=executor))


def test_mistakes_of_neighbours_are_warnings(tmp_path: Path) -> None:
    broken = "---\nname: y\ndescription: a: b\n---\nBody\n"
    write_tree(tmp_path, {"skills/x/SKILL.md": skill("x"), "skills/y/SKILL.md": broken})
    [warning] = load(suite(tmp_path, "x")).warnings
    assert warning.file.endswith("skills/y/SKILL.md")


# --- what can never be invoked ---

SILENT = "disable-model-invocation: true"


@pytest.mark.parametrize(
    ("files", "target", "why"),
    [
        ({"SKILL.md": skill("x", SILENT)}, "x", "its frontmatter says 'disable-model-invocation: true'"),
        ({"x.agent.md": agent(name="x")}, "x", "it is a custom agent, and only skills are offered"),
        ({"SKILL.md": skill("x")}, "x", None),
    ],
)
def test_a_target_that_can_never_fire_is_warned_of_beside_tests_that_it_does(
    tmp_path: Path, files: dict[str, str], target: str, why: str | None
) -> None:
    write_tree(tmp_path, {**files, "trigger_tests.yaml": "skill: x\nshould_trigger_prompts: [{prompt: p}]\n"})
    path = suite(tmp_path, target, config="inject_skill_body: false")
    write_tree(tmp_path, {"t.yaml": "id: t\ninputs: {prompt: p}\nexpected: {should_trigger: true}\n"})
    said = [str(warning) for warning in load(path).warnings]
    if why is None:
        assert said == []
    else:
        assert [f"'x' can never be invoked: {why}" in warning for warning in said] == [True, True]
        assert {Path(warning.partition(":")[0]).name for warning in said} == {"t.yaml", "trigger_tests.yaml"}


def test_prompts_on_which_it_should_not_fire_are_no_reason_for_a_warning(tmp_path: Path) -> None:
    tests = "skill: x\nshould_not_trigger_prompts: [{prompt: p}]\n"
    write_tree(tmp_path, {"SKILL.md": skill("x", SILENT), "trigger_tests.yaml": tests})
    path = suite(tmp_path, "x")
    write_tree(tmp_path, {"t.yaml": "id: t\ninputs: {prompt: p}\nexpected: {should_trigger: false}\n"})
    [warning] = load(path).warnings
    assert "the body of the skill is injected" in warning.message


def test_trigger_tests_of_a_skill_that_is_not_there_are_refused(tmp_path: Path) -> None:
    tests = "skill: greter\nshould_trigger_prompts: [{prompt: p}]\n"
    write_tree(tmp_path, {"SKILL.md": skill("greeter"), "trigger_tests.yaml": tests})
    said = mistakes(suite(tmp_path, "greeter"))
    assert (
        "trigger_tests.yaml:1:1: skill: no skill or agent 'greter' was found; did you mean 'greeter'?" in said
    )


# --- what an executor cannot do ---


@pytest.mark.parametrize("executor", [COMMAND, A2A])
@pytest.mark.parametrize("tools", ["[]", "[view]"])
def test_an_agent_that_limits_its_tools_is_refused_where_nobody_holds_it_to_them(
    tmp_path: Path, executor: str, tools: str
) -> None:
    write_tree(tmp_path, {"rev.agent.md": agent(f"tools: {tools}")})
    said = mistakes(suite(tmp_path, "rev", executor=executor))
    assert "skill: needs limits of tools, which the executor" in said
    assert "use executor: chat, claude or copilot-sdk, or drop 'tools' from the agent's frontmatter" in said


@pytest.mark.parametrize("option", ["command:cat", "a2a:http://127.0.0.1:9"])
def test_it_is_refused_too_where_the_command_line_names_the_executor(tmp_path: Path, option: str) -> None:
    write_tree(tmp_path, {"rev.agent.md": agent("tools: []")})
    suite(tmp_path, "rev", executor="mock")
    ended = waza("run", "eval.yaml", "--executor", option, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "needs limits of tools" in ended.err
    assert not (tmp_path / ".waza").exists()


@pytest.mark.parametrize(
    ("expected", "needs"),
    [
        ("behavior: {max_tool_calls: 3}", "expected.behavior.max_tool_calls: needs reports of tool calls"),
        ("behavior: {required_tools: [x]}", "expected.behavior.required_tools: needs reports of tool calls"),
        (
            "behavior: {forbidden_tools: [x]}",
            "expected.behavior.forbidden_tools: needs reports of tool calls",
        ),
        ("behavior: {max_tokens: 9}", "expected.behavior.max_tokens: needs token counts"),
        ("should_trigger: true", "expected.should_trigger: needs reports of tool calls"),
        ("behavior: {max_response_time_ms: 60000, max_iterations: 1}", ""),
    ],
)
def test_expectations_of_what_an_executor_does_not_report_are_refused(
    tmp_path: Path, expected: str, needs: str
) -> None:
    write_tree(tmp_path, {"SKILL.md": skill("x")})
    path = suite(tmp_path, "x", executor=COMMAND, config="inject_skill_body: false")
    write_tree(tmp_path, {"t.yaml": f"id: t\ninputs: {{prompt: p}}\nexpected: {{{expected}}}\n"})
    if needs:
        assert needs in mistakes(path)
        off = suite(
            tmp_path, "x", executor=COMMAND, config="inject_skill_body: false, enforce_expected: false"
        )
        write_tree(tmp_path, {"t.yaml": f"id: t\ninputs: {{prompt: p}}\nexpected: {{{expected}}}\n"})
        load(off)
    else:
        assert waza("run", path, cwd=tmp_path).code == 0
        run = newest_results(tmp_path)["tasks"][0]["runs"][0]
        assert sorted(run["validations"]) == ["_behavior", "said"]


@pytest.mark.parametrize(
    ("tail", "request_", "place"),
    [("baseline: true", {}, "baseline: needs skills"), ("", {"baseline": True}, "--baseline: needs skills")],
)
def test_a_comparison_with_and_without_skills_needs_an_executor_that_hands_them_over(
    tmp_path: Path, tail: str, request_: dict[str, bool], place: str
) -> None:
    write_tree(tmp_path, {"SKILL.md": skill("x")})
    said = mistakes(suite(tmp_path, "x", executor=A2A, tail=tail), **request_)
    assert place in said
    assert "use executor: chat, claude, command or copilot-sdk" in said
    load(suite(tmp_path, "x", executor=COMMAND, tail=tail), LoadOptions(baseline=bool(request_)))


def test_required_skills_need_an_executor_that_hands_them_over(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/x/SKILL.md": skill("x")})
    config = f"{PARENT}, required_skills: [x]"
    assert "config.required_skills: needs skills" in mistakes(
        suite(tmp_path, "x", executor=A2A, config=config)
    )
    load(suite(tmp_path, "x", executor=COMMAND, config=config))


# --- preflight says the same ---


def test_preflight_says_what_a_run_would(tmp_path: Path) -> None:
    suite(tmp_path, "greter", executor=REAL)
    ended = waza("preflight", "eval.yaml", "--json", cwd=tmp_path)
    assert ended.code == 1
    report = json.loads(ended.out)
    [told] = [one for one in report["diagnostics"] if one["code"] == "skill.target"]
    assert (told["state"], "no skill or agent 'greter' was found" in told["message"]) == ("invalid", True)
    [target] = [one for one in report["dependencies"] if one["kind"] == "target"]
    assert target["state"] == "invalid"
    suite(tmp_path, "greter", executor=REAL, config="skill_required: false")
    report = json.loads(waza("preflight", "eval.yaml", "--json", cwd=tmp_path).out)
    assert [one for one in report["dependencies"] if one["kind"] == "target"] == []
