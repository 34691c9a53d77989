"""`config.error_retries`: whether an error may pass, and how long to wait before a trial is tried again."""

from __future__ import annotations

import random

LONGEST_REQUEST = 300.0  # seconds; where a server asks for a longer wait, the error stands
_FIRST, _LONGEST = 0.5, 60.0  # seconds


def wait_before(retry: int, asked: float | None) -> float | None:
    """Return the seconds to wait before a retry, counted from 1. None: there is to be none.

    The waits double, each between half of its length and all of it, so that trials which broke together do not return
    together. A wait that a server `asked` for is kept, unless it is longer than LONGEST_REQUEST.
    """
    own = min(_LONGEST, _FIRST * 2.0 ** min(retry - 1, 16)) * random.uniform(0.5, 1)  # noqa: S311  # no secret
    if asked is None:
        return own
    return None if asked > LONGEST_REQUEST else max(asked, own)
