"""The executor `faq`: an agent that knows a list of answers."""

from __future__ import annotations

from waza import (
    Attempt,
    AttemptWorkspace,
    Capabilities,
    Event,
    ExecutorError,
    Keys,
    Limits,
    Setup,
    Task,
    Turn,
)


class FaqOptions(Keys, frozen=True, kw_only=True):
    """`config.executor_options`. An unknown key is an error, with its place in the suite."""

    answers: dict[str, str]
    """What to answer, by a word of the prompt."""


class Faq:
    """The agent engine: there is one for each suite and model."""

    capabilities = Capabilities(repeatable=True)  # all else is not there: no skills, no tools, no judge
    Options = FaqOptions

    def __init__(self, setup: Setup) -> None:
        self.answers = setup.options(FaqOptions).answers

    async def start(self) -> None:
        """Get ready, or say what is missing. It is called once, before the first trial."""
        if not self.answers:
            raise ExecutorError("faq has no answers; list some in config.executor_options.answers")

    def works_in(self, task: Task) -> bool:
        """Tell whether the agent needs a workspace for a task that brings no files."""
        return False

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> FaqSession:
        """Start a session, one for each attempt."""
        return FaqSession(self.answers)

    def judge(self, attempt: Attempt) -> None:
        """Return what answers the questions of graders; None: nothing does."""

    async def aclose(self) -> None:
        """Stop the engine. It is called once, after the last trial."""


class FaqSession:
    """A conversation."""

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = answers

    async def send(self, prompt: str, limits: Limits) -> Turn:
        """Answer a prompt. A turn that breaks is a Turn with `error`."""
        found = [answer for word, answer in self.answers.items() if word in prompt]
        if not found:
            return Turn(error="no word of the prompt is in the list of answers")
        return Turn(output=found[0], events=(Event(type="assistant.message", content=found[0]),))

    async def aclose(self) -> None:
        """End the session."""
