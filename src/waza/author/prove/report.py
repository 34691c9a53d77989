"""What was found out about suites by proving them. `to_json` gives the keys of the JSON document."""

from __future__ import annotations

from typing import Any

import msgspec

from waza.author.check.finding import Finding


class Tally(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How often something was tried, and how often it was caught."""

    tried: int = msgspec.field()
    caught: int = msgspec.field()
    not_applicable: dict[str, int] = {}
    """Why it was not tried, with the number of tasks."""

    @classmethod
    def empty(cls) -> Tally:
        """Return a tally of nothing."""
        return cls(tried=0, caught=0, not_applicable={})


class GraderProof(msgspec.Struct, frozen=True, kw_only=True):
    """What a grader caught. `task` is empty for a grader of the suite; `reason` says why it is not proved."""

    name: str
    type: str
    file: str
    line: int
    task: str = ""
    after_turn: int | None = None
    proved: bool = True
    reason: str = ""
    tried: int = 0
    caught: int = 0
    never_fails: bool = False
    agents: dict[str, Tally] = {}
    changes: dict[str, Tally] = {}

    @property
    def share(self) -> float | None:
        """The share that it caught of what was applicable; None where nothing was."""
        return round(self.caught / self.tried, 4) if self.tried else None


class Noticed(msgspec.Struct, frozen=True, kw_only=True):
    """An agent or a change over all tasks: how many tasks noticed it, and the ids of those that did not."""

    name: str
    tried: int = 0
    caught: int = 0
    missed: tuple[str, ...] = ()
    not_applicable: dict[str, int] = {}


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What `--prove` found of a suite. `runs` is the number of executions; `answers` that of passing answers."""

    runs: int = 0
    tasks: int = 0
    answers: int = 0
    graders: tuple[GraderProof, ...] = ()
    agents: tuple[Noticed, ...] = ()
    changes: tuple[Noticed, ...] = ()


class JudgeProbe(msgspec.Struct, frozen=True, kw_only=True):
    """A grader that asks a judge, with how many injections it was tried, and how many it withstood."""

    name: str
    file: str
    line: int
    tried: int = 0
    held: int = 0
    reason: str = ""


class Integrity(msgspec.Struct, frozen=True, kw_only=True):
    """What `--integrity` found of a suite: what agents can read, and what was looked for."""

    suite_dir: bool = False
    """Whether the agent gets the path of the suite's directory (`WAZA_SUITE_DIR`)."""
    given: tuple[str, ...] = ()
    """Files of the suite that agents are given."""
    grader_files: int = 0
    """Files that graders read; they were compared before and after a run."""
    canary: str = ""
    """`none`, `not shown` or `shown`."""
    judges: tuple[JudgeProbe, ...] = ()


class SuiteProof(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about one suite. Parts that were not asked for are None."""

    name: str
    path: str
    executor: str = ""
    readable: bool = True
    prove: Proof | None = None
    integrity: Integrity | None = None
    findings: tuple[Finding, ...] = ()


class ProveReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about all suites. `timestamp` is in UTC, as in ISO 8601."""

    timestamp: str
    suites: tuple[SuiteProof, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about all suites, each once."""
        return tuple(dict.fromkeys(one for suite in self.suites for one in suite.findings))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document. Parts that were not asked for are left out."""
        return {
            "timestamp": self.timestamp,
            "suites": [_suite(one) for one in self.suites],
            "findings": msgspec.to_builtins(self.findings),
        }


def _suite(suite: SuiteProof) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(suite)
    if suite.prove is None:
        del document["prove"]
    else:
        for written, grader in zip(document["prove"]["graders"], suite.prove.graders, strict=True):
            written["share"] = grader.share
    if suite.integrity is None:
        del document["integrity"]
    return document
