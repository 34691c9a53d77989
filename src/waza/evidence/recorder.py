"""Writing the evidence of trials while they end: a snapshot each, with its manifest."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import WazaError
from waza.evidence.json_file import read_json
from waza.evidence.manifest import (
    EVIDENCE,
    FILES,
    PARTS,
    Artifact,
    CaptureDiagnostic,
    EvidenceManifest,
    ManifestRedaction,
    Runtime,
    TrialOrigin,
    seal,
    text_digest,
)
from waza.evidence.snapshot import (
    KIND,
    SnapshotEngine,
    SnapshotEnvironment,
    SnapshotFile,
    SnapshotFixture,
    SnapshotInstruction,
    SnapshotPrompt,
    SnapshotRedaction,
    SnapshotResult,
    SnapshotTask,
    TrialSnapshot,
)
from waza.evidence.workspace_files import CollectedFiles, collect
from waza.kit.canonical_json import json_digest, plain_json
from waza.kit.exception_report import describe_exception
from waza.kit.files import safe_join, write_atomic
from waza.kit.json_nodes import dump
from waza.kit.names import number_names
from waza.kit.redact import FullRedactor
from waza.kit.tree_digest import digest_file
from waza.model.loaded import Suite
from waza.model.observation import PROMPT
from waza.model.result import SessionDigest, TrialResult
from waza.model.task import Task
from waza.model.trial import Trial
from waza.results.assemble import groups_of
from waza.version import __version__
from waza.workspace.prepare import list_files

_LONGEST = 120  # bytes of a task's id in a file name
_DIGEST = 32  # bytes of a SHA-256


class SealedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot that was written, as the seal of its directory lists it."""

    file: str
    """The name of the file."""
    size: int
    """Its length in bytes."""
    sha256: str
    """The SHA-256 of its bytes."""
    eval_id: str
    """The id of the run."""
    task_id: str
    """The id of the task."""
    arm: str
    """`main`, or `baseline` for the arm without skills."""
    run_number: int
    """The number of the trial."""
    status: str
    """How the trial ended."""
    manifest: str
    """The digest of its manifest, as in `runs[].evidence`."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What is recorded of a trial: the path of its snapshot (empty: not written), its manifest, and what to warn of."""

    path: str
    manifest: dict[str, Any]
    warnings: tuple[str, ...] = ()


def observed(result: TrialResult) -> TrialResult:
    """Return what a snapshot holds of a result, before anything is redacted; of the transcript the prompts after the first."""
    prompts = [event for event in result.transcript if event.type == PROMPT]
    return TrialResult(
        run_number=result.run_number,
        attempts=result.attempts,
        prompt=result.prompt,
        status=result.status,
        duration_ms=result.duration_ms,
        validations=result.validations,
        session_digest=SessionDigest(tool_call_count=0, tools_used=None, errors=None),
        transcript=prompts[1:],
        final_output=result.final_output,
        error_msg=result.error_msg,
        tool_events=result.tool_events,
    )


class Recorder:
    """Writes the snapshots of an invocation into a directory.

    `suffixes` (by the file of a suite and the model) tell the runs of an invocation apart in names of files. `env_allow`
    are names and prefixes (`CI_*`) of environment variables, `patterns` those of files in workspaces.
    """

    def __init__(
        self,
        directory: Path,
        *,
        suffixes: Mapping[tuple[Path, str], str] | None = None,
        env_allow: Sequence[str] = (),
        patterns: Sequence[str] = (),
    ) -> None:
        self.directory, self.env_allow, self.patterns = directory, tuple(env_allow), tuple(patterns)
        self._suffixes = dict(suffixes or {})
        self.written: dict[str, SealedFile] = {}

    def of_run(self, suite: Suite, model: str, run_id: str) -> RunRecorder:
        """Return the recorder of one run."""
        return RunRecorder(self, suite, model, run_id, self._suffixes.get((suite.path, model), ""))


class RunRecorder:
    """Writes the snapshots of one run."""

    def __init__(self, recorder: Recorder, suite: Suite, model: str, run_id: str, suffix: str) -> None:
        self._recorder, self._suite, self._model, self._run_id = recorder, suite, model, run_id
        self._suffix = suffix
        self._warned: set[tuple[str, str]] = set()  # what happens in every trial of a task is reported once
        self._stems = _stems([task.id for task in suite.tasks])
        self.reads_workspace = bool(recorder.patterns)

    def collect(self, workspace: Path | None) -> CollectedFiles:
        """Return the files of a workspace that count as evidence. Blocks: call it in a thread."""
        return collect(workspace, self._recorder.patterns)

    def file_name(self, trial: Trial) -> str:
        """Return the name of the snapshot of a trial: `<task>-run<N>.json`, longer where that is not unique."""
        arm = "" if trial.arm == "main" else f"_{trial.arm}"
        return f"{self._stems[trial.task.id]}-run{trial.number}{self._suffix}{arm}.json"

    def record(
        self, trial: Trial, result: TrialResult, files: CollectedFiles | None, redactor: FullRedactor
    ) -> Recorded:
        """Write the snapshot of a trial. Blocks: call it in a thread.

        `result` is what `observed` returned, redacted by `redactor`; it and `files` (None: the workspace could not be looked into) are
        those of the attempt that counts. What cannot be written never raises: the manifest has it as a diagnostic.
        """
        try:
            return self._record(trial, result, files, redactor)
        except WazaError as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the evidence, the trial stays as it is
            why = describe_exception(error).text
        return self._failed(trial, result, redactor, redactor.text(why))

    def _record(
        self, trial: Trial, result: TrialResult, files: CollectedFiles | None, redactor: FullRedactor
    ) -> Recorded:
        task, name = trial.task, self.file_name(trial)
        path = self._recorder.directory / name
        found = files or CollectedFiles(
            diagnostics=(
                CaptureDiagnostic(
                    category="workspace",
                    code="no-workspace",
                    message="the trial broke before its workspace was looked at",
                ),
            )
            if self._recorder.patterns
            else ()
        )
        document = plain_json(self._snapshot(trial, result, found, redactor))
        diagnostics = [
            msgspec.structs.replace(one, message=redactor.text(one.message)) for one in found.diagnostics
        ]
        artifacts = [
            *self._artifacts(name, document, result),
            *self._file_artifacts(name, document, found, redactor),
        ]
        manifest = seal(self._manifest(trial, result, redactor, artifacts, diagnostics))
        data = dump({**document, EVIDENCE: manifest}).encode()
        self._refuse_other(path, document)
        write_atomic(path, data)
        self._recorder.written[name] = SealedFile(
            file=name,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            eval_id=self._run_id,
            task_id=task.id,
            arm=trial.arm,
            run_number=trial.number,
            status=result.status,
            manifest=manifest["sha256"],
        )
        new = [one.message for one in diagnostics if (task.id, one.message) not in self._warned]
        self._warned |= {(task.id, message) for message in new}
        notes = tuple(f"{task.name}, evidence of trial {trial.number}: {message}" for message in new)
        return Recorded(path=str(path), manifest=manifest, warnings=notes)

    def _failed(self, trial: Trial, result: TrialResult, redactor: FullRedactor, why: str) -> Recorded:
        artifact = Artifact(
            id="snapshot", kind=KIND, availability="unavailable", completeness="unknown", reason=why
        )
        diagnostic = CaptureDiagnostic(category="capture", code="not-written", message=why)
        manifest = seal(self._manifest(trial, result, redactor, [artifact], [diagnostic]))
        warning = f"{trial.task.name}: there is no snapshot of trial {trial.number}: {why}"
        return Recorded(path="", manifest=manifest, warnings=(warning,))

    def _refuse_other(self, path: Path, document: Mapping[str, Any]) -> None:
        """Raise WazaError where the file is there and of another trial."""
        if not os.path.lexists(path):
            return
        _, there = read_json(path)
        if (there.get("evalId"), there.get("task")) != (document["evalId"], document["task"]):
            raise WazaError(f"{path} is there already, and of another trial; it was not replaced")

    def _snapshot(
        self, trial: Trial, result: TrialResult, found: CollectedFiles, redactor: FullRedactor
    ) -> TrialSnapshot:
        task, suite, config = trial.task, self._suite, self._suite.file.config
        kept = [_kept_file(redactor, file.path, file.text) for file in found.files if not file.reason]
        snapshot = TrialSnapshot(
            waza_version=__version__,
            created_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            eval_id=self._run_id,
            eval_name=redactor.text(suite.name),
            skill=redactor.text(suite.file.skill),
            task=SnapshotTask(
                test_id=task.id,
                display_name=redactor.text(task.name),
                group=redactor.text(", ".join(groups_of(suite, task, self._model))),
                golden=task.golden,
                tags=redactor.value(list(task.tags)),
                run_number=trial.number,
                arm=trial.arm,
            ),
            engine=SnapshotEngine(
                type=config.executor,
                model_id=self._model,
                judge_model=config.judge_model,
                timeout_sec=task.timeout,
            ),
            prompt=SnapshotPrompt(
                message=result.prompt,
                follow_ups=[str(event.content) for event in result.transcript],
                context=redactor.value(task.inputs.context),
                instructions=[
                    SnapshotInstruction(
                        path=redactor.text(name), sha256=_source_digest(safe_join(task.fixtures, name))
                    )
                    for name in task.instruction_files
                ],
            ),
            tool_events=list(result.tool_events),
            fixtures=list(_fixtures(task, redactor)),
            env=self._environment(task, redactor),
            redaction=SnapshotRedaction(policy=redactor.policy.label, applied_rules=[], redaction_count=0),
            result=SnapshotResult(
                status=result.status,
                final_output=result.final_output,
                error_msg=result.error_msg,
                duration_ms=result.duration_ms,
                validations=result.validations,
            ),
            workspace_files=kept,
        )
        redaction = SnapshotRedaction(
            policy=redactor.policy.label,
            applied_rules=sorted(redactor.applied),
            redaction_count=redactor.count,
        )
        return msgspec.structs.replace(snapshot, redaction=redaction)

    def _environment(self, task: Task, redactor: FullRedactor) -> SnapshotEnvironment:
        """Return what is allowed of the agent's environment; nothing is even named without an allow list."""
        allow = self._recorder.env_allow
        if not allow:
            return SnapshotEnvironment(allow_list=[], captured={}, denied_keys=[])
        env = {**os.environ, **task.inputs.environment}
        captured = {
            name: redactor.text(value)
            for name, value in sorted(env.items())
            if _is_allowed(name, allow) and not redactor.policy.denies(name)
        }
        denied = sorted(redactor.text(name) for name in env if name not in captured)
        return SnapshotEnvironment(allow_list=list(allow), captured=captured, denied_keys=denied)

    def _artifacts(self, name: str, document: dict[str, Any], result: TrialResult) -> Iterator[Artifact]:
        yield Artifact(
            id="snapshot",
            kind=KIND,
            availability="captured",
            completeness="complete",
            document=name,
            content_digest=json_digest(document),
        )
        cut = {
            "result": result.truncated,
            "toolEvents": any(event.truncated for event in result.tool_events),
        }
        unseen = not (self._suite.capabilities.tool_calls or self._suite.capabilities.scripted)
        for key, kind in PARTS.items():
            unknown = key == "toolEvents" and unseen
            reason = "only head and tail of a huge text are kept" if cut.get(key) else ""
            yield Artifact(
                id=kind,
                kind=kind,
                availability="captured",
                completeness="unknown" if unknown else "partial" if reason else "complete",
                document=name,
                pointer=f"/{key}",
                content_digest=json_digest(document[key]),
                reason="the executor reports no tool calls" if unknown else reason,
            )

    def _file_artifacts(
        self, name: str, document: dict[str, Any], found: CollectedFiles, redactor: FullRedactor
    ) -> Iterator[Artifact]:
        if not self._recorder.patterns:
            yield Artifact(
                id="workspace-files",
                kind="workspace-file",
                availability="not_requested",
                completeness="unknown",
                reason="no --evidence-file was given",
            )
        taken = iter(enumerate(document[FILES]))
        for file in found.files:
            if file.reason:
                path = redactor.text(file.path)
                yield Artifact(
                    id=f"workspace-file:{path}",
                    kind="workspace-file",
                    availability="unavailable",
                    completeness="unknown",
                    reason=redactor.text(file.reason),
                )
                continue
            index, kept = next(taken)
            yield Artifact(
                id=f"workspace-file:{kept['path']}",
                kind="workspace-file",
                availability="captured",
                completeness="complete",
                document=name,
                pointer=f"/{FILES}/{index}",
                content_digest=text_digest(kept["content"]),
                source_digest="" if kept["redacted"] else text_digest(file.text),
                redacted=kept["redacted"],
            )

    def _manifest(
        self,
        trial: Trial,
        result: TrialResult,
        redactor: FullRedactor,
        artifacts: Sequence[Artifact],
        diagnostics: Sequence[CaptureDiagnostic],
    ) -> EvidenceManifest:
        return EvidenceManifest(
            origin=TrialOrigin(
                eval_id=self._run_id,
                task_id=trial.task.id,
                run_number=trial.number,
                arm=trial.arm,
                attempt_count=result.attempts,
                prior_attempts="not_preserved" if result.attempts > 1 else "",
            ),
            runtime=self._runtime(trial.task),
            redaction=ManifestRedaction(
                policy=redactor.policy.label,
                applied_rules=sorted(redactor.applied),
                match_count=redactor.count,
            ),
            artifacts=list(artifacts),
            diagnostics=list(diagnostics),
        )

    def _runtime(self, task: Task) -> Runtime:
        suite, capabilities = self._suite, self._suite.capabilities
        policy = (task.target.policy if task.target else None) or ""
        mocked = bool(task.mcp_mocks or task.command_mocks)
        live = bool(suite.file.config.mcp_servers)
        no_skills = suite.skills_off or task.no_skills
        return Runtime(
            waza_version=__version__,
            requested_engine=suite.file.config.executor,
            requested_model=self._model,
            execution_mode="mock" if capabilities.scripted else "live",
            dependency_mode="mixed"
            if mocked and live
            else "mocked"
            if mocked
            else "live"
            if live
            else "none",
            requested_policy=policy,
            verified_enforcement=(
                "not_requested" if not policy else "executor" if capabilities.tool_policy else "none"
            ),
            platform=f"{platform.system()} {platform.machine()}",
            python_version=platform.python_version(),
            no_skills=no_skills,
            native_skill_control=(
                "mock_not_applicable"
                if capabilities.scripted
                else "unknown"
                if not capabilities.skills
                else "requested_sdk_disable"
                if no_skills
                else "sdk_default"
            ),
        )


def _stems(task_ids: Sequence[str]) -> dict[str, str]:
    """Return names of files for the tasks of a suite, unique also where case makes no difference."""
    taken, stems = set[str](), dict[str, str]()
    for task_id in task_ids:
        kept = "".join(char if char.isalnum() or char in "-_." else "_" for char in task_id)
        kept = kept.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore") or "task"
        if kept.startswith("."):
            kept = f"_{kept[1:]}"  # it would be hidden
        stems[task_id] = next(name for name in number_names(kept, "_") if name.casefold() not in taken)
        taken.add(stems[task_id].casefold())
    return stems


def _kept_file(redactor: FullRedactor, path: str, text: str) -> SnapshotFile:
    clean = redactor.text(text)
    return SnapshotFile(
        path=redactor.text(path), size=len(clean.encode()), content=clean, redacted=clean is not text
    )


def _fixtures(task: Task, redactor: FullRedactor) -> Iterator[SnapshotFixture]:
    """Yield the files that the task puts into the workspace; none where they cannot be found, which broke the trial."""
    try:
        files = list_files(task)
    except (OSError, ValueError):
        return
    for file in files:
        path = redactor.text(file.path)
        if file.source is None:
            digest = hashlib.sha256(file.content).hexdigest()
            yield SnapshotFixture(path=path, size=len(file.content), sha256=digest)
        elif file.source.is_file():
            size = file.source.stat().st_size
            yield SnapshotFixture(path=path, size=size, sha256=_source_digest(file.source))


def _source_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hex, or an empty text where it cannot be read."""
    found = digest_file(path)
    return found[:_DIGEST].hex() if len(found) >= _DIGEST else ""


def _is_allowed(name: str, allow: Sequence[str]) -> bool:
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in allow)
