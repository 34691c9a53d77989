from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest
from tests.support.program import write_tree

from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict
from waza.registry.build import preset_location, read_preset
from waza.registry.cache import ModuleError
from waza.registry.preset import read_preset_file


def graded(module: Path, seen: Observation, *, update_snapshots: bool = False) -> Verdict:
    """The verdict of the grader in `t.yaml`."""
    preset = read_preset_file(module, "t.yaml")
    grader, findings = read_preset(preset, module / "fixtures")
    assert findings == []
    assert grader is not None
    answer = grader.resolve_paths(preset_location(preset, module / "fixtures")).grade(
        seen, Helpers(update_snapshots=update_snapshots)
    )

    async def verdict() -> Verdict:
        return await answer if inspect.isawaitable(answer) else answer

    return asyncio.run(verdict())


@pytest.mark.parametrize("config", ["", "update_snapshots: true, ", "context_dir: kept, "])
def test_snapshots_of_a_module_are_compared_and_never_rewritten(tmp_path: Path, config: str):
    preset = f"{{type: diff, config: {{{config}expected_files: [{{path: a, snapshot: a.txt}}]}}}}"
    module = write_tree(tmp_path / "m", {"t.yaml": preset, "a.txt": "one", "kept/a.txt": "one"})
    workspace = write_tree(tmp_path / "w", {"a": "one"})
    seen = Observation(workspace=str(workspace))
    assert graded(module, seen, update_snapshots=True).passed
    (workspace / "a").write_text("two")
    assert not graded(module, seen, update_snapshots=True).passed
    assert {(module / name).read_text() for name in ("a.txt", "kept/a.txt")} == {"one"}


def test_a_bare_command_is_sought_on_path_and_never_in_the_current_directory(tmp_path: Path, monkeypatch):
    config = '{command: sh, args: [-c, \'test "$1" = words && test "$2" = /etc/hostname\', sh, words, /etc/hostname]}'
    module = write_tree(tmp_path / "m", {"t.yaml": f"{{type: program, config: {config}}}"})
    write_tree(tmp_path / "here", {"sh": "#!/bin/false\n", "words": ""})
    (tmp_path / "here" / "sh").chmod(0o755)
    monkeypatch.chdir(tmp_path / "here")
    verdict = graded(module, Observation())
    assert (verdict.passed, verdict.details["command"]) == (True, "sh")


def test_a_type_that_there_is_not(tmp_path: Path):
    write_tree(tmp_path, {"t.yaml": "type: telepathy"})
    with pytest.raises(
        ModuleError, match="is of type 'telepathy', which there is not; types: action_sequence, "
    ):
        read_preset(read_preset_file(tmp_path, "t.yaml"), tmp_path)
