"""Reading a grader's config from YAML text, and observations made of a few calls."""

from pathlib import Path
from typing import Any, TypeVar

from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit import yaml
from waza.kit.decode import Decoder, Document
from waza.model.observation import Observation, ToolEvent

G = TypeVar("G", bound=Grader)


def read(kind: type[G], text: str) -> G:
    """Return the grader that the text configures; the text must have no mistake."""
    decoder = Decoder(Document("eval.yaml", yaml.load(text.encode())))
    grader = decoder.read(kind)
    assert decoder.problems == []
    assert grader is not None
    return grader


def refused(kind: type[Grader], text: str) -> list[str]:
    """Return what is wrong with the text, each as `path: message`; something must be."""
    decoder = Decoder(Document("eval.yaml", yaml.load(text.encode())))
    assert decoder.read(kind) is None
    return [f"{problem.path}: {problem.message}" for problem in decoder.problems]


def findings(grader: Grader, base: Path = Path(), fixtures: Path = Path()) -> list[ConfigMistake]:
    return list(grader.check(GraderLocation(base=base, fixtures=fixtures)))


def errors(grader: Grader, base: Path = Path(), fixtures: Path = Path()) -> list[tuple[str | int, ...]]:
    """Return the paths of the errors that a check finds."""
    return [finding.path for finding in findings(grader, base, fixtures) if not finding.warning]


def warnings(grader: Grader, base: Path = Path(), fixtures: Path = Path()) -> list[tuple[str | int, ...]]:
    return [finding.path for finding in findings(grader, base, fixtures) if finding.warning]


def called(*calls: str | tuple[str, Any], **more: Any) -> Observation:
    """Return the observation of these tool calls, each a name or a name with its arguments."""
    pairs = [(call, {}) if isinstance(call, str) else call for call in calls]
    events = [
        ToolEvent(turn=1, sequence=n, tool_call_id=f"c{n}", tool_name=name, args=args, success=True)
        for n, (name, args) in enumerate(pairs, 1)
    ]
    return Observation(tool_events=tuple(events), **more)
