"""Commits that a run is pinned to: a branch that moves meanwhile must not mix two states in one result."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from waza.kit.git import GitError, rev_parse
from waza.model.loaded import Suite
from waza.model.task import Repo, Task
from waza.workspace.prepare import find_repository


async def pin_commits(suite: Suite, known: Mapping[str, str]) -> tuple[Suite, dict[str, str]]:
    """Return the suite with the commits of its worktrees as full hashes, and these by what names them.

    `known` are those of the run that is resumed. A commit that is not known yet, as of a repository that a hook
    creates, is left as it is.
    """
    commits = dict(known)
    if not any(task.inputs.repos for task in suite.tasks):
        return suite, commits
    tasks = []
    for task in suite.tasks:
        repos = [await _pin_repo(task, repo, commits) for repo in task.inputs.repos]
        inputs = msgspec.structs.replace(task.inputs, repos=repos)
        tasks.append(msgspec.structs.replace(task, inputs=inputs) if repos else task)
    return msgspec.structs.replace(suite, tasks=tuple(tasks)), commits


async def _pin_repo(task: Task, repo: Repo, commits: dict[str, str]) -> Repo:
    source = find_repository(task, repo)
    name = f"{repo.commit or 'HEAD'} of {source}"
    if name not in commits:
        try:
            commits[name] = await rev_parse(source, repo.commit or "HEAD")
        except GitError:
            return repo  # the worktree will fail, and say why
    return msgspec.structs.replace(repo, commit=commits[name])
