"""Invocations: what was planned in them, and which one a resumed command goes on with."""

import os
from pathlib import Path

import pytest
from tests.support.program import mock_suite

from waza.engine.invocation import InvocationJournal, Job
from waza.errors import UsageError, WazaError
from waza.model.loaded import Suite
from waza.results.invocation_lines import INVOCATIONS
from waza.suite.load import load


@pytest.fixture
def suites(tmp_path: Path) -> list[Suite]:
    return [load(mock_suite(tmp_path / name, {"t": "inputs: {prompt: p}"})) for name in "abc"]


def begun(root: Path, *wanted: tuple[Suite, str], unread: tuple[Path, ...] = ()) -> str:
    invocation = InvocationJournal.start(root, [Job(*one) for one in wanted], unread)
    invocation.close()
    return invocation.id


def found(root: Path, *wanted: tuple[Suite, str], named: str = "", unread: tuple[Path, ...] = ()) -> str:
    invocation = InvocationJournal.resume(root, [Job(*one) for one in wanted], named, unread)
    if invocation is None:
        return ""
    invocation.close()
    return invocation.id


def test_the_newest_by_count_whatever_the_clocks_say(tmp_path: Path, suites: list[Suite]):
    a, b, _ = suites
    first = begun(tmp_path, (a, "m"))
    second = begun(tmp_path, (a, "m"))
    assert (first[:10], second[:10]) == ("inv-000001", "inv-000002")
    os.utime(tmp_path / INVOCATIONS / f"{second}.ndjson", (0, 0))  # a clock that was set back
    assert found(tmp_path, (a, "m")) == second
    assert found(tmp_path, (b, "m")) == found(tmp_path, (a, "n")) == ""


def test_an_invocation_is_gone_on_with_in_which_all_that_is_wanted_was_planned(
    tmp_path: Path, suites: list[Suite]
):
    a, b, c = suites
    both = begun(tmp_path, (a, "m"), (b, "m"))
    alone = begun(tmp_path, (a, "m"))
    assert found(tmp_path, (a, "m"), (b, "m")) == both
    assert found(tmp_path, (b, "m")) == both
    assert found(tmp_path, (a, "m")) == alone
    assert found(tmp_path, (a, "m"), (c, "m")) == ""


def test_runs_keep_the_ids_that_were_planned(tmp_path: Path, suites: list[Suite]):
    a, b, c = suites
    first = InvocationJournal.start(tmp_path, [Job(a, "m"), Job(b, "m")])
    with pytest.raises(WazaError, match="in use by another run"):
        InvocationJournal.resume(tmp_path, [Job(a, "m")], "")
    first.close()
    again = InvocationJournal.resume(tmp_path, [Job(a, "m"), Job(b, "m"), Job(c, "m")], first.id)
    assert again is not None
    assert (
        again.run_directory(Job(a, "m"))
        == first.run_directory(Job(a, "m"))
        != first.run_directory(Job(b, "m"))
    )
    assert again.run_directory(Job(c, "m")) is not None  # what is new in a named invocation is added to it
    again.close()
    assert found(tmp_path, (c, "m")) == first.id


def test_a_suite_that_could_not_be_read_belongs_to_its_invocation(tmp_path: Path, suites: list[Suite]):
    a, b, _ = suites
    both = begun(tmp_path, (a, "m"), unread=(b.path,))
    assert found(tmp_path, (a, "m"), unread=(b.path,)) == both
    assert found(tmp_path, (a, "m"), (b, "m")) == both  # it was mended
    assert found(tmp_path, (a, "m"), unread=(tmp_path / "other.yaml",)) == ""


@pytest.mark.parametrize("named", ["inv-000007-abcdef", "inv-../x", "inv-x", "run-x", "", "../inv-000001"])
def test_an_id_that_is_none(tmp_path: Path, suites: list[Suite], named: str):
    if not named:
        assert found(tmp_path, (suites[0], "m")) == ""
        return
    with pytest.raises(UsageError, match=r"there is no (run|invocation)"):
        found(tmp_path, (suites[0], "m"), named=named)


def test_an_invocation_of_something_else_is_refused(tmp_path: Path, suites: list[Suite]):
    a, b, _ = suites
    named = begun(tmp_path, (a, "m"))
    with pytest.raises(UsageError, match="cannot be resumed: it is of other suites or models"):
        found(tmp_path, (b, "m"), named=named)


def test_a_damaged_record_is_refused_and_one_without_a_line_is_none(tmp_path: Path, suites: list[Suite]):
    a = suites[0]
    named = begun(tmp_path, (a, "m"))
    (tmp_path / INVOCATIONS / "inv-000002-000000.ndjson").touch()  # killed before its first line
    assert found(tmp_path, (a, "m")) == named
    path = tmp_path / INVOCATIONS / f"{named}.ndjson"
    path.write_bytes(path.read_bytes().replace(b'"m"', b'"n"'))
    with pytest.raises(WazaError, match="2: this line is damaged"):
        found(tmp_path, (a, "m"))
