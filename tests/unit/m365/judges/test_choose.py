import pytest

from waza.m365.judges.choose import make_judge
from waza.m365.judges.judge_model import JudgeError

KEY = "sk-secret-0123456789"


@pytest.mark.parametrize(
    ("backend", "env", "said"),
    [
        ("", {}, "no judge is configured"),
        ("", {"OPENAI_API_KEY": " ", "AZURE_AI_API_KEY": "x"}, "no judge is configured"),
        ("azure", {"OPENAI_API_KEY": KEY}, "AZURE_AI_OPENAI_ENDPOINT"),
        ("openai", {}, "OPENAI_API_KEY"),
        ("claude", {}, "'claude'"),
        ("", {"OPENAI_BASE_URL": f"ftp://{KEY}@a"}, "OPENAI_BASE_URL is not an address"),
        ("", {"OPENAI_BASE_URL": "http://a:b:c"}, "OPENAI_BASE_URL is not an address"),
        (
            "",
            {"OPENAI_BASE_URL": "127.0.0.1:8791/v1"},
            "OPENAI_BASE_URL is not an address of a server; write one such as http://127.0.0.1:8080/v1",
        ),
        (
            "",
            {"AZURE_OPENAI_ENDPOINT": "a.openai.azure.com"},
            "AZURE_OPENAI_ENDPOINT is not an address of a server; write one such as https://name.openai.azure.com",
        ),
        ("", {"OPENAI_API_KEY": f"{KEY}\n{KEY}"}, "OPENAI_API_KEY contains characters"),
        ("", {"OPENAI_API_KEY": f"{KEY}…"}, "OPENAI_API_KEY contains characters"),
    ],
)
def test_what_is_missing_is_named(backend, env, said):
    with pytest.raises(JudgeError) as caught:
        make_judge(backend, env)
    assert said in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_script_without_its_prefix_is_recognised(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for judge, hint in (
        ("judge.json", "known: azure, openai, copilot, mock:FILE"),
        ("judge.json", "did you mean 'mock:judge.json'?"),
    ):
        with pytest.raises(JudgeError) as caught:
            make_judge(judge, {})
        assert str(caught.value) == f"there is no judge 'judge.json'; {hint}"
        (tmp_path / "judge.json").write_text("[]", encoding="utf-8")
