"""Packages of plugins, installed as users install them: into an environment of their own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import waza
from tests.support.program import environment


def install_package(project: Path, root: Path) -> Path:
    """Install a project into a fresh environment below `root`, which also has waza; return its Python.

    Nothing is fetched: what waza needs is that of the environment of the tests.
    """
    home = root / "environment"
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / Path(sys.executable).name
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    offline = ["--no-index", "--no-deps"]

    def call(*words: str | Path) -> None:
        subprocess.run(list(map(str, words)), check=True, env=environment(), cwd=root)

    call(*pip, "wheel", *offline, "--no-build-isolation", "-w", root, project)
    (wheel,) = root.glob("*.whl")
    call(sys.executable, "-m", "venv", "--without-pip", home)
    call(*pip, "--python", python, "install", *offline, wheel)
    (packages,) = {path.parent for path in home.rglob("*.dist-info")}
    ours = (sysconfig.get_path("purelib"), Path(waza.__file__).parents[1])  # what waza needs, and waza
    (packages / "waza.pth").write_text("\n".join(map(str, ours)), encoding="utf-8")
    return python


def install_waza(root: Path) -> Path:
    """Install the wheel of this checkout into a fresh environment below `root`; return its Python.

    Nothing is fetched: what waza needs is that of the environment of the tests, in which there is no other waza.
    """
    home, project = root / "environment", Path(waza.__file__).parents[2]
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(root)]
    subprocess.run(words, check=True, env=environment({"WAZA_BUILD_WITHOUT_PAGES": "1"}), cwd=project)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True, env=environment())
    (wheel,) = root.glob("*.whl")
    (packages,) = home.rglob("site-packages")
    with zipfile.ZipFile(wheel) as found:
        found.extractall(packages)
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return home / ("Scripts" if sys.platform == "win32" else "bin") / Path(sys.executable).name
