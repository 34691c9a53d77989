"""The canary of a suite: a text that only its files have, so that an agent which repeats it has read them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waza.model.observation import Event


def shows_canary(canary: str, output: str, transcript: Sequence[Event]) -> bool:
    """Return whether an answer, or anything else that was seen of the agent, contains the canary. An empty one is nowhere."""
    if not canary:
        return False
    return canary in output or msgspec.json.encode(canary)[1:-1] in msgspec.json.encode(transcript)
