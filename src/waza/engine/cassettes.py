"""The cassettes of a run: those that it records, and those that it replays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from waza.errors import ExecutorError, RunError, WazaError
from waza.kit.redact import Redactor
from waza.model.agent import Provider
from waza.model.loaded import Suite
from waza.model.skill import Target
from waza.model.trial import TrialKey
from waza.model.wire import WireMode, wire_keys
from waza.suite.digest import suite_digest

if TYPE_CHECKING:
    from waza.wire.cassette import CassetteHeader, CassettePlace, CassettePlayer, CassetteRecorder
    from waza.wire.scrub import Scrubber

CASSETTES = "cassettes"
"""The directory of a run that has its cassettes."""


class Cassettes:
    """What a run records or replays. `directory` is that of the run."""

    def __init__(self, suite: Suite, model: str, run_id: str, directory: Path, redactor: Redactor) -> None:
        keys = wire_keys(suite.file.config.wire)
        self.mode: WireMode = keys.mode
        self._suite, self._model, self._run_id, self._redactor = suite, model, run_id, redactor
        self.directory = directory / CASSETTES
        self.notes: list[str] = []
        self._sessions: dict[TrialKey, int] = {}
        self._headers: dict[CassettePlace, tuple[CassetteHeader, Path]] = {}
        if self.replays:
            self.directory = find_cassette_directory(keys.cassettes, suite.directory, directory.parent)
            self._read_headers()

    @property
    def replays(self) -> bool:
        """Whether agents get their answers from cassettes."""
        return self.mode == "replay"

    @property
    def provider(self) -> Provider | None:
        """The model server of the run that was recorded, without its address; None: its agents had theirs by the environment."""
        for header, _ in self._headers.values():
            if header.interface is not None:
                given = header.interface
                return Provider(base_url="", type=given.type, wire_api=given.wire_api, known_host=given.host)
        return None

    def open(
        self, key: TrialKey, target: Target | None, workspace: Path | None, provider: Provider | None
    ) -> CassetteRecorder | CassettePlayer:
        """Return what records or replays the next attempt of a trial. ExecutorError: there is no cassette, or it cannot be used."""
        from waza.wire.cassette import CassettePlace

        session = self._sessions[key] = self._sessions.get(key, 0) + 1
        place = CassettePlace(arm=key.arm, task=key.task_id, trial=key.number, session=session)
        return self._open(place, target, workspace, provider)

    def open_judges(self, provider: Provider | None) -> CassetteRecorder | CassettePlayer | None:
        """Return what records or replays judges and responders. None: none were recorded."""
        from waza.wire.cassette import JUDGES

        if self.replays and JUDGES not in self._headers:
            return None
        return self._open(JUDGES, None, None, provider)

    def _open(
        self, place: CassettePlace, target: Target | None, workspace: Path | None, provider: Provider | None
    ) -> CassetteRecorder | CassettePlayer:
        from waza.wire.cassette import CassettePlayer, CassetteRecorder, read_cassette

        if not self.replays:
            header = self._header(place, target, provider)
            return CassetteRecorder(self.directory, header, self._scrubber(workspace), self._redactor)
        if place not in self._headers:
            raise ExecutorError(
                f"{self.directory} has no cassette of {place}; record the run again: waza run --wire record"
            )
        recorded, path = self._headers[place]
        try:
            cassette = read_cassette(path)
        except WazaError as error:
            raise ExecutorError(str(error)) from error
        if cassette.cut:
            raise ExecutorError(f"{path} grew too large when it was recorded, and its end is missing")
        return CassettePlayer(
            cassette, self._scrubber(workspace), self._redactor, self._explain(recorded, target)
        )

    def _explain(self, recorded: CassetteHeader, target: Target | None) -> Callable[[], str]:
        def explain() -> str:
            if target is not None and recorded.skill_digest != _skill_digest(target):
                return f"the skill {target.name} has changed since it was recorded"
            return ""

        return explain

    def _scrubber(self, workspace: Path | None) -> Scrubber:
        from waza.wire.scrub import Scrubber

        places = {"suite": self._suite.directory}
        if workspace is not None:
            places["workspace"] = workspace
        found = {word: str(path) for word, path in places.items()}
        found |= {f"{word} ": str(path.resolve()) for word, path in places.items() if path.resolve() != path}
        return Scrubber(found)

    def _header(
        self, place: CassettePlace, target: Target | None, provider: Provider | None
    ) -> CassetteHeader:
        from waza.wire.cassette import FORM, VERSION, CassetteHeader, Interface

        return CassetteHeader(
            form=FORM,
            version=VERSION,
            run=self._run_id,
            suite=self._suite.name,
            digest=_digest(self._suite),
            executor=self._suite.file.config.executor,
            model=self._model,
            place=place,
            interface=Interface(type=provider.type, wire_api=provider.wire_api, host=provider.host)
            if provider
            else None,
            skill=target.name if target else "",
            skill_digest=_skill_digest(target) if target else "",
        )

    def _read_headers(self) -> None:
        from waza.wire.cassette import find_cassettes, read_header

        for path in find_cassettes(self.directory):
            try:
                header = read_header(path)
            except WazaError as error:
                raise RunError(str(error)) from error
            config = self._suite.file.config
            if (
                header.executor == config.executor
                and header.model == self._model
                and header.suite == self._suite.name
            ):
                self._headers[header.place] = header, path
        if not self._headers:
            raise RunError(
                f"{self.directory} has no cassettes of the suite {self._suite.name} with the executor "
                f"{self._suite.file.config.executor} and {self._model or 'its default model'}; "
                "see waza cassette list"
            )
        if any(header.digest != _digest(self._suite) for header, _ in self._headers.values()):
            self.notes.append(
                f"the suite, or waza's version, is not that of the cassettes in {self.directory}: what differs fails"
            )


def find_cassette_directory(written: str, suite: Path, runs: Path) -> Path:
    """Return the directory of cassettes that a suite or option names: a directory, that of a run, or a run by its id.

    Raises RunError when there is no such directory.
    """
    for root in (suite, runs):
        for found in (root / written / CASSETTES, root / written):
            if found.is_dir():
                return found
    raise RunError(
        f"there is no directory or run {written} with cassettes; record one: waza run --wire record"
    )


def _digest(suite: Suite) -> str:
    """Return the digest of a suite, whatever its wire."""
    config = msgspec.structs.replace(suite.file.config, wire=None)
    file = msgspec.structs.replace(suite.file, config=config)
    return suite_digest(msgspec.structs.replace(suite, file=file))


def _skill_digest(target: Target) -> str:
    from waza.wire.cassette import text_digest

    return text_digest(target.description, target.body)
