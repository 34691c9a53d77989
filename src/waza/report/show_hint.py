"""The command that shows a run, a task or a trial, for people to copy."""

from __future__ import annotations

import shlex

from waza.model.trial import Arm


def show_command(run: str, task: str = "", trial: int = 0, arm: Arm = "main") -> str:
    """Return the command that shows a run, a task of it (by its id), or one of its trials (0: whichever comes first)."""
    words = ["waza", "show", run]
    words += ["--", task] if task.startswith("-") else [task] if task else []
    options = [*(["--trial", str(trial)] if trial else []), *(["--baseline"] if arm == "baseline" else [])]
    at = words.index("--") if "--" in words else len(words)
    return shlex.join([*words[:at], *options, *words[at:]])
