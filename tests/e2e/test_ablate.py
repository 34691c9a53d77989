"""`waza ablate`: agents whose answers depend on what the skill says, from a suite to verdicts on sections."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, command, environment, mock_suite, strict_json, waza, write_tree

# An agent that does what the text of the skill says: a line `good: N` makes it right in tasks below N, `bad: N` wrong
# in those below N, whatever else is there. `offer` says how the skill was offered, `invoke` whether it was invoked.
AGENT = """
import os, re
from pathlib import Path
from waza.model.capabilities import Capabilities
from waza.model.observation import OfferedSkill, SkillInvocation, SkillsOffered, Turn, Usage

class Reader:
    capabilities = Capabilities(skills=True, tool_calls=True, tool_policy=True, usage=True)

    def __init__(self, setup):
        pass

    async def start(self):
        pass

    def works_in(self, task):
        return False

    async def open(self, attempt, place):
        return Session(attempt)

    def judge(self, attempt):
        return None

    async def aclose(self):
        pass

class Session:
    def __init__(self, attempt):
        self.attempt = attempt

    async def send(self, prompt, limits):
        target, number = self.attempt.task.target, int(prompt)
        with open(os.environ["SEEN"], "a") as log:
            log.write(f"{target.path}\\n")
        files = [target.path, *target.directory.glob("references/*")]
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        def says(word):
            return any(number < int(found) for found in re.findall(rf"{word}: (\\d+)", text))
        if says("broken"):
            return Turn(error="it broke", session_id="s", duration_ms=1)
        right = says("good") and not says("bad") or says("always")
        form = os.environ.get("OFFER", "full") if os.environ.get("NEEDS", "") in text else "absent"
        skills = () if form == "absent" else (OfferedSkill(name=target.name, form=form, path=str(target.path)),)
        offered = None if form == "unknown" else SkillsOffered(skills=skills)
        none = dict.fromkeys(["output_tokens", "cache_read_tokens", "cache_write_tokens", "premium_requests"], 0)
        return Turn(
            output="right" if right else "wrong",
            skills=(SkillInvocation(name=target.name),) if "INVOKE" in os.environ else (),
            skills_offered=offered,
            usage=Usage(turns=1, input_tokens=len(text), **none),
            session_id="s",
            duration_ms=1,
        )

    async def aclose(self):
        pass
"""
HEAD = 'skill: greeter\ngraders: [{type: text, name: right, config: {contains: ["right"]}}]'
CONFIG = ["skill_directories: [skills]", "inject_skill_body: false"]
# Tasks 0 to 9 need the section Rules; Traps spoils tasks 10 to 19, and Chatter does nothing.
SKILL = """---
name: greeter
description: d
---
# Greeter

Greet. good: 30

## Rules

bad: 0

### Details

always: 10

## Chatter

Words, and [details](references/more.md).

```markdown
## Not a heading
```

## Traps

bad: 10

## Ünïcode – 表

See [it](references/more.md#top).
"""


def write(root: Path, text: str, tasks: int, *config: str, files: dict[str, str] | None = None) -> Path:
    write_tree(
        root / "package",
        {
            "reader.py": AGENT,
            "reader-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: reader\nVersion: 1.0\n",
            "reader-1.0.dist-info/entry_points.txt": "[waza.executors]\nreader = reader:Reader\n",
        },
    )
    write_tree(root, {"skills/greeter/SKILL.md": text})
    write_tree(root / "skills/greeter", files or {})
    prompts = {f"t{i:02}": json.dumps({"inputs": {"prompt": str(i)}}) for i in range(tasks)}
    return mock_suite(root, prompts, HEAD, [*CONFIG, *config])


def of_reader(root: Path, **more: str) -> dict[str, str]:
    paths = [str(root / "package"), os.environ.get("PYTHONPATH", "")]
    own = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "SEEN": str(root / "seen"), "INVOKE": "1"}
    return {**own, **more}


def ablate(root: Path, *args: str, **env: str) -> Ended:
    flags = ("--executor", "reader", "--yes", *args)
    return waza("ablate", "eval.yaml", *flags, cwd=root, env=of_reader(root, **env))


def found(root: Path, *args: str, **env: str) -> dict[str, Any]:
    ended = ablate(root, "--json", *args, **env)
    assert ended.code == 0, ended.err
    return dict(strict_json(ended.out))


def by_name(ablation: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in ablation["parts"]}


MATTERS = """---
name: greeter
description: d
---
# Greeter

## Rules

good: 20

## Chatter

Words that change nothing, [more](references/more.md).

## Traps

bad: 10
"""


def test_a_section_that_matters_one_that_does_not_and_one_that_harms(tmp_path: Path) -> None:
    write(tmp_path, MATTERS, 20, "trials_per_task: 3", files={"references/more.md": "More.\n"})
    ablation = found(tmp_path)
    parts = by_name(ablation)
    assert list(parts) == ["Rules", "Chatter", "Traps", "references/more.md"]
    assert {name: one["verdict"] for name, one in parts.items()} == {
        "Rules": "helps",
        "Chatter": "no-gain",
        "Traps": "harms",
        "references/more.md": "no-gain",
    }
    assert (ablation["whole"]["trials"], ablation["whole"]["passed"]) == (60, 30)
    assert [parts[name]["gain"] for name in parts] == [0.5, 0, -0.5, 0]
    assert parts["Rules"]["p_value"] == 2 / 2**10
    assert parts["Rules"]["p_adjusted"] == 4 * parts["Rules"]["p_value"]
    assert parts["Rules"]["interval"]["level"] == 1 - 0.05 / 4
    assert parts["Rules"]["run"]["treatment"]["state"] == "as_claimed"
    assert parts["Rules"]["run"]["loaded"] == 60
    assert parts["Rules"]["tokens_per_trial"] == len("## Rules\n\ngood: 20\n\n")
    assert parts["Rules"]["tokens"] > 0
    assert parts["Rules"]["line"] == 7
    assert (parts["Rules"]["tasks"], parts["Rules"]["paired_trials"]) == (20, 60)
    assert parts["references/more.md"]["notes"] == ["SKILL.md links to it in line 13"]
    assert parts["Chatter"]["notes"] == ["only it names references/more.md"]
    # The skill itself is as it was, the copies are gone, and no run is kept.
    assert (tmp_path / "skills/greeter/SKILL.md").read_text() == MATTERS
    seen = {Path(line) for line in (tmp_path / "seen").read_text().splitlines()}
    assert len(seen) == 5
    assert not any(path.exists() or path.is_relative_to(tmp_path / "skills") for path in seen)
    assert not (tmp_path / ".waza").exists()

    shown = ablate(tmp_path)
    text = " ".join(shown.out.split())
    assert "SEEM TO HELP =================================================== - Rules: +50 points" in text
    assert "DO HARM: THE SKILL IS BETTER WITHOUT THEM" in text
    assert "it gives less than +10 points, and costs" in text
    assert (
        "5 runs (the whole skill, and without each part) of 20 tasks with 3 trials: 300 sessions" in shown.err
    )
    assert "Run 2 of 5: without Rules\n  0 of 60 trials passed" in shown.err


def test_what_would_be_left_out_is_announced_and_nothing_is_run_unasked(tmp_path: Path) -> None:
    write(tmp_path, SKILL, 20, files={"references/more.md": "# More\n", "scripts/ü.bin": "x"})
    flags = ("--executor", "reader")
    ended = waza("ablate", "eval.yaml", *flags, "--dry-run", "--json", cwd=tmp_path, env=of_reader(tmp_path))
    plan = strict_json(ended.out)
    names = [(one["name"], one["kind"], one["line"]) for one in plan["parts"]]
    assert names == [
        ("Rules", "section", 9),
        ("Chatter", "section", 17),
        ("Traps", "section", 25),
        ("Ünïcode – 表", "section", 29),
        ("references/more.md", "file", None),
        ("scripts/ü.bin", "file", None),
    ]
    assert plan["size"] == {"runs": 7, "tasks": 20, "trials": 1, "sessions": 140, "judge_calls": 0}
    assert plan["parts"][4]["notes"] == ["SKILL.md links to it in lines 19, 31"]
    ended = waza("ablate", "eval.yaml", *flags, "--dry-run", cwd=tmp_path, env=of_reader(tmp_path))
    assert "140 sessions of the agent" in ended.out
    assert "references/more.md: SKILL.md links to it in lines 19, 31" in ended.out
    refused = waza("ablate", "eval.yaml", *flags, cwd=tmp_path, env=of_reader(tmp_path))
    assert (refused.code, "--yes starts without asking" in refused.err) == (2, True)
    assert not (tmp_path / "seen").exists()


def test_levels_and_names_choose(tmp_path: Path) -> None:
    write(tmp_path, SKILL, 12)
    flags = ("--executor", "reader", "--dry-run", "--json")

    def names(*args: str) -> list[str]:
        ended = waza("ablate", "eval.yaml", *flags, *args, cwd=tmp_path, env=of_reader(tmp_path))
        assert ended.code == 0, ended.err
        return [one["name"] for one in strict_json(ended.out)["parts"]]

    assert names("--level", "3") == ["Details"]
    assert names("--level", "1") == ["Greeter"]
    assert names("--sections", "traps", "--sections", "R*") == ["Rules", "Traps"]
    for args, message in (
        (("--level", "4"), "has no heading of level 4; levels that it has: 1, 2, 3"),
        (("--sections", "Trap"), "there is no section or file 'Trap' to leave out; did you mean 'Traps'?"),
    ):
        ended = waza("ablate", "eval.yaml", *flags, *args, cwd=tmp_path, env=of_reader(tmp_path))
        assert (ended.code, message in ended.err) == (2, True), ended.err


def test_too_little_data_say_how_much_is_needed(tmp_path: Path) -> None:
    write(tmp_path, MATTERS, 6)
    ablation = found(tmp_path)
    parts = by_name(ablation)
    assert {one["verdict"] for one in parts.values()} == {"cannot-tell"}
    assert parts["Chatter"]["needed"] == {"tasks": 7, "trials": 6}
    assert "with 6 tasks no gain of one among 3 parts can be more than chance" in ablation["notes"][0]
    shown = ablate(tmp_path)
    assert "A gain of 10 points would show with 7 tasks of 6 trials." in shown.out
    # All trials ended alike, which is no proof that the next ones do.
    assert parts["Chatter"]["interval"] is None
    assert "Chatter: 0 points on 6 tasks, p = 1 adjusted for 3 parts" in " ".join(shown.out.split())


def test_what_the_agent_was_offered_counts(tmp_path: Path) -> None:
    write(tmp_path, MATTERS, 20, "trials_per_task: 3")
    ended = ablate(tmp_path, OFFER="absent")
    assert ended.code != 0
    assert (
        "no part of the skill can be measured: in 60 of 60 trials with skills the agent was not offered"
        in (ended.err)
    )
    assert len((tmp_path / "seen").read_text().splitlines()) == 60  # nothing is spent after the whole skill
    unknown = by_name(found(tmp_path, "--sections", "Rules", OFFER="unknown"))["Rules"]
    assert unknown["verdict"] == "helps"
    assert unknown["run"]["treatment"]["state"] == "unknown"
    assert any(note.startswith("it is not known whether the agent was offered") for note in unknown["notes"])


def test_a_part_without_which_the_skill_is_not_offered_is_not_measured(tmp_path: Path) -> None:
    write(tmp_path, MATTERS, 12)
    ablation = found(tmp_path, NEEDS="Chatter")
    parts = by_name(ablation)
    part = parts["Chatter"]
    assert (part["verdict"], part["gain"], part["p_value"]) == ("not-measured", None, None)
    assert "not measured: without Chatter: in 12 of 12 trials" in part["why"]
    assert part["run"]["treatment"]["state"] == "not_as_claimed"
    assert parts["Traps"]["verdict"] == "harms"
    assert "NOT MEASURED" in ablate(tmp_path, NEEDS="Chatter").out


def test_a_skill_that_is_never_invoked_is_not_called_useless(tmp_path: Path) -> None:
    write(tmp_path, MATTERS, 20, "trials_per_task: 3")
    env = of_reader(tmp_path)
    del env["INVOKE"]
    args = ("--executor", "reader", "--yes", "--json", "--sections", "Chatter")
    ended = waza("ablate", "eval.yaml", *args, cwd=tmp_path, env=env)
    (part,) = strict_json(ended.out)["parts"]
    assert (part["verdict"], part["needed"]) == ("cannot-tell", None)
    assert "the agent invoked the skill in no trial" in part["why"]


def test_trials_that_broke_are_left_out_of_both_runs(tmp_path: Path) -> None:
    write(tmp_path, MATTERS.replace("Words", "broken: 2\n\nWords"), 20)
    part = by_name(found(tmp_path, "--sections", "Chatter"))["Chatter"]
    assert (part["tasks"], part["paired_trials"], part["gain"]) == (18, 18, 0)
    assert "2 trials with the whole skill broke and are not counted: it broke" in part["notes"]
    write(tmp_path, MATTERS.replace("Words", "broken: 20\n\nWords"), 20)
    ended = ablate(tmp_path)
    assert ended.code != 0
    assert "no trial with the whole skill was measured, so no part of it can be: it broke" in ended.err


def test_a_run_that_meets_a_limit_is_not_whole(tmp_path: Path) -> None:
    write(tmp_path, MATTERS, 12, "limits: {max_total_tokens: 500}")
    ended = ablate(tmp_path, "--sections", "Rules", "--json")
    assert ended.code == 1, ended.err
    ablation = strict_json(ended.out)
    assert ablation["whole"]["status"] == "limit"
    (part,) = ablation["parts"]
    assert 0 < part["tasks"] < 12
    assert (
        "the run with the whole skill did not come to its end (limit): its finished trials count"
        in part["notes"]
    )


def test_an_ordinary_program(tmp_path: Path) -> None:
    """What a program is given of the skill is the copy: its directory, and the system text."""
    write(tmp_path, MATTERS, 6)
    line = "cat $WAZA_SKILL_DIR/SKILL.md $WAZA_SYSTEM_FILE | grep -c good: | sed s/2/right/"
    suite = (tmp_path / "eval.yaml").read_text()
    options = f'executor_options: {{command: "{line}", system: prompt}}'
    suite = suite.replace("executor: mock", "executor: command")
    suite = suite.replace("inject_skill_body: false", f"inject_skill_body: true\n  {options}")
    (tmp_path / "eval.yaml").write_text(suite)
    ended = waza("ablate", "eval.yaml", "--yes", "--json", "--sections", "Rules", cwd=tmp_path)
    assert ended.code == 0, ended.err
    (part,) = strict_json(ended.out)["parts"]
    assert (part["verdict"], part["gain"]) == ("helps", 1)
    assert part["run"]["treatment"]["state"] == "as_claimed"


def test_hostile_headings_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    bad = "\x1b[31m::error::\u202e"
    write(tmp_path, MATTERS.replace("Chatter", bad).replace("Traps", "x" * 5000), 6)
    ended = ablate(tmp_path)
    assert ended.code == 0, ended.err
    for text in (ended.out, ended.err):
        assert not {"\x1b", "\u202e"} & set(text)
        assert not any(line.startswith("::error::") for line in text.splitlines())
        assert max(map(len, text.splitlines())) < 300


def test_kept_runs_are_gone_on_with(tmp_path: Path) -> None:
    write(tmp_path, MATTERS, 10)
    first = found(tmp_path, "--sections", "Rules", "--dir", "kept")
    assert len((tmp_path / "seen").read_text().splitlines()) == 20
    again = found(tmp_path, "--dir", "kept", "--sections", "Rules")
    assert len((tmp_path / "seen").read_text().splitlines()) == 20
    assert again == first
    compared = waza("compare", "kept/001/.waza/runs", "kept/000/.waza/runs", cwd=tmp_path)
    assert "No difference in 10 tasks" in compared.out
    write_tree(tmp_path, {"skills/greeter/SKILL.md": MATTERS.replace("Words", "Other words")})
    refused = ablate(tmp_path, "--dir", "kept", "--sections", "Rules")
    assert refused.code == 2, refused.err
    inside = ablate(tmp_path, "--dir", "skills/greeter/kept")
    assert "is in the skill itself" in inside.err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interruption_leaves_nothing_behind(tmp_path: Path) -> None:
    own = tmp_path / "tmp"
    own.mkdir()
    write(tmp_path, MATTERS, 10)
    agent = (tmp_path / "package/reader.py").read_text()
    agent = agent.replace(
        "        files = [", "        import asyncio; await asyncio.sleep(60)\n        files = ["
    )
    write_tree(tmp_path, {"package/reader.py": agent})
    os.mkfifo(tmp_path / "seen")
    words = command("ablate", "eval.yaml", "--executor", "reader", "--yes", "--json")
    env = environment(of_reader(tmp_path, TMPDIR=str(own)))
    process = subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with (tmp_path / "seen").open() as seen:
        copy = Path(seen.readline().strip())
        assert copy.is_relative_to(own.resolve())
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert list(own.iterdir()) == []
    assert not (tmp_path / ".waza").exists()


def test_a_custom_agent(tmp_path: Path) -> None:
    write(tmp_path, MATTERS, 12)
    text = MATTERS.replace("description: d", "description: d\ntools: [read]")
    write_tree(
        tmp_path,
        {
            "agents/helper.agent.md": text.replace("name: greeter", "name: helper"),
            "agents/references/more.md": "bad: 0\n",
            "agents/scripts/of_the_project.py": "",
        },
    )
    suite = (tmp_path / "eval.yaml").read_text().replace("skill: greeter", "skill: helper")
    (tmp_path / "eval.yaml").write_text(suite.replace("[skills]", "[agents]"))
    parts = by_name(found(tmp_path))
    assert list(parts) == ["Rules", "Chatter", "Traps", "references/more.md"]
    assert parts["Traps"]["verdict"] == "harms"
    assert "helper.agent.md links to it in line 14" in parts["references/more.md"]["notes"]
    copies = {Path(line) for line in (tmp_path / "seen").read_text().splitlines()}
    assert {path.name for path in copies} == {"helper.agent.md"}


def test_without_a_skill_there_is_nothing_to_ablate(tmp_path: Path) -> None:
    write(tmp_path, MATTERS, 2, "disabled_skills: ['*']")
    ended = ablate(tmp_path)
    assert (ended.code, "nothing of a skill can be left out" in ended.err) == (2, True)
    write(tmp_path, "---\nname: greeter\ndescription: d\n---\nNo sections. good: 9\n", 2)
    ended = ablate(tmp_path)
    assert (ended.code, "has no section or file that can be left out" in ended.err) == (2, True)
    assert not list(Path(tempfile.gettempdir()).glob(f"waza-ablate-{os.getpid()}-*"))
