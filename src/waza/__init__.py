"""Evaluate AI agent skills and custom agents from YAML suites.

The names below are the library: loading and running suites, and what graders, executors, reporters, stores and
listeners of your own are made of. They are imported when they are first used, so that `import waza` is cheap::

    import waza

    suite = waza.load("eval.yaml")          # a Suite, or SuiteError with every mistake
    results = waza.run(suite)               # a list of SuiteResult, one for each model
    print(results[0].summary.success_rate)
    rows = waza.load_results("results.json").to_rows()    # a dict for each trial
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from waza.version import __version__

if TYPE_CHECKING:
    from waza.api import Listener, arun, load, load_results, run
    from waza.errors import (
        ExecutorError,
        GraderError,
        OutsideError,
        RunError,
        StoreError,
        SuiteError,
        UsageError,
        WazaError,
    )
    from waza.graders.base import ConfigMistake, ExactName, Grader, GraderLocation
    from waza.model.agent import (
        AttemptWorkspace,
        Executor,
        Instruction,
        Interview,
        Judge,
        JudgeAnswer,
        JudgeQuestion,
        JudgeSession,
        JudgeToolCall,
        Limits,
        Provider,
        Resource,
        Session,
        Setup,
        Tool,
    )
    from waza.model.base import Keys
    from waza.model.capabilities import Capabilities
    from waza.model.event import (
        AttemptRetried,
        CheckpointGraded,
        ExecutorFailed,
        HookRan,
        HookStarted,
        PromptSent,
        ResponseSeen,
        RunEvent,
        RunFinished,
        RunStarted,
        SuiteFinished,
        SuiteStarted,
        SuiteStopped,
        TaskFinished,
        TaskStarted,
        TrialFinished,
        TrialStarted,
        Warned,
    )
    from waza.model.loaded import Suite
    from waza.model.observation import (
        CommandInvocation,
        Denial,
        Event,
        ModelCall,
        ModelUsage,
        Observation,
        OfferedSkill,
        SkillInvocation,
        SkillsOffered,
        ToolEvent,
        Turn,
        Usage,
        WrittenFile,
    )
    from waza.model.result import CheckpointRecord, SuiteResult, Summary, TaskResult, TrialResult, Validation
    from waza.model.suite import Config
    from waza.model.task import Task
    from waza.model.trial import Attempt
    from waza.model.verdict import Helpers, SharedResources, Verdict
    from waza.problem import Problem
    from waza.report.reporter import Reporter
    from waza.results.collection import Results
    from waza.results.invocation import InvocationResults
    from waza.results.outcome import Outcome
    from waza.results.verdict import NotStarted, RunVerdict
    from waza.stores.base import NameTakenError, ResultStore, StoredObject, StoreSetup

_NAMES = {
    "waza.api": ("Listener", "arun", "load", "load_results", "run"),
    "waza.errors": (
        "ExecutorError",
        "GraderError",
        "OutsideError",
        "RunError",
        "StoreError",
        "SuiteError",
        "UsageError",
        "WazaError",
    ),
    "waza.graders.base": ("ConfigMistake", "ExactName", "Grader", "GraderLocation"),
    "waza.model.agent": (
        "AttemptWorkspace",
        "Executor",
        "Instruction",
        "Interview",
        "Judge",
        "JudgeAnswer",
        "JudgeQuestion",
        "JudgeSession",
        "JudgeToolCall",
        "Limits",
        "Provider",
        "Resource",
        "Session",
        "Setup",
        "Tool",
    ),
    "waza.model.base": ("Keys",),
    "waza.model.capabilities": ("Capabilities",),
    "waza.model.event": (
        "AttemptRetried",
        "CheckpointGraded",
        "ExecutorFailed",
        "HookRan",
        "HookStarted",
        "PromptSent",
        "ResponseSeen",
        "RunEvent",
        "RunFinished",
        "RunStarted",
        "SuiteFinished",
        "SuiteStarted",
        "SuiteStopped",
        "TaskFinished",
        "TaskStarted",
        "TrialFinished",
        "TrialStarted",
        "Warned",
    ),
    "waza.model.loaded": ("Suite",),
    "waza.model.observation": (
        "CommandInvocation",
        "Denial",
        "Event",
        "ModelCall",
        "ModelUsage",
        "Observation",
        "OfferedSkill",
        "SkillInvocation",
        "SkillsOffered",
        "ToolEvent",
        "Turn",
        "Usage",
        "WrittenFile",
    ),
    "waza.model.result": (
        "CheckpointRecord",
        "SuiteResult",
        "Summary",
        "TaskResult",
        "TrialResult",
        "Validation",
    ),
    "waza.model.suite": ("Config",),
    "waza.model.task": ("Task",),
    "waza.model.trial": ("Attempt",),
    "waza.model.verdict": ("Helpers", "SharedResources", "Verdict"),
    "waza.problem": ("Problem",),
    "waza.report.reporter": ("Reporter",),
    "waza.results.collection": ("Results",),
    "waza.results.invocation": ("InvocationResults",),
    "waza.results.outcome": ("Outcome",),
    "waza.results.verdict": ("NotStarted", "RunVerdict"),
    "waza.stores.base": ("NameTakenError", "ResultStore", "StoreSetup", "StoredObject"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Attempt",
    "AttemptRetried",
    "AttemptWorkspace",
    "Capabilities",
    "CheckpointGraded",
    "CheckpointRecord",
    "CommandInvocation",
    "Config",
    "ConfigMistake",
    "Denial",
    "Event",
    "ExactName",
    "Executor",
    "ExecutorError",
    "ExecutorFailed",
    "Grader",
    "GraderError",
    "GraderLocation",
    "Helpers",
    "HookRan",
    "HookStarted",
    "Instruction",
    "Interview",
    "InvocationResults",
    "Judge",
    "JudgeAnswer",
    "JudgeQuestion",
    "JudgeSession",
    "JudgeToolCall",
    "Keys",
    "Limits",
    "Listener",
    "ModelCall",
    "ModelUsage",
    "NameTakenError",
    "NotStarted",
    "Observation",
    "OfferedSkill",
    "Outcome",
    "OutsideError",
    "Problem",
    "PromptSent",
    "Provider",
    "Reporter",
    "Resource",
    "ResponseSeen",
    "ResultStore",
    "Results",
    "RunError",
    "RunEvent",
    "RunFinished",
    "RunStarted",
    "RunVerdict",
    "Session",
    "Setup",
    "SharedResources",
    "SkillInvocation",
    "SkillsOffered",
    "StoreError",
    "StoreSetup",
    "StoredObject",
    "Suite",
    "SuiteError",
    "SuiteFinished",
    "SuiteResult",
    "SuiteStarted",
    "SuiteStopped",
    "Summary",
    "Task",
    "TaskFinished",
    "TaskResult",
    "TaskStarted",
    "Tool",
    "ToolEvent",
    "TrialFinished",
    "TrialResult",
    "TrialStarted",
    "Turn",
    "Usage",
    "UsageError",
    "Validation",
    "Verdict",
    "Warned",
    "WazaError",
    "WrittenFile",
    "__version__",
    "arun",
    "load",
    "load_results",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'waza' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
