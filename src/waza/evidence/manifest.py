"""The evidence manifest of a trial: what was captured of it, with digests that show any later change.

It is the key `evidence` of the snapshot, and `runs[].evidence` in results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from waza.kit.canonical_json import json_digest, plain_json

VERSION = "1.1"
EVIDENCE = "evidence"
PARTS = {
    "prompt": "prompt",
    "toolEvents": "tool-events",
    "fixtures": "fixtures",
    "env": "environment",
    "result": "result",
}
"""The parts of a snapshot that have artifacts of their own, with their kinds."""
FILES = "workspaceFiles"

Availability = Literal["captured", "digest_only", "unavailable", "not_requested"]
Completeness = Literal["complete", "partial", "unknown"]


class ManifestPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a manifest."""


class Artifact(ManifestPart, frozen=True, kw_only=True, omit_defaults=True):
    """Something that was captured, or was to be. What is empty is left out."""

    id: str
    """The name of the artifact, unique in its manifest."""
    kind: str
    """What it is: `task-snapshot`, one of its parts, or `workspace-file`."""
    availability: Availability
    """Whether it is there."""
    completeness: Completeness
    """Whether it is there as a whole."""
    document: str = ""
    """The file that holds it, in the directory of the evidence."""
    pointer: str = ""
    """Where in the document, as a JSON pointer; empty: the document without its manifest."""
    content_digest: str = ""
    """SHA-256 over the canonical JSON of what is there; of a file in a workspace, over its kept text in UTF-8."""
    source_digest: str = ""
    """SHA-256 of a file as it was in the workspace. Left out where secrets were redacted: it could give them away."""
    reason: str = ""
    """Why it is not there, or not as a whole."""
    redacted: bool = False
    """Secrets were taken out."""


class TrialOrigin(ManifestPart, frozen=True, kw_only=True, omit_defaults=True):
    """The trial that the evidence is of."""

    eval_id: str
    """The id of the run."""
    task_id: str
    """The id of the task."""
    run_number: int
    """The number of the trial."""
    arm: str
    """`main`, or `baseline` for the arm without skills."""
    attempt_count: int
    """How many attempts the trial took."""
    prior_attempts: str = ""
    """`not_preserved` where there were attempts before the one that counts: nothing of them is kept."""


class Runtime(ManifestPart, frozen=True, kw_only=True):
    """What the trial ran on, as far as it is known."""

    waza_version: str
    """The version of waza."""
    requested_engine: str
    """The executor."""
    requested_model: str
    """The model that was asked for."""
    execution_mode: Literal["live", "mock", "unknown"] = "unknown"
    """`mock`: a script, and no agent."""
    dependency_mode: Literal["mocked", "live", "mixed", "none"] = "none"
    """Whether MCP servers and programs were mocked."""
    requested_policy: str = ""
    """The tool policy of the custom agent."""
    verified_enforcement: Literal["executor", "none", "not_requested"] = "not_requested"
    """`executor`: the executor applied the policy. `none`: it has no tool policy."""
    platform: str = ""
    """The operating system and the processor."""
    python_version: str = ""
    """The version of Python."""
    effective_model_version: str = ""
    """The version of the model that served the trial; empty: not known."""
    no_skills: bool = False
    """The trial ran without skills."""
    native_skill_control: Literal[
        "unknown", "sdk_default", "requested_sdk_disable", "mock_not_applicable"
    ] = "unknown"
    """Whether the agent's own skills were switched off."""


class ManifestRedaction(ManifestPart, frozen=True, kw_only=True):
    """What was redacted."""

    policy: str
    """`default`, `custom` or `default+custom`."""
    applied_rules: list[str] = []
    """The rules that found something."""
    match_count: int = 0
    """How many texts were replaced; values of keys with secret names are not counted."""
    limitations: tuple[str, ...] = (
        "Secrets that have no known form, and are no value of a variable with a secret name, are not found.",
    )
    """What redaction cannot do."""


class CaptureDiagnostic(ManifestPart, frozen=True, kw_only=True):
    """Something that went wrong, or was refused, while evidence was captured."""

    category: Literal["capture", "workspace"]
    """`workspace`: of files of the workspace."""
    code: str
    """The kind of the trouble."""
    message: str
    """What happened, in a sentence."""


class EvidenceManifest(ManifestPart, frozen=True, kw_only=True):
    """The manifest of a trial."""

    version: str = VERSION
    """The version of the format of manifests."""
    sha256: str = ""
    """SHA-256 over the canonical JSON of the manifest without this field."""
    origin: TrialOrigin
    """The trial."""
    runtime: Runtime
    """What it ran on."""
    redaction: ManifestRedaction
    """What was redacted."""
    artifacts: list[Artifact] = []
    """What was captured."""
    diagnostics: list[CaptureDiagnostic] = []
    """What went wrong meanwhile."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not as it was recorded: where in the document, and what."""

    path: tuple[str | int, ...] = ()
    message: str


def seal(manifest: EvidenceManifest) -> dict[str, Any]:
    """Return the manifest as JSON data, with its own digest."""
    data: dict[str, Any] = plain_json(manifest)
    return {**data, "sha256": own_digest(data)}


def own_digest(document: Mapping[str, Any]) -> str:
    """Return the digest of a document without its key `sha256`."""
    return json_digest({key: value for key, value in document.items() if key != "sha256"})


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def without_manifest(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a snapshot without its manifest."""
    return {key: value for key, value in document.items() if key != EVIDENCE}


def check(document: Mapping[str, Any], name: str = "") -> Iterator[Fault]:
    """Yield what in a snapshot is not as its manifest has it; `name` is what its file must be called."""
    manifest = document.get(EVIDENCE)
    if not isinstance(manifest, dict):
        yield Fault(path=(EVIDENCE,), message="the manifest is missing")
        return
    try:
        if manifest.get("sha256") != own_digest(manifest):
            yield Fault(
                path=(EVIDENCE,), message="the manifest was changed: its sha256 is that of another one"
            )
        artifacts = msgspec.convert(manifest, EvidenceManifest).artifacts
        faults = [fault for artifact in artifacts if (fault := _fault(document, artifact, name))]
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        yield Fault(path=(EVIDENCE,), message=f"the manifest was changed: {error}")
        return
    inner = [fault for fault in faults if fault.path]
    yield from inner or faults
    if not any(artifact.kind == "task-snapshot" for artifact in artifacts):
        yield Fault(path=(EVIDENCE, "artifacts"), message="the manifest has no digest of the snapshot")


def _fault(document: Mapping[str, Any], artifact: Artifact, name: str) -> Fault | None:
    if artifact.availability != "captured":
        return None
    path = tuple(int(part) if part.isdigit() else part for part in artifact.pointer.split("/")[1:])
    if name and artifact.document != name:
        return Fault(
            path=(EVIDENCE, "artifacts"), message=f"it is the evidence in {artifact.document!r}, renamed"
        )
    if not path:
        if json_digest(without_manifest(document)) == artifact.content_digest:
            return None
        others = [key for key in document if key not in (*PARTS, FILES, EVIDENCE)]
        return Fault(
            message=f"changed after it was recorded: one of {', '.join(others)}, or a key was added or removed"
        )
    found: Any = document
    for part in path:
        try:
            found = found[part]
        except (KeyError, IndexError, TypeError):
            return Fault(path=path, message="removed after it was recorded")
    content = found.get("content") if isinstance(found, dict) and path[0] == FILES else None
    digest = text_digest(content) if isinstance(content, str) else json_digest(found)
    return (
        None
        if digest == artifact.content_digest
        else Fault(path=path, message="changed after it was recorded")
    )
