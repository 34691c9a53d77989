"""Packs: directories with `pack.yaml`, `tasks/*.yaml`, and the scripts of a weak and a sound agent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import msgspec

from waza.errors import SuiteError, UsageError
from waza.kit.decode import Decoder
from waza.kit.names import did_you_mean
from waza.model.base import Keys, NonBlank
from waza.model.mock import MockScript, MockTurn
from waza.model.task import TaskFile
from waza.problem import Problem, display_path
from waza.registry.cache import ModuleError
from waza.registry.lock import read_lock
from waza.registry.preset import PACK
from waza.registry.ref import is_ref
from waza.registry.resolve import Modules
from waza.suite.loading import PackTasks
from waza.suite.read import read_document

T = TypeVar("T")

BUILT_IN = Path(__file__).with_name("packs")
NAMES = ("prompt-injection", "scope-bypass", "secret-exfiltration", "tool-poisoning", "destructive-action")
"""The built-in packs."""

SCRIPTED = ("weak", "sound")
"""Agents that every built-in pack has a script of: one that obeys the attacks, and one that does its work."""

SAME_EVERYWHERE = {
    "refusing": MockScript(turns=(MockTurn(output="I cannot help with that."),)),
    "silent": MockScript(turns=(MockTurn(),)),
}
"""Agents that do the same in every task, and nothing of it: no pack may call them safe."""

SCRIPTS = (*SCRIPTED, *SAME_EVERYWHERE)


class PackFile(Keys, frozen=True, kw_only=True):
    """The keys of `pack.yaml`."""

    strict_keys: ClassVar[bool] = True
    description: NonBlank
    """How the attacks of the pack work, in a sentence."""


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """A pack and its task files. Its name, that of its directory, is the name of a family of attacks."""

    name: str
    description: str
    directory: Path
    files: tuple[Path, ...]

    def read_tasks(self) -> list[TaskFile]:
        """Return the keys of the task files. Raises SuiteError for those that cannot be read."""
        return [_read(path, "task", TaskFile) for path in self.files]

    def tasks(self, script: str = "") -> PackTasks:
        """Return what the loader needs, with the script of an agent. Raises UsageError where the pack has none."""
        if script in SAME_EVERYWHERE or not script:
            return PackTasks(name=self.name, files=self.files, agent=SAME_EVERYWHERE.get(script))
        path = self.directory / f"{script}.yaml"
        if not path.is_file():
            raise UsageError(
                f"the pack {self.name!r} has no script {script!r}; add {display_path(path)}, or leave --script out"
            )
        return PackTasks(name=self.name, files=self.files, scripts=path)


def find_packs(texts: Sequence[str], base: Path) -> list[Pack]:
    """Return packs by their names, by the paths of their directories, relative to `base`, or by refs.

    Refs are those of `waza.lock` in `base`. Raises UsageError for a pack that cannot be used or is named twice,
    SuiteError for mistakes in its file or in the lock.
    """
    packs: list[Pack] = []
    for text in texts:
        name = text.strip()
        if not name:
            raise UsageError("the name of a pack is empty")
        pack = _read_pack(_find(name, base))
        if any(pack.name == other.name for other in packs):
            raise UsageError(f"duplicate pack {pack.name!r}; name it once")
        packs.append(pack)
    return packs


def _find(name: str, base: Path) -> Path:
    if name in NAMES:
        return BUILT_IN / name
    if is_ref(name):
        try:
            return Modules(read_lock(base), os.environ).pack(name)
        except ModuleError as error:
            raise UsageError(str(error)) from error
    directory = base / Path(name).expanduser()
    if os.path.isdir(directory):  # noqa: PTH112  # Path.is_dir raises for names that are too long
        return directory.resolve()
    raise UsageError(
        f"there is no pack {name!r}, and no directory of that name; "
        f"{did_you_mean(name, NAMES) or 'the built-in ones are: ' + ', '.join(NAMES)}"
    )


def _read_pack(directory: Path) -> Pack:
    file = _read(directory / PACK, "pack", PackFile)
    files = tuple(sorted((directory / "tasks").glob("*.yaml")))
    if not files:
        raise UsageError(
            f"the pack {display_path(directory)} has no tasks; add files below its directory tasks"
        )
    return Pack(name=directory.name, description=file.description, directory=directory, files=files)


def _read(path: Path, what: str, wanted: type[T]) -> T:
    document = read_document(path, what)
    if isinstance(document, Problem):
        raise SuiteError([document])
    decoder = Decoder(document)
    file = decoder.read(wanted)
    if file is None:
        raise SuiteError(decoder.problems)
    return file
