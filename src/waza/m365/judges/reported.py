"""A judge whose questions are reported, so that telemetry and session logs have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from waza.m365.judges.judge_model import JudgeError, JudgeModel, JudgeReply, Message
from waza.model.agent import JudgeAnswer, JudgeQuestion


class ReportedJudgeModel:
    """Asks another judge, which others start and end; `report` is `Helpers.report_question` of the grader `asker`."""

    def __init__(
        self,
        judge: JudgeModel,
        asker: str,
        report: Callable[[JudgeQuestion], Callable[[JudgeAnswer], None]],
    ) -> None:
        self._judge, self._asker, self._report = judge, asker, report
        self.name, self.provider, self.model = judge.name, judge.provider, judge.model
        self.model_config: Mapping[str, str] = judge.model_config

    async def check(self) -> None:
        """Do nothing; the judge was checked."""

    async def complete(self, messages: Sequence[Message]) -> JudgeReply:
        """Return the reply. Raises JudgeError."""
        text = "\n\n".join(message.content for message in messages)
        question = JudgeQuestion(asker=self._asker, text=text, model=self.model, provider=self.provider)
        answered = self._report(question)
        answer = JudgeAnswer(error="it was not answered")
        try:
            reply = await self._judge.complete(messages)
            answer = JudgeAnswer(text=reply.text, usage=reply.usage)
        except JudgeError as error:
            answer = JudgeAnswer(error=str(error))
            raise
        finally:
            answered(answer)
        return reply

    async def aclose(self) -> None:
        """Do nothing; the judge is ended with the run."""
