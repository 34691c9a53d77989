"""Scripts that fill the workspace of a case. They run with the user's rights, so only where the user asked for it."""

from __future__ import annotations

import asyncio
import shutil
import stat
from pathlib import Path

from waza.foreign.plugin_evals.cases import Case
from waza.foreign.source import MAX_FILES, MAX_FIXTURE, SourceFolder
from waza.kit.process import FinishedProcess, run
from waza.kit.tempdirs import ProcessTempdir
from waza.kit.text import shorten_middle

_SECONDS = 60.0
_SHOWN = 300  # characters of what a script wrote


class Scaffold:
    """Runs scripts, each in an empty directory of its own."""

    def run(self, source: SourceFolder, case: Case) -> dict[str, bytes]:
        """Run the script of a case; return the files that it made by their paths. Mistakes are in `source`."""
        relative = case.path(case.context.scaffold_script)
        if source.read(relative) is None:
            return {}
        script = (source.root / relative).resolve()
        temporary = ProcessTempdir("scaffold")
        workspace = temporary.path / "workspace"  # beside the file by which the directory is owned
        try:
            workspace.mkdir()
            ended = asyncio.run(_run(script, workspace))
            if not ended.ok:
                said = shorten_middle(ended.stderr.decode("utf-8", "replace").strip(), _SHOWN)
                source.error("unreadable-file", relative, f"the script failed ({ended.outcome}): {said}")
                return {}
            return _collect(workspace, source, relative)
        finally:
            temporary.remove()


async def _run(script: Path, workspace: Path) -> FinishedProcess:
    bash = shutil.which("bash")
    if bash is None:
        return FinishedProcess(start_error="bash is not installed")
    return await run([bash, str(script)], cwd=workspace, timeout=_SECONDS)


def _collect(workspace: Path, source: SourceFolder, relative: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in sorted(workspace.rglob("*")):
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            continue
        name = path.relative_to(workspace).as_posix()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FIXTURE or len(found) >= MAX_FILES:
            message = (
                f"the script made {name!r}, which cannot be kept: only files of bounded size and number are"
            )
            source.error("unreadable-file", relative, message)
            return {}
        found[name] = path.read_bytes()
    return found
