"""`waza serve`: what it answers of runs that `waza run` made, as it goes over the wire."""

from __future__ import annotations

import json
import shlex
import shutil
import signal

import pytest
from tests.support.dashboard import serving
from tests.support.program import mock_suite, newest_results, waza, write_tree

HOSTILE = '</script><script>pwn=1</script><img src=x onerror="pwn=1">\x1b[31m\u202e'
ODD_ID = "a/b %2F?#ü 💡"

PASSES = """
id: good
name: A good one
tags: [easy]
inputs: {prompt: Say hello}
mock:
  output: hello 💡 world
  tool_calls: [{name: bash, args: {command: ls}, result: a.txt, duration_ms: 40}]
  usage: {input_tokens: 120, output_tokens: 30}
graders:
  - {type: text, name: greets, config: {contains: [WORLD], regex_not_match: ['w.rld!']}}
"""
FAILS = f"""
id: {json.dumps(ODD_ID)}
name: {json.dumps(HOSTILE)}
inputs: {{prompt: {json.dumps("Do " + HOSTILE)}}}
mock:
  output: {json.dumps(HOSTILE)}
  tool_calls:
    - {{name: create, args: {{path: app.py, file_text: "x = 1\\n"}}}}
    - {{name: edit, args: {{path: lib.py, old_str: "a\\nb\\n", new_str: "a\\nc\\n"}}}}
    - {{name: bash, args: {{command: {json.dumps(HOSTILE)}}}, result: {json.dumps(HOSTILE)}, success: false}}
graders:
  - {{type: text, name: wants, config: {{contains: [missing], not_contains: [pwn]}}}}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    suite = mock_suite(
        folder, {"a": PASSES, "b": FAILS}, config=["trials_per_task: 2", "max_attempts: 2"], name="café"
    )
    done = waza("run", suite, cwd=folder)
    assert done.code == 1, done.err
    return folder


@pytest.fixture(scope="module")
def served(project):
    with serving(project) as found:
        yield found


@pytest.fixture(scope="module")
def run_id(project):
    return newest_results(project)["eval_id"]


def test_the_list_has_the_run_with_its_figures(served, run_id, project):
    results = newest_results(project)
    (run,) = served.data("runs")
    assert run["id"] == run_id
    assert (run["spec"], run["model"], run["outcome"]) == ("café", "test-model", "failed")
    assert (run["passCount"], run["taskCount"], run["failedCount"]) == (1, 2, 1)
    assert run["successRate"] == results["summary"]["success_rate"]
    assert run["weightedScore"] == results["summary"]["weighted_score"]
    assert run["tokens"] == 300
    assert (run["cost"], run["costSource"]) == (None, None)
    assert run["reasons"] == results["metadata"]["verdict"]["reasons"]


def test_the_summary_adds_runs_up(served):
    assert served.data("summary") == {
        "totalRuns": 1,
        "totalTasks": 2,
        "passRate": 50.0,
        "avgTokens": 300,
        "avgPremiumRequests": 0,
        "avgAICredits": None,
        "avgCost": None,
        "costSource": None,
        "avgDuration": served.data("runs")[0]["duration"],
        "inProgress": 0,
        "cutOff": 0,
        "unreadable": 0,
    }


def test_the_head_says_what_console_and_reports_say(served, run_id):
    head = served.data("runs", run_id, "head")
    assert head["verdict"] == {
        "word": "failed",
        "passed": False,
        "reasons": ["1 of 2 tasks did not pass: 1 failed"],
    }
    zero = dict.fromkeys(["error", "skipped", "cutOff", "inProgress", "notStarted"], 0)
    assert head["counts"] == {"passed": 1, "failed": 1, **zero}
    assert head["scoreNote"] == ""  # nothing broke
    assert {"name": "Task success rate", "value": "50.0% (1 of 2 tasks)"} in head["rates"]
    assert head["complete"]
    assert not head["inProgress"]
    assert head["command"] == f"waza show {run_id}"


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["artifact/results.json", "artifact/.waza/runs/{run}/results.json"])
def test_commands_find_runs_from_where_the_server_was_started(project, run_id, tmp_path, kept):
    file = tmp_path / kept.format(run=run_id)
    if "runs" in kept:
        shutil.copytree(project / ".waza/runs" / run_id, file.parent)
    else:
        write_tree(tmp_path, {kept: (project / ".waza/runs" / run_id / "results.json").read_bytes().decode()})
    with serving(tmp_path, "artifact") as served:
        (run,) = served.data("runs")
        says = served.data("runs", run["id"], "head")["command"]
    shown = waza(*shlex.split(says)[1:], cwd=tmp_path)
    assert (shown.code, "café" in shown.out) == (0, True), shown.err


def test_tasks_that_failed_come_first_with_their_cause(served, run_id):
    reply = served.get("runs", run_id, "tasks")
    assert reply.total == 2
    first, second = reply.json
    assert (first["id"], first["status"]) == (ODD_ID, "failed")
    assert first["cause"].startswith("wants (text) ")
    assert [(one["number"], one["status"], one["attempts"]) for one in first["trials"]] == [
        (1, "failed", 2),
        (2, "failed", 2),
    ]
    assert (second["id"], second["cause"], second["tags"]) == ("good", "", ["easy"])


def test_tasks_are_searched_sorted_and_cut_into_slices(served, run_id):
    def ids(**query):
        return [one["id"] for one in served.data("runs", run_id, "tasks", **query)]

    assert ids(q="EASY") == ["good"]
    assert ids(status="failed") == [ODD_ID]
    assert ids(sort="order") == ["good", ODD_ID]
    assert ids(limit=1, offset=1) == ["good"]
    assert ids(sort="score", order="desc") == ["good", ODD_ID]
    assert served.get("runs", run_id, "tasks", q="nothing like it").total == 0


def test_a_trial_says_why_it_failed(served, run_id):
    trial = served.data("runs", run_id, "tasks", ODD_ID, "trials", "2")
    assert (trial["status"], trial["number"], trial["causes"]) == ("failed", 2, ["wants"])
    (check,) = trial["checks"]
    assert check["failures"] == ["no 'missing' in the output", "'pwn' is in the output"]
    assert trial["judgedText"] == HOSTILE
    bad = [trial["judgedText"][one["start"] : one["end"]] for one in check["highlights"] if not one["good"]]
    assert bad == ["pwn", "pwn"]
    assert trial["besides"] == [
        f"1 of 3 tool calls did not succeed; the last: bash: {' '.join(HOSTILE.split())}"
    ]
    assert [(one["path"], one["change"]) for one in trial["fileChanges"]] == [
        ("app.py", "written"),
        ("lib.py", "changed"),
    ]
    assert "-b\n+c\n" in trial["fileChanges"][1]["diff"]
    assert [(one["number"], one["status"]) for one in trial["attemptsBefore"]] == [(1, "failed")]
    assert (trial["previous"]["task"], trial["previous"]["number"]) == (ODD_ID, 1)
    assert trial["next"]["task"] == "good"
    assert trial["command"].startswith(f"waza show {run_id} ")


def test_a_trial_shows_turns_calls_and_their_places(served, run_id):
    trial = served.data("runs", run_id, "tasks", "good", "trials", "1")
    (turn,) = trial["turns"]
    assert turn["prompt"] == "Say hello"
    assert sorted(step["kind"] for step in turn["steps"]) == ["call", "message"]
    call = next(step["call"] for step in turn["steps"] if step["kind"] == "call")
    assert (call["name"], call["arguments"], call["result"], call["durationMs"]) == (
        "bash",
        {"command": "ls"},
        "a.txt",
        40,
    )
    # The start of a scripted call is not known: it is not put anywhere.
    assert [(one["kind"], one["label"], one["turn"], one["startMs"]) for one in trial["timeline"]] == [
        ("turn", "turn 1", 1, 0),
        ("tool", "bash", 1, None),
    ]
    # Places are in UTF-16 code units: the bulb before the word has two.
    (found,) = trial["checks"][0]["highlights"]
    assert (found["start"], found["end"], found["good"]) == (9, 14, True)
    assert trial["digest"]["tokensTotal"] == 150


@pytest.mark.parametrize(
    ("segments", "status"),
    [
        (("runs", "no-such-run", "head"), 404),
        (("runs", "no-such-run", "tasks", "good", "trials", "1"), 404),
        (("runs", "..%2f..%2fetc%2fpasswd", "head"), 404),
        (("runs", "../../etc/passwd", "head"), 404),
        (("nothing",), 404),
        (("runs", ""), 400),
    ],
)
def test_what_is_not_there_is_an_error_in_json(served, segments, status):
    reply = served.get(*segments)
    assert reply.status == status
    assert reply.json.keys() == {"error", "code"}
    assert reply.json["code"] == status


def test_a_task_or_trial_that_is_not_there_is_not_found(served, run_id):
    assert served.get("runs", run_id, "tasks", "none", "trials", "1").status == 404
    assert served.get("runs", run_id, "tasks", "good", "trials", "9").status == 404
    assert served.get("runs", run_id, "tasks", "good", "trials", "1", arm="baseline").status == 404


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=x", "offset=-1", "sort=none", "limit=%ff"])
def test_a_parameter_out_of_range_is_refused(served, run_id, query):
    reply = served.request(f"/api/runs/{run_id}/tasks?{query}")
    assert reply.status == 400
    assert reply.json["code"] == 400


def test_only_requests_for_this_host_are_served(served):
    for host in ("evil.example", f"evil.example:{served.port}", "localhost:1", "localhost", ""):
        assert served.request("/api/runs", headers={"Host": host}).status == 421, host
    for host in ("LOCALHOST", "127.0.0.1", "[::1]"):
        assert served.request("/api/health", headers={"Host": f"{host}:{served.port}"}).status == 200, host


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_is_changed_from_outside(served, method):
    reply = served.request("/api/runs", method)
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_head_and_options_have_no_body(served):
    reply = served.request("/api/runs", "HEAD")
    assert (reply.status, reply.body) == (200, b"")
    assert int(reply.headers["content-length"]) == len(served.request("/api/runs").body)
    assert served.request("/api/runs", "OPTIONS").status == 204


@pytest.mark.parametrize("target", ["/", "/api/runs", "/api/none", "/openapi.json"])
def test_every_answer_has_the_headers_that_protect(served, target):
    headers = served.request(target, headers={"Origin": "http://evil.example"}).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers
    assert headers["cache-control"] in ("no-store", "no-cache")


def test_texts_of_agents_are_json_and_nothing_else(served, run_id):
    reply = served.get("runs", run_id, "tasks", ODD_ID, "trials", "1")
    assert reply.headers["content-type"] == "application/json"


def test_the_document_describes_the_api(served):
    document = served.request("/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert "/api/runs/{id}/tasks/{task}/trials/{n}" in document["paths"]


def test_results_files_elsewhere_are_runs_too_and_copies_are_not(project, tmp_path):
    results = next(project.glob(".waza/runs/*/results.json"))
    write_tree(
        tmp_path,
        {
            "ci/éa.json": results.read_bytes(),
            "ci/broken.json": results.read_bytes()[:2000],
            "ci/twice.json": b'{"eval_id": "x", "eval_id": "y", "summary": {}, "tasks": []}',
            "package.json": b'{"name": "not results"}',
            "settings.json": b"{ // not JSON\n}",
        },
    )
    (tmp_path / "ci" / "outside.json").symlink_to(results)
    with serving(tmp_path) as served:
        runs = {one["id"]: one for one in served.data("runs")}
        assert runs.keys() == {"ci/éa.json", "ci/broken.json", "ci/twice.json"}
        assert runs["ci/éa.json"]["outcome"] == "failed"
        assert runs["ci/broken.json"]["outcome"] == "unreadable"
        assert "is not valid JSON" in runs["ci/broken.json"]["error"]
        assert "eval_id" in runs["ci/twice.json"]["error"]
        assert len(served.data("runs", "ci/éa.json", "tasks")) == 2
        assert served.get("runs", "ci/broken.json", "head").status == 422

        shutil.copytree(project / ".waza", tmp_path / ".waza")
        (own,) = served.data("runs", outcome="failed")  # the file is a copy of the run that is here now
        assert own["id"].startswith("run-")


def test_a_file_that_is_replaced_is_read_again(project, tmp_path):
    results = json.loads(next(project.glob(".waza/runs/*/results.json")).read_bytes())
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    with serving(tmp_path) as served:
        assert len(served.data("runs", "results.json", "tasks")) == 2
        results["tasks"] = [
            {**results["tasks"][0], "test_id": f"t{i}", "display_name": f"T {i}"} for i in range(5)
        ]
        new = tmp_path / "new.tmp"
        new.write_text(json.dumps(results))
        new.replace(path)
        assert [one["id"] for one in served.data("runs", "results.json", "tasks")] == [
            f"t{i}" for i in range(5)
        ]
        path.unlink()
        assert served.get("runs", "results.json", "head").status == 404


def test_an_empty_directory_has_no_runs(tmp_path):
    with serving(tmp_path) as served:
        reply = served.get("runs")
        assert (reply.json, reply.total) == ([], 0)
        assert served.data("summary")["avgDuration"] is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_success(tmp_path, number):
    with serving(tmp_path) as served:
        code, err = served.stop(number)
    assert (code, "Traceback" in err) == (0, False)


def test_a_port_in_use_is_an_error_that_says_what_to_do(tmp_path):
    with serving(tmp_path) as served:
        done = waza("serve", "--port", str(served.port), cwd=tmp_path)
    assert done.code == 2
    assert f"port {served.port} " in done.err
    assert "--port 0" in done.err


def test_a_directory_that_is_not_there_is_an_error(tmp_path):
    done = waza("serve", "nowhere", cwd=tmp_path)
    assert (done.code, "nowhere does not exist" in done.err) == (2, True)
