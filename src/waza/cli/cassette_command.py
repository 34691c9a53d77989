"""What `waza cassette` does with its options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from waza.cli.open_project import open_project
from waza.cli.streams import print_json, print_line, print_notice
from waza.engine.cassettes import CASSETTES, find_cassette_directory
from waza.errors import EXIT_OK, UsageError, WazaError
from waza.kit.text import describe_size, pluralize
from waza.problem import display_path
from waza.report.words import one_line
from waza.results.invocation_lines import RUNS
from waza.wire.cassette import SUFFIX, Cassette, RecordedExchange, find_cassettes, read_cassette
from waza.wire.read_answer import read_answer
from waza.wire.routes import api_named

_SHOWN = 300  # characters of an answer


class ListedCassette(msgspec.Struct, frozen=True, kw_only=True):
    """A cassette of `waza cassette list --json`."""

    path: str
    run: str
    suite: str
    executor: str
    model: str
    arm: str
    task: str
    trial: int
    session: int
    requests: int
    agents: list[str]
    bytes: int
    complete: bool


def list_cassettes(place: str, *, as_json: bool) -> int:
    """Print the cassettes of a directory or run, or of all runs; return the exit code."""
    found = [(path, read_cassette(path)) for path in _paths(place)]
    listed = [_listed(path, cassette) for path, cassette in found]
    if as_json:
        print_json(listed)
        return EXIT_OK
    if not listed:
        print_line("There are no cassettes; record some: waza run --wire record")
    for directory in dict.fromkeys(path.parent for path, _ in found):
        print_line(display_path(directory))
        for path, cassette in found:
            if path.parent == directory:
                print_line(f"  {_describe(path, cassette)}")
    return EXIT_OK


def show_cassettes(place: str, task: str, *, as_json: bool) -> int:
    """Print the requests of cassettes; return the exit code. Raises UsageError for a task that has none."""
    file = Path(place)
    paths = [file] if file.is_file() else list(_paths(place))
    found = [(path, read_cassette(path)) for path in paths]
    found = [(path, one) for path, one in found if not task or one.header.place.task == task]
    if not found:
        raise UsageError(
            f"{place} has no cassette{f' of the task {task}' if task else ''}; see waza cassette list"
        )
    if as_json:
        print_json([{"path": display_path(path), "cassette": cassette} for path, cassette in found])
        return EXIT_OK
    for path, cassette in found:
        print_line("\n".join([_describe(path, cassette), *_lines(cassette), ""]))
    return EXIT_OK


def prune_cassettes(keep: int) -> int:
    """Remove the cassettes of all runs but the newest that have any; return the exit code."""
    from waza.kit.tempdirs import remove_tree

    kept = sorted(_runs(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for directory in kept[keep:]:
        size = sum(path.stat().st_size for path in find_cassettes(directory))
        remove_tree(directory)
        if directory.exists():
            raise WazaError(f"{display_path(directory)} cannot be removed")
        print_line(f"Removed {display_path(directory)} ({describe_size(size)})")
    if not kept[keep:]:
        print_notice(f"nothing to remove: {pluralize(len(kept), 'run')} with cassettes")
    return EXIT_OK


def _runs() -> Iterator[Path]:
    """Yield the directories of cassettes of the runs of this project."""
    runs = open_project().directory / RUNS
    if runs.is_dir():
        yield from (path for path in runs.glob(f"*/{CASSETTES}") if path.is_dir() and not path.is_symlink())


def _paths(place: str) -> Iterator[Path]:
    if place:
        directory = find_cassette_directory(place, Path.cwd(), open_project().directory / RUNS)
        yield from find_cassettes(directory)
        return
    for directory in sorted(_runs()):
        yield from find_cassettes(directory)


def _listed(path: Path, cassette: Cassette) -> ListedCassette:
    header, place = cassette.header, cassette.header.place
    return ListedCassette(
        path=display_path(path),
        run=header.run,
        suite=header.suite,
        executor=header.executor,
        model=header.model,
        arm=place.arm,
        task=place.task,
        trial=place.trial,
        session=place.session,
        requests=len(cassette.exchanges),
        agents=_agents(cassette.exchanges),
        bytes=path.stat().st_size,
        complete=not cassette.cut,
    )


def _agents(exchanges: Sequence[RecordedExchange]) -> list[str]:
    return list(dict.fromkeys(one.agent for one in exchanges if one.agent))


def _describe(path: Path, cassette: Cassette) -> str:
    header = cassette.header
    model = f" on {header.model}" if header.model else ""
    cut = ", its end is missing" if cassette.cut else ""
    size = describe_size(path.stat().st_size)
    what = f"{pluralize(len(cassette.exchanges), 'request')}, {size}{cut}"
    by = "".join(f", {name}" for name in _agents(cassette.exchanges))
    name = path.name.removesuffix(SUFFIX)
    return one_line(f"{header.place}: {what}; {header.suite}, {header.executor}{model}{by} ({name})")


def _lines(cassette: Cassette) -> Iterator[str]:
    for one in cassette.exchanges:
        status = f"status {one.status}" if one.status else "no answer"
        note = f", {one.note}" if one.note else ""
        size = describe_size(len(msgspec.json.encode(one.request)))
        yield one_line(f"  {one.number}. {one.api}, {size}: {status}, {one.ending}{note}")
        yield one_line(f"     {_answer(one)}")


def _answer(one: RecordedExchange) -> str:
    if one.withheld:
        return f"withheld: {one.withheld}"
    api = api_named(one.api)
    reply = read_answer(api, one.body) if api and one.body else None
    if reply is None:
        return one.answer[:_SHOWN]
    calls = [f"{call.name}({msgspec.json.encode(call.args).decode()})" for call in reply.calls]
    text = " ".join(filter(None, [reply.text, *calls, reply.refusal, reply.error]))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
