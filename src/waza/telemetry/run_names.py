"""What the spans and metrics of one run have in common, and the paths of its spans."""

from __future__ import annotations

from waza.model.attempt_event import AttemptEvent
from waza.model.event import RunStarted
from waza.model.observation import ModelCall, Usage
from waza.telemetry.measures import Measures
from waza.telemetry.payloads import Attributes, Payloads
from waza.telemetry.span_tree import Path, SpanFault

_COPILOT = "copilot-sdk"
_GITHUB, _OLDER_GITHUB = "github.copilot", "github_copilot"


class RunNames:
    """The names of one run: attributes of its suite, its model, and who provides the model.

    `provider` and `model` are attributes of the conventions; `labels` are those of metrics.
    """

    def __init__(self, measures: Measures, payloads: Payloads, *, compat: bool) -> None:
        self.measures, self.payloads, self.compat = measures, payloads, compat
        self.provider: dict[str, str] = {}
        self.model: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.arm = "main"

    def set(self, event: RunStarted) -> None:
        """Take the names of the run that starts."""
        name, is_copilot = self.payloads.name, event.executor == _COPILOT
        self.provider = self._provider(_GITHUB if is_copilot else event.executor)
        self.model = {"gen_ai.request.model": name(event.model)} if event.model else {}
        self.labels = {
            "waza.eval.name": name(event.suite),
            **({"waza.eval.skill": name(event.skill)} if event.skill else {}),
            "waza.eval.engine": event.executor,
            **self.model,
        }

    def served_by(self, provider: str) -> dict[str, str]:
        """Return the attributes of who serves a model; empty: the executor does."""
        return self._provider(provider) if provider else self.provider

    def _provider(self, name: str) -> dict[str, str]:
        older = {"gen_ai.system": _OLDER_GITHUB if name == _GITHUB else name} if self.compat else {}
        return {"gen_ai.provider.name": name, **older}

    def fault(self, kind: str, reason: str) -> SpanFault:
        """Return what something broke with; secrets are removed from the reason."""
        return SpanFault(kind, self.payloads.reason(reason))

    def usage(self, usage: Usage | ModelCall | None) -> Attributes:
        """Return the attributes of tokens; none where they are not known."""
        if usage is None or not (usage.input_tokens or usage.output_tokens):
            return {}
        attributes: Attributes = {
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
        }
        if usage.cache_read_tokens:
            attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read_tokens
            if self.compat:
                attributes["gen_ai.usage.cache_read_tokens"] = usage.cache_read_tokens
        if usage.cache_write_tokens:
            attributes["gen_ai.usage.cache_write.input_tokens"] = usage.cache_write_tokens
        if isinstance(usage, Usage) and usage.premium_requests:
            attributes["waza.usage.premium_requests"] = float(usage.premium_requests)
        return attributes


def attempt_path(event: AttemptEvent) -> Path:
    """Return the path of the attempt in which something happened."""
    return (event.task_id, event.trial, event.attempt)
