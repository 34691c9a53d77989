"""Repositories of graders, made for a test: bare ones, below a directory that stands for github.com."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
MANIFEST = "schema_version: 1\nexports: {{graders: {{{}}}}}\n"
ENVIRONMENT = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "ada@example.com"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


class Upstream:
    """A bare repository, `<hosts>/acme/graders.git` unless it is named otherwise."""

    def __init__(self, hosts: Path, name: str = "acme/graders") -> None:
        self.hosts, self.path = hosts, hosts / f"{name}.git"
        self.path.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main")

    @classmethod
    def of(cls, hosts: Path, files: Mapping[str, str | bytes], programs: Collection[str] = ()) -> Upstream:
        """One with a commit that is tagged v1."""
        made = cls(hosts)
        made.commit(files, programs, tag="v1")
        return made

    def git(self, *args: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.path, input=stdin, env=ENVIRONMENT, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def commit(
        self,
        files: Mapping[str, str | bytes],
        programs: Collection[str] = (),
        links: Mapping[str, str] | None = None,
        submodules: Collection[str] = (),
        tag: str = "",
        branch: str = "main",
    ) -> str:
        """Make a commit of these files alone, and return its hash."""
        entries = [
            _entry(PROGRAM if name in programs else FILE, name, content) for name, content in files.items()
        ]
        entries += [_entry(LINK, name, target) for name, target in (links or {}).items()]
        entries += [f'M {SUBMODULE} {"0" * 39}1 "{name}"\n'.encode() for name in submodules]
        head = f"commit refs/heads/{branch}\ncommitter Ada <ada@example.com> 0 +0000\ndata 0\n\ndeleteall\n"
        self.git("fast-import", "--quiet", "--force", stdin=head.encode() + b"".join(entries) + b"\n")
        if tag:
            self.git("tag", "--force", tag, branch)
        return self.git("rev-parse", branch)

    def blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", stdin=content)

    def tree(self, *entries: tuple[str, str, str]) -> str:
        """Make a tree of (mode, id, name) with any names, and return its id."""
        kinds = {"040000": "tree", SUBMODULE: "commit"}
        lines = (f"{mode} {kinds.get(mode, 'blob')} {oid}\t{name}\0" for mode, oid, name in entries)
        return self.git("mktree", "-z", stdin="".join(lines).encode())

    def commit_tree(self, tree: str, tag: str) -> str:
        commit = self.git("commit-tree", tree, "-m", "made by hand")
        self.git("tag", "--force", tag, commit)
        return commit


def _entry(mode: str, name: str, content: str | bytes) -> bytes:
    data = content if isinstance(content, bytes) else content.encode()
    return f'M {mode} inline "{name}"\ndata {len(data)}\n'.encode() + data + b"\n"


def manifest(*names: str, **paths: str) -> str:
    """A manifest that exports graders, each from `<name>.yaml` unless a path is given."""
    exports = {**{name: f"{name}.yaml" for name in names}, **paths}
    return MANIFEST.format(", ".join(f"{name}: {{path: '{path}'}}" for name, path in exports.items()))


def files_below(directory: Path) -> list[str]:
    """The files below a directory, by their paths in it."""
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
