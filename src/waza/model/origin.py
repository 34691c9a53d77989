"""Where the suite of a run comes from, as results files have it."""

from __future__ import annotations

import msgspec


class GitState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was checked out where the suite is, when the run began (`metadata.git`)."""

    commit: str = ""
    """The commit, as a full hash; empty before the first one."""
    branch: str = ""
    """The branch; empty on a detached HEAD."""
    dirty: bool | None = None
    """Whether files differed from the commit, new ones included. None: unknown."""


class CiJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The job of continuous integration that started the run (`metadata.ci`)."""

    name: str
    """The service, such as `GitHub Actions`."""
    job: str = ""
    """The name of the job."""
    url: str = ""
    """The address of the job, without credentials."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where the suite of a run comes from. None: not a git repository or unknown; not a job of a known service."""

    git: GitState | None = None
    ci: CiJob | None = None
