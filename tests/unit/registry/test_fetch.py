from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.program import write_tree
from tests.unit.registry._upstream import FILE, PROGRAM, Upstream, files_below

import waza.registry.fetch
from waza.registry.cache import ModuleError, digest_module
from waza.registry.fetch import Module, fetch, name_fault
from waza.registry.ref import parse_ref

REF = "github.com/acme/graders"


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path / "hosts")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def fetched(upstream: Upstream, cache: Path, version: str, base: str = "") -> Module:
    hosts = {"github.com": base or str(upstream.hosts)}
    return asyncio.run(fetch(parse_ref(f"{REF}@{version}"), cache, hosts))


def refused(upstream: Upstream, cache: Path, version: str = "v1") -> str:
    with pytest.raises(ModuleError) as caught:
        fetched(upstream, cache, version)
    assert files_below(cache) == [], "something half is left in the cache"
    return str(caught.value)


def test_tags_branches_and_commits(upstream: Upstream, cache: Path):
    first = upstream.commit({"a": "1"}, tag="v1")
    upstream.git("tag", "-a", "annotated", "-m", "with a message", first)
    second = upstream.commit({"a": "2"})
    other = upstream.commit({"a": "3"}, branch="feature/x")
    expected = {
        "v1": first,
        "annotated": first,
        first: first,
        first[:12]: first,
        "main": second,
        "refs/tags/v1": first,
        "feature/x": other,
    }
    for version, commit in expected.items():
        module = fetched(upstream, cache, version)
        assert (module.commit, module.url) == (commit, f"https://{REF}.git")
        assert module.directory == cache / "github.com" / "acme" / "graders" / commit
        assert module.digest == digest_module(module.directory)
    assert sorted(path.name for path in cache.rglob("a")) == ["a"] * 3
    assert [path.name for path in cache.iterdir()] == ["github.com"]


def test_hosts_are_paths_or_addresses(upstream: Upstream, cache: Path):
    upstream.commit({"a": "1"}, tag="v1")
    for base in (f"{upstream.hosts}/", upstream.hosts.as_uri()):
        assert fetched(upstream, cache, "v1", base).commit
        shutil.rmtree(cache)


def test_contents_and_modes_are_those_of_the_commit(upstream: Upstream, cache: Path):
    odd: dict[str, str | bytes] = {
        "bytes": bytes(range(256)),
        "crlf": "a\r\nb\r\n",
        "empty": "",
        "日本/ü x": "é",
        "deep/er/run": "#!/bin/sh\n",
    }
    upstream.commit(odd, programs=["deep/er/run"], tag="v1")
    root = fetched(upstream, cache, "v1").directory
    assert {name: (root / name).read_bytes() for name in files_below(root)} == {
        name: text if isinstance(text, bytes) else text.encode() for name, text in odd.items()
    }
    executable = [
        name
        for name in files_below(root)
        if os.access(root / name, os.X_OK) and (root / name).stat().st_mode & 0o111
    ]
    assert executable == ["deep/er/run"]


def test_attributes_filters_and_hooks_do_nothing(
    upstream: Upstream, cache: Path, monkeypatch, tmp_path: Path
):
    marker = tmp_path / "ran"
    hook = f"#!/bin/sh\ntouch {marker}\n"
    template = write_tree(
        tmp_path / "template", {f"hooks/{name}": hook for name in ("post-checkout", "reference-transaction")}
    )
    for file in (template / "hooks").iterdir():
        file.chmod(0o755)
    config = f"""
[init]
  templateDir = {template}
[core]
  autocrlf = true
  hooksPath = {template}/hooks
  attributesFile = {tmp_path}/attributes
[filter "evil"]
  smudge = touch {marker}
  required = true
"""
    write_tree(tmp_path, {"gitconfig": config, "attributes": "* filter=evil\n"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    attributes = "* text eol=crlf\nsecret export-ignore\nid ident export-subst filter=evil\n"
    files = {
        ".gitattributes": attributes,
        "secret": "kept\n",
        "id": "$Id$ $Format:%H$\n",
        "hooks/post-checkout": hook,
    }
    upstream.commit(files, tag="v1")
    root = fetched(upstream, cache, "v1").directory
    assert {name: (root / name).read_text() for name in files_below(root)} == files
    assert not marker.exists()


def test_an_unknown_version_or_repository(upstream: Upstream, cache: Path):
    upstream.commit({"a": "1"}, tag="v1")
    blob = upstream.blob(b"x")
    upstream.git("tag", "blob", blob)
    for version in ("v2", "f" * 40, "blob", "v1..main", "v1^{tree}", "HEAD~9"):
        assert refused(upstream, cache, version) == f"{REF} has no tag, branch or commit {version!r}"
    shutil.rmtree(upstream.path)
    assert f"{REF}@v1 cannot be fetched: git clone" in refused(upstream, cache)


def test_secrets_of_an_address_are_not_reported(upstream: Upstream, cache: Path):
    with pytest.raises(ModuleError) as caught:
        fetched(upstream, cache, "v1", "http://ada:hunter2@127.0.0.1:9")
    assert "127.0.0.1" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_an_empty_commit(upstream: Upstream, cache: Path):
    upstream.commit({}, tag="v1")
    assert refused(upstream, cache) == "the module holds no files"


def test_links_and_submodules_are_refused(upstream: Upstream, cache: Path):
    upstream.commit({"a": "1"}, links={"b/link": "/etc/passwd"}, tag="v1")
    upstream.commit({"a": "1"}, submodules=["sub"], tag="v2")
    for version, name in (("v1", "b/link"), ("v2", "sub")):
        said = refused(upstream, cache, version)
        assert said == f"the module holds '{name}', which cannot be taken: links and submodules are refused"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["..", "x"], "climbs with `..`"),
        (["a", "..", "..", "x"], "climbs with `..`"),
        ([".git", "config"], "'.git' belongs to git"),
        (["a", ".GIT"], "'.git' belongs to git"),
        (["a\\..\\..\\x"], "a backslash separates folders"),
        (["c:", "x"], "is absolute"),
        ([".. "], "climbs with `..`"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(upstream: Upstream, cache: Path, names: list[str], said: str):
    tree = upstream.tree((FILE, upstream.blob(b"evil"), names[-1]))
    for name in reversed(names[:-1]):
        tree = upstream.tree(("040000", tree, name))
    upstream.commit_tree(tree, "v1")
    assert said in refused(upstream, cache)
    assert not list(cache.parent.rglob("x"))


def test_one_name_twice_is_refused(upstream: Upstream, cache: Path):
    one, two = upstream.blob(b"1"), upstream.blob(b"2")
    upstream.commit_tree(upstream.tree((FILE, one, "a"), (PROGRAM, two, "a")), "v1")
    upstream.commit_tree(
        upstream.tree((FILE, one, "a"), ("040000", upstream.tree((FILE, two, "b")), "a")), "v2"
    )
    for version in ("v1", "v2"):
        assert "of the module cannot be written" in refused(upstream, cache, version)


def test_too_many_files_are_refused_however_few_trees_name_them(upstream: Upstream, cache: Path):
    tree = upstream.tree(*((FILE, upstream.blob(b""), f"{n}") for n in range(50)))
    for _ in range(9):  # 50 ** 10 files
        tree = upstream.tree(*(("040000", tree, f"{n}") for n in range(50)))
    upstream.commit_tree(tree, "v1")
    assert "holds more than 10,000 files" in refused(upstream, cache)


def test_too_much_is_refused_before_it_is_written(upstream: Upstream, cache: Path, monkeypatch):
    monkeypatch.setattr(waza.registry.fetch, "MAX_BYTES", 3 * 2**20)
    upstream.commit({"a": b"\0" * 2**20, "b": b"\0" * 2**21}, tag="v1")
    upstream.commit({"a": b"\0" * 2**20, "b": b"\0" * 2**21, "c": "x"}, tag="v2")
    assert fetched(upstream, cache, "v1").digest
    shutil.rmtree(cache)
    assert refused(upstream, cache, "v2") == "the module is larger than 3 MB"


def test_files_are_read_in_batches(upstream: Upstream, cache: Path, monkeypatch):
    monkeypatch.setattr(waza.registry.fetch, "_BATCH", 10)
    files = {f"{n:02}": "x" * n for n in range(30)}
    upstream.commit(files, tag="v1")
    root = fetched(upstream, cache, "v1").directory
    assert {name: (root / name).read_text() for name in files_below(root)} == files


def test_a_module_in_the_cache_stays_as_it_is(upstream: Upstream, cache: Path):
    upstream.commit({"a": "1", "b/c": "2"}, tag="v1")
    first = fetched(upstream, cache, "v1")
    before = {path: path.lstat().st_ino for path in cache.rglob("*")}
    assert fetched(upstream, cache, "main") == first
    assert {path: path.lstat().st_ino for path in cache.rglob("*")} == before


def test_a_module_that_was_changed_is_not_pinned_again(upstream: Upstream, cache: Path):
    upstream.commit({"a": "1"}, tag="v1")
    module = fetched(upstream, cache, "v1")
    (module.directory / "a").write_text("2")
    with pytest.raises(ModuleError) as caught:
        fetched(upstream, cache, "v1")
    assert str(caught.value).startswith(f"{module.directory} does not hold the files of commit")
    assert "remove the directory, and run `waza get` again" in str(caught.value)
    assert (module.directory / "a").read_text() == "2"
    shutil.rmtree(module.directory)
    assert fetched(upstream, cache, "v1") == module


BLOCKING_GIT = """#!{python}
import os, pathlib, sys, time
if "cat-file" in sys.argv:
    half = pathlib.Path({started!r} + ".half")
    half.write_text(str(os.getpid()))
    half.rename({started!r})
    time.sleep(600)
os.execv({git!r}, ["git", *sys.argv[1:]])
"""
FETCHING = """
import asyncio, sys
from pathlib import Path
from waza.registry.fetch import fetch
from waza.registry.ref import parse_ref
asyncio.run(fetch(parse_ref(sys.argv[1]), Path(sys.argv[2]), {"github.com": sys.argv[3]}))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_fetch_that_is_killed_leaves_no_module(upstream: Upstream, cache: Path, tmp_path: Path, number):
    upstream.commit({"a": "1"}, tag="v1")
    started = tmp_path / "started"
    git = BLOCKING_GIT.format(python=sys.executable, started=str(started), git=shutil.which("git"))
    write_tree(tmp_path, {"bin/git": git})
    (tmp_path / "bin" / "git").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    argv = [sys.executable, "-c", FETCHING, f"{REF}@v1", str(cache), str(upstream.hosts)]
    process = subprocess.Popen(argv, env=environment, stderr=subprocess.DEVNULL)
    while not started.exists():
        assert process.poll() is None, "it ended before it read a file"
        time.sleep(0.01)
    process.send_signal(number)
    process.wait(timeout=30)
    with suppress(ProcessLookupError):
        os.kill(int(started.read_text()), signal.SIGKILL)
    left = [path.name for path in cache.iterdir()]
    assert all(name.startswith(".fetching-") for name in left)
    assert left == [] or number == signal.SIGKILL
    for path in cache.iterdir():
        os.utime(path, (0, 0))
    module = fetched(upstream, cache, "v1")
    assert files_below(module.directory) == ["a"]
    assert [path.name for path in cache.iterdir()] == ["github.com"], "what was left long ago is cleared away"


def test_what_another_fetch_works_on_is_left_alone(upstream: Upstream, cache: Path):
    upstream.commit({"a": "1"}, tag="v1")
    write_tree(cache, {".fetching-other/files/half": "x"})
    fetched(upstream, cache, "v1")
    assert (cache / ".fetching-other" / "files" / "half").exists()


def test_fetches_at_once_agree(upstream: Upstream, cache: Path):
    upstream.commit({f"{n}": "x" * n for n in range(20)}, tag="v1")

    async def several() -> list[Module]:
        hosts = {"github.com": str(upstream.hosts)}
        return await asyncio.gather(*(fetch(parse_ref(f"{REF}@v1"), cache, hosts) for _ in range(4)))

    modules = asyncio.run(several())
    assert modules == [modules[0]] * 4
    assert [path.name for path in cache.iterdir()] == ["github.com"]


@pytest.mark.parametrize(
    "name",
    [
        "con",
        "a/NUL.txt",
        "aux .md",
        "com1",
        "LPT9.x",
        "ab:c",
        "a/x?",
        "a*",
        'q"',
        "<",
        "|",
        "a.",
        "a /b",
        "a\x01",
    ],
)
def test_names_that_windows_has_not(name: str):
    assert name_fault(name, windows=True) == "Windows has no such name"
    assert name_fault(name, windows=False) == ""


@pytest.mark.parametrize(
    "name", ["console", "a/b.yaml", "com", "com10", ".github/x", "日本", "a..b", "nul2.txt"]
)
def test_names_that_every_system_has(name: str):
    assert name_fault(name, windows=True) == ""


def test_a_repository_of_another_hash_is_refused(tmp_path: Path, cache: Path):
    upstream = Upstream(tmp_path / "hosts")
    shutil.rmtree(upstream.path)
    upstream.path.mkdir()
    upstream.git("init", "--quiet", "--bare", "--object-format=sha256")
    upstream.commit_tree(upstream.tree((FILE, upstream.blob(b"x"), "a")), "v1")
    assert "is a SHA-256 repository" in refused(upstream, cache)
