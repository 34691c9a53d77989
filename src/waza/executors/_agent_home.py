"""What surrounds an agent's programs: a home, caches and temporary files of its own, and an environment without keys."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from waza.model.agent import Setup

_LOGIN_FILES = (".profile", ".zprofile")  # a login shell (`bash -lc`) sets PATH again; these give ours back
# Where programs keep what lasts, below the home; each is there, and each is named.
_PRIVATE = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
_TEMPORARY = ("TMPDIR", "TMP", "TEMP", "TEMPDIR")
_HIDDEN = ("USERPROFILE", "HISTFILE", "XDG_RUNTIME_DIR")
_CACHE = re.compile(r"(?i)cache(_?(dir|home|folder|path|prefix))?$")  # as in PIP_CACHE_DIR, GOCACHE


class AgentHome(msgspec.Struct, frozen=True):
    """The directories of one agent, or of several that share them."""

    home: Path
    """The home of the agent."""
    temporary: Path
    """Its temporary files."""

    def make(self, path: str) -> None:
        """Make the directories. `path` is the PATH that login shells are to have."""
        for directory in (self.temporary, *(self.home / name for name in _PRIVATE.values())):
            directory.mkdir(parents=True, exist_ok=True)
        for name in _LOGIN_FILES:
            (self.home / name).write_text(f"export PATH={shlex.quote(path)}\n", encoding="utf-8")


def private_environment(environ: Mapping[str, str], setup: Setup, own: AgentHome) -> dict[str, str]:
    """Return an environment for an agent's programs: ours, with private directories, without keys of model servers.

    Calls to this machine never go through a proxy. Mocked programs are not in its PATH yet: see `put_shims_first`.
    """
    hidden = {*setup.hidden, *_HIDDEN, *(name for name, value in environ.items() if _is_cache(name, value))}
    variables = {name: value for name, value in environ.items() if name not in hidden}
    direct = [part for name in ("NO_PROXY", "no_proxy") for part in environ.get(name, "").split(",") if part]
    no_proxy = ",".join(dict.fromkeys([*direct, "127.0.0.1", "localhost", "::1"]))
    variables |= {name: str(own.home / below) for name, below in _PRIVATE.items()}
    variables |= dict.fromkeys(_TEMPORARY, str(own.temporary))
    return {**variables, "HOME": str(own.home), "NO_PROXY": no_proxy, "no_proxy": no_proxy}


def put_shims_first(variables: dict[str, str], setup: Setup) -> None:
    """Put the mocked programs in front of the PATH of an environment."""
    if setup.shims is not None:
        variables["PATH"] = f"{setup.shims}{os.pathsep}{variables.get('PATH', os.defpath)}"


def _is_cache(name: str, value: str) -> bool:
    """Tell variables that name a cache which others use too."""
    return _CACHE.search(name) is not None and Path(value).is_absolute()
