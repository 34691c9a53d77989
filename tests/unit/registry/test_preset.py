from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.program import write_tree
from tests.unit.registry._upstream import manifest

from waza.kit import yaml
from waza.kit.decode import Decoder, Document
from waza.model.suite import GraderEntry
from waza.registry.cache import ModuleError
from waza.registry.preset import MANIFEST, Preset, deep_merge, load_preset, merge_preset
from waza.registry.ref import parse_ref

TEXT = "{type: text, config: {contains: [a]}}"
REF = "github.com/acme/graders"


def loaded(root: Path, rest: str, files: dict[str, str]) -> Preset:
    return load_preset(write_tree(root, files), parse_ref(f"{REF}{rest}@v1"))


def refused(root: Path, rest: str, files: dict[str, str]) -> str:
    with pytest.raises(ModuleError) as caught:
        loaded(root, rest, files)
    return str(caught.value)


def test_an_export_of_the_manifest_in_the_root(tmp_path: Path):
    files = {
        MANIFEST: manifest("tone", "style", deep="a/b/deep.yaml"),
        "tone.yaml": TEXT,
        "a/b/deep.yaml": TEXT,
    }
    found = loaded(tmp_path, "#deep", files)
    assert (found.type, found.name, found.weight) == ("text", "deep", 1.0)
    assert yaml.to_plain(found.config) == {"contains": ["a"]}
    assert (found.directory, found.module) == (tmp_path / "a" / "b", tmp_path)


def test_an_export_of_the_manifest_at_the_path(tmp_path: Path):
    files = {
        MANIFEST: manifest(tone="wrong.yaml"),
        f"sub/{MANIFEST}": manifest("tone", up="../shared.yaml"),
        "sub/tone.yaml": TEXT,
        "shared.yaml": TEXT,
    }
    assert loaded(tmp_path, "/sub#tone", files).directory == tmp_path / "sub"
    assert loaded(tmp_path, "/sub#up", files).directory == tmp_path


@pytest.mark.parametrize(
    ("path", "file", "name"),
    [
        ("checks/tone.yaml", "checks/tone.yaml", "tone"),
        ("checks/tone", "checks/tone.yaml", "tone"),
        ("checks/tone", "checks/tone.yml", "tone"),
        ("checks/tone", "checks/tone", "tone"),
        ("checks/tone.v2.yaml", "checks/tone.v2.yaml", "tone.v2"),
    ],
)
def test_a_path_alone_needs_no_manifest(tmp_path: Path, path: str, file: str, name: str):
    assert loaded(tmp_path, f"/{path}", {file: TEXT}).name == name


def test_neither_takes_the_only_export(tmp_path: Path):
    assert loaded(tmp_path, "", {MANIFEST: manifest(only="x.yaml"), "x.yaml": TEXT}).name == "only"


def test_a_preset_may_name_and_weigh_itself(tmp_path: Path):
    preset = "{type: text, name: house style, weight: 2.5, config: {contains: [a]}}"
    found = loaded(tmp_path, "#tone", {MANIFEST: manifest("tone"), "tone.yaml": preset})
    assert (found.name, found.weight) == ("house style", 2.5)


@pytest.mark.parametrize(
    "text",
    [
        "exports: {graders: {t: {path: t.yaml, description: d, tags: x, inputs: [1], new: true}}, evals: 3}\nlater: 1",
        "schema_version: 0\nmodule: m\ndependencies: [{ref: r}]\nexports:\n  graders:\n    t:\n      path: t.yaml\n",
    ],
)
def test_other_keys_of_a_manifest_do_not_matter(tmp_path: Path, text: str):
    assert loaded(tmp_path, "#t", {MANIFEST: text, "t.yaml": TEXT}).name == "t"


@pytest.mark.parametrize(
    ("rest", "files", "said"),
    [
        ("#t", {"t.yaml": TEXT}, f"there is no {MANIFEST} in the module"),
        ("/sub#t", {MANIFEST: manifest("t"), "t.yaml": TEXT}, f"there is no {MANIFEST} in sub"),
        ("", {MANIFEST: manifest("a", "b")}, "say which grader, with '#': a, b"),
        ("#c", {MANIFEST: manifest("a", "b")}, "there is no export 'c'; there are: a, b"),
        ("", {MANIFEST: "exports: {evals: {}}"}, f"{MANIFEST} exports no grader"),
        ("#t", {MANIFEST: "exports: {graders: {}}"}, f"{MANIFEST} exports no grader"),
        ("#t", {MANIFEST: "exports:"}, f"{MANIFEST} exports no grader"),
        ("#t", {MANIFEST: "schema_version: 2"}, "schema_version 2; this waza reads 1"),
        ("#t", {MANIFEST: ""}, f"{MANIFEST}"),
        ("#t", {MANIFEST: "exports: {graders: {t: {}}}"}, "'path' is missing"),
        ("#t", {MANIFEST: "exports: [t]"}, "must be a mapping of keys, not a list"),
        ("#t", {MANIFEST: "a: b: c"}, f"{MANIFEST}:1:5: not valid YAML"),
        ("#t", {MANIFEST: manifest("t")}, "names 't.yaml', which is not there"),
        ("#t", {MANIFEST: manifest(t="sub"), "sub/x": ""}, "names 'sub', which is not there"),
        ("#t", {MANIFEST: manifest(t="../t.yaml")}, "'../t.yaml' leads out of the module"),
        ("#t", {MANIFEST: manifest(t="a/../../t.yaml")}, "leads out of the module"),
        ("#t", {MANIFEST: manifest(t="/etc/passwd")}, "'/etc/passwd' leads out of the module"),
        ("#t", {MANIFEST: manifest(t="..\\t.yaml")}, "leads out of the module"),
        ("#t", {MANIFEST: manifest(t="~/t.yaml")}, "names '~/t.yaml', which is not there"),
        ("/gone", {MANIFEST: manifest("t")}, "the module has no file 'gone'; name an export of it with '#'"),
        ("/t.v2", {"t.v2.yaml": TEXT}, "the module has no file 't.v2'"),
        ("/t", {"t.yaml": "config: {}"}, "'t.yaml' has no 'type'"),
        ("/t", {"t.yaml": "[a]"}, "must be a mapping of keys, not a list"),
        ("/t", {"t.yaml": ""}, "t.yaml"),
        ("/t", {"t.yaml": "a: b: c"}, "t.yaml:1:5"),
        ("/t", {"t.yaml": f"ref: {REF}#u@v1"}, "is itself a ref, which is not followed"),
        ("/t", {"t.yaml": "{type: text, contains: [a]}"}, "unknown key 'contains'"),
        ("/t", {"t.yaml": "{type: text, config: [a]}"}, "config: must be a mapping, not a list"),
        ("/t", {"t.yaml": "{type: text, weight: heavy}"}, "weight: must be a number, not the text 'heavy'"),
    ],
)
def test_modules_that_hold_no_such_grader(tmp_path: Path, rest: str, files: dict[str, str], said: str):
    assert said in refused(tmp_path, rest, files)


def test_a_link_out_of_the_module_is_not_followed(tmp_path: Path):
    write_tree(tmp_path, {"outside/t.yaml": TEXT, "module/x": ""})
    (tmp_path / "module" / "t.yaml").symlink_to("../outside/t.yaml")
    assert "leads out of the module" in refused(tmp_path / "module", "/t.yaml", {})


def laid(tmp_path: Path, preset: str, local: str) -> Preset:
    found = loaded(tmp_path, "/t", {"t.yaml": preset})
    node: Any = yaml.load(local.encode())
    entry = Decoder(Document("suite", node)).read(GraderEntry)
    assert entry is not None
    return merge_preset(found, entry, node)


def test_the_example_of_merging(tmp_path: Path):
    found = laid(
        tmp_path,
        "{type: text, config: {contains: [a], nested: {x: 1, y: 2}}}",
        "{ref: r, config: {contains: [b], nested: {y: 3}}}",
    )
    assert yaml.to_plain(found.config) == {"contains": ["b"], "nested": {"x": 1, "y": 3}}


@pytest.mark.parametrize(
    ("local", "name", "weight"),
    [
        ("{ref: r}", "own", 2.0),
        ("{ref: r, name: mine}", "mine", 2.0),
        ("{ref: r, weight: 3}", "own", 3.0),
        ("{ref: r, weight: 0}", "own", 2.0),
        ("{ref: r, weight: 1.0}", "own", 1.0),
        ("{ref: r, type: text, config: null}", "own", 2.0),
    ],
)
def test_what_the_suite_says_of_name_and_weight_counts(tmp_path: Path, local: str, name: str, weight: float):
    found = laid(tmp_path, "{type: text, name: own, weight: 2, config: {contains: [1.10]}}", local)
    assert (found.name, found.weight) == (name, weight)


def test_another_type_is_refused(tmp_path: Path):
    with pytest.raises(ModuleError, match="of type 'text', not 'file'; leave 'type' out"):
        laid(tmp_path, TEXT, "{ref: r, type: file}")


@pytest.mark.parametrize(
    ("below", "above", "both"),
    [
        ("{a: {b: 1}}", "{a: 2}", {"a": 2}),
        ("{a: 1}", "{a: {b: 2}}", {"a": {"b": 2}}),
        ("{a: [1, 2]}", "{a: []}", {"a": []}),
        ("{a: [{x: 1}]}", "{a: [{y: 1}]}", {"a": [{"y": 1}]}),
        ("{a: 1}", "{a: null}", {"a": None}),
        ("{a: {b: {c: 1, d: 2}}}", "{a: {b: {c: 3}}, e: 4}", {"a": {"b": {"c": 3, "d": 2}}, "e": 4}),
    ],
)
def test_merging(below: str, above: str, both: dict[str, Any]):
    nodes: list[Any] = [yaml.load(text.encode()) for text in (below, above)]
    assert yaml.to_plain(deep_merge(*nodes)) == both
    assert [yaml.to_plain(node) for node in nodes] == [
        yaml.to_plain(yaml.load(t.encode())) for t in (below, above)
    ]


@pytest.mark.parametrize(
    ("preset", "needed"),
    [
        ("type: text", False),
        ("type: code", True),
        ("type: prompt", False),
        ("type: program", True),
        ("{type: wgp, config: {runtime: program}}", True),
        ("{type: wgp, config: {runtime: wasm}}", False),
        ("{type: wgp, config: {}}", True),
        ("{type: wgp, config: {runtime: WASM}}", True),
        ("{type: wgp, config: {runtime: [wasm]}}", True),
        ("type: of_another_package", True),
    ],
)
def test_what_runs_a_program_needs_trust(tmp_path: Path, preset: str, needed: bool):
    assert loaded(tmp_path, "/t", {"t.yaml": preset}).needs_trust == needed


def test_an_evaluator_needs_trust_where_custom_ones_are(tmp_path: Path):
    preset = "{type: evaluator, config: {name: Relevance}}"
    assert not loaded(tmp_path, "/t", {"t.yaml": preset}).needs_trust
    files = {"t.yaml": preset, "sub/t.yaml": preset, "custom-evaluators/x/x.py": ""}
    assert loaded(tmp_path, "/t", files).needs_trust
    assert not loaded(tmp_path, "/sub/t", files).needs_trust


def test_a_suite_cannot_turn_a_module_in_a_sandbox_into_a_program_without_trust(tmp_path: Path):
    preset = "{type: wgp, config: {runtime: wasm, artifact: g}}"
    assert not laid(tmp_path, preset, "{ref: r}").needs_trust
    assert laid(tmp_path, preset, "{ref: r, config: {runtime: program}}").needs_trust
