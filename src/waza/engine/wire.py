"""The wire of a run: which model servers it leads to, and what each attempt has of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from waza.errors import RunError
from waza.kit.packages import are_installed
from waza.model.agent import Provider
from waza.model.loaded import Suite
from waza.model.observation import Turn
from waza.model.task import Task
from waza.model.trial import TrialKey
from waza.model.wire import WireAddress, wire_keys

if TYPE_CHECKING:
    from waza.engine.cassettes import Cassettes
    from waza.engine.limits import TrialMeter
    from waza.wire.api import Family
    from waza.wire.cassette import CassettePlayer
    from waza.wire.exchange import Exchange
    from waza.wire.observe import WireObserver
    from waza.wire.relay import Upstream, WireRelay, WireSession

_INSTALL = (
    "the wire between agents and models needs aiohttp. Install it:\n  pip install 'waza[wire]'\n"
    "or set config.wire: off"
)
_OPENAI, _ANTHROPIC = "https://api.openai.com/v1", "https://api.anthropic.com"
_VERSION = "2023-06-01"  # of the Anthropic API; agents send their own


class AttemptWire:
    """The wire of one attempt. `address` is for its agent."""

    def __init__(
        self, session: WireSession, observer: WireObserver, player: CassettePlayer | None = None
    ) -> None:
        self._session, self._observer, self._player = session, observer, player

    @property
    def address(self) -> WireAddress:
        """Where the agent finds its model."""
        return self._session.address

    @property
    def differences(self) -> list[str]:
        """Where what the agent reported so far differs from its requests."""
        strays = (f"the agent asked for what is not passed on: {what}" for what in self._session.strays)
        return [*self._observer.differences, *dict.fromkeys(strays)]

    @property
    def models(self) -> list[str]:
        """The models that answered so far."""
        return self._observer.models

    def complete(self, prompt: str, turn: Turn) -> Turn:
        """Return a turn with what the wire knows of it."""
        complete = self._observer.complete(prompt, turn)
        if self._player is not None and self._player.differs:
            return msgspec.structs.replace(complete, error=self._player.differs, outside=False)
        return complete

    def unplayed(self) -> str:
        """Return what of its cassette the agent did not ask for, or nothing."""
        return self._player.unplayed() if self._player is not None else ""

    async def aclose(self) -> None:
        """End what is under way; the address leads nowhere from now on."""
        await self._session.aclose()


class RunWire:
    """The wire of a run, until `aclose`."""

    def __init__(
        self, relay: WireRelay, suite: Suite, provider: Provider | None, cassettes: Cassettes | None
    ) -> None:
        self._relay, self._suite, self._provider, self._cassettes = relay, suite, provider, cassettes
        replays = cassettes is not None and cassettes.replays
        # In a cassette faults are already.
        self._faults = () if replays else tuple(wire_keys(suite.file.config.wire).faults)
        self._target = next((task.target for task in suite.tasks if task.target), suite.trigger_target)
        judged = cassettes is not None and suite.capabilities.judge
        self._judges_tape = cassettes.open_judges(provider) if cassettes and judged else None
        self._judges: WireSession | None = None

    async def start(self) -> None:
        """Open the wire of judges."""
        self._judges = await self._relay.open(idle=self._idle, keep=False, tape=self._judges_tape)

    @property
    def provider(self) -> Provider | None:
        """The model server of the project; in a replay the wire in its place, since there may be none."""
        if self._provider is not None and self._cassettes is not None and self._cassettes.replays:
            return self._provider.on_wire(self.judges)
        return self._provider

    @property
    def judges(self) -> WireAddress:
        """Where judges and responders find their models. Nothing of them is kept here: their sessions are recorded with graders."""
        assert self._judges is not None  # noqa: S101  # it was started
        return self._judges.address

    @property
    def _idle(self) -> float:
        config, able = self._suite.file.config, self._suite.capabilities
        return able.idle_timeout if config.idle_timeout_seconds is None else config.idle_timeout_seconds

    async def open(self, task: Task, key: TrialKey, workspace: Path | None, meter: TrialMeter) -> AttemptWire:
        """Open the wire of an attempt. `meter` is asked before each request of its agent, and counts it.

        ExecutorError: the attempt is to be replayed, and there is no cassette of it.
        """
        from waza.wire.cassette import CassettePlayer
        from waza.wire.observe import WantedSkill, WireObserver, exchange_usage  # few runs have a wire

        def count(exchange: Exchange) -> None:
            if usage := exchange_usage(exchange):
                meter.count_request(usage, exchange.model)

        # The arm without skills has no target; there the skill must not be offered.
        target = task.target or self._target
        cassettes = self._cassettes
        tape = cassettes.open(key, target, workspace, self._provider) if cassettes else None
        session = await self._relay.open(
            faults=self._faults, idle=self._idle, refuse=meter.admit_request, ended=count, tape=tape
        )
        skill = (
            WantedSkill(target.name, target.description, target.body)
            if target is not None and target.kind == "skill"
            else None
        )
        observer = WireObserver(session.exchanges, skill, alone=self._suite.capabilities.seen_by_wire)
        return AttemptWire(session, observer, tape if isinstance(tape, CassettePlayer) else None)

    async def aclose(self) -> None:
        """Stop listening."""
        await self._relay.aclose()


async def open_wire(
    suite: Suite,
    provider: Provider | None,
    environ: Mapping[str, str],
    cassettes: Cassettes | None = None,
) -> RunWire | None:
    """Start the wire of a run; None where it is off, or where there is nothing that it could lead to.

    `provider` is the model server of the project, which counts for executors with the capability `models`. `cassettes` are those
    that are recorded or replayed. RunError: the suite names a wire, and it cannot be made.
    """
    written = suite.file.config.wire
    keys = wire_keys(written)
    if keys.mode == "off" or not suite.capabilities.wire:
        return None
    installed = are_installed(["aiohttp"])
    if not installed:
        if written is not None:
            raise RunError(_INSTALL)
        return None
    upstreams = (
        _provider_upstreams(provider) if suite.capabilities.models else _environment_upstreams(environ)
    )
    replays = cassettes is not None and cassettes.replays
    if replays:
        upstreams = {}
    elif not upstreams:
        if written is not None:
            raise RunError(_no_server(suite))
        return None
    from waza.wire.relay import WireRelay

    relay = WireRelay(upstreams)
    await relay.start()
    wire = RunWire(relay, suite, provider, cassettes)
    await wire.start()
    return wire


def _no_server(suite: Suite) -> str:
    if suite.capabilities.models:
        what = (
            "a model server of the kind openai or anthropic: set COPILOT_BASE_URL, or provider in .waza.yaml"
        )
    else:
        what = "the key of a model server: set OPENAI_API_KEY or ANTHROPIC_API_KEY, and OPENAI_BASE_URL or ANTHROPIC_BASE_URL where it is another server"
    return f"config.wire needs {what}. Or set config.wire: off"


def _provider_upstreams(provider: Provider | None) -> dict[Family, Upstream]:
    from waza.wire.relay import Upstream

    if provider is None or provider.type not in ("openai", "anthropic"):
        return {}
    token = provider.bearer_token or provider.api_key
    if provider.type == "anthropic":
        bearer = (
            {"Authorization": f"Bearer {provider.bearer_token}"}
            if provider.bearer_token
            else {"x-api-key": token}
        )
        headers = {"anthropic-version": _VERSION, **(bearer if token else {}), **provider.headers}
        return {"anthropic": Upstream(url=_versioned(provider.base_url), headers=headers)}
    headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **provider.headers}
    return {"openai": Upstream(url=provider.base_url, headers=headers)}


def _environment_upstreams(environ: Mapping[str, str]) -> dict[Family, Upstream]:
    """Return the servers that the usual variables name. One needs a key or an address."""
    from waza.wire.relay import Upstream

    found: dict[Family, Upstream] = {}
    key, url = environ.get("OPENAI_API_KEY"), environ.get("OPENAI_BASE_URL")
    if key or url:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        found["openai"] = Upstream(url=url or _OPENAI, headers=headers)
    key, token = environ.get("ANTHROPIC_API_KEY"), environ.get("ANTHROPIC_AUTH_TOKEN")
    url = environ.get("ANTHROPIC_BASE_URL")
    if key or token or url:
        headers = {"x-api-key": key} if key else {"Authorization": f"Bearer {token}"} if token else {}
        found["anthropic"] = Upstream(url=_versioned(url or _ANTHROPIC), headers=headers)
    return found


def _versioned(url: str) -> str:
    """Return the address of an Anthropic server with the version, which its clients add themselves."""
    base = url.rstrip("/")
    return base if base.endswith("/v1") else f"{base}/v1"
