"""What a command imports before it does anything: exact, and the same on a busy machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

REPORT = """
import sys
before = set(sys.modules)
sys.argv = ["waza", *{args!r}]
from waza.__main__ import main
try:
    main()
except SystemExit:
    pass
sys.stdout.flush()
print("MODULES\\n" + "\\n".join(sorted(set(sys.modules) - before)), file=sys.stderr)
"""

VERSION = {"waza", "waza.__main__", "waza.version"}
HELP = {
    *VERSION,
    "waza.cli",
    "waza.cli.app",
    "waza.cli.option_spelling",
    "waza.cli.std_streams",
    "waza.errors",
}
OF_OPTIONS: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("run", "grade", "compare", "preflight"), ("numbers", "options", "paths")
)
OF_OPTIONS["results list"] = ("moment", "numbers", "options", "paths")
# Heavy modules that no help text needs.
NEVER_FOR_HELP = {
    "asyncio",
    "msgspec",
    "pathlib",
    "yaml",
    "re2",
    "rich",
    "jsonschema_rs",
    "psutil",
    "sqlite3",
    "xml",
    "difflib",
}

RUN = {"waza", "click", "msgspec", "yaml", "re2", "typing_extensions"}
NEVER_FOR_RUN = {"rich", "jsonschema_rs", "psutil", "sqlite3", "importlib.metadata", "tarfile", "html"}
RUN_GRADERS = {f"waza.graders.{name}" for name in ("base", "behavior", "text")}


def imported(*args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", REPORT.format(args=list(args))], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split("MODULES\n")[1].split())


def test_version_imports_nothing_but_the_version():
    waza = {name for name in imported("--version") if name.split(".")[0] not in sys.stdlib_module_names}
    assert waza - {"importlib.metadata"} == VERSION


def test_help_imports_no_command():
    found = imported("--help")
    assert {name for name in found if name.split(".")[0] == "waza"} == HELP
    assert {name.split(".")[0] for name in found if name.split(".")[0] not in sys.stdlib_module_names} == {
        "waza",
        "click",
    }
    assert not found & NEVER_FOR_HELP


@pytest.mark.parametrize("command", ["run", "grade", "compare", "preflight", "schema", "results list"])
def test_help_of_a_command_imports_its_options_only(command):
    found = imported(*command.split(), "--help")
    own = {f"waza.cli.{name}" for name in (command.split()[0], *OF_OPTIONS.get(command, ()))}
    assert {name for name in found if name.split(".")[0] == "waza"} == {*HELP, *own}
    assert not found & NEVER_FOR_HELP


def test_a_run_imports_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "a.yaml").write_text("{name: a, inputs: {prompt: p}}", encoding="utf-8")
    suite = "{config: {executor: mock}, tasks: ['tasks/*.yaml'], graders: [{type: text, config: {contains: [p]}}]}"
    (tmp_path / "eval.yaml").write_text(suite, encoding="utf-8")
    found = imported("run", "eval.yaml")
    packages = {name.split(".")[0] for name in found if name.split(".")[0] not in sys.stdlib_module_names}
    assert {name for name in packages if not name.startswith(("_cython", "cython"))} <= RUN
    assert not found & NEVER_FOR_RUN
    assert not {name for name in found if name.startswith("waza.stores.")}
    assert {name for name in found if name.startswith("waza.graders.")} == RUN_GRADERS


def test_importing_the_library_loads_nothing_of_it():
    code = "import sys, waza; print(sorted(m for m in sys.modules if m.startswith('waza')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['waza', 'waza.version']"
