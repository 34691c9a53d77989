"""`code`: expressions in Python or JavaScript that must hold for what was seen."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec

from waza.errors import GraderError
from waza.graders._interpreter import Interpreters
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit import code_template
from waza.kit.template import TemplateError
from waza.model.base import NonBlank, Seconds
from waza.model.observation import CommandInvocation, Event, Observation, ToolEvent
from waza.model.verdict import Helpers, Verdict

# Every call in `tool_calls` has these arguments, empty when unused, so that an assertion need not ask.
_COMMON_ARGUMENTS = ("path", "file_text", "command", "description", "skill")
# What an executor must report for a name to hold anything; without it an assertion such as
# `len(tool_calls) == 0` would be true of every agent.
_REPORTED = {
    "tool_calls": "tool_calls",
    "transcript": "tool_calls",
    "errors": "tool_calls",
    "command_invocations": "command_mocks",
    "duration_ms": "duration",
}
_SUCCESS = re.compile(r"\bsuccess\b")
_IDENTIFIER = re.compile(r"(?<![\w.$])[A-Za-z_]\w*")
# A template literal of JavaScript may hold names in `${}`, so it is not skipped.
_LITERAL = re.compile(r"""\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'""")


class Code(Grader, frozen=True, kw_only=True):
    """Expressions in Python or JavaScript: one check for each, which passes when it is true (in JavaScript: truthy).

    Assertions run in a child process with the user's rights and see `output`, `outcome`, `transcript`,
    `tool_calls`, `errors`, `duration_ms`, `output_length` and `command_invocations`. An exception is a
    failed check. `timeout` is the limit of all assertions together, in seconds (default: the project's).
    """

    assertions: Annotated[list[NonBlank], msgspec.Meta(min_length=1)]
    """Expressions, each of which must be true."""
    language: Literal["python", "javascript"] = "python"
    """The language of the assertions. JavaScript needs Node."""
    timeout: Seconds | None = None
    """Seconds that all assertions may take together. Default: `graders.codeTimeout` of `.waza.yaml`, which is
    30."""

    def required_capabilities(self) -> Mapping[str, str]:
        """Say which reports the names in the assertions hang on."""
        used = {name for assertion in self.assertions for name in _used_names(assertion, self.language)}
        return {capability: "assertions" for name, capability in _REPORTED.items() if name in used}

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Warn of Python that cannot be parsed; when it runs, it is one failed check."""
        del location
        for index, assertion in enumerate(self.assertions if self.language == "python" else []):
            mistake = _mistake(assertion)
            if mistake:
                yield ConfigMistake(
                    path=("assertions", index),
                    message=f"is not a Python expression ({mistake}), so this check will always fail",
                    hint="write one expression, without statements; or set language: javascript",
                    warning=True,
                )

    def check_variables(self) -> Iterator[ConfigMistake]:
        """Yield the assertions in which a value could be read as code."""
        for index, assertion in enumerate(self.assertions):
            try:
                code_template.render_code(assertion, _Anything(), self.language)
            except TemplateError as error:
                yield ConfigMistake(path=("assertions", index), message=str(error))

    def fill_variables(self, variables: Mapping[str, str]) -> Code:
        """Return the grader with each value as a string of its language, so that it is never read as code."""
        assertions = [code_template.render_code(one, variables, self.language) for one in self.assertions]
        return msgspec.structs.replace(self, assertions=assertions)

    async def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Evaluate the assertions. GraderError: the interpreter is missing, broke or took too long, or what they ask is not known."""
        self._refuse_unknown_outcomes(observation)
        reasons = await helpers.shared.get(Interpreters).evaluate(
            self.language, _names(observation), self.assertions, self.timeout or helpers.code_timeout
        )
        failures = [
            f"{assertion.strip()}: {reason}"
            for assertion, reason in zip(self.assertions, reasons, strict=True)
            if reason is not None
        ]
        total = len(self.assertions)
        details = {"total_assertions": total, "passed_assertions": total - len(failures)}
        return Verdict.of_checks(total, failures, details, note="all assertions hold")

    def _refuse_unknown_outcomes(self, observation: Observation) -> None:
        """Raise GraderError where an assertion asks whether calls succeeded, and nobody recorded it."""
        unknown = [call for call in observation.tool_events if call.success is None]
        if unknown and any(_SUCCESS.search(assertion) for assertion in self.assertions):
            names = ", ".join(sorted({call.tool_name for call in unknown}))
            raise GraderError(
                f"the assertions ask whether calls succeeded, which is not known of {len(unknown)} of "
                f"{len(observation.tool_events)} ({names}): the transcript does not say; ask for their results"
            )


class _Anything(dict[str, str]):
    """Variables of which only the places matter."""

    def __missing__(self, name: str) -> str:
        return name


def _used_names(assertion: str, language: str) -> set[str]:
    """Return the names that an assertion reads; of what cannot be parsed, all that look like one."""
    if language == "python" and not _mistake(assertion):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(assertion.strip(), mode="eval")
        return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return set(_IDENTIFIER.findall(_LITERAL.sub("", assertion)))


def _mistake(assertion: str) -> str:
    """Return why a text is no Python expression, or nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(assertion.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        return error.msg if isinstance(error, SyntaxError) else str(error)
    except (RecursionError, MemoryError):
        return "nested too deeply"
    return ""


def _names(observation: Observation) -> dict[str, Any]:
    """Return what assertions can see, as plain data; the interpreter adds what follows from it."""
    return {
        "output": observation.output,
        "outcome": {},
        "transcript": [_event(event) for event in observation.transcript],
        "tool_calls": [_call(event) for event in observation.tool_events],
        "duration_ms": observation.duration_ms,
        "command_invocations": [_invocation(call) for call in observation.command_invocations],
    }


def _event(event: Event) -> dict[str, Any]:
    """Return an event as in the transcript of a results file: the keys that are set."""
    keys: dict[str, Any] = msgspec.to_builtins(event)
    keys.pop("at_ms", None)
    return keys


def _call(event: ToolEvent) -> dict[str, Any]:
    arguments = event.args if isinstance(event.args, dict) else {}
    return {
        "id": event.tool_call_id,
        "name": event.tool_name,
        "arguments": {**dict.fromkeys(_COMMON_ARGUMENTS, ""), **arguments},
        "result": event.result,
        "success": event.success,
    }


def _invocation(call: CommandInvocation) -> dict[str, Any]:
    """Return a call of a mocked program; `exhausted` is there only where it is true, as in results."""
    keys = msgspec.structs.asdict(call)
    return keys if call.exhausted else {key: value for key, value in keys.items() if key != "exhausted"}
