"""Passes when the agent changed exactly the files that are named, as git sees it.

Usage: only_changed.py DIRECTORY [FILE...]: a worktree below the workspace, and paths in it.
"""

import os
import subprocess
import sys
from pathlib import Path

worktree = Path(os.environ["WAZA_WORKSPACE_DIR"], sys.argv[1])
expected = sorted(sys.argv[2:])
command = ["git", "status", "--porcelain", "--untracked-files=all"]
# Without the GIT_ variables that git sets when this runs inside one of its hooks.
environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
status = subprocess.run(command, cwd=worktree, env=environment, capture_output=True, text=True, check=True)
changed = sorted(line[3:] for line in status.stdout.splitlines())

if changed != expected:
    sys.exit(f"changed: {', '.join(changed) or 'nothing'}; expected: {', '.join(expected) or 'nothing'}")
print(f"changed: {', '.join(changed) or 'nothing'}")
