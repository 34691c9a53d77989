"""Spellings of options that command lines written for other programs have, made ours before they are parsed.

`--flag=false`, `-o=FILE`, an empty path for no path, and the switches of every command behind its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

EVERYWHERE = ("--debug", "--no-update-check")
_TRUE, _FALSE = frozenset({"true", "t", "1"}), frozenset({"false", "f", "0"})


def normalize_words(root: click.Group, words: Sequence[str]) -> list[str]:
    """Return a command line as our parser takes it; what it does not know stays, to be refused there."""
    rest, switches = list(words), list[str]()
    end = rest.index("--") if "--" in rest else len(rest)
    command, start = _command(root, rest[:end])
    options = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    found: list[str] = []
    number = 0
    while number < end:
        word = rest[number]
        number += 1
        if _switch(word) is not None:
            switches += [_name(word)] if _switch(word) else []
        elif number <= start:
            found.append(word)
        else:
            takes = number < end and _takes_next(options.get(word), word)
            found = _with(found, options, [word, rest[number]] if takes else [word])
            number += takes
    return [*switches, *found, *rest[end:]]


def _command(root: click.Group, words: Sequence[str]) -> tuple[click.Command, int]:
    """Return the command that is called, and where its own words begin.

    A group with a `default_command` calls that one where the word behind it names no other.
    """
    command: click.Command = root
    for number, word in enumerate(words):
        if not isinstance(command, click.Group):
            return command, number
        default = getattr(command, "default_command", "")
        if default or not word.startswith("-"):
            context = click.Context(command)
            inner = command.get_command(context, word)
            if inner is None:
                meant = command.get_command(context, default)
                return (meant, number) if meant else (command, len(words))
            command = inner
    return command, len(words)


def _name(word: str) -> str:
    return word.partition("=")[0]


def _switch(word: str) -> bool | None:
    """Return whether a word turns a switch of every command on or off; None for any other word."""
    name, equals, value = word.partition("=")
    if name not in EVERYWHERE:
        return None
    return _truth(value) if equals else True


def _truth(value: str) -> bool | None:
    return True if value.lower() in _TRUE else False if value.lower() in _FALSE else None


def _takes_next(option: click.Parameter | None, word: str) -> bool:
    """Return whether the word behind an option is its value. A bare `--resume` has no value."""
    return isinstance(option, click.Option) and not option.is_flag and not option.count and word != "--resume"


def _with(found: list[str], options: dict[str, click.Parameter], words: list[str]) -> list[str]:
    """Return the words so far with an option and its value, or one other word, behind them."""
    name, equals, value = words[0].partition("=")
    option = options.get(name)
    if not isinstance(option, click.Option):
        return [*found, *words]
    value = words[1] if len(words) > 1 else value
    if option.is_flag:
        return [*_without(found, option), *_flag(option, name, value)] if equals else [*found, *words]
    if isinstance(option.type, click.Path) and not value and (equals or len(words) > 1):
        return found
    if equals and not name.startswith("--"):
        return [*found, name, value]
    return [*found, *words]


def _without(found: list[str], option: click.Option) -> list[str]:
    """Return the words without earlier ones of a flag: the last one counts."""
    return [word for word in found if word not in (*option.opts, *option.secondary_opts)]


def _flag(option: click.Option, name: str, value: str) -> Iterator[str]:
    """Yield the word for a flag with a value; one that cannot be turned off is left out where it is off."""
    on = _truth(value)
    if on is None:
        yield f"{name}={value}"
    elif on != (name in option.secondary_opts):
        yield option.opts[-1]
    else:
        yield from option.secondary_opts[-1:]
