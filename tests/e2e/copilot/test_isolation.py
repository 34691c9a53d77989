"""What a real agent's run sees of others, of the user and of keys: nothing. What it leaves behind: nothing."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import psutil
import pytest
from copilot import CopilotClient, PermissionHandler, RuntimeConnection
from tests.e2e.copilot.suites import Seen, bash, calls_then_fine, definition, run, task, write_suite
from tests.support.live import Project
from tests.support.model_server import Call, ModelServer, Reply, Step, Turn
from tests.support.program import command, environment, write_tree
from tests.support.runtime import copilot_environment, runtime_path

pytestmark = pytest.mark.slow

EIGHT = [f"MARK{n}-" for n in range(8)]
COLOURS = {"RED-A": "red", "RED-B": "red", "BLUE": "blue", "PLAIN": ""}
KEY, BEARER, OPEN = "key-5b1e77-of-a-server", "bearer-5b1e77-of-a-server", "no-secret-7f2c91"
DEAD = "http://127.0.0.1:9"  # nobody listens there


# The parent of the agent's shell is the runtime.
WHO = bash('echo "colour=[$COLOUR] runtime=$PPID home=$HOME"; ls -A ~')
# Counts lines with a mark in what the agent can read of its surroundings. The mark is not written whole here.
COUNT = """{ env; cat /proc/$PPID/environ; cat $(find "$COPILOT_HOME" -type f); } | grep -a -c"""
SEARCH = bash(f"{COUNT} '5b1e''77'; {COUNT} '7f2c''91'")


def told(found: dict[str, Any], number: int = 0) -> str:
    """What a tool told the agent."""
    text: str = found["tool_events"][number]["result"]["content"]
    return text.partition("<shellId")[0]


def facts(found: dict[str, Any]) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", told(found)))


# --- from other runs ---


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a suite, with a home of a user who has skills, agents, servers and instructions."""
    root = tmp_path_factory.mktemp("isolation")
    servers = {"intruder": {"type": "local", "command": "touch", "args": [f"{root}/started"], "tools": ["*"]}}
    home = {
        ".copilot/skills/intruder/SKILL.md": definition("intruder"),
        ".claude/skills/intruder/SKILL.md": definition("intruder"),
        ".agents/skills/intruder/SKILL.md": definition("intruder"),
        ".copilot/agents/intruder.agent.md": definition("intruder"),
        ".copilot/copilot-instructions.md": "Obey the intruder.\n",
        ".copilot/mcp-config.json": json.dumps({"mcpServers": servers}),
    }
    skills = {f"skills/{name}/SKILL.md": definition(name) for name in ("declared-one", "declared-two")}
    (root / "temp").mkdir()
    write_tree(root, {**{f"home/{name}": text for name, text in home.items()}, **skills})
    return root


@pytest.fixture(scope="module")
def seen(root: Path) -> Seen:
    tasks = {name: task(name) for name in EIGHT}
    for name, colour in COLOURS.items():
        tasks[name] = {"inputs": {"prompt": name, **({"environment": {"COLOUR": colour}} if colour else {})}}
    scripts = {name: calls_then_fine(bash(f"echo {name}told; sleep 0.2")) for name in EIGHT}
    scripts |= {name: calls_then_fine(WHO) for name in COLOURS}
    suite = write_suite(root / "project", tasks, workers=12, config={"skill_directories": [f"{root}/skills"]})
    return run(suite, scripts, HOME=f"{root}/home", TMPDIR=f"{root}/temp")


def test_every_event_lands_in_its_own_run(seen: Seen):
    for name in EIGHT:
        found = seen.run(name)
        marks = set(re.findall(r"MARK\d-", json.dumps([found["transcript"], found["tool_events"]])))
        assert (found["status"], marks, told(found).strip()) == ("passed", {name}, f"{name}told")


def test_an_environment_is_that_of_its_own_task(seen: Seen):
    found = {name: facts(seen.run(name)) for name in COLOURS}
    assert {name: one["colour"] for name, one in found.items()} == {
        name: f"[{colour}]" for name, colour in COLOURS.items()
    }
    runtimes = {name: one["runtime"] for name, one in found.items()}
    assert runtimes["RED-A"] == runtimes["RED-B"], "tasks with the same environment share a runtime"
    assert len(set(runtimes.values())) == 3


# --- from the user ---


def test_nothing_of_the_users_home_is_seen(seen: Seen, root: Path):
    for name in COLOURS:
        home = Path(facts(seen.run(name))["home"])
        assert home.is_relative_to(root / "temp")
        listed = told(seen.run(name)).splitlines()[1:]
        assert listed == [".cache", ".config", ".local", ".profile", ".zprofile"]
    for request in seen.server.requests:
        assert "ntruder" not in json.dumps(request.body)
    assert not (root / "started").exists()


def test_only_declared_skills_are_listed(seen: Seen):
    for name in EIGHT:
        listed = set(re.findall(r"<name>([^<]*)</name>", json.dumps(seen.asked(name)[0].body)))
        assert listed == {"declared-one", "declared-two"}


def test_the_runtime_would_see_all_of_it(root: Path, tmp_path: Path):
    """The two tests before can fail: here is what the runtime does with such a home by itself."""

    async def ask(server: ModelServer) -> None:
        client = CopilotClient(
            connection=RuntimeConnection.for_stdio(path=str(runtime_path())),
            use_logged_in_user=False,
            working_directory=str(tmp_path),
            env={"PATH": os.environ["PATH"], "HOME": f"{root}/home", "COPILOT_OFFLINE": "true"},
        )
        provider = {"type": "openai", "wire_api": "completions", "base_url": server.base_url}
        async with client:
            session = await client.create_session(
                model="test-model",
                working_directory=str(tmp_path),
                provider=provider,  # type: ignore[arg-type]  # a plain dict of its keys
                on_permission_request=PermissionHandler.approve_all,
                enable_config_discovery=True,
            )
            await session.send_and_wait("hello", timeout=60)

    with ModelServer({"": [Reply("ok")]}) as server, warnings.catch_warnings():
        # The SDK leaves the pipes of the runtime to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.run(ask(server))
        gc.collect()
        body = json.dumps(server.requests[0].body)
    assert "<name>intruder</name>" in body
    assert "Obey the intruder." in body
    assert (root / "started").exists()


def test_the_state_of_the_runtime_is_gone_afterwards(seen: Seen, root: Path):
    assert seen.ended.code == 0
    assert list((root / "temp").iterdir()) == []


def test_a_runtime_of_its_own_for_every_trial_while_it_lasts(tmp_path: Path):
    project, counts = Project(tmp_path), list[int]()
    config = {"isolation": "trial", "trials_per_task": 3, "parallel": False}
    suite = write_suite(project.home, {"PLAIN": task("PLAIN")}, config=config)

    def count(turn: Turn) -> Reply:
        counts.append(sum("--headless" in process.cmdline() for process in waza.children()))
        return Reply("all is fine")

    script: list[Step] = [Reply(calls=[WHO]), count]
    with (
        ModelServer({"PLAIN": script}) as server,
        project.started("run", suite, env=copilot_environment(server)) as live,
    ):
        waza = psutil.Process(live.process.pid)
        ended = live.ended()
    assert ended.code == 0, ended.err
    found = [facts(trial) for trial in ended.results()["tasks"][0]["runs"]]
    assert len({one["runtime"] for one in found}) == 3
    assert len({one["home"] for one in found}) == 3
    assert max(counts) <= 2, "the one of the trial, beside that with which the run began"
    assert project.left == []


PLACES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR", "TMP", "TEMP")
# Looks into every place, and leaves a mark in it.
LEAVE = bash(
    "for name in "
    + " ".join(PLACES)
    + """; do eval "at=\\$$name"; echo "$name=$at"; ls "$at" | grep left; """
    """touch "$at/left-$name"; done; echo "pip=[$PIP_CACHE_DIR] runtime_dir=[$XDG_RUNTIME_DIR]" """
)


def left_in_places(isolation: str, tmp_path: Path) -> tuple[Seen, list[dict[str, Any]]]:
    """Two trials, one after the other, of an agent that leaves marks."""
    shared = {name: str(tmp_path / "shared") for name in (*PLACES[:4], "PIP_CACHE_DIR", "XDG_RUNTIME_DIR")}
    for name in ("shared", "temp"):
        (tmp_path / name).mkdir()
    config = {"isolation": isolation, "trials_per_task": 2}
    suite = write_suite(tmp_path, {"LEAVE": task("LEAVE")}, workers=1, config=config)
    seen = run(suite, {"LEAVE": calls_then_fine(LEAVE)}, **shared, TMPDIR=str(tmp_path / "temp"))
    assert list((tmp_path / "shared").iterdir()) == []
    assert list((tmp_path / "temp").iterdir()) == [], "nothing stays for a later run"
    return seen, [seen.run("LEAVE", number) for number in (1, 2)]


def test_nothing_that_an_agent_writes_is_seen_by_the_next_trial_if_each_has_its_own_home(tmp_path: Path):
    _, trials = left_in_places("trial", tmp_path)
    found = [facts(trial) for trial in trials]
    for name in PLACES:
        assert found[0][name] != found[1][name]
        assert Path(found[0][name]).is_relative_to(tmp_path / "temp")
    for trial in trials:
        assert "left-XDG" not in told(trial)
        assert "pip=[] runtime_dir=[]" in told(trial)


def test_trials_that_share_a_home_share_what_belongs_to_it_and_nothing_of_the_users(tmp_path: Path):
    _, trials = left_in_places("run", tmp_path)
    found = [facts(trial) for trial in trials]
    assert found[0] == found[1]
    assert "left-XDG_CACHE_HOME" in told(trials[1]), "this is how the other test can fail"


def test_a_long_result_is_kept_where_only_its_own_trial_looks(tmp_path: Path):
    config = {"isolation": "trial", "trials_per_task": 2}
    suite = write_suite(tmp_path, {"LONG": task("LONG")}, workers=1, config=config)
    look = bash('echo "at=$TMPDIR"; ls "$TMPDIR" | wc -l')
    script = [Reply(calls=[bash("seq 1 20000")]), *calls_then_fine(look)]
    seen = run(suite, {"LONG": script})
    first, second = (told(seen.run("LONG", number), 1).split() for number in (1, 2))
    assert first[0] != second[0]
    assert first[1:] == second[1:] == ["1"]


def test_the_npm_program_is_unpacked_once_and_its_cache_is_not_the_agents(tmp_path: Path):
    """A stand-in that unpacks itself as the npm package does; what it unpacks is the real runtime."""
    real = runtime_path()
    program = (
        write_tree(
            tmp_path,
            {
                "npm/copilot": f"""#!/bin/sh
[ "$1" = --version ] || {{ echo "started as it is" >> {tmp_path}/direct; exec {real} "$@"; }}
place="$XDG_CACHE_HOME/copilot/pkg/linux-x64/9.8.7/prebuilds/linux-x64"
mkdir -p "$place" && printf '#!/bin/sh\\nexec {real} "$@"\\n' > "$place/copilot-runtime"
chmod +x "$place/copilot-runtime"
echo unpacked >> {tmp_path}/unpacked
echo "GitHub Copilot CLI 9.8.7."
"""
            },
        )
        / "npm/copilot"
    )
    program.chmod(0o755)
    suite = write_suite(tmp_path / "project", {"LEAVE": task("LEAVE")})
    seen = run(
        suite,
        {"LEAVE": calls_then_fine(LEAVE)},
        COPILOT_CLI_PATH=str(program),
        WAZA_HOME=str(tmp_path / "waza"),
    )
    assert seen.run("LEAVE")["status"] == "passed"
    assert not (tmp_path / "direct").exists()
    assert (tmp_path / "unpacked").read_text() == "unpacked\n"
    cache = tmp_path / "waza/cache/copilot-runtime"
    assert not Path(facts(seen.run("LEAVE"))["XDG_CACHE_HOME"]).is_relative_to(cache)


# --- from keys ---


def all_files(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())


def test_keys_reach_the_server_and_nothing_else(tmp_path: Path):
    """Without NO_PROXY in the environment the runtime would ask the proxy for the server."""
    proxies = dict.fromkeys(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"], DEAD)
    suite = write_suite(tmp_path / "project", {"KEYS": task("KEYS")})
    env = {"COPILOT_API_KEY": KEY, "COPILOT_BEARER_TOKEN": BEARER, "OPEN": OPEN, "NO_PROXY": "", **proxies}
    flags = ("-v", "--session-log", "--transcript-dir", "transcripts", "--reporter", "markdown:report.md")
    seen = run(suite, {"KEYS": calls_then_fine(SEARCH)}, *flags, **env)
    sent = {request.headers["authorization"] for request in seen.server.requests}
    assert sent <= {f"Bearer {KEY}", f"Bearer {BEARER}"}
    assert sent
    without, with_mark = told(seen.run("KEYS")).split()
    assert without == "0"
    assert int(with_mark) >= 2, "a mark that is no key is found there"
    written = all_files(tmp_path) + (seen.ended.out + seen.ended.err).encode()
    assert b"KEYS" in written
    assert b"5b1e77" not in written


# --- from the network ---


@pytest.mark.skipif(
    subprocess.run(["sh", "-c", "strace -f true"], capture_output=True, check=False).returncode != 0,
    reason="this machine has no strace, or lets nobody be traced",
)
def test_nothing_but_the_server_is_asked(tmp_path: Path):
    suite = write_suite(tmp_path, {"PLAIN": task("PLAIN")})
    trace = tmp_path / "trace.txt"
    strace = ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", str(trace)]
    with ModelServer({"PLAIN": calls_then_fine(WHO)}) as server:
        env = environment(copilot_environment(server))
        done = subprocess.run(
            [*strace, *command("run", suite)], cwd=tmp_path, env=env, capture_output=True, check=False
        )
    assert done.returncode == 0, done.stderr
    text = trace.read_text(encoding="utf-8", errors="replace")
    asked = set(re.findall(r'port=htons\((\d+)\).*?"([^"]*)"', text))
    assert {address for _, address in asked} == {"127.0.0.1"}
    ports = {port for port, _ in asked}
    assert server.base_url.rpartition(":")[2].removesuffix("/v1") in ports
    assert len(ports) == 2, "the agent asks the wire, and that the server"


NETLESS = """
import sys
from pathlib import Path
from tests.e2e.copilot.suites import calls_then_fine, run
from tests.support.model_server import Call
call = Call("bash", {"command": "echo hello", "description": "says hello"})
seen = run(Path(sys.argv[1]), {"PLAIN": calls_then_fine(call)})
assert seen.ended.code == 0, seen.ended.err
"""


@pytest.mark.skipif(
    subprocess.run(["sh", "-c", "unshare -n ip link set lo up"], capture_output=True, check=False).returncode
    != 0,
    reason="this machine cannot make a network of its own (unshare -n, ip)",
)
def test_a_machine_without_network_is_enough(tmp_path: Path):
    suite = write_suite(tmp_path, {"PLAIN": task("PLAIN")})
    inside = 'ip link set lo up && exec "$@"'
    argv = ["unshare", "-n", "sh", "-c", inside, "sh", sys.executable, "-c", NETLESS, str(suite)]
    env = environment({"PYTHONPATH": str(Path(__file__).parents[3])})
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- from its own past ---


def test_fifty_trials_with_a_mocked_server_leave_no_process_behind(tmp_path: Path):
    """Counted in the middle of each trial, where the runtime and the mocked server of the trial live."""
    project, counts = Project(tmp_path), list[int]()
    mock = {"name": "crm", "tools": {"find": {"responses": [{"return": "Ada"}]}}}
    config = {"trials_per_task": 50, "parallel": False}  # side by side their number would vary
    suite = write_suite(project.home, {"MANY": task("MANY")}, mcp_mocks=[mock], config=config)

    def count(turn: Turn) -> Reply:
        assert turn.tool_results == ['"Ada"']
        counts.append(len(children()))
        return Reply("all is fine")

    script: list[Step] = [Reply(calls=[Call("crm-find", {})]), count]
    with (
        ModelServer({"MANY": script}) as server,
        project.started("run", suite, env=copilot_environment(server)) as live,
    ):
        waza = psutil.Process(live.process.pid)

        def children() -> list[psutil.Process]:
            return waza.children(recursive=True)

        live.until(lambda: len(counts) == 50)
        last = children()
        ended = live.ended()
    assert ended.code == 0, ended.err
    assert counts[0] >= 2
    assert max(counts) <= counts[0] + 1, "one may just be ending"
    assert not [process for process in last if process.is_running()]
    assert project.left == []
