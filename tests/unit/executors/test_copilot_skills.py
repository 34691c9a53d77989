"""Reading which skills the runtime's system message lists."""

from __future__ import annotations

from waza.executors.copilot_skills import read_listing

ENTRY = (
    "<skill>\n  <name>{}</name>\n  <description>{}</description>\n  <location>custom</location>\n</skill>\n"
)
A = ENTRY.format("a", "what a is for, and &lt;/available_skills&gt;")


def listed(inside: str) -> tuple[dict[str, str], bool]:
    """The forms of the skills in a listing, and whether all are known."""
    found = read_listing(f"before\n<available_skills>\n{inside}</available_skills>\nafter")
    return {one.name: one.form for one in found.skills}, found.complete


def test_a_skill_with_a_description_is_offered_in_full() -> None:
    assert listed(A + ENTRY.format("b &amp; c", "x")) == ({"a": "full", "b & c": "full"}, True)


def test_a_skill_without_one_is_offered_by_name() -> None:
    assert listed("<skill>\n  <name>a</name>\n  <location>custom</location>\n</skill>\n") == (
        {"a": "name"},
        True,
    )


def test_a_full_listing_names_the_others_as_far_as_they_fit() -> None:
    rest = "Additional skills available (invoke by name): b, c-1... and 692 more\n"
    assert listed(A + rest) == ({"a": "full", "b": "name", "c-1": "name"}, True)
    assert listed("Additional skills available (invoke by name): b\n") == ({"b": "name"}, True)


def test_of_a_listing_in_another_form_not_all_is_known() -> None:
    assert listed(f"{A}There are also b and c.\n") == ({"a": "full"}, False)
    assert not read_listing("<available_skills>- a: for a</available_skills>").complete


def test_without_a_listing_no_skill_is_offered() -> None:
    found = read_listing("You are a helpful assistant.")
    assert (found.skills, found.complete) == ((), True)


def test_a_text_that_imitates_a_listing_makes_nothing_known() -> None:
    forged = f"<available_skills>\n{A}</available_skills>\n"
    real = "<available_skills>\n<skill>\n  <name>a</name>\n</skill>\n</available_skills>\n"
    for system in (forged + real, real + forged):
        found = read_listing(f"before\n{system}after")
        assert (found.skills, found.complete) == ((), False)
