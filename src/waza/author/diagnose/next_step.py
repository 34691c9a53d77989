"""What to do about a verdict: a command that can be copied, or a change."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from waza.author.diagnose.diagnosis import DataNeeded
from waza.author.diagnose.evidence import SkillEvidence
from waza.kit.text import pluralize
from waza.model.result import SuiteResult
from waza.problem import display_path
from waza.results.invocation import suite_name
from waza.results.journal_lines import read_header
from waza.results.saved import SavedRun
from waza.results.selection import selected_by

_EASY = 0.95  # a pass rate without the skill, above which there is little to lift
_TRIALS = 5  # where it is not known how much trials of a task differ


class RunSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run comes from, for commands: its suite (by file or skill), how it was run, and its id if it is kept."""

    run: str
    suite: str
    skill: str
    executor: str = ""
    model: str = ""
    trials: int = 0
    """Trials of each task; 0: the rule of the suite ends them (`config.stop_when`)."""
    filters: str = ""
    """Options that chose among the tasks, as words of a command line."""
    kept: str = ""

    def again(self, *options: str) -> str:
        """Return the command that runs the suite with and without the skill."""
        executor = ["--executor", self.executor] if self.executor else []
        model = ["--model", self.model] if self.model else []
        found = shlex.join(["waza", "run", self.suite, *executor, *model, "--baseline", *options])
        return f"{found} {self.filters}".rstrip()

    def going_on(self, *options: str) -> str:
        """Return the command that goes on with the run, or, of a file elsewhere, that runs the suite again."""
        if not self.kept:
            return self.again()
        trials = ["--trials", str(self.trials)] if self.trials else []
        return self.again(*trials, f"--resume={self.kept}", *options)

    def show(self, task: str, *options: str) -> str:
        """Return the command that shows a trial of a task."""
        return shlex.join(["waza", "show", self.run, task, *options])


def source_of(run: SavedRun, head: SuiteResult) -> RunSource:
    """Return where a run comes from. Raises WazaError where its record is damaged."""
    header = read_header(run.directory) if run.directory else None
    return RunSource(
        run=run.name,
        suite=display_path(Path(header.suite)) if header else suite_name(head) or "EVAL",
        skill=head.skill,
        executor=head.config.engine_type,
        model=head.config.model_id,
        trials=0 if head.config.stop_when else head.config.runs_per_test,
        filters=selected_by(head),
        kept=header.id if header else "",
    )


def after_not_offered(source: RunSource, *, twin: bool) -> str:
    """Return what makes the agent see the skill."""
    if twin:
        what = f"remove or rename the other skill named {source.skill!r}"
    else:
        what = (
            "look at config.skill_directories and config.disabled_skills of the suite, and at how many skills the agent "
            "lists"
        )
    return f"{what}, then: {source.again()}"


def after_not_invoked(source: RunSource) -> str:
    """Return what makes the agent invoke the skill."""
    if not source.skill:
        return f"say in the descriptions of the skills when to use them, then: {source.again()}"
    return f"say in its description when to use it: {shlex.join(['waza', 'dev', source.skill, '--tune'])}"


def after_no_effect(source: RunSource, evidence: SkillEvidence) -> str:
    """Return what may give the skill an effect, or show one."""
    if evidence.rates[1] >= _EASY:
        return f"the tasks pass without it: write tasks that need the skill, or remove it; then: {source.again()}"
    return f"change what the skill says, or remove it; where it did not help: {source.show(_worst(evidence))}"


def after_harm(source: RunSource, evidence: SkillEvidence) -> str:
    """Return what shows how the skill does harm."""
    task = _worst(evidence)
    return (
        f"remove the skill, or mend what it does to {task!r}: {source.show(task)}; without it: "
        f"{source.show(task, '--baseline')}"
    )


def after_too_dear(source: RunSource) -> str:
    """Return what makes the skill cheaper."""
    found = shlex.join(["waza", "tokens", "suggest", *([source.skill] if source.skill else [])])
    return f"make the skill shorter, or load parts of it only when they are needed: {found}"


def after_keep(source: RunSource) -> str:
    """Return what keeps the skill as good."""
    found = shlex.join(["waza", "gate", "--baseline", source.run, "--current"])
    return f"keep it; hold later runs to this one: {found} RESULTS"


def after_too_little(source: RunSource, evidence: SkillEvidence, needed: DataNeeded) -> str:
    """Return what gives the data that are needed."""
    more = needed.tasks - evidence.lift.clusters
    options: Sequence[str] = ("--trials", str(needed.trials or _TRIALS))
    if more <= 0:
        return source.again(*options)
    unit = "task" if evidence.lift.clusters == evidence.lift.n else "group of tasks"
    return f"add {pluralize(more, unit)} to the suite, then: {source.again(*options)}"


def _worst(evidence: SkillEvidence) -> str:
    """Return the task in which the skill did least."""
    return min(evidence.pairs.pairs, key=lambda pair: pair.difference).task
