"""The judge that an executor offers, as evaluators ask it: each question is a conversation of its own, without tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from waza.errors import WazaError
from waza.m365.judges.judge_model import JudgeError, JudgeReply, Message
from waza.model.agent import Judge, JudgeQuestion


class ExecutorJudgeModel:
    """Asks the judge of an executor, which others start and end. Custom evaluators cannot use it.

    `question` has the settings of all questions: who asks, the model, its effort and the time limit. `title` is what
    errors call the judge.
    """

    def __init__(self, judge: Judge, question: JudgeQuestion, title: str = "the judge") -> None:
        self._judge, self._question, self._title = judge, question, title
        self.name = self.model = question.model
        self.provider = question.provider
        self.model_config: Mapping[str, str] = {}

    async def check(self) -> None:
        """Do nothing; the executor was started."""

    async def complete(self, messages: Sequence[Message]) -> JudgeReply:
        """Return the reply to the messages as one text. Raises JudgeError with the reason if that fails."""
        text = "\n\n".join(message.content for message in messages)
        try:
            interview = await self._judge.open(None)
            try:
                answer = await interview.ask(structs.replace(self._question, text=text))
            finally:
                await interview.aclose()
        except WazaError as error:
            raise JudgeError(f"{self._title} gave no judgement: {error}") from error
        if answer.error or not answer.text.strip():
            raise JudgeError(f"{self._title} gave no judgement: {answer.error or 'the reply is empty'}")
        return JudgeReply(answer.text, answer.usage)

    async def aclose(self) -> None:
        """Do nothing; the executor's owner ends it."""
