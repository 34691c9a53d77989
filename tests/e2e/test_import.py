"""`waza import`: Agent Skills evals and trigger queries become suites that run; nothing of them is left out in silence."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, waza, write_tree

from waza.kit import yaml

SAMPLES = Path(__file__).parents[1] / "data/foreign"
SKILL = "---\nname: price-sorter\ndescription: Sorts prices.\n---\nSort.\n"
FILES = {"evals/files/prices.csv": "mango,3.20\n", "evals/files/ties.csv": "pear,1\n"}


def skill(root: Path, evals: Any, **more: str) -> Path:
    """Write a skill with evals; return the file of the evals."""
    text = evals if isinstance(evals, str) else json.dumps(evals)
    write_tree(root / "price-sorter", {"SKILL.md": SKILL, **FILES, "evals/evals.json": text, **more})
    return root / "price-sorter/evals/evals.json"


def read(path: Path) -> Any:
    return yaml.to_plain(yaml.load(path.read_bytes()))


def tasks_of(directory: Path) -> list[Any]:
    return [read(path) for path in sorted(directory.glob("tasks/*.yaml"))]


def add(path: Path, keys: dict[str, Any]) -> None:
    path.write_text(path.read_text("utf-8") + yaml.dump(keys), "utf-8")


def imported(root: Path, *args: str | Path) -> Ended:
    done = waza("import", *args, "-o", "made", cwd=root)
    assert done.code == 0, done.err
    return done


def test_evals_of_a_skill_become_tasks_with_a_judge_for_each_statement(tmp_path: Path) -> None:
    evals = skill(
        tmp_path, (SAMPLES / "agent-skills/evals.full.json").read_text(), **{"evals/files/empty.csv": ""}
    )
    done = imported(tmp_path, evals)
    assert done.out.startswith("made: 1 suite with 3 tasks, made of Agent Skills evals")
    suite = read(tmp_path / "made/eval.yaml")
    assert suite | {"caveats": 0} == {
        "schemaVersion": "1.4",
        "name": "price-sorter-evals",
        "skill": "price-sorter",
        "baseline": True,
        "config": {"trials_per_task": 1, "skill_directories": ["../price-sorter"]},
        "caveats": 0,
        "tasks": ["tasks/*.yaml"],
    }
    first, second, third = tasks_of(tmp_path / "made")
    assert (first["id"], first["name"], first["description"]) == (
        "eval-1", "Sort prices.csv by price.", "A table, dearest first.",
    )  # fmt: skip
    assert first["inputs"] == {"prompt": "Sort prices.csv by price.", "files": [{"path": "prices.csv"}]}
    assert (tmp_path / "made/fixtures/prices.csv").read_text() == "mango,3.20\n"
    assert [one["name"] for one in first["graders"]] == ["expectation_1", "expectation_2"]
    assert (second["name"], third["name"]) == ("ties", "empty-file")
    assert [one["name"] for one in third["graders"]] == ["says-empty", "no-table", "polite"]
    assert "Statement:\nThe reply says that the file has no rows" in third["graders"][0]["config"]["prompt"]


def test_a_pass_rate_is_the_score(tmp_path: Path) -> None:
    imported(tmp_path, skill(tmp_path, {"skill_name": "price-sorter", "evals": [
        {"id": 7, "prompt": "Sort.", "expectations": ["one", "two", "three", "four"]},
        {"id": 8, "prompt": "Sort.", "expected_output": "Names mango."},
    ]}))  # fmt: skip
    passes = {f"expectation_{number}": [{"pass": "yes"}] for number in (1, 2, 3)}
    add(
        tmp_path / "made/tasks/1-eval-7.yaml",
        {"mock": {"judge": {**passes, "expectation_4": [{"fail": "no"}]}}},
    )
    add(tmp_path / "made/tasks/2-eval-8.yaml", {"mock": {"judge": {"expected_output": [{"pass": "yes"}]}}})
    ended = waza("run", "made", "--executor", "mock", cwd=tmp_path)
    assert ended.code == 1
    first, second = ended.results()["tasks"]
    assert (first["test_id"], first["stats"]["avg_score"]) == ("eval-7", 0.75)
    assert second["status"] == "passed"
    warnings = "\n".join(ended.results()["metadata"]["warnings"])
    assert "the judge sees the reply and the workspace, and not what the agent did" in warnings


def test_one_judge_for_all_statements_of_an_eval(tmp_path: Path) -> None:
    imported(
        tmp_path,
        skill(tmp_path, {"evals": [{"prompt": "Sort.", "assertions": ["one", "two"]}]}),
        "--one-judge",
    )
    [task] = tasks_of(tmp_path / "made")
    [grader] = task["graders"]
    assert grader["config"]["prompt"].endswith("Statements:\n1. one\n2. two")


def test_texts_stay_as_they_are(tmp_path: Path) -> None:
    prompt = 'Fill {{.Vars.x}}, {{ .TaskName }}, {{- .Attempt -}}, {{"{{"}}, {{#each}}, ${{ env.X }} in 😀\r\nnext\ttab \n'
    evals = {"evals": [{"id": "ä/ö", "name": "näme", "prompt": prompt, "expectations": [f"Says {prompt}"]}]}
    path = skill(tmp_path, "\ufeff" + json.dumps(evals, indent=1).replace("\n", "\r\n"))
    imported(tmp_path, path)
    [file] = (tmp_path / "made/tasks").iterdir()
    add(file, {"mock": {"output": "done", "judge": {"expectation_1": [{"pass": "yes"}]}}})
    ended = waza("run", "made", "--executor", "mock", cwd=tmp_path)
    [task] = ended.results()["tasks"]
    assert (task["test_id"], task["display_name"]) == ("eval-ä/ö", "näme")
    assert task["runs"][0]["prompt"] == prompt
    assert (
        f"Statement:\nSays {prompt.strip()}"
        in task["runs"][0]["validations"]["expectation_1"]["details"]["prompt"]
    )


def test_what_is_not_understood_is_named(tmp_path: Path) -> None:
    evals = {
        "skill_name": "other",
        "version": 2,
        "evals": [
            {
                "id": 1,
                "prompt": "A",
                "expectations": ["x", "x"],
                "checks": ["y"],
                "must_not": ["y"],
                "note": "z",
            },
            {"id": 2, "prompt": "B"},
            {
                "id": 3,
                "prompt": "C",
                "assertions": [{"text": "a", "check": "b", "description": "a", "kind": "c"}],
            },
        ],
    }
    done = imported(tmp_path, skill(tmp_path, evals))
    notes = (tmp_path / "made/IMPORT.md").read_text("utf-8").replace("\\", "")
    for what in (
        "key 'version': is not known",
        "key 'checks': is not known",
        "key 'note': is not known",
        "eval-2: has neither statements nor an expected output",
        "skill_name: is 'other', and the skill there is called 'price-sorter', which is tested",
    ):
        assert what in done.err
        assert what in notes
    assert [line for line in done.err.splitlines() if line.startswith("warning") and "'checks'" in line]
    caveats = "\n".join(read(tmp_path / "made/eval.yaml")["caveats"])
    assert "key 'checks'" in caveats
    assert "eval-2" in caveats
    assert "key 'must_not'" in caveats
    assert "key 'kind'" in caveats  # of a statement
    assert "key 'note'" not in caveats
    tasks = tasks_of(tmp_path / "made")
    assert [len(task["graders"]) for task in tasks] == [1, 0, 1]
    assert tasks[2]["graders"][0]["config"]["prompt"].endswith("Statement:\na\nb")


def test_without_a_skill_the_name_is_a_label(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {"e.json": json.dumps({"skill_name": "ghost", "evals": [{"prompt": "A", "expectations": ["x"]}]})},
    )
    done = imported(tmp_path, "e.json")
    assert "no SKILL.md is near the file" in done.err
    suite = read(tmp_path / "made/eval.yaml")
    assert (suite["skill"], suite["config"]["skill_required"], "baseline" in suite) == ("ghost", False, False)
    shutil.rmtree(tmp_path / "made")
    skill(tmp_path, "[]")
    imported(tmp_path, "e.json", "--skill", "price-sorter")
    assert read(tmp_path / "made/eval.yaml")["skill"] == "price-sorter"
    assert waza("import", "e.json", "-o", "third", "--skill", "gone", cwd=tmp_path).code == 2


WRONG = {
    "[": "there is no file or directory",
    '{"evals": [': "evals.json:1:12: not valid JSON",
    '{"evals": []}': "nothing that waza knows",
    '{"evals": [{"id": 1, "prompt": ""}]}': "the prompt is empty",
    '{"evals": [{"id": 1}, {"prompt": "A"}]}': "'prompt' is missing",
    '{"evals": [{"id": 1, "prompt": "A"}, {"id": 1, "prompt": "B"}]}': "duplicate id '1'",
    '{"evals": [{"prompt": "A", "prompt": "B"}]}': "duplicate key 'prompt'",
    '{"evals": [{"prompt": "A", "expectations": "x"}]}': "must be a list",
    '{"evals": [{"prompt": "A", "expectations": [""]}]}': "the statement is empty",
    '{"evals": [{"prompt": "A", "expectations": [{"name": "n"}]}]}': "the statement is empty",
    '{"evals": [{"prompt": "A", "files": ["gone.csv"]}]}': "evals.json:1:38: the file 'gone.csv': there is no such file",
    '{"evals": [{"prompt": "A", "files": ["../secret"]}]}': "the path '../secret' climbs with `..`",
    '{"evals": [{"prompt": "A", "files": ["/etc/passwd"]}]}': "is absolute",
    '{"evals": [{"prompt": "A", "files": ["C:\\\\x"]}]}': "is absolute",
    '{"evals": [{"prompt": "A", "files": ["evals/files/link"]}]}': "leads out of its folder",
    '{"evals": [{"prompt": "A", "files": ["evals/files/pipe"]}]}': "cannot be read",
    '{"evals": [{"prompt": "A", "files": ["evals"]}]}': "cannot be read",
    '{"evals": [{"prompt": "A", "files": ["evals/files/huge"]}]}': "is larger than 256 MB",
}  # fmt: skip


def test_mistakes_are_reported_with_their_places_and_nothing_is_written(tmp_path: Path) -> None:
    evals = skill(tmp_path, "")
    (tmp_path / "secret").write_text("s")
    (evals.parent / "files/link").symlink_to(tmp_path / "secret")
    os.mkfifo(evals.parent / "files/pipe")
    with (evals.parent / "files/huge").open("wb") as file:
        file.truncate(300 * 2**20)  # a sparse file
    for text, message in WRONG.items():
        if text != "[":
            evals.write_text(text, "utf-8")
        done = waza("import", evals if text != "[" else "gone.json", "-o", "made", cwd=tmp_path)
        assert (done.code, "Traceback" in done.err) == (2, False), done.err
        assert message in done.err, (text, done.err)
        assert not (tmp_path / "made").exists()


def test_trigger_queries_become_trigger_tests(tmp_path: Path) -> None:
    queries = [
        {"query": "put in order {{.Vars.x}}", "should_trigger": True, "why": "x"},
        {"query": "weather", "should_trigger": False},
        {"query": "weather", "should_trigger": False},
        {"query": "dearest?", "should_trigger": True},
        {"query": "rain", "should_trigger": False},
    ]
    skill(tmp_path, "", **{"evals/queries.json": json.dumps(queries)})
    done = imported(tmp_path, "price-sorter/evals/queries.json")
    for what in ("key 'why'", "runs: each query is asked once", "equal queries", "pass mark"):
        assert what in done.err
    assert read(tmp_path / "made/trigger_tests.yaml") == {
        "skill": "price-sorter",
        "should_trigger_prompts": [{"prompt": "put in order {{.Vars.x}}"}, {"prompt": "dearest?"}],
        "should_not_trigger_prompts": [{"prompt": "weather"}, {"prompt": "rain"}],
    }
    fired = {"put in order {{.Vars.x}}": True, "dearest?": False, "weather": False, "rain": True}
    add(tmp_path / "made/eval.yaml", {"mock": {"triggers": fired}})
    ended = waza("run", "made", "--executor", "mock", cwd=tmp_path)
    assert ended.code == 1
    counts = ended.results()["trigger_metrics"]
    names = ("true_positives", "false_negatives", "true_negatives", "false_positives")
    assert [counts[name] for name in names] == [1, 1, 1, 1]
    assert ended.results()["metadata"]["verdict"]["reasons"] == [
        "gate trigger_accuracy: 0.50, at least 1.00 is required"
    ]
    contrary = [{"query": "a", "should_trigger": True}, {"query": "a", "should_trigger": False}]
    skill(tmp_path, "", **{"evals/queries.json": json.dumps(contrary)})
    refused = waza("import", "price-sorter/evals/queries.json", "-o", "other", cwd=tmp_path)
    assert (refused.code, "should trigger, and should not" in refused.err) == (2, True)


def test_the_directory_of_a_skill_is_one_suite(tmp_path: Path) -> None:
    queries = json.dumps([{"query": "sort", "should_trigger": True}])
    evals = {"evals": [{"prompt": "A", "expectations": ["x"]}]}
    skill(tmp_path, evals, **{"evals/zz.json": queries, "evals/other.json": '{"key": 1}'})
    imported(tmp_path, "price-sorter")
    assert len(tasks_of(tmp_path / "made")) == 1
    assert read(tmp_path / "made/trigger_tests.yaml")["should_trigger_prompts"] == [{"prompt": "sort"}]
    assert "other.json: file: is not imported" in (tmp_path / "made/IMPORT.md").read_text("utf-8")
    skill(tmp_path, '{"evals": [')  # beside queries that can be read
    refused = waza("import", "price-sorter", "-o", "other", cwd=tmp_path)
    assert (refused.code, "evals.json:1:12: not valid JSON" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("promptfoo.json", (SAMPLES.parent / "foreign/agent-skills/site-layout/grading.json").read_text(), "the grading of an Agent Skills eval"),
        ("evals.json", '{"schemaVersion": "1.0", "items": [{"prompt": "x"}]}', "a Microsoft 365 evaluation document"),
        ("x.json", '{"evalId": "e", "results": {"results": []}}', "the results of promptfoo"),
        ("x.json", '{"version": 2, "status": "success", "eval": {"task": "t"}}', "a log of Inspect"),
        ("eval.yaml", "name: x\ntasks: [a]\n", "a suite of waza"),
        ("x.md", "text", "nothing that waza knows"),
    ],
)  # fmt: skip
def test_what_is_not_imported_is_named(name: str, text: str, what: str, tmp_path: Path) -> None:
    write_tree(tmp_path, {name: text})
    done = waza("import", name, "-o", "made", cwd=tmp_path)
    assert done.code == 2
    assert f"{name} is {what}" in done.err
    assert (
        "waza import takes Agent Skills evals, a list of trigger queries, Claude Code plugin evals"
        in done.err
    )


def test_nothing_is_written_over(tmp_path: Path) -> None:
    evals = skill(tmp_path, {"evals": [{"prompt": "A", "expectations": ["x"]}]})
    write_tree(tmp_path, {"made/keep.txt": "mine"})
    done = waza("import", evals, "-o", "made", cwd=tmp_path)
    assert (done.code, "made is not empty" in done.err) == (2, True)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["keep.txt"]
    (tmp_path / "made/keep.txt").unlink()
    made = json.loads(waza("import", evals, "-o", "made", "--json", cwd=tmp_path).out)
    assert (made["kind"], made["suites"]) == (
        "agent-skills",
        [{"path": str(Path("made/eval.yaml")), "tasks": 1}],
    )
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".waza-import")]


def imports_of(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".waza/imported").iterdir())


def test_run_imports_into_the_project_and_finds_it_again(tmp_path: Path) -> None:
    evals = {
        "skill_name": "price-sorter",
        "evals": [{"prompt": "A", "expectations": ["x"], "checks": ["y"], "note": 1}],
    }
    write_tree(tmp_path, {".waza.yaml": "paths: {skills: skills/}\n", "below/keep": ""})
    path = skill(tmp_path, evals)
    first = waza("run", "price-sorter/evals/evals.json", "--executor", "mock", cwd=tmp_path)
    assert first.code == 1  # the judge of the mock has no script
    [name] = imports_of(tmp_path)
    assert name.startswith("price-sorter-")
    assert f"is Agent Skills evals; imported into {Path('.waza/imported', name)}" in first.err
    assert "note: price-sorter/evals/evals.json:1:" in first.err.replace("\\", "/")
    warnings = "\n".join(first.results()["metadata"]["warnings"])
    for text in (first.err, first.out, warnings):
        assert "key 'checks': is not known, and is left out" in text
    assert (tmp_path / ".waza/.gitignore").read_text() == "*\n"
    again = waza(
        "run", "price-sorter", "--executor", "mock", "--resume", cwd=tmp_path
    )  # its directory, and its name
    named = waza("run", "../price-sorter/SKILL.md", "--executor", "mock", cwd=tmp_path / "below")
    assert (again.code, named.code, imports_of(tmp_path)) == (1, 1, [name])
    assert (
        len(list((tmp_path / ".waza/runs").glob("*/results.json"))) == 2
    )  # the second call resumed the first one
    path.write_text(path.read_text().replace('"A"', '"B"'))
    assert waza("run", "price-sorter", "--executor", "mock", cwd=tmp_path).code == 1
    assert len(imports_of(tmp_path)) == 2
    path.write_text(path.read_text().replace('"B"', '"A"'))
    task = next((tmp_path / ".waza/imported" / name / "tasks").iterdir())
    task.write_text(task.read_text().replace("prompt: A", "prompt: C"))
    refused = waza("run", "price-sorter", "--executor", "mock", cwd=tmp_path)
    assert (refused.code, f"{name} was changed since it was imported" in refused.err) == (2, True)
    assert "waza import price-sorter -o DIR" in refused.err
    assert "move it" not in refused.err  # the paths in it are relative
    assert waza("import", "price-sorter", "-o", "own", cwd=tmp_path).code == 0
    assert waza("run", "own", "--executor", "mock", cwd=tmp_path).code == 1


def test_run_takes_no_other_files_and_only_run_imports(tmp_path: Path) -> None:
    skill(tmp_path, {"evals": [{"prompt": "A", "expectations": ["x"]}]})
    write_tree(
        tmp_path, {"x.json": '{"evalId": "e", "results": {"results": []}}', "q.json": '[{"query": "a"'}
    )
    ended = waza("run", "x.json", cwd=tmp_path)
    assert (ended.code, "x.json is the results of promptfoo, and not a suite" in ended.err) == (2, True)
    assert waza("run", "q.json", cwd=tmp_path).code == 2
    ended = waza("preflight", "price-sorter", cwd=tmp_path)
    assert (ended.code, "waza import price-sorter -o DIR" in ended.err) == (2, True)
    assert waza("run", "price-sorter", "--warnings-as-errors", "--executor", "mock", cwd=tmp_path).code == 2
    assert not (tmp_path / ".waza/runs").exists()
