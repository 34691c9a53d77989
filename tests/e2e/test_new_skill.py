"""`waza new skill`: what is written is ready, runs on the mock, and its checks can fail. What is there stays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import strict_json, waza, write_tree
from tests.unit.registry._upstream import files_below

from waza.kit import yaml

SKILL = "---\nname: greeter\ndescription: >-\n  Greets people. USE FOR: say hello, greet Ada. DO NOT USE FOR: goodbyes.\n---\nGreet.\n"
OF_SUITE = [
    "eval.yaml",
    "fixtures/sample.py",
    "tasks/basic-usage.yaml",
    "tasks/edge-case.yaml",
    "tasks/should-not-trigger.yaml",
    "trigger_tests.yaml",
]


def plain(path: Path) -> Any:
    return yaml.to_plain(yaml.load(path.read_bytes()))


def ready(name: str, root: Path) -> bool:
    ended = waza("check", name, "--offline", "--format", "json", cwd=root)
    assert ended.code == 0, ended.err
    (found,) = strict_json(ended.out)["skills"]
    assert found["eval"]["found"]
    assert found["schema"] == {"evalErrors": [], "taskErrors": {}, "valid": True}
    return bool(found["ready"])


def passed(target: str, root: Path, *flags: str) -> dict[str, Any]:
    ended = waza("run", target, *flags, cwd=root)
    assert ended.code == 0, ended.out + ended.err
    assert "warning" not in ended.err
    return ended.results()


def test_in_an_empty_directory_the_skill_has_its_suite_below_itself(tmp_path: Path):
    ended = waza("new", "skill", "release-notes", "--judge", cwd=tmp_path)
    assert ended.code == 0, ended.err
    written = files_below(tmp_path / "release-notes")
    assert {"SKILL.md", *(f"evals/{name}" for name in OF_SUITE)} <= {*written}
    assert all(f"release-notes/{name}" in ended.out for name in written)
    assert "waza check release-notes/SKILL.md" in ended.out
    assert ready("release-notes", tmp_path)
    results = passed("release-notes", tmp_path)
    assert [task["test_id"] for task in results["tasks"]] == [
        "basic-usage",
        "edge-case",
        "should-not-trigger",
    ]
    assert "is_useful" in results["tasks"][0]["runs"][0]["validations"]
    assert results["trigger_metrics"]["accuracy"] == 1
    again = waza("new", "release-notes", "--no-update-check", cwd=tmp_path)
    assert (again.code, "no file was changed" in again.out) == (0, True)
    assert files_below(tmp_path / "release-notes") == written


@pytest.mark.parametrize("git", [True, False])
def test_where_skills_are_the_suite_goes_into_evals(tmp_path: Path, git: bool):
    """Also from a directory below, and with the names that the project gives its files."""
    write_tree(tmp_path, {"skills/old/SKILL.md": SKILL.replace("greeter", "old"), "docs/deep/a.md": "x"})
    if git:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        settings: dict[str, Any] = {
            "files": {
                "evalFile": "suite.yaml",
                "taskGlob": "cases/*.task.yaml",
                "taskFileSuffix": ".task.yaml",
            }
        }
        settings |= {"defaults": {"model": "gpt-x", "timeout": 60}}
        (tmp_path / ".waza.yaml").write_text(json.dumps(settings), encoding="utf-8")
    ended = waza("new", "greeter", cwd=tmp_path / "docs" / "deep")
    assert ended.code == 0, ended.err
    suite = tmp_path / "evals" / "greeter" / ("suite.yaml" if git else "eval.yaml")
    assert (tmp_path / "skills" / "greeter" / "SKILL.md").is_file()
    config = plain(suite)["config"]
    assert (config["model"], config["timeout_seconds"]) == (
        ("gpt-x", 60) if git else ("claude-sonnet-4.6", 300)
    )
    assert len([*suite.parent.glob("cases/*.task.yaml" if git else "tasks/*.yaml")]) == 3
    assert ready("greeter", tmp_path)
    assert len(passed("greeter", tmp_path)["tasks"]) == 3
    old = (tmp_path / "skills" / "old" / "SKILL.md").read_text(encoding="utf-8")
    assert old == SKILL.replace("greeter", "old")


def test_the_comment_leads_editors_to_a_schema_that_the_file_fits(tmp_path: Path):
    import jsonschema

    assert waza("new", "greeter", cwd=tmp_path).code == 0
    for file in (tmp_path / "greeter").rglob("*.yaml"):
        comment, _, _ = file.read_text(encoding="utf-8").partition("\n")
        place = comment.removeprefix("# yaml-language-server: $schema=")
        schema = strict_json((file.parent / place).read_bytes())
        jsonschema.validate(plain(file), schema)
        kind = Path(place).name
        assert (Path(__file__).parents[2] / "schemas" / kind).read_bytes() == (
            file.parent / place
        ).read_bytes()
    assert (tmp_path / ".waza" / ".gitignore").read_text(encoding="utf-8") == "*\n"


WRONG: dict[str, dict[str, Any]] = {
    "basic-usage": {"output": "I read it. All is well."},
    "edge-case": {"output": "It sorts a list of numbers."},
    "should-not-trigger": {"output": "It is Lima.", "tool_calls": [{"name": "view"}]},
}


def test_every_check_fails_for_a_wrong_answer(tmp_path: Path):
    assert waza("new", "greeter", "--judge", cwd=tmp_path).code == 0
    suite = tmp_path / "greeter" / "evals"
    for stem, answer in WRONG.items():
        path = suite / "tasks" / f"{stem}.yaml"
        task = plain(path)
        task["mock"] = {"judge": {"is_useful": [{"fail": "It names nothing."}]}, **answer}
        path.write_text(json.dumps(task), encoding="utf-8")
    for name, output in (("empty", " "), ("lost", "I cannot help with that.")):
        task = {"id": name, "inputs": {"prompt": "p"}, "mock": {"output": output}}
        (suite / "tasks" / f"{name}.yaml").write_text(json.dumps(task), encoding="utf-8")
    ended = waza("run", "greeter", cwd=tmp_path)
    assert ended.code == 1
    failed = {
        name
        for task in ended.results()["tasks"]
        for name, verdict in task["runs"][0]["validations"].items()
        if not verdict["passed"]
    }
    assert failed == {
        "has_output", "does_not_give_up", "names_what_is_in_the_file", "is_useful", "says_that_it_is_empty", "_behavior",
    }  # fmt: skip


def test_what_was_given_is_in_the_description_and_the_trigger_tests(tmp_path: Path):
    given = (
        "--description",
        'Grüßt "alle": auch #1, @name@ und @bob@',
        "--trigger",
        "say hello, greet Ada",
        "--anti-trigger",
        "goodbyes",
    )
    assert waza("new", "greeter", *given, cwd=tmp_path).code == 0
    text = (tmp_path / "greeter" / "SKILL.md").read_text(encoding="utf-8")
    described = plain_frontmatter(text)["description"]
    assert described.startswith('Grüßt "alle": auch #1, @name@ und @bob@. ')
    assert described.endswith("USE FOR: say hello, greet Ada. DO NOT USE FOR: goodbyes.")
    tests = plain(tmp_path / "greeter" / "evals" / "trigger_tests.yaml")
    assert [one["prompt"] for one in tests["should_trigger_prompts"]] == ["Say hello.", "Greet Ada."]
    assert ready("greeter", tmp_path)


def plain_frontmatter(text: str) -> Any:
    return yaml.to_plain(yaml.load(text.split("---\n")[1].encode()))


def test_what_is_there_is_kept_and_the_rest_is_added(tmp_path: Path):
    own = {
        "skills/greeter/SKILL.md": SKILL,
        "evals/greeter/tasks/mine.yaml": "{id: mine, inputs: {prompt: p}}",
    }
    write_tree(tmp_path, own)
    ended = waza("new", "skill", "greeter", cwd=tmp_path)
    assert ended.code == 0, ended.err
    for name, content in own.items():
        assert (tmp_path / name).read_text(encoding="utf-8") == content
    assert files_below(tmp_path / "evals" / "greeter" / "tasks") == ["mine.yaml"]
    tests = plain(tmp_path / "evals" / "greeter" / "trigger_tests.yaml")
    assert [one["prompt"] for one in tests["should_trigger_prompts"]] == ["Say hello.", "Greet Ada."]
    assert "the skill greeter was completed by 3 files" in ended.out
    (tmp_path / "evals" / "greeter" / "trigger_tests.yaml").unlink()  # on purpose, so it stays away
    assert "no file was changed" in waza("new", "greeter", cwd=tmp_path).out


def test_a_definition_that_cannot_be_read_is_replaced_only_when_that_is_asked_for(tmp_path: Path):
    path = (
        write_tree(tmp_path, {"skills/greeter/SKILL.md": "---\nname: [greeter\n---\nMine.\n"})
        / "skills/greeter/SKILL.md"
    )
    refused = waza("new", "greeter", cwd=tmp_path)
    assert refused.code == 2
    assert "skills/greeter/SKILL.md:" in refused.err
    assert "--overwrite" in refused.err
    assert not (tmp_path / "evals").exists()
    assert "Mine." in path.read_text(encoding="utf-8")
    assert waza("new", "greeter", "--overwrite", cwd=tmp_path).code == 0
    assert ready("greeter", tmp_path)
    path.write_text(" \n", encoding="utf-8")  # nothing could be lost
    assert waza("new", "greeter", cwd=tmp_path).code == 0
    assert ready("greeter", tmp_path)


def test_a_suite_that_is_elsewhere_and_another_declared_name_are_heeded(tmp_path: Path):
    """A second suite would hide the first one, and a suite for the name of the directory would test nothing."""
    write_tree(
        tmp_path,
        {
            "skills/greeter/SKILL.md": SKILL,
            "skills/greeter/tests/eval.yaml": "{name: e, skill: greeter, config: {executor: mock}, tasks: [a.yaml]}",
            "skills/renamed/SKILL.md": SKILL.replace("greeter", "other"),
            "agents/file.agent.md": "---\nname: declared\ndescription: Reads.\n---\nRead.\n",
        },
    )
    write_tree(tmp_path, {"skills/odd/SKILL.md": SKILL.replace("greeter", "../../up")})
    before = files_below(tmp_path)
    refused = waza("new", "odd", cwd=tmp_path)
    assert (refused.code, "no directory can be named" in refused.err) == (2, True)
    ended = waza("new", "greeter", cwd=tmp_path)
    assert (ended.code, "waza run skills/greeter/tests/eval.yaml" in ended.out) == (0, True), ended.err
    assert files_below(tmp_path) == before
    assert waza("new", "renamed", cwd=tmp_path).code == 0
    assert files_below(tmp_path / "skills") == [
        one.removeprefix("skills/") for one in before if "skills" in one
    ]
    passed("evals/other/eval.yaml", tmp_path)
    assert waza("new", "agent", "file", cwd=tmp_path).code == 0
    assert plain(tmp_path / "evals/file/eval.yaml")["skill"] == "declared"
    assert waza("run", "evals/file/eval.yaml", cwd=tmp_path).code == 0


def test_the_older_forms_of_the_command_are_accepted(tmp_path: Path):
    for words in (
        ["generate", "one"],
        ["generate", "skill", "two"],
        ["new", "-d", "sub", "three", "-t", "x"],
    ):
        ended = waza(*words, cwd=tmp_path)
        assert ended.code == 0, ended.err
    assert "--template x has no effect yet" in ended.err
    assert (tmp_path / "sub/three/SKILL.md").is_file()


NAMES = {
    "": "name the skill",
    "Foo_Bar": "use 'foo-bar'",
    "CodeExplainer": "use 'code-explainer'",
    "über": "use 'uber'",
    "日本": "choose another one",
    "a/b": "is a path",
    "..": "'..'",
    "x" * 65: "at most 64",
    "con": "device",
    "evla": "did you mean `waza new eval`",
    "a\u202eb": "cannot be seen",
}


def test_odd_names_are_refused_with_advice(tmp_path: Path):
    for name, advice in NAMES.items():
        ended = waza("new", *([name] if name else []), cwd=tmp_path)
        assert (ended.code, advice in ended.err) == (2, True), (name, ended.err)
    assert not [*tmp_path.iterdir()]


def test_another_executor_is_that_of_the_option_or_of_the_project(tmp_path: Path):
    (tmp_path / ".waza.yaml").write_text("defaults: {engine: copilot-sdk}\n", encoding="utf-8")
    assert waza("new", "greeter", cwd=tmp_path).code == 0
    assert plain(tmp_path / "evals" / "greeter" / "eval.yaml")["config"]["executor"] == "copilot-sdk"
    passed("greeter", tmp_path, "--executor", "mock")
    command = "command:python3 'my bot.py'"
    assert waza("new", "other", "--executor", command, cwd=tmp_path).code == 0
    suite = tmp_path / "evals" / "other"
    config = plain(suite / "eval.yaml")["config"]
    assert (config["executor"], config["executor_options"]) == ("command", {"command": "python3 'my bot.py'"})
    assert not (suite / "trigger_tests.yaml").exists()  # this executor does not see which skills are used
    assert waza("preflight", "evals/other/eval.yaml", cwd=tmp_path).code == 0
    for executor, advice in (
        ("command", "--executor command:COMMAND"),
        ("copilot", "did you mean 'copilot-sdk'?"),
    ):
        ended = waza("new", "third", "--executor", executor, cwd=tmp_path)
        assert (ended.code, advice in ended.err) == (2, True), ended.err
    assert not (tmp_path / "skills" / "third").exists()


def test_nothing_is_left_when_a_file_cannot_be_written(tmp_path: Path):
    write_tree(tmp_path, {"skills/a.txt": "x", "evals": "a file in the way"})
    ended = waza("new", "greeter", cwd=tmp_path)
    assert (ended.code, "evals is not a directory" in ended.err) == (2, True)
    assert files_below(tmp_path) == ["evals", "skills/a.txt"]
    (tmp_path / "evals").unlink()
    (tmp_path / ".waza").write_text("also in the way", encoding="utf-8")
    ended = waza("new", "greeter", cwd=tmp_path)  # without schemas the skill is no worse
    assert (ended.code, "editors find no schemas" in ended.err) == (0, True), ended.err
