"""What `waza doctor` looks for."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from waza.cli.copilot import check_runtime, make_setup
from waza.cli.installation import Installation, find_installation
from waza.dashboard.static_files import FOLDER
from waza.errors import RunError, WazaError
from waza.kit.exception_report import describe_exception
from waza.kit.packages import are_installed
from waza.kit.process import run
from waza.model.agent import Setup
from waza.model.loaded import Project
from waza.stores import EXTRAS, missing_package
from waza.stores.credentials import find_credentials
from waza.stores.stored_runs import open_stored_runs
from waza.suite.project import find_project
from waza.version import __version__

# Extras besides the one for Copilot agents: what they are for, and the modules by which they are known.
_EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "chat": ("the plain loop over Chat Completions", ("aiohttp", "httpx", "mcp")),
    "wire": ("the relay between agents and models", ("aiohttp",)),
    "claude": ("Claude Code as the agent", ("aiohttp", "claude_agent_sdk")),
    "m365": ("judges behind HTTP, .prompty files, agents over A2A", ("a2a", "httpx", "jinja2")),
    "otel": ("spans and metrics", ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")),
    "tokens": ("exact numbers of tokens, which are estimates else", ("bpe_openai",)),
    "prices": ("list prices of models, for costs and max_cost", ("genai_prices",)),
    "azure": ("results in Azure Blob Storage", EXTRAS["azure-blob"][2]),
    "objects": ("results in S3, Google Cloud Storage and directories", EXTRAS["s3"][2]),
    "parquet": ("rows in Parquet", ("pyarrow",)),
    "dask": ("runs on a cluster, with --backend dask", ("distributed", "cryptography")),
    "wasm": ("graders that are WASM modules", ("wasmtime",)),
}


class DoctorCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One thing: whether it is there, what was found of it, how to get it.

    `needed`: real agents need it, or the project asks for it.
    """

    name: str
    ok: bool
    finding: str
    advice: str = ""
    needed: bool = False


async def run_checks(*, online: bool) -> list[DoctorCheck]:
    """Look for everything, in the order in which it is shown. `online`: the store of results is asked as well."""
    setup, server = _model_server()
    installation = find_installation()
    return [
        DoctorCheck(name="waza", ok=True, finding=__version__),
        DoctorCheck(name="Python", ok=True, finding=f"{platform.python_version()} ({sys.executable})"),
        await _program("git", "worktrees (inputs.repos) and --changed-since need it: https://git-scm.com"),
        await _program("node", "code graders with language: javascript need it: https://nodejs.org"),
        _dashboard(installation),
        *(_extra(name, installation) for name in _EXTRAS),
        await _store(installation, online=online),
        _sdk(installation),
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


def _dashboard(installation: Installation) -> DoctorCheck:
    if (FOLDER / "index.html").is_file():
        return DoctorCheck(name="Dashboard", ok=True, finding="its pages are there")
    if installation.checkout:
        advice = f"make -C {installation.checkout} dashboard"
    else:
        advice = installation.update_command()
    finding = "its pages were not built, so `waza serve` has none to show"
    return DoctorCheck(name="Dashboard", ok=False, finding=finding, advice=advice)


def _extra(name: str, installation: Installation) -> DoctorCheck:
    purpose, modules = _EXTRAS[name]
    ok = are_installed(modules)
    return DoctorCheck(
        name=f"Extra {name}",
        ok=ok,
        finding=f"{'installed' if ok else 'not installed'}: {purpose}",
        advice="" if ok else installation.extra_command(name),
    )


async def _store(installation: Installation, *, online: bool) -> DoctorCheck:
    """Look at the store of results that the project names. What keeps runs from uploading is needed."""
    name = "Store of results"
    try:
        project = find_project(Path.cwd())
    except WazaError as error:
        return DoctorCheck(name=name, ok=False, finding=f"not known: {error}", needed=True)
    keys = project.keys.storage
    if project.storage is None or keys is None:
        finding = "none, .waza.yaml has no storage" if keys is None else "switched off in .waza.yaml"
        return DoctorCheck(name=name, ok=True, finding=finding)
    if missing_package(keys.provider):
        extra, what, _ = EXTRAS[keys.provider]
        finding, advice = f"{keys.provider} needs {what}", installation.extra_command(extra)
        return DoctorCheck(name=name, ok=False, finding=finding, advice=advice, needed=True)
    if online:
        return await _ask_store(name, project)
    seen = find_credentials(keys, project.directory, os.environ)
    is_needed = keys.provider == "file"  # nothing but the directory lets it be used
    return DoctorCheck(
        name=name,
        ok=seen.found,
        finding=f"{keys.provider}, {seen.finding}" + ("" if is_needed else "; --online asks it"),
        advice=seen.advice,
        needed=is_needed,
    )


async def _ask_store(name: str, project: Project) -> DoctorCheck:
    try:
        async with open_stored_runs(project, interactive=False) as stored:
            await stored.list(limit=1)
    except WazaError as error:
        return DoctorCheck(name=name, ok=False, finding=str(error), needed=True)
    except Exception as error:  # noqa: BLE001  # the store of a package may raise anything
        finding = f"it broke: {describe_exception(error).text}"
        return DoctorCheck(name=name, ok=False, finding=finding, needed=True)
    return DoctorCheck(name=name, ok=True, finding=f"{stored.place} answers")


def _sdk(installation: Installation) -> DoctorCheck:
    try:
        found = version("github-copilot-sdk")
    except PackageNotFoundError:
        advice = installation.extra_command("copilot")
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
