"""Reading cases: folders with `prompt.md`, `case.yaml` and `graders/*.md`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import msgspec

from waza.foreign.notes import Notes
from waza.foreign.source import SourceFolder
from waza.kit import yaml
from waza.kit.decode import Document
from waza.suite.read import at, child

PROMPT, CASE, GRADERS = "prompt.md", "case.yaml", "graders"
_NO_CASES = {"mocks", "results", "node_modules"}

Target = Literal["last_message", "trace", "files", "mock_calls"]
Runs = Annotated[int, msgspec.Meta(ge=1, le=50)]
Turns = Annotated[int, msgspec.Meta(ge=1, le=200)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=3600)]


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """`execution` of `case.yaml`."""

    prompt: str | None = None
    model: str | None = None
    max_turns: Turns | None = None
    timeout_seconds: Limit | None = None
    allowed_tools: list[str] | None = None
    append_system_prompt: str | None = None
    env: dict[str, str] | None = None


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """`context` of `case.yaml`."""

    scaffold_script: str = ""
    history_file: str = ""
    add_dirs: list[str] = []


class CaseKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of `case.yaml`."""

    schema_version: str
    name: str
    description: str | None = None
    expected_outcome: str | None = None
    tags: list[str] | None = None
    plugins: list[str] | None = None
    runs: Runs | None = None
    execution: Execution = Execution()
    context: Context = Context()
    graders: list[Any] = []


class PromptKeys(Execution, frozen=True, kw_only=True):
    """The frontmatter of `prompt.md`. The last three are of no consequence here."""

    prompt: None = None
    name: str | None = None
    description: str | None = None
    expected_outcome: str | None = None
    tags: list[str] | None = None
    plugins: list[str] | None = None
    runs: Runs | None = None
    disallowed_tools: list[str] | None = None
    schema_version: str | None = None
    artifact_publish: Any = None
    growthbook_overrides: Any = None


class FileTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What a grader looks at: a file of the workspace."""

    source: Literal["file"]
    path: str


class ToolPattern(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of a tool whose input matches."""

    tool: str
    input_match: str | None = None


class CaseGrader(msgspec.Struct, frozen=True, kw_only=True):
    """What all graders have."""

    type: str
    name: str = ""
    weight: float = 1.0
    arm: Literal["with-only", "both"] | None = None


class Regex(CaseGrader, frozen=True, kw_only=True):
    """`regex`."""

    pattern: str
    flags: str = ""
    match: str = "contains"
    target: Target | FileTarget = "last_message"


class ToolUsed(CaseGrader, frozen=True, kw_only=True):
    """`tool_used`."""

    tool: str
    input_match: str | None = None
    min: Annotated[int, msgspec.Meta(ge=0)] = 1
    max: Annotated[int, msgspec.Meta(ge=0)] | None = None


class ToolOrder(CaseGrader, frozen=True, kw_only=True):
    """`tool_order`."""

    before: str | ToolPattern
    after: str | ToolPattern


class FileExists(CaseGrader, frozen=True, kw_only=True):
    """`file_exists`."""

    path: str
    exists: bool = True


class Llm(CaseGrader, frozen=True, kw_only=True):
    """`llm`."""

    criteria: str = ""
    focus: Target | FileTarget = "last_message"


class Baseline(CaseGrader, frozen=True, kw_only=True):
    """`baseline`."""

    baseline_file: str
    criteria: str = ""


TYPES: dict[str, type[CaseGrader]] = {
    "regex": Regex,
    "tool_used": ToolUsed,
    "tool_order": ToolOrder,
    "file_exists": FileExists,
    "llm": Llm,
    "baseline": Baseline,
}


class PlacedGrader(msgspec.Struct, frozen=True):
    """A grader, and where it is written."""

    grader: CaseGrader
    file: str
    line: int


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A case with the keys of both of its files. `directory` is below the folder of the source, empty for that."""

    directory: str
    name: str
    prompt: str
    description: str = ""
    expected_outcome: str = ""
    tags: tuple[str, ...] = ()
    plugins: tuple[str, ...] | None = None
    runs: int = 3
    model: str = ""
    max_turns: int | None = None
    timeout: int = 300
    allowed_tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    append_system_prompt: str = ""
    env: dict[str, str] = {}
    context: Context = Context()
    graders: tuple[PlacedGrader, ...] = ()

    def path(self, relative: str) -> str:
        """Return the path of a file of the case, below the folder of the source."""
        return (PurePosixPath(self.directory) / relative.replace("\\", "/")).as_posix()


def find_cases(source: SourceFolder) -> list[str]:
    """Return the folders of cases below that of the source, itself included, by name.

    What is inside a case belongs to it. Folders that are links are mistakes: they are not followed.
    """
    found = []
    for folder, names, files in os.walk(source.root):
        relative = Path(folder).relative_to(source.root)
        if {PROMPT, CASE} & set(files):
            found.append(relative.as_posix().removeprefix("."))
            names.clear()
            continue
        names[:] = sorted(name for name in names if not (name.startswith(".") or name in _NO_CASES))
        for name in names:
            if Path(folder, name).is_symlink():
                hint = "put a copy there"
                source.error(
                    "outside-path", (relative / name).as_posix(), "is a link, which is not followed", hint
                )
    return found


def read_case(source: SourceFolder, directory: str, notes: Notes) -> Case | None:
    """Return a case; None after a mistake that the case does not load with there, which is in `source`."""
    before = len(source.problems)
    reader = _Reader(source, directory, notes)
    case = reader.case()
    return case if len(source.problems) == before else None


class _Reader:
    """Reads the files of one case."""

    def __init__(self, source: SourceFolder, directory: str, notes: Notes) -> None:
        self.source, self.directory, self.notes = source, directory, notes

    def _path(self, name: str) -> str:
        return (PurePosixPath(self.directory) / name).as_posix()

    def _has(self, name: str) -> bool:
        return os.path.lexists(self.source.root / self.directory / name)

    def case(self) -> Case | None:
        whole, prompt, body = CaseKeys(schema_version="", name=""), PromptKeys(), ""
        graders: list[PlacedGrader] = []
        if self._has(CASE):
            read = self._case_file()
            if read is None:
                return None
            whole, graders = read
        if self._has(PROMPT):
            found = self._prompt_file()
            if found is None:
                return None
            prompt, body = found
        graders += self._grader_files()
        self._check_graders(graders)
        text = body if self._has(PROMPT) else whole.execution.prompt or ""
        if not text.strip():
            self.source.error(
                "missing-key", self._path(PROMPT if self._has(PROMPT) else CASE), "the prompt is empty"
            )
        return self._merge(whole, prompt, text, tuple(graders))

    def _merge(
        self, whole: CaseKeys, prompt: PromptKeys, text: str, graders: tuple[PlacedGrader, ...]
    ) -> Case:
        """Return the case; the keys of `prompt.md` win."""
        ran = whole.execution

        def either(key: str, lower: Any = ran) -> Any:
            own = getattr(prompt, key)
            return getattr(lower, key) if own is None else own

        tools, plugins = either("allowed_tools"), either("plugins", whole)
        return Case(
            directory=self.directory,
            name=prompt.name or whole.name or Path(self.source.root, self.directory).name,
            prompt=text,
            description=either("description", whole) or "",
            expected_outcome=either("expected_outcome", whole) or "",
            tags=tuple(either("tags", whole) or ()),
            plugins=None if plugins is None else tuple(plugins),
            runs=either("runs", whole) or 3,
            model=either("model") or "",
            max_turns=either("max_turns"),
            timeout=either("timeout_seconds") or 300,
            allowed_tools=None if tools is None else tuple(tools),
            disallowed_tools=tuple(prompt.disallowed_tools or ()),
            append_system_prompt=either("append_system_prompt") or "",
            env=either("env") or {},
            context=whole.context,
            graders=graders,
        )

    def _case_file(self) -> tuple[CaseKeys, list[PlacedGrader]] | None:
        path = self._path(CASE)
        document = self.source.read_yaml(path)
        if document is None:
            return None
        keys, unknown = self.source.decode(document, CaseKeys, strict=False)
        for problem in unknown:
            self.notes.add(
                problem.file,
                f"key {problem.path!r}",
                "is not known, there and here, and is left out",
                line=problem.line,
            )
        if keys is None:
            return None
        if keys.schema_version.partition(".")[0] != "1":
            node = at(document, "schema_version")
            message, hint = f"the version {keys.schema_version!r} is not known", "versions 1.x are"
            self.source.error("version", path, message, hint, node)
        graders = [
            self._grader(document, child(document.root, "graders", i), "") for i in range(len(keys.graders))
        ]
        return keys, [one for one in graders if one is not None]

    def _prompt_file(self) -> tuple[PromptKeys, str] | None:
        read = self.source.read_markdown(self._path(PROMPT))
        if read is None:
            return None
        document, body = read
        keys, _ = self.source.decode(document, PromptKeys, strict=True)
        return None if keys is None else (keys, body)

    def _grader_files(self) -> Iterator[PlacedGrader]:
        folder = self.source.root / self.directory / GRADERS
        if not folder.is_dir():
            return
        for path in sorted(folder.iterdir()):
            relative = self._path(f"{GRADERS}/{path.name}")
            if path.suffix != ".md":
                self.notes.add(
                    self.source.name(relative),
                    "graders",
                    "is not a grader, there and here: it is no .md file",
                )
                continue
            read = self.source.read_markdown(relative)
            if read is None:
                continue
            document, body = read
            found = self._grader(document, document.root, path.stem, body.strip())
            if found is not None:
                yield found

    def _grader(
        self, document: Document, node: yaml.Node | None, stem: str, body: str = ""
    ) -> PlacedGrader | None:
        """Return a grader of a node; one in a file of its own has the name of that, and its criteria in the body."""
        where = node or document.root
        given = child(where, "type")
        kind = TYPES.get(given.text) if isinstance(given, yaml.Scalar) else None
        file = self._path(f"{GRADERS}/{stem}.md") if stem else self._path(CASE)
        if kind is None:
            what = (
                f"there is no grader type {given.text!r}"
                if isinstance(given, yaml.Scalar)
                else "'type' is missing"
            )
            self.source.error("unknown-grader", file, what, f"types: {', '.join(TYPES)}", given or where)
            return None
        grader, _ = self.source.decode(document, kind, where, strict=True)
        if grader is None:
            return None
        if stem:
            grader = msgspec.structs.replace(grader, name=stem)
        if isinstance(grader, Llm | Baseline) and not grader.criteria.strip():
            grader = msgspec.structs.replace(grader, criteria=body)
        self._check(grader, file, where)
        return PlacedGrader(grader, document.file, where.line)

    def _check(self, grader: CaseGrader, file: str, node: yaml.Node) -> None:
        if not grader.name:
            self.source.error("missing-key", file, "the grader has no 'name'", node=node)
        if grader.weight <= 0:
            self.source.error("invalid-value", file, "the weight must be above 0", node=node)
        if isinstance(grader, Llm | Baseline) and not grader.criteria.strip():
            self.source.error(
                "missing-key", file, "there are no criteria", "write them below the frontmatter", node
            )
        if any(not name.strip() for name in _tools(grader)):
            self.source.error("missing-key", file, "the name of a tool is empty", node=node)
        if isinstance(grader, Regex) and grader.match not in ("contains", "not_contains"):
            count = grader.match.removeprefix("count:")
            if count == grader.match or not (count.isascii() and count.isdigit()):
                hint = "write contains, not_contains or count:N"
                self.source.error("invalid-value", file, f"{grader.match!r} is no way to match", hint, node)

    def _check_graders(self, graders: list[PlacedGrader]) -> None:
        if not graders:
            self.source.error(
                "missing-key", self.directory, "the case has no grader", f"add {GRADERS}/NAME.md"
            )
        names = [one.grader.name for one in graders]
        for name in sorted({name for name in names if name and names.count(name) > 1}):
            self.source.error("duplicate-grader", self.directory, f"several graders are called {name!r}")


def _tools(grader: CaseGrader) -> list[str]:
    """Return the names of tools that a grader looks for."""
    if isinstance(grader, ToolUsed):
        return [grader.tool]
    if isinstance(grader, ToolOrder):
        return [one if isinstance(one, str) else one.tool for one in (grader.before, grader.after)]
    return []
