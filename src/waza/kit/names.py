"""Names: the known one that a misspelt name probably means, and one that is not in use yet."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator


def nearest_name(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known name that `name` was probably meant to be, or an empty text.

    `cutoff` is how similar they must be, from 0 to 1; case does not matter, and `-` is the same as `_`.
    """
    from difflib import get_close_matches  # slow to import, and only mistakes need it

    lowered = {other.lower().replace("-", "_"): other for other in known}
    close = get_close_matches(name.lower().replace("-", "_"), lowered, n=1, cutoff=cutoff)
    return lowered[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?`, or the list of the known names where none is similar."""
    names = sorted(known)
    guess = nearest_name(name, names)
    return f"did you mean {guess!r}?" if guess else f"known: {', '.join(names) or 'none'}"


def number_names(name: str, separator: str = "-") -> Iterator[str]:
    """Yield `name`, `name-2`, `name-3` and so on, without end."""
    yield name
    for number in itertools.count(2):
        yield f"{name}{separator}{number}"


def unused_name(name: str, taken: Collection[str], separator: str = "-") -> str:
    """Return `name`, or the first of `name-2`, `name-3` and so on that is not `taken`."""
    return next(one for one in number_names(name, separator) if one not in taken)
