"""Judge prompts: files, inputs, messages and answers, with a scripted model behind HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.support.evaluators import PROMPTY
from tests.support.model_server import ModelServer, Reply

from waza.m365.custom import prompty_model
from waza.m365.custom.prompty import MissingRequiredInputError, Prompty, PromptyError, load_flow
from waza.m365.judges.judge_model import JudgeError

HEAD, BODY = PROMPTY.split("---\n")[1:]
GOOD = '{"score": 4, "reason": "fine"}'
GIVEN: dict[str, Any] = {"user_prompt": "hi", "response": "there"}
TEXT = HEAD.replace("    response_format: {type: json_object}\n", "")
INPUTS = HEAD.split("inputs:")[0] + "inputs:\n"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer({"": [Reply(GOOD)]}) as started:
        yield started
    prompty_model._client().close()
    prompty_model._client.cache_clear()


@pytest.fixture
def flow(server, tmp_path):
    """Loads a prompty of a head and a body on the scripted model."""

    def load(head: str = HEAD, body: str = BODY, **overrides: Any) -> Prompty:
        path = tmp_path / "tone.prompty"
        path.write_bytes(f"---\n{head}---\n{body}".encode())
        configuration = {"type": "openai", "base_url": server.base_url, "api_key": "k", "model": "m"}
        return load_flow(source=str(path), **{"model": {"configuration": configuration}, **overrides})

    return load


def body(server: ModelServer) -> Mapping[str, Any]:
    return dict(server.requests[-1].body)


def messages(server: ModelServer) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in body(server)["messages"]]


def answers(server: ModelServer, text: str, **reply: Any) -> None:
    server.scripts = {"": [Reply(text, **reply)]}


# Files

SYSTEM = ("system", "Score it.")
USER = ("user", "hi\n\n# Response\nthere")


@pytest.mark.parametrize(
    "file",
    [
        PROMPTY,
        PROMPTY.replace("\n", "\r\n"),
        "\ufeff" + PROMPTY,
        "\n\n" + PROMPTY,
        "a word before\n" + PROMPTY,
        PROMPTY.replace("---\n", "-----\n"),
        PROMPTY.replace("---\n", "---  \n"),
    ],
)
def test_a_file_in_all_its_shapes(server, tmp_path, file):
    path = tmp_path / "tone.prompty"
    path.write_bytes(file.encode())
    configuration = {"type": "openai", "base_url": server.base_url, "api_key": "k", "model": "m"}
    assert load_flow(path, model={"configuration": configuration})(**GIVEN) == {"score": 4, "reason": "fine"}
    assert messages(server) == [SYSTEM, USER]


def test_a_rule_and_a_table_in_the_prompt_are_text(flow, server):
    flow(body="system:\nA\n---\n|a|\n|---|\n|b|\nC ---\nuser:\nD\n")(**GIVEN)
    assert messages(server) == [("system", "A\n---\n|a|\n|---|\n|b|\nC ---"), ("user", "D")]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.txt", PROMPTY, "a.txt is not a .prompty file; flows of other kinds are not supported"),
        ("a.prompty", BODY, "a.prompty has no frontmatter between two lines '---'"),
        ("a.prompty", "---\nname: x\n" + BODY, "a.prompty has no frontmatter between two lines '---'"),
        ("a.prompty", "---\n- x\n---\n" + BODY, "the frontmatter of a.prompty must be a mapping"),
        ("a.prompty", "---\nmodel: x\n---\n" + BODY, "a.prompty: 'model' must be a mapping"),
        ("a.prompty", "---\ninputs: [a]\n---\n" + BODY, "a.prompty: 'inputs' must be a mapping"),
        ("a.prompty", "---\ninputs:\n---\n" + BODY, "a.prompty: 'inputs' must be a mapping"),
        ("a.prompty", "---\nx: ${file:no.json}\n---\n" + BODY, "Cannot find the reference file no.json."),
        ("a.prompty", "---\nname: t\nx: [a\n---\n" + BODY, "a.prompty:3:4: not valid YAML: "),
    ],
)
def test_a_file_that_is_no_prompt(tmp_path, name, content, text):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(PromptyError) as caught:
        load_flow(tmp_path / name)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("content", [None, b"---\n\xff\n---\n"])
def test_a_file_that_cannot_be_read(tmp_path, content):
    if content:
        (tmp_path / "a.prompty").write_bytes(content)
    with pytest.raises(PromptyError, match=r"a\.prompty cannot be read: "):
        load_flow(tmp_path / "a.prompty")


def test_references_are_followed_where_they_are_a_whole_value(flow, server, tmp_path, monkeypatch):
    monkeypatch.setenv("KEY", "sekret")
    monkeypatch.delenv("UNSET", raising=False)
    (tmp_path / "stop.json").write_text('["a", "b"]', encoding="utf-8")
    (tmp_path / "bias.yaml").write_text("{'50256': -1}", encoding="utf-8")
    (tmp_path / "who.txt").write_text("me\n", encoding="utf-8")
    parameters = """
    stop: ${file:stop.json}
    logit_bias: ${file:bias.yaml}
    user: ${file:who.txt}
    metadata: {list: ['${env:KEY}', 'a${env:KEY}', '${env:UNSET}', '${ env:KEY }']}
"""
    configuration = {"type": "openai", "base_url": server.base_url, "api_key": "${env:KEY}", "model": "m"}
    head = TEXT.replace("    temperature: 0.0\n", parameters)
    flow(head, model={"configuration": configuration})(**GIVEN)
    sent = body(server)
    assert (sent["stop"], sent["logit_bias"], sent["user"]) == (["a", "b"], {"50256": -1}, "me\n")
    assert sent["metadata"] == {"list": ["sekret", "a${env:KEY}", "${env:UNSET}", "${ env:KEY }"]}
    assert server.requests[-1].headers["authorization"] == "Bearer sekret"


def test_overrides_win_key_by_key(flow, server):
    configuration = {"type": "openai", "base_url": server.base_url, "api_key": "k", "model": "m"}
    head = TEXT.replace(
        "  parameters:", "  configuration: {type: azure_openai, model: x}\n  parameters:\n    seed: 1"
    )
    flow(head, model={"configuration": configuration, "parameters": {"seed": 2}})(**GIVEN)
    assert (body(server)["model"], body(server)["seed"], body(server)["temperature"]) == ("m", 2, 0.0)


# Inputs


@pytest.mark.parametrize(
    ("head", "given", "shown"),
    [
        (HEAD, {**GIVEN, "unknown": 1, "prompt": "dropped"}, "hi\n\n# Response\nthere"),
        (HEAD, {"user_prompt": 3, "response": {"a": [1, "x"]}}, "3\n\n# Response\n{'a': [1, 'x']}"),
        (HEAD, {"user_prompt": None, "response": "<b>&"}, "None\n\n# Response\n<b>&"),
        (
            HEAD,
            {"user_prompt": "", "response": "{{user_prompt}}{% if %}"},
            "# Response\n{{user_prompt}}{% if %}",
        ),
        (HEAD.replace("response: {", "response: {default: d, "), {"user_prompt": "x"}, "x\n\n# Response\nd"),
        (HEAD.replace("{type: string}", "{default: d}"), {}, "d\n\n# Response\nd"),
        (HEAD + "sample: {user_prompt: s, response: t}\n", {}, "s\n\n# Response\nt"),
        (
            INPUTS.replace("inputs:", "sample: {user_prompt: s, response: t}"),
            GIVEN,
            "hi\n\n# Response\nthere",
        ),
        (INPUTS.replace("inputs:", "description: nothing is declared"), GIVEN, "# Response"),
        (INPUTS.replace("inputs:", "inputs: {}"), GIVEN, "# Response"),
    ],
)
def test_what_of_the_arguments_reaches_the_prompt(flow, server, head, given, shown):
    flow(head)(**given)
    assert messages(server) == [SYSTEM, ("user", shown)]


@pytest.mark.parametrize(
    ("head", "given", "text"),
    [
        (HEAD, {"user_prompt": "x"}, "Missing required inputs: ['response']"),
        (HEAD, {}, "Missing required inputs: ['user_prompt', 'response']"),
        (
            HEAD + "sample: {user_prompt: s, response: t}\n",
            {"response": "x"},
            "Missing required inputs: ['user_prompt']",
        ),
        (INPUTS + "  prompt: {type: string}\n", {}, "Missing required inputs: ['prompt']"),
        (
            INPUTS + "  prompt: {type: string}\n",
            {"prompt": "x"},
            "tone.prompty: the input name 'prompt' is reserved",
        ),
        (
            INPUTS + "  response: string\n",
            GIVEN,
            "tone.prompty: the input 'response' must be a mapping, such as {type: s",
        ),
        (
            INPUTS + "  response:\n",
            GIVEN,
            "tone.prompty: the input 'response' must be a mapping, such as {type: string}",
        ),
        (HEAD + "sample: nothing.json\n", {}, "tone.prompty: 'sample' must be a mapping"),
    ],
)
def test_arguments_and_declarations_that_do_not_fit(flow, server, head, given, text):
    with pytest.raises(PromptyError) as caught:
        flow(head)(**given)
    assert str(caught.value).startswith(text)
    assert isinstance(caught.value, MissingRequiredInputError) == text.startswith("Missing")
    assert server.requests == []


def test_arguments_have_names(flow):
    with pytest.raises(PromptyError, match=r"^Prompty can only be called with keyword arguments\.$"):
        flow()("hi")


def test_a_template_that_is_no_chat_is_reported_with_its_file(flow, server):
    with pytest.raises(
        PromptyError, match=r"^tone\.prompty: the text 'hello' comes before the first message"
    ):
        flow(body="hello\nuser:\n")(**GIVEN)
    assert server.requests == []


# Parameters and answers


def test_parameters_go_into_the_request_unchanged(flow, server):
    parameters = "{temperature: 0.5, top_p: 1, seed: 7, stop: [yes, on], max_completion_tokens: null, extra_body: {new: 1}}"
    flow(f"model: {{parameters: {parameters}}}\ninputs: {{response: {{type: string}}}}\n")(**GIVEN)
    assert {key: value for key, value in body(server).items() if key != "messages"} == {
        "model": "m",
        "temperature": 0.5,
        "top_p": 1,
        "seed": 7,
        "stop": ["yes", "on"],
        "max_completion_tokens": None,
        "new": 1,
    }


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ("{max_tokenz: 4}", "unknown parameter 'max_tokenz'; did you mean 'max_tokens'?"),
        ("{zzz: 4}", "unknown parameter 'zzz'; new ones can be put under 'extra_body'"),
        ("{stream: true}", "the parameter 'stream' is not supported"),
        ("{tools: [{type: function}]}", "the parameter 'tools' is not supported"),
        ("{extra_body: 3}", "'extra_body' must be a mapping"),
    ],
)
def test_parameters_that_are_refused(flow, server, parameters, text):
    with pytest.raises(PromptyError) as caught:
        flow(f"model: {{parameters: {parameters}}}\n", "user:\nx\n")()
    assert str(caught.value) == f"tone.prompty: {text}"
    assert server.requests == []


@pytest.mark.parametrize(
    ("head", "reply", "expected"),
    [
        (HEAD, GOOD, {"score": 4, "reason": "fine"}),
        (HEAD, " [1, 2]\n", [1, 2]),
        (HEAD, "4", 4),
        (HEAD, "null", None),
        (TEXT, GOOD, GOOD),
        (HEAD.replace("json_object", "text"), GOOD, GOOD),
        (HEAD.replace("{type: json_object}", "{type: json_schema, json_schema: {name: x}}"), GOOD, GOOD),
        (HEAD + "outputs: {score: {type: int}}\n", GOOD, {"score": 4}),
        (TEXT + "outputs: {score: {type: int}}\n", GOOD, GOOD),
        (TEXT, "", None),  # the scripted model says null
    ],
)
def test_answers(flow, server, head, reply, expected):
    answers(server, reply)
    assert flow(head)(**GIVEN) == expected


@pytest.mark.parametrize(
    ("head", "reply", "text"),
    [
        (
            HEAD,
            f"```json\n{GOOD}\n```",
            "could not parse score: the model did not answer well-formed JSON but '```json",
        ),
        (
            HEAD,
            f"Sure! {GOOD}",
            "could not parse score: the model did not answer well-formed JSON but 'Sure! ",
        ),
        (HEAD, "", "could not parse score: the model did not answer well-formed JSON but 'None'"),
        (HEAD, "[" * 100_000, "could not parse score: "),
        (HEAD + "outputs: {level: {}}\n", GOOD, "Cannot find level in response ['score', 'reason']"),
        (
            HEAD + "outputs: {score: {}}\n",
            "[1]",
            "tone.prompty: 'outputs' are declared, but the model answered '[1]'",
        ),
    ],
)
def test_answers_that_are_not_what_was_asked_for(flow, server, head, reply, text):
    answers(server, reply)
    with pytest.raises(PromptyError) as caught:
        flow(head)(**GIVEN)
    assert str(caught.value).startswith(text)


def test_an_answer_that_was_cut_off_says_so(flow, server):
    answers(server, '{"score": 4, "rea', finish="length")
    with pytest.raises(PromptyError, match=r"it was cut off, so raise max_tokens$"):
        flow()(**GIVEN)


@pytest.mark.parametrize("reply", [{}, {"choices": []}, {"choices": [{"message": None}]}, "[1]"])
def test_responses_that_are_no_chat_completion(flow, server, reply):
    server.scripts = {"": [Reply(body=reply)]}
    with pytest.raises(PromptyError, match="the model's answer has no choice: "):
        flow()(**GIVEN)


def test_the_whole_response_on_request(flow):
    response = flow(HEAD.replace("api: chat", "response: all"))(**GIVEN)
    assert (response.choices[0].message.content, response.usage.prompt_tokens) == (GOOD, 1000)


def test_load_of_promptflow_core_is_the_same(flow, server, tmp_path):
    flow()
    configuration = {"type": "openai", "base_url": server.base_url, "api_key": "k", "model": "m"}
    prompty = Prompty.load(source=tmp_path / "tone.prompty", model={"configuration": configuration})
    assert prompty(**GIVEN)["score"] == 4


def test_a_configuration_without_type_is_noticed_in_the_call(flow, server):
    ask = flow(model={"configuration": {"base_url": server.base_url, "api_key": "k", "model": "m"}})
    with pytest.raises(JudgeError, match=r"^Not Support connection type None for embedding api\. "):
        ask(**GIVEN)
