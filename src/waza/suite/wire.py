"""`config.wire`: what it lets be seen of an agent, and what it needs."""

from __future__ import annotations

from typing import cast

import msgspec

from waza.model.capabilities import Capabilities
from waza.model.suite import Config
from waza.model.wire import WireMode, wire_keys
from waza.suite.loading import Loading, LoadOptions


def with_wire(executor: Capabilities, config: Config) -> Capabilities:
    """Return what can be seen of an agent whose suite names a wire: its tool calls and tokens, by its requests."""
    if not (executor.wire and config.wire is not None and wire_keys(config.wire).mode != "off"):
        return executor
    return msgspec.structs.replace(
        executor, tool_calls=True, usage=True, seen_by_wire=not executor.tool_calls
    )


def with_wire_options(config: Config, request: LoadOptions) -> Config:
    """Return the settings of a suite with what the command line asks of the wire."""
    if not (request.wire or request.cassettes):
        return config
    keys = wire_keys(config.wire)
    mode = cast("WireMode", request.wire) or keys.mode
    cassettes = request.cassettes or (keys.cassettes if mode == "replay" else "")
    return msgspec.structs.replace(config, wire=msgspec.structs.replace(keys, mode=mode, cassettes=cassettes))


def check_wire(loading: Loading) -> None:
    """Report a wire that the executor cannot have, and faults of which not exactly one thing is said."""
    written = loading.file.config.wire
    keys = wire_keys(written)
    scope = loading.at("config", "wire")
    if written is not None and keys.mode != "off":
        scope.require("wire")
    for index, fault in enumerate(keys.faults):
        place = scope.child("faults", index)
        if sum(value is not None for value in (fault.status, fault.stall, fault.truncate)) != 1:
            place.error(
                "conflicting-keys",
                "needs one of 'status', 'stall' and 'truncate'",
                "write for example status: 429",
            )
        elif fault.retry_after is not None and fault.status is None:
            place.child("retry_after").error("conflicting-keys", "goes with 'status' only", "remove it")
    if keys.mode == "replay" and not keys.cassettes:
        scope.error(
            "missing-key",
            "replay needs 'cassettes'",
            "name a directory or a run: cassettes: cassettes, or --cassettes .waza/runs/ID",
        )
    if keys.cassettes and keys.mode != "replay":
        scope.child("cassettes").error("conflicting-keys", "goes with 'replay' only", "set mode: replay")
    if keys.faults and keys.mode == "off":
        scope.child("faults").error(
            "conflicting-keys", "has no effect while the wire is off", "set mode: auto"
        )
