"""`waza quality`: what a judge thinks of a skill or custom agent, in five dimensions with scores from 1 to 5.

A score that is not a number from 1 to 5 is shown as missing, with a warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from waza.author.check.source import Source
from waza.author.improve.ask import Asker, compose, read_object
from waza.author.tokens.files import shown_path
from waza.kit.json_text import is_number
from waza.report.table import table
from waza.report.words import one_line
from waza.suite.definition import SKILL_FILE

ASKER = "quality"
"""The name by which a scripted judge knows the question (`mock.judge.quality`)."""

DIMENSIONS: Mapping[str, str] = {
    "clarity": "whether an agent that reads it knows what to do, in which order, and when it is done",
    "completeness": "whether it has what the work needs: inputs, steps, outputs, examples, what to do on errors",
    "trigger_precision": "whether its description alone tells requests that it is for from similar ones that it is not for",
    "scope_coverage": "whether its instructions cover what the description promises, and nothing else",
    "anti_patterns": "whether it is free of contradictions, repetition, vague advice, and what fits one machine only; "
    "5 means that it has nothing of the kind",
}

_LEAST, _MOST = 1, 5
_FILES = 50  # names of files that are shown to the judge
_LONGEST = 2000  # characters of a text of the judge

_TASK = f"""You assess the instructions of an AI agent's {{kind}}. Give each of these dimensions a whole number from
{_LEAST} (poor) to {_MOST} (excellent), and say in one or two sentences what speaks for the score and what would raise it:

{{dimensions}}

Answer with one JSON object and nothing else:
{{{{"dimensions": [{{{{"name": "<dimension>", "score": <{_LEAST}-{_MOST}>, "feedback": "<text>"}}}}, ...],
"overall_score": <number from {_LEAST} to {_MOST}>, "summary": "<two or three sentences>"}}}}"""


class RatedDimension(msgspec.Struct, frozen=True):
    """A dimension with its score from 1 to 5, None where the judge gave none, and what the judge says about it."""

    name: str
    score: float | None
    feedback: str


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge says of a skill or agent; `warnings` say what of its answer cannot be used."""

    skill: str
    path: str
    judge: str
    dimensions: tuple[RatedDimension, ...]
    overall_score: float | None
    summary: str
    warnings: tuple[str, ...]


async def assess_quality(source: Source, asker: Asker) -> Quality:
    """Ask a judge about a definition. Raises AskError where there is no answer with dimensions, NotAskedError in a preview."""
    value = read_object(await asker.ask(ASKER, _question(source)), "dimensions")
    warnings: list[str] = []
    dimensions = tuple(_read_dimensions(value["dimensions"], warnings))
    overall = _read_score(value.get("overall_score"), "overall_score", warnings)
    scores = [one.score for one in dimensions if one.score is not None]
    if overall is not None and scores and not min(scores) <= overall <= max(scores):
        warnings.append(f"the overall score {overall:g} is outside of the scores of the dimensions")
    return Quality(
        skill=source.target.name,
        path=shown_path(source.path),
        judge=asker.name,
        dimensions=dimensions,
        overall_score=overall,
        summary=_read_text(value.get("summary"), "summary", warnings),
        warnings=tuple(warnings),
    )


def _question(source: Source) -> str:
    kind = "skill" if source.target.kind == "skill" else "custom agent"
    named = "\n".join(f"- {name}: {meaning}" for name, meaning in DIMENSIONS.items())
    material = [(source.path.name, source.text)]
    if source.path.name == SKILL_FILE and (files := _list_files(source)):
        material.append(("Other files of the skill", "\n".join(files)))
    return compose(_TASK.format(kind=kind, dimensions=named), material)


def _list_files(source: Source) -> list[str]:
    directory = source.path.parent
    found = sorted(
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file() and path != source.path and ".git" not in path.parts
    )
    more = [f"and {len(found) - _FILES} more"] if len(found) > _FILES else []
    return found[:_FILES] + more


def _read_dimensions(value: Any, warnings: list[str]) -> Iterator[RatedDimension]:
    """Yield the known dimensions in their order; the judge may have added others or left some out."""
    given: dict[str, Mapping[str, Any]] = {}
    for entry in value if isinstance(value, list) else ():
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or name not in DIMENSIONS:
            warnings.append(f"the judge names an unknown dimension: {one_line(str(name), 80)}")
        elif name in given:
            warnings.append(f"the judge rates {name} more than once; the first one counts")
        else:
            given[name] = entry
    for name in DIMENSIONS:
        if name not in given:
            warnings.append(f"the judge does not rate {name}")
            yield RatedDimension(name, None, "")
        else:
            yield RatedDimension(
                name,
                _read_score(given[name].get("score"), name, warnings),
                _read_text(given[name].get("feedback"), f"the feedback on {name}", warnings),
            )


def _read_score(value: Any, what: str, warnings: list[str]) -> float | None:
    if is_number(value) and math.isfinite(value) and _LEAST <= value <= _MOST:
        score: float = value
        return score
    shown = one_line(str(value), 80)
    warnings.append(f"{what} is not a number from {_LEAST} to {_MOST}: {shown}")
    return None


def _read_text(value: Any, what: str, warnings: list[str]) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()[:_LONGEST]
    warnings.append(f"{what} is missing")
    return ""


def quality_lines(found: Quality, width: int) -> Sequence[str]:
    """Return the lines of the report for people."""
    rows = [(one.name, _score(one.score)) for one in found.dimensions]
    rows.append(("Overall", _score(found.overall_score)))
    lines = [
        f"Quality of {one_line(found.skill)} ({one_line(found.path)}), as {one_line(found.judge)} sees it",
        "",
    ]
    lines += [*table(("Dimension", "Score"), rows, width), ""]
    lines += [f"{one.name}: {one_line(one.feedback)}" for one in found.dimensions if one.feedback]
    if found.summary:
        lines += ["", one_line(found.summary)]
    return lines


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:g}/{_MOST}"
