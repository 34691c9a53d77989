"""What `waza doctor` looks for."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version

import msgspec

from waza.cli.copilot import check_runtime, make_setup
from waza.errors import RunError, WazaError
from waza.kit.process import run
from waza.model.agent import Setup
from waza.version import __version__


class DoctorCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One thing: whether it is there, what was found of it, how to get it. `needed`: real agents need it."""

    name: str
    ok: bool
    finding: str
    advice: str = ""
    needed: bool = False


async def run_checks() -> list[DoctorCheck]:
    """Look for everything, in the order in which it is shown."""
    setup, server = _model_server()
    return [
        DoctorCheck(name="waza", ok=True, finding=__version__),
        DoctorCheck(name="Python", ok=True, finding=f"{platform.python_version()} ({sys.executable})"),
        await _program("git", "worktrees (inputs.repos) need it: https://git-scm.com"),
        await _program("node", "code graders with language: javascript need it: https://nodejs.org"),
        _sdk(),
        server,
        await _runtime(setup),
    ]


async def _program(name: str, advice: str) -> DoctorCheck:
    path = shutil.which(name)
    if path is None:
        return DoctorCheck(name=name, ok=False, finding="not found", advice=advice)
    done = await run([path, "--version"], timeout=10)
    text = done.stdout.decode("utf-8", "replace").strip()
    return DoctorCheck(name=name, ok=True, finding=f"{text} ({path})")


def _sdk() -> DoctorCheck:
    try:
        found = version("github-copilot-sdk")
    except PackageNotFoundError:
        advice = "pip install 'waza[copilot]'"
        return DoctorCheck(name="Copilot SDK", ok=False, finding="not installed", advice=advice, needed=True)
    return DoctorCheck(name="Copilot SDK", ok=True, finding=found, needed=True)


def _model_server() -> tuple[Setup | None, DoctorCheck]:
    try:
        setup = make_setup()
    except (RunError, WazaError) as error:
        return None, DoctorCheck(name="Model server", ok=False, finding=str(error), needed=True)
    if setup.provider is None:
        finding = "the runtime's own (GitHub Copilot)" + (
            ", with GITHUB_TOKEN" if os.environ.get("GITHUB_TOKEN") else ""
        )
        return setup, DoctorCheck(name="Model server", ok=True, finding=finding, needed=True)
    key = "with a key" if setup.provider.api_key or setup.provider.bearer_token else "without a key"
    return setup, DoctorCheck(
        name="Model server", ok=True, finding=f"{setup.provider.host}, {key}", needed=True
    )


async def _runtime(setup: Setup | None) -> DoctorCheck:
    if setup is None:
        return DoctorCheck(name="Copilot runtime", ok=False, finding="not tried", needed=True)
    ok, finding = await check_runtime(setup)
    first, _, rest = finding.partition("\n")
    place = os.environ.get("COPILOT_CLI_PATH", "")
    where = f" ({place})" if place and place not in first else ""
    return DoctorCheck(name="Copilot runtime", ok=ok, finding=f"{first}{where}", advice=rest, needed=True)
