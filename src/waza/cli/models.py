"""`waza models`: the models that the Copilot runtime offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waza.executors.copilot_models import Model


@click.command(epilog="Example: waza models --json")
@json_option("Print the models as JSON.")
def command(*, as_json: bool) -> int:
    """List the models that the Copilot runtime offers, with their reasoning efforts.

    Needs the extra `copilot` and a login. A model server of your own (COPILOT_BASE_URL) has no list here.
    """
    import asyncio

    from waza.cli.copilot import list_hosted_models
    from waza.cli.streams import print_json, print_line
    from waza.errors import EXIT_OK

    models = asyncio.run(list_hosted_models())
    if as_json:
        print_json(models)
    else:
        print_line("\n".join(_table(models)))
    return EXIT_OK


def _table(models: Sequence[Model]) -> list[str]:
    from waza.kit.text import pluralize
    from waza.report.table import table

    lines = [
        (
            model.id,
            model.name,
            "yes" if model.vision else "no",
            _window(model.context_window),
            ", ".join(model.supported_reasoning_efforts) or "-",
        )
        for model in models
    ]
    return [
        *table(("ID", "Name", "Vision", "Context", "Efforts"), lines),
        "",
        pluralize(len(models), "model"),
    ]


def _window(tokens: int) -> str:
    if tokens >= 1_000_000:
        return f"{tokens // 1_000_000}M"
    return f"{tokens // 1000}k" if tokens else "-"
