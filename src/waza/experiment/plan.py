"""The plan of an experiment: written before the data, and sealed, so that a later change of it is found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Literal

import msgspec

from waza.errors import SuiteError, UsageError
from waza.evidence.json_file import problem_at, read_json, refuse
from waza.experiment.rules import Rule, can_decide
from waza.kit.canonical_json import json_digest
from waza.kit.files import write_atomic
from waza.kit.indented_json import indented_json
from waza.problem import display_path
from waza.results.comparison.measured import UNTAGGED

KIND = "waza.experiment.plan"
ArmName = Literal["baseline", "candidate"]
ARMS: tuple[ArmName, ArmName] = ("baseline", "candidate")


class PlannedArm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the two arms. `parts` are digests of everything that may change a verdict, by what people call it."""

    suite: str
    """The suite file."""
    model: str
    """The model; empty: the default of the runtime."""
    executor: str
    """The agent engine."""
    executor_option: str = ""
    """The value of --executor; empty: the suite says which."""
    without_skills: bool = False
    """The agent is offered no skills, whatever the suite says."""
    skills: list[str] = []
    """What the agent is offered: names of skills and of the tested agent, and folders of skills."""
    parts: dict[str, str]
    """Digests of the model, the skills, the graders and all else, by part."""


class Block(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tasks that both arms run right after one another."""

    tasks: list[str]
    """Ids of tasks that change together: one, or those of a group."""
    order: list[ArmName]
    """Which arm is first."""


class ExperimentPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is compared, how much is collected in which order, and what decides."""

    kind: Literal["waza.experiment.plan"] = "waza.experiment.plan"
    created: str
    """When it was written, as RFC 3339: data from before are not admitted."""
    waza: str
    """The version of waza, which collects as well."""
    allowed: list[str]
    """The parts in which the arms differ, on purpose."""
    baseline: PlannedArm
    candidate: PlannedArm
    trials: int
    """Trials of each task in each arm."""
    rule: Rule
    golden: list[str]
    """Tasks that the candidate must pass, whatever the rule says."""
    seed: int
    """What the order of the blocks was drawn with."""
    blocks: list[Block]
    """All that is collected, in this order; a sequential rule may stop before."""

    def arm(self, name: ArmName) -> PlannedArm:
        """Return an arm."""
        return self.baseline if name == "baseline" else self.candidate


class SealedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan, and the digest that seals it."""

    plan: ExperimentPlan
    seal: str


def make_blocks(units: Mapping[str, str], seed: int) -> list[Block]:
    """Return the blocks of tasks, given with their groups, in an order drawn with the seed.

    Tasks of a group are in one block where the groups split the tasks; else each task is a block of its own.
    """
    grouped = len({group for group in units.values() if group not in ("", UNTAGGED)}) > 1
    members: dict[tuple[str, str], list[str]] = {}
    for task, group in units.items():
        key = ("group", group) if grouped and group not in ("", UNTAGGED) else ("task", task)
        members.setdefault(key, []).append(task)
    draw = Random(seed)  # noqa: S311  an order that can be drawn again
    blocks = list(members.values())
    draw.shuffle(blocks)
    return [Block(tasks=tasks, order=list(draw.sample(ARMS, 2))) for tasks in blocks]


def check_plan(plan: ExperimentPlan) -> None:
    """Raise UsageError for a plan that cannot answer its question."""
    differing = differing_parts(plan.baseline, plan.candidate)
    if unnamed := [part for part in differing if part not in plan.allowed]:
        raise UsageError(
            f"the arms differ in {', '.join(unnamed)}, which --allow-change does not name; name it, or make them equal"
        )
    if equal := [part for part in plan.allowed if part not in differing]:
        raise UsageError(
            f"the arms do not differ in {', '.join(equal)}, which --allow-change names; nothing is compared"
        )
    if not plan.allowed:
        raise UsageError("the arms do not differ: name a part with --allow-change, in which they do")
    if plan.baseline.without_skills and not plan.candidate.skills:
        raise UsageError(
            "the candidate is offered no skill, so it does not differ from a baseline without skills"
        )
    if plan.rule.kind == "fixed" and plan.rule.tolerated_loss:
        raise UsageError(
            "the fixed rule cannot test a tolerated loss: rare large losses would pass far too often; use --rule sequential"
        )
    if not can_decide(plan.rule, len(plan.blocks)):
        what = "group or task" if any(len(block.tasks) > 1 for block in plan.blocks) else "task"
        raise UsageError(
            f"{len(plan.blocks)} units (each a {what}) cannot decide at alpha {plan.rule.alpha:g}, whatever they show; "
            "plan more tasks, or a larger --alpha"
        )


def differing_parts(one: PlannedArm, other: PlannedArm) -> list[str]:
    """Return the parts in which two arms differ, sorted."""
    return sorted(part for part in {*one.parts, *other.parts} if one.parts.get(part) != other.parts.get(part))


def write_plan(path: Path, plan: ExperimentPlan) -> SealedPlan:
    """Write a plan into a new file, with its seals: of each key, and of all. Raises UsageError if the file exists."""
    if path.exists():
        raise UsageError(f"{path} exists; plans are never overwritten: name another file")
    values = msgspec.to_builtins(plan)
    seals = _seals(values)
    write_atomic(path, indented_json({**values, "seals": seals}))
    return SealedPlan(plan=plan, seal=seals["plan"])


def read_plan(path: Path) -> SealedPlan:
    """Return a sealed plan. Raises SuiteError for a file that is no plan, or is not as it was sealed, with the places."""
    data, values = read_json(path)
    file, sealed = display_path(path), values.pop("seals", None)
    if values.get("kind") != KIND or not isinstance(sealed, dict):
        refuse(file, "is not a sealed plan", hint="write one with `waza experiment plan`")
    now = _seals(values)
    changed = [key for key in {**now, **sealed} if key != "plan" and now.get(key) != sealed.get(key)]
    places = [(key,) if key in values else ("seals", key) for key in changed]
    if not changed and now != sealed:
        places = [("seals", "plan")]
    if places:
        message, hint = "was changed after the plan was sealed", "get an unchanged copy, or write a new plan"
        raise SuiteError([problem_at(file, data, place, message, hint) for place in places])
    try:
        return SealedPlan(plan=msgspec.convert(values, ExperimentPlan), seal=now["plan"])
    except msgspec.ValidationError as error:
        refuse(file, f"is not a plan that this version of waza reads: {error}")


def _seals(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each key, and as `plan` that of all."""
    return {key: json_digest(value) for key, value in values.items()} | {"plan": json_digest(values)}
