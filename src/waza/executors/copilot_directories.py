"""What surrounds a runtime process: a home, caches and temporary files of its own, and its environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from waza.executors._agent_home import AgentHome, private_environment, put_shims_first
from waza.kit import process
from waza.model.agent import Setup

UNPACK_LIMIT = 60.0  # seconds; the npm binary takes up to 7
_LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
_VERSION = re.compile(r"\d+\.\d+\.\d+\S*?(?=\.?(?:\s|$))")


class RuntimeDirectories(msgspec.Struct, frozen=True):
    """The directories of one process, by its number, below that of the run."""

    root: Path
    number: int

    @property
    def agent(self) -> AgentHome:
        """The agent's home, and its temporary files with tool results that are too long for the model."""
        return AgentHome(self.root / f"home-{self.number}", self.root / f"tmp-{self.number}")

    @property
    def state(self) -> Path:
        """What the runtime keeps of its sessions."""
        return self.root / f"state-{self.number}"

    def make(self, path: str) -> None:
        """Make the directories. `path` is the PATH that login shells are to have."""
        self.state.mkdir(parents=True, exist_ok=True)
        self.agent.make(path)


def agent_environment(
    environ: Mapping[str, str], setup: Setup, own: AgentHome, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of a runtime process: ours, with private directories, without keys of model servers.

    `extra` is the task's `inputs.environment`. Mocked programs come first in PATH; the runtime must not ask a
    login shell for another PATH.
    """
    variables = private_environment(environ, setup, own)
    variables = {name: value for name, value in variables.items() if not name.startswith("COPILOT_")}
    variables |= {
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_DISABLE_KEYTAR": "1",
        "COPILOT_DISABLE_LOGIN_SHELL_ENV": "1",
    }
    if setup.provider is not None and setup.provider.host.rpartition(":")[0] in _LOOPBACK:
        # The npm binary refuses to start offline without these two; the session's own provider wins over them.
        variables |= {
            "COPILOT_OFFLINE": environ.get("COPILOT_OFFLINE", "true"),
            "COPILOT_PROVIDER_BASE_URL": setup.provider.on_wire(setup.judge_wire).base_url,
            "COPILOT_MODEL": setup.model or "default",
        }
    variables |= dict(extra)
    put_shims_first(variables, setup)
    return variables


def shared_cache(environ: Mapping[str, str]) -> Path:
    """Return where the npm binary is unpacked: kept between runs, since it is 235 MB each time."""
    home = environ.get("WAZA_HOME")
    return (Path(home) if home else Path.home() / ".waza") / "cache" / "copilot-runtime"


async def unpack_runtime(program: Path | None, cache: Path, home: Path) -> Path | None:
    """Return what the npm binary unpacks itself to, so that agents need not share its cache; else the program.

    Started as it is, the binary would unpack itself into the private cache of every run: slower, and as right.
    """
    if program is None or program.stem != "copilot":
        return program
    environ = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(cache), "COPILOT_AUTO_UPDATE": "false"}
    ended = await process.run([str(program), "--version"], env=environ, timeout=UNPACK_LIMIT)
    version = _VERSION.search(ended.stdout.decode("utf-8", "replace")) if ended.ok else None
    if version is None:
        return program
    places = (cache / "copilot" / "pkg").glob(f"*/{version[0]}/prebuilds/*/copilot-runtime*")
    return next((place for place in places if place.stem == "copilot-runtime"), program)
