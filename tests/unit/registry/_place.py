"""A directory with a suite that uses graders from elsewhere, and the repository that they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, waza, write_tree
from tests.unit.registry._upstream import Upstream, manifest

from waza.errors import SuiteError
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
        "speaks",
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
    "speaks.yaml": "{type: wgp, config: {runtime: program, artifact: bin/check.py, config: {words: [a]}}}",
    "bin/check.py": CHECK,
    "bin/verdict.py": "CODE = 0\n",
    "presets/plain.yaml": "{type: text, config: {contains: [done]}}",
    "presets/outside.yaml": "{type: json_schema, config: {schema_file: ../schemas/answer.json}}",
}
PROGRAMS = ["bin/check.py"]


class Place:
    """A directory with a suite, a host that stands for github.com, and a module cache of its own."""

    def __init__(self, root: Path, upstream: Upstream) -> None:
        self.root, self.upstream, self.cache, self.marker = root, upstream, root / "cache", root / "ran"
        self.environment = {"WAZA_MODULE_CACHE": str(self.cache), "MARKER": str(self.marker)}
        write_tree(root, {".waza.yaml": json.dumps({"hosts": {"github.com": str(upstream.hosts)}})})

    @classmethod
    def of_test(cls, root: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Place:
        """One whose cache is also that of this process, for the test."""
        made = cls(root, upstream)
        monkeypatch.setenv("WAZA_MODULE_CACHE", str(made.cache))
        return made

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
