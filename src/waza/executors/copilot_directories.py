"""What surrounds a runtime process: a home, caches and temporary files of its own, and its environment."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from waza.kit import process
from waza.model.agent import Setup

UNPACK_LIMIT = 60.0  # seconds; the npm binary takes up to 7
_LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
_LOGIN_FILES = (".profile", ".zprofile")  # a login shell (`bash -lc`) sets PATH again; these give ours back
# Where programs keep what lasts, below the home; each is there, and each is named.
_PRIVATE = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
_TEMPORARY = ("TMPDIR", "TMP", "TEMP", "TEMPDIR")
_HIDDEN = ("COPILOT_HOME", "USERPROFILE", "HISTFILE", "XDG_RUNTIME_DIR")
_CACHE = re.compile(r"(?i)cache(_?(dir|home|folder|path|prefix))?$")  # as in PIP_CACHE_DIR, GOCACHE
_VERSION = re.compile(r"\d+\.\d+\.\d+\S*?(?=\.?(?:\s|$))")


class RuntimeDirectories(msgspec.Struct, frozen=True):
    """The directories of one process, by its number, below that of the run."""

    root: Path
    number: int

    @property
    def home(self) -> Path:
        """The agent's home."""
        return self.root / f"home-{self.number}"

    @property
    def state(self) -> Path:
        """What the runtime keeps of its sessions."""
        return self.root / f"state-{self.number}"

    @property
    def temporary(self) -> Path:
        """Temporary files, and tool results that are too long for the model."""
        return self.root / f"tmp-{self.number}"

    def make(self, path: str) -> None:
        """Make the directories. `path` is the PATH that login shells are to have."""
        for directory in (self.state, self.temporary, *(self.home / name for name in _PRIVATE.values())):
            directory.mkdir(parents=True, exist_ok=True)
        for name in _LOGIN_FILES:
            (self.home / name).write_text(f"export PATH={shlex.quote(path)}\n", encoding="utf-8")


def agent_environment(
    environ: Mapping[str, str], setup: Setup, own: RuntimeDirectories, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of a runtime process: ours, with private directories, without keys of model servers.

    `extra` is the task's `inputs.environment`. Mocked programs come first in PATH; the runtime must not ask a
    login shell for another PATH. Calls to this machine never go through a proxy.
    """
    hidden = {*setup.hidden, *_HIDDEN, *(name for name, value in environ.items() if _is_shared(name, value))}
    variables = {name: value for name, value in environ.items() if name not in hidden}
    direct = [part for name in ("NO_PROXY", "no_proxy") for part in environ.get(name, "").split(",") if part]
    no_proxy = ",".join(dict.fromkeys([*direct, "127.0.0.1", "localhost", "::1"]))
    variables |= {name: str(own.home / below) for name, below in _PRIVATE.items()}
    variables |= dict.fromkeys(_TEMPORARY, str(own.temporary))
    variables |= {
        "HOME": str(own.home),
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_DISABLE_KEYTAR": "1",
        "COPILOT_DISABLE_LOGIN_SHELL_ENV": "1",
        "NO_PROXY": no_proxy,
        "no_proxy": no_proxy,
    }
    if setup.provider is not None and setup.provider.host.rpartition(":")[0] in _LOOPBACK:
        # The npm binary refuses to start offline without these two; the session's own provider wins over them.
        variables |= {
            "COPILOT_OFFLINE": environ.get("COPILOT_OFFLINE", "true"),
            "COPILOT_PROVIDER_BASE_URL": setup.provider.on_wire(setup.judge_wire).base_url,
            "COPILOT_MODEL": setup.model or "default",
        }
    variables |= dict(extra)
    if setup.shims is not None:
        variables["PATH"] = f"{setup.shims}{os.pathsep}{variables.get('PATH', os.defpath)}"
    return variables


def _is_shared(name: str, value: str) -> bool:
    """Tell variables of the runtime's own, and those that name a cache which others use too."""
    return name.startswith("COPILOT_") or (_CACHE.search(name) is not None and Path(value).is_absolute())


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
