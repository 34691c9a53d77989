"""Errors of the system in words, and the limit of open files (`ulimit -n`), which pipes and connections count against."""

from __future__ import annotations

import errno
import sys

_USED_UP = {errno.EMFILE, errno.ENFILE}

if sys.platform == "win32":

    def max_open_files() -> int | None:
        """Return the limit, or None if there is no limit."""
        return None

else:
    import resource

    def max_open_files() -> int | None:
        """Return the limit, or None if there is no limit."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return None if limit == resource.RLIM_INFINITY else limit


def describe_error(error: Exception) -> str:
    """Return the reason of an error for a message: of an OSError without its number and file, else its text."""
    return describe_os_error(error) if isinstance(error, OSError) else str(error)


def describe_os_error(error: OSError) -> str:
    """Return the reason of an OSError for a message; if descriptors have run out, with their limit."""
    reason = error.strerror or str(error)
    if error.errno in _USED_UP:
        return f"{reason} (this process may have {max_open_files()}: ulimit -n)"
    return reason
