"""`json_schema`: whether the final output is JSON that fits a schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import GraderError
from waza.graders._schema_validators import Validators, is_cheap
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit.schema import Schema, compile_schema, extract_json, referenced_files, strict_json
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


class JsonSchema(Grader, frozen=True, kw_only=True):
    """The output is JSON that fits a schema.

    Score 1 or 0.
    """

    schema: dict[str, Any] | None = None
    """The JSON Schema."""
    schema_file: str = ""
    """A file with the JSON Schema, beside the suite or in the current directory. `schema` wins."""
    extract_json: bool = False
    """Accept other text around exactly one JSON object or array."""

    _text: str = ""  # the schema as it was read when the suite was loaded
    _file: Path | None = None  # where relative references in it start from
    _referenced: tuple[str, ...] = ()  # the files that references in it lead to
    _root: Path | None = None  # the module that no reference may leave

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse a schema that is missing, cannot be read or does not compile."""
        if self.schema is None and not self.schema_file:
            yield ConfigMistake(message="checks nothing", hint="set schema or schema_file")
            return
        if self.schema is not None and self.schema_file:
            yield ConfigMistake(
                path=("schema_file",), message="is not used, because schema is given", warning=True
            )
        try:
            compile_text(*self._source(location), location.module)
        except ValueError as error:
            key = "schema_file" if self.schema is None else "schema"
            yield ConfigMistake(path=(key,), message=str(error))

    def resolve_paths(self, location: GraderLocation) -> JsonSchema:
        """Return the grader with its schema read, so that a run cannot change it."""
        text, file = self._source(location)
        referenced = tuple(map(str, referenced_files(text, file))) if file else ()
        return msgspec.structs.replace(
            self, _text=text, _file=file, _referenced=referenced, _root=location.module
        )

    async def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Read the output as JSON, then hold it against the schema."""
        try:
            value = self._value(observation.output)
        except ValueError as error:
            return Verdict.failed(f"the output is not JSON: {error}", error=str(error))
        try:
            text, file = (self._text, self._file) if self._text else self._source(GraderLocation())
            if is_cheap(text, observation.output):
                errors = compile_text(text, file, self._root).errors(value)
            else:
                children = helpers.shared.get(Validators)
                errors = await children.errors(text, file, self._root, value, helpers.code_timeout)
        except ValueError as error:
            raise GraderError(str(error)) from error
        if errors:
            failure = f"the output does not fit the schema: {'; '.join(errors)}"
            return Verdict.failed(failure, failures=[failure])
        return Verdict(score=1.0, passed=True, feedback="the output fits the schema")

    def _value(self, output: str) -> object:
        try:
            return strict_json(output)
        except ValueError:
            if not self.extract_json:
                raise
        return extract_json(output)

    def _source(self, location: GraderLocation) -> tuple[str, Path | None]:
        """Return the schema as text, and the file that relative references start from."""
        if self.schema is not None:
            return json.dumps(self.schema), location.base / "schema"
        try:
            file = location.find(self.schema_file)
            if file is None:
                raise ValueError(f"{self.schema_file!r} is not there; it is sought {_PLACES}")
            return file.read_text(encoding="utf-8-sig"), file.absolute()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self.schema_file!r} is not UTF-8 text: byte {error.start} does not fit"
            ) from error
        except OSError as error:
            raise ValueError(f"{self.schema_file!r} cannot be read: {error.strerror}") from error


_PLACES = "beside the suite, then in the current directory"


def compile_inline(schema: dict[str, Any]) -> Schema:
    """Return a schema compiled; equal ones are compiled once. Raises ValueError with a sentence."""
    return compile_text(json.dumps(schema), None, None)


@lru_cache(maxsize=256)
def compile_text(text: str, file: Path | None, root: Path | None) -> Schema:
    """Return a schema compiled that was read from `file` of the module at `root`. Raises ValueError with a sentence."""
    try:
        schema = strict_json(text)
    except ValueError as error:
        raise ValueError(f"the schema is not JSON: {error}") from error
    return compile_schema(schema, file=file, root=root)
