"""Claude Code plugin evals, imported and run: every grader reaches the verdict that it reaches in its own tool."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import waza, write_tree

from waza.kit import yaml

PLUGIN = {
    ".claude-plugin/plugin.json": '{"name": "shop"}',
    "skills/price-sorter/SKILL.md": "---\nname: price-sorter\ndescription: Sorts prices.\n---\nSort.\n",
    "skills/labels/SKILL.md": "---\nname: labels\ndescription: Makes labels.\n---\nMake.\n",
}


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args}


def calls(*names: str) -> dict[str, Any]:
    return {"output": "done", "tool_calls": [call(name) for name in names]}


def says(output: str) -> dict[str, Any]:
    return {"output": output}


def regex(pattern: str, flags: str = "", match: str = "contains", **more: Any) -> dict[str, Any]:
    return {"type": "regex", "pattern": pattern, "flags": flags, "match": match, **more}


def used(tool: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_used", "tool": tool, **more}


def order(before: Any, after: Any) -> dict[str, Any]:
    return {"type": "tool_order", "before": before, "after": after}


BRACES = '{{"{{"}}.Vars.x}}'  # two braces, and what would make a reference of them
FILE = {"source": "file", "path": "out.txt"}
SORTER = r'"skill"\s*:\s*"(?:[\w-]+:)?price-sorter"'
# What a grader looks for, what the agent does, and the verdict by the rules of the tool.
ROWS: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    (regex("mango"), says("a mango"), True),
    (regex("mango"), says("a Mango"), False),
    (regex("mango", "i"), says("a Mango"), True),
    (regex("^plum$", "m"), says("mango\nplum\n"), True),
    (regex("^plum$"), says("mango\nplum\n"), False),
    (regex("^plum", "m"), says("mango\rplum"), True),  # a line end in JavaScript, and none in RE2
    (regex("plum$", ""), says("plum\n"), False),
    (regex("a.b", "s"), says("a\nb"), True),
    (regex("a.b"), says("a\nb"), False),
    (regex("a.b"), says("a\rb"), False),
    (regex("a.b"), says("a😀b"), False),  # two signs in JavaScript
    (regex("a..b"), says("a😀b"), True),
    (regex("a.*b"), says("a😀b"), True),
    (regex("a\\sb"), says("a\u00a0b"), True),
    (regex("a(?=b)"), says("ab"), True),
    (regex("(a)\\1"), says("aa"), True),
    (regex("(a)\\1"), says("ab"), False),
    (regex("(?i)mango"), says("mango"), False),  # no pattern of JavaScript, so the grader throws
    (regex("(?i)mango", match="not_contains"), says("plum"), False),
    (regex("mango", match="not_contains"), says("plum"), True),
    (regex("mango", match="not_contains"), says("mango"), False),
    (regex("apple", "i", "count:2"), says("Apple, apple"), True),
    (regex("apple", "i", "count:2"), says("apple"), False),
    (regex("apple", "", "count:0"), says("plum"), True),
    (regex("a", "g", "count:1"), says("aa"), False),
    (regex("{{.Vars.x}}"), says(BRACES), True),  # text, and no template of waza
    (regex("\\{\\{\\.Vars\\.x\\}\\}"), says(BRACES), True),
    (regex("^mango", target=FILE), {"output": "", "files": [{"path": "out.txt", "content": "mango"}]}, True),
    (regex("^mango", target=FILE), {"output": "mango", "files": [{"path": "out.txt", "content": "plum"}]}, False),
    (regex("mango", match="not_contains", target=FILE), says("no file"), False),  # missing fails whatever match says
    (regex("mango", match="not_contains", target=FILE), {"output": "", "files": [{"path": "out.txt", "content": "x"}]}, True),
    (used("Read"), calls("Read"), True),
    (used("Read"), calls("view"), True),  # as Copilot calls it
    (used("Read"), calls("Write"), False),
    (used("Read"), {"output": "", "tool_calls": [{"name": "Read", "success": False}]}, True),  # failed calls count
    (used("Bash"), calls("bash"), True),
    (used("mcp__shop__find"), calls("mcp__shop__find"), True),
    (used("mcp__shop__find"), calls("mcp__shop__finder"), False),
    (used("Read", min=2), calls("Read"), False),
    (used("Read", min=2), calls("Read", "view"), True),
    (used("Read", max=1), calls("Read", "Read"), False),
    (used("Read", max=1), calls(), False),  # at least one, unless min says otherwise
    (used("Read", min=0, max=0), calls("Write"), True),
    (used("Read", min=0, max=0), calls("Read"), False),
    (used("Read", min=0, max=1), calls(), True),
    (used("Bash", input_match='"command":"git push'), {"output": "", "tool_calls": [call("Bash", command="git push")]}, True),
    (used("Bash", input_match='"command":"git push'), {"output": "", "tool_calls": [call("Bash", command="git pull")]}, False),
    (used("Bash", input_match="description"), {"output": "", "tool_calls": [call("Bash", command="ls")]}, False),
    (used("Skill", input_match=SORTER), {"output": "", "skills": ["price-sorter"]}, True),
    (used("Skill", input_match=SORTER), {"output": "", "skills": ["labels"]}, False),
    (used("Skill", input_match=SORTER, min=0, max=0), {"output": "", "skills": ["labels"]}, True),
    (used("Skill", input_match=SORTER, min=0, max=0), {"output": "", "skills": ["price-sorter"]}, False),
    (used("Skill", min=0, max=0), {"output": "", "skills": ["labels"]}, False),
    (used("Skill", min=0, max=0), {"output": "", "skills": []}, True),
    (used("Skill", min=2), {"output": "", "tool_calls": [call("Skill", skill="a"), call("skill", skill="b")]}, True),
    (order("Read", "Write"), calls("Read", "Write"), True),
    (order("Read", "Write"), calls("Write", "Read"), False),
    (order("Read", "Write"), calls("Write", "Read", "Write"), False),  # the first of each counts
    (order("Read", "Write"), calls("Read"), False),
    (order("Read", {"tool": "Write", "input_match": "sorted"}), {"output": "", "tool_calls": [call("Write", path="a"), call("Read"), call("Write", path="sorted")]}, True),
    ({"type": "file_exists", "path": "out.txt"}, {"output": "", "files": [{"path": "out.txt", "content": ""}]}, True),
    ({"type": "file_exists", "path": "out.txt"}, says("done"), False),
    ({"type": "file_exists", "path": "./out.txt", "exists": False}, says("done"), True),
    ({"type": "file_exists", "path": "out.txt", "exists": False}, {"output": "", "files": [{"path": "out.txt", "content": ""}]}, False),
    ({"type": "llm", "criteria": "Is it polite?"}, says("yes") | {"judge": {"check": [{"pass": "it is"}]}}, True),
    ({"type": "llm", "criteria": "Is it polite?"}, says("no") | {"judge": {"check": [{"fail": "it is not"}]}}, False),
]  # fmt: skip


def case(prompt: str, graders: dict[str, dict[str, Any]], keys: str = "runs: 1") -> dict[str, str]:
    files = {"prompt.md": f"---\n{keys}\n---\n{prompt}\n"}
    return files | {f"graders/{name}.md": f"---\n{json.dumps(keys)}\n---\n" for name, keys in graders.items()}


def plugin(root: Path, cases: dict[str, dict[str, str]], files: dict[str, str] | None = None) -> Path:
    tree = {f"evals/{name}/{path}": text for name, files in cases.items() for path, text in files.items()}
    return write_tree(root / "plugin", {**PLUGIN, **tree, **(files or {})})


def script(directory: Path, mocks: dict[str, dict[str, Any]]) -> None:
    """Give imported tasks what the mock does, by their ids."""
    for path in directory.rglob("tasks/*.yaml"):
        task: Any = yaml.to_plain(yaml.load(path.read_bytes()))
        if task["id"] in mocks:
            path.write_text(path.read_text("utf-8") + yaml.dump({"mock": mocks[task["id"]]}), "utf-8")


def tasks_of(directory: Path) -> dict[str, Any]:
    found: list[Any] = [
        yaml.to_plain(yaml.load(path.read_bytes())) for path in sorted(directory.rglob("tasks/*.yaml"))
    ]
    return {task["id"]: task for task in found}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_every_grader_reaches_its_verdict(tmp_path: Path) -> None:
    names = [f"case-{number:02}" for number in range(len(ROWS))]
    cases = {name: case("Go.", {"check": grader}) for name, (grader, _, _) in zip(names, ROWS, strict=True)}
    plugin(tmp_path, cases)
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "warning" not in done.err
    script(tmp_path / "made", {name: does for name, (_, does, _) in zip(names, ROWS, strict=True)})
    ended = waza("run", "made", "--executor", "mock", cwd=tmp_path)
    assert "Traceback" not in ended.err
    results = {task["test_id"]: task["runs"][0] for task in ended.results()["tasks"]}
    assert list(results) == names
    found = [(results[name]["validations"]["check"]["passed"], results[name]["status"]) for name in names]
    wrong = [
        (ROWS[i], results[names[i]])
        for i, one in enumerate(found)
        if one != (ROWS[i][2], "passed" if ROWS[i][2] else "failed")
    ]
    assert wrong == []


def test_weights_scores_and_graders_that_are_not_scored_without_the_plugin(tmp_path: Path) -> None:
    graders = {
        "heavy": regex("mango", weight=3),
        "light": regex("plum", weight=0.5),
        "fired": used("Skill", input_match=SORTER),
        "extra": regex("x", arm="with-only"),
        "scored": used("Skill", input_match="labels", arm="both"),
    }
    plugin(
        tmp_path,
        {
            "a": case("Go.", graders, "runs: 2"),
            "only": case("Go.", {"fired": used("Skill", input_match=SORTER)}, "runs: 2"),
        },
    )
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "not where cases run with the plugin and without it: extra, fired" in done.err
    skilled = {"output": "mango", "skills": ["price-sorter"]}
    script(tmp_path / "made", {"a": skilled, "only": skilled})
    result = waza("run", "made", "--executor", "mock", "--baseline", cwd=tmp_path).results()
    below = result["baseline_outcome"]
    first, second = result["tasks"]
    assert [len(task["runs"]) for task in (first, second)] == [2, 2]
    run = first["runs"][0]
    assert {name: one["passed"] for name, one in run["validations"].items()} == {
        "heavy": True, "light": False, "fired": True, "extra": False, "scored": False,
    }  # fmt: skip
    assert first["stats"]["avg_weighted_score"] == pytest.approx(4 / 6.5)
    assert sorted(below["tasks"][0]["runs"][0]["validations"]) == ["heavy", "light", "scored"]
    assert list(below["tasks"][1]["runs"][0]["validations"]) == [
        "fired"
    ]  # scored, since nothing else is left


def test_prompt_md_wins_over_case_yaml_and_graders_of_both_count(tmp_path: Path) -> None:
    both = {
        "case.yaml": yaml.dump(
            {
                "schema_version": "1.1",
                "name": "below",
                "description": "from below",
                "expected_outcome": "sorted",
                "tags": ["low"],
                "runs": 5,
                "surprise": 1,
                "execution": {
                    "prompt": "below",
                    "timeout_seconds": 60,
                    "model": "demo",
                    "env": {"EVAL_A": "1"},
                },
                "graders": [{"name": "first", "type": "regex", "pattern": "a"}],
            }
        ),
        "prompt.md": "---\nname: above\ntags: [high]\nruns: 1\n---\n\nabove {{.Vars.x}} {{ .TaskName }}\n",
        "graders/second.md": '---\ntype: llm\n---\nSay {{.Vars.x}} and {{"{{"}}\n',
    }
    plugin(tmp_path, {"folder": both})
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "case.yaml:8: key 'surprise': is not known" in done.err
    task = tasks_of(tmp_path / "made")["above"]
    assert task["description"] == "from below\n\nsorted"
    assert (task["tags"], task["timeout_seconds"], task["inputs"]["environment"]) == (
        ["high"],
        60,
        {"EVAL_A": "1"},
    )
    assert [(one["name"], one["type"]) for one in task["graders"]] == [
        ("first", "text"),
        ("second", "prompt"),
    ]
    suite: Any = yaml.to_plain(yaml.load((tmp_path / "made/eval.yaml").read_bytes()))
    assert (suite["config"]["model"], suite["config"]["trials_per_task"]) == ("demo", 1)
    script(tmp_path / "made", {"above": {"judge": {"second": [{"pass": "yes"}]}}})
    run = waza("run", "made", "--executor", "mock", cwd=tmp_path).results()["tasks"][0]["runs"][0]
    assert run["prompt"] == "\nabove {{.Vars.x}} {{ .TaskName }}\n"  # verbatim
    assert 'Say {{.Vars.x}} and {{"{{"}}' in run["validations"]["second"]["details"]["prompt"]


def test_cases_that_run_otherwise_are_suites_of_their_own(tmp_path: Path) -> None:
    grader = {"g": regex("a")}
    cases = {
        "x/a": case("A", grader),
        "x/b": case("B", grader, "runs: 2"),
        "y/a": case("C", grader),
        "c": case("D", grader, "model: demo\nruns: 1"),
    }
    plugin(tmp_path, cases)
    done = waza("import", "plugin", "-o", "made", "--json", cwd=tmp_path)
    made = json.loads(done.out)
    assert [(Path(one["path"]).as_posix(), one["tasks"]) for one in made["suites"]] == [
        ("made/runs-1-demo/eval.yaml", 1), ("made/runs-1-default-model/eval.yaml", 2), ("made/runs-2-default-model/eval.yaml", 1),
    ]  # fmt: skip
    assert sorted(tasks_of(tmp_path / "made")) == ["b", "c", "x-a", "y-a"]  # equal names: by their folders


def test_what_has_no_equal_is_named_and_stands_in_every_report(tmp_path: Path) -> None:
    graders = {
        "kept": regex("mango"),
        "glob": {"type": "file_exists", "path": "*.txt"},
        "trace": regex("x", target="trace"),
        "files": regex("x", target="files"),
        "mocked": regex("x", target="mock_calls"),
        "counted": regex("x", match="count:2", target=FILE),
        "ahead": regex("a(?=b)", target=FILE),
        "outside": regex("x", target={"source": "file", "path": "../x"}),
        "old": {"type": "baseline", "baseline_file": "ref.jsonl", "criteria": "as good"},
        "judged": {"type": "llm", "criteria": "c", "focus": "trace"},
        "there": {"type": "file_exists", "path": "data/a.txt"},
    }
    whole = {
        "case.yaml": yaml.dump(
            {"schema_version": "1.2", "name": "n", "execution": {"prompt": "p", "max_turns": 3, "allowed_tools": ["Read"]},
             "context": {"scaffold_script": "s.sh", "history_file": "h.jsonl", "add_dirs": ["data"]}, "runs": 1}
        ),
        "data/a.txt": "a",
        "s.sh": "echo x > made.txt",
    }  # fmt: skip
    files = case("x", graders)
    del files["prompt.md"]
    plugin(tmp_path, {"n": {**whole, **files}}, {"hooks/hooks.json": "{}", ".mcp.json": "{}"})
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)
    assert done.code == 0, done.err
    absent = [
        *sorted(graders.keys() - {"kept"}),
        "scaffold_script",
        "history_file",
        "its hooks",
        "its MCP servers",
    ]
    others = ["max_turns", "allowed_tools"]
    notes = (tmp_path / "made/IMPORT.md").read_text("utf-8")
    result = waza(
        "run",
        "made",
        "--executor",
        "mock",
        "--reporter",
        "junit:j.xml",
        "--reporter",
        "markdown:m.md",
        cwd=tmp_path,
    ).results()
    warnings = "\n".join(result["metadata"]["warnings"])
    junit, markdown = ((tmp_path / name).read_text("utf-8").replace("\\", "") for name in ("j.xml", "m.md"))
    for name in absent:
        for text in (done.err, notes.replace("\\", ""), warnings, markdown):
            assert name in text
        assert name in junit
    for name in others:
        assert f": {name}: " in done.err
    assert list(result["tasks"][0]["runs"][0]["validations"]) == ["kept"]


def test_scripts_run_only_with_consent_and_their_files_become_fixtures(tmp_path: Path) -> None:
    whole = {
        "case.yaml": yaml.dump(
            {"schema_version": "1.1", "name": "n", "runs": 1, "execution": {"prompt": "p"}, "context": {"scaffold_script": "s.sh"},
             "graders": [{"name": "top", "type": "regex", "pattern": "mango", "target": {"source": "file", "path": "d/p.txt"}}]}
        ),
        "s.sh": "set -e; touch ../ran 2>/dev/null || true; mkdir d; echo mango > d/p.txt; cat $(dirname $0)/case.yaml > /dev/null",
    }  # fmt: skip
    plugin(tmp_path, {"n": whole})
    assert "the script was not run" in waza("import", "plugin", "-o", "without", cwd=tmp_path).err
    assert not (tmp_path / "without/fixtures").exists()
    done = waza("import", "plugin", "-o", "made", "--scaffold", cwd=tmp_path)
    assert (done.code, "not run" in done.err) == (0, False), done.err
    fixtures = tmp_path / "made/fixtures/n"
    assert [path for path in fixtures.rglob("*") if path.is_file()] == [fixtures / "d/p.txt"]
    assert (fixtures / "d/p.txt").read_text() == "mango\n"
    assert waza("run", "made", "--executor", "mock", cwd=tmp_path).code == 0
    write_tree(tmp_path, {"plugin/evals/n/s.sh": "echo no >&2; exit 3"})
    failed = waza("import", "plugin", "-o", "other", "--scaffold", cwd=tmp_path)
    assert failed.code == 2
    assert "the script failed (exit status 3): no" in failed.err
    assert not (tmp_path / "other").exists()


GOOD = case("Go.", {"g": regex("a")})
BROKEN = {
    "unknown key": ({**GOOD, "prompt.md": "---\nrunz: 1\n---\nx"}, "prompt.md:2:1: runz: unknown key 'runz'"),
    "no grader": ({"prompt.md": "x"}, "the case has no grader"),
    "empty prompt": ({**GOOD, "prompt.md": "---\nruns: 1\n---\n \n"}, "the prompt is empty"),
    "runs": ({**GOOD, "prompt.md": "---\nruns: 51\n---\nx"}, "runs"),
    "type": ({**GOOD, "graders/g.md": "---\ntype: regexp\n---\n"}, "there is no grader type 'regexp'"),
    "grader key": ({**GOOD, "graders/g.md": "---\ntype: regex\npattern: a\nflag: i\n---\n"}, "unknown key 'flag'"),
    "weight": ({**GOOD, "graders/g.md": "---\ntype: regex\npattern: a\nweight: 0\n---\n"}, "the weight must be above 0"),
    "match": ({**GOOD, "graders/g.md": "---\ntype: regex\npattern: a\nmatch: count\n---\n"}, "'count' is no way to match"),
    "criteria": ({**GOOD, "graders/g.md": "---\ntype: llm\n---\n"}, "there are no criteria"),
    "version": ({"case.yaml": "schema_version: '2.0'\nname: n\ngraders: []\n", **GOOD}, "the version '2.0' is not known"),
    "no version": ({"case.yaml": "name: n\n", **GOOD}, "'schema_version' is missing"),
    "twice": ({"case.yaml": "schema_version: '1.1'\nname: n\ngraders: [{name: g, type: regex, pattern: a}]\n", **GOOD}, "several graders are called 'g'"),
    "variable": ({**GOOD, "prompt.md": "---\nenv: {PATH: x}\n---\nx"}, "the variable 'PATH' is not allowed"),
    "no plugin": ({**GOOD, "prompt.md": "---\nplugins: [../../..]\n---\nx"}, "the folder '../../..' is not a plugin"),
    "frontmatter": ({**GOOD, "prompt.md": "---\nruns: 1\n"}, "the frontmatter has no end"),
    "duplicate key": ({**GOOD, "prompt.md": "---\nruns: 1\nruns: 2\n---\nx"}, "duplicate key 'runs'"),
    "bomb": ({**GOOD, "graders/g.md": "---\na: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(8)) + "---\n"}, "aliases make this file larger"),
    "climbing": ({"case.yaml": "schema_version: '1.1'\nname: n\ncontext: {add_dirs: [../../../..]}\n", **GOOD}, "climbs with `..`"),
    "absolute": ({"case.yaml": "schema_version: '1.1'\nname: n\ncontext: {add_dirs: [/etc]}\n", **GOOD}, "the path '/etc' is absolute"),
}  # fmt: skip


def test_a_case_that_does_not_load_refuses_the_import_with_its_place(tmp_path: Path) -> None:
    plugin(
        tmp_path,
        {"good": GOOD, **{f"bad-{number:02}": files for number, (files, _) in enumerate(BROKEN.values())}},
    )
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert not (tmp_path / "made").exists()
    lines = done.err.splitlines()
    for number, (name, (_, message)) in enumerate(BROKEN.items()):
        assert [
            line for line in lines if f"bad-{number:02}" in line.replace("\\", "/") and message in line
        ], (name, done.err)
    assert not any("evals/good" in line for line in lines)


def test_links_and_manifests_with_mistakes_are_no_silent_gaps(tmp_path: Path) -> None:
    plugin(tmp_path, {"a": {**GOOD, "graders/notes.txt": "x"}}, {"elsewhere/b/prompt.md": "x"})
    done = waza("import", "plugin", "-o", "first", cwd=tmp_path)
    assert (done.code, "notes.txt: graders: is not a grader" in done.err) == (0, True), done.err
    (tmp_path / "plugin/evals/linked").symlink_to(tmp_path / "plugin/elsewhere")
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)
    assert (done.code, "evals/linked: is a link, which is not followed" in done.err) == (2, True)
    (tmp_path / "plugin/evals/linked").unlink()
    write_tree(tmp_path, {"plugin/.claude-plugin/plugin.json": '{"name": "shop",}'})
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)
    assert (done.code, "plugin.json:1:16: not valid JSON" in done.err) == (2, True), done.err
    write_tree(tmp_path, {"plugin/.claude-plugin/plugin.json": '{"name": "shop", "skills": "../elsewhere"}'})
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)
    assert (done.code, "there is no folder '../elsewhere' of skills in the plugin" in done.err) == (
        2,
        True,
    ), done.err
    write_tree(
        tmp_path,
        {
            "plugin/.claude-plugin/plugin.json": '{"name": "shop"}',
            "plugin/skills/labels/SKILL.md": "---\nname: [\n",
        },
    )
    shutil.rmtree(tmp_path / "plugin/skills/price-sorter")
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)  # the skill under test is broken
    assert (done.code, (tmp_path / "made").exists(), "Traceback" in done.err) == (2, False, False), done.err


def test_a_program_as_the_agent(tmp_path: Path) -> None:
    graders = {
        "top": regex("^mango", "m"),
        "made": {"type": "file_exists", "path": "out.txt"},
        "in": regex("plum", target=FILE),
    }
    cases = {"good": case("Sort well.", graders), "bad": case("Sort badly.", graders)}
    agent = (
        "import pathlib, sys\nwell = 'well' in sys.stdin.read()\n"
        "print('sorted:\\nmango' if well else 'plum')\n"
        "pathlib.Path('out.txt' if well else 'other.txt').write_text('mango plum')\n"
    )
    plugin(tmp_path, cases, {"agent.py": agent})
    ended = waza(
        "run", "plugin", "--executor", f"command:python3 {tmp_path / 'plugin/agent.py'}", cwd=tmp_path
    )
    assert ended.code == 1, ended.err
    found = {
        task["test_id"]: {name: one["passed"] for name, one in task["runs"][0]["validations"].items()}
        for task in ended.results()["tasks"]
    }
    assert found == {name: dict.fromkeys(sorted(graders), name == "good") for name in ("bad", "good")}


def test_run_takes_a_plugin_its_evals_and_a_case(tmp_path: Path) -> None:
    grader = {"g": regex("Go")}
    plugin(tmp_path, {"a": case("Go.", grader), "group/b": case("Go.", grader, "runs: 2")})
    for target, tasks in (
        ("plugin", 2),
        ("plugin/evals", 2),
        ("plugin/evals/group/b", 1),
        ("plugin/evals/a/prompt.md", 1),
    ):
        ended = waza("run", target, "--executor", "mock", "--json", cwd=tmp_path)
        assert ended.code == 0, ended.err
        found = json.loads(ended.out)
        results = found if isinstance(found, list) else [found]
        assert sum(len(one["tasks"]) for one in results) == tasks
        assert all(one["skill"] == "" for one in results)
    assert "Claude Code plugin evals; imported into" in ended.err


def test_a_plugin_whose_skills_are_tested_elsewhere_as_well_is_not_run_by_half(tmp_path: Path) -> None:
    plugin(tmp_path, {"a": case("Go.", {"g": regex("Go")})})
    body = "---\nname: hello\ndescription: d\n---\nHi.\n"
    suite = "name: other\nskill: hello\nconfig: {executor: mock, skill_directories: [../../skills]}\ntasks: [t.yaml]\n"
    files = {
        "plugin/skills/hello/SKILL.md": body,
        "skills/hello/SKILL.md": body,
        "evals/hello/eval.yaml": suite,
        "evals/hello/t.yaml": "id: t\ninputs: {prompt: p}\n",
    }
    write_tree(tmp_path, files)
    own = waza("run", "plugin", "--executor", "mock", "--json", cwd=tmp_path)
    assert (own.code, len(json.loads(own.out)["tasks"]), "imported into" in own.err) == (0, 1, True), own.err
    write_tree(tmp_path, {"evals/hello/eval.yaml": suite.replace("../../skills", "../../plugin/skills")})
    for target in ("plugin", "./plugin"):
        both = waza("run", target, "--executor", "mock", cwd=tmp_path)
        assert both.code == 2
        assert (
            f"evals of its own in {Path(target, 'evals')}, and its skills, which are tested with " in both.err
        )
        assert f"{Path('evals/hello/eval.yaml')}; name the one that is meant" in both.err
    assert waza("run", "plugin/evals", "--executor", "mock", "--no-save", cwd=tmp_path).code == 0


def test_mocked_tools_with_a_fixed_answer_are_mocked_here_too(tmp_path: Path) -> None:
    shared = {
        "evals/mocks/tracker/find.md": '{"state": "open"}\n',
        "evals/mocks/tracker/close.md": "---\nerror: true\n---\nnot allowed\n",
        "evals/mocks/tracker/echo.md": "You said {{input.text}}\n",
        "evals/mocks/tracker/ask.md": "---\ntype: agent\n---\nPlay the tracker.\n",
        "evals/mocks/tracker/_server.md": "tools: [x]\n",
        "evals/mocks/wiki/read.md": "a text\n",
    }
    own = {**GOOD, "mocks/tracker/find.md": '{"state": "closed"}\n'}
    plugin(tmp_path, {"a": GOOD, "b": own}, shared)
    done = waza("import", "plugin", "-o", "made", cwd=tmp_path)
    assert done.code == 0, done.err
    first, second = (tasks_of(tmp_path / "made")[name] for name in ("a", "b"))
    wiki = {"name": "wiki", "tools": {"read": {"responses": [{"return": "a text"}]}}}
    closing = {"close": {"responses": [{"error": "not allowed"}]}}
    answers = [{"find": {"responses": [{"return": {"state": state}}]}} for state in ("open", "closed")]
    assert first["mcp_mocks"] == [{"name": "tracker", "tools": {**closing, **answers[0]}}, wiki]
    assert second["mcp_mocks"] == [{"name": "tracker", "tools": {**closing, **answers[1]}}, wiki]
    for what in ("tracker/echo", "tracker/ask", "tracker/_server"):
        assert any(what in caveat for caveat in first["caveats"])
        assert f"mock {what}: " in done.err


UNFINISHED: dict[str, tuple[dict[str, str], str]] = {
    "without-graders": ({"prompt.md": "Say hello."}, "the case has no grader; add graders/NAME.md"),
    "without-keys": ({"case.yaml": "name: n\n"}, "schema_version"),
}


@pytest.mark.parametrize("name", UNFINISHED)
def test_what_an_unfinished_case_lacks_is_named_when_there_is_no_other(tmp_path: Path, name: str) -> None:
    files, message = UNFINISHED[name]
    plugin(tmp_path, {name: files})
    for words in (["import", "plugin", "-o", "made"], ["import", f"plugin/evals/{name}", "-o", "made"]):
        done = waza(*words, cwd=tmp_path)
        assert (done.code, message in done.err, name in done.err) == (2, True, True), done.err
        assert "nothing that waza knows" not in done.err
    assert not (tmp_path / "made").exists()


def test_the_smallest_case_of_the_documentation_is_imported(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/import.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```markdown title=\"evals/greet/(.+?)\"\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    write_tree(tmp_path, {f"evals/greet/{name}": content for name, content in blocks})
    done = waza("import", "evals", "-o", "made", cwd=tmp_path)
    assert done.code == 0, done.err
    assert (tmp_path / "made/tasks/1-greet.yaml").is_file()
