"""From grader entries to built graders: every grader of every task is built before an agent starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from waza.errors import UsageError
from waza.graders import TYPES
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit import yaml
from waza.kit.decode import Decoder, Document, format_path
from waza.kit.exception_report import describe_exception
from waza.kit.names import did_you_mean, nearest_name
from waza.kit.template import has_references
from waza.model.suite import GraderEntry
from waza.model.verdict import BuiltGrader, GraderSpec
from waza.plugins import list_names as plugin_names
from waza.plugins import load_class as load_plugin
from waza.registry.build import preset_location, read_preset
from waza.registry.cache import ModuleError
from waza.suite.loading import Loading, Scope, Template

REPLACED = {
    "regex": "use type: text with config: {regex_match: [...]}",
    "keyword": "use type: text with config: {contains: [...]}",
    "llm": "use type: prompt",
    "llm_comparison": "use type: prompt with config: {mode: pairwise}",
    "script": "use type: program",
    "human": "a person cannot grade a run: use type: prompt",
    "human_calibration": "a person cannot grade a run: use type: prompt",
}
_WITHOUT_EFFECT = ("script", "rubric", "model", "assertions")


def build_graders(scope: Scope, entries: Sequence[GraderEntry]) -> tuple[BuiltGrader, ...]:
    """Build the graders of the list at a place; mistakes are collected."""
    built = [_build(scope.child(i), entry) for i, entry in enumerate(entries)]
    return tuple(grader for grader in built if grader is not None)


def build_spec(spec: GraderSpec, around: GraderLocation) -> BuiltGrader:
    """Build a grader from a spec that no person wrote, so that it has no mistakes."""
    document = Document("", yaml.load(_to_yaml(spec.config)))
    grader = Decoder(document).read(_load_class(spec.type))
    if grader is None:
        raise ValueError(f"the grader {spec.name} cannot be built")
    return BuiltGrader(spec, grader.resolve_paths(around))


def fill_names(entries: Sequence[GraderEntry], inherited: Iterable[str] = ()) -> list[GraderEntry]:
    """Return grader entries with names for those that have none: the type, numbered from the second on.

    A ref has the name of its preset, which is not known yet.
    """
    taken = {*inherited, *(entry.name for entry in entries if entry.name)}
    found = []
    for entry in entries:
        name, number = entry.name, 1
        if not (name or entry.ref):
            name = entry.type
            while name in taken:
                number += 1
                name = f"{entry.type}_{number}"
            taken.add(name)
        found.append(msgspec.structs.replace(entry, name=name))
    return found


def list_names(loading: Loading, entries: Iterable[GraderEntry]) -> list[str]:
    """Return the names of grader entries; a ref has the one of its preset, unless the entry gives another."""
    return [entry.name or loading.ref_names.get(entry.ref) or entry.type for entry in entries]


def check_names(scope: Scope, entries: Sequence[GraderEntry], inherited: Iterable[str] = ()) -> None:
    """Report graders of a task that have the same name: their results would overwrite each other.

    `inherited` are the names of the suite's graders; a grader of the task replaces one with `override: true`.
    """
    suite = dict.fromkeys(inherited, "a grader of the suite")
    taken = dict(suite)
    for i, name in enumerate(list_names(scope.loading, entries)):
        if entries[i].override:
            if name not in suite:
                message = f"there is no grader {name!r} of the suite to replace"
                hint = did_you_mean(name, suite) if suite else "only graders of a task override"
                scope.child(i, "override").error("unknown-grader", message, hint)
            suite.pop(name, None)
            taken[name] = format_path((*scope.path, i))
        elif name in taken:
            message, hint = f"the name {name!r} is taken by {taken[name]}", "give each grader its own name"
            if name in suite:
                hint += ", or replace the suite's with override: true"
            scope.child(i, "name").error("duplicate-grader", message, hint)
        elif name:
            taken[name] = format_path((*scope.path, i))


@contextmanager
def reported_faults(scope: Scope, kind: str) -> Iterator[None]:
    """Report it at its type if a grader of another package breaks while it is built."""
    try:
        yield
    except Exception as error:
        if kind in TYPES:
            raise
        fault = describe_exception(error).text
        message = f"the grader type {kind!r} broke when its config was checked: {fault}"
        scope.child("type").error("grader-config", message, "mend the package that brings it")


def _build(scope: Scope, entry: GraderEntry) -> BuiltGrader | None:
    if entry.ref:
        return _build_from_ref(scope, entry)
    with reported_faults(scope, entry.type):
        return _build_from_config(scope, entry)
    return None


def _build_from_config(scope: Scope, entry: GraderEntry) -> BuiltGrader | None:
    kind = None if scope.child("type").is_blank else _find_class(scope, entry)
    if kind is None or scope.child("config").is_blank:
        return None
    grader, decoded = _decode(scope, kind)
    _collect_exact_names(scope.child("config"), grader)
    template = has_references(entry.config or {})
    findings = [] if grader is None else [*_check_against_suite(scope.loading, grader)]
    if grader is not None and not template:
        findings = [*grader.check(_location(scope.loading)), *findings]
    whole = not (scope.has_error or decoded.has_error)
    findings = [
        one for one in findings if whole or (one.path and not decoded.child("config", *one.path).has_error)
    ]
    usable = _report(decoded.child("config"), findings) and grader is not None and whole
    _warn_without_effect(scope, entry, warning=usable)
    if grader is None or not usable:
        return None
    if entry.weight <= 0:
        hint = "weights are above 0; leave it out, or remove the grader"
        scope.child("weight").warn("invalid-value", f"{entry.weight:g} counts as 1", hint)
    spec = GraderSpec(
        type=entry.type,
        name=entry.name or entry.type,
        weight=entry.weight if entry.weight > 0 else 1.0,
        config=entry.config or {},
        only_with_skills=entry.only_with_skills,
    )
    around = _location(scope.loading)
    if template:
        built = BuiltGrader(spec, grader)
        scope.loading.templates[id(built)] = Template(built=built, scope=scope, around=around)
        return built  # each task fills it in with its variables, checks it, and resolves its paths
    return BuiltGrader(spec, grader.resolve_paths(around))


def _warn_without_effect(scope: Scope, entry: GraderEntry, *, warning: bool) -> None:
    for key in _WITHOUT_EFFECT:
        if getattr(entry, key):
            hint = "put it under 'config:'"
            scope.child(key).report("no-effect", f"{key!r} has no effect here", hint, warning=warning)


def _build_from_ref(scope: Scope, entry: GraderEntry) -> BuiltGrader | None:
    """Build the grader that a ref names; its mistakes are reported at the ref."""
    node, modules = scope.node, scope.loading.modules()
    if modules is None or not isinstance(node, yaml.Mapping) or scope.child("ref").is_blank:
        return None
    try:
        preset = modules.grader(entry, node)
        grader, findings = read_preset(preset, scope.loading.fixtures)
    except ModuleError as error:
        scope.child("ref").error(error.code, str(error))
        return None
    if not entry.name:
        scope.loading.ref_names[entry.ref] = preset.name
    _collect_exact_names(scope.child("ref"), grader)
    findings += _check_against_suite(scope.loading, grader)
    for finding in findings:
        message = f"{format_path(('config', *finding.path))}: {finding.message}"
        scope.child("ref").report(finding.code, message, finding.hint, warning=finding.warning)
    usable = all(finding.warning for finding in findings)
    _warn_without_effect(scope, entry, warning=usable)
    if grader is None or not usable:
        return None
    spec = GraderSpec(
        type=preset.type,
        name=preset.name,
        weight=preset.weight if preset.weight > 0 else 1.0,
        config=yaml.to_plain(preset.config),  # type: ignore[arg-type]  # a mapping is a dict
        module=preset.digest,
        only_with_skills=entry.only_with_skills,
    )
    return BuiltGrader(
        spec, grader.resolve_paths(preset_location(preset, scope.loading.fixtures)), preset.module
    )


def _find_class(scope: Scope, entry: GraderEntry) -> type[Grader] | None:
    if not entry.type:
        scope.error(
            "missing-key", "the grader has no 'type'", f"types: {', '.join(plugin_names('waza.graders'))}"
        )
        return None
    try:
        kind = load_plugin("waza.graders", entry.type)
    except UsageError as error:
        scope.child("type").error("unknown-grader", str(error))
        return None
    if kind is None:
        known = plugin_names("waza.graders")
        meant = nearest_name(entry.type, known)
        hint = (
            REPLACED.get(entry.type)
            or (f"did you mean {meant!r}? " if meant else "") + f"types: {', '.join(known)}"
        )
        scope.child("type").error("unknown-grader", f"there is no grader type {entry.type!r}", hint)
        return None
    return kind  # type: ignore[no-any-return]  # plugins are typed by their group


def _load_class(name: str) -> type[Grader]:
    return load_plugin("waza.graders", name)  # type: ignore[return-value]  # a name of our own table


def _decode(scope: Scope, kind: type[Grader]) -> tuple[Grader | None, Scope]:
    """Return what can be read of a grader, and its place in the document with the faults of its config."""
    node = scope.child("config").node
    if node is None or (isinstance(node, yaml.Scalar) and node.value is None):
        place = scope.node or scope.document.root
        node = yaml.Mapping({}, {}, place.line, place.column)
    decoder = Decoder(scope.document, scope.loading.keys.of(scope.document, type(scope.loading.file)))
    grader, document = decoder.read_partial(kind, node, (*scope.path, "config"))
    scope.loading.problems.extend(decoder.problems)
    return grader, Scope(scope.loading, document, scope.path)


def _report(config: Scope, findings: Sequence[ConfigMistake]) -> bool:
    """Report the mistakes in a grader's config; return whether it can be used."""
    for finding in findings:
        config.child(*finding.path).report(
            finding.code, finding.message, finding.hint, warning=finding.warning
        )
    return all(finding.warning for finding in findings)


def _check_against_suite(loading: Loading, grader: Grader | None) -> Iterator[ConfigMistake]:
    """Yield what of a grader does not fit the rest of the suite."""
    for capability, key in grader.required_capabilities().items() if isinstance(grader, Grader) else ():
        if lack := loading.lack(capability, "another grader"):
            yield msgspec.structs.replace(lack, path=(key,) if key else ())
    if getattr(grader, "mode", "") == "pairwise" and not loading.file.baseline:
        yield ConfigMistake(
            path=("mode",),
            message="pairwise graders compare with a run without skills; without --baseline they judge the output alone",
            warning=True,
        )
    elif getattr(grader, "mode", "") == "pairwise" and loading.file.config.stop_when:
        yield ConfigMistake(
            path=("mode",),
            message="pairwise graders compare trials of both arms by their number, but with stop_when each arm has as many as it needs",
            hint="leave config.stop_when out, or run with --trials",
        )


def _collect_exact_names(scope: Scope, grader: Grader | None) -> None:
    """Note the names that a grader compares letter by letter; those of a ref are placed at the ref."""
    for name in grader.exact_names() if isinstance(grader, Grader) else ():
        place = scope if scope.path[-1] == "ref" else scope.child(*name.path)
        place.compare_exactly(name)


def _location(loading: Loading) -> GraderLocation:
    judge = loading.capabilities.judge
    return GraderLocation(base=loading.directory, fixtures=loading.fixtures, judge=judge)


def _to_yaml(config: dict[str, Any]) -> bytes:
    return msgspec.json.encode(config)  # JSON is YAML
