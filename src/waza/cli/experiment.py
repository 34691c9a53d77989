"""`waza experiment`: controlled comparisons, planned before the data."""

from __future__ import annotations

from pathlib import Path

import click

from waza.cli.numbers import COUNT, COUNT_OR_NONE, Number
from waza.cli.options import executor_option, json_option
from waza.cli.paths import PATH

_ALPHA = Number("a number between 0 and 0.5, such as 0.05", float, least=1e-6, most=0.5)
_LOSS = Number("a loss of score from 0 to 1, such as 0.02", float, least=0, most=1)


@click.group(epilog="Example: waza experiment decide experiment")
def command() -> None:
    """Compare two arms by a plan that is sealed before the data are collected."""


@command.command(
    "plan",
    epilog="""Examples:

\b
  waza experiment plan --candidate-eval eval.yaml --baseline-without-skills \\
    --allow-change skills -o plan.json
  waza experiment plan --candidate-eval eval.yaml --baseline-model A --candidate-model B \\
    --allow-change model --trials 3 -o plan.json""",
)
@click.option(
    "--candidate-eval",
    type=PATH,
    required=True,
    metavar="EVAL",
    help="Suite of the candidate, or the skill that it tests.",
)
@click.option(
    "--baseline-eval",
    type=PATH,
    metavar="EVAL",
    help="Suite of the baseline [default: that of the candidate].",
)
@click.option(
    "--candidate-model", default="", metavar="M", help="Model of the candidate [default: that of its suite]."
)
@click.option(
    "--baseline-model", default="", metavar="M", help="Model of the baseline [default: that of its suite]."
)
@click.option("--baseline-without-skills", is_flag=True, help="Offer the agent of the baseline no skills.")
@click.option(
    "--allow-change",
    "allowed",
    multiple=True,
    metavar="PART",
    help="What differs between the arms, such as skills or model; repeatable.",
)
@executor_option("Agent of both arms, instead of that of the suites.")
@click.option(
    "--trials", type=COUNT, metavar="N", help="Trials of each task in each arm [default: those of the suite]."
)
@click.option(
    "--rule",
    "kind",
    type=click.Choice(["fixed", "sequential"]),
    default="fixed",
    help="One test of all data, or a decision as soon as the data allow it.",
)
@click.option(
    "--alpha",
    type=_ALPHA,
    default=0.05,
    metavar="P",
    help="How likely a wrong pass, and a wrong fail, may be [default: 0.05].",
)
@click.option(
    "--tolerated-loss",
    type=_LOSS,
    default=0.0,
    metavar="X",
    help="Loss of score that still passes, with --rule sequential [default: 0].",
)
@click.option(
    "--golden-must-pass/--no-golden-must-pass",
    "golden",
    default=True,
    help="Fail where the candidate does not pass a golden task.",
)
@click.option(
    "--seed", type=COUNT_OR_NONE, metavar="N", help="Seed of the order of the blocks [default: a random one]."
)
@click.option("-o", "--output", type=PATH, required=True, metavar="FILE", help="The plan, a new file.")
def plan_command(
    candidate_eval: Path,
    baseline_eval: Path | None,
    candidate_model: str,
    baseline_model: str,
    allowed: tuple[str, ...],
    executor: str,
    trials: int | None,
    kind: str,
    alpha: float,
    tolerated_loss: float,
    seed: int | None,
    output: Path,
    *,
    baseline_without_skills: bool,
    golden: bool,
) -> int:
    """Write a plan: two arms that differ only in what --allow-change names, paired tasks, the rule, and the order."""
    import secrets
    from datetime import datetime

    from waza.cli.choose_suites import choose_suite
    from waza.cli.streams import print_line
    from waza.errors import EXIT_OK, UsageError
    from waza.experiment.arms import load_arm
    from waza.experiment.plan import ExperimentPlan, check_plan, make_blocks, write_plan
    from waza.experiment.rules import Rule
    from waza.suite.project import find_project
    from waza.version import __version__

    project = find_project(Path.cwd())
    suite = choose_suite(str(candidate_eval), project).path
    candidate = load_arm(suite, model=candidate_model, executor=executor, trials=trials)
    baseline = load_arm(
        choose_suite(str(baseline_eval), project).path if baseline_eval else suite,
        model=baseline_model,
        executor=executor,
        trials=trials,
        without_skills=baseline_without_skills,
    )
    if set(baseline.groups) != set(candidate.groups):
        alone = ", ".join(sorted(set(baseline.groups) ^ set(candidate.groups)))
        raise UsageError(f"tasks are paired by their ids, and only one arm has these: {alone}")
    drawn = secrets.randbelow(2**32) if seed is None else seed
    plan = ExperimentPlan(
        created=datetime.now().astimezone().isoformat(),
        waza=__version__,
        allowed=sorted(set(allowed)),
        baseline=baseline.plan,
        candidate=candidate.plan,
        trials=candidate.suite.file.config.trials_per_task,
        rule=Rule(
            kind="sequential" if kind == "sequential" else "fixed", alpha=alpha, tolerated_loss=tolerated_loss
        ),
        golden=[task.id for task in candidate.suite.tasks if task.golden] if golden else [],
        seed=drawn,
        blocks=make_blocks(candidate.groups, drawn),
    )
    check_plan(plan)
    sealed = write_plan(output, plan)
    print_line(f"{output}: sealed as {sealed.seal}")
    return EXIT_OK


@command.command("collect", epilog="Example: waza experiment collect plan.json -o experiment")
@click.argument("plan", type=PATH, metavar="PLAN")
@click.option(
    "-o",
    "--output",
    "directory",
    type=PATH,
    required=True,
    metavar="DIR",
    help="Directory of the collection, a new one.",
)
@click.option(
    "--resume", is_flag=True, help="Go on with the collection in DIR, and repeat trials that broke."
)
def collect_command(plan: Path, directory: Path, *, resume: bool) -> int:
    """Run both arms of a plan, block by block in its order, and record what was run."""
    import asyncio

    from waza.cli.streams import print_line, print_notice
    from waza.errors import EXIT_OK
    from waza.experiment.arms import load_arm
    from waza.experiment.collect import check_arms, collect, prepare
    from waza.experiment.plan import ARMS, read_plan
    from waza.suite.project import find_project

    sealed = read_plan(plan)
    arms = {
        name: load_arm(
            Path(arm.suite),
            model=arm.model,
            executor=arm.executor_option,
            without_skills=arm.without_skills,
            trials=sealed.plan.trials,
        )
        for name in ARMS
        for arm in [sealed.plan.arm(name)]
    }
    check_arms(sealed, arms)
    prepare(directory, plan.read_bytes(), resume=resume)
    interrupted = asyncio.run(
        collect(sealed, arms, directory.absolute(), find_project(Path.cwd()), print_notice)
    )
    if interrupted is not None:
        return interrupted
    print_line(f"{directory}: collected; decide with: waza experiment decide {directory}")
    return EXIT_OK


@command.command("decide", epilog="Example: waza experiment decide experiment --json")
@click.argument("directory", type=PATH, metavar="DIR")
@json_option("Print the decision as JSON.")
def decide_command(directory: Path, *, as_json: bool) -> int:
    """Decide by the rule of the plan. Exit codes: 0 pass, 1 fail, 2 bad or not admitted, 3 inconclusive."""
    from waza.cli.experiment_report import print_decision
    from waza.cli.streams import make_output_draw, print_json
    from waza.experiment.decide import decide

    found = decide(directory)
    if as_json:
        print_json(found)
    else:
        print_decision(found, make_output_draw())
    return found.exit_code


@command.command("show", epilog="Example: waza experiment show plan.json")
@click.argument("path", type=PATH, metavar="PLAN|DIR")
@json_option("Print the plan as JSON.")
def show_command(path: Path, *, as_json: bool) -> int:
    """Show a plan, and how far its collection is."""
    from waza.cli.experiment_report import print_plan
    from waza.cli.streams import make_output_draw, print_json
    from waza.errors import EXIT_OK
    from waza.experiment.collection import PLAN, read_collection
    from waza.experiment.ledger import LEDGER, read_ledger
    from waza.experiment.plan import read_plan

    sealed = read_plan(path / PLAN if path.is_dir() else path)
    if as_json:
        print_json({"seal": sealed.seal, "plan": sealed.plan})
        return EXIT_OK
    found = None
    if path.is_dir() and (path / LEDGER).is_file():
        found = read_collection(path, sealed.plan, read_ledger(path / LEDGER, sealed.seal))
    print_plan(sealed, found, make_output_draw())
    return EXIT_OK
