"""CheckReport: what was found out about skills and agents. `to_json` gives the keys of the JSON document."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from waza.author.check.finding import Finding
from waza.author.tokens.count import Tokenizer
from waza.kit.text import pluralize

Level = Literal["Low", "Medium", "Medium-High", "High"]
BudgetStatus = Literal["ok", "warning", "exceeded"]
CheckStatus = Literal["ok", "optimal", "warning"]


class GroupIssue(msgspec.Struct, frozen=True):
    """What a group of checks has against a skill, in one sentence."""

    severity: str
    message: str


class Compliance(msgspec.Struct, frozen=True, rename="camel"):
    """How well a description says when to use a skill; `triggers` and `anti_triggers` are numbers of phrases."""

    level: Level
    issues: tuple[GroupIssue, ...] = ()
    triggers: int = 0
    anti_triggers: int = 0


class TokenBudget(msgspec.Struct, frozen=True):
    """The tokens of the file and their limit; `tokenizer` says how they were counted."""

    count: int
    limit: int
    exceeded: bool
    warning: bool
    status: BudgetStatus
    tokenizer: Tokenizer


class NamedCheck(msgspec.Struct, frozen=True):
    """A check with a name, its outcome in a sentence, and the evidence for that."""

    name: str
    passed: bool
    summary: str
    status: CheckStatus
    evidence: str = ""


class McpIntegration(msgspec.Struct, frozen=True):
    """How well the MCP tools that a skill invokes are documented, in points."""

    score: int
    total: int
    issues: tuple[GroupIssue, ...] = ()


class BadLink(msgspec.Struct, frozen=True):
    """A link that leads to nothing an agent can read, with the file that has it."""

    source: str
    target: str
    reason: str


class Links(msgspec.Struct, frozen=True):
    """The links of a skill. `unchecked` are external ones that nobody was asked about."""

    valid: int
    total: int
    passed: bool
    broken_links: tuple[BadLink, ...] = msgspec.field(default=(), name="brokenLinks")
    directory_links: tuple[BadLink, ...] = msgspec.field(default=(), name="directoryLinks")
    scope_escapes: tuple[BadLink, ...] = msgspec.field(default=(), name="scopeEscapes")
    dead_urls: tuple[BadLink, ...] = msgspec.field(default=(), name="deadURLs")
    orphaned_files: tuple[str, ...] = msgspec.field(default=(), name="orphanedFiles")
    unchecked: int = 0


class FoundSuite(msgspec.Struct, frozen=True):
    """The suite of a skill, if it has one."""

    found: bool
    path: str = ""


class SuiteSchema(msgspec.Struct, frozen=True, rename="camel"):
    """The mistakes in a suite and in its task files, as `waza run` would report them."""

    valid: bool
    eval_errors: tuple[str, ...] = ()
    task_errors: dict[str, tuple[str, ...]] = {}


class Listing(msgspec.Struct, frozen=True):
    """What an agent shows of a description when it lists skills: `shown` of `length` characters."""

    agent: str
    shown: int
    length: int
    consequence: str


class AgentTools(msgspec.Struct, frozen=True):
    """The tools that a custom agent may use; `names` is null where it does not restrict them."""

    policy: str
    names: tuple[str, ...] | None = None


class TargetReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about one skill or agent. Groups that do not apply to it are None."""

    name: str
    kind: Literal["skill", "agent"]
    path: str
    readable: bool
    compliance: Compliance | None = None
    token_budget: TokenBudget | None = None
    spec_compliance: tuple[NamedCheck, ...] = ()
    mcp_integration: McpIntegration | None = None
    links: Links | None = None
    suite: FoundSuite | None = None
    schema: SuiteSchema | None = None
    advisory_checks: tuple[NamedCheck, ...] = ()
    listings: tuple[Listing, ...] = ()
    tools: AgentTools | None = None
    findings: tuple[Finding, ...] = ()
    next_steps: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether nothing of severity error was found."""
        return all(finding.severity != "error" for finding in self.findings)

    @property
    def counted(self) -> str:
        """How many findings of each severity there are, in words."""
        count = dict.fromkeys(("error", "warning", "note"), 0)
        for finding in self.findings:
            count[finding.severity] += 1
        words = [pluralize(number, severity) for severity, number in count.items() if number]
        return ", ".join(words) or "no findings"


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about all targets. `timestamp` is in UTC, as in ISO 8601."""

    timestamp: str
    targets: tuple[TargetReport, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about all targets, each once."""
        return tuple(dict.fromkeys(finding for target in self.targets for finding in target.findings))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document. Groups that do not apply to a target are left out."""
        return {"timestamp": self.timestamp, "skills": [_target(target) for target in self.targets]}


def _target(target: TargetReport) -> dict[str, Any]:
    groups = {
        "name": target.name,
        "kind": target.kind,
        "path": target.path,
        "ready": target.ready,
        "compliance": target.compliance,
        "tokenBudget": target.token_budget,
        "specCompliance": target.spec_compliance or None,
        "mcpIntegration": target.mcp_integration,
        "links": target.links,
        "eval": target.suite,
        "schema": target.schema,
        "advisoryChecks": target.advisory_checks or None,
        "listings": target.listings or None,
        "tools": target.tools,
        "findings": target.findings,
        "nextSteps": target.next_steps,
    }
    return {key: msgspec.to_builtins(value) for key, value in groups.items() if value is not None}
