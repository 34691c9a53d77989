"""`trigger`: whether the task's prompt is, by its words, one for the skill. What the agent did plays no part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from waza.errors import GraderError
from waza.graders._keywords import Keywords, extract_keywords
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit import frontmatter, yaml
from waza.kit.share import decimal, reaches
from waza.model.base import NonBlank
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict
from waza.problem import display_path

Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Trigger(Grader, frozen=True, kw_only=True):
    """Whether the prompt is one for a skill, by the words of both. The agent plays no part in it.

    `positive` passes when the prompt is as near as `threshold` or nearer, `negative` when it is not. The score is
    the nearness in both modes, so a good negative result has a low score.
    """

    skill_path: NonBlank
    """A `SKILL.md`, an `.agent.md`, or the directory of one; beside the suite or in the current directory."""
    mode: NonBlank
    """`positive`: the prompt should be one for the skill. `negative`: it should not."""
    threshold: Share = 0.6
    """How near the prompt must be to the skill, from 0 to 1."""
    _keywords: Keywords | None = None

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse an unknown mode, and a skill that cannot be read or has no words."""
        if self._mode not in ("positive", "negative"):
            yield ConfigMistake(
                path=("mode",),
                message=f"{self.mode!r} is not a mode",
                hint="write positive (the skill should fire) or negative (it should not)",
            )
        read = _read(self.skill_path, location)
        if isinstance(read, ConfigMistake):
            yield read

    def resolve_paths(self, location: GraderLocation) -> Trigger:
        """Take the skill's keywords along, so that its file is read once."""
        return msgspec.structs.replace(self, _keywords=self._skill(location))

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Compare the prompt with the skill's words."""
        del helpers
        if not observation.has_task:
            return Verdict.failed("there is no task here, so there is no prompt to compare")
        skill = self._keywords or self._skill(GraderLocation())
        match = skill.match(observation.prompt)
        near = reaches(match.score, self.threshold)
        return Verdict(
            score=match.score,
            passed=near == (self._mode == "positive"),
            feedback=self._feedback(match.score, near),
            details={
                "mode": self._mode,
                "threshold": self.threshold,
                "skill_path": self.skill_path,
                "matched_keywords": match.matched,
                "matched_count": len(match.matched),
                "keyword_count": len(skill.words),
                "phrase_score": match.phrase_score,
            },
        )

    @property
    def _mode(self) -> str:
        return self.mode.strip().lower()

    def _skill(self, location: GraderLocation) -> Keywords:
        read = _read(self.skill_path, location)
        if isinstance(read, ConfigMistake):
            raise GraderError(f"{read.message}; {read.hint}")
        return read

    def _feedback(self, score: float, near: bool) -> str:
        side = "at or above" if near else "below"
        fires = "near enough to fire" if near else "too far to fire"
        return f"the prompt is {fires}: nearness {decimal(score)} is {side} the threshold {self.threshold:g}"


def _read(skill_path: str, location: GraderLocation) -> Keywords | ConfigMistake:
    """Return the keywords of the skill that a path means, or what is wrong with it."""
    file = _file(skill_path, location)
    if isinstance(file, ConfigMistake):
        return file
    try:
        data = file.read_bytes()
        document = frontmatter.split(data)
    except OSError as error:
        return _finding(f"{display_path(file)} cannot be read: {error.strerror}", "check its permissions")
    except yaml.YamlError as error:
        return _finding(f"{display_path(file)}:{error.line}: {error.message}", "mend the skill's file")
    if not data.strip():
        return _finding(f"{display_path(file)} is empty", "write the skill first")
    if isinstance(document.meta, yaml.Sequence) or (
        isinstance(document.meta, yaml.Scalar) and document.meta.text
    ):
        return _finding(
            f"{display_path(file)}: the frontmatter is not a mapping of keys", "write name: and description:"
        )
    found = extract_keywords(_text(document.meta, "name"), _text(document.meta, "description"), document.body)
    if not found.words:
        return _finding(
            f"{display_path(file)} has no words to compare a prompt with",
            "give the skill a description and a body",
        )
    return found


def _file(skill_path: str, location: GraderLocation) -> Path | ConfigMistake:
    found = location.find(skill_path.strip())
    if found is None:
        return _finding(
            f"{skill_path!r} does not exist",
            "write the path of a SKILL.md relative to the suite's directory or to the current directory",
        )
    if not found.is_dir():
        return found
    candidates = [found / "SKILL.md", *sorted(found.glob("*.agent.md"))]
    file = next((candidate for candidate in candidates if candidate.is_file()), None)
    return file or _finding(
        f"{skill_path!r} holds neither a SKILL.md nor an .agent.md", "name the skill's own directory"
    )


def _text(meta: yaml.Node | None, key: str) -> str:
    """Return a text of the frontmatter; a file without frontmatter has none."""
    value = meta.entries.get(key) if isinstance(meta, yaml.Mapping) else None
    return value.text if isinstance(value, yaml.Scalar) else ""


def _finding(message: str, hint: str) -> ConfigMistake:
    return ConfigMistake(path=("skill_path",), message=message, hint=hint)
