"""A listener that keeps `live.json` beside the journal of a run: what is running now, and how much there is to do."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path

import msgspec

from waza.engine.plan import Plan
from waza.kit.line_file import GroupSync
from waza.model.event import PromptSent, ResponseSeen, RunEvent, SuiteStarted, TrialFinished, TrialStarted
from waza.model.trial import Arm
from waza.results.live_state import LIVE, LiveState, RunningNow

_DELAY = 0.1  # seconds
_TEMPORARY = f"{LIVE}.tmp"

Key = tuple[str, int]


class LiveStateFile:
    """Follows a run, and writes its state. A state that cannot be written is left out: no run stops for it."""

    def __init__(self, directory: Path, plan: Plan) -> None:
        config = plan.suite.file.config
        self._path = directory / LIVE
        self._state = LiveState(
            suite=plan.suite.name,
            skill=plan.suite.file.skill,
            executor=config.executor,
            model=plan.model,
            workers=plan.workers,
            tasks={arm.arm: len(arm.tasks) for arm in plan.arms},
            trials=config.trials_per_task,
            stop_when=config.stop_rule,
            pass_rule=config.pass_rule,
            started=_now(),
        )
        self._arm: Arm = plan.arms[0].arm
        self._running: dict[Key, RunningNow] = {}
        self._lock = threading.Lock()  # the state is written by a thread of its own
        self._writes = GroupSync(self._write, _DELAY)
        self._writes.schedule()

    def handle(self, event: RunEvent) -> None:
        """Take an event of the run."""
        with self._lock:
            if not self._take(event):
                return
        self._writes.schedule()

    def close(self) -> None:
        """Remove the file: the run has ended, and its journal says how."""
        self._writes.close()
        for path in (self._path, self._path.with_name(_TEMPORARY)):
            try:
                path.unlink(missing_ok=True)
            except OSError:  # as where it cannot be written
                return

    def _take(self, event: RunEvent) -> bool:
        """Change the state; return whether there was something to change."""
        match event:
            case SuiteStarted():
                self._arm = "baseline" if event.arm == "baseline" else "main"
            case TrialStarted():
                self._running[event.task_id, event.trial] = RunningNow(
                    task=event.task_id, name=event.name, trial=event.trial, arm=self._arm, since=_now()
                )
            case PromptSent():
                self._change(event, doing="waiting for the agent", attempt=event.attempt, turn=event.turn)
            case ResponseSeen():
                known = self._running.get((event.task_id, event.trial))
                before = known.tool_calls if known and known.attempt == event.attempt else 0
                self._change(event, doing="grading", tool_calls=before + len(event.calls))
            case TrialFinished():
                self._running.pop((event.task_id, event.result.run_number), None)
            case _:
                return False
        return True

    def _change(self, event: PromptSent | ResponseSeen, **changes: object) -> None:
        key = event.task_id, event.trial
        if key in self._running:
            self._running[key] = msgspec.structs.replace(self._running[key], **changes)

    def _write(self) -> None:
        with self._lock:
            state = msgspec.structs.replace(self._state, running=list(self._running.values()))
        temporary = self._path.with_name(_TEMPORARY)
        temporary.write_bytes(msgspec.json.encode(state))
        temporary.replace(self._path)


def _now() -> str:
    return datetime.now().astimezone().isoformat()
