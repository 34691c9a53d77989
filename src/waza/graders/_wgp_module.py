"""The imports and exports of a WASM module, read from its first sections without compiling it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

MAGIC = b"\0asm"
_HEADER = MAGIC + b"\1\0\0\0"
_TYPES, _IMPORTS, _FUNCTIONS, _EXPORTS = 1, 2, 3, 7  # ids of sections
_FUNCTION, _TABLE, _MEMORY, _GLOBAL = range(4)  # kinds of imports and exports
_VALUES = {
    0x7F: "i32",
    0x7E: "i64",
    0x7D: "f32",
    0x7C: "f64",
    0x7B: "v128",
    0x70: "funcref",
    0x6F: "externref",
}
_FUNCTION_TYPE = 0x60

T = TypeVar("T")


class Signature(msgspec.Struct, frozen=True):
    """The types of the parameters and results of a function."""

    params: tuple[str, ...]
    results: tuple[str, ...]


class ModuleImport(msgspec.Struct, frozen=True):
    """Something that a module wants; `signature` is None for what is no function."""

    module: str
    name: str
    signature: Signature | None


class ModuleInterface(msgspec.Struct, frozen=True):
    """What a module imports, in order, the functions that it exports, and whether it exports `memory`."""

    imports: tuple[ModuleImport, ...]
    functions: dict[str, Signature]
    memory: bool


def read_header(data: bytes) -> ModuleInterface:
    """Read the imports and exports of a module. Raises ValueError if it is not a module."""
    if not data.startswith(_HEADER):
        raise ValueError("the file is not a WASM module of version 1")
    try:
        return _header(_sections(_Bytes(data, len(_HEADER))))
    except (IndexError, KeyError, UnicodeDecodeError):
        raise ValueError("the module uses types that no grader needs") from None


def _sections(data: _Bytes) -> dict[int, _Bytes]:
    sections: dict[int, _Bytes] = {}
    while data.left:
        kind, size = data.byte(), data.number()
        if data.left < size:
            raise IndexError
        sections.setdefault(kind, _Bytes(data.take(size), 0))
    return sections


def _header(sections: dict[int, _Bytes]) -> ModuleInterface:
    def items(kind: int, item: Callable[[_Bytes], T]) -> list[T]:
        return sections[kind].vector(item) if kind in sections else []

    types = items(_TYPES, _signature)
    imports = items(_IMPORTS, lambda data: _read_import(data, types))
    own = items(_FUNCTIONS, lambda data: types[data.number()])
    functions = [*(one.signature for one in imports if one.signature), *own]
    exports = items(_EXPORTS, lambda data: (data.text(), data.byte(), data.number()))
    return ModuleInterface(
        imports=tuple(imports),
        functions={name: functions[index] for name, kind, index in exports if kind == _FUNCTION},
        memory=any(name == "memory" and kind == _MEMORY for name, kind, _ in exports),
    )


def _signature(data: _Bytes) -> Signature:
    if data.byte() != _FUNCTION_TYPE:
        raise KeyError
    params, results = (tuple(data.vector(_value)) for _ in range(2))
    return Signature(params, results)


def _value(data: _Bytes) -> str:
    return _VALUES[data.byte()]


def _read_import(data: _Bytes, types: list[Signature]) -> ModuleImport:
    module, name, kind = data.text(), data.text(), data.byte()
    if kind == _FUNCTION:
        return ModuleImport(module, name, types[data.number()])
    if kind == _GLOBAL:
        data.take(2)
    else:
        if kind == _TABLE:
            data.byte()
        flags = data.byte()
        for _ in range(2 if flags & 1 else 1):
            data.number()
    return ModuleImport(module, name, None)


class _Bytes:
    """Bytes that are read from front to back; IndexError at their end."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise IndexError
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self) -> int:
        """Read an unsigned number in LEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise IndexError

    def text(self) -> str:
        return self.take(self.number()).decode()

    def vector(self, item: Callable[[_Bytes], T]) -> list[T]:
        """Read a count and as many items; each takes a byte at least, so that a lying count ends soon."""
        return [item(self) for _ in range(self.number())]
