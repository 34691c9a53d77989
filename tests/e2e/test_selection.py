"""What is run: a suite by its path, a skill or agent by its name, everything around; and which of its tasks."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

SUITE = "name: suite of {0}\nskill: {0}\nconfig: {{executor: mock, model: m}}\ntasks: [{1}]\n"
TASK = "id: t\ninputs: {prompt: p}\n"


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: says hello\n---\nSay hello.\n"


def suite_of(name: str, place: str) -> dict[str, str]:
    """Files of a suite with one task, in a directory."""
    return {f"{place}/eval.yaml": SUITE.format(name, "t.yaml"), f"{place}/t.yaml": TASK}


def ran(ended: Ended) -> list[str]:
    """The suites that were run, in order."""
    return [
        line.removeprefix("Benchmark: suite of ") for line in ended.err.splitlines() if "Benchmark: " in line
    ]


def workspace(root: Path, files: Mapping[str, str]) -> Path:
    return write_tree(root, files)


THREE = {
    **{f"skills/{name}/SKILL.md": skill(name) for name in ("ada", "bob", "cy")},
    **suite_of("ada", "evals/ada"),
    **suite_of("bob", "skills/bob/evals"),
}


# --- which suites ---


@pytest.mark.parametrize(
    ("args", "files", "below", "expected"),
    [
        (["evals/ada/eval.yaml"], THREE, ".", ["ada"]),
        (["./evals/ada"], THREE, ".", ["ada"]),
        (["."], THREE, "evals/ada", ["ada"]),
        (["ada"], THREE, ".", ["ada"]),
        (["bob"], THREE, ".", ["bob"]),
        ([], THREE, ".", ["ada", "bob"]),
        ([], THREE, "skills/bob", ["bob"]),
        ([], {**THREE, "skills/bob/scripts/x.txt": ""}, "skills/bob/scripts", ["bob"]),
        ([], {"SKILL.md": skill("one"), **suite_of("one", ".")}, ".", ["one"]),
        ([], {"other/SKILL.md": skill("child"), **suite_of("child", "other/evals")}, ".", ["child"]),
        (["child"], {"child/SKILL.md": skill("child"), **suite_of("child", "evals/child")}, ".", ["child"]),
        ([], {".github/skills/gh/SKILL.md": skill("gh"), **suite_of("gh", "evals/gh")}, ".", ["gh"]),
        ([], {"skills/src/.apm/skills/src/SKILL.md": skill("src"), **suite_of("src", "skills/src/evals")}, ".", ["src"]),
        ([], {".apm/skills/built/SKILL.md": skill("built"), **suite_of("built", "evals")}, ".", ["built"]),
        ([], {".apm/skills/built/SKILL.md": skill("built"), **suite_of("built", "evals"), "x/y": ""}, "x", ["built"]),
        (["reviewer"], {"agents/reviewer.agent.md": skill("reviewer"), **suite_of("reviewer", "evals/reviewer")}, ".", ["reviewer"]),
        (["nameless"], {"nameless.agent.md": "---\ndescription: d\n---\nb\n", **suite_of("nameless", ".")}, ".", ["nameless"]),
        (["bob", "ada"], THREE, ".", ["bob", "ada"]),
        (["ada", "evals/ada", "evals/ada/eval.yaml", "ada"], THREE, ".", ["ada"]),
        (["*b"], THREE, ".", ["bob"]),
        (["*"], THREE, ".", ["ada", "bob"]),
        (["evals/*/eval.yaml"], THREE, ".", ["ada"]),
        (["skills/*"], THREE, ".", ["ada", "bob"]),
        (["skills/*/SKILL.md"], THREE, ".", ["ada", "bob"]),
        (["skills"], THREE, ".", ["ada", "bob"]),
        (["evals"], THREE, ".", ["ada"]),
        (["skills/ada"], THREE, ".", ["ada"]),
        (["skills/ada/SKILL.md"], THREE, ".", ["ada"]),
        (["../skills/ada"], THREE, "evals", ["ada"]),
        (["agents/reviewer.agent.md"], {"agents/reviewer.agent.md": skill("reviewer"), **suite_of("reviewer", "evals/reviewer")}, ".", ["reviewer"]),
        (["flows"], {**THREE, **suite_of("ada", "evals/flows")}, ".", ["ada"]),
        (["f*"], {**THREE, **suite_of("ada", "evals/flows")}, ".", ["ada"]),
        (["cy"], {**THREE, **suite_of("cy", "evals/other")}, ".", ["cy"]),
        (["ada"], {**THREE, ".waza.yaml": "tokens: {}", "src/x": ""}, "src", ["ada"]),
        (["a[d]a"], {"a[d]a/eval.yaml": SUITE.format("odd", "t.yaml"), "a[d]a/t.yaml": TASK}, ".", ["odd"]),
    ],
    ids=[
        "path", "directory", "dot", "name, central suite", "name, suite in the skill", "all of a workspace",
        "in a skill", "below a skill", "a skill alone", "children", "a directory with the name of its skill",
        "GitHub's place", "a build in its source", "a build at the root", "above, a build", "an agent",
        "an agent without a name", "two names", "one suite in many ways", "a pattern", "every name", "a pattern of suites",
        "a pattern of directories", "a pattern of skills", "a directory of skills", "a directory of suites",
        "the directory of a skill", "the path of a skill", "a path upwards", "the path of an agent", "the directory of a suite",
        "a pattern of those", "a suite that names the skill", "from elsewhere in the project", "a directory with brackets",
    ],
)  # fmt: skip
def test_the_suites_that_are_meant(
    tmp_path: Path, args: list[str], files: Mapping[str, str], below: str, expected: list[str]
):
    workspace(tmp_path, files)
    ended = waza("run", *args, "--no-save", cwd=tmp_path / below)
    assert (ended.code, ran(ended)) == (0, expected), ended.err


OWN = {**suite_of("ada", "."), "ada/deep/ada/SKILL.md": skill("ada"), "skills/bob/SKILL.md": skill("bob")}


@pytest.mark.parametrize(
    ("args", "files"),
    [
        (["ada"], OWN),
        ([], OWN),
        (["ada"], {**suite_of("ada", "."), ".claude/skills/ada/SKILL.md": skill("ada")}),
        (["ada"], {**suite_of("ada", "."), "skills/one/SKILL.md": skill("ada")}),
        (["ada"], {**suite_of("skills/one", "."), "skills/one/SKILL.md": skill("ada")}),
        ([], suite_of("ada", ".")),
    ],
    ids=["deep below", "beside one of another", "where it is not looked for", "renamed", "by its path", "no skill"],
)  # fmt: skip
def test_the_suite_of_the_current_directory_tests_the_skill_that_it_names(
    tmp_path: Path, args: list[str], files: Mapping[str, str]
):
    workspace(tmp_path, files)
    ended = waza("run", *args, "--no-save", cwd=tmp_path)
    assert (ended.code, ended.err.count("Benchmark: suite of ")) == (0, 1), ended.err


def test_the_suite_of_the_current_directory_is_the_last_that_is_taken_for_a_skill(tmp_path: Path):
    workspace(tmp_path, {**THREE, "eval.yaml": SUITE.format("ada", "missing.yaml")})
    ended = waza("run", "ada", "--no-save", cwd=tmp_path)
    assert (ended.code, ran(ended)) == (0, ["ada"]), ended.err


def test_names_of_a_project_come_first(tmp_path: Path):
    names = "paths: {skills: our-skills, evals: our-evals}\nfiles: {evalFile: check.yaml}\n"
    files = {
        ".waza.yaml": names,
        "our-skills/ada/SKILL.md": skill("ada"),
        "our-evals/ada/check.yaml": SUITE.format("configured", "t.yaml"),
        **suite_of("fallback", "our-evals/ada"),
    }
    workspace(tmp_path, files)
    for args in (["ada"], ["our-evals/ada"], []):
        assert ran(waza("run", *args, "--no-save", cwd=tmp_path)) == ["configured"]


def test_a_skill_without_a_suite_is_skipped_and_reported(tmp_path: Path):
    workspace(tmp_path, THREE)
    ended = waza("run", "--no-save", cwd=tmp_path)
    assert ended.err.splitlines()[0] == "skipping cy: it has no eval.yaml"
    assert ended.err.count("skipping") == 1
    assert "[1/2] ada on m" in ended.err
    assert "[2/2] bob on m" in ended.err
    assert ended.err.endswith("Evaluated 2 skills: 2 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("args", "files", "said"),
    [
        ([], {}, "there is no skill or agent around here; name a suite file (waza run path/to/eval.yaml), or use --discover"),
        (["ada"], {}, "there is no skill, agent or suite 'ada' around here; name a suite file"),
        (["dan"], THREE, "there is no skill, agent or suite 'dan' around here; did you mean 'ada'?"),
        (["cy"], THREE, "no eval.yaml found for cy; put one into evals/<skill>/, or next to SKILL.md"),
        ([], {"SKILL.md": skill("one")}, "no eval.yaml found for one"),
        (["adda"], THREE, "there is no skill, agent or suite 'adda' around here; did you mean 'ada'?"),
        (["b*b", "x*"], THREE, "there is no skill, agent or suite 'x*' around here, only ada, bob, cy"),
        (["c*"], THREE, "no eval.yaml found for cy; put one into evals/<skill>/, or next to SKILL.md"),
        (["ada", "cy"], THREE, "no eval.yaml found for cy; put one into evals/<skill>/, or next to SKILL.md"),
        (["skills/cy/SKILL.md"], THREE, "no eval.yaml found for cy; put one into evals/<skill>/, or next to SKILL.md"),
        (["skills/["], THREE, "the pattern '[' opens '[' and never closes it"),
        (["skills/x*/eval.yaml"], THREE, "there is no skill, agent or suite 'skills/x*/eval.yaml' around here"),
        (["empty"], {"empty/x": ""}, "empty is a directory without eval.yaml, and so are all below it; name a suite file"),
        (["ada", "a/eval.yaml", "b.yaml"], THREE, "there is no such suite file: a/eval.yaml, b.yaml; nothing was run"),
        (["--discover", "skills", "evals"], THREE, "--discover takes one directory"),
        (["no/eval.yaml"], THREE, "no/eval.yaml: there is no such suite file"),
        (["cy"], {**THREE, **suite_of("dan", ".")}, "eval.yaml here is a suite of 'dan', run by its name: waza run eval.yaml"),
        (["dan"], {"eval.yaml": "name: x"}, "eval.yaml here is a suite without 'skill:'"),
        (["--discover"], {}, "no skill below . has a suite; put eval.yaml next to SKILL.md"),
    ],
)  # fmt: skip
def test_nothing_that_is_meant(tmp_path: Path, args: list[str], files: Mapping[str, str], said: str):
    workspace(tmp_path, files)
    ended = waza("run", *args, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "skipping" not in ended.err
    assert not (tmp_path / ".waza").exists()


def test_suites_of_a_workspace_that_no_skill_is_tested_with_are_left_out_and_reported(tmp_path: Path):
    workspace(tmp_path, {**THREE, **suite_of("ada", "evals/flows")})
    ended = waza("run", "-o", "r.json", cwd=tmp_path)
    path = Path("evals", "flows", "eval.yaml")
    why = f"no skill around here is tested with it, `waza run {path}` runs it, so nothing of it was run"
    assert (ended.code, ran(ended)) == (0, ["ada", "bob"])
    assert f"skipping flows: {why}\n" in ended.err
    found = strict_json((tmp_path / "r_ada.json").read_bytes())["metadata"]["invocation"]
    assert found["left_out"] == [{"skill": "flows", "why": why}]
    assert ran(waza("run", str(path), cwd=tmp_path)) == ["ada"]


NAMESAKES = {
    "skills/greeter/SKILL.md": skill("greeter"),
    "vendor/skills/greeter/SKILL.md": skill("greeter"),
    "evals/greeter/eval.yaml": SUITE.format("greeter", "t.yaml").replace(
        "model: m", "model: m, skill_directories: [../../skills/greeter]"
    ),
    "evals/greeter/t.yaml": TASK,
}  # fmt: skip


def test_suites_that_name_no_skill_are_of_the_workspace(tmp_path: Path):
    scenario = "name: suite of flow\nschemaVersion: '2.0'\nscenario: s\nconfig: {executor: mock, model: m}\ntasks: [t.yaml]\n"
    flow = {"evals/flow/eval.yaml": scenario, "evals/flow/t.yaml": TASK}
    workspace(tmp_path / "both", {**THREE, **flow})
    ended = waza("run", "--no-save", cwd=tmp_path / "both")
    assert (ended.code, ran(ended)) == (0, ["ada", "bob", "flow"]), ended.err
    assert "skipping flow" not in ended.err
    workspace(tmp_path / "alone", flow)
    assert ran(waza("run", "--no-save", cwd=tmp_path / "alone")) == ["flow"]


def test_suites_of_one_skill_are_told_apart_by_their_names(tmp_path: Path):
    workspace(tmp_path, {**THREE, **suite_of("ada", "evals/flows")})
    write_tree(
        tmp_path, {"evals/flows/eval.yaml": SUITE.format("ada", "t.yaml").replace("suite of ada", "flows")}
    )
    ended = waza("run", "ada", "evals/flows", "bob", "--no-save", "--reporter", "markdown:r.md", cwd=tmp_path)
    assert ended.code == 0, ended.err
    table = (tmp_path / "r.md").read_text(encoding="utf-8")
    for name in ("ada (suite of ada)", "ada (flows)"):
        assert name in table
    assert "bob (" not in table


def test_an_expression_that_cannot_be_read_is_refused_once_and_before_suites_are(tmp_path: Path):
    workspace(tmp_path, {**THREE, "evals/ada/eval.yaml": "tasks: 1\n"})
    ended = waza("run", "-k", "For the", "-o", "r.json", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("-k: 'the' follows a text; join the two by 'and' or 'or'") == 1
    assert "eval.yaml" not in ended.err
    assert "files have mistakes" not in ended.err


def test_a_suite_is_of_the_skill_that_it_tests_and_not_of_another_of_its_name(tmp_path: Path):
    workspace(tmp_path, NAMESAKES)
    suite, other = Path("evals/greeter/eval.yaml"), Path("skills/greeter/SKILL.md")
    named = Path("vendor/skills/greeter/SKILL.md")
    for target in ("vendor/skills/greeter", "vendor", "vendor/skills/greeter/SKILL.md", "vendor/skills/*"):
        ended = waza("run", target, "--no-save", cwd=tmp_path)
        assert (ended.code, ran(ended)) == (2, []), target
        assert (
            f"{named} has no eval.yaml: {suite} tests {other}; run that with: waza run {suite}" in ended.err
        )
    for command in ("preflight", "grade"):
        more = ("--results", "r.json") if command == "grade" else ()
        if more:
            waza("run", suite, "-o", "r.json", "--no-save", cwd=tmp_path)
        refused = waza(command, "vendor/skills/greeter", *more, cwd=tmp_path)
        assert (refused.code, f"{suite} tests {other}" in refused.err) == (2, True), refused.err
    checked = waza("check", "vendor/skills/greeter", "--offline", "-f", "json", cwd=tmp_path)
    assert strict_json(checked.out)["skills"][0]["eval"]["found"] is False
    assert f"{suite} tests {other}" in checked.out
    for args in ((), ("greeter",), ("skills/greeter",), ("skills",)):
        assert ran(waza("run", *args, "--no-save", cwd=tmp_path)) == ["greeter"]
    write_tree(
        tmp_path,
        {
            "evals/greeter/eval.yaml": NAMESAKES["evals/greeter/eval.yaml"].replace(
                "../skills", "../vendor/skills"
            )
        },
    )
    covered = waza("coverage", "-f", "json", cwd=tmp_path)
    assert strict_json(covered.out)["skills"][0]["evals"] == []
    assert f"{suite} tests {named}, and not {other}" in covered.err


def test_a_name_means_the_suite_of_the_name_whichever_directory_it_tests(tmp_path: Path):
    files = {**NAMESAKES}
    files["evals/greeter/eval.yaml"] = files["evals/greeter/eval.yaml"].replace(
        "../skills", "../vendor/skills"
    )
    workspace(tmp_path, files)
    note = "note: {} tests {}, and not {}\n".format(
        *map(Path, ("evals/greeter/eval.yaml", "vendor/skills/greeter/SKILL.md", "skills/greeter/SKILL.md"))
    )
    for args in ((), ("greeter",)):
        ended = waza("run", *args, "--no-save", cwd=tmp_path)
        assert (ran(ended), note in ended.err) == (["greeter"], True), ended.err
    assert ran(waza("run", "vendor/skills/greeter", "--no-save", cwd=tmp_path)) == ["greeter"]
    assert waza("run", "skills/greeter", "--no-save", cwd=tmp_path).code == 2


def test_a_directory_of_an_agent_or_skill_runs_no_suite_of_another_one(tmp_path: Path):
    workspace(tmp_path, {**THREE, "evals/cy/eval.yaml": SUITE.format("ada", "../ada/t.yaml")})
    ended = waza("run", "skills/cy", "--no-save", cwd=tmp_path)
    assert (ended.code, ran(ended)) == (2, [])
    assert f"tests {Path('skills/ada/SKILL.md')}" in ended.err


def test_other_commands_look_suites_up_alike(tmp_path: Path):
    workspace(tmp_path, THREE)
    assert waza("run", "bob", "-o", "r.json", cwd=tmp_path).code == 0
    for target in ("bob", "b*", "skills/bob", "skills/bob/SKILL.md", "skills/bob/evals/eval.yaml"):
        graded = waza("grade", target, "--results", "r.json", cwd=tmp_path)
        assert (graded.code, "t" in strict_json(graded.out)["tasks"]) == (0, True), graded.err
        assert waza("spec", "verify", target, target, cwd=tmp_path).code == (2 if "eval" in target else 0)
        checked = waza(
            "check", target.replace("evals/eval.yaml", "SKILL.md"), "--offline", "-f", "json", cwd=tmp_path
        )
        assert [one["name"] for one in strict_json(checked.out)["skills"]] == ["bob"]
    covered = strict_json(waza("coverage", "bob", "-f", "json", cwd=tmp_path).out)
    assert ([one["skill"] for one in covered["skills"]], covered["coverage_pct"]) == (["bob"], 0)
    assert [Path(path) for path in covered["evals"]] == [Path("skills/bob/evals/eval.yaml")]
    part = waza("coverage", "a*", "skills/cy", cwd=tmp_path)
    assert part.err == "warning: 2 of 3 skills and agents were asked for\n"
    assert part.out.startswith("Skills found: 2\n  ✓ ada (SKILL.md)\n  ✓ cy (SKILL.md)\n")
    several = waza("grade", "*", "--results", "r.json", cwd=tmp_path)
    first, second = Path("evals/ada/eval.yaml"), Path("skills/bob/evals/eval.yaml")
    assert several.err == f"Error: * means 2 suites; name one: {first}, {second}\n"


# --- discovery ---

TREE = {
    "a/SKILL.md": skill("another name"), **suite_of("a", "a/tests"),
    "b/SKILL.md": skill("b"), **suite_of("b", "b"),
    "deep/down/c/SKILL.md": skill("c"), **suite_of("c", "deep/evals/c"),
    ".github/skills/d/SKILL.md": skill("d"), **suite_of("d", ".github/skills/d"),
    ".hidden/e/SKILL.md": skill("e"), **suite_of("e", ".hidden/e"),
    "node_modules/f/SKILL.md": skill("f"), **suite_of("f", "node_modules/f"),
    "vendor/g/SKILL.md": skill("g"), **suite_of("g", "vendor/g"),
}  # fmt: skip


def test_discovery_lists_what_it_found_and_runs_it(tmp_path: Path):
    workspace(tmp_path / "tree", TREE)
    ended = waza("run", "--discover", "tree", "--no-save", cwd=tmp_path)
    assert ended.code == 0
    assert ended.err.splitlines()[:5] == [
        "Discovered 4 skills in tree",
        "  ✓ d: .github/skills/d/eval.yaml",
        "  ✓ a: a/tests/eval.yaml",
        "  ✓ b: b/eval.yaml",
        "  ✓ c: deep/evals/c/eval.yaml",
    ]
    assert ran(ended) == ["d", "a", "b", "c"]
    assert "MULTI-SKILL RUN SUMMARY" in ended.out
    here = waza("run", "--discover", "--no-save", "--strict", cwd=tmp_path / "tree")
    assert (here.code, ran(here)) == (0, ran(ended))


def test_a_skill_without_a_suite_is_an_error_only_if_strict(tmp_path: Path):
    workspace(tmp_path, {**TREE, "h/SKILL.md": skill("h")})
    loose = waza("run", "--discover", cwd=tmp_path)
    assert loose.code == 0
    assert "  ✗ h: no eval.yaml" in loose.err
    strict = waza("run", "--discover", "--strict", cwd=tmp_path)
    assert (strict.code, strict.out) == (2, "")
    assert strict.err.endswith("Error: skills without a suite: h; nothing was run (--strict)\n")
    assert ran(strict) == []


# --- which tasks ---

TASKS = {
    "a": "id: a:1\nname: Short words\ntags: [fast, words]\ninputs: {prompt: p}",
    "b": "id: a:2\nname: Long words\ntags: [slow, words]\ninputs: {prompt: p}",
    "c": "id: C:\\dir\\file\nname: A path/with [brackets]\ntags: ['1:2']\ninputs: {prompt: p}",
    "d": "id: d\nname: Übung 🎯\ninputs: {prompt: p}",
    "e": "id: off\nenabled: false\ninputs: {prompt: p}",
}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("words")
    said = "{type: text, name: said, config: {not_contains: [nothing of the kind]}}"
    mock_suite(root, TASKS, head=f"graders: [{said}]")
    return root


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--task", "a:1"], ["a:1"]),
        (["-t", "a:*"], ["a:1", "a:2"]),
        (["--task", "a:1", "-t", "d"], ["a:1", "d"]),
        (["--task", "*words"], ["a:1", "a:2"]),
        (["--task", "Long words"], ["a:2"]),
        (["--task", "A path/with [[]brackets]"], ["C:\\dir\\file"]),
        (["--task", "A path/with [brackets]"], ["C:\\dir\\file"]),
        (["--task", "C:\\dir\\file"], ["C:\\dir\\file"]),
        (["--task", "Übung ?"], ["d"]),
        (["--task", "a:[^1]"], ["a:2"]),
        (["--tags", "fast"], ["a:1"]),
        (["--tags", "*s*"], ["a:1", "a:2"]),
        (["--tags", "slow", "--tags", "1:2"], ["a:2", "C:\\dir\\file"]),
        (["--tags", "words", "--task", "a:2"], ["a:2"]),
        (["-k", "WORDS and not slow"], ["a:1"]),
        (["-k", "a:1 or übung"], ["a:1", "d"]),
        (["-k", "'long words' or \"[brackets]\""], ["a:2", "C:\\dir\\file"]),
        (["-k=not (words or übung)"], ["C:\\dir\\file"]),
        (["-k", "words", "--tags", "slow"], ["a:2"]),
    ],
)
def test_tasks_by_name_id_and_tag(words: Path, args: list[str], expected: list[str]):
    ended = waza("run", "eval.yaml", "--no-save", *args, cwd=words)
    assert ended.code == 0, ended.err
    count = f"{len(expected)} task{'s' if len(expected) > 1 else ''}"
    assert f"Selected: {count}\n" in ended.err
    listed = [line.rpartition("(")[2][:-1] for line in ended.err.splitlines() if line.startswith("  • ")]
    assert listed == expected
    assert ended.out.count("  passed  ") == len(expected)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--task", "typo"], "none matches --task typo"),
        (["--task", "off"], "none matches --task off"),
        (["--tags", "fast", "--task", "d"], "0 tasks selected"),
        (["--task", "["], "--task: "),
        (
            ["-k", "wrods and slow"],
            "none matches -k 'wrods and slow'; 'wrods' is in no id, name or tag: did you mean 'words'?",
        ),
        (["-k", "qqq"], "'qqq' is in no id, name or tag: tasks: a:1, a:2, C:\\dir\\file, d\n"),
        (["-k", "fast and slow"], "0 tasks selected: none matches -k 'fast and slow'\n"),
        (
            ["-k", "a b"],
            "-k: 'b' follows a text; join the two by 'and' or 'or', or quote them as one text; write texts",
        ),
        (
            ["-k", ""],
            "-k: the end is where a text belongs; write texts joined by and, or, not and parentheses",
        ),
    ],
)
def test_a_selection_of_nothing_is_no_success(words: Path, args: Sequence[str], said: str):
    ended = waza("run", "eval.yaml", *args, cwd=words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "100" not in ended.err


def test_a_pattern_without_a_match_is_a_warning_and_if_strict_an_error(words: Path):
    given = (
        "run",
        "eval.yaml",
        "--no-save",
        "--task",
        "a:1",
        "--task",
        "typo",
        "--tags",
        "fast",
        "--tags",
        "none",
    )
    loose = waza(*given, cwd=words)
    assert loose.code == 0
    assert "--task: warning: 'typo' matches no task" in loose.err
    assert "--tags: warning: 'none' matches no task" in loose.err
    strict = waza(*given, "--strict", cwd=words)
    assert (strict.code, strict.out) == (2, "")
    said = (
        "Error: --task: 'typo' matches no task; --tags: 'none' matches no task; nothing was run (--strict)\n"
    )
    disabled = (
        "eval.yaml:5:1: tasks: warning: 1 task is disabled: off; remove enabled: false to run what it is in\n"
    )
    assert strict.err == disabled + said


def test_all_tasks_switched_off(tmp_path: Path):
    mock_suite(tmp_path, {"e": TASKS["e"]})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert "0 tasks selected: all are disabled" in ended.err


def test_a_text_of_an_expression_that_is_nowhere_is_a_warning_and_if_strict_an_error(words: Path):
    given = ("run", "eval.yaml", "--no-save", "-k", "fast or fats")
    loose = waza(*given, cwd=words)
    assert loose.code == 0
    assert "-k: warning: 'fats' is in no id, name or tag; did you mean 'fast'?" in loose.err
    strict = waza(*given, "--strict", cwd=words)
    assert (strict.code, strict.out) == (2, "")
    assert strict.err.endswith("Error: -k: 'fats' is in no id, name or tag; nothing was run (--strict)\n")


def test_suites_without_a_task_that_is_meant_are_left_out_and_reported(tmp_path: Path):
    workspace(tmp_path, {**THREE, "evals/ada/t.yaml": "id: special\ninputs: {prompt: p}\n"})
    reports = (
        "-o",
        "r.json",
        "--reporter",
        "junit:j.xml",
        "--reporter",
        "junit:each/",
        "--reporter",
        "markdown:m.md",
    )
    ended = waza("run", "-k", "special", *reports, "--no-save", cwd=tmp_path)
    why = "none of its tasks matches -k special, so nothing of it was run"
    assert (ended.code, ran(ended)) == (0, ["ada"])
    assert f"skipping bob: {why}\n" in ended.err
    assert re.search(r"^bob +○ Left out +- +-$", ended.out, re.MULTILINE)
    assert strict_json((tmp_path / "r.json").read_bytes())["metadata"]["invocation"] == {
        "verdict": {"passed": True, "reasons": []},
        "without_suite": ["cy"],
        "left_out": [{"skill": "bob", "why": why}],
    }
    assert f'<skipped message="{why}"' in (tmp_path / "j.xml").read_text("utf-8")
    assert "| bob | ○ left out | - | - |" in (tmp_path / "m.md").read_text("utf-8")
    assert sorted(path.name.partition("_")[0] for path in (tmp_path / "each").iterdir()) == [
        "ada",
        "bob",
        "cy",
    ]
    nothing = waza("run", "-k", "speical", cwd=tmp_path)
    assert (nothing.code, nothing.out) == (2, "")
    assert nothing.err.endswith(
        "Error: no task of 2 suites matches -k speical; 'speical' is in no id, name or tag: did you mean 'special'?\n"
    )
    (tmp_path / "evals/ada/eval.yaml").write_text("a: [", encoding="utf-8")
    broken = waza("run", "-k", "speical", "-o", "r_bob.json", cwd=tmp_path)
    assert (broken.code, broken.out, (tmp_path / "r_bob.json").exists()) == (2, "", False)
    assert "evals/ada/eval.yaml:2:1: not valid YAML" in broken.err.replace(os.sep, "/")
    assert "Error: no task of 1 suite matches -k speical" in broken.err
