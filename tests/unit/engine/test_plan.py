import os

import msgspec
import pytest
from tests.support.program import mock_suite, write_tree

from waza.engine import plan
from waza.engine.plan import Plan, make_plan, shared_workers, worker_notice
from waza.model.loaded import Suite, TriggerPrompt, TriggerTests
from waza.suite.load import load
from waza.suite.loading import LoadOptions

TASK = "inputs: {prompt: p}"
PAIRWISE = "graders: [{type: prompt, name: j, config: {prompt: Which?, mode: pairwise}}]"


def suite(root, tasks: int = 3, head: str = "", *config: str, **request):
    write_tree(root, {"skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nbody\n"})
    return load(mock_suite(root, {f"t{n}": TASK for n in range(tasks)}, head, config), LoadOptions(**request))


def planned(loaded: Suite) -> Plan:
    return make_plan(loaded, "m")


def trigger_tests(prompts: int) -> TriggerTests:
    return TriggerTests(
        skill="s", should_trigger_prompts=[TriggerPrompt(prompt=str(n)) for n in range(prompts)]
    )


@pytest.mark.parametrize(
    ("tasks", "config", "workers", "noted"),
    [
        (3, [], 1, False),
        (3, ["workers: 2"], 1, False),  # without parallel they are not asked for
        (3, ["parallel: true", "workers: 2"], 2, False),
        (3, ["parallel: true", "workers: 3"], 3, False),
        (3, ["parallel: true", "workers: 4"], 3, True),
        (1, ["parallel: true"], 1, False),
        (50, ["parallel: true"], min(os.cpu_count() or 1, 8), False),
        (50, ["parallel: true", "workers: 20"], 20, False),
    ],
)
def test_workers(tmp_path, tasks, config, workers, noted):
    made = planned(suite(tmp_path, tasks, "", *config))
    assert (made.workers, bool(made.notices)) == (workers, noted)


@pytest.mark.parametrize(
    ("config", "workers"),
    [
        (["trials_per_task: 5"], 1),
        (["parallel: true", "workers: 20", "trials_per_task: 5"], 15),
        (["parallel: true", "workers: 4", "trials_per_task: 5"], 4),
    ],
)
def test_workers_take_trials(tmp_path, config, workers):
    assert planned(suite(tmp_path, 3, "", *config)).workers == workers
    hooks = "hooks: {before_task: [{command: 'true'}]}"
    assert planned(suite(tmp_path, 3, hooks, *config)).workers == min(workers, 3)


def test_the_limit_on_open_files_bounds_workers_and_is_named_once(tmp_path, monkeypatch):
    many = suite(tmp_path / "a", 60, "", "parallel: true", "workers: 60")
    few = suite(tmp_path / "b", 2, "", "parallel: true", "workers: 2")
    alone = suite(tmp_path / "c", 60, "", "workers: 60")
    monkeypatch.setattr(plan, "max_open_files", lambda: 64)
    assert (planned(many).workers, planned(many).notices) == (3, ())
    assert shared_workers([many, few]) == 3
    assert planned(msgspec.structs.replace(alone, trigger_tests=trigger_tests(60))).trigger_workers == 3
    assert planned(msgspec.structs.replace(alone, trigger_tests=trigger_tests(2))).trigger_workers == 2
    assert worker_notice([few, many]).startswith(
        "3 of 60 workers are used: no more than 64 files may be open"
    )
    assert worker_notice([few, alone]) == ""
    for limit in (None, 1024):
        monkeypatch.setattr(plan, "max_open_files", lambda limit=limit: limit)
        assert (planned(many).workers, planned(many).notices) == (60, ())
        assert worker_notice([many]) == ""


def test_suites_that_run_at_the_same_time_share_the_workers_of_the_one_that_asks_for_most(tmp_path):
    small = suite(tmp_path / "a", 1, "", "parallel: true", "workers: 8")
    large = suite(tmp_path / "b", 4, "", "parallel: true", "workers: 3")
    assert shared_workers([small]) == 1
    assert shared_workers([small, large]) == 5
    assert shared_workers([large] * 3) == 3
    assert shared_workers([suite(tmp_path / "c", 4)]) == 1


def test_arms(tmp_path):
    skills = "skill_directories: [skills]"

    def arms(*given, **request) -> tuple[list[str], tuple[str, ...]]:
        made = planned(suite(*given, **request))
        return [arm.arm for arm in made.arms], made.warnings

    assert arms(tmp_path / "a") == (["main"], ())
    assert arms(tmp_path / "b", 1, "baseline: true", skills) == (["main", "baseline"], ())
    pairwise = arms(tmp_path / "c", 1, f"baseline: true\n{PAIRWISE}", skills)
    assert pairwise == (["baseline", "main"], ())
    alone, (warning,) = arms(tmp_path / "d", baseline=True)
    assert alone == ["main"]
    assert "skill_directories" in warning


def test_without_skills_nothing_of_them_is_left(tmp_path):
    loaded = suite(tmp_path, 2, f"baseline: true\n{PAIRWISE}", "skill_directories: [skills]")
    baseline, main = planned(loaded).arms
    assert main.tasks == loaded.tasks
    for with_skills, without in zip(loaded.tasks, baseline.tasks, strict=True):
        assert with_skills.skill_paths
        changes = {"skill_paths": (), "no_skills": True, "target": None, "graders": ()}
        assert without == msgspec.structs.replace(with_skills, **changes)


def test_a_plan_does_not_change(tmp_path):
    made = planned(suite(tmp_path))
    with pytest.raises(AttributeError, match="immutable"):
        made.workers = 2  # type: ignore[misc]  # what is tested
