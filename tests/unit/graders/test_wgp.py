from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.wgp import ANSWERS, DATA, IMPORTS, graded, grader, module, program, response
from tests.unit.graders._configs import findings, read, refused
from wasmtime import wat2wasm

from waza.errors import GraderError
from waza.graders.base import GraderLocation
from waza.graders.wgp import Wgp, WgpLimits


def wgp(text: str) -> Wgp:
    return read(Wgp, text)


def said(config: str, base: Path) -> list[str]:
    return [f"{one.path[0]}: {one.message}; {one.hint}" for one in findings(wgp(config), base)]


def test_documented_config(tmp_path: Path):
    program(tmp_path / "check.py", "")
    found = wgp(
        "{runtime: program, artifact: check.py, limits: {memory_mb: 64, cpu_seconds: 5, wall_seconds: 7},"
        " config: {any: [thing, 1.5, null]}}"
    )
    assert found == Wgp(
        runtime="program",
        artifact="check.py",
        limits=WgpLimits(memory_mb=64, cpu_seconds=5, wall_seconds=7),
        config={"any": ["thing", 1.5, None]},
    )
    assert findings(found, tmp_path) == []
    assert Wgp(runtime="wasm", artifact="x").limits == WgpLimits(cpu_seconds=30, wall_seconds=30)
    assert (Wgp.reads_workspace, Wgp.reads_changes) == (True, True)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("artifact: x", "'runtime' is missing"),
        ("runtime: wasm", "'artifact' is missing"),
        ("{runtime: docker, artifact: x}", "runtime: "),
        ("{runtime: wasm, artifact: ' '}", "artifact: must not be empty"),
        ("{runtime: wasm, artifact: x, entrypoint: ''}", "entrypoint: must not be empty"),
        ("{runtime: wasm, artifact: x, limits: {memory_mb: 0}}", "limits.memory_mb: "),
        ("{runtime: wasm, artifact: x, limits: {wall_seconds: 0}}", "limits.wall_seconds: "),
        ("{runtime: wasm, artifact: x, limits: {network: true}}", "limits.network: unknown key"),
        ("{runtime: wasm, artifact: x, config: [a]}", "config: "),
        ("{runtime: program, artifact: x, args: [y]}", "args: unknown key"),
    ],
)
def test_configs_that_are_refused(config: str, problem: str):
    assert any(problem in one for one in refused(Wgp, config))


def test_an_artifact_that_cannot_be_run(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain.py").write_text("#!/usr/bin/env python3\n")
    for runtime in ("program", "wasm"):
        assert said(f"{{runtime: {runtime}, artifact: gone.bin}}", tmp_path) == [
            "artifact: 'gone.bin' is not there; it is sought beside the suite"
        ]
        assert "'folder' is not a file" in said(f"{{runtime: {runtime}, artifact: folder}}", tmp_path)[0]
    assert said("{runtime: program, artifact: plain.py}", tmp_path) == [
        f"artifact: 'plain.py' is not executable; make it so: chmod +x {tmp_path}/plain.py"
    ]
    assert said("{runtime: wasm, artifact: plain.py}", tmp_path) == [
        "artifact: 'plain.py' is not a WASM module; compile it, or say runtime: program"
    ]


ODD_IMPORT = IMPORTS.replace("waza_host_log", "waza_host_now")
WASI = '(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))'
# wat, and what is said of it.
FORBIDDEN = {
    "wasi": (f'(module {WASI} (memory (export "memory") 1))', "imports wasi_snapshot_preview1.fd_write; a grader gets waza_host_read_input, waza_host_write_result, waza_host_log and nothing else"),
    "unknown function": (f'(module {ODD_IMPORT} (memory (export "memory") 1))', "imports waza_host.waza_host_now; "),
    "memory": ('(module (import "env" "memory" (memory 1)) (export "memory" (memory 0)))', "imports env.memory; "),
    "no function": ('(module (import "env" "waza_host_log" (global i32)) (memory (export "memory") 1))', "imports waza_host_log as something else than (i32, i32)"),
    "signature": ('(module (import "env" "waza_host_read_input" (func (param i32 i32))) (memory (export "memory") 1))', "imports waza_host_read_input as something else than (i32, i32) -> i32"),
    "no memory": ('(module (func (export "grade")))', "does not export its memory under the name 'memory'"),
    "memory is a function": ('(module (func (export "memory")) (func (export "grade")))', "does not export its memory"),
    "shared memory": ('(module (memory (export "memory") 1 1 shared) (func (export "grade")))', "cannot be compiled: threads must be enabled"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN)
def test_modules_that_are_refused_when_the_suite_is_loaded(tmp_path: Path, name: str):
    wat, message = FORBIDDEN[name]
    (tmp_path / "bad.wasm").write_bytes(wat2wasm(wat))
    (found,) = said("{runtime: wasm, artifact: bad.wasm}", tmp_path)
    assert found.startswith("artifact: the module ")
    assert message in found
    assert "\n" not in found


def test_bytes_that_are_no_module(tmp_path: Path):
    (tmp_path / "torn.wasm").write_bytes((DATA / "brief.wasm").read_bytes()[:200])
    (found,) = said("{runtime: wasm, artifact: torn.wasm}", tmp_path)
    assert found.startswith("artifact: the module cannot be compiled: ")


def test_an_entry_point_that_is_not_there(tmp_path: Path):
    parts = '(func (export "other")) (func (export "asks") (param i32)) (func (export "tells") (result i64) (i64.const 0))'
    module(tmp_path / "m.wasm", ANSWERS, parts=parts)
    for entrypoint in ("asks", "tells", "memory", "gone"):
        assert said(f"{{runtime: wasm, artifact: m.wasm, entrypoint: {entrypoint}}}", tmp_path) == [
            f"entrypoint: the module exports no function {entrypoint!r} that takes nothing; it can be entered at: other, grade"
        ]
    assert said("{runtime: wasm, artifact: m.wasm, entrypoint: other}", tmp_path) == []


def test_without_wasmtime_the_way_to_install_it_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    (found,) = said("{runtime: wasm, artifact: brief.wasm}", DATA)
    assert found == "runtime: runtime wasm needs wasmtime; install it: pip install 'waza[wasm]'; "
    with pytest.raises(GraderError, match=r"pip install 'waza\[wasm\]'"):
        graded(Wgp(runtime="wasm", artifact=str(DATA / "brief.wasm")))


def test_the_suite_comes_before_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("suite", "cwd"):
        (tmp_path / name).mkdir()
        program(tmp_path / name / "check.py", f"print('''{response(rationale=name)}''')")
    program(tmp_path / "cwd" / "only.py", f"print('''{response(rationale='only')}''')")
    monkeypatch.chdir(tmp_path / "cwd")
    for artifact, found in (("check.py", "suite"), ("only.py", "only")):
        placed = Wgp(runtime="program", artifact=artifact).resolve_paths(
            GraderLocation(base=tmp_path / "suite")
        )
        assert Path(placed.artifact).is_absolute()
        assert graded(placed).feedback == found


def test_the_verdict_is_as_given(tmp_path: Path):
    answer = response(
        score=0.1,
        passed=True,
        rationale="good enough",
        evidence=[{"kind": "span", "ref": "agent.output[0..2]"}, {"kind": "note"}],
        metrics={"recall": 0.75, "hits": 3},
    )
    for artifact in (
        program(tmp_path / "p.py", f"print('''{answer}''')"),
        module(tmp_path / "m.wasm", ANSWERS, answer=answer),
    ):
        verdict = graded(grader(artifact))
        assert (verdict.score, verdict.passed, verdict.feedback, verdict.error) == (
            0.1,
            True,
            "good enough",
            "",
        )
        assert verdict.details == {
            "evidence": [{"kind": "span", "ref": "agent.output[0..2]"}, {"kind": "note", "ref": ""}],
            "metrics": {"recall": 0.75, "hits": 3.0},
        }


def test_a_module_that_changes_after_loading_is_not_run(tmp_path: Path):
    artifact = module(tmp_path / "m.wasm", ANSWERS)
    placed = grader(artifact)
    module(artifact, ANSWERS, answer=response(score=1))
    with pytest.raises(GraderError, match="was changed after the suite was loaded"):
        graded(placed)
    artifact.unlink()
    with pytest.raises(GraderError, match="No such file"):
        graded(placed)
