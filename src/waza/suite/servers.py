"""`config.mcp_servers`: whether each can be started or reached, as far as that shows before a run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from waza.kit.decode import Decoder, UnknownKeyAdvice, fields_of
from waza.kit.names import did_you_mean, nearest_name
from waza.model.base import Keys
from waza.suite.loading import Loading, Place, Scope

_HOOK = "a before_run hook may create it"
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb")


class Server(Keys, frozen=True, kw_only=True):
    """The keys of an MCP server that all runtimes know; others are handed on as they are."""

    type: Literal["local", "stdio", "http", "sse"] | None = None
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str = ""
    working_directory: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    tools: list[str] | None = None
    timeout: Annotated[int, msgspec.Meta(ge=0)] | None = None
    start_timeout_seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] | None = None

    @property
    def remote(self) -> bool:
        """Whether it is reached by an address, instead of being started."""
        return self.type in ("http", "sse") or (self.type is None and not self.command)


def check_servers(loading: Loading) -> dict[str, Any]:
    """Return the servers with the paths of files beside the suite made absolute; mistakes are collected.

    Servers start in a workspace, so that a relative path would mean nothing there.
    """
    servers = {}
    for name, raw in loading.file.config.mcp_servers.items():
        scope = loading.at("config", "mcp_servers", name)
        node = scope.node
        if node is None or scope.has_error:
            continue
        decoder = Decoder(loading.document, _advise_unknown_key)
        server = decoder.read(Server, node, scope.path)
        loading.problems += [problem for problem in decoder.problems if problem.severity == "error"]
        if server is not None:
            servers[name] = _check_server(scope, server, raw if isinstance(raw, Mapping) else {})
    return servers


def _advise_unknown_key(struct: type, key: str, _path: Place) -> UnknownKeyAdvice:
    """Refuse a key that is near a known one; runtimes have keys of their own, which are handed on."""
    names = [field.key for field in fields_of(struct)]
    return UnknownKeyAdvice("error" if nearest_name(key, names) else "warning", did_you_mean(key, names))


def _check_server(scope: Scope, server: Server, raw: Mapping[str, Any]) -> dict[str, Any]:
    if not (server.command or server.url):
        scope.error("missing-key", "has neither command nor url", "name the program, or the address")
    elif server.remote and not server.url:
        scope.error("missing-key", f"a server of type {server.type!r} needs a url")
    elif not server.remote and not server.command:
        scope.error("missing-key", f"a server of type {server.type!r} needs a command")
    elif server.remote:
        _check_address(scope.child("url"), server.url)
    else:
        return {**raw, **_resolve_paths(scope, server)}
    return dict(raw)


def _check_address(scope: Scope, url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        message = f"{url!r} is not the address of a server"
        scope.error("invalid-value", message, "write it as https://host/path")


def _resolve_paths(scope: Scope, server: Server) -> dict[str, Any]:
    """Return command and arguments of a program, files beside the suite as absolute paths."""
    at_home = not (server.cwd or server.working_directory)
    mocked = {mock.name for mock in scope.loading.file.mcp_mocks or ()}
    live = scope.loading.capabilities.mcp and scope.path[-1] not in mocked
    command = _find_file(scope.loading, server.command) if "/" in server.command else ""
    if live and at_home and not (command or shutil.which(server.command, path=server.env.get("PATH"))):
        message = f"there is no program {server.command!r}"
        hint = "it is sought " + ("beside the suite" if "/" in server.command else "on PATH")
        _report_missing(scope.child("command"), message, hint)
    args = list(server.args)
    for i, arg in enumerate(server.args if at_home else ()):
        args[i] = _find_file(scope.loading, arg) or arg
        script = arg.endswith(_SCRIPTS) and not arg.startswith("-")
        if live and script and args[i] == arg and not Path(arg).is_absolute():
            message = f"there is no file {arg!r} beside the suite"
            hint = "the server starts in a workspace, and may not find it there"
            scope.child("args", i).warn("missing-file", message, hint)
    placed: dict[str, Any] = {"command": command or server.command}
    return placed | ({"args": args} if args else {}) | ({"env": server.env} if server.env else {})


def _find_file(loading: Loading, name: str) -> str:
    """Return the absolute path of a file beside the suite or in the current directory, else an empty text."""
    for directory in (loading.directory, Path.cwd()):
        path = os.path.join(directory, name)  # noqa: PTH118  # `name` may be any text, too long for a Path
        if name and "\0" not in name and os.path.isfile(path):  # noqa: PTH113  # as above
            return os.path.abspath(path)  # noqa: PTH100  # keeps links, so that a program finds its neighbours
    return ""


def _report_missing(scope: Scope, message: str, hint: str) -> None:
    to_come = scope.loading.hooks_may_create
    scope.report("missing-file", message, _HOOK if to_come else hint, warning=to_come)
