"""Agents that should fail: scripts of the mock executor that do no work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.author.prove.material import LONGEST
from waza.author.prove.probe import Probe, count_turns, make_script, render_prompts
from waza.model.mock import MockScript, MockTurn
from waza.model.task import Task

NOTHING, EMPTY, ECHO, STRINGS, OTHER, EXCESS = "nothing", "empty", "echo", "strings", "other", "excess"
AGENTS = {
    NOTHING: "does nothing: no output, no tool calls",
    EMPTY: "answers with blanks",
    ECHO: "repeats the prompt",
    STRINGS: "prints every text of the suite's prompts and fixtures",
    OTHER: "gives the answer of another task",
}
"""The agents that should fail, with what each does."""
_BLANK = " \n"


def failing_agents(
    task: Task, texts: Sequence[str], others: Sequence[MockScript]
) -> Iterator[Probe | tuple[str, str]]:
    """Yield a probe for each agent, or its name and why it is not applicable.

    `texts` are those of the suite that agents are given, `others` passing answers of other tasks, the nearest first.
    Raises TemplateError for an unknown variable in a prompt.
    """
    number, prompts = count_turns(task), render_prompts(task)
    everything = "\n".join(dict.fromkeys((*prompts, *texts)))[:LONGEST]
    outputs = {
        NOTHING: ("",) * number,
        EMPTY: (_BLANK,) * number,
        ECHO: prompts,
        STRINGS: (everything,) * number,
    }
    for name, turns in outputs.items():
        script = make_script(task, [MockTurn(output=output, skills=[]) for output in turns])
        yield Probe(name=name, kind="agent", script=script)
    other = next((one for one in others if one.turns), None)
    if other is None:
        yield OTHER, "no other task has a passing answer that differs"
    else:
        played = (other.turns or ())[:number]
        yield Probe(
            name=OTHER,
            kind="agent",
            script=make_script(task, [*played, *played[-1:] * (number - len(played))]),
        )
