"""`waza dev --scaffold-triggers`: a file of trigger tests, made of the phrases in a skill's description."""

from __future__ import annotations

from pathlib import Path

from waza.author.check.compliance import list_anti_triggers, list_triggers
from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.skill_text import prompts_of
from waza.errors import UsageError
from waza.kit import yaml
from waza.suite.definition import read_definition
from waza.suite.detect import DetectedSkill
from waza.suite.trigger_tests import FILE


def write_trigger_file(target: DetectedSkill, suite: Path | None) -> Path:
    """Write trigger tests beside the suite of a skill, or into its `tests` without one; return the path.

    Raises UsageError if the description has no phrases, or the file is there.
    """
    description = read_definition(target.definition).target.description
    positive, negative = list_triggers(description), list_anti_triggers(description)
    if not (positive or negative):
        raise UsageError(
            f"the description of {target.name} has no phrases behind 'USE FOR:' and 'DO NOT USE FOR:' to make tests of"
        )
    path = (suite.parent if suite else target.directory / "tests") / FILE
    keys = {"skill": target.name}
    prompts = {
        "should_trigger_prompts": [{"prompt": one} for one in prompts_of(positive)],
        "should_not_trigger_prompts": [{"prompt": one} for one in prompts_of(negative)],
    }
    files = NewFiles()
    files.add(path, yaml.dump(keys | {key: found for key, found in prompts.items() if found}))
    files.write()
    return path
