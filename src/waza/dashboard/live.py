"""Runs while they last: what is running now, and their events, which are made of the files that the run writes.

Events that have a number come from the journal, one for each of its lines of interest, so their numbers are the same
after a restart of the server. Those about what is running now come from `live.json`, have no number of their own, and
are not repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from waza.dashboard.catalogue import Catalogue, ListedRun, RunState
from waza.dashboard.pages import LiveData, LiveEvent, LiveRun, RunningTrial
from waza.dashboard.summaries import sorted_by_time, summarize_run
from waza.errors import WazaError
from waza.kit.moments import read_moment
from waza.model.cost import Cost, add_costs
from waza.model.observation import add_usage, tokens_of
from waza.model.result import TrialResult, TrialStatus
from waza.model.trial import ARMS, Arm
from waza.report.trial_page import cause, causes
from waza.results.ending import BAD, came_to_its_end
from waza.results.journal_lines import RunEnd
from waza.results.live_state import LiveState, RunningNow, read_live_state
from waza.results.so_far import JournaledTrial, PartBegan, RunSoFar
from waza.results.task_index import TrialHead
from waza.results.verdict import verdict_of

EventKind = Literal[
    "run_started", "task_started", "step_executed", "task_completed", "run_completed", "run_failed"
]
_EXPLAINED = 200  # of the last events that say why a trial did not pass, for which its record is read
_encode = msgspec.json.Encoder(enc_hook=str).encode

RETRY = b"retry: 1000\n\n"
"""What a stream begins with: how many milliseconds a client waits before it comes back."""


def frame(event: LiveEvent) -> bytes:
    """Return an event as it is sent."""
    return b"id: %d\ndata: %s\n\n" % (event.sequence, _encode(event))


def live_runs(catalogue: Catalogue) -> list[LiveRun]:
    """Return the runs in progress, the newest first."""
    found = []
    for run in sorted_by_time([one for one in catalogue.runs() if one.state == "in progress"]):
        if run.saved.directory is not None:
            so_far, state = catalogue.journal(run.saved.directory), read_live_state(run.saved.directory)
            tally = _Tally(state)
            for entry in list(so_far.entries):
                tally.add(entry)
            found.append(_make_live_run(run, so_far, tally, state))
    return found


def newest_run(catalogue: Catalogue) -> ListedRun | None:
    """Return the newest run: of those in progress, if there are any; None without a run that can be read."""
    runs = sorted_by_time([one for one in catalogue.runs() if one.head is not None])
    return next((one for one in runs if one.state == "in progress"), next(iter(runs), None))


class _Tally:
    """The figures of a run up to an entry of its journal; its state says when a task is complete, if there is one."""

    def __init__(self, state: LiveState | None) -> None:
        self._state = state
        self.trials: dict[tuple[Arm, str, int], TrialHead] = {}
        self._by_task = dict[tuple[Arm, str], dict[int, TrialStatus]]()
        self.completed_tasks = 0  # of the arm with skills
        self.spared = 0  # trials that a rule left out
        self.statuses = Counter[TrialStatus]()
        self.tokens: int | None = None
        self.costs: list[Cost | None] = []  # of each record of a trial whose tokens are known
        self.part_began = ""  # when this part of the run began, if it is not the first one
        self.in_part: set[tuple[Arm, str, int]] = set()  # trials that finished in this part

    def add(self, entry: JournaledTrial | PartBegan | RunEnd) -> None:
        if isinstance(entry, PartBegan):
            self.part_began, self.in_part = entry.at, set()
        elif isinstance(entry, JournaledTrial):
            self.in_part.add((entry.arm, entry.task, entry.head.number))
            self.add_trial(entry.arm, entry.task, entry.head)

    def add_trial(self, arm: Arm, task: str, trial: TrialHead) -> None:
        before = self.trials.get((arm, task, trial.number))
        if before is not None:  # it broke, and was repeated
            self.statuses[before.status] -= 1
            if used := tokens_of(before.usage):
                self.tokens = (self.tokens or 0) - used
        self.trials[arm, task, trial.number] = trial
        if self._state:
            self._note_completion(self._state, arm, task, trial)
        self.statuses[trial.status] += 1
        if used := tokens_of(trial.usage):
            self.tokens = (self.tokens or 0) + used
        if trial.cost or tokens_of(add_usage([trial.usage, trial.judging])):
            self.costs.append(trial.cost)

    @property
    def dollars(self) -> float | None:
        """What the run cost so far in US dollars; None where that is not known."""
        total = add_costs(self.costs)
        return total.dollars if total else None

    def _note_completion(self, state: LiveState, arm: Arm, task: str, trial: TrialHead) -> None:
        statuses = self._by_task.setdefault((arm, task), {})
        was_complete = bool(statuses) and not state.lacks(statuses)
        spared = state.trials - len(statuses) if was_complete else 0
        statuses[trial.number] = trial.status
        complete = not state.lacks(statuses)
        self.spared += (state.trials - len(statuses) if complete else 0) - spared
        self.completed_tasks += arm == "main" and complete - was_complete


def _make_live_run(run: ListedRun, so_far: RunSoFar, tally: _Tally, state: LiveState | None) -> LiveRun:
    now, done = datetime.now(UTC), len(tally.trials)
    usage = add_usage([one.usage for one in tally.trials.values()])
    first = so_far.header.started if so_far.header else ""
    started = read_moment(tally.part_began or first) or now
    elapsed = max(0.0, (now - started).total_seconds() * 1000)
    total = state.total_trials - tally.spared if state else None
    left = elapsed / len(tally.in_part) * (total - done) if total is not None and tally.in_part else None
    return LiveRun(
        run=summarize_run(run),
        sequence=1 + len(so_far.entries),
        total_tasks=max(state.tasks.values(), default=0) if state else None,
        completed_tasks=tally.completed_tasks,
        total_trials=total,
        completed_trials=done,
        passed=tally.statuses["passed"],
        failed=tally.statuses["failed"],
        errors=tally.statuses["error"],
        tokens=tokens_of(usage),
        premium_requests=usage.premium_requests if usage else None,
        ai_credits=usage.ai_credits if usage else None,
        elapsed_ms=round(elapsed),
        left_ms=None if left is None else max(0, round(left)),
        workers=state.workers if state else None,
        running=[_running(one) for one in _running_now(run, state, tally)],
    )


def _running_now(run: ListedRun, state: LiveState | None, tally: _Tally) -> list[RunningNow]:
    """Return what is running; the journal may be ahead of the state, and a killed run leaves one."""
    if state is None or run.state != "in progress":
        return []
    return [one for one in state.running if (one.arm, one.task, one.trial) not in tally.in_part]


def _running(one: RunningNow) -> RunningTrial:
    return RunningTrial(
        task=one.task,
        name=one.name,
        arm=one.arm,
        trial=one.trial,
        attempt=one.attempt,
        turn=one.turn,
        doing=one.doing,
        tool_calls=one.tool_calls,
        since=one.since,
    )


class Follower:
    """The events of a run for one client, which has seen those up to the number `seen`.

    A number that the run does not have yet is one of another run: then all events are sent.
    """

    def __init__(self, catalogue: Catalogue, run: ListedRun, seen: int) -> None:
        self._catalogue, self._run, self._seen = catalogue, run, seen
        self.ended = False
        self._clear()

    def _clear(self) -> None:
        self._tally = _Tally(None)
        self._names: dict[str, str] = {}
        self._time = datetime.now(UTC)  # about when the last entry was written
        self._at = 0  # entries that were looked at
        self._running: list[RunningNow] = []
        self._state: RunState | None = None

    def poll(self) -> list[LiveEvent]:
        """Return the events since the last call. `ended`: there are no more. Raises WazaError, OSError."""
        directory = self._run.saved.directory
        if directory is None:
            return self._of_results()
        run = self._catalogue.reread(self._run)  # before the journal: whoever ended has written all of it
        so_far = self._catalogue.journal(directory)
        entries, state = list(so_far.entries), read_live_state(directory)
        if len(entries) < self._at:  # another journal has taken its place
            self._seen = 0
            self._clear()
        if self._seen > len(entries) + 1:
            self._seen = 0
        if not self._at and state:
            self._tally = _Tally(state)
        if so_far.header:
            self._names = {task.id: task.name for task in so_far.header.tasks}
        if run.saved.results and not self._at:  # it ended before anybody looked
            self._names |= {
                one.test_id: one.display_name for one in self._catalogue.source(run).heads("main")
            }
        events = list(self._numbered(run, so_far, entries, state))
        if entries and isinstance(entries[-1], RunEnd) and run.state != "in progress":
            self.ended = True
            events.append(self._last(run, len(entries) + 1))
        events = [one for one in events if one.sequence > self._seen]
        if not self.ended:
            events += self._passing(run, so_far, state, changed=bool(events))
        return events

    def _numbered(
        self,
        run: ListedRun,
        so_far: RunSoFar,
        entries: Sequence[JournaledTrial | PartBegan | RunEnd],
        state: LiveState | None,
    ) -> Iterator[LiveEvent]:
        """Yield the events of the entries that are new, but for the end of the run."""
        if not self._at and self._state is None and so_far.header:
            self._time = read_moment(so_far.header.started) or self._time
            yield self._event(run, 1, "run_started", self._totals(run, state))
        part = self._time
        for place in range(self._at, len(entries)):
            entry = entries[place]
            self._tally.add(entry)
            if isinstance(entry, PartBegan):
                part = self._time = read_moment(entry.at) or self._time
                yield self._event(run, place + 2, "run_started", self._totals(run, state, message="resumed"))
            elif isinstance(entry, JournaledTrial):
                self._time = max(self._time, part + timedelta(milliseconds=entry.clock))
                explained = entry if len(entries) - place <= _EXPLAINED else None
                yield self._trial(
                    run, place + 2, entry.arm, entry.task, entry.head, state, self._why(so_far, explained)
                )
        self._at = len(entries)

    def _why(self, so_far: RunSoFar, entry: JournaledTrial | None) -> TrialResult | None:
        if entry is None or entry.head.status not in BAD:
            return None
        try:
            return so_far.read_trial(entry)
        except (WazaError, OSError):  # replaced meanwhile; the next poll begins again
            return None

    def _passing(
        self, run: ListedRun, so_far: RunSoFar, state: LiveState | None, *, changed: bool
    ) -> Iterator[LiveEvent]:
        """Yield what is not kept: trials that began, and the run as it is now, where either has changed."""
        running = _running_now(run, state, self._tally)
        known = {(one.arm, one.task, one.trial) for one in self._running}
        number = len(so_far.entries) + 1
        for one in running:
            if (one.arm, one.task, one.trial) not in known:
                data = LiveData(task_id=one.task, task_name=one.name, arm=one.arm, trial=one.trial)
                yield self._event(run, number, "task_started", data, one.since)
        if changed or running != self._running or run.state != self._state:
            live = _make_live_run(run, so_far, self._tally, state)
            message = "" if run.state == "in progress" else f"{run.state}: {run.saved.unfinished}"
            yield self._event(
                run, number, "step_executed", _with(self._totals(run, state), live=live, message=message)
            )
        self._running, self._state = list(running), run.state

    def _last(self, run: ListedRun, number: int) -> LiveEvent:
        """Return the last event of a run that ended."""
        head = run.head
        complete = run.state == "finished" and head is not None and came_to_its_end(head)
        verdict = verdict_of(head) if head is not None and run.state == "finished" else None
        at = head and read_moment(head.timestamp)
        if head is not None and at:
            self._time = max(self._time, at + timedelta(milliseconds=head.summary.duration_ms))
        data = _with(
            self._totals(run, None),
            outcome=verdict.word if verdict else run.state,
            message="; ".join(verdict.reasons) if verdict else run.error or run.saved.unfinished,
            duration=head.summary.duration_ms / 1000 if head is not None and verdict else UNSET,
            tokens=UNSET if run.tokens is None else run.tokens,
        )
        return self._event(run, number, "run_completed" if complete else "run_failed", data)

    def _of_results(self) -> list[LiveEvent]:
        """Return the events of a results file without a journal: all of them at once."""
        self.ended = True
        source, number = self._catalogue.source(self._run), 1
        events = [self._event(self._run, 1, "run_started", self._totals(self._run, None))]
        for arm in ARMS:
            for task in source.heads(arm):
                self._names[task.test_id] = task.display_name
                for trial in task.trials:
                    number += 1
                    self._tally.add_trial(arm, task.test_id, trial)
                    events.append(self._trial(self._run, number, arm, task.test_id, trial, None, None))
        events.append(self._last(self._run, number + 1))
        seen = self._seen if self._seen <= number + 1 else 0
        return [one for one in events if one.sequence > seen]

    def _trial(
        self,
        run: ListedRun,
        number: int,
        arm: Arm,
        task: str,
        head: TrialHead,
        state: LiveState | None,
        result: TrialResult | None,
    ) -> LiveEvent:
        telling = next(iter(causes(result)), None) if result else None
        data = _with(
            self._totals(run, state),
            task_id=task,
            task_name=self._names.get(task, task),
            arm=arm,
            trial=head.number,
            outcome=head.status,
            score=UNSET if head.score is None else head.score,
            duration=head.duration_ms / 1000,
            message=cause(result) if result else UNSET,
            grader_name=telling.grader if telling else UNSET,
            grader_type=telling.type if telling else UNSET,
            passed=head.status == "passed",
        )
        return self._event(run, number, "task_completed", data)

    def _totals(self, run: ListedRun, state: LiveState | None, *, message: str = "") -> LiveData:
        """Return the figures of the run up to here."""
        tally = self._tally
        return LiveData(
            spec=run.head.eval_name if run.head else UNSET,
            model=run.head.config.model_id if run.head else UNSET,
            message=message or UNSET,
            total_tasks=max(state.tasks.values(), default=0) if state else UNSET,
            completed_tasks=tally.completed_tasks if state else UNSET,
            total_trials=state.total_trials - tally.spared if state else UNSET,
            completed_trials=len(tally.trials),
            pass_count=tally.statuses["passed"],
            fail_count=tally.statuses["failed"] + tally.statuses["error"],
            tokens=UNSET if tally.tokens is None else tally.tokens,
            cost=UNSET if tally.dollars is None else tally.dollars,
        )

    def _event(self, run: ListedRun, number: int, kind: EventKind, data: LiveData, at: str = "") -> LiveEvent:
        moment = datetime.now(UTC) if kind == "step_executed" else self._time
        return LiveEvent(
            sequence=number, run_id=run.id, type=kind, data=data, timestamp=at or moment.isoformat()
        )


def _with(data: LiveData, **more: Any) -> LiveData:
    return msgspec.structs.replace(data, **more)
