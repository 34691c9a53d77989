from __future__ import annotations

from pathlib import Path

import pytest

from waza.errors import SuiteError
from waza.kit import yaml
from waza.registry.lock import FILE, LockEntry, LockFile, read_lock, write_lock

COMMIT, DIGEST, URL = "0123456789abcdef0123456789abcdef01234567", f"sha256:{'ab' * 32}", "https://h/o/r.git"
REF = "github.com/acme/graders#tone@v1.2.0"


def entry(ref: str = REF, commit: str = COMMIT, **more) -> LockEntry:
    return LockEntry(ref=ref, commit=commit, digest=DIGEST, url=URL, **more)


def read(root: Path, text: str) -> LockFile | None:
    (root / FILE).write_text(text, encoding="utf-8")
    return read_lock(root)


def test_the_format(tmp_path: Path):
    path = write_lock(tmp_path, [entry(trusted=True, trust_reason="read it: fine"), entry("a/b/c@v1")])
    assert path == tmp_path / FILE
    assert path.read_text(encoding="utf-8") == (
        "schema_version: 1\n"
        "graders:\n"
        "  - ref: a/b/c@v1\n"
        f"    commit: {COMMIT}\n"
        f"    digest: {DIGEST}\n"
        "    url: https://h/o/r.git\n"
        f"  - ref: {REF}\n"
        f"    commit: {COMMIT}\n"
        f"    digest: {DIGEST}\n"
        "    url: https://h/o/r.git\n"
        "    trusted: true\n"
        '    trust_reason: "read it: fine"\n'
    )


@pytest.mark.parametrize("commit", ["1" * 40, "1" * 38 + "e9", "e" * 40, "0x" + "1" * 38, COMMIT])
@pytest.mark.parametrize("ref", [REF, "h/o/日本#é@v1", "h/o/r@1.10", "h/o/r#'x'@\"v\"", "h/o/r#a:b@v", "#@:"])
def test_what_is_written_is_read_back(tmp_path: Path, commit: str, ref: str):
    if not set(commit) <= set("0123456789abcdef"):
        commit = "f" * 40
    entries = [entry(ref, commit, trusted=True, trust_reason="\x7f\u2028yes")]
    write_lock(tmp_path, entries)
    assert read_lock(tmp_path) == LockFile(graders=entries)
    write_lock(tmp_path, [])
    assert read_lock(tmp_path) == LockFile()
    assert yaml.to_plain(yaml.load((tmp_path / FILE).read_bytes())) == {"schema_version": 1, "graders": []}


def test_there_may_be_none(tmp_path: Path):
    assert read_lock(tmp_path) is None


EMPTY = '""'
ENTRY = f"ref: {REF}, commit: '{COMMIT}', digest: '{DIGEST}', url: '{URL}'"


@pytest.mark.parametrize(
    "text",
    [
        f"graders: [{{{ENTRY}}}]",
        f"schema_version: 0\ngraders: [{{{ENTRY}}}]",
        f"{{schema_version: 1, graders: [{{{ENTRY}, resolved_at: now, dependencies: [x]}}], modules: 3}}",
        f"graders:\n- ref: {REF}\n  commit: {COMMIT}\n  digest: {DIGEST}\n  url: {URL}\n",
    ],
)
def test_locks_of_others(tmp_path: Path, text: str):
    lock = read(tmp_path, text)
    assert lock is not None
    assert lock.graders == [entry()]
    assert lock.find(REF) == entry()
    assert lock.find("h/o/r@v") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "waza.lock:1:1: must be a mapping of keys, not nothing"),
        ("[]", "waza.lock:1:1: must be a mapping of keys, not a list"),
        ("a: b: c", "waza.lock:1:5"),
        ("schema_version: 2", "waza.lock:1:17: schema_version: schema_version 2 is not readable"),
        (f"graders:\n- {{{ENTRY}}}\n- {{{ENTRY}}}", f"waza.lock:3:9: graders[1].ref: duplicate ref '{REF}'"),
        ("graders: [{ref: r, commit: c, digest: d}]", "waza.lock:1:11: graders[0]: 'url' is missing"),
        (f"graders: [{{{ENTRY.replace(COMMIT, 'abc')}}}]", "graders[0].commit: 'abc' is not a commit"),
        (f"graders: [{{{ENTRY.replace(COMMIT, 'A' * 40)}}}]", "is not a commit of 40 hexadecimal digits"),
        (f"graders: [{{{ENTRY.replace(COMMIT, '../' * 10)}}}]", "is not a commit of 40 hexadecimal digits"),
        (f"graders: [{{{ENTRY.replace('sha256', 'md5')}}}]", "graders[0].digest: 'md5:"),
        (f"graders: [{{{ENTRY.replace('abab', 'ab')}}}]", "is not a digest of the form sha256:<64"),
        (
            f"graders: [{{{ENTRY}, trusted: 'maybe'}}]",
            "graders[0].trusted: must be true or false, not the text 'maybe'",
        ),
        (
            f"graders: [{{{ENTRY}, trusted: 1}}]",
            "graders[0].trusted: must be true or false, not the number 1",
        ),
        (f"graders: [{{{ENTRY.replace(REF, EMPTY)}}}]", "graders[0].ref: must not be empty"),
        (f"<<<<<<< HEAD\ngraders: [{{{ENTRY}}}]\n=======\n", "waza.lock:"),
    ],
)
def test_broken_locks_say_where_and_what_to_do(tmp_path: Path, monkeypatch, text: str, said: str):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, text)
    told = [str(problem) for problem in caught.value.problems]
    assert any(said in line for line in told), told
    assert all("run `waza get`" in line or "write" in line for line in told), told


def test_a_lock_that_is_no_file(tmp_path: Path):
    (tmp_path / FILE).mkdir()
    with pytest.raises(SuiteError, match=r"waza.lock: cannot be read \(Is a directory\)"):
        read_lock(tmp_path)


def test_an_entry_takes_the_place_of_the_one_before():
    lock = LockFile(graders=[entry("a/b/c@v1"), entry()])
    changed = lock.with_entry(entry(commit="f" * 40))
    assert [(one.ref, one.commit) for one in changed.graders] == [("a/b/c@v1", COMMIT), (REF, "f" * 40)]
    assert lock.graders[1].commit == COMMIT
