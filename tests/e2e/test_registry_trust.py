"""Trust in a grader from elsewhere is for one commit, tree and digest; calls at the same time lose nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.program import command, environment
from tests.unit.registry._place import MODULE, PROGRAMS, REF, Place
from tests.unit.registry._upstream import Upstream, manifest

from waza.registry.cache import digest_module, git_tree_id

HARMLESS = b"#!/bin/sh\nexit 0\n"
PRESET = "{type: program, name: check, config: {command: ./check.sh}}"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A suite whose program is trusted."""
    harm = f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 0\n".encode()
    files: dict[str, str | bytes] = {"waza.registry.yaml": manifest(check="z.yaml"), "z.yaml": PRESET}
    files |= {"a.bin": b"data\0check.sh\0" + harm, "check.sh": HARMLESS}
    made = Place(tmp_path, Upstream.of(tmp_path / "hosts", files, ["check.sh"]))
    made.suite("graders:\n  - {type: text, name: t, config: {contains: [done]}}")
    made.waza("registry", "add", f"{REF}#check@v1", "--allow-exec", "--eval", "eval.yaml")
    assert made.lock.graders[0].trusted
    return made


def test_other_files_with_the_same_digest_are_refused(place: Place):
    """The border between two files moves; the bytes that the digest is of stay as they are."""
    harm = f"#!/bin/sh\ntouch '{place.root}/ran'\nexit 0\n".encode()
    other: dict[str, str | bytes] = {"waza.registry.yaml": manifest(check="z.yaml"), "z.yaml": PRESET}
    other |= {"a.bin": b"data", "check.sh": harm + b"\0check.sh\0" + HARMLESS}
    place.upstream.commit(other, ["check.sh"], tag="v1")
    got = place.waza("get", "eval.yaml", code=2)
    assert "have the same digest: they were made to pass for them, and are refused" in got.err
    (module,) = place.cache.glob(f"*/acme/graders/{place.lock.graders[0].commit}/check.sh")
    module.write_bytes(harm + b"\0check.sh\0" + HARMLESS)  # and in the cache
    module.with_name("a.bin").write_bytes(b"data")
    assert digest_module(module.parent) == place.lock.graders[0].digest
    assert "are not those of waza.lock" in place.waza("run", "eval.yaml", code=2).err
    assert not (place.root / "ran").exists()


def test_another_commit_of_the_same_files_is_trusted_again(place: Place):
    place.upstream.git("tag", "-f", "v1", place.upstream.git("commit-tree", "v1^{tree}", "-m", "again"))
    got = place.waza("get", "eval.yaml")
    assert "its trust is revoked, because it was given to the commit before" in got.out
    assert not place.lock.graders[0].trusted


def test_a_lock_without_a_tree_gets_it_from_its_commit(place: Place):
    lock = place.root / "waza.lock"
    tree = place.lock.graders[0].tree
    lock.write_text(lock.read_text().replace(f"    tree: {tree}\n", ""))
    assert place.lock.graders[0].tree == ""
    place.waza("get", "eval.yaml")
    assert (place.lock.graders[0].tree, place.lock.graders[0].trusted) == (tree, True)


def test_the_tree_of_a_module_is_that_of_git(place: Place):
    (module,) = place.cache.glob("*/acme/graders/*")
    assert git_tree_id(module) == place.upstream.git("rev-parse", "v1^{tree}") == place.lock.graders[0].tree


def test_calls_at_the_same_time_lose_nothing(tmp_path: Path):
    place = Place(tmp_path, Upstream.of(tmp_path / "hosts", MODULE, PROGRAMS))
    place.suite("graders:\n  - {type: text, name: t, config: {contains: [done]}}")
    added = [f"{REF}#{name}@v1" for name in ("words", "judge")]
    got = [f"{REF}#{name}@v1" for name in ("shape", "plain")]
    calls = [["registry", "add", ref, "--eval", "eval.yaml"] for ref in added] + [["get", ref] for ref in got]
    started = [
        subprocess.Popen(command(*call), cwd=tmp_path, env=environment(place.environment)) for call in calls
    ]
    assert [one.wait(120) for one in started] == [0] * 4
    assert sorted(entry.ref for entry in place.lock.graders) == sorted(added + got)
    assert all(ref in (tmp_path / "eval.yaml").read_text() for ref in added)


def test_a_module_to_which_something_is_added_during_the_run_judges_no_more(tmp_path: Path):
    changing = b'#!/bin/sh\necho x > "$(dirname "$0")/lib.sh"\nexit 0\n'
    files: dict[str, str | bytes] = {"waza.registry.yaml": manifest(check="z.yaml"), "z.yaml": PRESET}
    place = Place(tmp_path, Upstream.of(tmp_path / "hosts", {**files, "check.sh": changing}, ["check.sh"]))
    place.suite("graders:\n  - {type: text, name: t, config: {contains: [done]}}")
    place.waza("registry", "add", f"{REF}#check@v1", "--allow-exec", "--eval", "eval.yaml")
    ended = place.waza("run", "eval.yaml", "--trials", "2", code=1)
    assert "lib.sh was added during the run, so its verdict would not be the suite's" in ended.err
