"""Metrics of runs: trials and their scores, graders, tokens, and how long it all took."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.metrics import Histogram, Meter

from waza.model.observation import Usage

Labels = Mapping[str, str | bool]
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 300, 900)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_SCORES = tuple(number / 10 for number in range(11))


class Measures:
    """The instruments of one invocation."""

    def __init__(self, meter: Meter) -> None:
        def seconds(name: str, meaning: str) -> Histogram:
            return meter.create_histogram(
                name, "s", meaning, explicit_bucket_boundaries_advisory=list(_SECONDS)
            )

        def scores(name: str, meaning: str) -> Histogram:
            return meter.create_histogram(
                name, "1", meaning, explicit_bucket_boundaries_advisory=list(_SCORES)
            )

        self.trials = meter.create_counter("waza.trials", "{trial}", "Trials that ended")
        self.attempts = meter.create_counter("waza.attempts", "{attempt}", "Attempts that ended")
        self.trial_seconds = seconds("waza.trial.duration", "Time from the start of a trial to its end")
        self.trial_score = scores("waza.trial.score", "Mean score of the graders of a trial")
        self.grader_seconds = seconds("waza.grader.duration", "Time that a grader took")
        self.grader_score = scores("waza.grader.score", "Score that a grader gave")
        self.agent_seconds = seconds("gen_ai.invoke_agent.duration", "Time of a turn of the agent")
        self.tool_seconds = seconds("gen_ai.execute_tool.duration", "Time of a tool call of the agent")
        self.operation_seconds = seconds(
            "gen_ai.client.operation.duration", "Time of a turn of the agent, or of an answer of a judge"
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of a turn of the agent, or of an answer of a judge",
            explicit_bucket_boundaries_advisory=list(_TOKENS),
        )
        self._read = meter.create_counter(
            "gen_ai.client.inference.usage.input_tokens", "{token}", "Tokens that models read"
        )
        self._written = meter.create_counter(
            "gen_ai.client.inference.usage.output_tokens", "{token}", "Tokens that models wrote"
        )

    def add_tokens(self, usage: Usage | None, labels: Labels) -> None:
        """Add what a turn or an answer cost, where it is known."""
        if usage is None:
            return
        pairs = (("input", usage.input_tokens, self._read), ("output", usage.output_tokens, self._written))
        for kind, count, counter in pairs:
            if count:
                self._tokens.record(count, {**labels, "gen_ai.token.type": kind})
                counter.add(count, labels)
