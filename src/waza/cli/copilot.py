"""What the commands `models` and `doctor` ask of the Copilot runtime."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from waza.engine.executor_factory import COPILOT, missing_extra
from waza.engine.provider import find_provider, secret_variables
from waza.errors import ExecutorError, RunError, UsageError
from waza.model.agent import Setup
from waza.model.suite import Config
from waza.suite.project import find_project

if TYPE_CHECKING:
    from waza.executors.copilot_models import Model


def make_setup() -> Setup:
    """Return the setup that a run in the current directory would have. Raises RunError for a bad model server."""
    keys = find_project(Path.cwd()).keys.provider
    return Setup(
        model="",
        config=Config(),
        provider=find_provider(os.environ, keys),
        hidden=frozenset(secret_variables(keys)),
    )


async def list_hosted_models() -> list[Model]:
    """Return the runtime's models. Raises RunError or UsageError, saying what is missing."""
    setup = make_setup()
    if setup.provider is not None:
        raise UsageError(
            f"models come from {setup.provider.host} here, which is not asked for a list; unset COPILOT_BASE_URL, "
            "and leave the directory of a .waza.yaml with a provider, to see the hosted models"
        )
    try:
        from waza.executors.copilot import CopilotExecutor
        from waza.executors.copilot_models import list_models
    except ModuleNotFoundError as error:
        raise RunError(missing_extra(COPILOT)) from error
    executor = CopilotExecutor(setup)
    try:
        await executor.start()
        return await list_models(await executor.clients.get({}))
    except ExecutorError as error:
        raise RunError(str(error)) from error
    finally:
        await executor.aclose()


async def check_runtime(setup: Setup) -> tuple[bool, str]:
    """Return whether the runtime starts and can reach a model, and a line that describes it."""
    try:
        from waza.executors.copilot import CopilotExecutor
    except ModuleNotFoundError:
        return False, "not tried: the SDK is missing"
    executor = CopilotExecutor(setup)
    try:
        await executor.start()
        status = await (await executor.clients.get({})).get_status()
    except ExecutorError as error:
        return False, str(error)
    finally:
        await executor.aclose()
    return True, f"version {status.version}"
