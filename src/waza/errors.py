"""The exception tree of waza, and the exit codes of its commands.

::

    WazaError                 something a person can fix; shown as one message, never as a traceback
    ├── UsageError            wrong arguments or nothing to do                        exit 2
    ├── GateError             what a gate was to decide on cannot be used              exit 3
    ├── SuiteError            mistakes in a user's files; carries a list of Problems   exit 2
    ├── RunError              the run as a whole could not go on (hook, executor)      exit 2
    ├── StoreError            a store of results refused something, or cannot be reached         exit 2
    ├── GraderError           a grader could not reach a verdict; becomes an errored Verdict
    └── ExecutorError         an agent engine could not do a turn; becomes an errored run
        └── OutsideError      ... for a cause outside of the agent; a resumed run tries again

Exit codes: 0 success, 1 a task failed, 2 bad usage or configuration, 3 undecided, 130 and 143 interrupted.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from waza.problem import Problem

EXIT_OK = 0
"""What was to be shown was shown: every task passed, or with a baseline, more passed with skills than without."""
EXIT_FAILED = 1
"""A task failed or ended in an error, a gate did not pass, or a check of the command found something."""
EXIT_ERROR = 2
"""Wrong usage or configuration; nothing was run. Also a run that could not go on."""
EXIT_UNDECIDED = 3
"""Of `waza gate` and `waza adversarial`: files or values of options cannot be used. Their 2 says that a golden task
did not pass, or that a task of a pack is not safe.
Of `waza experiment decide`: the rule cannot tell."""
EXIT_HUNG_UP = 129
"""Interrupted: the terminal was closed (SIGHUP). Finished trials are kept."""
EXIT_INTERRUPTED = 130
"""Interrupted: Ctrl-C (SIGINT). Finished trials are kept."""
EXIT_TERMINATED = 143
"""Interrupted: SIGTERM. Finished trials are kept."""


class WazaError(Exception):
    """Base class of the errors that commands report in one message, without a traceback."""

    exit_code = EXIT_ERROR


class UsageError(WazaError):
    """The arguments of a command are wrong, or there is nothing to do."""


class GateError(WazaError):
    """A gate cannot decide: a file, or the value of an option, cannot be used."""

    exit_code = EXIT_UNDECIDED


class SuiteError(WazaError):
    """The files of a suite have mistakes. `problems` lists all of them, warnings included."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @property
    def listing(self) -> str:
        """All problems, and how many of them kept everything from being run."""
        count = sum(problem.severity == "error" for problem in self.problems)
        return f"{self}\n{count} {'mistake' if count == 1 else 'mistakes'}; nothing was run"


class RunError(WazaError):
    """The run as a whole cannot go on."""


class StoreError(WazaError):
    """A store of results cannot be used, or refused something; the message says what to do."""


class GraderError(WazaError):
    """A grader could not reach a verdict; never a crash, and never a pass."""


class ExecutorError(WazaError):
    """An agent engine could not start, continue or finish a turn."""


class OutsideError(ExecutorError):
    """A turn failed for a cause outside of the agent, such as its server, a full disk or a dead runtime.

    Such a trial is no result of the agent, so a resumed run repeats it.
    """


_OF_THE_MACHINE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
}
"""Error numbers of a system that has run out of disk space, descriptors, memory or processes."""


def is_outside(error: BaseException | None) -> bool:
    """Return whether an error or one of its causes is outside of the agent: OutsideError, a lost connection, a full disk."""
    while error is not None:
        if isinstance(error, OutsideError | ConnectionError):
            return True
        if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
            return True
        error = error.__cause__
    return False
