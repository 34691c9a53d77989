"""`waza grader new` and `waza grader test`: what is written works at once, and goldens are asked as in a run."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree
from tests.unit.registry._place import Place
from tests.unit.registry._upstream import Upstream, files_below, manifest

from waza.author.scaffold import LANGUAGES
from waza.suite.load import load

COMMON = ["README.md", "goldens/fail.json", "goldens/pass.json", "waza.registry.yaml"]
OWN = {
    "python": ["grader.py"],
    "node": ["grader.mjs"],
    "rust": [".gitignore", "Cargo.toml", "src/host.rs", "src/lib.rs"],
}


def made(root: Path, name: str, language: str, *more: str) -> Path:
    ended = waza("grader", "new", name, "--lang", language, *more, cwd=root)
    assert ended.code == 0, ended.err
    assert f"next: waza grader test {'' if not more else more[-1] + '/'}{name}" in ended.out
    return root / (more[-1] if more else "") / name


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_written(tmp_path: Path, language: str):
    module = made(tmp_path, "House_style-2", language, "--dir", "some/where")
    assert files_below(module) == sorted([*COMMON, *OWN[language], "House_style-2.yaml"])
    executable = [name for name in files_below(module) if os.access(module / name, os.X_OK)]
    assert executable == (OWN[language] if language != "rust" else [])
    texts = {name: (module / name).read_text(encoding="utf-8") for name in files_below(module)}
    assert not any("@name@" in text for text in texts.values())
    assert "#House_style-2@v1.0.0" in texts["README.md"]
    assert "waza grader test ." in texts["README.md"]


@pytest.mark.parametrize(("language", "program"), [("python", "grader.py"), ("node", "grader.mjs")])
def test_a_new_grader_passes_its_goldens_and_works_in_a_suite_and_through_a_ref(
    tmp_path: Path, language: str, program: str, monkeypatch: pytest.MonkeyPatch
):
    module = made(tmp_path, "style", language)
    tried = waza("grader", "test", "style", cwd=tmp_path)
    assert tried.code == 0
    assert tried.out.splitlines() == [
        "✓ goldens/fail.json: it failed, as it must (score 0.5: missing: evaluates)",
        "✓ goldens/pass.json: it passed, as it must (score 1: all 2 words are there)",
        "2 goldens, 0 failed",
    ]
    place = Place.of_test(tmp_path, Upstream(tmp_path / "hosts"), monkeypatch)
    files = {f"style/{name}": (module / name).read_bytes() for name in files_below(module)}
    place.upstream.commit(files, programs=[f"style/{program}"], tag="v1")
    config = f"{{runtime: program, artifact: style/{program}, config: {{words: [👋, done]}}}}"
    task = "inputs: {prompt: p}\nmock: {output: 'Well 👋, it is done'}"
    mock_suite(tmp_path, {"t": task}, f"graders:\n- {{type: wgp, name: local, config: {config}}}\n")
    place.waza("registry", "add", "github.com/acme/graders/style#style@v1", "--allow-exec")
    for _ in range(2):
        results = place.waza("run", "eval.yaml").results()
    validations = results["tasks"][0]["runs"][0]["validations"]
    assert {name: (one["type"], one["score"], one["feedback"]) for name, one in validations.items()} == {
        "local": ("wgp", 1, "all 2 words are there"),
        "style": ("wgp", 1, "all 1 words are there"),
    }
    assert validations["local"]["details"]["evidence"] == [
        {"kind": "span", "ref": "agent.output[5..6]"},
        {"kind": "span", "ref": "agent.output[14..18]"},
    ]


def test_the_crate_builds_the_module_that_the_preset_names(tmp_path: Path):
    module = made(tmp_path, "style", "rust")
    crate = tomllib.loads((module / "Cargo.toml").read_text(encoding="utf-8"))
    assert "cdylib" in crate["lib"]["crate-type"]
    preset = (module / "style.yaml").read_text(encoding="utf-8")
    assert "runtime: wasm" in preset
    assert f"artifact: {crate['package']['name']}.wasm" in preset
    assert "entrypoint: grade" in preset
    host = (module / "src" / "host.rs").read_text(encoding="utf-8")
    assert 'wasm_import_module = "waza_host"' in host
    assert 'pub extern "C" fn grade()' in host
    for name in ("read_input", "write_result", "log"):
        assert f"fn waza_host_{name}(" in host
    missing = waza("grader", "test", "style", cwd=tmp_path)
    assert missing.code == 2
    assert "style.yaml:5:3: config.artifact: 'grader.wasm' is not there" in missing.err
    # Another module in its place, which allows 40 characters, is asked by the same preset.
    shutil.copy(Path(__file__).parents[1] / "data" / "wgp" / "brief.wasm", module / "grader.wasm")
    tried = waza("grader", "test", "style", cwd=tmp_path)
    assert tried.code == 1
    assert "✗ goldens/fail.json: it passed, but must have failed (score 1: " in tried.out
    assert "✓ goldens/pass.json: it passed, as it must (score 1: " in tried.out


def test_what_new_refuses(tmp_path: Path):
    write_tree(tmp_path, {"taken/mine": "text", "file": "text"})
    (tmp_path / "link").symlink_to("nowhere")
    before = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    names = ["", "a/b", "a\\b", "..", ".", "-a", "a b", "é", "a.b", "x" * 65, "a\n"]
    for name in names:
        ended = waza("grader", "new", "--lang", "python", "--", name, cwd=tmp_path)
        assert (ended.code, "is not a valid name for a grader" in ended.err) == (2, True), name
    for name in ("taken", "file", "link"):
        ended = waza("grader", "new", name, "--lang", "python", cwd=tmp_path)
        assert (ended.code, f"{name} is there already; choose another name" in ended.err) == (2, True)
    for args in (("x",), ("x", "--lang", "cobol"), ("x", "--lang", "python", "--dir", "file")):
        ended = waza("grader", "new", *args, cwd=tmp_path)
        assert ended.code == 2
        assert "Traceback" not in ended.err
    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == before


ECHO = f"""#!{sys.executable} -S
import json, os, sys
request = json.load(sys.stdin)
config = request["config"]
if config.get("break"):
    sys.exit("out of luck")
workspace = request["context"].pop("workspace_dir")
del request["schema"]
json.dump({{
    "schema": "wgp/1",
    "passed": config["passed"],
    "score": config.get("score", 0.25),
    "rationale": json.dumps([request, sorted(os.listdir(workspace)), os.getcwd() == workspace]),
}}, sys.stdout)
"""


def module(root: Path, goldens: dict[str, Any], **more: str) -> Path:
    """A module with a grader that passes if its config says so, and tells what it was asked."""
    preset = (
        "{type: wgp, config: {runtime: program, artifact: echo, config: {passed: true, a: {b: 1, c: 2}}}}"
    )
    files = {"waza.registry.yaml": manifest("echo"), "echo.yaml": preset, "echo": ECHO, **more}
    texts = {
        f"goldens/{name}.json": one if isinstance(one, str | bytes) else json.dumps(one)
        for name, one in goldens.items()
    }
    write_tree(root, {**files, **texts})
    (root / "echo").chmod(0o755)
    return root


def tried(root: Path, *args: str) -> Ended:
    temporary = root.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    ended = waza("grader", "test", str(root), *args, cwd=root.parent, env={"TMPDIR": str(temporary)})
    assert list(temporary.iterdir()) == [], "something is left"
    return ended


TEXT_PRESET = """\
type: text
config:
  contains: [a]
  colour: [red]
"""


def golden(passed: bool = True, config: dict[str, Any] | None = None, **expected: float) -> dict[str, Any]:
    return {"request": {"config": config or {}}, "expected": {"passed": passed, **expected}}


def test_a_grader_gets_the_whole_request(tmp_path: Path):
    request = {
        "task": {"id": "t1", "input": "Say it", "expected": {"any": ["thing"]}},
        "agent": {
            "output": "It is 👋",
            "tool_calls": [{"name": "bash", "arguments": {"n": 1.5}}],
            "command_invocations": [{"command": "az", "args": ["x"], "exit_code": 3, "response_index": -1}],
        },
        "config": {"a": {"c": 3}, "l": [1]},
        "context": {"trial": 4},
    }
    files = {"b/ü.txt": "é\n", "a.md": ""}
    whole = {"request": request, "expected": {"passed": True}, "files": files, "grader": "echo"}
    ended = tried(module(tmp_path / "m", {"all": whole, "least": golden()}), "--json")
    document = strict_json(ended.out)
    assert (ended.code, document["passed"]) == (0, True)
    names = [(one["golden"], one["grader"], one["passed"], one["why"]) for one in document["goldens"]]
    assert names == [("goldens/all.json", "echo", True, ""), ("goldens/least.json", "echo", True, "")]
    (asked, there, at_work), (least, nothing, _) = (
        json.loads(one["verdict"]["feedback"]) for one in document["goldens"]
    )
    digests = {file["path"]: file["sha256"] for file in asked["agent"].pop("files_written")}
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert (list(digests), digests["a.md"], at_work) == (["a.md", "b/ü.txt"], empty, True)
    assert there == ["a.md", "b"]
    assert asked == {**request, "config": {"passed": True, "a": {"b": 1, "c": 3}, "l": [1]}}
    assert (least["config"], least["context"], nothing) == (
        {"passed": True, "a": {"b": 1, "c": 2}},
        {"trial": 1},
        [],
    )


def test_verdicts_that_are_not_the_expected_ones(tmp_path: Path):
    goldens = {
        "a": golden(passed=False),
        "b": golden(min_score=0.26),
        "c": golden(max_score=0.24),
        "d": golden(min_score=0.25, max_score=0.25),
        "e": golden(config={"break": True}),
        "f": golden(config={"score": 2}),
        "g": golden(passed=False, config={"passed": False, "score": 1}),
    }
    ended = tried(module(tmp_path / "m", goldens))
    lines = ended.out.splitlines()
    starts = [
        "✗ goldens/a.json: it passed, but must have failed (score 0.25: [",
        "✗ goldens/b.json: its score is 0.25, but must be from 0.26 to 1 (score 0.25: [",
        "✗ goldens/c.json: its score is 0.25, but must be from 0 to 0.24 (",
        "✓ goldens/d.json: it passed, as it must (",
        "✗ goldens/e.json: the grader broke: the program ended badly: exit status 1; its log ends: out of luck",
        "✗ goldens/f.json: the grader broke: the response's 'score' cannot be used: ",
        "✓ goldens/g.json: it failed, as it must (score 1: ",
        "7 goldens, 5 failed",
    ]
    assert [line[: len(start)] for line, start in zip(lines, starts, strict=True)] == starts
    assert ended.code == 1


def test_other_graders_of_a_module(tmp_path: Path):
    presets = {
        "waza.registry.yaml": manifest("echo", "words", "short"),
        "words.yaml": "{type: text, config: {contains: [never]}}",
        "short.yaml": "{type: code, config: {assertions: [output_length < 5]}}",
    }
    request = {"agent": {"output": "It is done"}}
    goldens: dict[str, Any] = {
        "words": {
            "request": {**request, "config": {"contains": ["done"]}},
            "expected": {"passed": True},
            "grader": "words",
        },
        "short": {"request": request, "expected": {"passed": False}, "grader": "short"},
        "echo": {"request": request, "expected": {"passed": True}, "grader": "echo"},
    }
    goldens["echo"] = b"\xef\xbb\xbf" + json.dumps(goldens["echo"]).encode()  # as editors on Windows save it
    ended = tried(module(tmp_path / "m", goldens, **presets), "--json")
    assert ended.code == 0, ended.out
    assert [one["grader"] for one in strict_json(ended.out)["goldens"]] == ["echo", "short", "words"]


def test_modules_that_cannot_be_tried(tmp_path: Path):
    good = {"good": golden()}
    whole = module(tmp_path / "whole", good)
    cases: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
        "none": ({}, {}, "there is no golden in "),
        "json": ({"x": '{"request": {},\n  "x"'}, {}, "goldens/x.json:2:6: "),
        "utf8": ({"x": b"\xe9"}, {}, "goldens/x.json:1:1: the file is not UTF-8 text"),
        "key": ({"x": {**golden(), "expect": 1}}, {}, "goldens/x.json:1:59: expect: unknown key 'expect'; did you mean 'expected'?"),
        "request": ({"x": {"request": {"agent": {"out": ""}}, "expected": {"passed": True}}}, {}, "request.agent.out: unknown key 'out'"),
        "passed": ({"x": {"request": {}, "expected": {}}}, {}, "expected: 'passed' is missing"),
        "type": ({"x": golden(passed="maybe")}, {}, "expected.passed: "),  # type: ignore[arg-type]  # the mistake
        "range": ({"x": golden(min_score=1.5)}, {}, "expected.min_score: "),
        "deep": ({"x": "[" * 100_000}, {}, "goldens/x.json:1:102: not valid JSON"),
        "config": ({"x": {**golden(), "grader": "none"}}, {}, "grader: say which of the module's graders it is for; echo"),
        "several": (good, {"waza.registry.yaml": manifest("a", "b")}, "grader: say which of the module's graders it is for; a, b"),
        "manifest": (good, {"waza.registry.yaml": "exports: {}"}, "Error: waza.registry.yaml exports no grader"),
        "preset": (good, {"echo.yaml": "type: wgp\nconfig:\n  limits: {}\n"}, "echo.yaml:3:3: config: 'runtime' is missing"),
        "key of the preset": (good, {"echo.yaml": TEXT_PRESET}, "echo.yaml:4:3: config.colour: unknown key 'colour'"),
        "key of the golden": (
            {"x": golden(config={"colour": 1})}, {"echo.yaml": TEXT_PRESET.replace("colour", "contains_cs")},
            "request.config.colour: unknown key 'colour'",
        ),
        "item of the preset": (
            {"x": golden(config={"contains": ["x"]})},
            {"echo.yaml": "type: text\nconfig:\n  regex_match:\n    - fine\n    - [a]\n"},
            "echo.yaml:5:7: config.regex_match[1]: ",
        ),
        "value of the golden": ({"x": golden(config=[1])}, {}, "request.config: must be a mapping, not a list"),  # type: ignore[arg-type]  # the mistake
        "syntax of the preset": (good, {"echo.yaml": "type: [wgp"}, "Error: echo.yaml:1:7: not valid YAML"),
        "kind": (good, {"echo.yaml": "type: wpg"}, "Error: echo.yaml: its preset is of type 'wpg', which there is not"),
        "escape": ({"x": {**golden(), "files": {"../up": ""}}}, {}, "the file '../up' cannot be written"),
        "artifact": (good, {"echo.yaml": "{type: wgp, config: {runtime: program, artifact: ../whole/echo}}"}, "is not there"),
    }  # fmt: skip
    for name, (goldens, files, said) in cases.items():
        ended = tried(module(tmp_path / name, goldens, **files))
        assert ended.code == 2, (name, ended.out)
        assert said in ended.err, (name, ended.err)
        assert "Traceback" not in ended.err
    (whole / "echo").chmod(0o644)
    assert f"'echo' is not executable; make it so: chmod +x {whole / 'echo'}" in tried(whole).err
    (whole / "waza.registry.yaml").unlink()
    assert "there is no waza.registry.yaml in the module" in tried(whole).err
    assert "there is no directory" in tried(tmp_path / "gone").err
    assert tried(tmp_path / "gone").code == 2


def test_a_scaffold_is_found_by_a_suite_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made(tmp_path, "tone", "python")
    config = "{runtime: program, artifact: tone/grader.py, config: {words: [x]}}"
    suite = mock_suite(
        tmp_path, {"t": "inputs: {prompt: p}"}, f"graders: [{{type: wgp, name: tone, config: {config}}}]"
    )
    monkeypatch.chdir(tmp_path / "tone")
    (task,) = load(suite).tasks
    assert [grader.spec.name for grader in task.graders] == ["tone"]
