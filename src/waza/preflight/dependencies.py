"""What a suite needs: its executor, mocks and servers, skills, files, graders from elsewhere, programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.kit.decode import Document, format_path
from waza.model.loaded import Suite
from waza.model.mocks import CommandMock, McpMock
from waza.model.preflight import Dependency, Diagnostic, Mode, PreflightState
from waza.model.suite import GraderEntry
from waza.model.task import Task, TaskFile
from waza.model.verdict import BuiltGrader
from waza.preflight.diagnosis import LoaderDiagnostics, make_diagnostic
from waza.problem import Code, Problem
from waza.registry.cache import ModuleError
from waza.registry.ref import is_ref
from waza.suite.discover import find_required_skills
from waza.suite.loading import Loading, TaskSource
from waza.suite.read import at
from waza.suite.skills import disabled_skills, enabled_directories, suite_paths

Path = tuple[str | int, ...]

# What nothing local can confirm, by its kind: code, what is not known, and what to do.
_UNCONFIRMED: dict[str, tuple[Code, str, str]] = {
    "executor": (
        "unconfirmed-executor",
        "whether the executor {!r} can be started is known only in a run",
        "`waza doctor` says what real agents need; `waza run --executor mock` does without",
    ),
    "mcp_server": (
        "unconfirmed-server",
        "whether the MCP server {!r} answers is known only in a run",
        "mock it with mcp_mocks, or make sure that it is available",
    ),
    "hook": (
        "unconfirmed-hook",
        "what the hook {} does is known only in a run",
        "make sure that its program is available",
    ),
    "program": (
        "unconfirmed-program",
        "a grader runs the program {!r}, and whether it works is known only in a run",
        "make sure that it is available; `waza grade` tries it on recorded results",
    ),
    "repository": (
        "unconfirmed-repository",
        "git is not asked whether {!r} has the commit",
        "make sure that the repository and its commit are available",
    ),
}


class Dependencies:
    """The dependencies of a suite that was examined. States follow from the problems at their places."""

    def __init__(self, suite: Suite, loading: Loading, diagnostics: LoaderDiagnostics) -> None:
        self._suite, self._loading, self._diagnostics = suite, loading, diagnostics
        self._file, self._document = loading.file, loading.document

    def all(self) -> list[Dependency]:
        """Return them: those of the suite, then task by task, each once."""
        found = [*self._executor(), *self._servers(), *self._targets(), *self._skills(), *self._hooks()]
        found += self._instructions(self._document, self._file.config.instruction_files, ("config",), "")
        found += self._mocks(self._document, self._file.mcp_mocks, self._file.command_mocks, "")
        found += self._refs(self._document, self._file.graders, ("graders",), "")
        found += _find_programs(self._loading.graders, "")
        found += self._packs()
        for source in self._loading.sources:
            for task in source.tasks[:1]:
                found += self._of_task(source, task)
        return list(dict.fromkeys(found))

    def _of_task(self, source: TaskSource, task: Task) -> Iterator[Dependency]:
        file, document = source.file, source.document
        yield from self._fixtures(document, file, task.id)
        yield from self._instructions(document, file.instruction_files, (), task.id)
        yield from self._mocks(document, file.mcp_mocks, file.command_mocks, task.id)
        if file.mcp_mocks is not None:
            yield from self._servers_again(task)
        yield from self._refs(document, file.graders, ("graders",), task.id)
        for i, point in enumerate(file.checkpoints):
            yield from self._refs(document, point.graders, ("checkpoints", i, "graders"), task.id)
        own = [one for one in task.graders if not any(one is known for known in self._loading.graders)]
        for graders in (own, *(point.graders for point in task.checkpoints)):
            yield from _find_programs(graders, task.id)

    def _executor(self) -> Iterator[Dependency]:
        name = self._file.config.executor
        unknown = any(problem.code == "unknown-executor" for problem in self._loading.problems)
        known_state: PreflightState = "invalid" if unknown else "verified"
        known = self._loading.capabilities
        state: PreflightState = known_state if known_state == "invalid" or known.scripted else "unresolved"
        mode: Mode = "mocked" if known.scripted else "subprocess" if known.local_program else "live"
        yield Dependency(kind="executor", name=name, mode=mode, state=state)

    def _servers(self) -> Iterator[Dependency]:
        """Yield the live servers; a mock of the same name takes the place of one."""
        mocked = {mock.name for mock in self._file.mcp_mocks or ()}
        for name in self._file.config.mcp_servers:
            if name not in mocked:
                yield self._live(name, "")

    def _servers_again(self, task: Task) -> Iterator[Dependency]:
        """Yield the servers that the suite mocks and a task does not."""
        mocked = {mock.name for mock in self._file.mcp_mocks or ()}
        for name in self._file.config.mcp_servers:
            if name in mocked - {mock.name for mock in task.mcp_mocks}:
                yield self._live(name, task.id)

    def _live(self, name: str, task_id: str) -> Dependency:
        state: PreflightState = "unresolved" if self._loading.capabilities.mcp else "unsupported"
        return Dependency(kind="mcp_server", name=name, mode="live", state=state, task_id=task_id)

    def _mocks(
        self,
        document: Document,
        servers: Sequence[McpMock] | None,
        commands: Sequence[CommandMock] | None,
        task_id: str,
    ) -> Iterator[Dependency]:
        unsupported = not self._loading.capabilities.mcp
        for i, server in enumerate(servers or ()):
            state = self._state(document, "mcp_mocks", i)
            state = "unsupported" if unsupported and state != "invalid" else state
            yield Dependency(kind="mcp_server", name=server.name, mode="mocked", state=state, task_id=task_id)
        gate = self._state(document, "command_mocks")
        for i, command in enumerate(commands or ()):
            state = self._state(document, "command_mocks", i)
            state = gate if gate in ("invalid", "unsupported") else state
            yield Dependency(kind="command", name=command.name, mode="mocked", state=state, task_id=task_id)

    def _targets(self) -> Iterator[Dependency]:
        """Yield the skills and agents under test, as they are found for the tasks."""
        searching = [task for task in self._suite.tasks if not task.no_skills]
        found = {(one.kind, one.name) for task in searching if (one := task.target)}
        for kind, name in sorted(found):
            yield Dependency(kind=kind, name=name, mode="local", state="verified")
        missing = self._file.skill and any(task.target is None for task in searching)
        if missing and self._file.config.skill_required:
            state = self._state(self._document, "skill")
            state = "invalid" if self._diagnostics.has_broken_definition() else state
            yield Dependency(kind="target", name=self._file.skill, mode="local", state=state)

    def _skills(self) -> Iterator[Dependency]:
        config = self._file.config
        if self._loading.skills_off:
            return
        enabled = enabled_directories(config, config.skill_directories)
        for i, entry in enumerate(config.skill_directories):
            if entry not in enabled:
                continue
            state = self._state(self._document, "config", "skill_directories", i)
            if state == "verified" and not (self._loading.directory / entry).is_dir():
                state = "unresolved"  # a hook may make it
            yield Dependency(kind="skill_directory", name=entry, mode="local", state=state)
        roots = suite_paths(self._loading)
        missing = find_required_skills(config.required_skills, roots, disabled_skills(self._loading)).missing
        known_state = self._state(self._document, "config", "required_skills")
        for name in config.required_skills:
            state = known_state if name in missing else "verified"
            yield Dependency(kind="skill", name=name, mode="local", state=state)
        for one in self._suite.trigger_neighbours:
            if one.name not in config.required_skills:
                yield Dependency(kind="skill", name=one.name, mode="local", state="verified")

    def _hooks(self) -> Iterator[Dependency]:
        hooks = self._file.hooks
        for point in hooks.__struct_fields__:
            for i in range(len(getattr(hooks, point))):
                yield Dependency(kind="hook", name=f"{point}[{i}]", mode="subprocess", state="unresolved")

    def _instructions(
        self, document: Document, names: Sequence[str], above: Path, task_id: str
    ) -> Iterator[Dependency]:
        for i, name in enumerate(names):
            state = self._state(document, *above, "instruction_files", i)
            yield Dependency(kind="instruction", name=name, mode="local", state=state, task_id=task_id)

    def _fixtures(self, document: Document, file: TaskFile, task_id: str) -> Iterator[Dependency]:
        """Yield the files that a task copies, the fixture of its context, and its repositories."""
        inputs = file.inputs
        places: list[tuple[str, Path]] = [
            (one.path, ("inputs", "files", i))
            for i, one in enumerate(inputs.files)
            if one.path and one.content is None
        ]
        places += [(name, ("fixtures", i)) for i, name in enumerate(file.fixtures)]
        if "fixture" in inputs.context:
            places.append((str(inputs.context["fixture"]), ("inputs", "context", "fixture")))
        if inputs.prompt_file:
            places.append((inputs.prompt_file, ("inputs", "prompt_file")))
        for name, path in places:
            state = self._state(document, *path)
            yield Dependency(kind="fixture", name=name, mode="local", state=state, task_id=task_id)
        for i, repo in enumerate(inputs.repos):
            known_state = self._state(document, "inputs", "repos", i)
            state = known_state if known_state == "invalid" else "unresolved"
            yield Dependency(
                kind="repository", name=repo.source, mode="subprocess", state=state, task_id=task_id
            )

    def _refs(
        self, document: Document, entries: Sequence[GraderEntry], path: Path, task_id: str
    ) -> Iterator[Dependency]:
        for i, entry in enumerate(entries):
            if entry.ref:
                broken = self._loading.modules() is None
                state = "invalid" if broken else self._state(document, *path, i)
                ref = entry.ref.strip()
                yield Dependency(kind="grader", name=ref, mode="locked-cache", state=state, task_id=task_id)

    def _packs(self) -> Iterator[Dependency]:
        block = self._file.adversarial
        for i, name in enumerate(block.packs if block else ()):
            if is_ref(name.strip()):
                broken = self._loading.modules() is None
                state = "invalid" if broken else self._state(self._document, "adversarial", "packs", i)
                yield Dependency(kind="pack", name=name.strip(), mode="locked-cache", state=state)

    def _state(self, document: Document, *path: str | int) -> PreflightState:
        return self._diagnostics.state(document.file, format_path(path))


def check_pack_refs(loading: Loading) -> None:
    """Collect what keeps packs that a suite names by refs from being used by `waza adversarial`; a run ignores them."""
    block = loading.file.adversarial
    for i, name in enumerate(block.packs if block else ()):
        if not is_ref(name.strip()):
            continue
        modules = loading.modules()
        if modules is None:  # the mistakes of the lock are collected
            return
        try:
            modules.pack(name.strip())
        except ModuleError as error:
            loading.at("adversarial", "packs", i).error(error.code, str(error))


def _find_programs(graders: Sequence[BuiltGrader], task_id: str) -> Iterator[Dependency]:
    """Yield the programs that graders run."""
    for built in graders:
        config = built.spec.config
        program = {
            "program": config.get("command"),
            "wgp": config.get("artifact") if config.get("runtime") == "program" else None,
            "code": "node" if config.get("language") == "javascript" else None,
        }.get(built.spec.type)
        if program:
            name = str(program)
            yield Dependency(
                kind="program", name=name, mode="subprocess", state="unresolved", task_id=task_id
            )


def report_replaced(suite: Suite, loading: Loading) -> Iterator[Diagnostic]:
    """Yield what of a suite is deliberately not there in a run: servers that are mocked, and skills."""
    document, servers = loading.document, loading.file.config.mcp_servers
    for i, mock in enumerate(loading.file.mcp_mocks or ()):
        if mock.name in servers:
            message = f"{mock.name!r} takes the place of the configured server of this name"
            hint = "rename the mock if tasks are to use the server"
            yield _of_note(document, "mocked-server", ("mcp_mocks", i, "name"), message, hint)
    for source in loading.sources:
        for i, mock in enumerate(source.file.mcp_mocks or ()):
            if mock.name in servers and source.tasks:
                message = f"{mock.name!r} takes the place of the configured server of this name"
                hint = "rename the mock if the task is to use the server"
                yield _of_note(
                    source.document,
                    "mocked-server",
                    ("mcp_mocks", i, "name"),
                    message,
                    hint,
                    source.tasks[0].id,
                )
    hint = "declare the skill or skill_directories if the agent is to be offered any"
    if loading.skills_off:
        message = "no skill is looked for or offered: the suite or the call switches skills off"
        yield _of_note(document, "skills-off", (), message, hint)
        return
    for task in suite.tasks:
        if task.no_skills:
            message = "no skill is looked for or offered in this task"
            yield make_diagnostic(
                Problem(code="skills-off", file=task.file, message=message, hint=hint),
                "verified",
                task_id=task.id,
                severity="info",
            )


def _of_note(
    document: Document, code: Code, path: Path, message: str, hint: str, task_id: str = ""
) -> Diagnostic:
    """Return a diagnostic of something that is as its author wants it."""
    problem = document.problem(code, at(document, *path), path, message, hint)
    return make_diagnostic(problem, "verified", task_id=task_id, severity="info")


def report_unconfirmed(dependencies: Sequence[Dependency], loading: Loading) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each dependency that nothing local can confirm."""
    files = {source.tasks[0].id: source.document.file for source in loading.sources if source.tasks}
    for one in dependencies:
        if one.state == "unresolved" and one.mode != "mocked" and one.kind in _UNCONFIRMED:
            code, message, hint = _UNCONFIRMED[one.kind]
            file = files.get(one.task_id, loading.document.file)
            problem = Problem(code=code, file=file, message=message.format(one.name), hint=hint)
            yield make_diagnostic(problem, "unresolved", task_id=one.task_id, severity="info")
