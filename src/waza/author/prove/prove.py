"""`prove`: the graders of a suite against agents that should fail, its solutions, and changes of passing answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from waza.author.check.finding import Finding, Severity
from waza.author.prove.agents import AGENTS, EXCESS, failing_agents
from waza.author.prove.excess import excessive_agent
from waza.author.prove.findings import TaskFindings
from waza.author.prove.graders import GraderPlace, ProvableGrader, graders_by_task, place_of_source
from waza.author.prove.material import MOST_TASKS, given_texts, provable_tasks
from waza.author.prove.mutations import CHANGES, change_answer
from waza.author.prove.options import ProveOptions
from waza.author.prove.probe import Probe, render_script
from waza.author.prove.report import GraderProof, Noticed, Proof, Tally
from waza.author.prove.run_probes import ProbeRun, keep_graders, run_probes
from waza.kit.template import TemplateError
from waza.kit.text import pluralize
from waza.model.loaded import Suite
from waza.model.mock import MockScript
from waza.model.result import TrialResult, Validation
from waza.model.task import Task
from waza.problem import Code
from waza.report.words import shortened
from waza.suite.loading import Loading

_NO_ANSWER = "the task has no passing answer to change"
_ONLY_FORBIDS = "it only forbids, and this agent does not do what it forbids"
_FORBIDS_NOTHING = "it forbids nothing"
_LEAST_TRIED = 3  # runs, of which one at least should make a grader fail
_LONGEST = 200  # characters of a reason in a message


class KnownAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a task that should pass: its `solution`, else what its script of the mock executor plays."""

    source: str
    script: MockScript


def answer_of(task: Task) -> KnownAnswer | None:
    """Return the answer of a task, or None. Raises TemplateError for an unknown variable in it."""
    if task.solution is not None:
        return KnownAnswer(source="solution", script=render_script(task, task.solution))
    if task.mock is not None:
        script = render_script(task, task.mock)
        if script.acts:
            return KnownAnswer(source="mock", script=script)
    return None


class ProbeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a task ended for a probe: its status, and the verdict of each grader."""

    status: str
    error: str
    verdicts: dict[tuple[int | None, str], Validation]


def outcome_of(result: TrialResult) -> ProbeOutcome:
    """Return what a result says, without the answer."""
    verdicts: dict[tuple[int | None, str], Validation] = {
        (None, name): found for name, found in (result.validations or {}).items()
    }
    for point in result.checkpoints:
        verdicts |= {(point.after_turn, name): found for name, found in point.validations.items()}
    return ProbeOutcome(status=result.status, error=result.error_msg, verdicts=verdicts)


def prove(suite: Suite, loading: Loading, options: ProveOptions) -> tuple[Proof, list[Finding]]:
    """Prove the graders of a suite that was examined. Raises WazaError if a run cannot go on."""
    proof = _Prover(suite, loading, options)
    proof.run()
    return proof.report(), proof.findings


class _Prover:
    """A proof while it is made."""

    def __init__(self, suite: Suite, loading: Loading, options: ProveOptions) -> None:
        self._suite, self._loading, self._options = suite, loading, options
        self._tasks = provable_tasks(suite, options)
        self._graders = graders_by_task(suite, loading, self._tasks, options)
        self._sources = {task.id: source for source in loading.sources for task in source.tasks}
        self._runs = 0
        self._answers: dict[str, KnownAnswer] = {}  # those that pass, by task
        self._tallies: dict[GraderPlace, dict[str, Tally]] = {}
        self._reasons: dict[GraderPlace, str] = {}
        self._noticed: dict[str, dict[str, bool]] = {}  # by probe and task, whether the task failed
        self._unapplied: dict[str, dict[str, int]] = {}  # by probe and reason, the number of tasks
        self._findings = TaskFindings()

    def run(self) -> None:
        """Run everything, and collect the findings."""
        if len(self._suite.tasks) > MOST_TASKS:
            text = f"only the first {MOST_TASKS} of {len(self._suite.tasks)} tasks are proved"
            self._find(
                "not-proved", "note", text, "prove parts of the suite by themselves", self._place(None)
            )
        provable = [task for task in self._tasks if self._start(task)]
        self._run_answers(provable)
        self._run_probes(provable)
        self._conclude()

    def _start(self, task: Task) -> bool:
        """Return whether anything of a task can be proved; what cannot is reported."""
        graders = self._graders[task.id]
        for one in graders:
            self._tallies.setdefault(one.place, {})
            if one.lack:
                self._reasons.setdefault(one.place, one.lack)
        if not graders:
            remedy = "add graders, or expected"
            self._find("not-proved", "note", "nothing grades {tasks}", remedy, self._place(task), task)
        return any(not one.lack for one in graders)

    def _run_answers(self, tasks: Sequence[Task]) -> None:
        runs, found = list[ProbeRun](), dict[str, KnownAnswer]()
        for task in tasks:
            try:
                answer = answer_of(task)
            except TemplateError:
                continue  # was reported when the suite was loaded
            if answer is not None:
                found[task.id] = answer
                runs.append(
                    self._run_of(task, Probe(name=answer.source, kind="answer", script=answer.script))
                )
        outcomes = self._play(runs)
        for task in tasks:
            outcome = outcomes.get((task.id, found[task.id].source)) if task.id in found else None
            if outcome is not None and outcome.status == "passed":
                self._answers[task.id] = found[task.id]
            elif outcome is not None and found[task.id].source == "solution":
                self._report_solution(task, outcome)
            else:
                self._report_missing(task, outcome)

    def _report_solution(self, task: Task, outcome: ProbeOutcome) -> None:
        failed = [f"{name}: {one.feedback}" for (_, name), one in outcome.verdicts.items() if not one.passed]
        why = "; ".join(failed) or outcome.error or "it has no verdict"
        message = f"the solution of {task.name!r} does not pass: {shortened(why, _LONGEST)}"
        self._find(
            "failing-solution",
            "error",
            message,
            "correct the solution or the grader",
            self._place(task, "solution"),
        )

    def _report_missing(self, task: Task, outcome: ProbeOutcome | None) -> None:
        message = "the mock of {tasks} does not pass" if outcome else "no right answer of {tasks} is known"
        message += ", and there is no solution, so no change of an answer was tried"
        remedy = "write a right answer below solution"
        self._find("missing-solution", "note", message, remedy, self._place(task), task)

    def _run_probes(self, tasks: Sequence[Task]) -> None:
        texts = {
            task.id: [one.text for one in given_texts(self._loading, task) if one.kind != "skill"]
            for task in self._tasks
        }
        every = [text for own in texts.values() for text in own]
        runs = list[ProbeRun]()
        for number, task in enumerate(tasks):
            known = (*texts[task.id], *every)
            runs += [self._run_of(task, probe) for probe in self._probes(task, number, tasks, known)]
        self._play(runs)

    def _probes(
        self, task: Task, number: int, tasks: Sequence[Task], texts: Sequence[str]
    ) -> Iterator[Probe]:
        own = self._answers.get(task.id)
        others = [
            answer.script
            for one in (*tasks[number + 1 :], *tasks[:number])
            if (answer := self._answers.get(one.id)) and not (own and answer.script.turns == own.script.turns)
        ]
        try:
            agents = list(failing_agents(task, texts, others))
        except TemplateError:
            return  # was reported when the suite was loaded
        changes = list(change_answer(own.script)) if own else [(name, _NO_ANSWER) for name in CHANGES]
        for one in (*agents, *changes):
            if isinstance(one, Probe):
                yield one
            else:
                self._not_applied(task, *one)
        yield excessive_agent(task, [one for one in self._graders[task.id] if not one.lack])

    def _not_applied(self, task: Task, name: str, reason: str) -> None:
        reasons = self._unapplied.setdefault(name, {})
        reasons[reason] = reasons.get(reason, 0) + 1
        for one in self._graders[task.id]:
            if not one.lack:
                self._skip(one, name, reason)

    def _skip(self, grader: ProvableGrader, name: str, reason: str) -> None:
        reasons = self._tallies[grader.place].setdefault(name, Tally.empty()).not_applicable
        reasons[reason] = reasons.get(reason, 0) + 1

    def _run_of(self, task: Task, probe: Probe) -> ProbeRun:
        kept = {id(one.built) for one in self._graders[task.id] if not one.lack}
        return ProbeRun(keep_graders(task, lambda built: id(built) in kept), probe)

    def _play(self, runs: Sequence[ProbeRun]) -> dict[tuple[str, str], ProbeOutcome]:
        """Run probes, count what graders caught, and return how the answers ended."""
        answers: dict[tuple[str, str], ProbeOutcome] = {}

        def see(run: ProbeRun, result: TrialResult) -> None:
            outcome = outcome_of(result)
            if run.probe.kind == "answer":
                answers[run.task.id, run.probe.name] = outcome
            self._count(run, outcome)

        run_probes(self._suite, runs, see, self._options)
        self._runs += len(runs)
        return answers

    def _count(self, run: ProbeRun, outcome: ProbeOutcome) -> None:
        probe, graders = run.probe, self._graders[run.task.id]
        if probe.kind == "answer":
            return
        decided = outcome.status in ("passed", "failed")
        if probe.kind != "excess" and decided:
            self._noticed.setdefault(probe.name, {})[run.task.id] = outcome.status == "failed"
        for one in graders:
            if one.lack:
                continue
            why = _not_applicable(one, probe)
            verdict = outcome.verdicts.get(one.key)
            if why:
                self._skip(one, probe.name, why)
            elif verdict is None:
                self._skip(
                    one, probe.name, "it was not asked" + (f": {outcome.error}" if outcome.error else "")
                )
            elif "error" in verdict.details and not verdict.passed and outcome.status == "error":
                self._skip(one, probe.name, f"it broke: {verdict.feedback}")
            else:
                tally = self._tallies[one.place].setdefault(probe.name, Tally.empty())
                tally.tried += 1
                tally.caught += not verdict.passed

    def _conclude(self) -> None:
        for place, tallies in self._tallies.items():
            self._conclude_grader(place, tallies)
        for task in self._tasks:
            self._conclude_task(task)

    def _conclude_grader(self, place: GraderPlace, tallies: Mapping[str, Tally]) -> None:
        reason = self._reasons.get(place, "")
        if not reason and not any(one.tried for one in tallies.values()):
            reasons = [why for one in tallies.values() for why in one.not_applicable]
            reason = next(
                (why for why in reasons if why not in (_ONLY_FORBIDS, _FORBIDS_NOTHING)),
                "nothing applies to it",
            )
        tried, caught = _count_tried(tallies)
        if not reason and caught == 0 and tried < _LEAST_TRIED and set(_tried(tallies)) != {EXCESS}:
            reason = f"only {pluralize(tried, 'run')} reached it"
        if not reason and caught == 0 and set(_tried(tallies)) == {EXCESS}:
            reason = "it only forbids, and no agent could be made that does what it forbids"
        if reason:
            self._reasons[place] = reason
            message = f"the grader {place.name!r} is not proved: {shortened(reason, _LONGEST)}"
            self._find("not-proved", "note", message, "", place)
        elif _never_fails(tallies):
            message = f"the grader {place.name!r} never failed: not in {pluralize(tried, 'run')} of agents that should fail and of answers made worse"
            self._find("never-fails", "warning", message, "ask for what only a right answer has", place)

    def _conclude_task(self, task: Task) -> None:
        """Report the agents that a task lets pass, and the changes that nothing in it notices."""
        lacking = [one.place.name for one in self._graders[task.id] if one.lack]
        more = f", by the graders that were proved (not by {', '.join(lacking)})" if lacking else ""
        let_pass = [name for name in AGENTS if self._noticed.get(name, {}).get(task.id) is False]
        if let_pass:
            agents = "; ".join(f"{name} ({AGENTS[name]})" for name in let_pass)
            message = f"agents that should fail pass {{tasks}}{more}: {agents}"
            severity: Severity = "note" if lacking else "error" if _does_no_work(let_pass) else "warning"
            remedy = "add a grader that fails them"
            self._find("passes-failing-agent", severity, message, remedy, self._place(task), task)
        changes = {name: self._noticed.get(name, {}).get(task.id) for name in CHANGES}
        unnoticed = [name for name, noticed in changes.items() if noticed is False]
        if unnoticed:
            message = (
                f"no grader of {{tasks}} notices when the answer is changed{more}: {', '.join(unnoticed)}"
            )
            severity = "note" if lacking or any(changes.values()) else "warning"
            remedy = "check more of the answer"
            self._find("unnoticed-change", severity, message, remedy, self._place(task), task)

    def report(self) -> Proof:
        """Return what was found."""
        return Proof(
            runs=self._runs,
            tasks=len(self._tasks),
            answers=len(self._answers),
            graders=tuple(self._grader(place, tallies) for place, tallies in self._tallies.items()),
            agents=tuple(map(self._over_tasks, AGENTS)),
            changes=tuple(map(self._over_tasks, CHANGES)),
        )

    def _grader(self, place: GraderPlace, tallies: Mapping[str, Tally]) -> GraderProof:
        reason = self._reasons.get(place, "")
        counted = {} if reason else tallies
        tried, caught = _count_tried(counted)
        return GraderProof(
            name=place.name,
            type=place.type,
            file=place.file,
            line=place.line,
            task=place.task,
            after_turn=place.after_turn,
            proved=not reason,
            reason=reason,
            tried=tried,
            caught=caught,
            never_fails=not reason and _never_fails(tallies),
            agents={name: counted[name] for name in (*AGENTS, EXCESS) if name in counted},
            changes={name: counted[name] for name in CHANGES if name in counted},
        )

    def _over_tasks(self, name: str) -> Noticed:
        noticed = self._noticed.get(name, {})
        return Noticed(
            name=name,
            tried=len(noticed),
            caught=sum(noticed.values()),
            missed=tuple(task for task, failed in noticed.items() if not failed),
            not_applicable=self._unapplied.get(name, {}),
        )

    def _place(self, task: Task | None, key: str = "") -> GraderPlace:
        """Return the place of a key of a task's file, or of the task or suite itself."""
        return place_of_source(self._loading, self._sources.get(task.id) if task else None, key)

    def _find(
        self,
        code: Code,
        severity: Severity,
        message: str,
        remedy: str,
        place: GraderPlace,
        task: Task | None = None,
    ) -> None:
        where = (place.file, place.line, place.column)
        self._findings.add(code, severity, message, remedy, where, task.name if task else "")

    @property
    def findings(self) -> list[Finding]:
        """The findings so far."""
        return list(self._findings.all())


def _not_applicable(grader: ProvableGrader, probe: Probe) -> str:
    """Return why a grader is not held against a probe, or an empty text."""
    if probe.kind == "excess":
        return "" if grader.forbids else _FORBIDS_NOTHING
    if grader.only_forbids:
        return _ONLY_FORBIDS
    if not probe.touches & grader.looks_at:
        return "it does not look at what is changed"
    return ""


def _tried(tallies: Mapping[str, Tally]) -> Iterator[str]:
    return (name for name, one in tallies.items() if one.tried)


def _count_tried(tallies: Mapping[str, Tally]) -> tuple[int, int]:
    """Return how often a grader was tried, and how often it caught what was tried."""
    return sum(one.tried for one in tallies.values()), sum(one.caught for one in tallies.values())


def _never_fails(tallies: Mapping[str, Tally]) -> bool:
    """Return whether nothing fails a grader. That it forbids something does not make up for asking for nothing."""
    asked = {name: one for name, one in tallies.items() if name != EXCESS}
    return _count_tried(asked if any(_tried(asked)) else tallies)[1] == 0


def _does_no_work(agents: Sequence[str]) -> bool:
    return bool({"nothing", "empty"} & set(agents))
