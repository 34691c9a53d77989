from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from waza.cli.installation import describe_installation

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are quoted for another shell")
PYTHON = "/opt/my env/bin/python"
WHEEL = {"url": "https://example.com/waza-1.0-py3-none-any.whl", "archive_info": {}}
COMMIT = {
    "url": "https://example.com/waza.git",
    "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": "0" * 40},
}
CHECKOUT = {"url": "file:///src/my%20waza", "dir_info": {"editable": True}}


@pytest.mark.parametrize(
    ("left", "installer", "origin", "update", "extra"),
    [
        ("", "pip\n", None, [PYTHON, "-m", "pip", "install", "--upgrade", "waza"], [PYTHON, "-m", "pip", "install", "waza[otel]"]),
        ("", "", None, [PYTHON, "-m", "pip", "install", "--upgrade", "waza"], [PYTHON, "-m", "pip", "install", "waza[otel]"]),
        ("", "uv", None, ["uv", "pip", "install", "--python", PYTHON, "--upgrade", "waza"], ["uv", "pip", "install", "--python", PYTHON, "waza[otel]"]),
        ("pipx_metadata.json", "pip", None, ["pipx", "upgrade", "waza"], ["pipx", "inject", "waza", "waza[otel]"]),
        ("uv-receipt.toml", "uv", None, ["uv", "tool", "upgrade", "waza"], ["uv", "tool", "install", "waza[otel]"]),
        ("", "pip", COMMIT, [PYTHON, "-m", "pip", "install", "--upgrade", "waza @ git+https://example.com/waza.git@v1"], [PYTHON, "-m", "pip", "install", "waza[otel] @ git+https://example.com/waza.git@v1"]),
        ("", "pip", WHEEL, [PYTHON, "-m", "pip", "install", "--upgrade", f"waza @ {WHEEL['url']}"], [PYTHON, "-m", "pip", "install", f"waza[otel] @ {WHEEL['url']}"]),
        ("", "pip", CHECKOUT, ["git", "-C", "/src/my waza", "pull"], [PYTHON, "-m", "pip", "install", "--editable", "/src/my waza[otel]"]),
        ("", "uv", CHECKOUT, ["git", "-C", "/src/my waza", "pull"], ["uv", "pip", "install", "--python", PYTHON, "--editable", "/src/my waza[otel]"]),
    ],
    ids=["pip", "unknown", "uv", "pipx", "uv tool", "a commit", "a wheel", "a checkout", "a checkout by uv"],
)  # fmt: skip
def test_the_commands_fit_what_installed_it(
    tmp_path: Path,
    left: str,
    installer: str,
    origin: dict[str, Any] | None,
    update: list[str],
    extra: list[str],
):
    if left:
        (tmp_path / left).write_text("{}", encoding="utf-8")
    found = describe_installation(tmp_path, PYTHON, installer, json.dumps(origin) if origin else "")
    assert shlex.split(found.update_command()) == update
    assert shlex.split(found.extra_command("otel")) == extra


@pytest.mark.parametrize("text", ["{", "[]", '{"dir_info": 3, "url": "file:///x"}', '{"vcs_info": 3}'])
def test_what_no_installer_writes_is_passed_over(tmp_path: Path, text: str):
    found = describe_installation(tmp_path, "python", "pip", text)
    assert found.update_command() == "python -m pip install --upgrade waza"
