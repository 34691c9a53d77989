"""Model configurations as promptflow has them: classes that wrappers may give to `load_flow` instead of a mapping."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar


@dataclasses.dataclass
class AzureOpenAIModelConfiguration:
    """A deployment of Azure OpenAI."""

    kind: ClassVar[str] = "azure_openai"
    azure_deployment: str
    azure_endpoint: str | None = None
    api_version: str | None = None
    api_key: str | None = None


@dataclasses.dataclass
class OpenAIModelConfiguration:
    """A model of OpenAI, or of a server that speaks like it."""

    kind: ClassVar[str] = "openai"
    model: str
    base_url: str | None = None
    api_key: str | None = None
    organization: str | None = None


def as_mapping(configuration: Any) -> Any:
    """Return a configuration as a mapping with its `type`; anything else as it is."""
    if not isinstance(configuration, AzureOpenAIModelConfiguration | OpenAIModelConfiguration):
        return configuration
    given = {key: value for key, value in dataclasses.asdict(configuration).items() if value is not None}
    return {"type": configuration.kind, **given}
