"""`waza doctor`, and runs where the SDK or the runtime is missing: what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import copilot
import pytest
from tests.e2e.copilot.suites import task, write_suite
from tests.support.model_server import ModelServer
from tests.support.program import Ended, environment, strict_json, waza
from tests.support.runtime import runtime_path

import waza as package

pytestmark = pytest.mark.slow

NOTHING = dict.fromkeys(
    ["COPILOT_BASE_URL", "COPILOT_PROVIDER_BASE_URL", "COPILOT_CLI_PATH", "GITHUB_TOKEN", "GH_TOKEN"], ""
)
EXTRAS = [
    "chat",
    "wire",
    "claude",
    "m365",
    "otel",
    "tokens",
    "prices",
    "azure",
    "objects",
    "parquet",
    "dask",
    "wasm",
]
NAMES = [
    *(
        "waza",
        "Python",
        "git",
        "node",
        "Dashboard",
        *(f"Extra {name}" for name in EXTRAS),
        "Store of results",
    ),
    *("Copilot SDK", "Model server", "Copilot runtime"),
]
OWN_SERVER = {"COPILOT_BASE_URL": "http://user:s3cret@127.0.0.1:9/v1", "COPILOT_API_KEY": "k3y-of-the-server"}


def doctor(cwd: Path, *flags: str, **variables: str) -> Ended:
    """Examine this machine. The SDK may fetch nothing, and finds no runtime that it fetched before."""
    env = {**NOTHING, "COPILOT_SKIP_CLI_DOWNLOAD": "1", "HOME": str(cwd), "XDG_CACHE_HOME": str(cwd)}
    ended = waza("doctor", *flags, cwd=cwd, env={**env, **variables})
    assert "Traceback" not in ended.out + ended.err
    assert ended.err == ""
    return ended


@pytest.fixture
def served() -> Iterator[dict[str, str]]:
    """Variables that name a model server which answers."""
    with ModelServer({}) as server:
        yield {**OWN_SERVER, "COPILOT_BASE_URL": server.base_url.replace("//", "//user:s3cret@")}


def without_hints(error: str) -> str:
    """What is said of a run that did not start, without how to go on with it."""
    hints = ("If this is cut off, go on with: ", "Go on with: ")
    return "".join(line for line in error.splitlines(keepends=True) if not line.startswith(hints))


def findings(ended: Ended) -> dict[str, dict[str, Any]]:
    return {found["name"]: found for found in strict_json(ended.out)}


def test_all_is_there(tmp_path: Path, served: dict[str, str]):
    runtime = str(runtime_path())
    ended = doctor(tmp_path, COPILOT_CLI_PATH=runtime, **served)
    assert ended.code == 0
    lines = ended.out.splitlines()
    apart = lines.index(
        "○ Extra claude: not installed: Claude Code as the agent"
    )  # it has an environment of its own
    assert lines.pop(apart + 1).endswith("[claude]'")
    lines[apart] = "✓ Extra claude"
    assert [line.split(": ")[0] for line in lines] == [f"✓ {name}" for name in NAMES]
    assert lines[0] == f"✓ waza: {package.__version__}"
    assert lines[1] == f"✓ Python: {platform.python_version()} ({sys.executable})"
    host = served["COPILOT_BASE_URL"].partition("@")[2].partition("/")[0]
    assert lines[-2] == f"✓ Model server: {host}, with a key"
    assert re.fullmatch(rf"✓ Copilot runtime: version \d+\.\d+\.\d+ \({re.escape(runtime)}\)", lines[-1])
    assert "s3cret" not in ended.out
    assert "k3y" not in ended.out


def test_all_is_there_as_json(tmp_path: Path, served: dict[str, str]):
    ended = doctor(tmp_path, "--json", COPILOT_CLI_PATH=str(runtime_path()), **served)
    assert ended.code == 0
    found = findings(ended)
    assert list(found) == NAMES
    apart = found.pop("Extra claude")
    assert (apart["ok"], apart["needed"]) == (False, False)
    assert all(one["ok"] and one["advice"] == "" for one in found.values())
    assert [name for name, one in found.items() if one["needed"]] == NAMES[-3:]
    assert "s3cret" not in ended.out


def test_without_a_runtime(tmp_path: Path):
    ended = doctor(tmp_path)
    assert ended.code == 1
    assert (
        "⚠ Copilot runtime: the Copilot runtime cannot be found. Install it and say where it is:\n"
        in ended.out
    )
    for line in ("npm install -g @github/copilot", "export COPILOT_CLI_PATH=", "--executor mock"):
        assert line in ended.out


def test_with_a_runtime_that_is_not_logged_in(tmp_path: Path):
    found = findings(doctor(tmp_path, "--json", COPILOT_CLI_PATH=str(runtime_path())))
    assert found["Model server"]["finding"] == "the runtime's own (GitHub Copilot)"
    runtime = found["Copilot runtime"]
    assert (runtime["ok"], runtime["needed"]) == (False, True)
    assert runtime["finding"].startswith("the Copilot runtime is not logged in.")
    assert "export GITHUB_TOKEN=" in runtime["advice"]


@pytest.mark.parametrize("name", ["missing", "directory", "text", "other"])
def test_a_path_that_is_no_runtime(tmp_path: Path, name: str):
    path = tmp_path / name
    if name == "directory":
        path.mkdir()
    elif name != "missing":
        path.write_text("no program" if name == "text" else "#!/bin/sh\nexit 3\n", encoding="utf-8")
        path.chmod(0o644 if name == "text" else 0o755)
    words = {"missing": f"names {path}, which is no file", "directory": f"names {path}, which is a directory"}
    ended = doctor(tmp_path, COPILOT_CLI_PATH=str(path), **OWN_SERVER)
    assert ended.code == 1
    said = next(line for line in ended.out.splitlines() if "Copilot runtime: " in line)
    assert words.get(name, "the Copilot runtime failed to start: ") in said
    assert str(path) in said


@pytest.mark.parametrize("how", ["address", "key", "file"])
def test_a_model_server_that_is_misdescribed(tmp_path: Path, how: str):
    texts = {
        "key": "provider: {base_url: 'http://127.0.0.1:9', api_key_env: HOUSE_SERVER}",
        "file": "provider: {base_url: [1]}",
    }
    if how in texts:
        (tmp_path / ".waza.yaml").write_text(texts[how], encoding="utf-8")
    variables = {"COPILOT_BASE_URL": "127.0.0.1:s3cret"} if how == "address" else {}
    ended = doctor(tmp_path, "--json", COPILOT_CLI_PATH=str(runtime_path()), HOUSE_SERVER="", **variables)
    assert ended.code == 1
    found = findings(ended)
    words = {"address": "COPILOT_BASE_URL is not the address", "key": "HOUSE_SERVER", "file": "base_url"}
    assert words[how] in found["Model server"]["finding"]
    assert (found["Model server"]["ok"], found["Copilot runtime"]["finding"]) == (False, "not tried")
    assert "s3cret" not in ended.out


def test_tools_that_are_not_on_the_path(tmp_path: Path, served: dict[str, str]):
    found = findings(doctor(tmp_path, "--json", COPILOT_CLI_PATH=str(runtime_path()), PATH="", **served))
    for name in ("git", "node"):
        assert (found[name]["ok"], found[name]["finding"]) == (False, "not found")
        assert "https://" in found[name]["advice"]
    assert found["Copilot runtime"]["ok"], "PATH is not searched for it"


# --- runs without a runtime ---


def test_a_run_with_a_path_that_is_no_runtime(tmp_path: Path):
    suite = write_suite(tmp_path, {"GO": task("GO")})
    path = str(tmp_path / "missing")
    ended = waza("run", suite, cwd=tmp_path, env={**NOTHING, **OWN_SERVER, "COPILOT_CLI_PATH": path})
    assert ended.code == 2
    said = f"Error: COPILOT_CLI_PATH names {path}, which is no file; name the runtime's program\n"
    assert without_hints(ended.err).startswith(said)
    assert not list(tmp_path.glob(".waza/runs/*"))


# --- without the SDK ---


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of this environment but for the SDK, for a Python that has no others."""
    return packages_without(tmp_path_factory.mktemp("all") / "packages")


def packages_without(directory: Path, *names: str) -> Path:
    """Make a directory with the packages of this environment but for these and the SDK."""
    directory.mkdir()
    for entry in Path(copilot.__file__).parents[1].iterdir():
        if not entry.name.startswith(("copilot", "github_copilot_sdk", *names)):
            (directory / entry.name).symlink_to(entry)
    return directory


def without_sdk(bare: Path, cwd: Path, *args: str, **variables: str) -> Ended:
    source = Path(package.__file__).parents[1]
    env = environment({**NOTHING, "PYTHONPATH": f"{source}{os.pathsep}{bare}", **variables})
    done = subprocess.run(
        [sys.executable, "-S", "-m", "waza", *args],
        cwd=cwd,
        env=env,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode(), cwd)


def test_without_the_sdk_real_agents_say_what_to_install(bare: Path, tmp_path: Path):
    write_suite(tmp_path, {"GO": task("GO")})
    for args in (["run", "eval.yaml"], ["models"]):
        ended = without_sdk(bare, tmp_path, *args)
        assert ended.code == 2
        assert without_hints(ended.err).startswith(
            "Error: the executor copilot-sdk needs the GitHub Copilot SDK. Install it:\n"
        )
        assert "  pip install 'waza[copilot]'\n" in ended.err
        assert "Traceback" not in ended.err
    assert not list(tmp_path.glob(".waza/runs/*"))
    ended = without_sdk(bare, tmp_path, "run", "eval.yaml", "--executor", "mock")
    assert ended.code == 1, "the mock runs, and says something else than the suite wants"
    assert ended.results()["tasks"][0]["status"] == "failed"


def test_without_the_sdk_the_doctor_says_so(bare: Path, tmp_path: Path):
    ended = without_sdk(bare, tmp_path, "doctor", COPILOT_CLI_PATH=str(runtime_path()))
    assert ended.code == 1
    (advice,) = re.findall(r"⚠ Copilot SDK: not installed\n    (.*)\n", ended.out)
    checkout = Path(package.__file__).parents[2]
    command = [sys.executable, "-m", "pip", "install", "--editable", f"{checkout}[copilot]"]
    assert shlex.split(advice) == command
    assert "⚠ Copilot runtime: not tried: the SDK is missing" in ended.out


def test_extras_that_are_not_installed_are_named_with_the_command_that_installs_them(tmp_path: Path):
    packages = packages_without(tmp_path / "packages", "opentelemetry", "bpe_openai", "obstore", "wasmtime")
    (tmp_path / ".waza.yaml").write_text("storage: {provider: s3, bucket: results}\n", encoding="utf-8")
    ended = without_sdk(packages, tmp_path, "doctor", "--json", COPILOT_CLI_PATH="nowhere")
    found = findings(ended)
    for extra in EXTRAS:
        one = found[f"Extra {extra}"]
        missing = extra in ("claude", "otel", "tokens", "objects", "wasm")
        assert (one["ok"], one["needed"]) == (not missing, False)
        assert one["advice"].endswith(f"[{extra}]'") == missing
    store = found["Store of results"]
    assert (store["ok"], store["needed"], store["finding"]) == (False, True, "s3 needs obstore")
    assert store["advice"].endswith("[objects]'")


STORES: list[tuple[str, dict[str, str], bool, str]] = [
    ("provider: s3, bucket: b", {"AWS_ACCESS_KEY_ID": "i", "AWS_SECRET_ACCESS_KEY": "s3cret"}, True, "s3, with credentials of AWS_ACCESS_KEY_ID; --online asks it"),
    ("provider: s3, bucket: b", {"AWS_ACCESS_KEY_ID": "i"}, False, "s3, no credentials are in sight; those of the machine, if it has any, are tried; --online asks it"),
    ("provider: gcs, bucket: b", {"GOOGLE_APPLICATION_CREDENTIALS": "nowhere"}, False, "gcs, GOOGLE_APPLICATION_CREDENTIALS names nowhere, which is no file; --online asks it"),
    ("provider: gcs, bucket: b", {"GOOGLE_APPLICATION_CREDENTIALS": ".waza.yaml"}, True, "gcs, with credentials of GOOGLE_APPLICATION_CREDENTIALS; --online asks it"),
    ("provider: azure-blob, accountName: acme", {"AZURE_CONFIG_DIR": "azure"}, True, "azure-blob, with credentials of az login; --online asks it"),
    ("provider: azure-blob, accountName: acme", {"AZURE_CONFIG_DIR": "none"}, False, "azure-blob, no credentials are in sight; those of the machine, if it has any, are tried; --online asks it"),
    ("provider: azure-blob, connectionString: 'AccountName=acme;AccountKey=s3cret'", {}, True, "azure-blob, with credentials of the connection string of .waza.yaml; --online asks it"),
    ("provider: s3, bucket: b, enabled: false", {}, True, "switched off in .waza.yaml"),
    ("provider: file, path: azure", {}, True, "file, {place}/azure can be written to"),
    ("provider: file, path: nowhere", {}, False, "file, there is no directory {place}/nowhere"),
]  # fmt: skip


@pytest.mark.parametrize(("section", "variables", "ok", "told"), STORES)
def test_credentials_of_the_store_that_are_in_sight(
    tmp_path: Path, section: str, variables: dict[str, str], ok: bool, told: str
):
    (tmp_path / "azure").mkdir()
    (tmp_path / "azure" / "azureProfile.json").write_text(
        '\ufeff{"subscriptions": [{"id": "x"}]}', encoding="utf-8"
    )
    (tmp_path / ".waza.yaml").write_text(f"storage: {{{section}}}\n", encoding="utf-8")
    nothing = dict.fromkeys(
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_CLIENT_ID"), ""
    )
    ended = doctor(tmp_path, "--json", **{**nothing, "APPDATA": "", **variables})
    store = findings(ended)["Store of results"]
    assert (store["ok"], store["finding"]) == (ok, told.format(place=tmp_path))
    assert "s3cret" not in ended.out
    assert bool(store["advice"]) == (not ok and "names" not in told)


def test_the_store_is_asked_only_where_that_is_wanted(tmp_path: Path, served: dict[str, str]):
    (tmp_path / "kept").mkdir()
    for path, ok, told in (("kept", True, "kept answers"), ("gone", False, "there is no directory gone")):
        (tmp_path / ".waza.yaml").write_text(f"storage: {{provider: file, path: {path}}}\n", encoding="utf-8")
        ended = doctor(tmp_path, "--json", "--online", COPILOT_CLI_PATH=str(runtime_path()), **served)
        store = findings(ended)["Store of results"]
        assert (ended.code, store["ok"], store["needed"]) == (0 if ok else 1, ok, not ok)
        assert store["finding"].startswith(told)
    text = "storage: {provider: s3, bucket: b, endpoint: 'http://127.0.0.1:9', region: r}\n"
    (tmp_path / ".waza.yaml").write_text(text, encoding="utf-8")
    assert "s3, " in findings(doctor(tmp_path, "--json"))["Store of results"]["finding"]


def test_a_model_server_that_does_not_answer_is_named(tmp_path: Path):
    ended = doctor(tmp_path, "--json", COPILOT_CLI_PATH=str(runtime_path()), **OWN_SERVER)
    assert ended.code == 1
    assert (
        "the model server at 127.0.0.1:9 cannot be reached" in findings(ended)["Copilot runtime"]["finding"]
    )
