"""The names that new skills, agents, graders and suites may have. What is refused is answered with advice."""

from __future__ import annotations

import re
import unicodedata

from waza.author.check.spec_checks import LONGEST_NAME, NAME, suggest_name
from waza.errors import UsageError
from waza.kit.unsafe_text import escape_unsafe

# Names of devices, which no file on Windows can have, whatever its ending.
_OF_WINDOWS = re.compile(r"(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])(\..*)?", re.IGNORECASE)
_GRADER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_FILE_NAME = re.compile(r"\w[\w .+-]*", re.UNICODE)
_LONGEST_FILE_NAME = 100  # characters; with its ending and directory it fits everywhere


def check_skill_name(name: str) -> str:
    """Return the name of a new skill, which is that of its directory. Raises UsageError for one that is not valid."""
    _refuse(name, "skill")
    if len(name) > LONGEST_NAME:
        raise UsageError(
            f"the name of a skill has at most {LONGEST_NAME} characters, and this one {len(name)}"
        )
    if not NAME.fullmatch(name):
        meant = suggest_name(_without_accents(name))
        advice = f"use {meant!r}" if meant else "choose another one"
        raise UsageError(
            f"{name!r} is not a valid name for a skill: these have lower-case letters a to z, digits, and single "
            f"hyphens between them; {advice}"
        )
    return name


def check_agent_name(name: str) -> str:
    """Return the name of a new custom agent, which is that of its file. Raises UsageError for one that is not valid."""
    return _check_file_name(name.removesuffix(".agent.md"), "custom agent")


def check_suite_name(name: str) -> str:
    """Return the name of a new scenario, which is that of its directory. Raises UsageError for one that is not valid."""
    return _check_file_name(name, "scenario")


def check_grader_name(name: str) -> str:
    """Return the name of a new grader. Raises UsageError for one that is not valid."""
    if not _GRADER.fullmatch(name) or len(name) > LONGEST_NAME:
        raise UsageError(
            f"{name!r} is not a valid name for a grader; use at most {LONGEST_NAME} letters, digits, '-' and '_'"
        )
    _refuse(name, "grader")
    return name


def check_directory_name(name: str) -> str:
    """Return the name that a skill or agent gives itself, if a directory can have it. Raises UsageError for any other."""
    if any(sign in name for sign in "/\\:\0\n") or name.strip(" .") == "":
        raise UsageError(
            f"no directory can be named {name!r}; give the skill another name, or the suite's with --output"
        )
    return name


def file_stem(text: str) -> str:
    """Return the name of a file for what has a name in words: its letters and digits, with hyphens between them."""
    words = "-".join(re.findall(r"[^\W_]+", text.lower()))[:LONGEST_NAME].strip("-")
    return f"{words}-task" if not words or _OF_WINDOWS.fullmatch(words) else words


def _without_accents(text: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))


def _check_file_name(name: str, what: str) -> str:
    _refuse(name, what)
    if not _FILE_NAME.fullmatch(name) or name[-1] in " ." or len(name) > _LONGEST_FILE_NAME:
        raise UsageError(
            f"{name!r} is not a valid name for a {what}: use at most {_LONGEST_FILE_NAME} letters and digits of any "
            f"script, blanks, '-', '_', '+' and '.', beginning and ending with a letter or digit"
        )
    return name


def _refuse(name: str, what: str) -> None:
    """Raise UsageError for what is no name of a file anywhere."""
    if not name.strip():
        raise UsageError(f"a {what} needs a name")
    if escape_unsafe(name) != name or "\n" in name or "\t" in name:
        raise UsageError(f"{name!r} has characters that cannot be seen; leave them out")
    if any(sign in name for sign in "/\\"):
        raise UsageError(f"{name!r} is a path; give the name alone, and the directory with --output-dir")
    if ".." in name:
        raise UsageError(f"{name!r} has '..'; give the name alone")
    if _OF_WINDOWS.fullmatch(name):
        raise UsageError(f"{name!r} is the name of a device on Windows; choose another one")
