"""Advice on what a skill says: whether it can do harm, is too large, or fits one machine only. It never keeps one from being ready."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from waza.author.check.compliance import list_triggers
from waza.author.check.finding import Finding
from waza.author.check.report import CheckStatus, NamedCheck
from waza.author.check.source import Source
from waza.kit.text import pluralize
from waza.problem import Code

_MOST_MODULES = 3
_MOST_TOKENS = 500  # of a skill that is not yet comprehensive
_DETAILED = 200  # tokens
_MOST_ORDERS = 5  # words such as "never"
_FEWEST_CAPABILITIES = 2

_CONFLICTS = re.compile(
    r"\b(?:but alternatively|or alternatively|alternatively,? you (?:can|could|may)|or instead,? you (?:can|could|may)"
    r"|on the other hand,? you (?:can|could|may))\b",
    re.IGNORECASE,
)
_FIRST_STEP = re.compile(r"^[ \t>*#-]*step 1\**\s*:", re.IGNORECASE | re.MULTILINE)
_ORDERS = re.compile(r"\b(?:must not|never|always|forbidden|prohibited)\b", re.IGNORECASE)
_VERBS = frozenset(
    [
        "add",
        "analyze",
        "analyse",
        "answer",
        "assess",
        "audit",
        "build",
        "calculate",
        "change",
        "check",
        "classify",
        "clean",
        "collect",
        "compare",
        "compile",
        "compute",
        "configure",
        "convert",
        "create",
        "debug",
        "deploy",
        "describe",
        "design",
        "detect",
        "diagnose",
        "document",
        "draft",
        "edit",
        "evaluate",
        "execute",
        "explain",
        "export",
        "extract",
        "fetch",
        "fill",
        "find",
        "fix",
        "format",
        "generate",
        "guide",
        "help",
        "identify",
        "implement",
        "import",
        "improve",
        "inspect",
        "install",
        "list",
        "manage",
        "merge",
        "migrate",
        "monitor",
        "move",
        "optimize",
        "organize",
        "parse",
        "perform",
        "plan",
        "prepare",
        "process",
        "produce",
        "publish",
        "query",
        "read",
        "refactor",
        "remove",
        "rename",
        "report",
        "resolve",
        "review",
        "rewrite",
        "run",
        "scaffold",
        "scan",
        "search",
        "send",
        "set",
        "show",
        "sort",
        "split",
        "summarize",
        "summarise",
        "test",
        "track",
        "transform",
        "translate",
        "troubleshoot",
        "turn",
        "update",
        "upgrade",
        "upload",
        "validate",
        "verify",
        "walk",
        "write",
    ]
)
_PROCEDURES = frozenset(
    ["guide", "how", "procedure", "process", "recipe", "step", "steps", "tutorial", "walkthrough", "workflow"]
)

# Hosts whose addresses are documentation, and names that stand for any host.
_DOCUMENTATION = re.compile(
    r"(?:^|\.)(?:docs?|learn|developer|developers|help|support|wiki)\.|(?:^|\.)(?:example\.(?:com|org|net)|github\.com|"
    r"wikipedia\.org|readthedocs\.io|json-schema\.org|agentskills\.io|w3\.org|ietf\.org|mozilla\.org|microsoft\.com)$",
    re.IGNORECASE,
)
_SPECIFIC = (
    ("the address of a page", re.compile(r"https?://[^\s<>()\"'`\]]+/[^\s<>()\"'`\]]+")),
    (
        "an absolute path",
        re.compile(
            r"(?<![\w/.:~$}>)\]-])/(?:home|Users|usr|opt|var|etc|tmp|mnt|srv|root|data)/[\w.@+-][\w./@+-]*"
        ),
    ),
    ("an absolute path", re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:\\[\w.$ -]+(?:\\[\w.$ -]+)*")),
    (
        "an IP address",
        re.compile(
            r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.]*\d)"
        ),
    ),
    ("a port", re.compile(r"(?<=[A-Za-z\d\]])(?<!\d):\d{4,5}\b(?!:)")),
)


class Advice(msgspec.Struct, frozen=True):
    """The outcome of an advisory check, and what it found."""

    check: NamedCheck
    findings: tuple[Finding, ...] = ()


def advise(source: Source, tokens: int) -> Iterator[Advice]:
    """Yield the outcome of every advisory check of a skill of so many tokens."""
    modules = count_modules(source.path.parent)
    yield _count(source, modules)
    yield _complexity(source, tokens, modules)
    yield _risk(source)
    yield _procedure(source)
    yield _specificity(source)
    yield _scope(source)


def count_modules(directory: Path) -> int:
    """Return how many Markdown files a skill has below `references`."""
    return sum(path.suffix.lower() in (".md", ".mdx") for path in (directory / "references").rglob("*"))


def _outcome(code: Code, summary: str, findings: tuple[Finding, ...], status: CheckStatus = "ok") -> Advice:
    evidence = "; ".join(one.message for one in findings)
    check = NamedCheck(code, not findings, summary, "warning" if findings else status, evidence)
    return Advice(check, findings)


def _warning(
    source: Source, code: Code, message: str, remedy: str, place: tuple[int, int] = (1, 1)
) -> Finding:
    return source.finding(code, "warning", message, remedy, place)


def _count(source: Source, modules: int) -> Advice:
    findings: tuple[Finding, ...] = ()
    if modules > _MOST_MODULES:
        message = f"{modules} files below references; agents seldom read more than {_MOST_MODULES}"
        findings = (
            _warning(source, "module-count", message, "merge those that belong together, or split the skill"),
        )
    status: CheckStatus = "optimal" if 2 <= modules <= _MOST_MODULES else "ok"
    return _outcome("module-count", f"{pluralize(modules, 'file')} below references", findings, status)


def _complexity(source: Source, tokens: int, modules: int) -> Advice:
    what = f"{tokens:,} tokens and {pluralize(modules, 'file')} below references"
    if tokens > _MOST_TOKENS or modules > _MOST_MODULES:
        message = f"the skill is comprehensive ({what}), and long instructions are followed less"
        found = (_warning(source, "complexity", message, "move what is seldom needed into references"),)
        return _outcome("complexity", f"comprehensive: {what}", found)
    if tokens >= _DETAILED and modules >= 1:
        return _outcome("complexity", f"detailed: {what}", (), "optimal")
    return _outcome("complexity", f"compact: {what}", ())


def _risk(source: Source) -> Advice:
    """Note what may make an agent worse than without the skill."""
    found = [
        _warning(
            source,
            "negative-delta-risk",
            f"{match.group()!r} leaves two ways open, between which an agent wavers",
            "choose one of them, or say when each applies",
            source.place_in_body(match.start()),
        )
        for match in _CONFLICTS.finditer(source.body)
    ]
    firsts = [*_FIRST_STEP.finditer(source.body)]
    if len(firsts) > 1:
        message = f"{len(firsts)} procedures begin with 'Step 1:', so that agents mix their steps up"
        place = source.place_in_body(firsts[1].start())
        found.append(
            _warning(source, "negative-delta-risk", message, "give each a heading and its own numbers", place)
        )
    orders = [*_ORDERS.finditer(source.body)]
    if len(orders) > _MOST_ORDERS:
        message = f"{len(orders)} absolute orders such as 'never' and 'always'; so many are not heeded"
        place = source.place_in_body(orders[_MOST_ORDERS].start())
        remedy = "keep those that matter, and say why"
        found.append(_warning(source, "negative-delta-risk", message, remedy, place))
    return _outcome("negative-delta-risk", "does not contradict or over-constrain an agent", tuple(found))


def _procedure(source: Source) -> Advice:
    words = re.findall(r"[a-z]+", source.target.description.lower())
    stems = {stem for word in words for stem in _stems(word)}
    found: tuple[Finding, ...] = ()
    if words and not stems & (_VERBS | _PROCEDURES):
        message = "the description names no activity and no procedure"
        place = source.place_of_value("description")
        found = (
            _warning(source, "procedural-content", message, "say what the skill does, with a verb", place),
        )
    return _outcome("procedural-content", "the description says what is done", found)


def _stems(word: str) -> Iterator[str]:
    """Yield the forms of which a word may be an inflection."""
    yield word
    for ending, instead in (
        ("s", ""),
        ("es", ""),
        ("ies", "y"),
        ("ing", ""),
        ("ing", "e"),
        ("ed", ""),
        ("ed", "e"),
    ):
        if word.endswith(ending):
            yield word.removesuffix(ending) + instead


def _specificity(source: Source) -> Advice:
    found: list[Finding] = []
    covered: list[tuple[int, int]] = []
    for what, pattern in _SPECIFIC:
        for match in pattern.finditer(source.body):
            within = any(start <= match.start() < end for start, end in covered)
            covered.append(match.span())
            text = match.group().rstrip(".,;:")
            if within or _is_general(text):
                continue
            message = f"{what} that holds on few machines: {text}"
            remedy = "use a relative path, a placeholder, or an environment variable"
            place = source.place_in_body(match.start())
            found.append(_warning(source, "over-specificity", message, remedy, place))
    return _outcome("over-specificity", "holds on any machine", tuple(found))


def _is_general(text: str) -> bool:
    """Return whether a match holds on any machine after all: its own address, or that of documentation."""
    return text in ("127.0.0.1", "0.0.0.0") or (text.startswith("http") and _is_documentation(text))  # noqa: S104  # nothing is bound


def _is_documentation(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    return bool(_DOCUMENTATION.search(host))


def _scope(source: Source) -> Advice:
    phrases = len(list_triggers(source.target.description))
    headings = sum(heading.level == 2 for heading in source.markdown.headings)
    procedures = _count_procedures(source)
    capabilities = max(phrases, headings, procedures)
    found: tuple[Finding, ...] = ()
    if capabilities < _FEWEST_CAPABILITIES:
        message = "the skill seems to do a single thing, by its phrases, headings and procedures"
        remedy = "list more of what it is for, or make it a part of another skill"
        found = (_warning(source, "scope-reduction", message, remedy, source.place_of_value("description")),)
    return _outcome("scope-reduction", pluralize(capabilities, "recognised capability"), found)


def _count_procedures(source: Source) -> int:
    """Return how many numbered lists the skill has: runs of ordered items without anything else between them."""
    items = [item for item in source.markdown.items if item.ordered]
    numbers = [re.match(r"\s*(?:>\s*)*(\d+)[.)]", line) for line in source.text.split("\n")]
    starts = [
        item for item in items if (found := numbers[item.line - 1]) and found.group(1).lstrip("0") == "1"
    ]
    return len(starts)
