"""Judge prompts in `.prompty` files, version 1 of the format, as promptflow's `load_flow` runs them.

    ---
    model:
      api: chat
      parameters: {temperature: 0.0, response_format: {type: json_object}}
    inputs:
      response: {type: string}
    ---
    system:
    Reply with {"score": 1-5, "reason": "..."}

    user:
    {{response}}

It accepts what promptflow accepts, and two things besides: a file without `parameters`, and a rule `---`
in the prompt. Images, streams, tools, flows and named connections are not supported.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from waza.kit import yaml
from waza.kit.names import nearest_name
from waza.m365.custom import prompty_messages
from waza.m365.custom.prompty_configuration import as_mapping

_FENCE = re.compile(r"^-{3,}[^\S\n]*(?:\n|\Z)", re.MULTILINE)
_REFERENCE = re.compile(r"\$\{(env|file):(.*)\}", re.DOTALL)

_ANY_API = (
    *("extra_body", "frequency_penalty", "logit_bias", "logprobs", "max_tokens", "model", "n"),
    *("presence_penalty", "seed", "stop", "stream_options", "temperature", "timeout", "top_p", "user"),
)
# Parameters that the two interfaces have; `model` and `messages` are ours to fill in.
_CHAT = frozenset(_ANY_API) | {
    *("audio", "max_completion_tokens", "messages", "metadata", "modalities", "prediction"),
    *("prompt_cache_key", "reasoning_effort", "response_format", "safety_identifier", "service_tier"),
    *("store", "top_logprobs", "verbosity", "web_search_options"),
}
_COMPLETION = frozenset(_ANY_API) | {"best_of", "echo", "prompt", "suffix"}
_UNSUPPORTED = ("stream", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")


RETRY_WAITS = (3.0, 4.0, 6.0, 10.0, 18.0, 34.0)
"""Seconds before the second, third ... try of a question that a busy or broken server did not answer."""


class PromptyError(Exception):
    """A prompty that cannot be read or asked, or an answer without what it needs."""


class MissingRequiredInputError(PromptyError):
    """An input that is declared without a default was not passed."""


def load_flow(source: str | os.PathLike[str], **overrides: Any) -> Prompty:
    """Load a `.prompty` file. The overrides, above all `model=`, are laid over its frontmatter, key by key.

    Raises PromptyError, with the name of the file, for anything that is not a prompty.
    """
    return Prompty(Path(source), overrides)


class Prompty:
    """A judge prompt. Calling it with the declared inputs asks the model and returns its answer."""

    retry_waits: ClassVar[Sequence[float]] = RETRY_WAITS

    def __init__(self, path: Path, overrides: Mapping[str, Any]) -> None:
        self._name = path.name
        meta, self._template, self._first_line = _read(path)
        meta = _resolve_references(_merge(meta, overrides), path.parent)
        model = self._mapping(meta, "model")
        self._configuration = self._mapping(model, "configuration")
        self._parameters = self._mapping(model, "parameters")
        self._is_chat = model.get("api") != "completion"
        self._whole = model.get("response") == "all"
        self._inputs = None if "inputs" not in meta else self._mapping(meta, "inputs", may_be_null=False)
        self._sample = meta.get("sample")
        self._outputs = self._mapping(meta, "outputs")

    @classmethod
    def load(cls, source: str | os.PathLike[str], **overrides: Any) -> Prompty:
        """Do what `load_flow` does."""
        return cls(Path(source), overrides)

    def __call__(self, *args: object, timeout: float | None = None, **given: object) -> Any:
        """Ask the model. Only declared inputs reach the prompt; `timeout`, in seconds, limits each try.

        Returned is the text of the answer, for `response_format: {type: json_object}` the value it holds,
        for `response: all` the whole response. Raises PromptyError if the answer has no such value, and
        JudgeError if there is no answer.
        """
        from waza.m365.custom import prompty_model  # needs httpx, which reading a prompty does not

        if args:
            raise PromptyError("Prompty can only be called with keyword arguments.")
        parameters = self._request_parameters()
        response = prompty_model.ask(
            self._configuration,
            "chat/completions" if self._is_chat else "completions",
            self._question(self._input_values(given)) | parameters,
            timeout=timeout or self._parameters.get("timeout"),
            waits=self.retry_waits,
        )
        return _to_object(response) if self._whole else self._answer(response)

    def undeclared_variables(self) -> dict[str, int]:
        """Return the variables of the prompt that no declared input fills, each with a line of the file.

        They render empty. Raises PromptyError for a prompt that cannot be rendered at all.
        """
        try:
            used = prompty_messages.find_variables(self._template)
        except prompty_messages.PromptTemplateError as error:
            raise self._error(str(error)) from None
        first, declared = self._first_line, self._declared_inputs()
        return {name: first + line - 1 for name, line in sorted(used.items()) if name not in declared}

    def _question(self, values: Mapping[str, object]) -> dict[str, Any]:
        try:
            if self._is_chat:
                return {"messages": prompty_messages.render_messages(self._template, values)}
            return {"prompt": prompty_messages.render_text(self._template, values)}
        except prompty_messages.PromptTemplateError as error:
            raise self._error(str(error)) from None

    def _input_values(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the values of the declared inputs; what is not declared is dropped."""
        if not given and self._sample is not None:
            given = self._sample_values()
        values, missing = {}, []
        for name, declared in self._declared_inputs().items():
            if not isinstance(declared, dict):
                raise self._error(f"the input {name!r} must be a mapping, such as {{type: string}}")
            if name in given:
                values[name] = given[name]
            elif "default" in declared:
                values[name] = declared["default"]
            else:
                missing.append(name)
        if missing:
            raise MissingRequiredInputError(f"Missing required inputs: {missing}")
        if "prompt" in values:
            raise self._error("the input name 'prompt' is reserved; use another one, such as 'user_prompt'")
        return values

    def _declared_inputs(self) -> Mapping[str, object]:
        if self._inputs is not None:
            return self._inputs
        return {} if self._sample is None else {name: {} for name in self._sample_values()}

    def _sample_values(self) -> Mapping[str, object]:
        if not isinstance(self._sample, dict):
            raise self._error("'sample' must be a mapping of input names to values, or ${file:NAME.json}")
        return self._sample

    def _request_parameters(self) -> dict[str, Any]:
        """Return the parameters for the body of the request: those of the file, and nothing else."""
        known = _CHAT if self._is_chat else _COMPLETION
        for name, value in self._parameters.items():
            if name in _UNSUPPORTED and value:
                raise self._error(f"the parameter {name!r} is not supported")
            if name not in known and name not in _UNSUPPORTED:
                meant = nearest_name(name, known)
                hint = f"; did you mean {meant!r}?" if meant else "; new ones can be put under 'extra_body'"
                raise self._error(f"unknown parameter {name!r}{hint}")
        ours = {"model", "messages", "prompt", "timeout", "extra_body"}
        sent = {name: value for name, value in self._parameters.items() if name not in ours}
        return sent | self._mapping(self._parameters, "extra_body")

    def _answer(self, response: Any) -> Any:
        """Return what the first choice of the response says."""
        try:
            choice = response["choices"][0]
            content = choice["message"]["content"] if self._is_chat else choice["text"]
        except (KeyError, IndexError, TypeError):
            raise self._error(f"the model's answer has no choice: {str(response)[:200]}") from None
        refusal = choice["message"].get("refusal") if self._is_chat else None
        if refusal and not content:
            raise self._error(f"the model declined to judge: {str(refusal)[:200]}")
        wanted = self._parameters.get("response_format")
        if not isinstance(wanted, dict) or wanted.get("type") != "json_object":
            return content
        try:
            value = json.loads(content)
        except (TypeError, ValueError, RecursionError):
            cut = "; it was cut off, so raise max_tokens" if choice.get("finish_reason") == "length" else ""
            raise PromptyError(
                f"could not parse score: the model did not answer well-formed JSON but {str(content)[:200]!r}{cut}"
            ) from None
        return self._select_outputs(value)

    def _select_outputs(self, value: Any) -> Any:
        if not self._outputs:
            return value
        if not isinstance(value, dict):
            raise self._error(f"'outputs' are declared, but the model answered {str(value)[:200]!r}")
        for name in self._outputs:
            if name not in value:
                raise PromptyError(f"Cannot find {name} in response {list(value)}")
        return {name: value[name] for name in self._outputs}

    def _mapping(self, meta: Mapping[str, Any], key: str, *, may_be_null: bool = True) -> dict[str, Any]:
        value = meta.get(key)
        if value is None and may_be_null:
            return {}
        if not isinstance(value, dict):
            raise self._error(f"{key!r} must be a mapping")
        return value

    def _error(self, text: str) -> PromptyError:
        return PromptyError(f"{self._name}: {text}")


def _read(path: Path) -> tuple[dict[str, Any], str, int]:
    """Return the frontmatter and the template of a file, and the line where the template starts."""
    if path.suffix != ".prompty":
        raise PromptyError(f"{path.name} is not a .prompty file; flows of other kinds are not supported")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise PromptyError(f"{path} cannot be read: {error}") from None
    opening = _FENCE.search(text)
    closing = _FENCE.search(text, opening.end()) if opening else None
    if not opening or not closing:
        raise PromptyError(f"{path.name} has no frontmatter between two lines '---'")
    try:
        node = yaml.load(
            text[opening.end() : closing.start()].encode(), text.count("\n", 0, opening.end()) + 1
        )
    except yaml.YamlError as error:
        raise PromptyError(f"{path.name}:{error.line}:{error.column}: {error.message}") from None
    meta = yaml.to_plain(node)
    if not isinstance(meta, dict):
        raise PromptyError(f"the frontmatter of {path.name} must be a mapping")
    return meta, text[closing.end() :], text.count("\n", 0, closing.end()) + 1


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one mapping over another, mapping by mapping."""
    merged = dict(below)
    for key, given in above.items():
        value = as_mapping(given)
        under = merged.get(key)
        both = isinstance(under, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(under, value) if both else value  # type: ignore[arg-type]  # `both` says so
    return merged


def _resolve_references(value: Any, folder: Path) -> Any:
    """Replace `${env:NAME}` and `${file:NAME}` where they are a whole value; a variable that is not set stays."""
    if isinstance(value, Mapping):
        return {key: _resolve_references(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolve_references(item, folder) for item in value]
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if not match:
        return value
    return os.environ.get(match[2], value) if match[1] == "env" else _read_reference(folder / match[2])


def _read_reference(path: Path) -> Any:
    """Return the content of a file that a prompty refers to: decoded if it is JSON or YAML, else its text."""
    try:
        data = path.read_bytes()
        if path.suffix.lower() in {".json", ".yaml", ".yml"}:
            return json.loads(data) if path.suffix.lower() == ".json" else yaml.to_plain(yaml.load(data))
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise PromptyError(f"Cannot find the reference file {path.name}.") from None
    except (OSError, ValueError) as error:
        raise PromptyError(f"the reference file {path.name} cannot be read: {error}") from None


def _to_object(value: Any) -> Any:
    """Return JSON as objects with attributes, as client libraries have it."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _to_object(item) for key, item in value.items()})
    return [_to_object(item) for item in value] if isinstance(value, list) else value
