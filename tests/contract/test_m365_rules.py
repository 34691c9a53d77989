"""The rules of custom evaluators, CE-01 to CE-55, as far as they can be seen without a document.

A test is named after its rule. Those of results are in `test_m365_result_rules.py`, those of prompts, CE-60 to
CE-66, in `test_m365_prompty_rules.py`.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.support.evaluators import (
    JUDGE,
    LIMIT,
    PROMPTY,
    asked,
    case,
    code_only,
    hosted,
    judged_as,
    write_evaluator,
)

from waza.m365.custom.custom_result import CustomResult
from waza.m365.custom.discover import discover
from waza.m365.custom.pool import CustomPool

ONE = code_only("{'score': 1}")
RECORDING = """
class Check:
    def __init__(self, *positional, **given):
        self.made = positional, given

    def __call__(self, *positional, **given):
        return {"score": 1, "reason": repr((self.made, positional, given))}
"""
RESERVED = "Relevance Coherence Groundedness Similarity ToolCallAccuracy Citations ExactMatch PartialMatch"


def messages(root: Path, *names: str, severity: str = "error") -> list[str]:
    return [problem.message for problem in discover(root, names).problems if problem.severity == severity]


def recorded(root: Path, prompty: str | None = None, **changes: Any) -> Any:
    """What the constructor and the call got."""
    return eval(judged_as(root, RECORDING, prompty, **changes).reason)  # noqa: S307  # a repr of our own


def before_any_call(root: Path, *names: str) -> list[str]:
    """All mistakes that are known when evaluators are started, and none was called."""

    async def scenario() -> list[str]:
        found = discover(root, names)
        async with CustomPool(timeout=LIMIT) as host:
            return [problem.message for problem in [*found.problems, *await host.start(found.evaluators)]]

    return asyncio.run(scenario())


# Discovery


def test_ce_01_the_root_is_where_the_program_starts(tmp_path):
    write_evaluator(tmp_path, "check", ONE)
    (tmp_path / "sub").mkdir()
    assert messages(tmp_path, "check") == []
    assert messages(tmp_path / "sub", "check") == ["Unknown evaluator 'check'"]


def test_ce_02_folder_and_name_are_spelled_alike(tmp_path):
    write_evaluator(tmp_path, "Tone", ONE)
    assert messages(tmp_path, "tone") == ["Unknown evaluator 'tone'"]


def test_ce_03_a_python_file_is_required(tmp_path):
    folder = write_evaluator(tmp_path, "tone", ONE, PROMPTY)
    (folder / "tone.py").unlink()
    assert messages(tmp_path, "tone") == ["Custom evaluator 'tone' is missing required file 'tone.py'"]


def test_ce_04_a_prompty_of_the_name_makes_a_judge(tmp_path):
    write_evaluator(tmp_path, "judge", ONE, prompty="")
    write_evaluator(tmp_path, "plain", ONE, beside={"other.prompty": PROMPTY})
    kinds = {found.name: found.kind for found in discover(tmp_path, ["judge", "plain"]).evaluators}
    assert kinds == {"judge": "judge", "plain": "code"}


@pytest.mark.parametrize("name", ["1x", "_x", "a-b", "a b", "x\n", "é"])
def test_ce_05_names_are_identifiers(tmp_path, name):
    (tmp_path / "custom-evaluators" / name).mkdir(parents=True)
    assert messages(tmp_path, name) == [f"Custom evaluator {name!r} has no valid name"]


@pytest.mark.parametrize("name", [*RESERVED.lower().split(), "RETRIEVALQUERY", "RetrievalResult"])
def test_ce_06_names_of_built_in_evaluators_are_taken(tmp_path, name):
    write_evaluator(tmp_path, name, ONE)
    write_evaluator(tmp_path, f"domain_{name}", ONE)
    (message,) = messages(tmp_path, name, f"domain_{name}")
    assert message.startswith(f"Custom evaluator '{name}' has the name of the built-in evaluator ")


def test_ce_07_only_what_is_referred_to_is_loaded(tmp_path):
    write_evaluator(tmp_path, "broken", "class Broken(:")
    write_evaluator(tmp_path, "writes", f"open({str(tmp_path / 'trace')!r}, 'w')\n" + ONE)
    write_evaluator(tmp_path, "check", ONE)
    assert asked(tmp_path, "check") == [CustomResult(1)]
    assert not (tmp_path / "trace").exists()


def test_ce_09_an_unknown_name_comes_with_a_hint(tmp_path):
    write_evaluator(tmp_path, "tone", ONE)
    (problem,) = discover(tmp_path, ["tome"]).problems
    assert (problem.message, problem.hint) == ("Unknown evaluator 'tome'", "did you mean 'tone'?")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("class Check(:", "SyntaxError: invalid syntax"),
        (
            "class Check: ...\nimport nowhere_to_be_found",
            "ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        ("class Check: ...\nraise RuntimeError('boom')", "RuntimeError: boom"),
    ],
)
def test_ce_10_import_errors(tmp_path, code, text):
    write_evaluator(tmp_path, "check", code)
    assert before_any_call(tmp_path, "check") == [f"Custom evaluator 'check' failed to import: {text}"]


def test_ce_11_a_class_is_required(tmp_path):
    write_evaluator(tmp_path, "check", "from pathlib import Path\ndef Check(): ...")
    assert messages(tmp_path, "check") == ["Custom evaluator 'check' has no class"]


def test_ce_12_the_first_class_of_the_file_is_made(tmp_path):
    first = ONE.replace("class Check", "class Zebra").replace("'score': 1", "'score': 7")
    write_evaluator(tmp_path, "check", "from pathlib import Path\n" + first + ONE)
    assert asked(tmp_path, "check") == [CustomResult(7)]
    assert messages(tmp_path, "check", severity="warning") == [
        "Custom evaluator 'check' has several classes; 'Zebra', the first, is the evaluator"
    ]


def test_ce_13_every_mistake_is_found_before_any_call(tmp_path):
    trace = tmp_path / "called"
    write_evaluator(tmp_path, "good", code_only("{'score': 1}", before=f"open({str(trace)!r}, 'w')"))
    for name, code in {"similarity": ONE, "raises": "class Check: ...\n1 / 0", "empty": ""}.items():
        write_evaluator(tmp_path, name, code)
    assert before_any_call(tmp_path, "good", "raises", "similarity", "empty", "unknown") == [
        "Custom evaluator 'similarity' has the name of the built-in evaluator Similarity",
        "Custom evaluator 'empty' has no class",
        "Unknown evaluator 'unknown'",
        "Custom evaluator 'raises' failed to import: ZeroDivisionError: division by zero",
    ]
    assert not trace.exists()


# Construction


def test_ce_14_a_judge_is_made_with_three_keywords(tmp_path):
    (positional, given), *_ = recorded(tmp_path, PROMPTY, model_config={"model": "m"})
    assert positional == ()
    assert given == {"model_config": {"model": "m"}, "threshold": 3, "options": {}}


def test_ce_15_a_code_only_evaluator_is_made_with_two(tmp_path):
    (positional, given), *_ = recorded(tmp_path)
    assert (positional, given) == ((), {"threshold": 1, "options": {}})
    demanding = "class Check:\n    def __init__(self, *, model_config, **_): ..."
    error = judged_as(tmp_path, demanding).error
    assert "missing 1 required keyword-only argument: 'model_config'" in error


@pytest.mark.parametrize(("prompty", "used"), [(None, 1), (PROMPTY, 3)])
def test_ce_16_a_default_threshold_is_that_of_the_kind(tmp_path, prompty, used):
    (_, given), *_ = recorded(tmp_path, prompty)
    assert given["threshold"] == used


@pytest.mark.parametrize(
    ("prompty", "explicit"), [(None, 0.7), (PROMPTY, 4), (None, -2), (PROMPTY, 0), (None, 3.0)]
)
def test_ce_39_an_explicit_threshold_may_be_any_number(tmp_path, prompty, explicit):
    (_, given), *_ = recorded(tmp_path, prompty, threshold=explicit)
    assert (given["threshold"], type(given["threshold"])) == (explicit, type(explicit))


def test_ce_17_options_are_passed_always_and_fresh(tmp_path):
    returned = "{'score': 1, 'reason': repr(self.options)}"
    write_evaluator(
        tmp_path, "check", code_only(returned, before="self.options.setdefault('seen', []).append(1)")
    )
    options = {"terms": ["a", {"b": None}]}
    found = asked(tmp_path, "check", case(options=options), case(options=options), case(options=None))
    assert [outcome.reason for outcome in found] == [
        *["{'terms': ['a', {'b': None}], 'seen': [1]}"] * 2,
        "{'seen': [1]}",
    ]


def test_ce_18_a_constructor_must_take_every_keyword(tmp_path):
    call = "\n    def __call__(self, **_): return {'score': 1}"
    refused = judged_as(tmp_path, "class Check:\n    def __init__(self, *, options=None): ..." + call)
    assert refused.error.startswith("Evaluator failed: ")
    assert refused.error.endswith("got an unexpected keyword argument 'threshold'")
    assert judged_as(
        tmp_path, "class Check:\n    def __init__(self, *, options=None, **_): ..." + call
    ) == CustomResult(1)


def test_ce_19_exceptions_of_a_constructor(tmp_path):
    code = "class Check:\n    def __init__(self, **_): raise ValueError('terms must be a list')"
    assert judged_as(tmp_path, code).error.startswith("Evaluator failed: terms must be a list (")


@pytest.mark.parametrize(
    ("configuration", "kind"),
    [
        ({"azure_endpoint": "http://x", "azure_deployment": "d", "api_version": "v"}, "azure_openai"),
        ({"base_url": "http://x", "model": "m", "api_key": "k"}, "openai"),
    ],
)
def test_ce_20_a_model_configuration_is_a_mapping_without_type(tmp_path, configuration, kind):
    snippet = JUDGE.replace("self._flow = load_flow(", "self.prepared = dict(").replace(
        "return self._flow(user_prompt=prompt, response=response)",
        "return {'score': 1, 'reason': self.prepared}",
    )
    outcome = judged_as(tmp_path, snippet, PROMPTY, model_config=configuration)
    assert eval(outcome.reason)["model"]["configuration"] == {**configuration, "type": kind}  # noqa: S307  # ours


def test_ce_21_settings_of_one_call_are_not_those_of_another(tmp_path):
    code = code_only("{'score': self.threshold, 'reason': repr(self.options)}")
    write_evaluator(tmp_path, "check", code)
    cases = [case(threshold=2, options={"a": 1}), case(threshold=0.5, options={}), case(threshold=2)]
    assert asked(tmp_path, "check", *cases) == [
        CustomResult(2, "{'a': 1}"),
        CustomResult(0.5, "{}"),
        CustomResult(2, "{}"),
    ]


# The call


def test_ce_22_the_call_gets_four_keywords(tmp_path):
    _, positional, given = recorded(tmp_path)
    assert positional == ()
    assert set(given) == {"prompt", "response", "expected_response", "context"}


def test_ce_23_what_is_absent_is_empty(tmp_path):
    *_, given = recorded(tmp_path)
    assert (given["expected_response"], given["context"]) == ("", "")


def test_ce_24_the_arguments_are_those_of_the_call(tmp_path):
    write_evaluator(tmp_path, "check", RECORDING)
    turns = [
        {"prompt": f"P{n}", "response": f"R{n}", "expected_response": f"E{n}", "context": f"C{n}"}
        for n in (1, 2)
    ]
    found = asked(tmp_path, "check", *(case(**turn) for turn in turns))
    assert [eval(outcome.reason)[2] for outcome in found] == turns  # noqa: S307  # a repr of our own


def test_ce_26_a_call_must_take_every_keyword(tmp_path):
    code = "class Check:\n    def __init__(self, **_): ...\n    def __call__(self, *, prompt, response, context): ..."
    error = judged_as(tmp_path, code).error
    assert error.endswith("got an unexpected keyword argument 'expected_response'")


@pytest.mark.parametrize(
    ("statement", "text"), [("1 / 0", "division by zero"), ("exit(2)", "it called sys.exit(2)")]
)
def test_ce_27_exceptions_of_a_call(tmp_path, statement, text):
    write_evaluator(tmp_path, "bad", code_only("{'score': 1}", before=statement))
    write_evaluator(tmp_path, "good", ONE)

    async def talk(host: CustomPool) -> list[CustomResult]:
        return list(await asyncio.gather(*(host.call(name, **case()) for name in ("bad", "good"))))

    bad, good = hosted(tmp_path, ["bad", "good"], talk)
    assert bad.error.startswith(f"Evaluator failed: {text} (")
    assert good == CustomResult(1)


# The warning


@pytest.mark.parametrize("word", ["load_flow", "promptflow", "model_config", ".prompty"])
def test_ce_48_one_warning_for_a_prompty_that_may_be_forgotten(tmp_path, word):
    write_evaluator(tmp_path, "check", ONE + f"\nx = {{{word!r}: 1, {word + '!'!r}: 2}}")
    (warning,) = discover(tmp_path, ["check"]).problems
    assert (warning.severity, warning.hint) == ("warning", "was the file 'check.prompty' forgotten?")
    assert warning.message == f"Custom evaluator 'check' is code-only but refers to {word}"


def test_ce_49_the_warning_blocks_nothing_and_is_none_for_judges(tmp_path):
    code = ONE + "\nmodel_config = 1"
    write_evaluator(tmp_path, "check", code)
    assert asked(tmp_path, "check") == [CustomResult(1)]
    assert len(messages(tmp_path, "check", severity="warning")) == 1
    write_evaluator(tmp_path, "check", code, PROMPTY)
    assert messages(tmp_path, "check", severity="warning") == []


def test_ce_50_comments_and_docstrings_do_not_trigger_it(tmp_path):
    words = "load_flow promptflow model_config x.prompty"
    code = f'"""{words}"""\n# {words}\nclass Check:\n    "{words}"\n    def f(self):\n        """{words}"""  # {words}\n'
    write_evaluator(tmp_path, "check", code)
    assert discover(tmp_path, ["check"]).problems == []


# Running


def test_ce_54_debug_messages_tell_path_kind_keywords_and_return(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, logger="waza.m365")
    judged_as(tmp_path, code_only("{'score': 1, 'extra': 2}"))
    wrapper = tmp_path / "custom-evaluators" / "check" / "check.py"
    for text in (str(wrapper), "code evaluator", "threshold, options;", "{'score': 1, 'extra': 2}"):
        assert text in caplog.text


def test_ce_55_evaluators_at_the_same_time_share_no_state(tmp_path):
    code = """
class Check:
    def __init__(self, **_): self.seen = []
    def __call__(self, *, prompt, **_):
        self.seen.append(prompt)
        return {"score": len(self.seen), "reason": " ".join(self.seen)}
"""
    write_evaluator(tmp_path, "check", code)

    async def talk(host: CustomPool) -> list[CustomResult]:
        return list(await asyncio.gather(*(host.call("check", **case(prompt=str(n))) for n in range(12))))

    assert hosted(tmp_path, ["check"], talk, children=3) == [
        CustomResult(1, str(number)) for number in range(12)
    ]
