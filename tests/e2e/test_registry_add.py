"""`waza registry add`: the suite keeps its layout, programs need trust, failures change nothing; and `search`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from tests.support.program import command, environment, strict_json, waza, write_tree
from tests.unit.registry._place import MODULE, PROGRAMS, REF, Place
from tests.unit.registry._upstream import Upstream

from waza.suite.load import load

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


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    """A repository that no test changes."""
    return Upstream.of(tmp_path_factory.mktemp("hosts"), MODULE, PROGRAMS)


@pytest.fixture
def place(tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place.of_test(tmp_path, upstream, monkeypatch)


@pytest.fixture
def commented(place: Place) -> Place:
    write_tree(
        place.root, {"eval.yaml": SUITE, "tasks/t.yaml": "inputs: {prompt: p}\nmock: {output: done}\n"}
    )
    return place


def test_add_keeps_the_suite_and_pins(commented: Place):
    done = commented.waza(
        "registry", "add", f"{REF}#words@v1", "--name", "house style", "--weight", "2.5",
        "--set", "config.contains_cs=Done,not_contains=[x]", "--set", "contains=[y]",
        code=2,
    )  # fmt: skip
    assert "config.contains_cs: must be a list, not the text 'Done'" in done.err
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


VALUES: list[tuple[str, object]] = [
    ("true", True),
    ("3", 3),
    ("0.5", 0.5),
    ("1.0", 1.0),
    ("", None),
    ("[a, b]", ["a", "b"]),
    ("{x: 1, y: [on, 'no', true]}", {"x": 1, "y": ["on", "no", True]}),
    ('"3"', "3"),
    ("'it''s, x=1'", "it's, x=1"),
    ("[a == 1,b == 2]", ["a == 1", "b == 2"]),
    ("[a==1,b==2]", ["a==1", "b==2"]),
    ("be kind, be brief", "be kind, be brief"),
    ("note: be kind", "note: be kind"),
    ("do #1 first", "do #1 first"),
    ("*.py", "*.py"),
    ("- a", "- a"),
    ("a=b", "a=b"),
    ("🎯 é", "🎯 é"),
]


def test_values_are_yaml_and_arrive_as_they_were_meant(commented: Place):
    settings = [
        word for i, (text, _) in enumerate(VALUES) for word in ("--set", f"config.config.k{i}={text}")
    ]
    settings += [
        "--set",
        "limits.wall_seconds=7,config.config.deep.er=[1]",
        "--set",
        "config.config.deep.est=x",
    ]
    commented.waza("registry", "add", f"{REF}#speaks@v1", "--allow-exec", *settings)
    graders = load(commented.root / "eval.yaml").tasks[0].graders
    config = next(grader.spec.config for grader in graders if grader.spec.name == "speaks")
    expected = {f"k{i}": value for i, (_, value) in enumerate(VALUES)}
    assert config["config"] == {"words": ["a"], **expected, "deep": {"er": [1], "est": "x"}}
    assert [type(config["config"][key]) for key in expected] == [type(value) for value in expected.values()]
    assert config["limits"] == {"wall_seconds": 7}
    lines = (commented.root / "eval.yaml").read_text().splitlines()
    assert [line for line in lines if line in SUITE.splitlines()] == SUITE.splitlines()


def test_a_name_that_a_preset_brings_may_be_taken_too(commented: Place):
    commented.waza("registry", "add", f"{REF}#words@v1")
    before = commented.state()
    again = commented.waza("registry", "add", f"{REF}#words@v1", "--weight", "2", code=2)
    assert "the name 'house words' is taken by the grader at eval.yaml:9; give this one another" in again.err
    assert commented.state() == before
    commented.waza("registry", "add", f"{REF}#words@v1", "--weight", "2", "--name", "more words")
    names = [grader.spec.name for grader in load(commented.root / "eval.yaml").tasks[0].graders]
    assert names == ["text", "house words", "more words"]


def test_what_add_refuses_changes_nothing(commented: Place):
    write_tree(
        commented.root,
        {
            "flow.yaml": "{name: s, graders: [{type: text}]}",
            "latin.yaml": b"name: \xe9\n",
            "list.yaml": "- a\n",
            "tasks/own.yaml": "inputs: {prompt: p}\ngraders:\n  - {type: text, name: own}\n",
        },
    )
    before = commented.state()
    words = f"{REF}#words@v1"
    cases: list[tuple[tuple[str, ...], str]] = [
        ((words, "--eval", "gone.yaml"), "there is no suite gone.yaml; name its file with --eval"),
        ((words, "--eval", "flow.yaml"), "add this to its graders yourself"),
        ((words, "--eval", "latin.yaml"), "not UTF-8 text"),
        ((words, "--eval", "list.yaml"), "the suite is not a mapping of keys"),
        ((words, "--name", "text"), "the name 'text' is taken by the grader at eval.yaml:7; give this one another with --name"),
        ((words, "--name", "own"), "the name 'own' is taken by the grader at tasks/own.yaml:3; give"),
        ((words, "--set", "contains=[a,b=c"), "--set 'contains=[a,b=c': not valid YAML: a list in [...] wants"),
        ((words, "--set", "a='b' c"), "not valid YAML"),
        ((words, "--set", "a=[.nan]"), "--set 'a=[.nan]': a number in it is not finite"),
        ((words, "--set", "a"), "--set 'a' is no KEY=VALUE"),
        ((words, "--set", "=1"), "--set '=1' is no KEY=VALUE"),
        ((words, "--set", "a..b=1"), "--set 'a..b=1' is no KEY=VALUE"),
        ((words, "--set", "a=1,a.b=2"), "--set 'a.b=2' goes below a value that is no mapping"),
        ((words, "--set", "threshold=1"), "unknown key 'threshold'"),
        ((words, "--weight", "nan"), "Invalid value for '--weight': 'nan' is not a number, such as 2.5"),
        ((words, "--weight", "heavy"), "Invalid value for '--weight': 'heavy' is not a number"),
        ((words, "--name", "\udcff"), "is not UTF-8"),
        (("github.com/acme@v1",), "is not a valid ref"),
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
    assert (commented.root / "waza.lock").is_symlink()


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
