"""Makes the git repository that the tasks work on: greeter/, with two commits and the tag v1.0.

A suite of your own would name a clone that is there already. Nothing happens when the repository is there.
"""

import os
import subprocess
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
REPOSITORY = HOME / "greeter"
IDENTITY = ["-c", "user.name=Example", "-c", "user.email=example@example.com", "-c", "commit.gpgsign=false"]
DATE = "2025-01-15T12:00:00+0000"

FIRST = {
    "README.md": "# greeter\n\nSays hello.\n",
    "src/greeter.py": 'def greet(name):\n    return "Hello, " + nmae\n',
    "tests/test_greeter.py": 'from greeter import greet\n\n\ndef test_greet():\n    assert greet("Ada") == "Hello, Ada"\n',
}
SECOND = {
    "src/greeter.py": 'def greet(name):\n    return "Hello, " + name\n',
    "CHANGELOG.md": "# Changelog\n\n* The name is spelt right.\n",
}


def git(*arguments):
    # Without the GIT_ variables that git sets when this runs inside one of its hooks.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    dates = {"GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE}
    subprocess.run(["git", *IDENTITY, *arguments], cwd=REPOSITORY, check=True, env=environment | dates)


def commit(files, message):
    for name, content in files.items():
        path = REPOSITORY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="\n")
    git("add", "--all")
    git("commit", "--quiet", "--message", message)


if not (REPOSITORY / ".git").exists():
    REPOSITORY.mkdir(exist_ok=True)
    git("init", "--quiet")
    commit(FIRST, "Say hello")
    git("tag", "v1.0")
    commit(SECOND, "Spell the name right")
