from __future__ import annotations

import asyncio
import gc
import json
import threading
from pathlib import Path

import psutil
import pytest
from tests.support.wgp import ANSWERS, IMPORTS, LOOPS, graded, grader, module, response

from waza.errors import GraderError
from waza.graders import _wgp_wasm
from waza.graders._wgp_module import ModuleInterface, read_header
from waza.graders.wgp import Wgp
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict
from waza.model.wgp import encode_request

MIB = 1 << 20
# Writes back what it is sent, as its own response: reads in steps of 7 bytes behind 4096.
ECHOES = """
  (local $n i32) (local $end i32) (local.set $end (i32.const 4096))
  (loop $more
    (local.set $n (call $read (local.get $end) (i32.const 7)))
    (local.set $end (i32.add (local.get $end) (local.get $n)))
    (br_if $more (local.get $n)))
  (call $write (i32.const 4096) (i32.sub (local.get $end) (i32.const 4096)))"""
LOG_A_PAGE = "(call $log (i32.const 0) (i32.const 65536))"


def error_of(asked: Wgp) -> str:
    with pytest.raises(GraderError) as caught:
        graded(asked)
    return str(caught.value)


async def asked(one: Wgp) -> Verdict:
    return await one.grade(Observation(), Helpers())


def test_the_request_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    answers: list[bytes] = []
    real = _wgp_wasm._run

    def noted(*args):
        answer = real(*args)
        answers.append(answer.data)
        return answer

    monkeypatch.setattr(_wgp_wasm, "_run", noted)
    echo = grader(module(tmp_path / "m.wasm", ECHOES), config={"schema": "Grüße 🐍"})
    with pytest.raises(GraderError, match="no field 'score'"):
        graded(echo, output="x" * 1000, workspace=str(tmp_path))
    assert answers == [encode_request(Observation(output="x" * 1000), {"schema": "Grüße 🐍"})]
    assert json.loads(answers[0])["context"]["workspace_dir"] == ""


def test_env_will_do_as_the_name_of_the_host(tmp_path: Path):
    artifact = module(tmp_path / "m.wasm", ANSWERS, imports=IMPORTS.replace('"waza_host" ', '"env" '))
    assert graded(grader(artifact)).score == 0.5


def test_imports_may_come_in_any_order_and_more_than_once(tmp_path: Path):
    lines = IMPORTS.strip().splitlines()
    again = '(import "env" "waza_host_log" (func (param i32 i32)))'
    artifact = module(tmp_path / "m.wasm", ANSWERS, imports="\n".join([again, *reversed(lines)]))
    assert graded(grader(artifact)).score == 0.5


def test_an_entry_point_of_another_name_without_a_result(tmp_path: Path):
    parts = f'(func (export "judge now") {ANSWERS})'
    artifact = module(tmp_path / "m.wasm", "unreachable", parts=parts)
    assert graded(grader(artifact, entrypoint="judge now")).score == 0.5


def test_every_grading_has_an_instance_of_its_own(tmp_path: Path):
    # The second call within one instance would find the mark of the first and trap.
    body = (
        f"(if (i32.load (i32.const 0)) (then unreachable)) (i32.store (i32.const 0) (i32.const 1)) {ANSWERS}"
    )
    fresh = grader(module(tmp_path / "m.wasm", body))
    for _ in range(3):
        assert graded(fresh).passed


def test_a_start_function_may_use_the_host(tmp_path: Path):
    parts = "(func $begin (call $log (i32.const 1024) (i32.const 1))) (start $begin)"
    assert graded(grader(module(tmp_path / "m.wasm", ANSWERS, parts=parts))).details["log"] == "{"


def test_the_log_is_cut(tmp_path: Path):
    fills = "(memory.fill (i32.const 2048) (i32.const 0x78) (i32.const 63488))"
    artifact = module(tmp_path / "m.wasm", f"{fills} {LOG_A_PAGE} {LOG_A_PAGE} {ANSWERS}")
    log = graded(grader(artifact)).details["log"]
    assert log.startswith("\0")
    assert log.endswith("xxx")
    assert len(log) == 65_536


def test_a_log_need_not_be_text(tmp_path: Path):
    body = f"(i32.store8 (i32.const 5) (i32.const 0xff)) (call $log (i32.const 5) (i32.const 1)) {ANSWERS}"
    assert graded(grader(module(tmp_path / "m.wasm", body))).details["log"] == "\ufffd"


FAULTS = {
    "nothing": ("", "the module wrote no result"),
    "trap": ("unreachable", "the module trapped: unreachable"),
    "division": ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", "the module trapped: integer division by zero"),
    "own memory": ("(drop (i32.load (i32.const 65536)))", "the module trapped: memory out of bounds"),
    "status": (f"{ANSWERS} (return (i32.const -7))", "grade returned -7, which means that it went wrong"),
    "twice": (f"{ANSWERS} {ANSWERS}", "the module wrote a second result"),
    "twice, then a loop": (f"{ANSWERS} {ANSWERS} {LOOPS}", "the module wrote a second result"),
    "write outside": ("(call $write (i32.const 65535) (i32.const 2))", "called waza_host_write_result with a range outside of its memory"),
    "write far outside": ("(call $write (i32.const -1) (i32.const -1))", "waza_host_write_result with a range outside"),
    "read outside": ("(drop (call $read (i32.const 65000) (i32.const 600)))", "waza_host_read_input with a range outside"),
    "log outside": (f"(call $log (i32.const 0) (i32.const 65537)) {ANSWERS}", "waza_host_log with a range outside"),
    "outside, then a loop": (f"(call $log (i32.const 0) (i32.const 65537)) {LOOPS}", "waza_host_log with a range outside"),
    "large": ("(drop (memory.grow (i32.const 16))) (call $write (i32.const 0) (i32.const 1048577))", "a result larger than 1,048,576 bytes"),
    "NaN": (ANSWERS, "is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_a_module_does_wrong_is_an_error(tmp_path: Path, name: str):
    body, message = FAULTS[name]
    answer = '{"schema":"wgp/1","score":NaN,"passed":true}' if name == "NaN" else ""
    assert message in error_of(grader(module(tmp_path / "m.wasm", body, answer=answer)))


def test_a_range_at_the_very_end_is_inside(tmp_path: Path):
    body = (
        f"(call $log (i32.const 65536) (i32.const 0)) (call $log (i32.const 65535) (i32.const 1)) {ANSWERS}"
    )
    assert graded(grader(module(tmp_path / "m.wasm", body))).passed


def test_endless_recursion(tmp_path: Path):
    parts = "(func $deeper (call $deeper))"
    artifact = module(tmp_path / "m.wasm", "(call $deeper)", parts=parts)
    assert error_of(grader(artifact)) == "the module trapped: stack overflow"


def test_the_log_is_in_errors(tmp_path: Path):
    artifact = module(tmp_path / "m.wasm", "(call $log (i32.const 1025) (i32.const 8)) unreachable")
    assert error_of(grader(artifact)) == 'the module trapped: unreachable; its log ends: "schema"'


def test_memory_ends_at_its_limit(tmp_path: Path):
    grows = "(if (i32.lt_s (memory.grow (i32.const 15)) (i32.const 0)) (then unreachable))"
    artifact = module(tmp_path / "m.wasm", f"{grows} {ANSWERS}")
    assert graded(grader(artifact, limits={"memory_mb": 1})).passed
    artifact = module(tmp_path / "n.wasm", f"{grows} {grows} {ANSWERS}")
    assert error_of(grader(artifact, limits={"memory_mb": 1})) == "the module trapped: unreachable"
    assert graded(grader(artifact)).passed

    large = module(tmp_path / "o.wasm", ANSWERS, parts="(memory 1) (table 200000 funcref)")
    assert "cannot be run: " in error_of(grader(large))
    huge = tmp_path / "p.wasm"
    huge.write_bytes(_wat('(module (memory (export "memory") 5000) (func (export "grade")))'))
    assert "exceeds memory limits" in error_of(grader(huge))


def _wat(text: str) -> bytes:
    from wasmtime import wat2wasm

    return bytes(wat2wasm(text))


@pytest.mark.parametrize("parts", ["", f"(func $begin {LOOPS}) (start $begin)"], ids=["entry point", "start"])
def test_a_loop_ends_at_the_limit(tmp_path: Path, parts: str):
    artifact = module(tmp_path / "m.wasm", LOOPS, parts=parts)
    assert error_of(grader(artifact, limits={"wall_seconds": 1})) == "the time limit of 1 s was reached"
    _no_timers()


def test_the_smaller_limit_counts(tmp_path: Path):
    looping = grader(module(tmp_path / "m.wasm", LOOPS), limits={"cpu_seconds": 1, "wall_seconds": 600})
    assert error_of(looping) == "the time limit of 1 s was reached"


def test_the_event_loop_goes_on_meanwhile(tmp_path: Path):
    looping = grader(module(tmp_path / "m.wasm", LOOPS), limits={"wall_seconds": 2})
    quick = grader(module(tmp_path / "n.wasm", ANSWERS))

    async def both() -> bool:
        slow = asyncio.create_task(asked(looping))
        for _ in range(5):
            assert (await asked(quick)).passed
        still_looping = not slow.done()
        await asyncio.gather(slow, return_exceptions=True)
        return still_looping

    assert asyncio.run(both())


def test_a_cancelled_grading_stops_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    looping = grader(module(tmp_path / "m.wasm", LOOPS), limits={"cpu_seconds": 600, "wall_seconds": 600})
    begun, faults = threading.Event(), list[str]()
    real = _wgp_wasm._run

    def noted(*args):
        begun.set()
        answer = real(*args)
        faults.append(answer.fault)
        return answer

    monkeypatch.setattr(_wgp_wasm, "_run", noted)

    async def cancelled() -> None:
        grading = asyncio.create_task(asked(looping))
        await asyncio.to_thread(begun.wait)
        grading.cancel()
        await grading

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())  # waits for the thread
    assert faults == ["cancelled"]
    _no_timers()


def test_gradings_at_the_same_time_do_not_mix(tmp_path: Path):
    """The binding keeps exceptions of host functions and their list for all threads together."""
    kinds = ["twice", "write outside", "trap", "log outside", "status"]
    graders = [grader(module(tmp_path / f"{i}.wasm", FAULTS[name][0])) for i, name in enumerate(kinds)]
    graders.append(grader(module(tmp_path / "good.wasm", ANSWERS)))

    async def all_of_them() -> list[Verdict | BaseException]:
        return await asyncio.gather(
            *(asked(one) for _ in range(40) for one in graders), return_exceptions=True
        )

    found = asyncio.run(all_of_them())
    for number, one in enumerate(found):
        place = number % len(graders)
        if place == len(kinds):
            assert isinstance(one, Verdict)
        else:
            assert FAULTS[kinds[place]][1] in str(one)


def test_no_memory_is_left(tmp_path: Path):
    # Each grading touches 32 MiB, and then fails.
    grows = (
        "(drop (memory.grow (i32.const 511))) (memory.fill (i32.const 0) (i32.const 1) (i32.const 33554432))"
    )
    greedy = grader(module(tmp_path / "m.wasm", f"{grows} unreachable"))
    process = psutil.Process()
    error_of(greedy)
    gc.collect()
    before = process.memory_info().rss
    for _ in range(20):
        error_of(greedy)
    gc.collect()
    assert process.memory_info().rss - before < 64 * MIB


def test_a_module_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    times = []
    real = _wgp_wasm._compile

    async def counted(binary: bytes) -> bytes | ValueError:
        times.append(1)
        return await real(binary)

    monkeypatch.setattr(_wgp_wasm, "_compile", counted)
    one = grader(module(tmp_path / "m.wasm", ANSWERS, answer=response(rationale=str(tmp_path))))

    async def several() -> None:
        await asyncio.gather(*(asked(one) for _ in range(3)))

    asyncio.run(several())
    graded(one)
    assert times == [1]


def test_only_the_modules_that_were_used_last_are_kept_and_none_is_validated_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    validated: list[bytes] = []

    def noted(binary: bytes) -> ModuleInterface:
        validated.append(binary)
        return read_header(binary)

    monkeypatch.setattr(_wgp_wasm, "_MOST_MODULES", 2)
    monkeypatch.setattr(_wgp_wasm, "read_header", noted)
    monkeypatch.setattr(_wgp_wasm, "_compiled", {})
    said = [response(rationale=f"{tmp_path} {number}") for number in range(3)]
    made = [grader(module(tmp_path / f"{n}.wasm", ANSWERS, answer=text)) for n, text in enumerate(said)]
    for number in (0, 1, 0, 2):
        graded(made[number])
    assert list(_wgp_wasm._compiled) == [made[0]._digest, made[2]._digest]
    assert len(validated) == 3


LOCALS = 2_000  # each block keeps all of them


def bomb(path: Path, blocks: int) -> Path:
    """A small module whose compilation needs memory and time in proportion to blocks x locals."""
    body = "".join(
        f"(block (br_if 0 (local.get {n % LOCALS})) (local.set {n % LOCALS} (local.get {n * 7 % LOCALS})))"
        for n in range(blocks)
    )
    return module(path, f"(local {'i32 ' * LOCALS}) {body}")


@pytest.mark.parametrize(("megabytes", "seconds"), [(300, 60), (8192, 1)], ids=["memory", "time"])
def test_a_module_that_takes_too_much_to_compile_is_a_grader_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, megabytes: int, seconds: int
):
    monkeypatch.setattr(_wgp_wasm, "COMPILE_MB", megabytes)
    monkeypatch.setattr(_wgp_wasm, "COMPILE_SECONDS", seconds)
    blocks = 8_000 if seconds > 1 else 40_000  # the latter need far longer than a second
    one = grader(bomb(tmp_path / f"{seconds}.wasm", blocks))  # only the header is read here
    said = error_of(one)
    assert said.startswith("the module cannot be compiled (")
    assert said.endswith(f"); {seconds} s and {megabytes} MB are allowed")


def _no_timers() -> None:
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(5)
            assert not thread.is_alive()
