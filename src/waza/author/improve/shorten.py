"""`waza tokens suggest --copilot`: what a model says could be shorter in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from waza.author.improve.ask import Asker, AskError, NotAskedError, compose
from waza.author.tokens.files import MarkdownFile
from waza.author.tokens.suggest import SavingsReport

ASKER = "tokens_suggest"
"""The name by which a scripted judge knows the questions (`mock.judge.tokens_suggest`)."""

_AT_ONCE = 4
_LIMIT = 240.0  # seconds for all files

_TASK = """An AI agent reads the file below as part of its instructions, and every token of it costs. Say what could be shorter, or could go
into a file that is read when it is needed, without losing what the agent needs. Give the lines, and the shorter text where you can;
the largest savings first. Say so if there is nothing worth changing.

Answer in Markdown, as a list of at most 10 items and nothing else."""


async def advise_files(
    files: Sequence[MarkdownFile],
    reports: Sequence[SavingsReport],
    asker: Asker,
    complain: Callable[[str], None],
) -> list[SavingsReport]:
    """Return the reports with what a model says of each file; `complain` gets why there is no answer."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def ask(file: MarkdownFile, report: SavingsReport) -> SavingsReport:
        async with gate:
            try:
                answer = await asker.ask(ASKER, compose(_TASK, [(file.name, file.text)]))
            except NotAskedError:
                return report
            except AskError as error:
                complain(f"no answer about {file.name}: {error}")
                return report
            return msgspec.structs.replace(report, advice=answer.strip())

    tasks = [asyncio.ensure_future(ask(*pair)) for pair in zip(files, reports, strict=True)]
    _, pending = await asyncio.wait(tasks, timeout=_LIMIT)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    if pending:
        complain(f"{len(pending)} of {len(files)} files have no answer, since {_LIMIT:g} seconds are over")
    return [report if task in pending else task.result() for task, report in zip(tasks, reports, strict=True)]
