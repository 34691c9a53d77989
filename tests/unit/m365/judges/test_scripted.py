import asyncio
import json

import pytest

from waza.m365.judges.choose import make_judge
from waza.m365.judges.judge_model import JudgeError, JudgeModel, Message

ASK = [Message("system", "Judge."), Message("user", "Is it good? \ud800 ✓")]


def ask(judge: JudgeModel) -> str:
    return asyncio.run(judge.complete(ASK)).text


def test_a_script_replies_offline(tmp_path):
    script = tmp_path / "judge.yaml"
    script.write_text(
        "- match: is it GOOD\n  reply: {score: 1}\n- match: Is it good\n  reply: {score: 4, reason: ✓}\n- reply: text\n",
        encoding="utf-8",
    )
    assert json.loads(ask(make_judge(f"mock:{script}", {}))) == {"score": 4, "reason": "✓"}
    script.write_text("- match: 'Judge.'\n  reply: a\n- reply: text\n", encoding="utf-8")
    assert ask(make_judge(f"mock:{script}", {})) == "text"
    script.write_text("- match: other\n  reply: a\n", encoding="utf-8")
    with pytest.raises(JudgeError, match=r"no entry of .*judge.yaml fits this question"):
        ask(make_judge(f"mock:{script}", {}))


def test_a_script_may_be_json(tmp_path):
    script = tmp_path / "judge.json"
    script.write_text('[{"reply": "\\ud83d\\ude00"}]', encoding="utf-8")
    assert ask(make_judge(f"mock:{script}", {})) == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    "text", ["- match: a\n", "reply: a\n", "- reply: 4\n", "- {reply: a, mach: b}\n", "- [", ""]
)
def test_a_script_with_mistakes_is_refused(tmp_path, text):
    script = tmp_path / "judge.yaml"
    script.write_text(text, encoding="utf-8")
    with pytest.raises(JudgeError, match="is not valid"):
        make_judge(f"mock:{script}", {})
    with pytest.raises(JudgeError, match="cannot be read"):
        make_judge(f"mock:{tmp_path / 'missing.yaml'}", {})
