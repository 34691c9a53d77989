"""Grader type `evaluator`: the evaluators of evaluation documents, built-in and custom, in suites."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from waza.errors import GraderError
from waza.graders._ask_judge import time_limit
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit.decode import fields_of
from waza.kit.names import did_you_mean
from waza.m365.custom.custom_result import threshold_problem
from waza.m365.custom.discover import FOLDER, discover
from waza.m365.document.model import DocumentTurn
from waza.m365.document.options import BUILT_IN, convert_options, name_conflict
from waza.m365.document.scores import RetrievalExecution
from waza.m365.evaluators.builtin import asks_judge
from waza.m365.evaluators.evaluator_set import EvaluatorSets
from waza.m365.evaluators.protocols import EvaluatorInput, EvaluatorResult
from waza.m365.judges.choose import KEYS, describe_judge, is_configured, make_judge
from waza.m365.judges.executor_judge import ExecutorJudgeModel
from waza.m365.judges.judge_model import JudgeError, JudgeModel, NoJudgeError
from waza.m365.judges.reported import ReportedJudgeModel
from waza.m365.results.status import entry_of, is_error, scale_of, unit_score
from waza.model.agent import JudgeQuestion
from waza.model.base import NonBlank
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


class EvaluatorGrader(Grader, frozen=True, kw_only=True):
    """An evaluator of Microsoft 365 evaluation documents, built-in or custom, as a grader.

    Custom evaluators are folders in `custom-evaluators` of the current directory, else beside the suite.
    `options` are those of the evaluator; its threshold can be set beside them. The prompt is the one that the output
    answers, and `expected_response` defaults to what the task expects. The judge is the one that the environment
    configures; built-in evaluators otherwise use the executor's.

    Score: judges (raw - 1) / 4, shares as they are, everything else 1 or 0; passed as the threshold says.
    `details` contain the raw score, its scale, the threshold and the reason.
    """

    needs_answer: ClassVar[bool] = True
    concurrent: ClassVar[bool] = True
    secret_variables: ClassVar[tuple[str, ...]] = KEYS
    name: NonBlank
    """A built-in evaluator, such as `Relevance` or `ExactMatch`, or the name of a custom one."""
    threshold: float | UnsetType = UNSET
    """The least score with which it passes, on the evaluator's own scale. Default: that of the evaluator."""
    options: dict[str, Any] = {}
    """Options of the evaluator."""
    expected_response: str = ""
    """The answer to compare with. Default: what the task expects."""
    context: str = ""
    """What the answer should be based on, for evaluators that look at that."""

    _root: Path | None = None  # the directory with custom-evaluators
    _entry: dict[str, Any] | None = None  # the options as a document has them, where there is one
    _judged: bool = False  # the verdict depends on a judge; known once it is placed in a suite
    _digest: str = ""  # of what its verdicts depend on besides its options

    @classmethod
    def of_document(
        cls, name: str, entry: dict[str, Any], turn: DocumentTurn, root: Path, digest: str
    ) -> EvaluatorGrader:
        """Return the grader that asks an evaluator about a turn; `entry` is what the document has of it."""
        return cls(
            name=name,
            expected_response=turn.expected_response,
            context=turn.context,
            _root=root,
            _entry=entry,
            _digest=digest,
        )

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Yield unknown evaluators, unknown options, and mistakes in custom evaluators."""
        taken = name_conflict(self.name)
        if taken:
            yield ConfigMistake(path=("name",), message=taken.message, hint=taken.hint)
            return
        if self.name in BUILT_IN:
            yield from self._check_options()
        else:
            for problem in discover(_root(location), [self.name]).problems:
                warning = problem.severity == "warning"
                yield ConfigMistake(
                    path=("name",), message=problem.message, hint=problem.hint, warning=warning
                )
            if wrong := threshold_problem(self._options) if self._is_custom_judge(_root(location)) else "":
                yield ConfigMistake(path=("threshold",), message=wrong)
        if self._asks_judge(_root(location)) and not (
            is_configured(os.environ) or (location.judge and self.name in BUILT_IN)
        ):
            message = f"{self.name} asks a judge, and none is configured, so it will not reach a verdict"
            hint = "set OPENAI_API_KEY or AZURE_AI_OPENAI_ENDPOINT, and what belongs to it"
            yield ConfigMistake(path=("name",), message=message, hint=hint, warning=True)

    def _check_options(self) -> Iterator[ConfigMistake]:
        known = [field.key for field in fields_of(BUILT_IN[self.name])]
        for key in self._options:
            if key not in known:
                path = ("threshold",) if key == "threshold" else ("options", key)
                yield ConfigMistake(
                    path=path, message=f"{self.name} has no option {key!r}", hint=did_you_mean(key, known)
                )
        try:
            convert_options(self.name, self._options)
        except msgspec.ValidationError as error:
            yield ConfigMistake(path=("options",), message=f"these options do not fit {self.name}: {error}")

    def resolve_paths(self, location: GraderLocation) -> EvaluatorGrader:
        """Return the grader with the directory of custom evaluators, and the digest of their files."""
        root = _root(location)
        judged = self._asks_judge(root)
        own = [evaluator_digest(root, self.name), describe_judge(os.environ) if judged else ""]
        return msgspec.structs.replace(self, _root=root, _judged=judged, _digest=" ".join(own))

    @property
    def extra_digest(self) -> str:
        """The digest of a custom evaluator's files, and who judges."""
        return self._digest

    def extra_files(self) -> list[Path]:
        """Return the folder of a custom evaluator."""
        return [self._root / FOLDER / self.name] if self._root and self.name not in BUILT_IN else []

    @property
    def repeatable(self) -> bool:
        """Whether the verdict does not depend on a judge."""
        return not self._judged

    @property
    def asks_judge(self) -> bool:
        """Whether the evaluator is a judge: one of the executor or of the environment answers."""
        return self._judged

    def _asks_judge(self, root: Path) -> bool:
        if self.name in BUILT_IN:
            return asks_judge(self.name, self._options)
        return self._is_custom_judge(root)

    def _is_custom_judge(self, root: Path) -> bool:
        return any(one.kind == "judge" for one in discover(root, [self.name]).evaluators)

    @property
    def _options(self) -> dict[str, Any]:
        """The options as an evaluation document has them."""
        if self._entry is not None:
            return self._entry
        own = {} if isinstance(self.threshold, UnsetType) else {"threshold": self.threshold}
        return {**self.options, **own} if self.name in BUILT_IN else {"options": self.options, **own}

    async def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Ask the evaluator."""
        evaluator_sets, used = helpers.shared.get(EvaluatorSets), [{self.name: self._options}]
        available = evaluator_sets.for_directory(self._root or Path.cwd())
        problems = [*available.find([self.name]), *await available.start([self.name])]
        if any(problem.severity == "error" for problem in problems):
            raise GraderError("; ".join(problem.message for problem in problems))
        try:
            judge = await self._judge(evaluator_sets, helpers) if available.names_asking_judge(used) else None
            available.check_judge(judge, used)
            evaluator = available.make(self.name, self._options, judge)
            result = await evaluator(self._evaluator_input(observation))
        except JudgeError as error:
            raise GraderError(str(error)) from error
        return _verdict(result)

    def _evaluator_input(self, observation: Observation) -> EvaluatorInput:
        searches = observation.diagnostics.get("retrieval_executions")
        try:
            known = msgspec.convert(searches, tuple[RetrievalExecution, ...] | None, strict=False)
        except msgspec.ValidationError as error:
            raise GraderError(f"the diagnostics of the agent's searches are not valid: {error}") from error
        return EvaluatorInput(
            prompt=observation.question,
            response=observation.output,
            expected_response=self.expected_response
            or (observation.expected if isinstance(observation.expected, str) else ""),
            context=self.context,
            retrieval=known,
        )

    async def _judge(self, evaluator_sets: EvaluatorSets, helpers: Helpers) -> JudgeModel:
        """Return the judge that the environment configures, else the executor's, which custom judges cannot use.

        Raises JudgeError without a judge, or if it cannot be asked.
        """
        if evaluator_sets.judge is None:
            try:
                evaluator_sets.judge = make_judge("", os.environ)
            except NoJudgeError:
                if self.name not in BUILT_IN or helpers.judge is None:
                    raise
                question = JudgeQuestion(
                    asker=helpers.name,
                    text="",
                    model=helpers.judge_model,
                    effort=helpers.judge_effort,
                    timeout=time_limit(helpers),
                )
                return ExecutorJudgeModel(helpers.judge, question)
        await evaluator_sets.check_judge()
        judge = evaluator_sets.judge
        report = helpers.report_question
        return judge if report is None else ReportedJudgeModel(judge, helpers.name, report)


def _verdict(result: EvaluatorResult) -> Verdict:
    if is_error(result):
        return Verdict.errored(
            entry_of(result)["error"], **({"traceback": result.traceback} if result.traceback else {})
        )
    details = {
        "evaluator": result.name,
        "kind": result.kind,
        "raw_score": result.score,
        "scale": scale_of(result),
        "threshold": result.threshold,
        "reason": result.reason,
        **result.extra,
    }
    score = unit_score(result)
    return Verdict(score=score, passed=result.passed, feedback=result.reason, details=details)


def _root(location: GraderLocation) -> Path:
    """Return the directory with custom evaluators."""
    here = Path.cwd()
    if location.module is None and (here / FOLDER).is_dir():
        return here
    return location.base


def evaluator_digest(root: Path, name: str) -> str:
    """Return the digest of a custom evaluator's files, helpers included, by their names; "" for a built-in one."""
    if name in BUILT_IN:
        return ""
    folder = root / FOLDER / name
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and path.suffix != ".pyc" and not any(part.startswith(".") for part in inner.parts):
            digest.update(inner.as_posix().encode("utf-8", "surrogateescape") + b"\0")
            with contextlib.suppress(OSError), path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
