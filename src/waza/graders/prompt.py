"""`prompt`: a judge, that is a model, judges by instructions or a rubric, and says so with tool calls."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from waza.errors import GraderError
from waza.graders import _ask_judge, _pairwise, _rubric
from waza.graders._rubric import Rubric
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit.share import reaches
from waza.model.agent import READING, JudgeAnswer, JudgeQuestion, JudgeToolCall, Tool
from waza.model.base import Effort, NonBlank, Seconds
from waza.model.observation import Observation
from waza.model.skill import canonical_tool
from waza.model.verdict import NO_VERDICT, Helpers, Verdict

PASS, FAIL = "set_waza_grade_pass", "set_waza_grade_fail"

_ARGUMENTS = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "description": "What was checked, in a few words."},
        "reason": {"type": "string", "description": "Why this is the verdict."},
    },
}
TOOLS = (
    Tool(name=PASS, description="Record that a criterion is met.", parameters=_ARGUMENTS),
    Tool(name=FAIL, description="Record that a criterion is not met, and why.", parameters=_ARGUMENTS),
)
_CLOSING = (
    f"Give your verdict as the instructions at the top ask: call {PASS} or {FAIL}, each time with a reason."
)
_USABLE = (*READING, "bash", "edit", "create", "apply_patch", "sql", "task", "web_fetch")
_SHOWN = 500  # characters of an answer that holds no verdict

JUDGE_MODEL, JUDGE_EFFORT = "judge_model", "judge_reasoning_effort"
"""Details of a verdict whose grader has a model or an effort of its own; else they are those of `config`."""


class Prompt(Grader, frozen=True, kw_only=True):
    """A model as the judge of the output, by a prompt or a rubric.

    Score = passes / (passes + fails) among the judge's calls; passed = a pass, no fail, and `threshold`. The judge gets `prompt`, else the text of `rubric` (a built-in name or a path), and then the task's
    input and the agent's output; with `continue_session` or `include_output: false` the text alone.
    `continue_session` asks in the agent's own session. A judge reads (view, grep, glob); `tools` names what it may
    use besides, such as bash, and then it works in a copy of the workspace. `mode: pairwise` compares the output with that of
    the baseline run where there is one. `model`, `reasoning_effort` and `timeout` (seconds) are by default the
    suite's.
    """

    accepts_empty_variables: ClassVar[bool] = True
    prompt: str = ""
    """What the judge is asked to look for. It wins over the text of `rubric`."""
    rubric: str = ""
    """A built-in rubric, or a Markdown file beside the suite or in the current directory."""
    model: str = ""
    """The model of the judge. Default: `config.judge_model` of the suite."""
    reasoning_effort: Effort | None = None
    """How much the judge thinks. Default: `config.judge_reasoning_effort` of the suite."""
    continue_session: bool = False
    """Ask in the agent's own session, which knows what the agent did."""
    mode: Literal["independent", "pairwise"] = "independent"
    """`pairwise` compares the output with that of the baseline, where there is one."""
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """The least score, from 0 to 1, with which the grader passes."""
    include_output: bool = True
    """Whether the judge is given the task's input and the agent's output."""
    tools: list[NonBlank] = []
    """Tools that the judge may use besides reading. It works in a copy of the workspace then."""
    timeout: Seconds | None = None
    """Seconds that one answer of the judge may take. Default: `config.judge_timeout_seconds` of the suite."""
    _loaded: Rubric | None = None

    @property
    def repeatable(self) -> bool:
        """Whether the same answer always gets the same verdict: a judge may think again."""
        return False

    @property
    def needs_session(self) -> bool:
        """Whether it asks in the agent's own session."""
        return self.continue_session

    def required_capabilities(self) -> Mapping[str, str]:
        """Say that it asks a judge, and how."""
        return {"judge": "", **({"efforts": "reasoning_effort"} if self.reasoning_effort else {})}

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse a grader without instructions, and a rubric with mistakes."""
        if not self.prompt.strip() and not self.rubric.strip():
            yield ConfigMistake(
                message="has no instructions for the judge",
                hint=f"set prompt, or rubric to a file or one of: {', '.join(_rubric.list_built_in())}",
            )
        if self.rubric.strip():
            for problem in _rubric.load_rubric(self.rubric, location)[1]:
                shown = msgspec.structs.replace(problem, hint="", severity="error")
                warning = problem.severity == "warning"
                yield ConfigMistake(path=("rubric",), message=str(shown), hint=problem.hint, warning=warning)
        yield from self._check_tools()
        limit = os.environ.get(_ask_judge.TIME_LIMIT, "")
        if limit.strip() and _ask_judge.parse_duration(limit) is None:
            yield ConfigMistake(
                message=f"{_ask_judge.TIME_LIMIT} is {limit!r}, which is not a valid duration; a judge gets "
                f"{_ask_judge.DEFAULT_TIME_LIMIT:g} s",
                hint="write a duration such as 300s or 5m",
                warning=True,
            )

    def _check_tools(self) -> Iterator[ConfigMistake]:
        """Refuse tools that no judge has: a misspelt one would silently be missing."""
        for index, name in enumerate(self.tools):
            if canonical_tool(name) not in {canonical_tool(known) for known in _USABLE}:
                yield ConfigMistake(
                    path=("tools", index),
                    message=f"{name!r} is not a tool that a judge can be given",
                    hint=f"write one of: {', '.join(_USABLE)}",
                )
        if self.tools and self.continue_session:
            yield ConfigMistake(
                path=("tools",),
                message="a judge that continues the agent's session only reads",
                hint="leave out tools, or continue_session",
            )

    def resolve_paths(self, location: GraderLocation) -> Prompt:
        """Take the rubric along, so that its file is read once."""
        return msgspec.structs.replace(self, _loaded=self._load(location))

    async def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Ask the judge. Raises GraderError if there is no judge, or it fails before a verdict."""
        rubric = self._loaded or self._load(GraderLocation())
        question = JudgeQuestion(
            asker=helpers.name,
            text=(self.prompt if rubric is None or self.prompt.strip() else rubric.body).strip(),
            model=self.model or helpers.judge_model,
            effort=self.reasoning_effort or helpers.judge_effort,
            may_use=tuple(self.tools),
            timeout=_ask_judge.time_limit(helpers, self.timeout),
        )
        if self.mode == "pairwise" and observation.baseline_output:
            context = [*_task_input(observation), *_expectation(observation, rubric)]
            verdict = await _pairwise.compare(question, observation, helpers, context)
        else:
            verdict = await self._independent(
                question, observation, helpers, _expectation(observation, rubric)
            )
        return self._apply_threshold(verdict, rubric)

    async def _independent(
        self,
        question: JudgeQuestion,
        observation: Observation,
        helpers: Helpers,
        expectation: list[tuple[str, str]],
    ) -> Verdict:
        if self.continue_session and not observation.session_id:
            raise GraderError(
                "continue_session: true asks in the agent's own session, but no session was recorded; "
                "leave it out, or use an executor that keeps sessions"
            )
        material = expectation
        if self.include_output and not self.continue_session:
            material = [*_task_input(observation), *expectation, _candidate(observation)]
        text = _ask_judge.build_prompt(question.text, material, _CLOSING) if material else question.text
        question = msgspec.structs.replace(question, text=text, tools=TOOLS)
        resume_id = observation.session_id if self.continue_session else ""
        return _verdict(await _ask_judge.ask(question, observation, helpers, resume_id), text)

    def _load(self, location: GraderLocation) -> Rubric | None:
        if not self.rubric.strip():
            return None
        rubric, problems = _rubric.load_rubric(self.rubric, location)
        if rubric is None:
            raise GraderError("; ".join(str(problem) for problem in problems))
        return rubric

    def _apply_threshold(self, verdict: Verdict, rubric: Rubric | None) -> Verdict:
        """Hold a verdict to the threshold, and note the rubric, and the judge where it is not that of the suite."""
        own = {JUDGE_MODEL: self.model, JUDGE_EFFORT: self.reasoning_effort}
        details = {**verdict.details, **{key: value for key, value in own.items() if value}}
        if rubric:
            details["rubric"] = rubric.details
        if not verdict.passed or reaches(verdict.score, self.threshold):
            return msgspec.structs.replace(verdict, details=details)
        feedback = f"score {verdict.score:g} is below the threshold {self.threshold:g}; {verdict.feedback}"
        return msgspec.structs.replace(verdict, passed=False, feedback=feedback, details=details)


def _task_input(observation: Observation) -> list[tuple[str, str]]:
    return [("Task input", observation.prompt)] if observation.prompt.strip() else []


def _expectation(observation: Observation, rubric: Rubric | None) -> list[tuple[str, str]]:
    shown = rubric is not None and observation.expected_outcome.strip()
    return [(_ask_judge.EXPECTATION, observation.expected_outcome)] if shown else []


def _candidate(observation: Observation) -> tuple[str, str]:
    return (
        "Candidate output" if observation.output.strip() else "Candidate output (it is empty)",
        observation.output,
    )


def _verdict(answer: JudgeAnswer, text: str) -> Verdict:
    """Return the verdict that the judge's calls amount to; `text` is what it was asked."""
    passes = [_entry(call) for call in answer.calls if call.name == PASS]
    fails = [_entry(call) for call in answer.calls if call.name == FAIL]
    ignored = f"\n[its turn then broke, which is ignored: {answer.error}]" if answer.error else ""
    details: dict[str, Any] = {
        "response": (answer.text or "(the judge wrote no text)") + ignored,
        "prompt": text,
        "passes": "; ".join(passes),
        "failures": "; ".join(fails),
    }
    if not passes and not fails:
        details[NO_VERDICT] = True
        reply = f"; it said: {answer.text[:_SHOWN]}" if answer.text else ""
        return Verdict.failed(
            f"the judge gave no verdict: it called neither {PASS} nor {FAIL}{reply}", **details
        )
    total = len(passes) + len(fails)
    feedback = "; ".join(fails) or f"the judge passed {total} of {total} criteria"
    return Verdict(score=len(passes) / total, passed=not fails, feedback=feedback, details=details)


def _entry(call: JudgeToolCall) -> str:
    """Return a call's description and reason; a call whose arguments cannot be read still counts."""
    parts = [call.args.get(key) for key in ("description", "reason")]
    return ": ".join(part for part in parts if isinstance(part, str) and part) or "no reason given"
