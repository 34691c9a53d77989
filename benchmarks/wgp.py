"""What a grading by WGP/1 costs: one grader as a WASM module and as a program, and both against bare calls.

Prints milliseconds a grading, and ratios, which mean the same on any machine. Run it by `make bench`, or with the
number of WASM gradings as the argument.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from wasmtime import Caller, Engine, Func, FuncType, Instance, Module, Store, ValType

from waza.graders.base import GraderLocation
from waza.graders.wgp import Wgp
from waza.model.observation import Observation
from waza.model.verdict import Helpers
from waza.model.wgp import encode_request

DATA = Path(__file__).parent.parent / "tests" / "data" / "wgp"
SEEN = Observation(task_id="t", prompt="Name the capital of Peru", output="It is Lima. " * 3)
I32 = ValType.i32()


def main() -> None:
    """Measure and print."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "brief.py"
        source = (DATA / "brief.py").read_text(encoding="utf-8").partition("\n")[2]
        program.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
        program.chmod(0o755)
        figures = {
            "wasm": graded(Wgp(runtime="wasm", artifact=str(DATA / "brief.wasm")), times),
            "wasm, bare instance": measured(bare_module(), times),
            "program": graded(Wgp(runtime="program", artifact=str(program)), max(1, times // 20)),
            "program, bare call": measured(lambda: bare_call(program), max(1, times // 20)),
        }
    for what, seconds in figures.items():
        print(f"{what:20} {seconds * 1000:8.3f} ms")
    wasm, bare_wasm, whole, bare = figures.values()
    print(f"wasm to its bare instance {wasm / bare_wasm:.2f}; program to its bare call {whole / bare:.2f}")
    print(f"program to wasm {whole / wasm:.1f}")


def graded(grader: Wgp, times: int) -> float:
    """Return the seconds that a grading takes, the first one aside."""
    placed = grader.resolve_paths(GraderLocation())

    async def run() -> float:
        if not (await placed.grade(SEEN, Helpers())).passed:
            raise SystemExit("the grader does not pass what it should")
        started = time.perf_counter()
        for _ in range(times):
            await placed.grade(SEEN, Helpers())
        return (time.perf_counter() - started) / times

    return asyncio.run(run())


def measured(call: Callable[[], object], times: int) -> float:
    """Return the seconds that a call takes, the first one aside."""
    call()
    started = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - started) / times


def bare_call(program: Path) -> None:
    """Run the program as anybody would, without limits or care for what it leaves behind."""
    subprocess.run([program], input=encode_request(SEEN, {}), capture_output=True, check=True)


def bare_module() -> Callable[[], None]:
    """Return a grading in an instance without limits, thread, checks or log."""
    engine = Engine()
    module = Module(engine, (DATA / "brief.wasm").read_bytes())

    def call() -> None:
        rest, results = [encode_request(SEEN, {})], []

        def read(caller: Caller, pointer: int, _length: int) -> int:
            part = rest.pop() if rest else b""
            if part:
                caller["memory"].write(caller, part, pointer)
            return len(part)

        def write(caller: Caller, pointer: int, length: int) -> None:
            results.append(caller["memory"].read(caller, pointer, pointer + length))

        store = Store(engine)
        shapes = [(read, [I32]), (write, []), (lambda *_: None, [])]
        functions = [
            Func(store, FuncType([I32, I32], result), function, access_caller=True)
            for function, result in shapes
        ]
        Instance(store, module, functions).exports(store)["grade"](store)
        if not results:
            raise SystemExit("the module wrote no result")

    return call


if __name__ == "__main__":
    main()
