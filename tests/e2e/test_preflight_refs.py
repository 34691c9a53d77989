"""Graders from elsewhere in `waza preflight`, which says of them what `waza run` and `waza grade` say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import strict_json, write_tree
from tests.unit.registry._place import MODULE, PROGRAMS, REF, Place
from tests.unit.registry._upstream import Upstream

GRADERS = f"graders: [{{ref: '{REF}#words@v1', config: {{contains: [done]}}}}]"
TASK = f"""
inputs: {{prompt: p, follow_up_prompts: [q]}}
graders: [{{ref: '{REF}#words@v1', name: own}}]
checkpoints: [{{after_turn: 1, graders: [{{ref: '{REF}#words@v1', name: early}}]}}]
requirements:
  - id: R
    category: quality
    description: d
    checks:
      - {{scope: eval, grader: house words}}
      - {{scope: task, grader: own}}
      - {{scope: checkpoint, grader: early, after_turn: 1}}
mock: {{output: done}}
"""
PLACES = (
    "eval.yaml:6:12: graders[0].ref",
    "tasks/t.yaml:3:12: graders[0].ref",
    "tasks/t.yaml:4:42: checkpoints[0].graders[0].ref",
)
CHANGES: dict[str, tuple[Callable[[Place], Any], str, str, str]] = {
    "no lock": (
        lambda place: (place.root / "waza.lock").unlink(),
        "grader.lock",
        "invalid",
        "there is no waza.lock beside the suite",
    ),
    "no entry": (
        lambda place: (place.root / "waza.lock").write_text("graders: []\n"),
        "grader.lock_entry",
        "invalid",
        "waza.lock does not know",
    ),
    "not in the cache": (
        lambda place: shutil.rmtree(place.module),
        "grader.cache_missing",
        "unresolved",
        "is not available offline",
    ),
    "a byte of the cache": (
        lambda place: (place.module / "words.yaml").write_text(MODULE["words.yaml"].replace("bad", "mad")),
        "grader.cache_integrity",
        "invalid",
        "are not those of waza.lock",
    ),
}


@pytest.fixture(scope="module")
def locked_once(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A suite with refs of all three kinds, locked and cached, and results of it."""
    upstream = Upstream.of(tmp_path_factory.mktemp("hosts"), MODULE, PROGRAMS)
    made = Place(tmp_path_factory.mktemp("locked"), upstream)
    made.suite(GRADERS, {"t": TASK})
    made.waza("get")
    made.waza("run", "eval.yaml", "--no-save", "-o", "r.json", code=1)
    return made


@pytest.fixture
def place(tmp_path: Path, locked_once: Place) -> Place:
    shutil.copytree(locked_once.root, tmp_path, dirs_exist_ok=True)
    return Place(tmp_path, locked_once.upstream)


def nobody_to_fetch_from(place: Place) -> None:
    write_tree(place.root, {".waza.yaml": json.dumps({"hosts": {"github.com": str(place.root / "nowhere")}})})


def test_refs_that_are_locked_and_cached(place: Place) -> None:
    nobody_to_fetch_from(place)
    report = strict_json(place.waza("preflight", "eval.yaml", "--json").out)
    found = [
        (one["name"], one["mode"], one["state"], one.get("task_id")) for one in report["dependencies"][1:]
    ]
    ref = f"{REF}#words@v1"
    assert found == [(ref, "locked-cache", "verified", None), (ref, "locked-cache", "verified", "t")]
    assert report["complete"]
    place.waza("run", "eval.yaml", "--no-save", code=1)
    place.waza("grade", "eval.yaml", "--results", "r.json")


@pytest.mark.parametrize("what", CHANGES)
def test_run_grade_and_preflight_say_the_same_of_refs(place: Place, what: str) -> None:
    change, code, state, words = CHANGES[what]
    change(place)
    nobody_to_fetch_from(place)
    asked = place.waza("preflight", "eval.yaml", "--json", code=1 if state == "invalid" else 0)
    report = strict_json(asked.out)
    said = [one for one in report["diagnostics"] if one["code"].startswith("grader.")]
    assert [(one["code"], one["state"]) for one in said] == [(code, state)] * 3
    assert all(words in one["message"] and "waza get" in one["remediation"] for one in said)
    assert [one["message"].startswith(start) for one, start in zip(said, PLACES, strict=True)] == [True] * 3
    needs = {one["state"] for one in report["dependencies"] if one["kind"] == "grader"}
    assert needs == {state}
    for args in (("run", "eval.yaml"), ("grade", "eval.yaml", "--results", "r.json")):
        refused = place.waza(*args, code=2)
        assert refused.err.splitlines()[:-1] == [one["message"] for one in said]
    place.waza("preflight", "eval.yaml", "--strict", code=1)


def test_a_requirement_waits_for_the_name_of_a_ref(place: Place) -> None:
    shutil.rmtree(place.module)
    report = strict_json(place.waza("preflight", "eval.yaml", "--json").out)
    (requirement,) = report["tasks"][0]["requirements"]
    assert requirement["state"] == "unresolved"
    assert "whether there is a grader 'house words' in scope eval is not known yet" in requirement["meaning"]


def test_a_broken_lock_and_a_program_without_trust(place: Place) -> None:
    place.suite(f"graders: [{{ref: '{REF}#check@v1'}}]")
    place.waza("get")
    untrusted = strict_json(place.waza("preflight", "eval.yaml", "--json", code=1).out)
    assert [(one["code"], one["state"]) for one in untrusted["diagnostics"]] == [("grader.trust", "invalid")]
    write_tree(place.root, {"waza.lock": "graders: {}\n"})
    broken = strict_json(place.waza("preflight", "eval.yaml", "--json", code=1).out)
    assert [(one["code"], one["source"]) for one in broken["diagnostics"]] == [("grader.lock", "waza.lock")]
    assert [one["state"] for one in broken["dependencies"] if one["kind"] == "grader"] == ["invalid"]
