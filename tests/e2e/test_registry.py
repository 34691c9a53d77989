"""Graders from elsewhere: `get`, `run` and `grade` with refs, tampering, `registry add`, `search`, `verify`."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, command, environment, mock_suite, strict_json, waza, write_tree
from tests.unit.registry._upstream import Upstream, manifest

from waza.errors import SuiteError
from waza.registry.cache import digest_of
from waza.registry.lock import LockFile, read_lock
from waza.suite.load import load

REF = "github.com/acme/graders"
CHECK = """#!/usr/bin/env python3
import os, pathlib, verdict
pathlib.Path(os.environ["MARKER"]).touch()
raise SystemExit(verdict.CODE)
"""
MODULE = {
    "waza.registry.yaml": manifest(
        "words",
        "judge",
        "shape",
        "length",
        "check",
        plain="presets/plain.yaml",
        outside="presets/outside.yaml",
    ),
    "words.yaml": "{type: text, name: house words, weight: 2, config: {contains: [never], not_contains: [bad]}}",
    "judge.yaml": "{type: prompt, config: {rubric: rubrics/tone.md}}",
    "rubrics/tone.md": "---\nname: tone\nversion: 1.2.0\nscale: pass-fail\ndescription: d\n---\nIs it kind?\n",
    "shape.yaml": "{type: json_schema, config: {extract_json: true, schema_file: schemas/answer.json}}",
    "schemas/answer.json": '{"type": "object", "required": ["x"]}',
    "length.yaml": "{type: code, config: {assertions: [output_length < 100]}}",
    "check.yaml": "{type: program, config: {command: bin/check.py, args: [bin/verdict.py, words, /etc/hostname]}}",
    "bin/check.py": CHECK,
    "bin/verdict.py": "CODE = 0\n",
    "presets/plain.yaml": "{type: text, config: {contains: [done]}}",
    "presets/outside.yaml": "{type: json_schema, config: {schema_file: ../schemas/answer.json}}",
}
PROGRAMS = ["bin/check.py"]
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
  - {{ref: '{REF}#length@v1', name: short}}
"""


class Place:
    """A directory with a suite, a host that stands for github.com, and a module cache of its own."""

    def __init__(self, root: Path, upstream: Upstream) -> None:
        self.root, self.upstream, self.cache, self.marker = root, upstream, root / "cache", root / "ran"
        self.environment = {"WAZA_MODULE_CACHE": str(self.cache), "MARKER": str(self.marker)}
        write_tree(root, {".waza.yaml": json.dumps({"hosts": {"github.com": str(upstream.hosts)}})})

    def suite(self, graders: str, tasks: dict[str, str] | None = None) -> None:
        mock_suite(self.root, tasks or {"t": "inputs: {prompt: p}\nmock: {output: done}"}, graders)

    def waza(self, *args: str, code: int = 0, **more: Any) -> Ended:
        ended = waza(*args, cwd=self.root, env=self.environment, **more)
        assert ended.code == code, ended.err + ended.out
        return ended

    def mistakes(self) -> list[str]:
        """What is wrong with the suite; nothing of it is run."""
        with pytest.raises(SuiteError) as caught:
            load(self.root / "eval.yaml")
        return [str(problem) for problem in caught.value.problems]

    @property
    def lock(self) -> LockFile:
        found = read_lock(self.root)
        assert found is not None
        return found

    @property
    def module(self) -> Path:
        return self.cache / REF / self.lock.graders[0].commit

    def state(self) -> dict[str, bytes]:
        """All files but those of the cache."""
        paths = (path for path in self.root.rglob("*") if path.is_file() and self.cache not in path.parents)
        return {str(path): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    """A repository that no test changes."""
    made = Upstream(tmp_path_factory.mktemp("hosts"))
    made.commit(MODULE, PROGRAMS, tag="v1")
    return made


@pytest.fixture
def place(tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path, upstream)
    monkeypatch.setenv("WAZA_MODULE_CACHE", str(made.cache))
    return made


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
    assert f"5 graders pinned in {place.root / 'waza.lock'}" in got.out
    commit, digest = place.upstream.git("rev-parse", "v1"), digest_of(place.module)
    assert f"{REF}#judge@v1: commit {commit[:12]}, {digest}" in got.out
    names = ["#judge", "#length", "#shape", "#words", "/presets/plain"]
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
        "house words": ("text", 2), "judge": ("prompt", 1), "shape": ("json_schema", 3), "short": ("code", 1),
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


def test_a_broken_lock_is_written_anew(place: Place):
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
    place = Place(tmp_path, Upstream(tmp_path / "hosts"))
    monkeypatch.setenv("WAZA_MODULE_CACHE", str(place.cache))
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
        assert "its files are sought in its module alone" in mistakes[number], name


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
        "'../x' is no commit",
    ),
    "the digest": (
        lambda place: _edited(place, "sha256:.{4}", "sha256:ffff"),
        "digest sha256:",
    ),
    "trust": (
        lambda place: _edited(place, "trusted: true", "trusted: false"),
        f"runs a program, and waza.lock does not trust it; look at",
    ),
    "trust in other words": (
        lambda place: _edited(place, "trusted: true", "trusted: 'yes'"),
        "the text 'yes'",
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
    assert "there is no waza.lock beside eval.yaml; run `waza get eval.yaml`" in refused.err


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
        "graders[2].ref: config.reasoning_effort: a reasoning effort needs executor: copilot-sdk",
        "graders[4].ref: 'github.com/acme@v1' is no ref: 'github.com/acme' names no repository",
        "graders[5].config: a list stands where a mapping belongs",
        f"graders[6].ref: '{REF}#check@v1' runs a program, and waza.lock does not trust it",
    ]
    assert len(said) == len(expected), said
    for text, line in zip(expected, said, strict=True):
        assert text in line


SUITE = """\
# What this suite is for.
name: s   # its name
config: {executor: mock, model: m}

graders:
  # the first
  - type: text   # plain
    config: {contains: [done]}
# about tasks
tasks: ['tasks/*.yaml']
"""


@pytest.fixture
def commented(place: Place) -> Place:
    write_tree(
        place.root, {"eval.yaml": SUITE, "tasks/t.yaml": "inputs: {prompt: p}\nmock: {output: done}\n"}
    )
    return place


def test_add_keeps_the_suite_and_pins(commented: Place):
    done = commented.waza(
        "registry", "add", f"{REF}#words@v1", "--name", "house style", "--weight", "2.5",
        "--set", "config.contains_cs=Done,not_contains=x", "--set", "contains=y",
        code=2,
    )  # fmt: skip
    assert "config.contains_cs: the text 'Done' stands where a list belongs" in done.err
    assert (commented.root / "eval.yaml").read_text() == SUITE
    assert not (commented.root / "waza.lock").exists()

    settings = [
        "--set",
        "config.reasoning_effort=low,threshold=0.5",
        "--set",
        "continue_session=true",
        "--set",
        "model=1=2",
    ]
    args = ["registry", "add", f"{REF}#judge@v1", "--name", "house style", "--weight", "2.5", *settings]
    shown = commented.waza(*args, "--dry-run")
    assert (
        '"config":{"reasoning_effort":"low","threshold":0.5,"continue_session":true,"model":"1=2"}'
        in shown.out
    )
    assert f"would pin:\n{REF}#judge@v1: commit " in shown.out
    assert (commented.root / "eval.yaml").read_text() == SUITE
    assert not (commented.root / "waza.lock").exists()

    done = commented.waza(*args)
    assert (
        f"{REF}#judge@v1 was added to eval.yaml, and is pinned in {commented.root / 'waza.lock'}" in done.out
    )
    added = f"""\
  - ref: {REF}#judge@v1
    name: "house style"
    weight: 2.5
    config:
      reasoning_effort: low
      threshold: 0.5
      continue_session: true
      model: 1=2
# about tasks
"""
    assert (commented.root / "eval.yaml").read_text() == SUITE.replace(
        "# about tasks\n", added.replace("1=2", '"1=2"')
    )
    assert [one.ref for one in commented.lock.graders] == [f"{REF}#judge@v1"]


def test_an_added_grader_runs(commented: Place):
    crlf = SUITE.replace("\n", "\r\n").removesuffix("\r\n").encode()
    (commented.root / "eval.yaml").write_bytes(b"\xef\xbb\xbf" + crlf)
    commented.waza("registry", "add", f"{REF}#plain@v1")
    commented.waza("registry", "add", f"{REF}#words@v1", "--set", "contains=done", code=2)
    expected = crlf.replace(b"# about", f"  - ref: {REF}#plain@v1\r\n# about".encode())
    assert (commented.root / "eval.yaml").read_bytes() == b"\xef\xbb\xbf" + expected
    results = commented.waza("run", "eval.yaml").results()
    assert set(results["tasks"][0]["runs"][0]["validations"]) == {"text", "plain"}


def test_what_add_refuses_changes_nothing(commented: Place):
    write_tree(
        commented.root,
        {
            "flow.yaml": "{name: s, graders: [{type: text}]}",
            "latin.yaml": b"name: \xe9\n",
            "list.yaml": "- a\n",
        },
    )
    before = commented.state()
    words = f"{REF}#words@v1"
    cases: list[tuple[tuple[str, ...], str]] = [
        ((words, "--eval", "gone.yaml"), "there is no suite gone.yaml; name its file with --eval"),
        ((words, "--eval", "flow.yaml"), "add this to its graders yourself"),
        ((words, "--eval", "latin.yaml"), "not UTF-8 text"),
        ((words, "--eval", "list.yaml"), "the suite is no mapping of keys"),
        ((words, "--set", "a"), "--set 'a' is no KEY=VALUE"),
        ((words, "--set", "=1"), "--set '=1' is no KEY=VALUE"),
        ((words, "--set", "a..b=1"), "--set 'a..b=1' is no KEY=VALUE"),
        ((words, "--set", "a=1,a.b=2"), "--set 'a.b=2' goes below a value that is no mapping"),
        ((words, "--set", "threshold=1"), "unknown key 'threshold'"),
        ((words, "--weight", "nan"), "--weight nan is no finite number"),
        ((words, "--weight", "heavy"), "'heavy' is not a valid float"),
        ((words, "--name", "\udcff"), "is not UTF-8"),
        (("github.com/acme@v1",), "is no ref"),
        ((f"{REF}#words@v9",), "has no tag, branch or commit 'v9'"),
        ((f"{REF}#check@v1",), "runs a program; nothing was changed. Look at"),
        ((f"{REF}#check@v1", "--dry-run"), ""),
    ]  # fmt: skip
    for args, said in cases:
        ended = commented.waza("registry", "add", *args, code=2 if said else 0)
        assert said in ended.err, args
        assert "Traceback" not in ended.err
    assert commented.state() == before


def test_a_failure_in_the_middle_leaves_suite_and_lock_as_they_were(commented: Place):
    (commented.root / "waza.lock").symlink_to("/dev/null/nowhere/waza.lock")
    ended = commented.waza("registry", "add", f"{REF}#words@v1", code=2)
    assert "waza.lock" in ended.err
    assert (commented.root / "eval.yaml").read_text() == SUITE
    assert os.readlink(commented.root / "waza.lock") == "/dev/null/nowhere/waza.lock"


@pytest.mark.parametrize(
    ("flag", "reason"), [("--allow-exec", "--allow-exec"), ("--yes", "--yes"), ("-y", "--yes")]
)
def test_flags_that_trust(commented: Place, flag: str, reason: str):
    commented.waza("registry", "add", f"{REF}#check@v1", flag)
    (entry,) = commented.lock.graders
    assert (entry.trusted, entry.trust_reason) == (True, reason)
    assert len(load(commented.root / "eval.yaml").tasks[0].graders) == 2


@pytest.mark.parametrize(
    ("answer", "trusted"), [("y\n", True), ("YES\n", True), ("\n", False), ("n\n", False), ("\x04", False)]
)
def test_a_person_is_asked_on_a_terminal(commented: Place, answer: str, trusted: bool):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("registry", "add", f"{REF}#check@v1"),
        cwd=commented.root, env=environment(commented.environment), stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = _read_until(ours, "[y/N] ")
    assert f"{REF}#check@v1 runs a program with your rights ({commented.cache / REF}/" in shown.replace(
        "\r\n", ""
    )
    os.write(ours, answer.encode())
    shown = _read_until(ours, "")
    assert process.wait(timeout=60) == (0 if trusted else 2), shown
    os.close(ours)
    if trusted:
        assert (commented.lock.graders[0].trusted, commented.lock.graders[0].trust_reason) == (
            True,
            "confirmed",
        )
    else:
        assert "nothing was changed" in shown
        assert (commented.root / "eval.yaml").read_text() == SUITE
        assert not (commented.root / "waza.lock").exists()


def _read_until(terminal: int, end: str) -> str:
    """What is shown until `end`, or until the terminal is closed."""
    shown = b""
    while not (end and shown.decode("utf-8", "replace").endswith(end)):
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
    return shown.decode("utf-8", "replace")


def test_search(place: Place):
    long = "github.com/acme/graders/a/deep/path/to/presets#the-tone-of-voice@v1.2.0-beta.1"
    entries = [
        {"ref": long, "summary": "Judges\nthe tone", "stars": 12},
        {"ref": "github.com/acme/suites@v1", "kind": "eval", "name": "tone suite"},
    ]
    write_tree(place.root, {"near/index.json": json.dumps({"entries": entries}), "sub/x": ""})
    registries = [
        {"name": "near", "url": "near"},
        {"name": "far", "url": "http://127.0.0.1:9", "priority": 1},
    ]
    write_tree(place.root, {".waza.yaml": json.dumps({"registries": registries})})
    table = place.waza("registry", "search", "tone")
    assert [line.split() for line in table.out.splitlines()] == [
        ["REF", "KIND", "REGISTRY", "DESCRIPTION", "STARS"],
        [long, "grader", "near", "Judges", "the", "tone", "12"],
        ["github.com/acme/suites@v1", "eval", "near", "tone", "suite", "0"],
    ]
    assert table.err.startswith("warning: not reachable: far (http://127.0.0.1:9): ")
    found = waza(
        "registry",
        "search",
        "tone",
        "--kind",
        "grader",
        "--registry",
        "near",
        "--json",
        cwd=place.root / "sub",
    )
    assert found.err == ""
    assert strict_json(found.out) == [
        {"ref": long, "kind": "grader", "description": "Judges\nthe tone", "stars": 12, "registry": "near"}
    ]
    assert place.waza("registry", "search", "nothing").out == "nothing was found for 'nothing'\n"
    none = place.waza("registry", "search", "tone", "--registry", "far", code=2)
    assert (none.out, none.err.count("not reachable")) == ("", 1)
    assert (
        "there is no registry 'other'; there are: near, far"
        in place.waza("registry", "search", "x", "--registry", "other", code=2).err
    )
