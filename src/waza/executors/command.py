"""`executor: command`: any program as the agent. It is started for every prompt, which it reads on stdin."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import msgspec

from waza.errors import ExecutorError, is_outside
from waza.executors._agent_answer import AgentAnswer, answer_from_json
from waza.executors._system import given_target, system_text
from waza.kit import process
from waza.kit.tempdirs import ProcessTempdir
from waza.kit.text import shorten_middle
from waza.model.agent import AttemptWorkspace, Limits, Setup
from waza.model.base import Keys, NonBlank
from waza.model.observation import MESSAGE, Event, OfferedSkill, SkillsOffered, Turn
from waza.model.task import Task
from waza.model.trial import Attempt
from waza.model.wire import WireAddress

TRY_LATER = 75  # EX_TEMPFAIL of sysexits.h
_SHOWN = 2000  # characters of a program's complaint


class CommandOptions(Keys, frozen=True, kw_only=True):
    """`config.executor_options`: a shell command, and where it runs: in the workspace, or where waza was started.

    With `system: prompt` the system text precedes every prompt; it is in a file in any case.
    `answer: json` reads an answer that is an object with `response` and perhaps `citations` and `diagnostics`.
    """

    strict_keys: ClassVar[bool] = True
    command: NonBlank
    directory: Literal["workspace", "current"] = "workspace"
    system: Literal["file", "prompt"] = "file"
    answer: Literal["text", "json"] = "text"


class CommandExecutor:
    """Starts the program. What it writes to stdout is its answer; it works in the attempt's workspace.

    `WAZA_CONVERSATION` is the task's id and `WAZA_TURN` counts the prompts of the conversation from 1, so that
    a program can remember; `WAZA_SUITE_DIR` is the suite's directory. `WAZA_SKILL_NAME` and `WAZA_SKILL_DIR` are
    those of the skill or agent under test, and the file `WAZA_SYSTEM_FILE` holds the system text; all three are
    empty without one. It has the whole environment of waza, and mocked programs in front of its PATH. An
    exit code other than 0 is a broken turn; 75 says that the program takes no requests for now.
    """

    Options = CommandOptions

    def __init__(self, setup: Setup) -> None:
        self.options = setup.options(CommandOptions)
        self.config = setup.config
        self.shims = setup.shims
        self.files: ProcessTempdir | None = None

    async def start(self) -> None:
        """Make room for the files with system texts, outside of the workspaces."""
        self.files = ProcessTempdir("system")

    def works_in(self, task: Task) -> bool:
        """Tell whether the program runs in a workspace."""
        del task
        return self.options.directory == "workspace"

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> CommandSession:
        """Return a conversation in which the program is started for every prompt."""
        if self.files is None:
            raise ExecutorError("the executor was not started")
        return CommandSession(self, attempt.task, place, self.files.path)

    def judge(self, attempt: Attempt) -> None:
        """Return None: a program is not asked for verdicts."""
        del attempt

    async def aclose(self) -> None:
        """Remove what was written."""
        if self.files is not None:
            self.files.remove()
            self.files = None


class CommandSession:
    """One conversation."""

    def __init__(self, executor: CommandExecutor, task: Task, place: AttemptWorkspace, files: Path) -> None:
        self.options = executor.options
        self.cwd = place.workdir if executor.works_in(task) else None
        self.turns = 0
        self.system = system_text(executor.config, task, place).strip()
        handle, name = tempfile.mkstemp(dir=files, suffix=".md")
        self.file = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.write(f"{self.system}\n" if self.system else "")
        target = None if task.no_skills else task.target
        given = given_target(executor.config, task) if self.options.system == "prompt" else None
        # A program may have skills of its own, and need not read the file.
        skill = (OfferedSkill(name=given.name, path=str(given.path), loaded=True),) if given else ()
        self.offered = SkillsOffered(skills=skill, complete=False)
        own = {
            "WAZA_CONVERSATION": task.id,
            "WAZA_SUITE_DIR": str(task.home),
            "WAZA_SKILL_NAME": target.name if target else "",
            "WAZA_SKILL_DIR": str(target.directory) if target else "",
            "WAZA_SYSTEM_FILE": name,
        }
        if executor.shims is not None:
            own["PATH"] = f"{executor.shims}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
            own["WAZA_MOCK_SESSION"] = place.mock_token
        self.environment: Mapping[str, str] = {**os.environ, **place.environment, **own}
        if place.wire is not None:
            self.environment = {**self.environment, **_wire_variables(place.wire, self.environment)}

    async def send(self, prompt: str, limits: Limits) -> Turn:
        """Start the program with a prompt, and wait for its end."""
        self.turns += 1
        shell = ["cmd", "/C"] if sys.platform == "win32" else ["sh", "-c"]
        started = time.monotonic()
        try:
            ended = await process.run(
                [*shell, self.options.command],
                stdin=self._stdin(prompt).encode("utf-8", "replace"),
                cwd=self.cwd,
                env={**self.environment, "WAZA_TURN": str(self.turns)},
                timeout=limits.turn or None,
            )
        except ValueError as error:
            raise ExecutorError(f"the command cannot be started: {error}") from error
        turn = _turn(ended, limits, as_json=self.options.answer == "json")
        took = round((time.monotonic() - started) * 1000)
        return msgspec.structs.replace(turn, duration_ms=took, skills_offered=self.offered)

    def _stdin(self, prompt: str) -> str:
        before = self.options.system == "prompt" and self.system
        return f"{self.system}\n\n{prompt}" if before else prompt

    async def aclose(self) -> None:
        """Remove the file with the system text."""
        self.file.unlink(missing_ok=True)


def _wire_variables(wire: WireAddress, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which the clients of model servers find them. Those of other ways to log in are emptied."""
    given = environment.get("NO_PROXY") or environment.get("no_proxy")
    direct = ",".join(filter(None, [given, "127.0.0.1"]))  # no proxy knows this address
    return {
        "NO_PROXY": direct,
        "no_proxy": direct,
        "OPENAI_BASE_URL": wire.openai,
        "OPENAI_API_BASE": wire.openai,
        "OPENAI_API_KEY": wire.token,
        "ANTHROPIC_BASE_URL": wire.root,
        "ANTHROPIC_API_KEY": wire.token,
        "ANTHROPIC_AUTH_TOKEN": "",
    }


def _turn(ended: process.FinishedProcess, limits: Limits, *, as_json: bool) -> Turn:
    if ended.timed_out:
        return Turn(error=f"the command did not end within {limits.turn:g} s", timed_out=True)
    if ended.truncated:
        return Turn(error=f"the command wrote more than {process.MAX_OUTPUT:,} bytes")
    if not ended.ok:
        throttled = ended.returncode == TRY_LATER
        return Turn(
            error=_exit_error(ended), throttled=throttled, outside=throttled or is_outside(ended.cause)
        )
    output = ended.stdout.decode("utf-8", "replace").rstrip("\r\n")
    try:
        answer = answer_from_json(output) if as_json else AgentAnswer(response=output)
    except ValueError as error:
        return Turn(error=f"the command's answer in JSON cannot be read: {error}")
    return Turn(
        output=answer.response,
        events=(Event(type=MESSAGE, content=answer.response),),
        citations=answer.citations,
        diagnostics=answer.diagnostics,
    )


def _exit_error(ended: process.FinishedProcess) -> str:
    stderr = shorten_middle(ended.stderr.decode("utf-8", "replace").strip(), _SHOWN)
    return f"the command ended with {ended.outcome}{': ' if stderr else ''}{stderr}"
