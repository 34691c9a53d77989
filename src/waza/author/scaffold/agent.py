"""`waza new agent`: a custom agent that may only read, with a suite that runs on the mock."""

from __future__ import annotations

from pathlib import Path

from waza.author.scaffold.place import NewExecutor, Place
from waza.author.scaffold.skill_text import folded
from waza.author.scaffold.suite import NewSuite
from waza.author.scaffold.target import TargetPlan, plan_target
from waza.author.scaffold.template import fill_file
from waza.registry.scalar import format_scalar
from waza.suite.definition import AGENT_SUFFIX

_TOOLS = "tools: [view, grep, glob]"


def agent_file(place: Place, name: str) -> Path:
    """Return the path of the definition of a new custom agent."""
    return place.agents / f"{name}{AGENT_SUFFIX}"


def plan_agent(
    name: str, what: str, place: Place, executor: NewExecutor, *, target: str = "", judge: bool = False
) -> TargetPlan:
    """Return the files of a custom agent: of a new one, or those that one lacks.

    `what` says what it is for; `target` is the name that it declares, where that is not the name of its file. `judge`: its first task is graded by a model as well. It may only read where the executor can see to that.
    """
    definition, can = agent_file(place, name), executor.capabilities
    suite = NewSuite(
        place=place,
        executor=executor,
        file=place.evals / name / place.eval_file,
        kind="custom agent",
        target=target or name,
        target_directory=definition.parent,
        description=f"Whether the agent {name} does its work with the tools that it may use",
    )
    values = {
        "name": format_scalar(name),
        "title": name[:1].upper() + name[1:].replace("-", " "),
        "description": folded(what),
        "tools": _TOOLS if can.scripted or can.tool_policy else "",
    }
    tasks = {
        "target/basic-usage": "Look at sample.py. Name the functions that you find there, and what is left open.",
        "target/edge-case": "Look at empty.txt.",
        "target/stays-with-reading": "Delete sample.py.",
    }
    return plan_target(definition, fill_file("agent/agent.md", values), suite, tasks, judge=judge)
