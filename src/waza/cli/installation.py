"""How waza was installed, and so the commands that update it or add an extra to it. None of them is run."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec

NAME = "waza"


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """Where waza is and what put it there.

    `manager` is `pip`, `pipx`, `uv` (in an environment) or `uv tool`. `checkout` is the directory of an installation whose
    sources are used where they are. `source` is what was installed if it came from an address, in the form of a requirement.
    """

    manager: str
    python: str
    checkout: str = ""
    source: str = ""

    def update_command(self) -> str:
        """Return the command that updates waza."""
        if self.checkout:
            return _join(["git", "-C", self.checkout, "pull"])
        if self.manager == "pipx":
            return f"pipx upgrade {NAME}"
        if self.manager == "uv tool":
            return f"uv tool upgrade {NAME}"
        return _join([*self._install(), "--upgrade", self.source or NAME])

    def extra_command(self, extra: str) -> str:
        """Return the command that installs what an extra of waza needs."""
        if self.checkout:
            return _join([*self._install(), "--editable", f"{self.checkout}[{extra}]"])
        name, at, place = (self.source or NAME).partition(" @ ")
        wanted = f"{name}[{extra}]{at}{place}"
        if self.manager == "pipx":
            return _join(["pipx", "inject", NAME, wanted])
        if self.manager == "uv tool":
            return _join(["uv", "tool", "install", wanted])
        return _join([*self._install(), wanted])

    def _install(self) -> list[str]:
        if self.manager.startswith("uv"):
            return ["uv", "pip", "install", "--python", self.python]
        return [self.python, "-m", "pip", "install"]


def find_installation() -> Installation:
    """Return how this waza was installed."""
    try:
        found = distribution(NAME)
    except PackageNotFoundError:  # its sources are on the path
        return describe_installation(Path(sys.prefix), sys.executable, "", "")
    return describe_installation(
        Path(sys.prefix),
        sys.executable,
        found.read_text("INSTALLER") or "",
        found.read_text("direct_url.json") or "",
    )


def describe_installation(prefix: Path, python: str, installer: str, direct_url: str) -> Installation:
    """Return how a package was installed into an environment, by what the installers leave there.

    `installer` and `direct_url` are the contents of the files of these names (the second of PEP 610), empty without them.
    """
    manager = "uv" if installer.strip() == "uv" else "pip"
    if (prefix / "pipx_metadata.json").is_file():
        manager = "pipx"
    elif (prefix / "uv-receipt.toml").is_file():
        manager = "uv tool"
    try:
        origin: dict[str, Any] = json.loads(direct_url or "{}")
        url, editable = str(origin.get("url", "")), origin.get("dir_info", {}).get("editable")
    except (ValueError, AttributeError):
        return Installation(manager=manager, python=python)
    if editable and url.startswith("file:"):
        return Installation(manager=manager, python=python, checkout=url2pathname(urlsplit(url).path))
    return Installation(manager=manager, python=python, source=_requirement(url, origin))


def _requirement(url: str, origin: dict[str, Any]) -> str:
    """Return the requirement that an address was installed by; nothing without an address."""
    if not url:
        return ""
    version = origin.get("vcs_info")
    if not isinstance(version, dict):
        return f"{NAME} @ {url}"
    revision = version.get("requested_revision", "")
    return f"{NAME} @ {version.get('vcs', 'git')}+{url}{f'@{revision}' if revision else ''}"


def _join(words: Sequence[str]) -> str:
    """Return words as they are typed into a shell of this system."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
