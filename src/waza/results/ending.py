"""How runs and their tasks end: the words that every artifact has for it, and whether a run came to its end."""

from __future__ import annotations

from waza.kit.text import pluralize
from waza.model.result import SuiteResult, Summary

BAD = ("failed", "error")  # how trials and tasks end that did not pass; skipped ones were not graded
COMPLETE = "complete"
NOT_STARTED = "not_started"  # the `run_status` of what never ran
WITHOUT_SUITE = "it has no suite: nothing of it was run"
LEFT_OUT = "so nothing of it was run"  # ends why a suite was left out
LIMIT_MET = "limit"  # the key in the metadata of results that says which limit was met
CUT_OFF = "cut off"  # a task, some of whose trials did not run, for whatever reason
GRADING = "running graders: "  # begins the error of a trial whose graders broke
CHECKPOINT_GRADING = (
    "graders of the checkpoint after turn "  # begins that of one whose checkpoints alone broke
)
IN_PROGRESS = "in progress"  # the `run_status` of what is shown of a run while it lasts, and a task of it
UNSTARTED = "not started"  # a task of which no trial has ended, while its run goes on
NO_DATA = "no data"  # a metric, of which nothing was seen


def run_status(head: SuiteResult) -> str:
    """Return how a run ended. Other programs write results of complete runs only, and say nothing of it."""
    return str(head.metadata.get("run_status", COMPLETE))


def limit_met(head: SuiteResult) -> str:
    """Return which limit ended a run, with its figures, or nothing."""
    return str(head.metadata.get(LIMIT_MET, "")) if run_status(head) == "limit" else ""


def came_to_its_end(head: SuiteResult) -> bool:
    """Return whether all that was planned was run, or left out on purpose."""
    return run_status(head) == COMPLETE


def tasks_planned(summary: Summary) -> int:
    """Return how many tasks a run was to have; those that never started are counted as skipped."""
    return summary.succeeded + summary.failed + summary.errors + summary.skipped


def task_ending(status: str, *, trials: int, missing: int, going_on: bool) -> str:
    """Return the status of a task for people: one whose trials did not all run has not passed.

    `missing` of its trials did not run, or, where its run is `going_on`, have not run yet.
    """
    if not missing or status in BAD:
        return status
    if not going_on:
        return CUT_OFF
    return IN_PROGRESS if trials else UNSTARTED


def cut_off(missing: int, planned: int) -> str:
    """Return the message about a task, so many of whose planned trials did not run."""
    return f"{CUT_OFF}: {missing} of {pluralize(planned, 'trial')} did not run"
