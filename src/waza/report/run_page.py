"""A saved run in one screen: its verdict, the failed trials with their causes, then the list of its tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from waza.kit.text import pluralize
from waza.model.result import SuiteResult
from waza.report.console import task_table
from waza.report.requirements import requirement_parts
from waza.report.section import Part
from waza.report.trial_page import TrialView, cause
from waza.report.view import RunView, model_name
from waza.report.words import BULLET, moment, one_line, shortened, status_mark
from waza.report.wrap import wrap
from waza.results.ending import BAD, CUT_OFF, IN_PROGRESS, run_status
from waza.results.outcome import Outcome
from waza.results.verdict import verdict_of

_MOST_FAILED = 8  # tasks whose causes are shown, so that they fit in one screen
_CAUSE = 150  # characters: two lines


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """A saved run. `run` is the name by which `waza show` finds it; `trials` are those to show, of both arms.

    `all_failed`: the causes of all failed trials are shown, not only as many as fit in one screen.
    """

    run: str
    head: SuiteResult
    trials: Sequence[TrialView]
    width: int
    all_failed: bool = False

    def sections(self, *, tasks: bool = True) -> Iterator[tuple[str, list[Part]]]:
        """Yield the sections: the verdict with the failed trials, then the rest, with the tasks unless they are left out."""
        view = RunView.of(Outcome.of(self.head), self.run)
        yield self._title(), [*self._head(), *self._not_run(), *self._failed()]
        if matrix := view.trigger_matrix:
            yield "SKILLS INVOKED", [matrix]
        for title, lines in (("TRIGGER TESTS", view.trigger_failures), ("WARNINGS", view.warnings)):
            wrapped = [line for text in lines for line in wrap(one_line(text), self.width, "", "  ")]
            if wrapped:
                yield title, [*wrapped]
        required = list(requirement_parts(view.requirements, self.width, whole=False))
        if required:
            yield "REQUIREMENTS", [*required]
        if tasks:
            yield "TASKS", [task_table(view.tasks)] if view.tasks else ["none has a finished trial"]

    def _title(self) -> str:
        status, verdict = run_status(self.head), verdict_of(self.head)
        if status in (IN_PROGRESS, CUT_OFF):
            return f"{status_mark('skipped')} {self.run}: {status}"
        return f"{status_mark(verdict.status)} {self.run}: {verdict.word}"

    def _head(self) -> Iterator[str]:
        head = self.head
        what = f"{one_line(head.eval_name)} on {model_name(head)}, {moment(head.timestamp)}"
        yield from wrap(what, self.width)
        if run_status(head) in (IN_PROGRESS, CUT_OFF):
            finished = sum(len(task.runs) for task in head.tasks)
            planned = finished + sum(task.missing_trials for task in head.tasks)
            yield f"{BULLET} no results yet: {finished} of {pluralize(planned, 'trial')} have finished"
            return
        for reason in verdict_of(head).reasons:
            yield from wrap(one_line(reason), self.width, f"{BULLET} ", "  ")

    def _not_run(self) -> Iterator[str]:
        for task in self.head.tasks:
            if not task.runs and task.error_msg:
                text = f"{status_mark('error')} {one_line(task.test_id)} did not run: {shortened(one_line(task.error_msg), _CAUSE)}"
                yield from wrap(text, self.width, "", "    ")

    def _failed(self) -> Iterator[str]:
        """Yield the failed trials with their causes; trials of a task with one cause are one line."""
        groups: dict[tuple[str, str, str], list[TrialView]] = {}
        for one in self.trials:
            if one.trial.status in BAD:
                groups.setdefault((one.arm, one.task.test_id, cause(one.trial)), []).append(one)
        shown = list(groups.items())
        if not self.all_failed:
            shown = shown[:_MOST_FAILED]
        for (_, _, why), views in shown:
            first = views[0]
            which = (
                ""
                if len(first.task.runs) == 1
                else f", trial {', '.join(str(one.trial.run_number) for one in views)}"
            )
            arm = ", without skills" if first.arm == "baseline" else ""
            yield from wrap(
                f"{status_mark(first.trial.status)} {one_line(first.task.test_id)}{which}{arm}",
                self.width,
                "",
                "    ",
            )
            yield from wrap(why if self.all_failed else shortened(why, _CAUSE), self.width, "    ")
        if len(groups) > len(shown):
            yield f"and {len(groups) - len(shown)} more, which --failed shows"
        if groups:
            views = next(iter(groups.values()))
            yield "one of them as a page:"
            yield f"  {views[0].command}"
        elif not self.trials:
            yield "no trial to show"


def trials_of(run: str, head: SuiteResult) -> list[TrialView]:
    """Return the trials of a run in the order of its tasks, those without skills behind the others."""
    found = [
        TrialView(run=run, head=head, arm="main", task=task, trial=trial)
        for task in head.tasks
        for trial in task.runs
    ]
    if head.baseline_outcome is not None:
        found += [
            TrialView(run=run, head=head, arm="baseline", task=task, trial=trial)
            for task in head.baseline_outcome.tasks
            for trial in task.runs
        ]
    return found
