"""WGP/1 by a thin host interface: the grader is a WASM module, run in a sandbox. The one home of wasmtime.

A module may import three functions of `waza_host` (or `env`), and nothing else:

* `waza_host_read_input(ptr, len) -> n` copies up to `len` bytes of the rest of the request; 0 at its end.
* `waza_host_write_result(ptr, len)` takes the response, once.
* `waza_host_log(ptr, len)` takes text for the log, of which the first 64 KiB are kept.

It exports its `memory` and an entry point without parameters, whose result, if any, is an i32: 0 is well.
There is no WASI, no file, no clock and no network, and every grading has an instance of its own.

A small module can need any memory and time to be compiled, so that happens in a child process, when it is first
asked; before, only its header is read (`_wgp_module`).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import threading
from functools import lru_cache, partial
from pathlib import Path
from typing import cast
from weakref import WeakValueDictionary

import msgspec
from wasmtime import (
    Caller,
    Config,
    Engine,
    Func,
    FuncType,
    Instance,
    Memory,
    Module,
    Store,
    Trap,
    ValType,
    WasmtimeError,
)

from waza.errors import GraderError, is_outside
from waza.graders._wgp_module import ModuleImport, Signature, read_header
from waza.kit import process
from waza.model.wgp import MAX_LOG, MAX_RESPONSE, GraderReply

_MODULES = ("waza_host", "env")
_READ, _WRITE, _LOG = "waza_host_read_input", "waza_host_write_result", "waza_host_log"
_PARAMS = ("i32", "i32")  # of all of them
_RESULTS: dict[str, tuple[str, ...]] = {_READ: ("i32",), _WRITE: (), _LOG: ()}
_TABLE_ELEMENTS = 100_000  # 8 bytes each
# wasmtime before 46 keeps the host functions of all threads in one list and guards it by nothing.
_functions = threading.Lock()

COMPILE_MB = 2048  # of address space
COMPILE_SECONDS = 30  # of computing, and on the clock
_INVALID = 3  # exit status of the child
_MOST_CODE = 256 * 1024 * 1024  # bytes
_COMPILER = (sys.executable, "-I", "-c", "from waza.graders._wgp_wasm import compile_stdin; compile_stdin()")

_MOST_MODULES = 16  # that are kept compiled
# Machine code, or why there is none, by the module's digest; the one that was used last stands last.
_compiled: dict[str, bytes | ValueError] = {}
_compiling: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


class ModuleNeeds(msgspec.Struct, frozen=True):
    """What a module needs and offers: the host functions that it imports, in order, and its possible entry points."""

    imports: tuple[str, ...]
    entrypoints: tuple[str, ...]


def digest_module(artifact: Path) -> str:
    """Return the SHA-256 of a module's file, as hex. Raises OSError."""
    return hashlib.sha256(artifact.read_bytes()).hexdigest()


@lru_cache(maxsize=_MOST_MODULES)
def inspect_module(binary: bytes) -> ModuleNeeds:
    """Read what a module imports and exports, without compiling it.

    Raises ValueError if it is not a module, or imports or lacks what it must not.
    """
    try:
        Module.validate(Engine(_config()), binary)
    except WasmtimeError as error:
        raise ValueError(f"the module cannot be compiled: {_reason(error)}") from None
    header = read_header(binary)
    if not header.memory:
        raise ValueError("the module does not export its memory under the name 'memory'")
    return ModuleNeeds(
        imports=tuple(map(_host_function, header.imports)),
        entrypoints=tuple(
            name
            for name, kind in header.functions.items()
            if kind in (Signature((), ()), Signature((), ("i32",)))
        ),
    )


def read_artifact(artifact: Path, digest: str) -> bytes:
    """Return a module as it was when the suite was loaded. Raises OSError, and ValueError if it was changed."""
    binary = artifact.read_bytes()
    if hashlib.sha256(binary).hexdigest() != digest:
        raise ValueError(f"{artifact} was changed after the suite was loaded")
    return binary


async def compile_module(binary: bytes, digest: str) -> bytes:
    """Return a module compiled, in a child; the last ones that were used are kept. Raises ValueError.

    (Not kept on disk: machine code is not verified, so a user who can write the file could leave
    the sandbox.)
    """
    key = (id(asyncio.get_running_loop()), digest)
    async with _compiling.setdefault(key, asyncio.Lock()):
        found = _compiled.pop(digest, None) or await _compile(binary)
        _compiled[digest] = found
        while len(_compiled) > _MOST_MODULES:
            _compiled.pop(next(iter(_compiled)), None)
    if isinstance(found, ValueError):
        raise found
    return found


async def _compile(binary: bytes) -> bytes | ValueError:
    argv = [*_COMPILER, str(COMPILE_MB), str(COMPILE_SECONDS)]
    done = await process.run(argv, stdin=binary, timeout=COMPILE_SECONDS, max_output=_MOST_CODE)
    if done.ok and not done.truncated:
        return done.stdout
    if is_outside(done.cause):  # another time it may work
        raise GraderError(f"the module cannot be compiled: {done.start_error}") from done.cause
    if done.returncode == _INVALID:
        return ValueError(f"the module cannot be compiled: {done.stderr.decode('utf-8', 'replace').strip()}")
    limits = f"{COMPILE_SECONDS} s and {COMPILE_MB} MB are allowed"
    return ValueError(f"the module cannot be compiled ({done.outcome}); {limits}")


def compile_stdin() -> None:
    """Write the machine code of the module at stdin to stdout, within limits: the work of the child."""
    megabytes, seconds = map(int, sys.argv[1:])
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        code = bytes(Module(Engine(_config()), sys.stdin.buffer.read()).serialize())
    except WasmtimeError as error:
        os.write(2, _reason(error).encode())
        os._exit(_INVALID)
    with open(1, "wb") as parent:
        parent.write(code)


async def ask(
    artifact: Path, digest: str, entrypoint: str, request: bytes, *, limit: int, memory_mb: int
) -> GraderReply:
    """Run the module in a file in a thread, in a fresh instance, at most `limit` seconds.

    A module cannot wait for anything, so that seconds on the clock also bound its CPU time. `memory_mb`
    bounds its memory: growing beyond is refused to it. A cancelled grading stops at once. Raises OSError
    and ValueError: the file cannot be read, was changed, or cannot be compiled.
    """
    binary = read_artifact(artifact, digest)
    imports = inspect_module(binary).imports
    code = await compile_module(binary, digest)
    host = _Host(request, memory_mb)
    try:
        return await asyncio.to_thread(_run, host, code, imports, entrypoint, limit)
    finally:
        host.stop("cancelled")


class _Host:
    """One grading: the state behind the host functions, and the engine that they can stop.

    Each grading has an engine of its own, because stopping works by engine. Host functions never raise:
    the binding keeps an exception in a variable of the whole process until some thread comes to fetch it.
    """

    def __init__(self, request: bytes, memory_mb: int) -> None:
        self.rest = memoryview(request)
        self.result: bytes | None = None
        self.log = bytearray()
        self.fault = ""
        self._engine = Engine(_config())
        self.store = Store(self._engine)
        self.store.set_epoch_deadline(1)
        self.store.set_limits(
            memory_size=memory_mb << 20, table_elements=_TABLE_ELEMENTS, instances=1, tables=16, memories=1
        )

    def stop(self, reason: str) -> None:
        """Stop the module at its next step; the first reason counts. Any thread may call it."""
        self.fault = self.fault or reason
        self._engine.increment_epoch()

    def answer(self, fault: str = "") -> GraderReply:
        """Return what came of it so far."""
        log = self.log.decode("utf-8", "replace").strip()
        return GraderReply(data=self.result or b"", log=log, fault=self.fault or fault)

    def instance(self, code: bytes, wanted: tuple[str, ...]) -> Instance:
        """Make an instance; its start function runs."""
        functions = {_READ: self._read_input, _WRITE: self._write_result, _LOG: self._log}
        i32 = ValType.i32()
        with _functions:
            imports = [
                Func(
                    self.store,
                    FuncType([i32, i32], [i32 for _ in _RESULTS[name]]),
                    functions[name],
                    access_caller=True,
                )
                for name in wanted
            ]
        return Instance(self.store, Module.deserialize(self._engine, code), imports)

    def close(self) -> None:
        """Free the memory."""
        with _functions:
            self.store.close()

    def _read_input(self, caller: Caller, pointer: int, length: int) -> int:
        memory, start, end = self._range(caller, pointer, length, _READ)
        part = self.rest[: end - start]
        if part:
            memory.write(caller, bytes(part), start)
        self.rest = self.rest[len(part) :]
        return len(part)

    def _write_result(self, caller: Caller, pointer: int, length: int) -> None:
        memory, start, end = self._range(caller, pointer, length, _WRITE)
        if self.result is not None:
            self.stop("the module wrote a second result")
        elif end - start > MAX_RESPONSE:
            self.stop(f"the module wrote a result larger than {MAX_RESPONSE:,} bytes")
        else:
            self.result = bytes(memory.read(caller, start, end))

    def _log(self, caller: Caller, pointer: int, length: int) -> None:
        memory, start, end = self._range(caller, pointer, length, _LOG)
        self.log += memory.read(caller, start, min(end, start + MAX_LOG - len(self.log)))

    def _range(self, caller: Caller, pointer: int, length: int, name: str) -> tuple[Memory, int, int]:
        """Return the memory and the range that a module means; an empty one if it is not all inside."""
        memory = cast("Memory", caller["memory"])  # `inspect_module` made sure of it
        start = pointer & 0xFFFFFFFF  # i32 comes signed
        end = start + (length & 0xFFFFFFFF)
        if end > memory.data_len(caller):
            self.stop(f"the module called {name} with a range outside of its memory")
            return memory, 0, 0
        return memory, start, end


def _run(host: _Host, code: bytes, imports: tuple[str, ...], entrypoint: str, limit: int) -> GraderReply:
    """Run the module to its end in this thread."""
    timer = threading.Timer(limit, partial(host.stop, f"the time limit of {limit} s was reached"))
    timer.daemon = True
    timer.start()
    try:
        function = cast("Func", host.instance(code, imports).exports(host.store)[entrypoint])
        status = function(host.store)
    except Trap as trap:
        return host.answer(f"the module trapped: {_trap(trap)}")
    except WasmtimeError as error:
        return host.answer(f"the module cannot be run: {_reason(error)}")
    finally:
        timer.cancel()
        host.close()
    if status:
        return host.answer(f"{entrypoint} returned {status}, which means that it went wrong")
    return host.answer("" if host.result is not None else "the module wrote no result")


def _config() -> Config:
    config = Config()
    config.epoch_interruption = True
    config.wasm_threads = False  # a thread that waits for a signal cannot be interrupted
    config.shared_memory = False
    return config


def _host_function(imported: ModuleImport) -> str:
    """Return the name of a host function that a module imports. Raises ValueError if there is no such function."""
    name = imported.name
    if imported.module not in _MODULES or name not in _RESULTS:
        known = ", ".join(_RESULTS)
        raise ValueError(
            f"the module imports {imported.module}.{name}; a grader gets {known} and nothing else"
        )
    if imported.signature != Signature(_PARAMS, _RESULTS[name]):
        result = " -> i32" if _RESULTS[name] else ""
        raise ValueError(f"the module imports {name} as something else than (i32, i32){result}")
    return name


def _trap(trap: Trap) -> str:
    code = trap.trap_code
    return code.name.lower().replace("_", " ") if code else _reason(trap)


def _reason(error: Exception) -> str:
    """Return the cause that an error of wasmtime names, without the traces around it."""
    text = str(error).partition("\n\nStack backtrace")[0]
    return " ".join((text.partition("Caused by:")[2] or text).split())
