"""Listings of the documentation of custom judges, as they are printed there, and what they come to."""

from __future__ import annotations

import re

PROFESSIONAL_TONE = """\
---
name: professional_tone
description: Scores professional tone 1-5.
model:
  api: chat
  parameters:
    temperature: 0.0
    max_tokens: 400
    response_format:
      type: json_object
inputs:
  user_prompt:
    type: string
  response:
    type: string
---
system:
You score professional tone 1 (hostile) to 5 (consistently professional).
Reply with only: {"score": <int 1-5>, "reason": "<one sentence>"}

user:
# User prompt
{{user_prompt}}

# Agent response
{{response}}
"""

MY_EVALUATOR = """\
class MyEvaluator:
    def __init__(self, *, model_config, threshold, options=None):
        # model_config:  AzureOpenAIModelConfiguration
        # threshold:     numeric pass/fail threshold
        # options:       dict of extra config from the evaluation document
        ...

    def __call__(
        self,
        *,
        prompt: str = "",
        expected_response: str = "",
        response: str = "",
        context: str = "",
        **_,  # accept extras for forward compatibility
    ) -> dict:
        # On success, return a flat dict with just:
        # {
        #     "score":  <integer 1-5>,
        #     "reason": "<explanation>",
        # }
        ...
"""

PREPARED_CONFIG = """\
prepared_config = dict(model_config)
prepared_config.setdefault(
    "type",
    "azure_openai" if "azure_endpoint" in prepared_config else "openai",
)
self._flow = load_flow(source=prompty_path, model={"configuration": prepared_config})
"""


ABSORBING = """\
# Names only what it uses (options), absorbs the rest (threshold, and so on):
class ForbiddenTermsEvaluator:
    def __init__(self, *, options=None, **_):
        self._terms = (options or {}).get("terms", [])

# A check that needs no configuration at all - absorb everything:
class NonEmptyEvaluator:
    def __init__(self, **_):  # ignores model_config, threshold, options
        pass

    def __call__(self, *, response: str = "", **_) -> dict:
        return {
            "score": 1 if response.strip() else 0,
            "reason": "non-empty" if response.strip() else "empty response",
        }
"""

FORBIDDEN_TERMS = """\
class ForbiddenTermsEvaluator:
    def __init__(self, *, threshold, options=None):
        self._terms = (options or {}).get("terms", [])

    def __call__(self, *, response: str = "", **_) -> dict:
        hit = [t for t in self._terms if t.lower() in response.lower()]
        # Default threshold is 1, so 1 -> pass, 0 -> fail.
        return {
            "score": 0 if hit else 1,
            "reason": f"Found: {', '.join(hit)}" if hit else "clean",
        }
"""

DOCUMENT = """\
{
  "schemaVersion": "1.7.0",
  "items": [
    {
      "prompt": "How do I file an expense report?",
      "evaluators": {
        "Relevance": {},
        "professional_tone": { "threshold": 4 },
        "consistency_check": {
          "threshold": 3,
          "options": { "samples": 5 }
        }
      }
    }
  ]
}
"""


def filled(skeleton: str, *bodies: str) -> str:
    """The skeleton, with a body in place of each `...` that stands on a line of its own."""
    parts = re.split(r"^( *)\.\.\.$", skeleton, flags=re.MULTILINE)
    for number, body in enumerate(bodies):
        indent = parts[2 * number + 1]
        parts[2 * number + 1] = "".join(indent + line for line in body.splitlines(keepends=True))
    return "".join(parts)


PROFESSIONAL_TONE_WRAPPER = "from pathlib import Path\nfrom promptflow.client import load_flow\n\n" + filled(
    MY_EVALUATOR,
    'prompty_path = str(Path(__file__).with_name("professional_tone.prompty"))\n' + PREPARED_CONFIG,
    "return self._flow(user_prompt=prompt, response=response)\n",
)
