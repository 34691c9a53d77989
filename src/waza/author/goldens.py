"""Goldens: requests to a grader whose verdict is known, asked in the way of a run."""

from __future__ import annotations

import hashlib
import inspect
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from waza.errors import GraderError, SuiteError, UsageError
from waza.graders.base import ConfigMistake, Grader
from waza.kit import yaml
from waza.kit.decode import Decoder, Document, format_path
from waza.kit.files import safe_join
from waza.kit.json_nodes import JsonError, load
from waza.model.base import Keys
from waza.model.observation import CommandInvocation, Observation, ToolEvent, WrittenFile
from waza.model.verdict import Helpers, SharedResources, Verdict
from waza.model.wgp import Command, ToolCall
from waza.problem import Problem
from waza.registry.build import preset_location, read_preset
from waza.registry.cache import ModuleError
from waza.registry.preset import Preset, deep_merge, read_exports, read_preset_file
from waza.suite.read import at, child

FOLDER = "goldens"
_PART = re.compile(r"[^.\[\]]+")  # of a dotted path
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class GoldenTask(Keys, frozen=True, kw_only=True):
    """`request.task`."""

    id: str = "golden"
    input: str = ""
    expected: Any = None


class GoldenAgent(Keys, frozen=True, kw_only=True):
    """`request.agent`. The files that the agent wrote are the golden's `files`."""

    output: str = ""
    tool_calls: list[ToolCall] = []
    command_invocations: list[Command] = []


class GoldenContext(Keys, frozen=True, kw_only=True):
    """`request.context`."""

    trial: Annotated[int, msgspec.Meta(ge=1)] = 1


class GoldenRequest(Keys, frozen=True, kw_only=True):
    """The parts of a WGP/1 request that matter. `config` is laid over what the preset gives the grader."""

    task: GoldenTask = GoldenTask()
    agent: GoldenAgent = GoldenAgent()
    config: dict[str, Any] = {}
    context: GoldenContext = GoldenContext()


class ExpectedVerdict(Keys, frozen=True, kw_only=True):
    """The verdict that there must be."""

    passed: bool
    min_score: Share = 0.0
    max_score: Share = 1.0


class Golden(Keys, frozen=True, kw_only=True):
    """A golden. `grader` names an export of the module, if it has several.

    `files` (path in the workspace: text) are in the workspace, and the agent wrote them.
    """

    request: GoldenRequest
    expected: ExpectedVerdict
    grader: str = ""
    files: dict[str, str] = {}


class GoldenResult(msgspec.Struct, frozen=True, kw_only=True):
    """A golden that was tried: its verdict, and why that is wrong, if it is."""

    golden: str
    grader: str
    passed: bool
    why: str
    verdict: Verdict


async def try_goldens(module: Path) -> list[GoldenResult]:
    """Ask the graders of a module for their verdicts on all of its goldens, `goldens/*.json`.

    Raises UsageError for a module that is not laid out so that they can be asked, and SuiteError with all
    mistakes in the goldens and in the presets that they are for.
    """
    goldens = _goldens(module)
    graders = [_grader(module, document, golden) for document, golden in goldens]
    shared = SharedResources()
    try:
        return [
            await _try(document.file, golden, grader, shared)
            for (document, golden), grader in zip(goldens, graders, strict=True)
        ]
    finally:
        await shared.aclose()


def _goldens(module: Path) -> list[tuple[Document, Golden]]:
    """Return all goldens, with their nodes; these are named by their paths in the module."""
    if not module.is_dir():
        raise UsageError(f"there is no directory {module}; name that of the grader's module")
    files = sorted((module / FOLDER).glob("*.json"))
    if not files:
        raise UsageError(f"there is no golden in {module / FOLDER}; write one, such as {FOLDER}/pass.json")
    found, problems = [], list[Problem]()
    for file in files:
        name = file.relative_to(module).as_posix()
        try:
            decoder = Decoder(Document(name, load(file.read_bytes())))
        except JsonError as error:
            problems.append(error.in_file(name))
            continue
        golden = decoder.read(Golden)
        problems += decoder.problems
        if golden is not None:
            found.append((decoder.document, golden))
    if problems:
        raise SuiteError(problems)
    return found


def _grader(module: Path, document: Document, golden: Golden) -> tuple[str, Grader]:
    """Return the name of the grader that a golden is for, and the grader with the golden's config."""
    preset, own = _preset(module, document, golden.grader), child(document.root, "request", "config")
    config = preset.config
    if isinstance(own, yaml.Mapping) and own.entries:
        # What a WGP grader gets is one key of its config.
        over = yaml.Mapping({"config": own}, {}, own.line, own.column) if preset.type == "wgp" else own
        config = deep_merge(config, over)
    whole = msgspec.structs.replace(preset, config=config)
    try:
        grader, findings = read_preset(whole, Path())
    except ModuleError as error:
        raise UsageError(f"{_name(preset)}: {error}") from error
    faults = [_fault(finding, document, preset) for finding in findings if not finding.warning]
    if grader is None or faults:
        raise SuiteError(faults)
    return preset.name, grader.resolve_paths(preset_location(whole, Path()))


def _preset(module: Path, document: Document, export: str) -> Preset:
    try:
        known = sorted(read_exports(module))
        if export not in known and (export or len(known) > 1):
            message = "say which of the module's graders it is for"
            node = at(document, "grader")
            raise SuiteError(
                [document.problem("unknown-grader", node, ("grader",), message, ", ".join(known))]
            )
        return read_preset_file(module, export=export)
    except ModuleError as error:  # it names the file of the module
        raise UsageError(str(error)) from error


def _fault(finding: ConfigMistake, golden: Document, preset: Preset) -> Problem:
    """Return the problem with a grader's config: in the golden, if it gives what is wrong, else in the preset."""
    # A path may come as one text; of a WGP grader the golden gives what is below `config`.
    parts = [int(part) if part.isdigit() else part for part in _PART.findall(format_path(finding.path))]
    below = ("request", *parts) if preset.type == "wgp" else ("request", "config", *parts)
    if parts and child(golden.root, *below) is not None:
        return golden.problem(finding.code, at(golden, *below), below, finding.message, finding.hint)
    document = Document(_name(preset), preset.config)
    return document.problem(
        finding.code, at(document, *parts), ("config", *parts), finding.message, finding.hint
    )


def _name(preset: Preset) -> str:
    return preset.file.relative_to(preset.module).as_posix()


async def _try(
    name: str, golden: Golden, grader: tuple[str, Grader], shared: SharedResources
) -> GoldenResult:
    helpers = Helpers(name=grader[0], shared=shared)
    with tempfile.TemporaryDirectory(prefix="waza-golden-") as workspace:
        seen = _observation(golden, _write_files(Path(workspace), name, golden), workspace)
        try:
            answer = grader[1].grade(seen, helpers)
            verdict = await answer if inspect.isawaitable(answer) else answer
        except GraderError as error:
            verdict = Verdict.errored(str(error))
    why = _why(verdict, golden.expected)
    return GoldenResult(golden=name, grader=grader[0], passed=not why, why=why, verdict=verdict)


def _write_files(workspace: Path, name: str, golden: Golden) -> list[WrittenFile]:
    """Write the files of a golden."""
    written = []
    for path, text in sorted(golden.files.items()):
        try:
            place = safe_join(workspace, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())
        except (OSError, ValueError) as error:
            raise UsageError(f"{name}: the file {path!r} cannot be written: {error}") from error
        written.append(WrittenFile(path=path, sha256=hashlib.sha256(text.encode()).hexdigest()))
    return written


def _observation(golden: Golden, written: Sequence[WrittenFile], workspace: str) -> Observation:
    request = golden.request
    return Observation(
        task_id=request.task.id,
        task_name=request.task.id,
        prompt=request.task.input,
        expected=request.task.expected,
        trial=request.context.trial,
        output=request.agent.output,
        tool_events=tuple(
            ToolEvent(turn=1, sequence=i, tool_name=call.name, args=call.arguments, success=True)
            for i, call in enumerate(request.agent.tool_calls, 1)
        ),
        command_invocations=tuple(
            CommandInvocation(**msgspec.structs.asdict(call)) for call in request.agent.command_invocations
        ),
        files_written=tuple(written),
        workspace=workspace,
    )


def _why(verdict: Verdict, expected: ExpectedVerdict) -> str:
    """Return what is wrong with a verdict, or nothing."""
    if verdict.error:
        return f"the grader broke: {verdict.error}"
    if verdict.passed != expected.passed:
        return f"it {_word(verdict.passed)}, but must have {_word(expected.passed)}"
    if not expected.min_score <= verdict.score <= expected.max_score:
        return f"its score is {verdict.score:g}, but must be from {expected.min_score:g} to {expected.max_score:g}"
    return ""


def _word(passed: bool) -> str:
    return "passed" if passed else "failed"
