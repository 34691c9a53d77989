"""`waza dev --tune`: descriptions that trigger tests favour, by an agent that goes by the words of descriptions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

# An agent that invokes the first skill of which a word behind USE FOR is in the prompt.
AGENT = """\
import re
from pathlib import Path

from waza import Capabilities, SkillInvocation, Turn


class Reader:
    capabilities = Capabilities(skills=True, tool_calls=True)

    def __init__(self, setup): ...
    async def start(self): ...
    def works_in(self, task): return False
    async def open(self, attempt, place): return Session(attempt.task)
    def judge(self, attempt): return None
    async def aclose(self): ...


class Session:
    def __init__(self, task):
        self.roots = task.skill_paths

    async def send(self, prompt, limits):
        if "break" in prompt:
            return Turn(error="the agent broke")
        files = [file for root in self.roots for file in (*root.glob("SKILL.md"), *root.glob("*/SKILL.md"))]
        assert len(files) == len({file.parent.name for file in files}) == 2, files
        for file in files:
            text = " ".join(file.read_text().split())
            words = re.search("USE FOR: (.*?)[.]", text)[1].split(", ")
            if any(word in prompt for word in words):
                return Turn(skills=(SkillInvocation(name=re.search("name: ([a-z]+)", text)[1]),))
        return Turn(output="no skill")

    async def aclose(self): ...
"""
PRESENT = "Reviews code. USE FOR: review."
WORSE, GOOD = "Reviews code well. USE FOR: review.", "Reviews and audits code. USE FOR: review, audit."
SKILL = f"---\nname: review\ndescription: '{PRESENT}'\n---\n# Review\n"
POETRY = "---\nname: poetry\ndescription: 'Writes. USE FOR: poem.'\n---\n"
POSITIVE = [*(f"audit module {n}" for n in range(30)), *(f"review module {n}" for n in range(6))]
NEGATIVE = [*(f"poem about {n}" for n in range(6)), *(f"what is {n}" for n in range(6))]
ANSWERS = [
    {"match": WORSE, "reply": {"description": GOOD}},
    {"match": "Present description", "reply": {"description": WORSE}},
]


def trigger_file(positive: list[str], negative: list[str]) -> str:
    return json.dumps(
        {
            "skill": "review",
            "should_trigger_prompts": [{"prompt": one} for one in positive],
            "should_not_trigger_prompts": [{"prompt": one} for one in negative],
        }
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_tree(
        tmp_path,
        {
            "package/reader.py": AGENT,
            "package/reader-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: reader\nVersion: 1.0\n",
            "package/reader-1.0.dist-info/entry_points.txt": "[waza.executors]\nreader = reader:Reader\n",
            "skills/review/SKILL.md": SKILL,
            "skills/poetry/SKILL.md": POETRY,
            "evals/review/eval.yaml": "{skill: review, config: {executor: reader, skill_directories: [../../skills]}}",
            "evals/review/trigger_tests.yaml": trigger_file(POSITIVE, NEGATIVE),
            "answers.json": json.dumps(ANSWERS),
        },
    )


def tune(workspace: Path, *options: str) -> Ended:
    path = os.pathsep.join(filter(None, (str(workspace / "package"), os.environ.get("PYTHONPATH", ""))))
    words = ("dev", "review", "--tune", "--executor", "mock:answers.json", *options)
    return waza(*words, cwd=workspace, env={"PYTHONPATH": path})


def use_mock(workspace: Path, positive: list[str], negative: list[str]) -> None:
    """Let a scripted agent invoke the skill on no prompt, whatever its description."""
    script = dict.fromkeys([*positive, *negative], False)
    suite = {"skill": "review", "config": {"executor": "mock"}, "mock": {"triggers": script}}
    write_tree(
        workspace,
        {
            "evals/review/eval.yaml": json.dumps(suite),
            "evals/review/trigger_tests.yaml": trigger_file(positive, negative),
        },
    )


def text(workspace: Path) -> str:
    return (workspace / "skills/review/SKILL.md").read_text()


def record(workspace: Path) -> Any:
    (file,) = (workspace / ".waza/tuning").glob("review-*.json")
    return strict_json(file.read_bytes())


def test_the_description_that_trigger_tests_favour(workspace):
    done = tune(workspace, "--format", "json")
    assert done.code == 0, done.err
    found = strict_json(done.out)
    assert (found["tried"], found["chosen"], found["chosen_on"]) == (2, 2, "validation")
    assert [one["description"] for one in found["candidates"]] == [WORSE, GOOD]
    assert found["stopped"] == "all prompts of the train part have the right outcome"
    parts = {name: {one["prompt"] for one in prompts} for name, prompts in found["parts"].items()}
    assert set().union(*parts.values()) == {*POSITIVE, *NEGATIVE}
    assert sum(map(len, parts.values())) == len(POSITIVE) + len(NEGATIVE)
    worse, good = (one["validation"] for one in found["candidates"])
    assert (worse["difference"], worse["significant"], good["significant"]) == (0, False, True)
    assert good["p_adjusted"] == 2 * good["p_value"]
    sealed = found["sealed"]
    assert sealed["chosen"]["right"] == sealed["chosen"]["prompts"] == len(parts["sealed"])
    missed = sum(one.startswith("audit") for one in parts["sealed"])
    assert sealed["present"]["right"] == len(parts["sealed"]) - missed
    assert sealed["chosen"]["ci95"][0] < 1
    assert sealed["difference"] == pytest.approx(missed / len(parts["sealed"]))
    kept = record(workspace)
    assert kept["sealed"] == sealed
    assert kept["unsealed_at"] <= sealed["read_at"]
    assert text(workspace) == SKILL
    assert "Nothing was written; --auto writes the chosen description" in done.err
    assert (workspace / ".waza/.gitignore").read_text() == "*\n"
    assert not (workspace / ".waza/runs").exists()


def test_the_report_for_people_and_a_second_tuning(workspace):
    done = tune(workspace, "--auto")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "Tuning of review, 1 trial of each prompt"
    assert "2 candidates tried. Stopped: all prompts of the train part have the right outcome." in lines
    assert (
        "Candidate 2 was chosen on the validation part, where it was better by more than chance, with p adjusted for 2."
        in lines
    )
    (present, chosen) = (line for line in lines if line.startswith(("  present: ", "  chosen: ")))
    assert "(100.0%, 95 % interval " in chosen
    assert "95 % interval" in present
    for part in ("train", "validation", "sealed"):
        assert f"Prompts of the {part} part:" in lines
    assert "  should: audit module 0" in lines
    assert "  should not: what is 5" in lines
    assert GOOD in " ".join(text(workspace).split())
    assert "Candidate 2 is chosen; the sealed part is read now, once" in done.err
    again = tune(workspace, "--trials", "2")
    assert again.code == 0
    assert "of the sealed part were read in an earlier tuning" in again.err
    assert "The present description stays" in again.out
    assert "of the sealed part were read in an earlier tuning" in again.out  # the report says so as well
    write_tree(workspace, {".waza/tuning/review-torn.json": "{"})
    other = tune(workspace, "--seed", "1", "--format", "json")
    assert "used to choose in an earlier tuning with another seed" in other.err
    notes = " ".join(strict_json(other.out)["notes"])
    assert "used to choose in an earlier tuning with another seed" in notes
    assert "is not known: .waza/tuning/review-torn.json cannot be read" in notes


def test_an_agent_that_does_not_heed_descriptions(workspace):
    use_mock(workspace, [f"do it {n}" for n in range(30)], [f"leave it {n}" for n in range(10)])
    answers = [
        {"match": f"another {n}", "reply": {"description": f"another {n + 1}"}} for n in reversed(range(9))
    ]
    write_tree(workspace, {"answers.json": json.dumps([*answers, {"reply": {"description": "another 0"}}])})
    done = tune(workspace, "--auto")
    assert done.code == 0, done.err
    assert "3 candidates tried. Stopped: 3 candidates in a row did not differ from the best one" in done.out
    assert (
        "The present description stays: on the validation part no candidate was better by more than chance."
        in done.out
    )
    assert "The sealed part was not read." in done.out
    assert (text(workspace), record(workspace)["unsealed_at"]) == (SKILL, None)


def test_trials_that_broke_are_no_measurement(workspace):
    write_tree(
        workspace,
        {
            "evals/review/trigger_tests.yaml": trigger_file(
                [*POSITIVE, *(f"break {n}" for n in range(6))], NEGATIVE
            )
        },
    )
    done = tune(workspace)
    assert done.code == 0, done.err
    assert "of the present description broke and are not counted: the agent broke" in done.out
    write_tree(
        workspace, {"evals/review/trigger_tests.yaml": trigger_file([f"break {n}" for n in range(40)], [])}
    )
    none = tune(workspace)
    assert none.code == 2
    assert "the present description could not be measured on any prompt: the agent broke" in none.err


def test_too_few_prompts_say_nothing(workspace):
    use_mock(workspace, [f"do it {n}" for n in range(9)], [])
    done = tune(workspace)
    assert (done.code, done.out) == (2, "")
    assert "there are too few prompts to say anything: " in done.err
    assert "the validation part needs 6 before" in done.err
    assert not (workspace / ".waza").exists()
    use_mock(workspace, [f"do it {n}" for n in range(17)], [])
    assert ": 7 in train, 5 in validation, 5 in sealed; " in tune(workspace).err
    use_mock(workspace, [f"do it {n}" for n in range(20)], [])
    some = tune(workspace)
    assert some.code == 0
    assert "7 prompts in the validation part can tell 3 candidates from chance; no more are tried" in some.err
    use_mock(workspace, ["do it"], ["Do it!"])
    assert "the trigger tests expect both outcomes of 'Do it!'" in tune(workspace).err


def test_a_preview_runs_nothing(workspace):
    done = tune(workspace, "--show-prompt", "--max-iterations", "2")
    assert done.code == 0, done.err
    assert "Each description costs " in done.out
    assert "== question 1 (dev_tune), " in done.out
    question = done.out.partition("== question")[2]
    assert "not measured: " in question
    assert "1 question to mock:answers.json" in done.out
    assert not (workspace / ".waza").exists()
    parts = json.loads((workspace / "evals/review/trigger_tests.yaml").read_text())
    shown = [one for one in parts["should_trigger_prompts"] if f": {one['prompt']}\n" in question]
    assert 0 < len(shown) < 20  # those of the train part


def test_what_is_refused(workspace):
    write_tree(workspace, {"else/other/SKILL.md": "---\nname: other\ndescription: d\n---\n"})
    for words, message in (
        (("else/other",), "other has no suite, and tuning goes by these"),
        (("review", "--copilot"), "--copilot and --tune are two things to do"),
        (("review", "--target", "low"), "--target is for raising levels"),
        (("--all",), "--tune is for one skill; name it"),
        (("review", "--executor", "mock"), "a suite without trigger tests that can be measured"),
        (("review", "--seed", "x"), "is not a whole number"),
    ):
        done = waza("dev", *words, "--tune", cwd=workspace, env={"PYTHONPATH": str(workspace / "package")})
        assert (done.code, done.out) == (2, "")
        assert message in done.err
    limited = tune(workspace, "--max-tokens", "10", "--model", "m")
    assert "an answer of the model was not used: the next question has" in limited.out
    assert "Stopped: the model gave no usable description 2 times in a row." in limited.out
