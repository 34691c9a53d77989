"""`waza adversarial`, step by step: choose packs, load, run, say what they show, decide."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from waza.author.adversarial.outcome import assess
from waza.author.adversarial.pack import NAMES, Pack, find_packs
from waza.author.adversarial.prepare import Attack, Policy, PreparedAttack, prepare
from waza.author.adversarial.text import list_lines, outcome_lines
from waza.cli.check_options import check_resumption
from waza.cli.command_run import CommandRun, Writer, with_metadata
from waza.cli.listeners import Listeners
from waza.cli.outputs import CommandResults, SkillOutcome, check_output, write_results
from waza.cli.streams import output_width, print_json, print_line, print_notice, print_problems
from waza.cli.utf8 import require_utf8
from waza.engine.record import make_redactor
from waza.engine.run import FinishedRun, RunOptions
from waza.engine.run_all import run_one
from waza.errors import EXIT_ERROR, EXIT_OK, GateError, SuiteError, UsageError, WazaError
from waza.kit.os_errors import describe_os_error
from waza.kit.tree_copy import copy_tree
from waza.report.console import print_report
from waza.report.view import RunView
from waza.results.attacks import ADVERSARIAL, AttackOutcome
from waza.results.ending import came_to_its_end


class AdversarialArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza adversarial`, named as in `waza.cli.adversarial`."""

    packs: str
    list_packs: bool
    spec: Path | None
    skill: str
    engine: str
    script: str
    model: str
    trials: int | None
    on_unsafe_outcome: Policy | None
    output: Path | None
    parallel: bool | None
    workers: int
    without_suite_graders: bool
    keep_artifacts: bool
    artifacts_dir: Path | None
    resume: str | None
    retry_errors: bool
    no_save: bool
    as_json: bool
    verbose: bool


def run_command(arguments: AdversarialArguments) -> int:
    """Run the command; return its exit code. Raises GateError, whose exit code is 3, for what cannot be used."""
    try:
        if arguments.list_packs:
            return _list(arguments)
        check_resumption(
            no_save=arguments.no_save, resume=arguments.resume, retry_errors=arguments.retry_errors
        )
        require_utf8("--model", arguments.model)
        call = CommandRun()
        prepared = prepare(_attack(arguments), call.project)
        _check_outputs(arguments, prepared)
    except SuiteError as error:
        error.exit_code = GateError.exit_code
        raise
    except UsageError as error:
        raise GateError(f"{error}; nothing was run") from None
    return asyncio.run(_AttackRun(call, arguments, prepared).go())


def _attack(given: AdversarialArguments) -> Attack:
    return Attack(
        packs=tuple(given.packs.split(",")) if given.packs else (),
        spec=given.spec,
        skill=given.skill,
        engine=given.engine,
        script=given.script,
        model=given.model,
        trials=given.trials,
        policy=given.on_unsafe_outcome,
        parallel=given.parallel,
        workers=given.workers,
        without_suite_graders=given.without_suite_graders,
    )


def _list(given: AdversarialArguments) -> int:
    packs = find_packs(given.packs.split(",") if given.packs else NAMES, Path.cwd())
    if given.as_json:
        print_json([_describe(pack) for pack in packs])
    else:
        print_line("\n".join(list_lines(packs, output_width(), tasks=given.verbose)))
    return EXIT_OK


def _describe(pack: Pack) -> dict[str, Any]:
    tasks = [{"id": task.id, "rationale": " ".join(task.description.split())} for task in pack.read_tasks()]
    return {"name": pack.name, "description": pack.description, "tasks": tasks}


def _check_outputs(given: AdversarialArguments, prepared: PreparedAttack) -> None:
    if given.output:
        check_output(given.output, [prepared.suite.path])
    if given.artifacts_dir and given.artifacts_dir.exists():
        raise UsageError(f"{given.artifacts_dir} exists; name a new directory for the artifacts")


def _keep_packs(directory: Path, packs: Sequence[Pack]) -> None:
    """Copy the packs into a new directory. Raises GateError: nothing was run yet."""
    try:
        directory.mkdir(parents=True)
        for pack in packs:
            copy_tree(pack.directory, directory / "packs" / pack.name)
    except OSError as error:
        raise GateError(f"cannot make {directory}: {describe_os_error(error)}") from error


class _AttackRun:
    """One call of `waza adversarial`."""

    def __init__(self, call: CommandRun, given: AdversarialArguments, prepared: PreparedAttack) -> None:
        self.call, self.given, self.prepared = call, given, prepared

    async def go(self) -> int:
        suite, given = self.prepared.suite, self.given
        print_problems(suite.warnings)
        if given.artifacts_dir is not None:
            _keep_packs(given.artifacts_dir, self.prepared.packs)
        keep = given.keep_artifacts or given.artifacts_dir is not None
        options = RunOptions(
            project=self.call.project,
            keep_workspace=keep,
            save=not given.no_save,
            resume=given.resume,
            repeat="errors" if given.retry_errors else "outside",
            outputs=frozenset([given.output.absolute()] if given.output else []),
        )
        listeners = Listeners.of(
            make_redactor(suite, self.call.project),
            verbose=given.verbose,
            keep_workspace=keep,
            session_dir=None,
        )
        listeners.show()
        try:
            run = await run_one(
                suite,
                suite.models[0],
                options,
                listeners.emit,
                self.call.cancellation,
                self.call.resume_hint.start,
            )
        finally:
            listeners.close()
        try:
            return self._finish(run)
        finally:
            run.run_directory.close()

    def _finish(self, run: FinishedRun) -> int:
        """Report what was found, write what was asked for, and return the exit code."""
        given, prepared = self.given, self.prepared
        outcome = assess(run.outcome.tasks(), prepared.suite.tasks, prepared.inherited)
        skill = prepared.suite.file.skill or prepared.suite.name
        done = with_metadata(
            SkillOutcome(skill=skill, outcome=run.outcome), run, ADVERSARIAL, self._document(outcome, run)
        )
        passed = outcome.all_safe and run.outcome.verdict.acceptable
        self._report(outcome, done, run, passed=passed)
        writers: list[Writer] = []
        if given.output:
            writers.append(partial(write_results, given.output, CommandResults(done=(done,)), summary=False))
        self.call.write(writers)
        complete = came_to_its_end(run.outcome.head)
        self.call.finish(complete=complete)
        if run.interrupted is not None:
            return run.interrupted
        if not complete:
            return EXIT_ERROR
        return EXIT_OK if passed or prepared.policy == "warn" else EXIT_ERROR

    def _document(self, outcome: AttackOutcome, run: FinishedRun) -> dict[str, Any]:
        prepared = self.prepared
        word = "safe" if outcome.all_safe else "unsafe" if outcome.total.unsafe else "not_shown_safe"
        return {
            "result": word,
            "on_unsafe_outcome": prepared.policy,
            "packs": [pack.name for pack in prepared.packs],
            "executor": prepared.suite.file.config.executor,
            "script": self.given.script,
            "model": run.outcome.head.config.model_id,
            "run": run.outcome.head.eval_id,
            **msgspec.to_builtins(outcome),
        }

    def _report(self, outcome: AttackOutcome, done: SkillOutcome, run: FinishedRun, *, passed: bool) -> None:
        out, policy = self.call.out, self.prepared.policy
        if self.given.as_json:
            out.json([msgspec.json.encode(self._document(outcome, run)), b"\n"])
        else:
            saved = run.run_directory.id if run.run_directory.saved else ""
            print_report(
                RunView.of(done.outcome, done.skill), out.draw, verbose=self.given.verbose, saved=saved
            )
            out.draw("WHAT THE PACKS SHOW", list(outcome_lines(outcome, output_width())))
        total = outcome.total
        consequence = "" if passed or policy == "fail" else "; a warning only (--on-unsafe-outcome warn)"
        print_notice(
            f"{total.safe.count} of {total.tasks} tasks safe, {total.unsafe} unsafe, {total.unknown} unknown, "
            f"{total.not_done} not done{consequence}"
        )
        if outcome.all_safe and not passed:
            print_notice(f"The suite did not pass: {'; '.join(done.outcome.verdict.reasons)}")
        if run.run_directory.saved is not None:
            print_notice(f"Results saved to {run.run_directory.saved}")
        if run.kept is not None:
            print_notice(f"Workspaces kept in {self._keep_workspaces(run.kept)}")

    def _keep_workspaces(self, kept: Path) -> Path:
        """Return where the workspaces are: in the directory of artifacts, if there is one and it can hold them."""
        if self.given.artifacts_dir is None:
            return kept
        target = self.given.artifacts_dir / "workspaces"
        try:
            copy_tree(kept, target)
        except WazaError as error:
            print_notice(f"warning: {error}")
            return kept
        shutil.rmtree(kept, ignore_errors=True)
        return target
