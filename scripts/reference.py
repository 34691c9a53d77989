"""Write `docs/reference` from the code, or check (`--check`) that the committed pages are up to date."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from types import FunctionType
from typing import Any

import click
import msgspec
from http_api_page import http_api

import waza
from waza.cli.app import COMMANDS, cli
from waza.evidence.redaction import PolicyFile
from waza.evidence.seal import Seal
from waza.evidence.snapshot import SnapshotFileFormat
from waza.graders import TYPES
from waza.kit.field_docs import constant_docs, field_docs
from waza.model.base import Keys
from waza.model.loaded import ProjectFile, TriggerTests
from waza.model.mock import MockBlock, SuiteMockBlock
from waza.model.mocks import CommandMock, McpMock
from waza.model.policy import GatePolicy
from waza.model.references import References
from waza.model.result import SuiteResult
from waza.model.suite import SuiteFile
from waza.model.task import TaskFile
from waza.preflight.codes import DIAGNOSTICS
from waza.problem_codes import EXPLANATIONS, Explanation
from waza.reference import REQUIRED, Key, Section, grader_page, sections_of
from waza.results.rows import TrialRow, VerdictRow

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Written by scripts/reference.py from the code; do not edit. -->"
WIDTH = 100  # columns of the help of commands

# A page of formats: its file, title, introduction, and its structs with the paths that they have in files. A struct
# is described on the first page that it is on.
FORMATS: Sequence[tuple[str, str, str, Mapping[type, str]]] = (
    (
        "mock.md",
        "The `mock` block",
        (
            "What the mock executor does instead of an agent: in a task, or in a suite as the default of its tasks. "
            "[The script of the mock executor](../mock.md) has an example."
        ),
        {SuiteMockBlock: "mock"},
    ),
    (
        "mocks.md",
        "Mocked servers and programs",
        (
            "The keys `mcp_mocks` and `command_mocks` of suites and tasks: what an agent finds in the place of MCP servers "
            "and of programs. In both, the first response that fits a call is given."
        ),
        {McpMock: "mcp_mocks[]", CommandMock: "command_mocks[]"},
    ),
    (
        "suite.md",
        "Suite",
        (
            "The keys of a suite file, usually `eval.yaml`. [What a suite checks](../checks.md) says what is an error and "
            "what a warning."
        ),
        {SuiteFile: ""},
    ),
    (
        "task.md",
        "Task",
        "The keys of a task file. `triggers`, `fixtures` and `expected_outcome` are a short form.",
        {TaskFile: ""},
    ),
    (
        "trigger-tests.md",
        "Trigger tests",
        (
            "The keys of `trigger_tests.yaml` beside a suite: prompts that show whether an agent invokes the skill when it "
            "should, and only then."
        ),
        {TriggerTests: ""},
    ),
    (
        "project.md",
        "Project",
        (
            "The keys of `.waza.yaml`, which is sought in the current directory and those above it. Zero and empty text "
            "mean the default."
        ),
        {ProjectFile: ""},
    ),
    (
        "policy.md",
        "Gate policy",
        "The keys of a policy file of `waza gate --policy FILE`. [Gates](../gates.md#policies) explains them.",
        {GatePolicy: ""},
    ),
    (
        "references.md",
        "Reference cases",
        (
            "The keys of a file of reference cases, `waza assure EVAL --references FILE`. "
            "[Assuring graders](../assurance.md) explains them."
        ),
        {References: ""},
    ),
    (
        "results.md",
        "Results",
        (
            "The keys of results files, schema 1.4, in the order in which they are written. Readers ignore keys that they "
            "do not know."
        ),
        {SuiteResult: ""},
    ),
    (
        "rows.md",
        "Rows",
        (
            "The columns of what `waza export` and `Results.to_rows` make of results, in their order. "
            "[Results over time, and as data](../history.md) says how to get them. New columns come at the end."
        ),
        {TrialRow: "trials", VerdictRow: "verdicts"},
    ),
    (
        "evidence.md",
        "Snapshots and seals",
        (
            "The keys of snapshots with their manifests (`evidence`), of the seal of their directory (`evidence.json`), and of "
            "redaction policies (`--redact`). [Evidence](../evidence.md) says what they are for."
        ),
        {
            SnapshotFileFormat: "",
            Seal: "evidence.json",
            PolicyFile: "policy",
        },
    ),
)

# What `waza` exports, by what it is for. Structs of files are on the pages of these.
EXPORTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "Running suites": (
        "",
        ("load", "run", "arun", "Listener", "Suite", "Config", "Task", "Problem"),
    ),
    "Graders": (
        "[A grader in a package](../extending/grader.md) shows how they are used.",
        (
            "Grader", "GraderLocation", "ConfigMistake", "ExactName", "Observation", "Verdict", "Helpers", "SharedResources",
        ),
    ),
    "Judges": (
        "What graders ask, and what executors with the capability `judge` offer.",
        ("Judge", "Interview", "JudgeQuestion", "Tool", "JudgeAnswer", "JudgeToolCall", "JudgeSession"),
    ),
    "Executors": (
        "[An executor in a package](../extending/executor.md) shows how they are used.",
        (
            "Executor", "Session", "Capabilities", "Setup", "Keys", "Provider", "Attempt", "AttemptWorkspace", "Resource",
            "Instruction", "Limits", "Turn",
        ),
    ),
    "What is seen of an agent": (
        "Parts of a `Turn` and of an `Observation`.",
        (
            "Event", "ToolEvent", "SkillInvocation", "CommandInvocation", "WrittenFile", "Denial", "Usage", "ModelUsage",
            "ModelCall", "SkillsOffered", "OfferedSkill",
        ),
    ),
    "Reporters": (
        "[A reporter in a package](../extending/reporter.md) shows how they are used.",
        ("Reporter", "InvocationResults", "Outcome", "NotStarted", "RunVerdict"),
    ),
    "Stores": (
        "[A store in a package](../extending/store.md) shows how they are used.",
        ("ResultStore", "StoreSetup", "StoredObject", "NameTakenError"),
    ),
    "Results": (
        "Fields of a `SuiteResult` and its parts are the keys of [results files](results.md), rows have [columns](rows.md).",
        ("load_results", "Results", "SuiteResult", "Summary", "TaskResult", "TrialResult", "Validation", "CheckpointRecord"),
    ),
    "Errors": (
        "",
        (
            "WazaError", "UsageError", "SuiteError", "RunError", "GraderError", "ExecutorError", "OutsideError", "StoreError",
        ),
    ),
    "Events of a run": (
        "What a `Listener` gets.",
        (
            "RunEvent", "RunStarted", "RunFinished", "SuiteStarted", "TaskStarted", "TrialStarted", "PromptSent", "ResponseSeen", "CheckpointGraded",
            "AttemptRetried", "ExecutorFailed", "TrialFinished", "TaskFinished", "HookStarted", "HookRan", "Warned", "SuiteStopped",
            "SuiteFinished",
        ),
    ),
}  # fmt: skip
_ALIASES = {"Listener": "A function that gets each `RunEvent`."}
# Classes that are described elsewhere, or of which packages need no field.
_WITHOUT_FIELDS = {
    "Suite", "Config", "Task", "SuiteResult", "Summary", "TaskResult", "TrialResult", "Validation", "CheckpointRecord",
}  # fmt: skip

READ = {
    "General": {
        "WAZA_HOME": "The directory of what waza keeps for all projects. Default: `~/.waza`.",
        "WAZA_MODULE_CACHE": "The directory of fetched graders. Default: `cache` in `WAZA_HOME`.",
        "WAZA_PROMPT_GRADER_TIMEOUT": (
            "How long one answer of a judge may take, such as `300` (seconds) or `5m`, where neither the grader nor "
            "the suite says. Default: 120 seconds."
        ),
        "NO_COLOR": "Not empty: no colours.",
        "GITHUB_ACTIONS": (
            "`true`: results name the job that started the run (`metadata.ci`). So do `GITLAB_CI`, `TF_BUILD`, "
            "`CIRCLECI`, `BUILDKITE`, `TEAMCITY_VERSION` and `JENKINS_URL`, with the variables of their services."
        ),
        "TRACEPARENT": (
            "The trace of a job, which spans continue (`--otel-exporter`), with `TRACESTATE`. The `OTEL_*` variables of "
            "OpenTelemetry are read as well."
        ),
        "GITHUB_REPOSITORY": "The repository, as `owner/name`, in which `--auto-file-issue` files an issue.",
        "CI": "Set, and neither `0` nor `false`: no live progress.",
        "TERM": "`dumb`: no live progress, no colours.",
    },
    "Real agents": {
        "GITHUB_TOKEN": "The token for GitHub Copilot. `GH_TOKEN` is used where it is not set.",
        "COPILOT_CLI_PATH": "The program of the Copilot runtime, instead of the one that the SDK brings.",
        "COPILOT_OFFLINE": "`false` lets the runtime do more on the network than ask for models. Default: `true`.",
        "COPILOT_BASE_URL": (
            "The address of a model server, instead of GitHub Copilot. Without it the other variables of the server "
            "are ignored. Also `COPILOT_PROVIDER_BASE_URL`."
        ),
        "COPILOT_PROVIDER": "The kind of model server. Default: `openai`. Also `COPILOT_PROVIDER_TYPE`.",
        "COPILOT_WIRE_API": "The interface that it speaks. Also `COPILOT_PROVIDER_WIRE_API`.",
        "COPILOT_API_KEY": "Its key. Also `COPILOT_PROVIDER_API_KEY`.",
        "COPILOT_BEARER_TOKEN": "Its bearer token. Also `COPILOT_PROVIDER_BEARER_TOKEN`.",
    },
    "The store of results": {
        "AZURE_STORAGE_CONNECTION_STRING": (
            "A connection string for the store `azure-blob`, unless it is of another account than `accountName`."
        ),
        "AZURE_CLIENT_ID": (
            "With `AZURE_CLIENT_SECRET` and `AZURE_TENANT_ID`: who signs in to Azure; it comes before all other credentials."
        ),
        "CODEBUILD_BUILD_ID": (
            "Not empty: `az login` is never started. So with `CI`, `GITHUB_ACTIONS`, `TF_BUILD` and `JENKINS_URL`."
        ),
        "AWS_ACCESS_KEY_ID": "With `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`: the credentials of the store `s3`.",
        "GOOGLE_APPLICATION_CREDENTIALS": "The file with the credentials of the store `gcs`.",
    },
    "Judges of evaluators": {
        "AZURE_AI_OPENAI_ENDPOINT": "The endpoint of Azure OpenAI. Also `AZURE_OPENAI_ENDPOINT`.",
        "AZURE_AI_PROJECT_ENDPOINT": "The endpoint of an Azure AI Foundry project; needs a sign-in, no key.",
        "AZURE_AI_API_KEY": "The key of Azure OpenAI. Also `AZURE_OPENAI_API_KEY`.",
        "AZURE_AI_MODEL_NAME": "The name of the deployment. Also `AZURE_OPENAI_DEPLOYMENT`.",
        "AZURE_AI_API_VERSION": "The version of the interface. Also `OPENAI_API_VERSION`.",
        "OPENAI_API_KEY": "The key of OpenAI, or of a server like it.",
        "OPENAI_BASE_URL": "The address of a server like OpenAI's.",
        "OPENAI_MODEL": "The model of the judge.",
        "GITHUB_COPILOT_JUDGE_MODEL": "The model of a judge by GitHub Copilot; `auto` leaves the choice to it.",
    },
}
SET = {
    "Hooks": {
        "WAZA_JOB_ID": "`{{.JobID}}`: the id of the run.",
        "WAZA_TASK_NAME": "`{{.TaskName}}`: the name of the task.",
        "WAZA_ITERATION": "`{{.Iteration}}`: the number of the trial.",
        "WAZA_ATTEMPT": "`{{.Attempt}}`: the number of the attempt.",
        "WAZA_TIMESTAMP": "`{{.Timestamp}}`: when the run began.",
        "WAZA_VAR_": "And the name of a variable: `{{.Vars.name}}`, as `WAZA_VAR_name`.",
    },
    "Program graders": {
        "WAZA_WORKSPACE_DIR": "The absolute path of the workspace.",
    },
    "The executor `command`": {
        "WAZA_CONVERSATION": "The id of the task.",
        "WAZA_TURN": "The number of the prompt in the conversation, from 1.",
        "WAZA_SUITE_DIR": "The directory of the suite.",
        "WAZA_SKILL_NAME": "The name of the target; empty: there is none.",
        "WAZA_SKILL_DIR": "The directory of the target; empty: there is none.",
        "WAZA_SYSTEM_FILE": "A file with the instructions of the agent; empty: there are none.",
    },
    "With `--otel-exporter`": {
        "TRACEPARENT": "The span of the attempt, hook or program grader; for `command`, hooks and program graders.",
        "TRACESTATE": "What came with the trace of the job.",
    },
    "Internal": {
        "WAZA_CHILD_OF": "Marks processes that waza started, so that none is left over.",
        "WAZA_MOCK_SESSION": "Leads mocked programs to their script.",
    },
}


def main() -> int:
    """Write or check; return the exit code."""
    pages = {path: f"{NOTE}\n\n{text.strip()}\n" for path, text in all_pages()}
    known = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.md")}
    stale = [path for path, text in pages.items() if not _is(FOLDER / path, text)] + sorted(known - {*pages})
    if "--check" in sys.argv:
        if stale:
            print(
                f"docs/reference: {', '.join(stale)} differ from the code; run `make reference`",
                file=sys.stderr,
            )
        return 1 if stale else 0
    for path in stale:
        if path in pages:
            (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / path).write_text(pages[path], encoding="utf-8")
        else:
            (FOLDER / path).unlink()
    return 0


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def all_pages() -> Iterator[tuple[str, str]]:
    """Yield every page: its path and its text."""
    yield "README.md", index()
    yield from formats()
    yield "graders/README.md", graders()
    for name in TYPES:
        yield f"graders/{name}.md", grader(name)
    yield "python.md", python()
    yield "command-line.md", command_line()
    yield "http-api.md", http_api()
    yield "environment.md", environment()
    yield "exit-codes.md", exit_codes()
    yield "problem-codes.md", problem_codes()


def index() -> str:
    """Return the page that leads to all others."""
    rows = [(f"[{title}]({path})", text.partition(". ")[0].rstrip(".")) for path, title, text, _ in FORMATS]
    rows += [
        (
            "[Graders](graders/README.md)",
            "The types of graders, with the keys of their `config` and an example each",
        ),
        (
            "[Python](python.md)",
            "What can be imported from `waza`: the library, and what packages of graders, executors and reporters use",
        ),
        ("[Command line](command-line.md)", "Every command with its options"),
        ("[HTTP API](http-api.md)", "What `waza serve` answers to programs"),
        ("[Environment variables](environment.md)", "What waza reads, and what it sets for programs"),
        ("[Exit codes](exit-codes.md)", "What a command's exit code means"),
        ("[Problem codes](problem-codes.md)", "The kinds of mistakes in files, and how to solve them"),
    ]
    return "# Reference\n\nMade from the code, so it is that of this version.\n\n" + table(
        ("Page", "What it is about"), rows
    )


def formats() -> Iterator[tuple[str, str]]:
    """Yield the pages of file formats."""
    homes: dict[type, str] = {MockBlock: link("mock", "mock.md")}  # a SuiteMockBlock without `triggers`
    for path, title, text, roots in FORMATS:
        parts = [f"# {title}", text]
        for root, prefix in roots.items():
            sections = sections_of(root, prefix, homes, link)
            for section in sections:
                parts += described(section)
            homes |= {section.kind: link(section.path, path) for section in sections}
        yield path, "\n\n".join(parts)


def described(section: Section) -> Iterator[str]:
    """Yield the heading of a section and what it is, unless it is that of the page, and the table of its keys."""
    if section.path:
        yield f"## `{section.path}`"
        yield section.text
    written = not issubclass(section.kind, Keys)
    yield table(
        ("Key", "Type", "Written" if written else "Default", "Meaning"),
        [
            (f"`{key.name}`", key.type, _written(key) if written else _default(key), key.meaning)
            for key in section.keys
        ],
    )


def _written(key: Key) -> str:
    return "always" if key.always else "unless empty"


def _default(key: Key) -> str:
    return f"**{REQUIRED}**" if key.default == REQUIRED else key.default and f"`{key.default}`"


def link(path: str, page: str = "") -> str:
    """Return a link to the section with this path; the file itself has none."""
    if not path:
        return "the same as this file"
    anchor = "".join(sign for sign in path.lower() if sign.isalnum() or sign == "_")
    return f"[`{path}`]({page}#{anchor})"


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def graders() -> str:
    """Return the list of grader types."""
    rows = [(f"[`{name}`]({name}.md)", grader_page(name).summary) for name in TYPES]
    return (
        "# Graders\n\nWhat can be under `type` of a grader. `waza grader show TYPE` prints the same in a terminal. "
        "A package can [add a type](../../extending/grader.md).\n\n"
        + table(("Type", "What it looks at"), rows)
    )


def grader(name: str) -> str:
    """Return the page of a grader type."""
    page = grader_page(name, link)
    parts = [f"# `{name}`", page.text, "## Config"]
    for section in page.sections:
        parts += described(section)
    parts += [
        "## Example",
        "A task with the grader, and with what the mock answers:",
        f"```yaml\n{page.example}```",
    ]
    return "\n\n".join(parts)


def python() -> str:
    """Return what can be imported from `waza`."""
    parts = [
        "# Python",
        "What can be imported from `waza`. Nothing else is meant for other packages. A field without a default must be given.",
    ]
    for title, (text, names) in EXPORTS.items():
        parts += [f"## {title}", text]
        for name in names:
            parts += exported(name, getattr(waza, name))
    return "\n\n".join(part for part in parts if part)


def exported(name: str, value: Any) -> Iterator[str]:
    """Yield the heading of an export, what it is, its fields, and its methods."""
    if not isinstance(value, type):
        plain = inspect.isfunction(value)
        yield f"### `{name}{_signature(value) if plain else ''}`"
        yield cleandoc(value.__doc__ or "") if plain else _ALIASES[name]
        return
    yield f"### `{name}`"
    yield cleandoc(value.__doc__ or "")
    if name in _WITHOUT_FIELDS:
        return
    if rows := list(_fields(value)):
        yield table(("Field", "Type", "Default", "Meaning"), rows)
    methods = [
        (
            f"`{key}{'' if isinstance(member, property) else _signature(inspect.unwrap(getattr(value, key)))}`",
            _doc(member),
        )
        for key, member in vars(value).items()
        if not key.startswith("_") and isinstance(member, FunctionType | property | classmethod)
    ]
    if methods:
        yield table(("Method or property", "Meaning"), methods)


def _fields(kind: type) -> Iterator[tuple[str, str, str, str]]:
    """Yield the fields of a class that has docstrings for them: name, type, default, meaning."""
    docs = field_docs(kind)
    fields = (
        {field.name: field for field in msgspec.structs.fields(kind)}
        if issubclass(kind, msgspec.Struct)
        else {}
    )
    written_types: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        written_types |= vars(base).get("__annotations__", {})
    for name, written in written_types.items():
        if name in docs and not name.startswith("_"):
            field = fields.get(name)
            default = repr(getattr(kind, name)) if hasattr(kind, name) else ""  # of a protocol
            shown = field_default(field) if field else default
            yield f"`{name}`", f"`{written}`", shown and f"`{shown}`", docs[name]


def field_default(field: msgspec.structs.FieldInfo) -> str:
    """Return the default of a field as Python writes it; empty: it has none."""
    if field.default is not msgspec.NODEFAULT:
        return "Path()" if isinstance(field.default, Path) else repr(field.default)
    factory = field.default_factory
    return "" if factory is msgspec.NODEFAULT else f"{factory.__name__}()"


def _signature(function: Any) -> str:
    """Return the parameters of a function, with their types as they are written."""
    signature = inspect.signature(function)
    shown, named = [], False
    for name, one in signature.parameters.items():
        if name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and not named:
            shown, named = [*shown, "*"], True
        default = "" if one.default is one.empty else f" = {one.default!r}"
        stars = "*" if one.kind is one.VAR_POSITIONAL else ""
        shown.append(f"{stars}{name}: {one.annotation}{default}")
    result = signature.return_annotation
    return f"({', '.join(shown)}) -> {result}"


def _doc(member: Any) -> str:
    found = member.__func__ if isinstance(member, classmethod) else member
    return " ".join((found.__doc__ or "").split())


def command_line() -> str:
    """Return the help of every command."""
    parts = ["# Command line", "What `waza COMMAND --help` prints.", *_help(cli, "waza", None)]
    for name, (module, _) in COMMANDS.items():
        parent = click.Context(cli, info_name="waza", **cli.context_settings)
        parts += _help(import_module(module).command, name, parent)
    return "\n\n".join(parts)


def _help(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **command.context_settings,
    )
    yield f"## `{context.command_path}`"
    yield f"```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group) and command is not cli:
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None and not found.hidden:
                yield from _help(found, below, context)


def environment() -> str:
    """Return the environment variables."""
    parts = ["# Environment variables", "## What waza reads"]
    for title, variables in READ.items():
        parts += [
            f"### {title}",
            table(("Variable", "Meaning"), [(f"`{k}`", v) for k, v in variables.items()]),
        ]
    parts += [
        "Variables that `bearer_env`, `api_key_env` and the like name are read as well.",
        "## What waza sets",
    ]
    for title, variables in SET.items():
        parts += [
            f"### {title}",
            table(("Variable", "Meaning"), [(f"`{k}`", v) for k, v in variables.items()]),
        ]
    return "\n\n".join(parts)


def exit_codes() -> str:
    """Return the exit codes."""
    errors = import_module("waza.errors")
    rows = [
        (f"`{getattr(errors, name)}`", text)
        for name, text in constant_docs(errors.__name__).items()
        if name.startswith("EXIT_")
    ]
    return "# Exit codes\n\n" + table(("Code", "Meaning"), rows)


def problem_codes() -> str:
    """Return the codes of problems."""
    parts = [
        "# Problem codes",
        (
            "The kinds of mistakes in suites, tasks, documents and the files that they name. `waza preflight --json` (as "
            "`problem`) and `waza m365 validate --json` (as `code`) report them; `waza explain CODE` prints what is here."
        ),
    ]
    parts += _explain("##", EXPLANATIONS)
    parts += [
        "## Diagnostics of `waza preflight`",
        "The `code` of each diagnostic. Its `problem` is one of the codes above.",
        *_explain("###", DIAGNOSTICS),
    ]
    return "\n\n".join(parts)


def _explain(heading: str, codes: Mapping[str, Explanation]) -> Iterator[str]:
    for code, explanation in codes.items():
        yield f"{heading} `{code}`"
        yield explanation.meaning
        yield f"**What to do:** {explanation.remedy}"
        yield f"**Example:**\n\n```text\n{explanation.example}\n```"


if __name__ == "__main__":
    sys.exit(main())
