"""The packages that users install: the pages of the dashboard are in them, whether or not npm is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.support.program import environment

ROOT = Path(__file__).parents[2]
STATIC = "waza/dashboard/static"
PAGES = {f"{STATIC}/index.html", f"{STATIC}/assets/index.js", f"{STATIC}/assets/index.css"}
PACKS = {
    path.relative_to(ROOT / "src").as_posix()
    for path in (ROOT / "src/waza/author/adversarial/packs").rglob("*.yaml")
}
# What `npm` is to these tests: it writes a page where the real one does.
FAKE_NPM = """#!/bin/sh
echo "npm $*" >> "{log}"
[ "$1" = ci ] && exit 0
{then}
"""

pytestmark = pytest.mark.slow


def build(project: Path, out: Path, target: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    found = environment() | ({} if path is None else {"PATH": path})
    words = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    return subprocess.run(words, cwd=project, env=found, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in small: what the build reads, without built pages."""
    project = tmp_path / "checkout"
    (project / "src/waza").mkdir(parents=True)
    (project / "dashboard").mkdir()
    for name in (
        "pyproject.toml",
        "hatch_build.py",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "src/waza/version.py",
    ):
        shutil.copy(ROOT / name, project / name)
    (project / "src/waza/__init__.py").touch()
    (project / ".gitignore").write_text("src/waza/dashboard/static/\n")
    return project


def fake_npm(folder: Path, then: str) -> str:
    folder.mkdir()
    program = folder / "npm"
    program.write_text(FAKE_NPM.format(log=folder / "log", then=then))
    program.chmod(0o755)
    return f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"


def test_the_wheel_has_the_pages_and_so_has_the_sdist_from_which_it_can_be_built(tmp_path):
    assert (ROOT / "src" / STATIC / "index.html").is_file(), "run `make dashboard` first"
    done = build(ROOT, tmp_path / "dist", "sdist")
    assert done.returncode == 0, done.stderr
    (archive,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = tar.getnames()
        tar.extractall(tmp_path / "source", filter="data")
    assert not [name for name in names if "node_modules" in name]
    (source,) = (tmp_path / "source").iterdir()
    done = build(source, tmp_path / "dist", "wheel", path="/nowhere")
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as found:
        assert set(found.namelist()) >= PAGES | PACKS
        assert not [name for name in found.namelist() if not name.startswith("waza")]


def test_without_pages_and_without_npm_there_is_no_wheel(checkout, tmp_path):
    done = build(checkout, tmp_path / "dist", "wheel", path="/nowhere")
    assert done.returncode != 0
    assert "npm, which builds it, is not there: install Node.js 20 or newer" in done.stderr
    assert not list(tmp_path.glob("dist/*.whl"))


def test_missing_pages_are_built(checkout, tmp_path):
    write = "mkdir -p ../src/waza/dashboard/static && echo page > ../src/waza/dashboard/static/index.html"
    path = fake_npm(tmp_path / "bin", write)
    done = build(checkout, tmp_path / "dist", "wheel", path=path)
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "bin/log").read_text().splitlines()
    assert [line.split()[1] for line in log] == ["ci", "run"]
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as found:
        assert f"{STATIC}/index.html" in found.namelist()


@pytest.mark.parametrize(
    ("then", "says"), [("exit 3", "cannot be built"), ("exit 0", "did not write src/waza/dashboard/static")]
)
def test_a_build_that_leaves_no_pages_leaves_no_wheel(checkout, tmp_path, then, says):
    done = build(checkout, tmp_path / "dist", "wheel", path=fake_npm(tmp_path / "bin", then))
    assert done.returncode != 0
    assert says in done.stderr
    assert not list(tmp_path.glob("dist/*.whl"))


@pytest.mark.parametrize("variable", ["PRE_COMMIT", "WAZA_BUILD_WITHOUT_PAGES"])
def test_hooks_and_who_asks_for_it_get_a_wheel_without_pages(checkout, tmp_path, variable, monkeypatch):
    monkeypatch.setenv(variable, "1")
    done = build(checkout, tmp_path / "dist", "wheel", path=fake_npm(tmp_path / "bin", "exit 3"))
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as found:
        assert not [name for name in found.namelist() if "static" in name]
