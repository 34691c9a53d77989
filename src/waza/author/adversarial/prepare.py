"""A suite of packs: whose agent is attacked, with which packs, and what an unsafe outcome means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from waza.author.adversarial.pack import BUILT_IN, NAMES, SCRIPTS, Pack, find_packs
from waza.errors import SuiteError, UsageError
from waza.executors import parse_executor
from waza.kit.files import write_atomic
from waza.kit.git import ignore_in_git
from waza.kit.names import did_you_mean
from waza.model.loaded import Project, Suite
from waza.problem import Problem, display_path
from waza.suite.load import load, read_head
from waza.suite.loading import LoadOptions

Policy = Literal["fail", "warn"]

MOCK = "mock"
_LACKING = ("capability", "mcp-servers")  # codes of what an executor does not offer
_NO_SUITE = b"# Written by `waza adversarial` for packs without a suite. Its options say the rest.\nconfig: {executor: mock}\n"
_WIRING = (
    "the agent is the mock, which follows a script or echoes: this shows that the packs work, and nothing about a "
    "real agent"
)


class Attack(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for: empty values mean those of the suite `spec`, or the defaults."""

    packs: tuple[str, ...] = ()
    spec: Path | None = None
    skill: str = ""
    engine: str = ""
    script: str = ""
    model: str = ""
    trials: int | None = None
    policy: Policy | None = None
    parallel: bool | None = None
    workers: int = 0
    without_suite_graders: bool = False


class PreparedAttack(msgspec.Struct, frozen=True, kw_only=True):
    """A suite with the tasks of packs, ready to run."""

    suite: Suite
    packs: list[Pack]
    policy: Policy
    inherited: frozenset[str]
    """The names of graders that the suite has for all of its tasks."""


def prepare(attack: Attack, project: Project) -> PreparedAttack:
    """Load the packs and the suite whose agent they attack.

    Without a suite, one is written into `.waza/adversarial` of the project. Raises UsageError and SuiteError.
    """
    head = read_head(attack.spec) if attack.spec else None
    block = head.adversarial if head else None
    if attack.packs or not (attack.spec and block and block.packs):
        packs = find_packs(attack.packs or NAMES, Path.cwd())
    else:
        packs = find_packs(block.packs, attack.spec.absolute().parent)
    executor = attack.engine or (head.config.executor if head else "copilot-sdk" if attack.skill else MOCK)
    scripted = parse_executor(executor)[0] == MOCK
    if attack.script:
        _check_script(attack.script, executor, scripted=scripted)
    options = LoadOptions(
        executor="" if head and not attack.engine else executor,
        models=(attack.model,) if attack.model else (),
        skill=attack.skill,
        trials=attack.trials,
        parallel=attack.parallel,
        workers=attack.workers,
        without_graders=attack.without_suite_graders,
        packs=tuple(pack.tasks(attack.script) for pack in packs),
    )
    try:
        suite = load(attack.spec or _write_suite(project.directory), options)
    except SuiteError as error:
        raise SuiteError(list(_in_short(error.problems, packs))) from None
    if attack.skill:
        _check_skill(suite)
    return PreparedAttack(
        suite=_of_mock(suite) if scripted else suite,
        packs=packs,
        policy=attack.policy or (block.on_unsafe_outcome if block else "fail"),
        inherited=_suite_graders(suite),
    )


def _check_script(script: str, executor: str, *, scripted: bool) -> None:
    if script not in SCRIPTS:
        raise UsageError(f"--script: there is no script {script!r}; {did_you_mean(script, SCRIPTS)}")
    if not scripted:
        raise UsageError(f"--script is for the executor mock, not for {executor!r}; add --engine mock")


def _in_short(problems: Sequence[Problem], packs: Sequence[Pack]) -> Iterator[Problem]:
    """Yield problems, those of an executor that cannot run a built-in pack as one: nobody can edit its files."""
    built_in = {
        display_path(file): pack.name
        for pack in packs
        if pack.directory.parent == BUILT_IN
        for file in pack.files
    }
    lacking: dict[str, dict[str, None]] = {}
    for problem in problems:
        if problem.code in _LACKING and problem.severity == "error" and problem.file in built_in:
            lacking.setdefault(built_in[problem.file], {})[problem.message] = None
        else:
            yield problem
    for name, messages in lacking.items():
        yield Problem(
            code="capability",
            file=name,
            message="; ".join(messages),
            hint="use --engine copilot-sdk, or a pack of your own (--packs DIR) that looks at files and answers",
        )


def _check_skill(suite: Suite) -> None:
    """Raise UsageError where the skill that was asked for is not there: an agent without it would be attacked."""
    for problem in suite.warnings:
        if problem.code == "skill-not-found":
            what = problem.message.removesuffix(", so none is under test")
            raise UsageError(f"--skill: {what}; {problem.hint}")


def _write_suite(project: Path) -> Path:
    """Write the suite of packs that attack no suite's agent; it is always the same file, so that runs resume."""
    path = project / ".waza" / "adversarial" / "eval.yaml"
    if not path.is_file() or path.read_bytes() != _NO_SUITE:
        path.parent.mkdir(parents=True, exist_ok=True)
        ignore_in_git(path.parent.parent)
        write_atomic(path, _NO_SUITE)
    return path


def _suite_graders(suite: Suite) -> frozenset[str]:
    """Return the names of the graders that the suite has for all tasks; those from elsewhere may be named there."""
    elsewhere = (one.spec.name for task in suite.tasks for one in task.graders if one.module is not None)
    return frozenset([*(one.name for one in suite.file.graders), *elsewhere])


def _of_mock(suite: Suite) -> Suite:
    """Return the suite with one warning in the place of those about each mock that the script does without."""
    left: Sequence[Problem] = [one for one in suite.warnings if one.code not in _LACKING]
    warning = Problem(code="caveat", file="--engine", message=_WIRING, severity="warning")
    return msgspec.structs.replace(suite, warnings=(*left, warning))
