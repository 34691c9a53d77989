"""What people write about the wire, `config.wire`, and where an attempt finds it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from waza.model.base import Count, Keys, Seconds

WireMode = Literal["auto", "off", "record", "replay"]


class WireFault(Keys, frozen=True, kw_only=True):
    """A fault that the wire injects into an attempt, to see what an agent does with it. One of `status`, `stall` and `truncate`."""

    strict_keys: ClassVar[bool] = True
    request: Count
    """The request of the attempt that it meets, counted from 1."""
    times: Count = 1
    """How many requests in a row it meets."""
    status: Annotated[int, msgspec.Meta(ge=400, le=599)] | None = None
    """An HTTP error in place of an answer, such as 429 or 500."""
    retry_after: Seconds | None = None
    """Seconds of the header `Retry-After` that goes with `status`."""
    stall: Seconds | None = None
    """Seconds of silence before the answer begins."""
    truncate: Count | None = None
    """Bytes of the answer after which the connection is cut."""

    def meets(self, number: int) -> bool:
        """Return whether it meets a request."""
        return self.request <= number < self.request + self.times


class WireKeys(Keys, frozen=True, kw_only=True):
    """`config.wire` in its long form."""

    strict_keys: ClassVar[bool] = True
    mode: WireMode = "auto"
    """`auto`: where the agent takes the address of a model server, and one is known. `off`: never. `record`: keep a cassette of
    each attempt. `replay`: take the answers from `cassettes`, without a model."""
    cassettes: str = ""
    """With `replay`: a directory of cassettes, relative to the suite, or a run by its id."""
    faults: list[WireFault] = []
    """Faults that are injected into every attempt."""

    @property
    def has_cassettes(self) -> bool:
        """Whether cassettes are recorded or replayed."""
        return self.mode in ("record", "replay")


class WireAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where the agent of an attempt finds its model. `repr` shows no token."""

    root: str
    """The address of the attempt, for agents that add the version themselves, as those of Anthropic do."""
    token: str
    """What the agent shows as its key. It opens nothing but this address, while the attempt lasts."""

    @property
    def openai(self) -> str:
        """The address for the interfaces of OpenAI."""
        return f"{self.root}/v1"

    def __repr__(self) -> str:
        return f"WireAddress({self.root})"


def wire_keys(written: WireMode | WireKeys | None) -> WireKeys:
    """Return `config.wire` in its long form."""
    if isinstance(written, WireKeys):
        return written
    return WireKeys(mode=written or "auto")
