"""`waza experiment`: plans, collections and decisions; what was changed is refused with the place."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.live import Project
from tests.support.program import Ended, command, environment, mock_suite, strict_json, waza, write_tree

GRADER = "graders: [{type: text, name: says, config: {contains: [one, two]}}]"
TASKS = 6


def suite(root: Path, name: str, *outputs: str, tasks: int = TASKS, more: str = "") -> None:
    """Write a suite whose tasks answer with these outputs in turn."""
    mock_suite(
        root / name,
        {
            f"t{i}": f"inputs: {{prompt: p}}\nmock: {{output: {outputs[i % len(outputs)]}}}\n{more}"
            for i in range(tasks)
        },
        GRADER,
    )


SEQUENTIAL = ("--rule", "sequential", "--alpha", "0.4", "--tolerated-loss", "0.9")


def experiment(root: Path, *args: str) -> Ended:
    return waza("experiment", *args, cwd=root)


def plan(root: Path, *args: str, allow: str = "mocks") -> Ended:
    suites = ("--baseline-eval", "old/eval.yaml", "--candidate-eval", "new/eval.yaml")
    return experiment(root, "plan", *suites, "--allow-change", allow, "-o", "plan.json", "--seed", "7", *args)


def collected(root: Path, *args: str) -> Path:
    """Plan and collect; return the directory."""
    assert plan(root, *args).code == 0
    ended = experiment(root, "collect", "plan.json", "-o", "ex")
    assert ended.code == 0, ended.err
    return root / "ex"


@pytest.fixture(scope="module")
def better(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection in which every task of the candidate is better."""
    root = tmp_path_factory.mktemp("better")
    suite(root, "old", "one")
    suite(root, "new", "one two")
    collected(root)
    return root


@pytest.fixture
def copy(better: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(better, tmp_path / "copy"))


# --- plans ---


def test_the_arms_differ_in_what_is_allowed_and_in_nothing_else(tmp_path: Path):
    suite(tmp_path, "old", "one")
    suite(tmp_path, "new", "one two")
    other = (tmp_path / "new" / "eval.yaml").read_text(encoding="utf-8")
    for allow, change, message in (
        ("model", "", "the arms differ in mocks, which --allow-change does not name"),
        ("mocks", "contains: [one]", "the arms differ in graders, which --allow-change does not name"),
    ):
        text = other.replace("contains: [one, two]", change) if change else other
        (tmp_path / "new" / "eval.yaml").write_text(text, encoding="utf-8")
        ended = plan(tmp_path, allow=allow)
        assert (ended.code, message in ended.err) == (2, True), ended.err
    (tmp_path / "new" / "eval.yaml").write_text(other, encoding="utf-8")
    ended = plan(tmp_path, "--allow-change", "hooks")
    assert "the arms do not differ in hooks" in ended.err
    assert not (tmp_path / "plan.json").exists()
    assert plan(tmp_path).code == 0
    again = plan(tmp_path)
    assert again.code == 2
    assert "plan.json exists" in again.err


def test_tasks_are_paired_and_enough_to_decide(tmp_path: Path):
    suite(tmp_path, "old", "one", tasks=4)
    suite(tmp_path, "new", "one two", tasks=5)
    assert "only one arm has these: t4" in plan(tmp_path).err
    (tmp_path / "new" / "tasks" / "t4.yaml").unlink()
    assert "4 units (each a task) cannot decide at alpha 0.05" in plan(tmp_path).err
    assert "the fixed rule cannot test a tolerated loss" in plan(tmp_path, "--tolerated-loss", "0.1").err
    assert plan(tmp_path, "--alpha", "0.1").code == 0


def test_the_order_is_drawn_with_the_seed_and_interleaves_the_arms(better: Path):
    made = strict_json((better / "plan.json").read_bytes())
    assert sorted(task for block in made["blocks"] for task in block["tasks"]) == [
        f"t{i}" for i in range(TASKS)
    ]
    assert {tuple(sorted(block["order"])) for block in made["blocks"]} == {("baseline", "candidate")}
    lines = [json.loads(line) for line in (better / "ex" / "collection.ndjson").read_text().splitlines()]
    ran = [(line["collected"]["block"], line["collected"]["arm"]) for line in lines if "collected" in line]
    assert ran == [(i, arm) for i, block in enumerate(made["blocks"]) for arm in block["order"]]
    assert list(lines[-1]["ended"].values()) == ["all is collected"]


def test_a_changed_plan_is_refused_with_the_place(copy: Path):
    path = copy / "plan.json"
    whole = path.read_text(encoding="utf-8")
    for old, new, place in (
        ('"alpha": 0.05', '"alpha": 0.5', "rule"),
        ('"trials": 1', '"trials": 2', "trials"),
        ('"allowed": [\n    "mocks"\n  ]', '"allowed": [\n    "mocks",\n    "graders"\n  ]', "allowed"),
        ('"golden": []', '"golden": [], "more": 1', "more"),
    ):
        assert old in whole
        path.write_text(whole.replace(old, new), encoding="utf-8")
        ended = experiment(copy, "collect", "plan.json", "-o", "other")
        assert ended.code == 2
        line = next(
            i
            for i, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            if f'"{place}"' in text
        )
        assert f"plan.json:{line}:" in ended.err, ended.err
        assert f" {place}: was changed after the plan was sealed" in ended.err
        assert not (copy / "other").exists()


# --- collections ---


def test_an_arm_that_changed_since_the_plan_is_not_collected(copy: Path):
    made = json.loads((copy / "plan.json").read_text(encoding="utf-8"))
    task = Path(made["candidate"]["suite"]).parent / "tasks" / "t1.yaml"
    before = task.read_text(encoding="utf-8")
    try:
        task.write_text(before.replace("prompt: p", "prompt: q"), encoding="utf-8")
        ended = experiment(copy, "collect", "plan.json", "-o", "other")
    finally:
        task.write_text(before, encoding="utf-8")
    assert ended.code == 2
    assert "the candidate changed since the plan was sealed (tasks)" in ended.err


def test_nothing_is_overwritten_and_another_plan_does_not_go_on(copy: Path):
    assert "ex exists" in experiment(copy, "collect", "plan.json", "-o", "ex").err
    (copy / "ex" / "plan.json").write_text("{}", encoding="utf-8")
    ended = experiment(copy, "collect", "plan.json", "-o", "ex", "--resume")
    assert ended.code == 2
    assert "ex is the collection of another plan" in ended.err


def test_a_collection_that_was_cut_off_is_not_admitted_and_goes_on(copy: Path):
    ledger = copy / "ex" / "collection.ndjson"
    whole = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(whole[:-2]) + whole[-2][:20])  # killed while it wrote that a run is collected
    ended = experiment(copy, "decide", "ex")
    assert (ended.code, ended.out) == (2, "")
    assert "1 run of the plan are missing" in ended.err.replace("is missing", "are missing")
    assert experiment(copy, "collect", "plan.json", "-o", "ex", "--resume").code == 0
    assert experiment(copy, "decide", "ex").code == 0
    assert len(ledger.read_bytes().splitlines()) == len(whole)


def test_an_interrupted_collection_goes_on_where_it_stopped(tmp_path: Path):
    project = Project(tmp_path)
    suite(project.home, "old", "one")
    suite(project.home, "new", "one two")
    for task in (project.home / "new" / "tasks").iterdir():
        task.write_text("inputs: {prompt: p}\nmock: {output: one two, delay_ms: 300}\n", encoding="utf-8")
    assert plan(project.home).code == 0
    ledger = project.home / "ex" / "collection.ndjson"
    with project.started("experiment", "collect", "plan.json", "-o", "ex") as live:
        live.until(lambda: ledger.is_file() and ledger.read_bytes().count(b'"collected"') >= 3)
        live.send(signal.SIGINT)
        ended = live.ended()
    assert ended.code == 130
    before = ledger.read_bytes()
    decided = experiment(project.home, "decide", "ex")
    assert decided.code == 2
    assert "of the plan are missing" in decided.err
    assert experiment(project.home, "collect", "plan.json", "-o", "ex", "--resume").code == 0
    assert ledger.read_bytes().startswith(before)
    found = strict_json(experiment(project.home, "decide", "ex", "--json").out)
    assert (found["outcome"], found["ruling"]["units"]) == ("pass", TASKS)
    assert len(list((project.home / "ex").rglob("results.json"))) == 2 * TASKS


def test_trials_without_a_verdict_are_not_admitted(tmp_path: Path):
    suite(tmp_path, "old", "one")
    suite(tmp_path, "new", "one two")
    task = tmp_path / "new" / "tasks" / "t3.yaml"
    task.write_text("inputs: {prompt: p}\nmock: {error: broken}\n", encoding="utf-8")
    assert plan(tmp_path).code == 0
    ended = experiment(tmp_path, "collect", "plan.json", "-o", "ex")
    assert ended.code == 2
    assert "1 run with trials that have no verdict; go on with --resume" in ended.err
    assert experiment(tmp_path, "decide", "ex").code == 2


def test_each_changed_byte_of_a_collection_is_found(copy: Path):
    home = copy / "ex"
    for path in sorted(home.rglob("*")):
        if path.is_dir() or "invocations" in path.parts or path.name == ".gitignore":
            continue
        whole = path.read_bytes()
        for place in (len(whole) // 3, len(whole) - 3):
            changed = bytearray(whole)
            changed[place] ^= 1
            path.write_bytes(changed)
            ended = experiment(copy, "decide", "ex")
            assert (ended.code, ended.out) == (2, ""), f"{path}, byte {place}"
            assert path.name in ended.err
        path.write_bytes(whole)
        if len(list(home.rglob("results.json"))) > 4 and path.name == "results.json":
            break  # of many runs, one is enough
    lines = (home / "collection.ndjson").read_text(encoding="utf-8").splitlines(keepends=True)
    (home / "collection.ndjson").write_text("".join(lines[:2] + lines[3:]), encoding="utf-8")
    assert "collection.ndjson:3:1: is not as it was written" in experiment(copy, "decide", "ex").err


def test_results_of_earlier_runs_are_never_admitted(copy: Path):
    waza("run", copy / "new" / "eval.yaml", "-o", "earlier.json", "--no-save", cwd=copy)
    results = next((copy / "ex").rglob("results.json"))
    shutil.copy(copy / "earlier.json", results)
    ended = experiment(copy, "decide", "ex")
    assert ended.code == 2
    assert "results.json: is not as it was collected" in ended.err


# --- decisions ---


def test_a_better_candidate_passes(better: Path):
    ended = experiment(better, "decide", "ex", "--json")
    assert ended.code == 0
    found = strict_json(ended.out)
    assert (found["outcome"], found["ruling"]["units"]) == ("pass", TASKS)
    assert found["ruling"]["evidence"] == {"p_value": 2**-TASKS}
    assert found["comparison"]["wins"] == TASKS
    for_people = " ".join(experiment(better, "decide", "ex").out.split())
    assert "the candidate is better" in for_people
    assert "The fixed rule is exact where the two arms are alike" in for_people
    assert found["conditions"] in for_people
    assert "complete" in experiment(better, "show", "ex").out


@pytest.mark.parametrize(
    ("old", "new", "args", "code"),
    [
        (("one two",), ("one",), (), 1),
        (("one", "one two"), ("one two", "one"), (), 3),
        (("one two",), ("one two",), SEQUENTIAL, 0),
    ],
)
def test_other_candidates_fail_or_stay_open(
    old: tuple[str, ...], new: tuple[str, ...], args: tuple[str, ...], code: int, tmp_path: Path
):
    suite(tmp_path, "old", *old)
    suite(tmp_path, "new", *(f"{output}!" for output in new))
    collected(tmp_path, *args)
    assert experiment(tmp_path, "decide", "ex").code == code


def test_a_sequential_rule_stops_as_soon_as_it_decides(tmp_path: Path):
    suite(tmp_path, "old", "x", tasks=15)
    suite(tmp_path, "new", "one two", tasks=15)
    directory = collected(tmp_path, "--rule", "sequential")
    found = strict_json(experiment(tmp_path, "decide", "ex", "--json").out)
    assert found["outcome"] == "pass"
    assert found["ruling"]["units"] < 15
    assert len(list(directory.rglob("results.json"))) == 2 * found["ruling"]["units"]
    assert b'"why":"the rule decided"' in (directory / "collection.ndjson").read_bytes()


def test_a_golden_task_that_fails_is_a_veto_also_where_the_rule_decided_before(tmp_path: Path):
    suite(tmp_path, "old", "x", tasks=15)
    suite(tmp_path, "new", "one two", tasks=15)
    for arm in ("old", "new"):
        task = tmp_path / arm / "tasks" / "t4.yaml"
        task.write_text("golden: true\ninputs: {prompt: p}\nmock: {output: x}\n", encoding="utf-8")
    collected(tmp_path, "--rule", "sequential")
    ended = experiment(tmp_path, "decide", "ex")
    assert ended.code == 1
    assert "golden tasks did not pass: t4" in ended.out


def test_a_skill_is_offered_in_one_arm_and_absent_in_the_other(tmp_path: Path):
    write_tree(tmp_path, {"SKILL.md": "---\nname: hello\ndescription: d\n---\nb\n"})
    tasks = {f"t{i}": "inputs: {prompt: p}\nmock: {output: one two}" for i in range(TASKS)}
    mock_suite(tmp_path, tasks, f"skill: hello\n{GRADER}")
    words = ("plan", "--candidate-eval", "eval.yaml", "--baseline-without-skills", "--allow-change", "skills")
    ended = experiment(tmp_path, *words, "-o", "plan.json")
    assert ended.code == 0, ended.err
    made = strict_json((tmp_path / "plan.json").read_bytes())
    assert (made["baseline"]["skills"], made["candidate"]["skills"]) == ([], ["hello"])
    assert experiment(tmp_path, "collect", "plan.json", "-o", "ex").code == 0
    assert experiment(tmp_path, "decide", "ex").code == 3
    tasks = dict.fromkeys(tasks, "inputs: {prompt: p}\nmock: {output: one two, skills: [hello]}")
    mock_suite(tmp_path, tasks, f"skill: hello\n{GRADER}")
    assert experiment(tmp_path, *words, "-o", "second.json").code == 0
    assert experiment(tmp_path, "collect", "second.json", "-o", "second").code == 0
    ended = experiment(tmp_path, "decide", "second")
    assert ended.code == 2
    assert "the agent invoked a skill, and the baseline is offered none" in ended.err


def test_the_other_names_do_the_same(better: Path, tmp_path: Path):
    shutil.copytree(better / "old", tmp_path / "old")
    shutil.copytree(better / "new", tmp_path / "new")
    suites = (
        "--baseline-eval",
        "old/eval.yaml",
        "--candidate-eval",
        "new/eval.yaml",
        "--allow-change",
        "mocks",
    )
    assert waza("compare-plan", *suites, "-o", "plan.json", cwd=tmp_path).code == 0
    assert waza("compare-collect", "plan.json", "-o", "ex", cwd=tmp_path).code == 0
    assert experiment(tmp_path, "decide", "ex").code == 0


def test_a_gate_can_decide_by_an_experiment(copy: Path):
    ended = waza("gate", "--release-policy", "ex", cwd=copy)
    assert (ended.code, ended.out) == (0, experiment(copy, "decide", "ex").out)
    told = strict_json(waza("gate", "--release-policy", "ex", "-f", "json", cwd=copy).out)
    assert told["outcome"] == "pass"
    for more in (["--baseline", "a.json"], ["--policy", "p.yaml"], ["--max-regression-pct", "0"]):
        mixed = waza("gate", "--release-policy", "ex", *more, cwd=copy)
        assert (mixed.code, mixed.out) == (3, "")
        assert f"--release-policy cannot be combined with {more[0]}" in mixed.err
    assert waza("gate", "--release-policy", "ex", "-f", "markdown", cwd=copy).code == 3
    (copy / "ex" / "collection.ndjson").write_bytes(b"")
    changed = waza("gate", "--release-policy", "ex", cwd=copy)
    assert (changed.code, changed.out) == (3, "")
    assert "collection.ndjson" in changed.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("form", ["human", "json"])
def test_a_decision_of_a_gate_that_cannot_be_written_is_none(better: Path, form: str):
    argv = command("gate", "--release-policy", "ex", "-f", form)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            argv, cwd=better, env=environment(), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 3
    assert b"cannot write the output" in done.stderr


def test_a_gate_fails_where_an_experiment_does_not_pass(tmp_path: Path):
    suite(tmp_path, "old", "one two")
    suite(tmp_path, "new", "one")
    assert plan(tmp_path).code == 0
    assert experiment(tmp_path, "collect", "plan.json", "-o", "ex").code == 0
    assert experiment(tmp_path, "decide", "ex").code in (1, 3)
    assert waza("gate", "--release-policy", "ex", cwd=tmp_path).code == 1
