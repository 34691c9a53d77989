"""From a preset to a grader that is ready to be asked."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.errors import UsageError
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit.decode import Decoder, Document
from waza.plugins import list_names, load_class
from waza.registry.cache import ModuleError
from waza.registry.preset import Preset


def read_preset(preset: Preset, fixtures: Path) -> tuple[Grader | None, list[ConfigMistake]]:
    """Return the grader of a preset, None after mistakes, and the mistakes and warnings of its config.

    `fixtures` is the suite's fixtures directory. Raises ModuleError for a type that there is not.
    """
    try:
        kind = load_class("waza.graders", preset.type)
    except UsageError as error:
        raise ModuleError(str(error)) from error
    if kind is None:
        known = ", ".join(list_names("waza.graders"))
        raise ModuleError(f"its preset is of type {preset.type!r}, which there is not; types: {known}")
    decoder = Decoder(Document("", preset.config))
    grader: Grader | None = decoder.read(kind)
    findings = [
        ConfigMistake(code=problem.code, path=(problem.path,), message=problem.message, hint=problem.hint)
        for problem in decoder.problems
    ]
    if grader is not None:
        where = f"the files of this grader are searched for in its module only, from {preset.directory}"
        findings += [
            msgspec.structs.replace(finding, hint=f"{finding.hint}; {where}" if finding.hint else where)
            for finding in grader.check(preset_location(preset, fixtures))
        ]
    return grader, findings


def preset_location(preset: Preset, fixtures: Path) -> GraderLocation:
    """Return where the grader of a preset looks for its files."""
    return GraderLocation(base=preset.directory, fixtures=fixtures, module=preset.module)
