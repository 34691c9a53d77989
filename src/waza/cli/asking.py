"""What commands that ask a model have in common: whom they ask, and how a preview is printed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from waza.author.improve.ask import Asker, AskOptions, make_asker
from waza.cli.streams import print_line, print_notice
from waza.errors import SuiteError
from waza.kit.scripted_replies import SCRIPT_PREFIX
from waza.kit.text import pluralize
from waza.model.loaded import Project, Suite
from waza.report.words import Write
from waza.suite.detect import DetectedSkill
from waza.suite.load import load
from waza.suite.loading import LoadOptions
from waza.suite.locate import find_suite_of

T = TypeVar("T")


class AskArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of whom to ask, and how; empty ones are chosen by the suite and the project."""

    executor: str = ""
    model: str = ""
    max_tokens: int
    show_prompt: bool
    timeout: float = 120


def choose_asker(given: AskArguments, project: Project, suite: Suite | None) -> Asker:
    """Return what asks: the executor that is given, else that of the suite, else the engine of the project."""
    options = AskOptions(
        model=given.model,
        timeout=given.timeout,
        most_tokens=given.max_tokens,
        preview=given.show_prompt,
    )
    return make_asker(project, options, suite, given.executor)


def run_asker(asker: Asker, work: Coroutine[Any, Any, T]) -> T:
    """Return what work that asks comes to, and stop whatever answered. Raises what the work raises."""

    async def run() -> T:
        async with asker:
            return await work

    return asyncio.run(run())


def load_suite_of(target: DetectedSkill, executor: str = "") -> Suite | None:
    """Return the suite of a skill or agent, with another executor where one is named; None where there is no such suite.

    A suite with mistakes is named on standard error, and is as good as none.
    """
    path = find_suite_of(target)
    if path is None:
        return None
    named = "" if executor.startswith(SCRIPT_PREFIX) else executor
    try:
        return load(path, LoadOptions(executor=named, skill_dir=target.directory))
    except SuiteError as error:
        print_notice(f"warning: the suite of {target.name} is not used; it has mistakes:\n{error}")
        return None


def print_questions(asker: Asker, write: Write = print_line) -> None:
    """Print what would be asked, and how many tokens it has."""
    estimated = asker.counter.name == "estimate"
    for number, question in enumerate(asker.questions, start=1):
        tokens = describe_tokens(question.tokens, estimated=estimated)
        write(f"== question {number} ({question.asker}), {tokens}")
        write(question.text)
        write("")
    total = sum(question.tokens for question in asker.questions)
    count = pluralize(len(asker.questions), "question")
    write(f"{count} to {asker.name}, {describe_tokens(total, estimated=estimated)}; nobody was asked")


def describe_tokens(tokens: int, *, estimated: bool) -> str:
    """Return how many tokens something has, and whether they were estimated and not counted."""
    return f"{tokens:,} tokens" + (" by an estimate" if estimated else "")
