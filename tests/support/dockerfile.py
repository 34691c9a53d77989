"""Building the stages of a Dockerfile without Docker: RUN and COPY are carried out in roots of their own.

The root of a stage is an overlay on the root of this machine, which is the stand-in for its base image: what the stage
writes is in a directory of the test. It needs the rights to mount and to change the root.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

LIMIT = 600  # seconds an instruction may take
# Python as an image of it has it: at /usr/local, where users without rights can reach it.
_PYTHON = f"""
python={shlex.quote(os.path.realpath(sys.executable))}
library={shlex.quote(str(Path(os.__file__).parent))}
rm -rf "/usr/local/lib/${{library##*/}}"
ln -s "$library" /usr/local/lib
rm -f /usr/local/bin/python
cp "$python" /usr/local/bin/python
printf '#!/bin/sh\\nexec /usr/local/bin/python -m pip "$@"\\n' > /usr/local/bin/pip
chmod 755 /usr/local/bin/pip
while [ "$library" != / ]; do chmod o+rx "$library"; library=$(dirname "$library"); done
"""


@dataclass
class Stage:
    """A stage: its base, its files, and what its instructions have set."""

    name: str
    base: str
    home: Path
    env: dict[str, str] = field(default_factory=dict)
    user: str = "0"
    directory: str = "/"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    @property
    def written(self) -> Path:
        """The directory with the files that the stage wrote, as below `/`."""
        return self.home / "upper"


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile: the word, and the rest as one line."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, rest.strip()


def can_build() -> bool:
    """Whether this process may mount an overlay and change its root."""
    if sys.platform != "linux" or os.geteuid() or not (shutil.which("unshare") and shutil.which("setpriv")):
        return False
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


class Build:
    """A build of all stages of a Dockerfile with its context, as `docker build` reads it."""

    def __init__(self, dockerfile: Path, home: Path) -> None:
        self.context = dockerfile.parent
        self.home = home
        self.stages: dict[str, Stage] = {}
        for word, rest in instructions(dockerfile.read_text(encoding="utf-8")):
            if word == "FROM":
                base, _, name = rest.partition(" AS ")
                stage = self._start(name or f"stage {len(self.stages)}", base)
            else:
                getattr(self, f"_{word.lower()}")(stage, rest)
        self.image = stage

    def run(
        self, stage: Stage, words: Sequence[str], *, user: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in the root of a stage, as its user, with its variables, in its directory."""
        who = stage.user if user is None else user
        merged, upper, work = (stage.home / name for name in ("root", "upper", "work"))
        options = f"lowerdir=/,upperdir={upper},workdir={work}"
        script = f"""
mount -t overlay overlay -o {shlex.quote(options)} {shlex.quote(str(merged))}
cd {shlex.quote(str(merged))}
mount --rbind /dev dev
mount -t proc proc proc
exec chroot . setpriv --reuid={who} --regid={who} --clear-groups sh -c 'cd "$0" && exec "$@"' "$0" "$@"
"""
        return subprocess.run(
            ["unshare", "--mount", "--propagation=private", "sh", "-ec", script, stage.directory, *words],
            env=_variables(stage.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def _start(self, name: str, base: str) -> Stage:
        stage = Stage(name, base, self.home / name.replace(" ", "-"))
        for directory in ("root", "upper", "work"):
            (stage.home / directory).mkdir(parents=True)
        self.stages[name] = stage
        if base.startswith("python:"):
            self._run(stage, _PYTHON)
        return stage

    def _run(self, stage: Stage, rest: str) -> None:
        done = self.run(stage, ["sh", "-c", rest])
        assert done.returncode == 0, f"RUN {rest}\n{done.stdout}{done.stderr}"

    def _copy(self, stage: Stage, rest: str) -> None:
        words = shlex.split(rest)
        of_stage = words[0].startswith("--from=")
        source = self.stages[words.pop(0).removeprefix("--from=")].written if of_stage else self.context
        *names, to = words

        def ignored(path: str | Path, entries: list[str]) -> set[str]:
            return set() if of_stage else {entry for entry in entries if self._ignored(Path(path, entry))}

        target = stage.written / os.path.normpath(PurePosixPath(stage.directory, to)).lstrip("/")
        there = [found for name in names for found in sorted(source.glob(name.lstrip("/")))]
        assert len(there) >= len(names) > 0, f"COPY {rest}: not all of it is there"
        for found in there:
            assert not ignored(found.parent, [found.name]), (
                f"COPY {rest}: .dockerignore leaves {found.name} out"
            )
            if found.is_dir():
                shutil.copytree(found, target, symlinks=True, ignore=ignored, dirs_exist_ok=True)
            else:
                file = target / found.name if to.endswith("/") else target
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(found, file)

    def _ignored(self, path: Path) -> bool:
        """Return what the last pattern of `.dockerignore` says that matches a path, or a directory that it is in."""
        relative = path.relative_to(self.context)
        ignored = False
        for line in (self.context / ".dockerignore").read_text(encoding="utf-8").splitlines():
            pattern = line.removeprefix("!")
            names = [relative, *relative.parents][:-1]
            if line and not line.startswith("#") and any(_matches(name, pattern) for name in names):
                ignored = not line.startswith("!")
        return ignored

    def _workdir(self, stage: Stage, rest: str) -> None:
        (stage.written / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        stage.directory = rest

    def _env(self, stage: Stage, rest: str) -> None:
        name, _, value = rest.partition("=")
        stage.env[name] = value.replace("$PATH", _variables(stage.env)["PATH"])

    def _user(self, stage: Stage, rest: str) -> None:
        stage.user = rest

    def _entrypoint(self, stage: Stage, rest: str) -> None:
        stage.entrypoint = json.loads(rest)

    def _cmd(self, stage: Stage, rest: str) -> None:
        stage.command = json.loads(rest)


def _matches(path: Path, pattern: str) -> bool:
    name = path.as_posix()
    return path.name == pattern[3:] if pattern.startswith("**/") else fnmatch(name, pattern)


def _variables(own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an image; those of this machine that say where packages come from are kept."""
    kept = {name: value for name, value in os.environ.items() if re.match(r"(PIP|NPM|npm|SSL|NODE)_", name)}
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {**kept, "PATH": path, "HOME": "/root", "LANG": "C.UTF-8", **own}
