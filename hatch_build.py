"""What the build of wheels and sdists does besides: the pages of the dashboard are in them, or there is no wheel.

The pages are built from TypeScript and are not in git. Where they are missing, as in a fresh checkout, they are built
with npm; an sdist has them, so that nobody needs npm to install one. Hooks of pre-commit, which builds a checkout where
there may be no npm, do without: they serve no pages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FRONT_END = "dashboard"
PAGES = "src/waza/dashboard/static/index.html"
WITHOUT_PAGES = (
    "PRE_COMMIT",
    "WAZA_BUILD_WITHOUT_PAGES",
)  # variables; pre-commit sets the first one when it runs hooks


class DashboardHook(BuildHookInterface):
    """Builds the pages of the dashboard unless they are there. `waza serve` of a checkout says itself if they are not."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 -- the signature is hatchling's
        """Build the pages.

        Raises:
            RuntimeError: if they cannot be built; the build of the package ends with it.
        """
        pages = Path(self.root) / PAGES
        if version == "editable" or pages.is_file() or any(map(os.environ.get, WITHOUT_PAGES)):
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(
                f"{PAGES} is missing and npm, which builds it, is not there: install Node.js 20 or newer, "
                f"install a released package, which has it, or set {WITHOUT_PAGES[-1]}=1 to do without `waza serve`"
            )
        front_end = Path(self.root) / FRONT_END
        for words in (["ci", "--ignore-scripts", "--no-audit", "--no-fund"], ["run", "build"]):
            try:
                subprocess.run([npm, *words], cwd=front_end, check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                raise RuntimeError(f"the pages of the dashboard cannot be built: {error}") from error
        if not pages.is_file():
            raise RuntimeError(f"`npm run build` in {FRONT_END} did not write {PAGES}")
