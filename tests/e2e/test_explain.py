"""`waza explain`, and the codes that JSON output gives to problems."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from tests.support.program import strict_json, waza

from waza.problem import Code


def test_all_codes_are_listed(tmp_path: Path) -> None:
    ended = waza("explain", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[0] for line in ended.out.splitlines()] == sorted(get_args(Code))
    assert "no-task            No task is selected, so there is nothing to run\n" in ended.out


def test_a_code_is_explained(tmp_path: Path) -> None:
    ended = waza("explain", "no-task", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        "No task is selected, so there is nothing to run.\n\n"
        "What to do: Relax --task and --tags, or enable tasks.\n\n"
        "Example: waza run eval.yaml --tags smoke, where no task has this tag\n"
    )


@pytest.mark.parametrize(
    ("code", "hint"), [("unknown_keys", "did you mean 'unknown-key'?"), ("zzz", "known: ambiguous-skill, ")]
)
def test_an_unknown_code_is_refused(tmp_path: Path, code: str, hint: str) -> None:
    ended = waza("explain", code, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"Error: there is no code {code!r}; {hint}")


BROKEN = {
    "name: s\nnmae: t\ntasks: [tasks/*.yaml]\n": "unknown-key",
    "name: [s]\ntasks: [tasks/*.yaml]\n": "wrong-type",
    "name: s\nname: t\n": "duplicate-key",
    "name: 's\n": "syntax",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {trials_per_task: -1}\n": "invalid-value",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mokc}\n": "unknown-executor",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mock, instruction_files: [gone.md]}\n": "missing-file",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mock, instruction_files: [../up.md]}\n": "outside-path",
    "name: s\ntasks: [tasks/*.yaml]\ngraders: [{type: txet}]\n": "unknown-grader",
    "name: s\ntasks: [tasks/*.yaml]\ngraders: [{type: text}]\n": "grader-config",
    "name: s\ntasks: [tasks/*.yaml]\nrange: [1, 2]\n": "no-effect",
    "name: s\ntasks: [gone/*.yaml]\n": "unmatched-pattern",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mock}\nskill: gone\n": "skill-not-found",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mock}\n": "unchecked-task",
}


@pytest.mark.parametrize(("written", "code"), BROKEN.items())
def test_preflight_reports_the_kind_of_each_mistake(tmp_path: Path, written: str, code: str) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "t.yaml").write_text("id: t\ninputs: {prompt: Hello}\n")
    (tmp_path / "eval.yaml").write_text(written)
    ended = waza("preflight", "eval.yaml", "--json", cwd=tmp_path)
    found = strict_json(ended.out)["diagnostics"]
    assert code in [one["problem"] for one in found], found
    assert f"[{code}]" not in ended.out
