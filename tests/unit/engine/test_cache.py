"""The result cache: which trials it gives back, and what it does not keep."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.program import mock_suite
from tests.unit.report.factory import run, verdict

from waza.engine.cache import Cache, CachedTrial
from waza.engine.regrade import rebuild_observation
from waza.engine.saved_attempt import SavedAttempt
from waza.errors import WazaError
from waza.model.loaded import Suite
from waza.model.result import TrialResult
from waza.suite.load import load

TEXT = "inputs: {prompt: p}\ngraders: [{type: text, name: g, config: {contains: [hello]}}]"
JUDGED = f"{TEXT[:-1]}, {{type: prompt, name: j, config: {{prompt: Is it kind?}}}}]\nmock: {{judge: {{j: [{{pass: y}}]}}}}"


def suite(root: Path, task: str = TEXT, *config: str) -> Suite:
    return load(mock_suite(root / "suite", {"t": task}, config=config))


def cache(root: Path, loaded: Suite, model: str = "m") -> Cache:
    return Cache(root / "cache", loaded, model)


def put(root: Path, loaded: Suite, *results: TrialResult) -> None:
    kept, (task,) = cache(root, loaded), loaded.tasks
    kept.put(task, "main", {one.run_number: kept.store_trial(task, "main", one, None) for one in results})


def got(root: Path, loaded: Suite, model: str = "m", arm: Any = "main") -> dict[int, CachedTrial] | None:
    return cache(root, loaded, model).get(loaded.tasks[0], arm)


def test_trials_come_back_as_they_were(tmp_path: Path):
    loaded = suite(tmp_path, TEXT, "trials_per_task: 2")
    results = (run(1, "passed"), run(2, "failed"))
    assert got(tmp_path, loaded) is None
    put(tmp_path, loaded, *results)
    assert got(tmp_path, loaded) == {1: CachedTrial(results[0]), 2: CachedTrial(results[1])}


def test_another_model_arm_task_or_number_of_trials_is_a_miss(tmp_path: Path):
    loaded = suite(tmp_path)
    put(tmp_path, loaded, run())
    assert got(tmp_path, loaded) is not None
    assert got(tmp_path, loaded, model="n") is None
    assert got(tmp_path, loaded, arm="baseline") is None
    assert got(tmp_path, suite(tmp_path, TEXT.replace("hello", "hi"))) is None
    assert got(tmp_path, suite(tmp_path, TEXT.replace("prompt: p", "prompt: q"))) is None
    assert got(tmp_path, suite(tmp_path, TEXT, "trials_per_task: 2")) is None


def test_a_task_with_a_trial_that_broke_is_not_kept(tmp_path: Path):
    loaded = suite(tmp_path, TEXT, "trials_per_task: 2")
    put(tmp_path, loaded, run(1, "passed"), run(2, "error"))
    assert got(tmp_path, loaded) is None
    assert not list(tmp_path.glob("cache/*"))


def test_an_entry_that_was_damaged_is_a_miss(tmp_path: Path):
    loaded = suite(tmp_path)
    put(tmp_path, loaded, run())
    (entry,) = (tmp_path / "cache").iterdir()
    entry.write_bytes(entry.read_bytes()[:-9])
    assert got(tmp_path, loaded) is None


def test_answers_for_judges_come_with_the_workspace_and_without_their_verdicts(tmp_path: Path):
    loaded = suite(tmp_path, JUDGED)
    (task,), kept = loaded.tasks, cache(tmp_path, loaded)
    assert kept.wants_workspace(task)
    result = run(1, "passed", [verdict("g"), verdict("j")])
    saved = SavedAttempt(rebuild_observation(task, result, tmp_path), files=b"packed")
    kept.put(task, "main", {1: kept.store_trial(task, "main", result, saved)})
    found = got(tmp_path, loaded)
    assert found is not None
    assert list(found[1].result.validations or {}) == ["g"]
    assert found[1].workspace is not None
    assert found[1].workspace.read_bytes() == b"packed"
    found[1].workspace.write_bytes(b"other")
    assert got(tmp_path, loaded) is None


def test_an_answer_that_the_record_does_not_hold_as_a_whole_is_not_kept(tmp_path: Path):
    loaded = suite(tmp_path, JUDGED)
    (task,), kept = loaded.tasks, cache(tmp_path, loaded)
    result = run(1, "passed")
    whole = rebuild_observation(task, result, tmp_path)
    saved = SavedAttempt(msgspec.structs.replace(whole, output="hello, and a secret"), files=b"packed")
    stored = kept.store_trial(task, "main", result, saved)
    with pytest.raises(WazaError, match="does not hold all that a judge saw"):
        kept.put(task, "main", {1: stored})
    assert got(tmp_path, loaded) is None


def test_what_is_not_cached_is_named(tmp_path: Path):
    repo = "inputs: {prompt: p, repos: [{type: worktree, source: ., commit: main}]}"
    assert cache(tmp_path, suite(tmp_path)).notes() == []
    (note,) = cache(tmp_path, suite(tmp_path, repo)).notes()
    assert note == "not cached: 1 task, because the commit of a repository is not known"
    unknown = msgspec.structs.replace(
        suite(tmp_path), capabilities=msgspec.structs.replace(suite(tmp_path).capabilities, repeatable=False)
    )
    (note,) = cache(tmp_path, unknown).notes()
    assert note.startswith("the cache is not used: ")
    put(tmp_path, unknown, run())
    assert not (tmp_path / "cache").exists()
