"""The image: what its Dockerfile does is done, and what comes of it runs suites as a user without rights."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.dockerfile import Build, Stage, can_build, instructions
from tests.support.program import strict_json

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")

pytestmark = pytest.mark.slow


@pytest.mark.skipif(
    not can_build(), reason="stages are built in roots of their own, which needs root and Linux"
)
def test_it_is_built_and_runs_suites(tmp_path: Path):
    """One test, since a build takes longest."""
    for place in ("/build", "/opt/waza", "/workspace"):
        assert not Path(place).exists(), f"this machine has {place}, which the image would seem to have then"
    build = Build(ROOT / "Dockerfile", tmp_path)
    check_that_it_runs_suites_without_rights(build)
    check_that_it_has_what_it_needs_and_nothing_that_only_builds(build)
    check_that_stages_get_no_more_than_they_need(build)


def check_that_it_runs_suites_without_rights(build: Build) -> None:
    image = build.image
    assert (image.user, image.directory) == ("10001", "/workspace")
    assert build.run(image, ["id", "-u"]).stdout == "10001\n"
    said = build.run(image, [*image.entrypoint, *image.command])
    assert (said.returncode, "Usage: waza" in said.stdout) == (0, True)
    for user in ("10001", "4321"):  # 4321: that of a mounted repository, with `docker run --user`
        repository = image.written / "workspace" / user
        shutil.copytree(ROOT / "examples/code-explainer", repository)
        done = build.run(image, ["chown", "-R", f"{user}:{user}", f"/workspace/{user}"], user="0")
        assert done.returncode == 0, done.stderr
        words = ["waza", "run", f"{user}/eval.yaml", "-o", f"{user}/results.json", "--no-save"]
        done = build.run(image, words, user=user)
        assert done.returncode == 0, done.stderr
        assert strict_json((repository / "results.json").read_bytes())["summary"]["succeeded"] == 4
        assert build.run(image, ["touch", "/opt/waza/x"], user=user).returncode == 1


def check_that_it_has_what_it_needs_and_nothing_that_only_builds(build: Build) -> None:
    image = build.image
    words = [
        str(Path("/opt/waza/bin/python")),
        "-c",
        "import waza.dashboard.static_files, copilot, waza; print(waza.__file__)",
    ]
    done = build.run(image, words)
    assert done.stdout.startswith("/opt/waza/lib/"), done.stderr
    pages = image.written / done.stdout.strip().lstrip("/")
    assert (pages.parent / "dashboard/static/assets/index.js").stat().st_size > 10_000
    assert build.run(image, ["git", "--version"]).returncode == 0
    packages = {path.name.partition("-")[0] for path in (image.written / "opt/waza").rglob("*.dist-info")}
    assert {"waza", "github_copilot_sdk", "click"} <= packages
    assert not packages & {"pip", "hatchling", "pytest", "ruff"}
    assert not (image.written / "build").exists()


def files_below(stage: Stage, place: str) -> set[str]:
    root = stage.written / place.lstrip("/")
    return {path.relative_to(root).parts[0] for path in root.rglob("*") if path.is_file()}


def check_that_stages_get_no_more_than_they_need(build: Build) -> None:
    program = build.stages["program"]
    assert not (build.stages["pages"].written / "build/dashboard/test").exists()
    assert files_below(program, "/build/src") == {"waza"}
    assert not list((program.written / "build/src").rglob("__pycache__"))


def test_every_package_is_installed_by_its_digest():
    installs = [rest for word, rest in instructions(TEXT) if word == "RUN"]
    for step in " && ".join(installs).split(" && "):
        if "pip" in step and " install" in step:
            assert "--require-hashes" in step or "--no-deps --no-index" in step, step
        if "npm" in step:
            assert step in {"npm ci --ignore-scripts --no-audit --no-fund", "npm run build"}
    for name in ("build.txt", "run.txt"):
        assert "--hash=sha256:" in (ROOT / "requirements" / name).read_text()
