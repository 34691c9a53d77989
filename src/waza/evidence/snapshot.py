"""Snapshots: what was observed of a trial, in a file of its own (`waza run --snapshot`)."""

from __future__ import annotations

from typing import Any

import msgspec

from waza.evidence.manifest import EvidenceManifest
from waza.model.observation import ToolEvent
from waza.model.result import Validation

SCHEMA_VERSION = "1.0"
KIND = "task-snapshot"


class SnapshotPart(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a snapshot."""


class SnapshotTask(SnapshotPart, frozen=True, kw_only=True):
    """The trial."""

    test_id: str
    """The id of the task."""
    display_name: str
    """The name of the task."""
    group: str
    """The groups that the task belongs to, by `config.group_by`."""
    golden: bool
    """The task is marked as one that must always pass."""
    tags: list[str]
    """The tags of the task."""
    run_number: int
    """The number of the trial, from 1."""
    arm: str = "main"
    """`main`, or `baseline` for the arm without skills."""


class SnapshotEngine(SnapshotPart, frozen=True, kw_only=True):
    """The settings of the agent. Those that waza does not set are null."""

    type: str
    """The executor."""
    model_id: str
    """The model of the agent."""
    judge_model: str
    """The model of judges."""
    timeout_sec: float
    """Seconds that one turn may take."""
    temperature: float | None = None
    """Not set by waza."""
    top_p: float | None = None
    """Not set by waza."""
    seed: int | None = None
    """Not set by waza."""


class SnapshotInstruction(SnapshotPart, frozen=True, kw_only=True):
    """An instruction file."""

    path: str
    """The path of the file, as the suite has it."""
    sha256: str
    """The SHA-256 of the file."""


class SnapshotPrompt(SnapshotPart, frozen=True, kw_only=True):
    """What the agent was given."""

    message: str
    """The first prompt, with variables filled in."""
    follow_ups: list[str]
    """The prompts after it, as they were sent."""
    context: dict[str, Any]
    """`inputs.context` of the task."""
    instructions: list[SnapshotInstruction]
    """The instruction files."""


class SnapshotFixture(SnapshotPart, frozen=True, kw_only=True):
    """A file that was put into the workspace."""

    path: str
    """The path in the workspace."""
    size: int
    """The length of the file in bytes."""
    sha256: str
    """The SHA-256 of the file."""


class SnapshotEnvironment(SnapshotPart, frozen=True, kw_only=True):
    """The environment of the agent, as far as `--snapshot-env-allow` names it."""

    allow_list: list[str]
    """The names and prefixes that were allowed."""
    captured: dict[str, str]
    """The variables that were allowed, with their values."""
    denied_keys: list[str]
    """The names of all other variables, and of allowed ones with secret names. Empty without an allow list."""


class SnapshotRedaction(SnapshotPart, frozen=True, kw_only=True):
    """What was redacted."""

    policy: str
    """`default`, `custom` or `default+custom`."""
    applied_rules: list[str]
    """The rules that found something."""
    redaction_count: int
    """How many texts were replaced; values of keys with secret names are not counted."""


class SnapshotResult(SnapshotPart, frozen=True, kw_only=True):
    """How the trial ended."""

    status: str
    """`passed`, `failed`, `error` or `skipped`."""
    final_output: str
    """The final text of the last turn."""
    error_msg: str
    """Why there is no verdict, or what broke on the way."""
    duration_ms: int
    """Milliseconds that the agent worked."""
    validations: dict[str, Validation] | None
    """Verdicts by the name of the grader, redacted as all else. Null: nothing was graded."""


class SnapshotFile(SnapshotPart, frozen=True, kw_only=True):
    """A file of the workspace, as the agent left it."""

    path: str
    """The path in the workspace."""
    size: int
    """The length of `content` in bytes."""
    content: str
    """The text of the file."""
    redacted: bool = False
    """Secrets were taken out of the text."""


class TrialSnapshot(SnapshotPart, frozen=True, kw_only=True):
    """What was observed of a trial."""

    schema_version: str = SCHEMA_VERSION
    """The version of the format."""
    kind: str = KIND
    """`task-snapshot`."""
    waza_version: str
    """The version of waza."""
    created_at: str
    """When the snapshot was written, in UTC, as RFC 3339."""
    eval_id: str
    """The id of the run."""
    eval_name: str
    """The name of the suite."""
    skill: str
    """The target of the suite."""
    task: SnapshotTask
    """The trial."""
    engine: SnapshotEngine
    """The settings of the agent."""
    prompt: SnapshotPrompt
    """What the agent was given."""
    tool_events: list[ToolEvent]
    """Tool calls with arguments and results, as in results."""
    fixtures: list[SnapshotFixture]
    """The files that were put into the workspace."""
    env: SnapshotEnvironment
    """The environment."""
    redaction: SnapshotRedaction
    """What was redacted."""
    result: SnapshotResult
    """How the trial ended."""
    workspace_files: list[SnapshotFile] = []
    """Files of the workspace that `--evidence-file` names."""


class SnapshotFileFormat(TrialSnapshot, frozen=True, kw_only=True):
    """The whole of a snapshot file: what was observed, and the manifest over it."""

    evidence: EvidenceManifest
    """The manifest. Files of other programs have none."""
