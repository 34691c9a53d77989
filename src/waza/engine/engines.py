"""Making the agent engine of a suite."""

from __future__ import annotations

import os

from waza.engine.provider import find_provider, secret_variables
from waza.errors import RunError
from waza.model.agent import Executor, Setup
from waza.model.loaded import Project, Suite
from waza.plugins import load as load_plugin

COPILOT = "copilot-sdk"
MISSING_SDK = """\
the executor copilot-sdk needs the GitHub Copilot SDK. Install it:
  pip install 'waza[copilot]'
or try the suite without an agent: --executor mock"""


def make_executor(suite: Suite, model: str, project: Project) -> Executor:
    """Return the agent engine of a suite. RunError: it is not there, or its model server is misdescribed."""
    config = suite.file.config
    try:
        kind = load_plugin("waza.executors", config.executor)
    except ModuleNotFoundError as error:
        if config.executor == COPILOT and (error.name or "").split(".")[0] == "copilot":
            raise RunError(MISSING_SDK) from error
        raise
    if kind is None:
        raise RunError(f"there is no executor {config.executor!r}; is the package that brings it installed?")
    setup = Setup(
        model=model,
        config=config,
        skill=suite.file.skill,
        provider=find_provider(os.environ, project.keys.provider),
        hidden=frozenset(secret_variables(project.keys.provider)),
    )
    return kind(setup)  # type: ignore[no-any-return]  # plugins are typed by their group
