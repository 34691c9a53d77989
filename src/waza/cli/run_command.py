"""`waza run`, step by step: choose suites, load them, run each on its models, report, write, decide."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from waza.cli.check_options import check_options, list_outputs
from waza.cli.choose_suites import Chosen, choose_suites
from waza.cli.command_run import CommandRun, Writer, with_metadata
from waza.cli.listeners import Listeners
from waza.cli.load_suite import load_options, load_suite
from waza.cli.outputs import (
    JSON,
    CommandResults,
    ReporterOption,
    SkillOutcome,
    existing_outputs,
    is_html,
    parse_reporter,
    write_report,
    write_results,
    write_tree,
)
from waza.cli.streams import print_json, print_notice
from waza.cli.telemetry import TelemetryArguments, open_telemetry
from waza.cli.utf8 import require_utf8
from waza.engine.invocation import InvocationJournal, Job
from waza.engine.record import make_redactor
from waza.engine.run import Emit, FinishedRun, RunOptions
from waza.engine.run_all import JobResult, run_all
from waza.errors import EXIT_ERROR, EXIT_FAILED, EXIT_OK, SuiteError, UsageError
from waza.kit.redact import DEFAULT_POLICY, RedactionPolicy
from waza.kit.text import pluralize
from waza.model.loaded import Project, Suite
from waza.problem import Problem, display_path
from waza.report import overview
from waza.report.console import print_report
from waza.report.view import InvocationView, RunView, compare_outcomes
from waza.report.words import Write
from waza.results.ending import LEFT_OUT, came_to_its_end
from waza.results.invocation import LeftOut
from waza.results.recommend import recommend
from waza.results.verdict import NotStarted
from waza.stores import missing_package
from waza.suite.select import describe_filters

if TYPE_CHECKING:
    from waza.evidence.recorder import Recorder
    from waza.model.tracing import Tracing


_MEANT = 3  # texts that may have been meant, in a message


class RunArguments(TelemetryArguments, frozen=True, kw_only=True):
    """The options of `waza run`, named as in `waza.cli.run`."""

    targets: tuple[str, ...]
    executor: str
    models: tuple[str, ...]
    judge_model: str
    trials: int | None
    timeout: int | None
    tasks: tuple[str, ...]
    tags: tuple[str, ...]
    expression: str | None
    wire: str | None
    cassettes: str
    backend: str
    scheduler: str
    resources: tuple[str, ...]
    shard: tuple[int, int] | None
    durations: Path | None
    changed_since: str | None
    watch: bool
    context_dir: str
    parallel: bool | None
    workers: int
    baseline: bool
    no_skills: bool
    skip_graders: bool
    update_snapshots: bool
    keep_workspace: bool
    resume: str | None
    retry_errors: bool
    no_save: bool
    cache: bool | None
    cache_dir: str
    output: Path | None
    output_dir: Path | None
    no_summary: bool
    form: str
    reporters: tuple[str, ...]
    as_json: bool
    verbose: bool | None
    interpret: bool
    recommend: bool
    suggest: bool
    show_prompt: bool
    auto_file_issue: bool
    print_issue: bool
    transcript_dir: Path | None
    session_log: bool | None
    session_dir: Path | None
    snapshot: Path | None
    snapshot_env_allow: tuple[str, ...]
    evidence_files: tuple[str, ...]
    redact: Path | None
    discover: bool
    strict: bool
    warnings_as_errors: bool


def run_command(arguments: RunArguments) -> int:
    """Run the command; return its exit code."""
    reporters = [parse_reporter(text) for text in arguments.reporters]
    if arguments.as_json:
        reporters.append(ReporterOption(JSON))
    check_options(arguments, reporters)
    require_utf8("--model", *arguments.models)
    require_utf8("--judge-model", arguments.judge_model)
    if any(target.lower().endswith(".json") for target in arguments.targets):
        from waza.foreign.recognize import recognize  # most runs do without it

        documents = [target for target in arguments.targets if recognize(Path(target)) == "m365-document"]
        if documents and len(arguments.targets) > 1:
            raise UsageError(f"{documents[0]} is an evaluation document; run it alone")
        if documents:
            from waza.cli.run_document import run_document

            return run_document(arguments)
    call = CommandRun()
    arguments = apply_defaults(arguments, call.project)
    if arguments.watch:
        from waza.cli.watch import watch  # as below

        return watch(call, arguments, reporters)
    chosen = choose_round(arguments, call.project, print_notice, list_outputs(arguments, reporters))
    if arguments.snapshot:
        from waza.cli.run_evidence import check_evidence  # as below

        check_evidence(arguments, list_outputs(arguments, reporters))
    return run_round(call, arguments, reporters, chosen)


class Round(msgspec.Struct, frozen=True):
    """The suites of a run. `left_out` are the others by their names, with the reasons; `since` is --changed-since, in words."""

    suites: Sequence[Chosen]
    without_suite: tuple[str, ...] = ()
    left_out: Sequence[tuple[str, str]] = ()
    since: str = ""

    def only(self, suites: Sequence[Chosen], left_out: Sequence[tuple[str, str]]) -> Round:
        """Return the round of some of its suites, with further ones that are left out."""
        return msgspec.structs.replace(self, suites=suites, left_out=[*self.left_out, *left_out])


def choose_round(
    arguments: RunArguments, project: Project, say: Write, written: Collection[Path] = ()
) -> Round:
    """Return the suites that the arguments mean. `written` are the files and folders of the run. Raises UsageError."""
    choice = choose_suites(
        arguments.targets,
        project,
        say,
        discover=arguments.discover,
        strict=arguments.strict,
        importing=True,
    )
    found = Round(choice.suites, choice.without_suite, [_untested(path) for path in choice.others])
    if arguments.changed_since is None:
        return found
    from waza.cli.changed_since import choose_changed  # most runs do without it

    changed = choose_changed(choice.suites, arguments.changed_since, arguments.context_dir, project, written)
    why = f"nothing of it changed since {changed.since}"
    left_out = [(one.label, why) for one in changed.untouched]
    return msgspec.structs.replace(found.only(changed.touched, left_out), since=changed.since)


def run_round(
    call: CommandRun, arguments: RunArguments, reporters: Sequence[ReporterOption], chosen: Round
) -> int:
    """Run suites, report, write files; return the exit code."""
    if not chosen.suites:
        return _run_nothing(len(chosen.left_out), chosen.since, arguments, reporters)
    project = call.project
    command = _SuitesRun(call, arguments, reporters, chosen.without_suite, chosen.left_out)
    suites = command.load_all(chosen.suites)
    if project.storage is not None and (needed := missing_package(project.storage.provider)):
        print_notice(f"warning: the results of this run cannot be uploaded: {needed}")
    with open_telemetry(arguments) as command.tracing:
        return asyncio.run(command.run(suites))


def _given(option: bool | None, default: bool | None) -> bool | None:  # a pair of values
    return default if option is None else option


def apply_defaults(arguments: RunArguments, project: Project) -> RunArguments:
    """Fill options that were not given from `.waza.yaml`."""
    keys = project.keys
    output_dir = arguments.output_dir
    results = Path(keys.paths.results)
    if not (output_dir or arguments.output) and keys.paths.results.rstrip("/") != "results":
        escapes = results.is_absolute() or ".." in results.parts
        output_dir = None if escapes else project.directory / results
    cache_dir = Path(arguments.cache_dir) if arguments.cache_dir else project.directory / keys.cache.dir
    return msgspec.structs.replace(
        arguments,
        judge_model=arguments.judge_model or keys.defaults.judgeModel,
        parallel=_given(arguments.parallel, keys.defaults.parallel or None),
        workers=arguments.workers or keys.defaults.workers,
        verbose=_given(arguments.verbose, keys.defaults.verbose),
        session_log=_given(arguments.session_log, keys.defaults.sessionLog or bool(arguments.session_dir)),
        cache=_given(arguments.cache, keys.cache.enabled or arguments.watch),
        cache_dir=str(cache_dir),
        output_dir=output_dir,
    )


class _Job(Job, frozen=True):
    """A job and the name of its skill."""

    skill: str = ""


class _SuitesRun:
    """One call of `waza run`."""

    def __init__(
        self,
        call: CommandRun,
        arguments: RunArguments,
        reporters: Sequence[ReporterOption],
        without_suite: Sequence[str],
        left_out: Sequence[tuple[str, str]],
    ) -> None:
        self.call, self.arguments, self.reporters = call, arguments, reporters
        self.project, self.out, self.cancellation = call.project, call.out, call.cancellation
        self.without_suite = tuple(without_suite)
        self.left_out: list[LeftOut] = []
        for name, why in left_out:
            self._leave_out(name, why)
        self.redaction = _redaction(arguments)
        self.recorder: Recorder | None = None
        self.to_stdout = any(reporter.path is None for reporter in reporters)
        self.jobs: list[_Job] = []
        self.listeners: dict[int, Listeners] = {}  # of the jobs that have started, by their numbers
        self.unread: list[Path] = []
        self.first = 0  # the place in `done` of the first model of the suite at hand
        self.done: list[SkillOutcome] = []
        self.not_started: list[NotStarted] = []
        self.broken = False  # something could not be run for a reason other than an interrupt
        self.runs: list[FinishedRun] = []
        self.ended: list[_Job] = []  # those that the runs are of
        self.tracing: Tracing | None = None

    def load_all(self, chosen: Sequence[Chosen]) -> list[tuple[Chosen, Suite]]:
        """Load the suites. One with mistakes does not keep the others from running; alone it is an error.

        A suite of which the options choose no task is left out, unless they choose none at all.
        """
        loaded: list[tuple[Chosen, Suite]] = []
        unmatched: list[Problem] = []
        given = self.arguments
        filters = describe_filters(given.tasks, given.tags, given.expression)
        for one in chosen:
            try:
                loaded.append((one, load_suite(one, self.arguments, self.reporters)))
            except SuiteError as error:
                if len(chosen) > 1 and filters and _has_no_task(error):
                    unmatched += error.problems
                    self._leave_out(one.label, f"none of its tasks matches {' '.join(filters)}")
                    continue
                if len(chosen) == 1:
                    _name_old_outputs(given, self.reporters)
                    raise
                print_notice(str(error))
                self.broken = True
                self.unread.append(one.path.absolute())
                self.not_started += [
                    NotStarted(skill=one.label, model=model, why="its files have mistakes", unread=not model)
                    for model in given.models or ("",)
                ]
        if not loaded and unmatched:
            _name_old_outputs(given, self.reporters)
            raise UsageError(_describe_unmatched(unmatched, filters))
        for left_out in self.left_out:
            print_notice(f"skipping {left_out.skill}: {left_out.why}")
        return loaded

    def _leave_out(self, name: str, why: str) -> None:
        self.left_out.append(LeftOut(skill=name, why=f"{why}, {LEFT_OUT}"))

    async def run(self, suites: Sequence[tuple[Chosen, Suite]]) -> int:
        """Run every suite on each of its models, report, write files; return the exit code."""
        self.jobs = [
            _Job(
                suite,
                model,
                load_options(chosen, self.arguments),
                chosen.name or suite.file.skill or suite.name,
            )
            for chosen, suite in suites
            for model in suite.models
        ]
        if self.arguments.snapshot:
            from waza.cli.run_evidence import make_recorder  # most runs do without it

            self.recorder = make_recorder(self.arguments, self.jobs, [job.skill for job in self.jobs])
        try:
            options = self._options()
            if given_backend := self.arguments.backend:
                from waza.cli.run_backend import with_backend  # most runs do without it

                options = with_backend(given_backend, self.arguments, options, [suite for _, suite in suites])
            await run_all(self.jobs, options, self.cancellation, self, unread=self.unread)
            if self.arguments.suggest and self.cancellation.exit_code is None:
                await self._suggest()
            results = CommandResults(
                done=tuple(self.done),
                not_started=tuple(self.not_started),
                without_suite=self.without_suite,
                left_out=tuple(self.left_out),
            )
            others = len(self.unread) + len(self.without_suite) + len(self.left_out)
            self._sum_up(results, several=len(suites) + others > 1)
            self._write_reports(results)
            if self.project.storage is not None:
                from waza.cli.upload import upload_after_run  # most runs do without it

                interrupted = self.cancellation.exit_code is not None
                outcomes = [one.outcome for one in self.done]
                await upload_after_run(self.project, outcomes, interrupted=interrupted)
            if (
                self.arguments.auto_file_issue or self.arguments.print_issue
            ) and not self.cancellation.exit_code:
                await self._file_issue(results)
        finally:
            for run in self.runs:
                run.run_directory.close()
        whole = not self.not_started and all(came_to_its_end(one.outcome.head) for one in self.done)
        self.call.finish(complete=whole or not self.done)
        if self.cancellation.exit_code is not None:
            return self.cancellation.exit_code
        if self.broken:
            return EXIT_ERROR
        return EXIT_OK if results.invocation.verdict.acceptable else EXIT_FAILED

    def _options(self) -> RunOptions:
        given = self.arguments
        return RunOptions(
            project=self.project,
            skip_graders=given.skip_graders,
            keep_workspace=given.keep_workspace,
            update_snapshots=given.update_snapshots,
            cache=Path(given.cache_dir) if given.cache else None,
            save=not given.no_save,
            resume=given.resume,
            repeat="errors" if given.retry_errors else "outside",
            outputs=list_outputs(given, self.reporters),
            redaction=self.redaction,
            recorder=self.recorder,
            detailed=bool(given.session_log),
            tracing=self.tracing,
        )

    # What follows is for `run_all`, whose listener this is.

    def invocation_started(self, invocation: InvocationJournal) -> None:
        """Say how to go on with the invocation."""
        if not self.arguments.watch:  # what is cut off runs again in the next round
            self.call.resume_hint.start(invocation.id)

    def job_started(self, index: int) -> Emit:
        """Return the listeners of a job."""
        given = self.arguments
        self.listeners[index] = Listeners.of(
            make_redactor(self.jobs[index].suite, self.project, self.redaction),
            verbose=bool(given.verbose),
            keep_workspace=given.keep_workspace,
            session_dir=(given.session_dir or Path()) if given.session_log else None,
        )
        return self.listeners[index].emit

    def job_shown(self, index: int) -> None:
        """Let the listeners of a job show what happens."""
        job = self.jobs[index]
        if len(self.jobs) > 1:
            print_notice(
                f"\n[{index + 1}/{len(self.jobs)}] {job.skill} on {job.model or 'the default model'}"
            )
        if index in self.listeners:
            self.listeners[index].show()

    def job_finished(self, index: int, result: JobResult) -> None:
        """Report a job that is over, and compare the models of a suite when they all are."""
        job = self.jobs[index]
        if index == 0 or self.jobs[index - 1].suite is not job.suite:
            self.first = len(self.done)
        listeners = self.listeners.pop(index, None)
        if listeners is not None:
            listeners.close()
        if isinstance(result, FinishedRun):
            self._finished(job, result, listeners)
        else:
            why = "interrupted" if result is None else str(result)
            if result is not None:
                print_notice(f"Error: {why}")
                self.broken = True
            self.not_started.append(NotStarted(skill=job.skill, model=job.model, why=why))
        last = index + 1 == len(self.jobs) or self.jobs[index + 1].suite is not job.suite
        whole = self.cancellation.stopped_by is None and self.arguments.shard is None
        if last and whole:  # what is cut off, or a part, cannot be compared
            self._compare(self.first)

    def warn(self, message: str) -> None:
        """Say what should be known of all jobs."""
        print_notice(f"warning: {message}")

    def _finished(self, job: _Job, run: FinishedRun, listeners: Listeners | None) -> None:
        self.runs.append(run)
        self.ended.append(job)
        self.done.append(SkillOutcome(skill=job.skill, outcome=run.outcome))
        if self.arguments.transcript_dir and listeners is not None:
            listeners.write_transcripts(self.arguments.transcript_dir, run.outcome)
        self._report(self.done[-1], run)
        self._after(run)

    def _report(self, done: SkillOutcome, run: FinishedRun) -> None:
        """Print the report of one outcome, unless standard output is for something else."""
        if self.to_stdout or self.arguments.form != "default":
            return
        print_report(
            RunView.of(done.outcome, done.skill),
            self.out.draw,
            verbose=bool(self.arguments.verbose),
            interpret=self.arguments.interpret,
            snapshots=self.arguments.update_snapshots,
            saved=run.run_directory.id if run.run_directory.saved else "",
        )

    def _after(self, run: FinishedRun) -> None:
        """Say on stderr where things are."""
        if run.run_directory.saved is not None:
            print_notice(f"Results saved to {run.run_directory.saved}")
        elif run.run_directory.temporary is None:
            self.broken = True  # a warning has the reason
        if run.kept is not None:
            print_notice(
                f"Workspaces kept in {run.kept}; remove them with: {shlex.join(['rm', '-r', str(run.kept)])}"
            )
            for tree in run.kept_worktrees:
                command = ["git", "-C", tree.source, "worktree", "remove", "--force", tree.target]
                print_notice(f"  {shlex.join(command)}")

    def _compare(self, first: int) -> None:
        """Compare the models of a suite, whose outcomes are those from the first on."""
        own = self.done[first:]
        if len(own) < 2:
            if self.arguments.recommend:
                print_notice("nothing to recommend: it takes two models, as with --model A --model B")
            return
        outcomes = [one.outcome for one in own]
        heads = [one.head for one in outcomes]
        found = recommend(heads) if self.arguments.recommend else None
        if found:
            best = found["all_models"][0]["model_id"]
            base = next(place for place, head in enumerate(heads) if head.config.model_id == best)
            found["comparisons"] = compare_outcomes(outcomes, base)
            self.done[first:] = [
                with_metadata(*pair, "recommendation", found)
                for pair in zip(own, self.runs[first:], strict=True)
            ]
        if self.to_stdout or self.arguments.form != "default":
            return
        sentences = () if found else compare_outcomes(outcomes)
        overview.print_model_comparison(heads, self.out.draw, sentences)
        if found:
            overview.print_recommendation(found, self.out.draw)

    async def _suggest(self) -> None:
        """Ask what to change, for each run with failures; put the answers into results, and print them."""
        from waza.cli.run_suggest import KEY, suggest_for  # most runs do without it

        for number, (job, run) in enumerate(zip(self.ended, self.runs, strict=True)):
            one = self.done[number]
            redactor = make_redactor(job.suite, self.project, self.redaction)
            directory = self.arguments.transcript_dir
            text = await suggest_for(
                job.suite,
                job.model,
                one.outcome,
                self.project,
                redactor,
                directory,
                preview=self.arguments.show_prompt,
            )
            if not text:
                continue
            self.done[number] = with_metadata(one, run, KEY, text)
            if not self.to_stdout and self.arguments.form == "default":
                self.out.draw(f"SUGGESTIONS FOR {one.skill}", text.splitlines())

    async def _file_issue(self, results: CommandResults) -> None:
        from waza.cli.run_issue import report_failure  # most runs do without it

        suites = {job.suite.path: job.suite for job in self.jobs}.values()
        redactors = [make_redactor(suite, self.project, self.redaction) for suite in suites]
        await report_failure(results.invocation, redactors, dry=self.arguments.print_issue)

    def _sum_up(self, results: CommandResults, *, several: bool) -> None:
        """Print what all suites and models come to."""
        if self.arguments.form == "github-comment":
            from waza.report import github  # most runs do without it

            comment = github.make_comment(results.invocation, interpret=self.arguments.interpret)
            self.out.line(comment.rstrip("\n"))
        if not several:
            return
        view = InvocationView(results.invocation)
        if not self.to_stdout and self.arguments.form == "default":
            overview.print_skills_summary(view, self.out.draw)
        skills, passed = len(view.skills), sum(line.passed for line in view.skills)
        print_notice(f"\nEvaluated {pluralize(skills, 'skill')}: {passed} passed, {skills - passed} failed")
        for one in results.not_started:
            print_notice(f"Not run: {one.name}: {one.why}")

    def _write_reports(self, results: CommandResults) -> None:
        """Print and write every report and file that was asked for."""
        given = self.arguments
        writers: list[Writer] = [
            partial(self.call.print_report, name, results)
            for name in dict.fromkeys(one.name for one in self.reporters if one.path is None)
        ]
        if given.output and is_html(given.output):
            from waza.cli.report_file import write_run_report  # most runs do without it

            files = [one.run_directory.saved for one in self.runs]
            writers.append(partial(write_run_report, given.output, results, files))
        elif given.output:
            writers.append(partial(write_results, given.output, results, summary=not given.no_summary))
        if given.output_dir:
            writers.append(partial(write_tree, given.output_dir, results, datetime.now().astimezone()))
        writers += [partial(write_report, reporter, results) for reporter in self.reporters]
        if self.recorder is not None:
            from waza.cli.run_evidence import write_seal

            writers.append(partial(write_seal, self.recorder, results))
        self.call.write(writers)


def _redaction(arguments: RunArguments) -> RedactionPolicy:
    """Read the redaction policy, if one was given."""
    if arguments.redact is None:
        return DEFAULT_POLICY
    from waza.evidence.redaction import read_policy  # most runs do without it

    return read_policy(arguments.redact)


def _untested(path: Path) -> tuple[str, str]:
    """Return the name of a suite that no skill is tested with, and why it is left out."""
    command = shlex.join(["waza", "run", display_path(path)])
    return path.parent.name, f"no skill around here is tested with it, `{command}` runs it"


def _run_nothing(
    suites: int, since: str, arguments: RunArguments, reporters: Sequence[ReporterOption]
) -> int:
    """Say that no suite is touched. Nothing is written, since it would look like the results of a run."""
    print_notice(
        f"No suite was touched since {since}, of {pluralize(suites, 'suite')} looked at; nothing was run"
    )
    if any(one.path is None and one.name == JSON for one in reporters):
        print_json([])
    _name_old_outputs(arguments, reporters)
    return EXIT_OK


def _name_old_outputs(arguments: RunArguments, reporters: Sequence[ReporterOption]) -> None:
    """Say which of the files that were to be written are there, and so are of an earlier run."""
    outputs = [arguments.output] if arguments.output else []
    for path in existing_outputs(outputs, reporters):
        print_notice(f"{path} is of an earlier run and was not written")


def _describe_unmatched(unmatched: Sequence[Problem], filters: Sequence[str]) -> str:
    """Return that options choose no task of several suites, and what may have been meant."""
    suites = [one for one in unmatched if one.code == "no-task"]
    meant = dict.fromkeys(one.hint for one in suites if "did you mean" in one.hint)
    what = f"no task of {pluralize(len(suites), 'suite')} matches {' '.join(filters)}"
    return "; ".join([what, *list(meant)[:_MEANT]])


def _has_no_task(error: SuiteError) -> bool:
    """Return whether nothing is wrong with a suite but that options choose none of its tasks."""
    return all(one.code == "no-task" for one in error.problems if one.severity == "error")
