"""Running a composite action as GitHub's runner does: its steps in order, each script by bash, with its files and variables.

Only the expressions that `action.yml` has are known; any other is an error of the test. Actions that steps use are
replaced by `Use`, a record of what they were asked for.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

LIMIT = 300  # seconds a step may take
BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_COMPARISON = re.compile(r"([\w.-]+) (==|!=) '(.*)'")


@dataclass(frozen=True)
class Use:
    """An action that a step used, and its inputs; `files` are those below the path of an upload, as they were then."""

    action: str
    inputs: dict[str, str]
    files: tuple[str, ...] = ()


@dataclass
class Ended:
    """What a run of the action left."""

    outcome: str = "success"
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    summary: str = ""

    def used(self, name: str) -> Use | None:
        """The use of an action by its name without version, such as `actions/cache`."""
        return next((use for use in self.uses if use.action.split("@")[0] == name), None)


class Runner:
    """A runner with its directories below `home`; `repository` is the checkout in which the action is used."""

    def __init__(self, home: Path, repository: Path, *, action: Path) -> None:
        self.home = home
        self.repository = repository
        self.action = action
        self.temp = home / "temp"
        self.program = self.temp / "waza" / "program" / "bin" / "waza"

    def install_this_waza(self) -> None:
        """Put the program that the step `install` would install where it would be, so that the step can be left out."""
        self.program.parent.mkdir(parents=True, exist_ok=True)
        self.program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m waza "$@"\n')
        self.program.chmod(0o755)

    def run(
        self,
        inputs: Mapping[str, str] | None = None,
        *,
        github: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        without: Sequence[str] = (),
    ) -> Ended:
        """Run all steps but those with an id in `without`. `github` are the values of the context of that name."""
        action = yaml.safe_load((self.action / "action.yml").read_text(encoding="utf-8"))
        given = dict(inputs or {})
        unknown = given.keys() - action["inputs"].keys()
        assert not unknown, f"no inputs of the action: {unknown}"
        context = {
            **{f"github.{name}": value for name, value in (github or {}).items()},
            "github.action_path": str(self.action),
            "github.token": "token-of-the-job",
            "github.run_id": "7",
            "github.run_attempt": "1",
            "runner.temp": str(self.temp),
            "runner.os": "Linux",
        }
        for name, rule in action["inputs"].items():
            context[f"inputs.{name}"] = given.get(name, _filled(rule["default"], context))
        self.temp.mkdir(parents=True, exist_ok=True)
        ended = Ended()
        for step in action["runs"]["steps"]:
            if step.get("id") in without or not _wanted(step, context, ended):
                continue
            ended.ran.append(step["name"])
            outputs = (
                self._use(step, context, ended) if "uses" in step else self._script(step, context, ended, env)
            )
            context |= {f"steps.{step['id']}.outputs.{name}": value for name, value in outputs.items()}
        ended.outputs = {name: _filled(one["value"], context) for name, one in action["outputs"].items()}
        return ended

    def _use(self, step: dict[str, Any], context: dict[str, str], ended: Ended) -> dict[str, str]:
        inputs = {name: _filled(str(value).lower() if value in (True, False) else str(value), context)
                  for name, value in step["with"].items()}  # fmt: skip
        path = Path(inputs["path"]) if "upload" in step["uses"] else None
        found = sorted(path.rglob("*")) if path else []
        files = tuple(file.relative_to(path).as_posix() for file in found if path and file.is_file())
        ended.uses.append(Use(step["uses"], inputs, files))
        return {"python-path": sys.executable} if "setup-python" in step["uses"] else {}

    def _script(
        self, step: dict[str, Any], context: dict[str, str], ended: Ended, env: Mapping[str, str] | None
    ) -> dict[str, str]:
        assert "${{" not in step["run"], f"the step {step['name']!r} has an expression in its script"
        assert step["shell"] == "bash"
        files = {name: self.home / name for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            path.write_text("", encoding="utf-8")
        variables = {
            **os.environ,
            "NO_COLOR": "1",
            "PYTHONUTF8": "1",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "acme/skills",
            "GITHUB_WORKSPACE": str(self.repository),
            "RUNNER_TEMP": str(self.temp),
            **{name: str(path) for name, path in files.items()},
            **(env or {}),
            **{name: _filled(str(value), context) for name, value in step.get("env", {}).items()},
        }
        script = self.home / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        directory = self.repository / _filled(step.get("working-directory", "."), context)
        done = subprocess.run(
            [*BASH, str(script)],
            cwd=directory,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
            check=False,
        )
        ended.log += done.stdout.decode("utf-8", "replace")
        ended.summary += files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
        if done.returncode:
            ended.outcome = f"failure {done.returncode}"
        lines = files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)


def _filled(text: str, context: Mapping[str, str]) -> str:
    """Return a text with its expressions replaced; what the context lacks is empty, as on GitHub."""
    return _EXPRESSION.sub(lambda found: _value(found[1], context), text)


def _value(name: str, context: Mapping[str, str]) -> str:
    assert re.fullmatch(r"(inputs|steps|github|runner)\.[\w.-]+", name), (
        f"the test knows no expression {name!r}"
    )
    return context.get(name, "")


def _wanted(step: dict[str, Any], context: Mapping[str, str], ended: Ended) -> bool:
    """Return whether the condition of a step holds; after a failure only with `always()` or `!cancelled()`."""
    condition = re.sub(r"^\$\{\{ (.*) \}\}$", r"\1", step.get("if", ""))
    parts = condition.split(" && ") if condition else []
    whatever = [part for part in parts if part in {"always()", "!cancelled()"}]
    if ended.outcome != "success" and not whatever:
        return False
    for part in (part for part in parts if part not in whatever):
        found = _COMPARISON.fullmatch(part)
        assert found, f"the test knows no condition {part!r}"
        if (_value(found[1], context) == found[3]) != (found[2] == "=="):
            return False
    return True


def stand_in(folder: Path, name: str, text: str) -> str:
    """Write a program that is found before others of its name; return the PATH for it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def has_bash() -> bool:
    """Whether scripts of steps can run here."""
    return shutil.which("bash") is not None
