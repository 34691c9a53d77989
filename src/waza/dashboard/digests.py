"""Sessions, verdicts and denials as pages have them."""

from __future__ import annotations

from collections.abc import Iterable

from waza.dashboard.pages import DenialPage, DigestPage, NamedValue, ResponderPage
from waza.dashboard.run_pages import named_values
from waza.model.observation import Denial, Usage, tokens_of
from waza.model.result import ResponderRecord, SessionDigest
from waza.report.words import grouped


def digest_page(digest: SessionDigest, usage: Usage | None) -> DigestPage:
    """Return a session in short; `usage` is what is known of it."""
    return DigestPage(
        tool_policy_mode=digest.tool_policy_mode,
        tool_policy_denials=denial_pages(digest.tool_policy_denials),
        total_turns=None if usage is None else usage.turns,
        tool_call_count=digest.tool_call_count,
        tokens_in=usage.input_tokens if usage and usage.tokens else None,
        tokens_out=usage.output_tokens if usage and usage.tokens else None,
        tokens_total=tokens_of(usage),
        tools_used=list(digest.tools_used or ()),
        errors=list(digest.errors or ()),
        session_id=digest.session_id,
        usage=usage_values(usage),
    )


def denial_pages(denials: Iterable[Denial]) -> list[DenialPage]:
    """Return denied calls."""
    return [DenialPage(tool=one.tool, kind=one.kind, reason=one.reason) for one in denials]


def responder_page(found: ResponderRecord | None) -> ResponderPage | None:
    """Return how the conversation with the responder ended; None without one."""
    if found is None:
        return None
    return ResponderPage(followups_sent=found.followups_sent, outcome=found.outcome, reason=found.reason)


def usage_values(usage: Usage | None) -> list[NamedValue]:
    """Return all that is known of the usage of a session."""
    if usage is None:
        return []
    known = [
        ("Provider", f"{usage.provider} {usage.provider_host}".strip()),
        ("Turns", grouped(usage.turns)),
        ("Input tokens", grouped(usage.input_tokens) if usage.tokens else ""),
        ("Output tokens", grouped(usage.output_tokens) if usage.tokens else ""),
        ("Cached tokens read", grouped(usage.cache_read_tokens) if usage.cache_read_tokens else ""),
        ("Cached tokens written", grouped(usage.cache_write_tokens) if usage.cache_write_tokens else ""),
        ("Premium requests", f"{usage.premium_requests:g}" if usage.premium_requests else ""),
        ("AI credits", f"{usage.ai_credits:g}" if usage.ai_credits is not None else ""),
    ]
    models = [
        (
            name,
            f"{grouped(one.input_tokens)} in, {grouped(one.output_tokens)} out, {one.request_count:g} requests",
        )
        for name, one in usage.model_metrics.items()
    ]
    return named_values(pair for pair in [*known, *models] if pair[1])
