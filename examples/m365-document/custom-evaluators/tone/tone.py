"""A judge: it asks a model by the prompt in tone.prompty."""

from pathlib import Path

from promptflow.client import load_flow


class Tone:
    """Scores how polite a response is."""

    def __init__(self, *, model_config, **_):
        configuration = dict(model_config)
        kind = "azure_openai" if "azure_endpoint" in configuration else "openai"
        configuration.setdefault("type", kind)
        prompt = Path(__file__).with_suffix(".prompty")
        self._flow = load_flow(source=str(prompt), model={"configuration": configuration})

    def __call__(self, *, prompt="", response="", **_):
        """Return what the model says: a score from 1 to 5, and a reason."""
        return self._flow(user_prompt=prompt, response=response)
