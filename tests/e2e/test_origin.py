"""Results say which commit of the suite ran, and in which job of continuous integration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, waza, write_tree

CI = ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "CIRCLECI", "BUILDKITE", "TEAMCITY_VERSION", "JENKINS_URL")
NO_CI = dict.fromkeys(CI, "")
SECRET = "ghp_" + "a1B2" * 9


def git(root: Path, *args: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    argv = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *args]
    return subprocess.run(argv, cwd=root, env=env, check=True, capture_output=True, text=True).stdout.strip()


def repository(root: Path, task: str = "inputs: {prompt: p}") -> str:
    """Make a repository of a suite, with all files committed; return the commit."""
    mock_suite(root, {"a": task})
    git(root, "init", "--quiet", "--initial-branch=trunk")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=suite")
    return git(root, "rev-parse", "HEAD")


def run(root: Path, *args: str, **env: str) -> Ended:
    return waza("run", "eval.yaml", *args, cwd=root, env={**NO_CI, **env})


def metadata(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = Ended(0, "", "", root).results()["metadata"]
    return found


def test_results_name_commit_branch_and_whether_files_differ(tmp_path: Path):
    commit = repository(tmp_path)
    run(tmp_path)
    assert metadata(tmp_path)["git"] == {"commit": commit, "branch": "trunk", "dirty": False}
    write_tree(tmp_path, {"tasks/new.yaml": "inputs: {prompt: q}"})
    git(tmp_path, "checkout", "--quiet", "--detach")
    run(tmp_path)
    assert metadata(tmp_path)["git"] == {"commit": commit, "dirty": True}


def test_a_repository_without_a_commit_has_a_branch_only(tmp_path: Path):
    mock_suite(tmp_path, {"a": "inputs: {prompt: p}"})
    git(tmp_path, "init", "--quiet", "--initial-branch=trunk")
    run(tmp_path)
    assert metadata(tmp_path)["git"] == {"branch": "trunk", "dirty": True}


def test_a_suite_outside_of_repositories_starts_no_git(tmp_path: Path):
    mock_suite(tmp_path / "suite", {"a": "inputs: {prompt: p}"})
    write_tree(tmp_path, {"bin/git": f"#!/bin/sh\ntouch {tmp_path}/asked\n"})
    (tmp_path / "bin" / "git").chmod(0o755)
    run(tmp_path / "suite", PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert "git" not in metadata(tmp_path / "suite")
    assert not (tmp_path / "asked").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the planted program is a shell script")
def test_nothing_that_the_repository_names_is_run(tmp_path: Path):
    commit = repository(tmp_path / "suite")
    root = tmp_path / "suite"
    write_tree(tmp_path, {"evil": f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n"})
    (tmp_path / "evil").chmod(0o755)
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "core.pager", "diff.external"):
        git(root, "config", key, str(tmp_path / "evil"))
    write_tree(root, {".git/info/attributes": "* filter=evil\n", "tasks/a.yaml": "inputs: {prompt: r}"})
    run(root)
    assert metadata(root)["git"] == {"commit": commit, "branch": "trunk"}  # only the filter could compare
    assert not (tmp_path / "ran").exists()


def test_a_repository_that_git_refuses_is_a_warning(tmp_path: Path):
    repository(tmp_path)
    (tmp_path / ".git" / "config").write_text("[core\n", encoding="utf-8")
    ended = run(tmp_path)
    assert "git" not in metadata(tmp_path)
    assert "the results do not name the commit of the suite: git" in ended.err + ended.out


def test_each_repository_is_asked_once_in_an_invocation(tmp_path: Path):
    repository(tmp_path)
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    asked = tmp_path.parent / f"{tmp_path.name}-asked"
    write_tree(
        tmp_path.parent / f"{tmp_path.name}-bin",
        {"git": f'#!/bin/sh\necho "$@" >> {asked}\nexec {real} "$@"\n'},
    )
    (tmp_path.parent / f"{tmp_path.name}-bin" / "git").chmod(0o755)
    path = f"{tmp_path.parent / f'{tmp_path.name}-bin'}{os.pathsep}{os.environ['PATH']}"
    run(tmp_path, "--model", "one", "--model", "two", PATH=path)
    assert len(list(tmp_path.glob(".waza/runs/*/results.json"))) == 2
    assert sum(" status " in line for line in asked.read_text(encoding="utf-8").splitlines()) == 1


def test_a_resumed_run_keeps_the_origin_of_its_start(tmp_path: Path):
    commit = repository(tmp_path, "{inputs: {prompt: p}, mock: {error: broken}}")
    run(tmp_path, GITLAB_CI="true", CI_JOB_NAME="first")
    write_tree(tmp_path, {"note.txt": "new"})
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=note")
    ended = run(tmp_path, "--resume", GITLAB_CI="true", CI_JOB_NAME="second")
    found = metadata(tmp_path)
    assert len(list(tmp_path.glob(".waza/runs/*"))) == 1, ended.err
    assert found["git"] == {"commit": commit, "branch": "trunk", "dirty": False}
    assert found["ci"] == {"name": "GitLab CI/CD", "job": "first"}


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (
            {
                "GITHUB_ACTIONS": "true",
                "GITHUB_JOB": "evals",
                "GITHUB_SERVER_URL": "https://github.example",
                "GITHUB_REPOSITORY": "o/r",
                "GITHUB_RUN_ID": "7",
                "GITHUB_RUN_ATTEMPT": "2",
            },
            {
                "name": "GitHub Actions",
                "job": "evals",
                "url": "https://github.example/o/r/actions/runs/7/attempts/2",
            },
        ),
        (
            {"GITLAB_CI": "true", "CI_JOB_NAME": "evals", "CI_JOB_URL": "https://u:p@gitlab.example/j/1"},
            {"name": "GitLab CI/CD", "job": "evals", "url": "https://gitlab.example/j/1"},
        ),
        (
            {
                "TF_BUILD": "True",
                "AGENT_JOBNAME": "evals",
                "SYSTEM_COLLECTIONURI": "https://dev.azure.example/org/",
                "SYSTEM_TEAMPROJECT": "p",
                "BUILD_BUILDID": "9",
            },
            {
                "name": "Azure Pipelines",
                "job": "evals",
                "url": "https://dev.azure.example/org/p/_build/results?buildId=9",
            },
        ),
        (
            {"CIRCLECI": "true", "CIRCLE_JOB": "evals", "CIRCLE_BUILD_URL": "https://ci.example/1"},
            {"name": "CircleCI", "job": "evals", "url": "https://ci.example/1"},
        ),
        (
            {
                "BUILDKITE": "true",
                "BUILDKITE_LABEL": "evals",
                "BUILDKITE_BUILD_URL": "https://bk.example/1",
                "BUILDKITE_JOB_ID": "j",
            },
            {"name": "Buildkite", "job": "evals", "url": "https://bk.example/1#j"},
        ),
        (
            {"TEAMCITY_VERSION": "2025.07", "TEAMCITY_BUILDCONF_NAME": "evals", "BUILD_URL": "file:///etc"},
            {"name": "TeamCity", "job": "evals"},
        ),
        (
            {"JENKINS_URL": "https://j.example/", "JOB_NAME": f"evals {SECRET}", "BUILD_URL": "http://[j"},
            {"name": "Jenkins", "job": "evals [REDACTED]"},
        ),
    ],
    ids=lambda value: value.get("name"),
)
def test_results_name_the_job(tmp_path: Path, env: dict[str, str], expected: dict[str, str]):
    mock_suite(tmp_path, {"a": "inputs: {prompt: p}"})
    unset = dict.fromkeys(("SYSTEM_JOBDISPLAYNAME", "BUILD_URL"), "")
    run(tmp_path, **{**unset, **env})
    found = metadata(tmp_path)
    assert found["ci"] == expected
    assert "git" not in found
