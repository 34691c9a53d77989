"""Where a suite comes from: the commit that is checked out around it, and the job that runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec

from waza.kit.git import GitError, find_work_tree, work_tree_status
from waza.kit.redact import Redactor
from waza.kit.text import replace_surrogates
from waza.model.origin import CiJob, GitState, Origin

Variables = Mapping[str, str]


class Origins:
    """The origins of the suites of an invocation. Each repository is asked once, so that all runs of it agree."""

    def __init__(self, environment: Variables) -> None:
        self._ci = find_ci_job(environment)
        self._known: dict[Path, GitState | None] = {}
        self._lock = asyncio.Lock()

    async def find(self, suite: Path, redactor: Redactor, warn: Callable[[str], None]) -> Origin:
        """Return where the suite file at a path comes from, redacted; `warn` gets what git cannot answer."""
        repository = find_work_tree(suite)
        git = await self._state(repository, warn) if repository else None
        return Origin(
            git=git and msgspec.structs.replace(git, branch=redactor.text(git.branch)),
            ci=self._ci and CiJob(**{key: redactor.text(text) for key, text in _texts(self._ci)}),
        )

    async def _state(self, repository: Path, warn: Callable[[str], None]) -> GitState | None:
        async with self._lock:
            if repository not in self._known:
                self._known[repository] = await _ask_git(repository, warn)
            return self._known[repository]


async def _ask_git(repository: Path, warn: Callable[[str], None]) -> GitState | None:
    try:
        found = await work_tree_status(repository)
    except GitError as error:
        warn(f"the results do not name the commit of the suite: {error}")
        return None
    return GitState(commit=found.commit, branch=replace_surrogates(found.branch), dirty=found.dirty)


def _texts(job: CiJob) -> list[tuple[str, str]]:
    return [(name, getattr(job, name)) for name in job.__struct_fields__]


def find_ci_job(env: Variables) -> CiJob | None:
    """Return the job that these environment variables describe; None outside of the services known here.

    The variables are those that each service documents for its jobs. The url has no user and no password.
    """
    for name, is_here, job_of, url_of in _SERVICES:
        if is_here(env):
            return CiJob(
                name=name, job=replace_surrogates(job_of(env)), url=_public(replace_surrogates(url_of(env)))
            )
    return None


def _public(url: str) -> str:
    """Return an http address without credentials; nothing for a text that is no such address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return ""
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _is(variable: str) -> Callable[[Variables], bool]:
    return lambda env: env.get(variable, "").lower() == "true"


def _is_set(variable: str) -> Callable[[Variables], bool]:
    return lambda env: bool(env.get(variable))


def _first(*variables: str) -> Callable[[Variables], str]:
    """Return what reads the first of these variables that is set."""
    return lambda env: next((env[name] for name in variables if env.get(name)), "")


def _github_url(env: Variables) -> str:
    parts = [env.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    attempt = env.get("GITHUB_RUN_ATTEMPT", "")
    url = "{}/{}/actions/runs/{}".format(*parts)
    return (f"{url}/attempts/{attempt}" if attempt else url) if all(parts) else ""


def _azure_url(env: Variables) -> str:
    parts = [env.get(name, "") for name in ("SYSTEM_COLLECTIONURI", "SYSTEM_TEAMPROJECT", "BUILD_BUILDID")]
    server, project, build = parts
    return f"{server.rstrip('/')}/{project}/_build/results?buildId={build}" if all(parts) else ""


def _buildkite_url(env: Variables) -> str:
    url, job = env.get("BUILDKITE_BUILD_URL", ""), env.get("BUILDKITE_JOB_ID", "")
    return f"{url}#{job}" if url and job else url


_SERVICES = (
    ("GitHub Actions", _is("GITHUB_ACTIONS"), _first("GITHUB_JOB"), _github_url),
    ("GitLab CI/CD", _is("GITLAB_CI"), _first("CI_JOB_NAME"), _first("CI_JOB_URL")),
    ("Azure Pipelines", _is("TF_BUILD"), _first("SYSTEM_JOBDISPLAYNAME", "AGENT_JOBNAME"), _azure_url),
    ("CircleCI", _is("CIRCLECI"), _first("CIRCLE_JOB"), _first("CIRCLE_BUILD_URL")),
    ("Buildkite", _is("BUILDKITE"), _first("BUILDKITE_LABEL", "BUILDKITE_STEP_KEY"), _buildkite_url),
    ("TeamCity", _is_set("TEAMCITY_VERSION"), _first("TEAMCITY_BUILDCONF_NAME"), _first("BUILD_URL")),
    ("Jenkins", _is_set("JENKINS_URL"), _first("JOB_NAME"), _first("BUILD_URL")),
)
"""Services: their name, how they are recognised, the name of the job, its address."""
