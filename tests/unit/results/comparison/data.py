"""Random results for tests of the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from waza.results.comparison.conclude import Measured
from waza.results.comparison.measured import MeasuredTask, MeasuredTrial

Scores = Sequence[Sequence[float]]


def measured(name: str, scores: Scores, groups: Sequence[str] = (), **more: Scores) -> Measured:
    """Make a result with the scores of each task, trial by trial, and with values of other metrics."""
    tasks = [
        MeasuredTask(
            id=f"t{i}",
            group=groups[i] if groups else "",
            trials=tuple(
                MeasuredTrial({"score": score, **{key: values[i][k] for key, values in more.items()}})
                for k, score in enumerate(row)
            ),
        )
        for i, row in enumerate(scores)
    ]
    return Measured(name, tasks)


def random_differences(seed: int, count: int) -> list[float]:
    """Return differences as means of trials have them: some are zero, some equal."""
    draw = Random(seed)
    return [draw.choice([0, 1 / 3, -1 / 3, 2 / 3, 1.0, -1.0, draw.gauss(0.1, 0.4)]) for _ in range(count)]


def random_clusters(seed: int, count: int) -> list[list[float]]:
    """Return clusters of one to six differences, that share a part."""
    draw = Random(seed)
    shared = [draw.gauss(0.1, 0.3) for _ in range(count)]
    return [[part + draw.gauss(0, 0.3) for _ in range(draw.randint(1, 6))] for part in shared]
