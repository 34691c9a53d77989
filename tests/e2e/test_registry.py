"""Graders from elsewhere: `get`, `run` and `grade` with refs, paths in presets, tampering, `verify`."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import command, environment, strict_json, write_tree
from tests.unit.registry._place import MODULE, PROGRAMS, REF, Place
from tests.unit.registry._upstream import Upstream, manifest

from waza.registry.cache import digest_module
from waza.suite.load import load

MOCK = "mock: {turns: [{output: 'first done'}, {output: 'It is done: {\"x\": 1}'}], judge: {judge: [{pass: kind}]}}"
TASK = f"""
inputs: {{prompt: p, follow_up_prompts: [q]}}
graders:
  - {{ref: '{REF}/presets/plain@v1', name: own}}
checkpoints:
  - after_turn: 1
    graders: [{{ref: {REF}#words@v1, name: early, config: {{contains: [first]}}}}]
{MOCK}
"""
GRADERS = f"""
graders:
  - ref: {REF}#words@v1
    config: {{contains: [done]}}
  - {{ref: '{REF}#judge@v1'}}
  - {{ref: '{REF}#shape@v1', weight: 3}}
"""


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    """A repository that no test changes."""
    return Upstream.of(tmp_path_factory.mktemp("hosts"), MODULE, PROGRAMS)


@pytest.fixture
def place(tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place.of_test(tmp_path, upstream, monkeypatch)


@pytest.fixture(scope="module")
def trusted_once(tmp_path_factory: pytest.TempPathFactory, upstream: Upstream) -> Path:
    """The suite, lock and cache of a trusted program, made once."""
    made = Place(tmp_path_factory.mktemp("trusted"), upstream)
    made.suite(f"graders: [{{ref: '{REF}#check@v1'}}]")
    made.waza("registry", "add", f"{REF}#check@v1", "--allow-exec")
    return made.root


@pytest.fixture
def trusted(place: Place, trusted_once: Path) -> Place:
    shutil.copytree(trusted_once, place.root, dirs_exist_ok=True, symlinks=True)
    return place


def test_refs_from_get_to_grade(place: Place):
    place.suite(GRADERS, {"t": TASK})
    assert "there is no waza.lock beside the suite; run `waza get` with the suite's file" in "".join(
        place.mistakes()
    )
    got = place.waza("get")
    assert f"4 graders pinned in {place.root / 'waza.lock'}" in got.out
    commit, digest = place.upstream.git("rev-parse", "v1"), digest_module(place.module)
    assert f"{REF}#judge@v1: commit {commit[:12]}, {digest}" in got.out
    names = ["#judge", "#shape", "#words", "/presets/plain"]
    assert [(one.ref, one.commit, one.digest, one.url, one.trusted) for one in place.lock.graders] == [
        (f"{REF}{name}@v1", commit, digest, f"https://{REF}.git", False) for name in names
    ]
    shutil.move(place.upstream.path, place.upstream.path.with_name("gone"))  # a run asks nobody
    try:
        results = place.waza("run", "eval.yaml", "-o", "r.json").results()
        graded = place.waza("grade", "eval.yaml", "--results", "r.json", "-o", "g.json")
    finally:
        shutil.move(place.upstream.path.with_name("gone"), place.upstream.path)
    (run,) = results["tasks"][0]["runs"]
    expected = {
        "house words": ("text", 2), "judge": ("prompt", 1), "shape": ("json_schema", 3),
        "own": ("text", 1),
    }  # fmt: skip
    for one in (run, strict_json((place.root / "g.json").read_bytes())["tasks"][0]["runs"][0]):
        assert {
            name: (found["type"], found["weight"]) for name, found in one["validations"].items()
        } == expected
        assert all(found["passed"] for found in one["validations"].values()), graded.err
    assert run["validations"]["judge"]["details"]["rubric"]["version"] == "1.2.0"
    assert {name: found["passed"] for name, found in run["checkpoints"][0]["validations"].items()} == {
        "early": True
    }


def test_a_fresh_lock_forgets_what_the_suite_no_longer_names(place: Place):
    place.suite(f"graders: [{{ref: {REF}#words@v1}}, {{ref: {REF}#judge@v1}}]")
    place.waza("get", "eval.yaml")
    assert [one.ref for one in place.lock.graders] == [f"{REF}#judge@v1", f"{REF}#words@v1"]
    inodes = {path: path.lstat().st_ino for path in place.cache.rglob("*")}
    place.suite(f"graders: [{{ref: {REF}#length@v1}}]")
    place.waza("get", "eval.yaml")
    assert [one.ref for one in place.lock.graders] == [f"{REF}#length@v1"]
    assert {path: path.lstat().st_ino for path in place.cache.rglob("*")} == inodes, "the cache is used again"
    got = place.waza("get", f"{REF}#words@v1")
    assert f"2 graders pinned in {place.root / 'waza.lock'}" in got.out
    assert [one.ref for one in place.lock.graders] == [f"{REF}#length@v1", f"{REF}#words@v1"]


def test_what_get_refuses_changes_nothing(place: Place):
    place.suite("graders: []")
    cases = [
        (("get",), "eval.yaml has no graders with 'ref'; there is nothing to get"),
        (("get", "gone.yaml"), "there is no suite gone.yaml; name its file, or a ref"),
        (("get", f"{REF}#words"), "there is no suite"),
        (("get", "github.com/acme@v1"), "names no repository; write host/owner/repo"),
        (("get", f"{REF}#words@v9"), f"{REF} has no tag, branch or commit 'v9'"),
        (("get", f"{REF}#gone@v1"), "there is no export 'gone'; there are: check, judge"),
        (("get", f"{REF}@v1"), "say which grader, with '#': check, judge"),
        (("get", f"{REF}/gone@v1"), "the module has no file 'gone'"),
        (("get", "github.com/acme/none#x@v1"), "cannot be fetched: git clone"),
    ]
    before = place.state()
    for args, said in cases:
        ended = place.waza(*args, code=2)
        assert said in ended.err, args
        assert "Traceback" not in ended.err
    place.suite(f"graders: [{{ref: {REF}#words@v1}}, {{ref: {REF}#words@v9}}]")
    assert "has no tag, branch or commit 'v9'" in place.waza("get", code=2).err
    place.suite("graders: []")
    assert place.state() == before


def test_a_broken_lock_is_written_again(place: Place):
    place.suite(f"graders: [{{ref: {REF}#words@v1, config: {{contains: [done]}}}}]")
    write_tree(place.root, {"waza.lock": "<<<<<<< HEAD\ngraders: []\n=======\n"})
    assert place.mistakes() == [mistake for mistake in place.mistakes() if "run `waza get`" in mistake]
    assert place.waza("get", f"{REF}#words@v1", code=2).err.count("run `waza get` with the suite's file")
    got = place.waza("get", "eval.yaml")
    assert "what it trusted must be trusted again" in got.err
    assert load(place.root / "eval.yaml").tasks


PATHS = {
    "absolute": ("json_schema", "schema_file: /etc/hostname"),
    "up": ("json_schema", "schema_file: ../../../../secret.json"),
    "home": ("json_schema", "schema_file: ~/secret.json"),
    "beside_the_suite": ("json_schema", "schema_file: secret.json"),
    "rubric": ("prompt", "rubric: ../../../../secret.md"),
    "rubric_abs": ("prompt", "rubric: /secret.md"),
    "command_abs": ("program", "command: /bin/sh"),
    "command_up": ("program", "command: ../../../../run.sh"),
    "command_home": ("program", "command: ~/run.sh"),
    "command_gone": ("program", "command: ./run.sh"),
    "artifact_abs": ("wgp", "{runtime: program, artifact: /bin/true}"),
    "artifact_up": ("wgp", "{runtime: program, artifact: ../../../../run.sh}"),
    "artifact_wasm": ("wgp", "{runtime: wasm, artifact: ../../../../x.wasm}"),
    "snapshot": ("diff", "expected_files: [{path: a, snapshot: ../../../../secret.json}]"),
    "snapshot_abs": (
        "diff",
        "{update_snapshots: true, expected_files: [{path: a, snapshot: /etc/hostname}]}",
    ),
    "context": ("diff", "{context_dir: /etc, expected_files: [{path: a, snapshot: hostname}]}"),
    "skill": ("trigger", "{mode: positive, skill_path: ../../../../skill}"),
}


def test_paths_never_lead_out_of_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    place = Place.of_test(tmp_path, Upstream(tmp_path / "hosts"), monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    presets = {
        f"{name}.yaml": f"type: {kind}\nconfig: {config if config[0] == '{' else f'{{{config}}}'}\n"
        for name, (kind, config) in PATHS.items()
    }
    place.upstream.commit({"waza.registry.yaml": manifest(*PATHS), **presets}, tag="v1")
    script = "#!/bin/sh\n"
    outside = {
        "secret.json": "{}",
        "secret.md": MODULE["rubrics/tone.md"],
        "run.sh": script,
        "x.wasm": "\0asm",
    }
    for directory in (tmp_path, tmp_path / "cache", tmp_path / "cache" / "github.com" / "acme"):
        write_tree(directory, {**outside, "skill/SKILL.md": "---\nname: s\ndescription: words\n---\nb"})
        (directory / "run.sh").chmod(0o755)
    place.suite("graders:\n" + "".join(f"  - {{ref: '{REF}#{name}@v1', name: {name}}}\n" for name in PATHS))
    place.waza("get")
    lock = (tmp_path / "waza.lock").read_text()
    write_tree(tmp_path, {"waza.lock": re.sub("(    url: .*\n)", r"\1    trusted: true\n", lock)})
    mistakes = place.mistakes()
    assert len(mistakes) == len(PATHS), mistakes
    for number, name in enumerate(PATHS):
        assert f"graders[{number}].ref: config." in mistakes[number], name
        assert "the files of this grader are searched for in its module only, from " in mistakes[number], name


@pytest.mark.parametrize("path", ["../../../../../evil.yaml", "/evil.yaml", "..\\evil.yaml"])
def test_a_manifest_that_leads_out_is_refused_also_where_lock_and_cache_agree(place: Place, path: str):
    commit = "c" * 40
    module = write_tree(place.cache / REF / commit, {"waza.registry.yaml": manifest(evil=path)})
    write_tree(place.root, {"evil.yaml": "{type: text, config: {contains: [done]}}"})
    entry = (
        f"{{ref: {REF}#evil@v1, commit: {commit}, digest: '{digest_module(module)}', url: u, trusted: true}}"
    )
    write_tree(place.root, {"waza.lock": f"graders: [{entry}]"})
    place.suite(f"graders: [{{ref: {REF}#evil@v1}}]")
    (mistake,) = place.mistakes()
    assert "leads out of the module" in mistake


TAMPERINGS: dict[str, tuple[Callable[[Place], Any], str]] = {
    "a byte of the cache": (
        lambda place: (place.module / "bin" / "verdict.py").write_text("CODE = 1\n"),
        "the cache or the lock was changed. Look at what changed, remove",
    ),
    "a file more": (lambda place: (place.module / "more").touch(), "the cache or the lock was changed"),
    "a link to the same content": (
        lambda place: _linked(place.module / "bin" / "check.py", place.root),
        "check.py is no regular file, and a module holds no other; remove",
    ),
    "no module": (lambda place: shutil.rmtree(place.module), "is not available offline; run `waza get`"),
    "no lock": (lambda place: (place.root / "waza.lock").unlink(), "there is no waza.lock beside the suite"),
    "the ref": (lambda place: _edited(place, "#check@v1", "#check@v2"), "waza.lock does not know"),
    "the commit": (
        lambda place: _edited(place, "commit: .*", f"commit: {'a' * 40}"),
        "is not available offline",
    ),
    "the commit as a path": (
        lambda place: _edited(place, "commit: .*", "commit: ../x"),
        "'../x' is not a commit",
    ),
    "the digest": (
        lambda place: _edited(place, "sha256:.{4}", "sha256:ffff"),
        "digest sha256:",
    ),
    "trust": (
        lambda place: _edited(place, "trusted: true", "trusted: false"),
        "runs a program, and waza.lock does not trust it; look at",
    ),
    "trust in words that are no boolean": (
        lambda place: _edited(place, "trusted: true", "trusted: 'sure'"),
        "the text 'sure'",
    ),
    "trust left out": (lambda place: _edited(place, "    trusted: true\n", ""), "does not trust it"),
}


def _linked(path: Path, elsewhere: Path) -> None:
    shutil.move(path, elsewhere / "moved")
    path.symlink_to(elsewhere / "moved")


def _edited(place: Place, pattern: str, new: str) -> None:
    lock = place.root / "waza.lock"
    text, count = re.subn(pattern, new, lock.read_text())
    assert count == 1
    lock.write_text(text)


def test_a_trusted_program_runs_from_the_cache_and_leaves_it_as_it_is(trusted: Place):
    for _ in range(2):
        results = trusted.waza("run", "eval.yaml").results()
        details = results["tasks"][0]["runs"][0]["validations"]["check"]["details"]
        assert details["command"] == str(trusted.module / "bin" / "check.py")
        assert details["args"] == [str(trusted.module / "bin" / "verdict.py"), "words", "/etc/hostname"]
        assert trusted.marker.exists()
        trusted.marker.unlink()
    assert trusted.waza("registry", "verify").out.startswith(f"✓ {REF}#check@v1: sha256:")


def test_trust_is_read_like_every_other_boolean(trusted: Place):
    _edited(trusted, "trusted: true", "trusted: 'yes'")
    trusted.waza("run", "eval.yaml")
    assert trusted.marker.exists()
    trusted.marker.unlink()
    _edited(trusted, "trusted: 'yes'", "trusted: 'no'")
    assert "does not trust it" in trusted.waza("run", "eval.yaml", code=2).err
    assert not trusted.marker.exists()


@pytest.mark.parametrize("what", TAMPERINGS)
def test_tampering_is_refused_and_nothing_is_run(trusted: Place, what: str):
    change, said = TAMPERINGS[what]
    change(trusted)
    refused = trusted.waza("run", "eval.yaml", code=2)
    assert said in refused.err
    assert "waza get" in refused.err or "waza registry add" in refused.err
    assert "Traceback" not in refused.err
    assert not trusted.marker.exists()
    assert not (trusted.root / ".waza").exists()


def test_verify_says_what_is_missing_or_changed(trusted: Place):
    (trusted.module / "words.yaml").write_text("type: file\n")
    module = trusted.module
    changed = trusted.waza("registry", "verify", "eval.yaml", code=1)
    assert changed.out == f"✗ {REF}#check@v1: changed; remove {module} and run `waza get`\n"
    shutil.rmtree(module)
    assert "not in the cache; run `waza get`" in trusted.waza("registry", "verify", code=1).out
    trusted.waza("get")
    assert trusted.waza("registry", "verify").out.startswith(f"✓ {REF}#check@v1: sha256:")
    (trusted.module / "link").symlink_to("words.yaml")
    assert "link is no regular file" in trusted.waza("registry", "verify", code=1).out
    (trusted.root / "waza.lock").unlink()
    refused = trusted.waza("registry", "verify", code=2)
    assert "there is no waza.lock next to eval.yaml; run `waza get eval.yaml`" in refused.err


def test_a_moved_tag_changes_the_pin_and_revokes_trust(tmp_path: Path):
    place = Place(tmp_path, Upstream(tmp_path / "hosts"))
    first = place.upstream.commit(MODULE, PROGRAMS, tag="v1")
    place.suite(f"graders: [{{ref: {REF}#check@v1}}]")
    place.waza("registry", "add", f"{REF}#check@v1", "--allow-exec")
    before = place.lock.graders[0]
    assert (before.commit, before.trusted, before.trust_reason) == (first, True, "--allow-exec")
    place.waza("get")
    assert place.lock.graders[0] == before, "the same content stays trusted"

    second = place.upstream.commit({**MODULE, "bin/verdict.py": "CODE = 1\n"}, PROGRAMS, tag="v1")
    assert place.waza("run", "eval.yaml").code == 0, "a run does not look upstream"
    place.marker.unlink()
    got = place.waza("get")
    after = place.lock.graders[0]
    assert (after.commit, after.trusted, after.trust_reason) == (second, False, "")
    assert after.digest != before.digest
    assert f"changed: it was commit {first[:12]}; look at what changed" in got.out
    assert "its trust is revoked" in got.out
    (advice,) = (line.strip() for line in got.out.splitlines() if "--allow-exec" in line)
    assert "does not trust it" in place.waza("run", "eval.yaml", code=2).err
    assert not place.marker.exists()
    suite = (tmp_path / "eval.yaml").read_bytes()
    done = subprocess.run(
        advice.replace("waza", " ".join(command()), 1),
        shell=True, cwd=tmp_path, env=environment(place.environment), capture_output=True, check=True,
    )  # fmt: skip
    assert b"is in eval.yaml, and is pinned" in done.stdout
    assert (tmp_path / "eval.yaml").read_bytes() == suite, "what is in the suite is not added again"
    assert place.lock.graders[0].trusted
    assert place.waza("run", "eval.yaml", code=1).results()["summary"]["failed"] == 1


def test_names_of_refs_count_as_names(place: Place):
    task = f"inputs: {{prompt: p}}\ngraders: [{{ref: {REF}#words@v1}}]\nmock: {{output: done}}"
    place.suite(
        f"graders: [{{ref: {REF}#words@v1}}, {{type: text, name: house words, config: {{contains: [x]}}}}]",
        {"t": task},
    )
    place.waza("get")
    mistakes = place.mistakes()
    assert len(mistakes) == 2
    assert "graders[1].name: the name 'house words' is taken by graders[0]" in mistakes[0]
    assert "graders[0].name: the name 'house words' is taken by a grader of the suite" in mistakes[1]


def test_mistakes_at_a_ref(place: Place):
    refs = f"""
graders:
  - {{ref: '{REF}#words@v1', name: a, config: {{contain: [x]}}}}
  - {{ref: '{REF}#words@v1', name: b, type: file}}
  - {{ref: '{REF}#judge@v1', name: c, config: {{reasoning_effort: high}}}}
  - {{ref: '{REF}#words@v1', name: d, rubric: r}}
  - {{ref: 'github.com/acme@v1', name: e}}
  - {{ref: '{REF}#words@v1', name: f, config: [x]}}
  - {{ref: '{REF}#check@v1', name: g}}
"""
    place.suite(refs)
    write_tree(place.root, {"waza.lock": ""})
    (place.root / "waza.lock").unlink()
    for name in ("words", "judge", "check"):
        place.waza("get", f"{REF}#{name}@v1")
    said = place.mistakes()
    expected = [
        "graders[0].ref: config.contain: unknown key 'contain'; did you mean 'contains'?",
        "graders[1].ref: the grader is of type 'text', not 'file'; leave 'type' out",
        "graders[2].ref: config.reasoning_effort: needs reasoning efforts, which the executor",
        "graders[3].rubric: warning: 'rubric' has no effect here; put it under 'config:'",
        "graders[4].ref: 'github.com/acme@v1' is not a valid ref: 'github.com/acme' names no repository",
        "graders[5].config: must be a mapping, not a list",
        f"graders[6].ref: '{REF}#check@v1' runs a program, and waza.lock does not trust it",
    ]
    assert len(said) == len(expected), said
    for text, line in zip(expected, said, strict=True):
        assert text in line
