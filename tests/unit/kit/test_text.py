import pytest

from waza.kit.text import list_first, replace_surrogates, shorten_middle


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        ("Grüße \U0001f40d\x00", "Grüße \U0001f40d\x00"),
        ("half \ud800 pair", "half ? pair"),
        ("\udfff\ud800", "??"),
    ],
)
def test_halves_of_surrogate_pairs_are_replaced_and_nothing_else(text, wanted):
    assert replace_surrogates(text) == wanted
    replace_surrogates(text).encode("utf-8")


def test_of_a_long_error_head_and_end_are_kept():
    text = "Traceback: first line\n" + "  File x, line 1\n" * 500 + "ValueError: the reason"
    cut = shorten_middle(text, 300)
    assert len(cut) <= 300
    assert cut.startswith("Traceback: first line")
    assert " … " in cut
    assert cut.endswith("ValueError: the reason")
    assert shorten_middle("short", 300) == "short"


@pytest.mark.parametrize("place", range(170, 230))
def test_no_half_of_a_word_is_left_where_an_error_is_cut(place: int):
    text = "a " * (place // 2) + "x" * (place % 2) + " SECRETWORD " + "b " * 400
    cut = shorten_middle(text, 600)
    assert "SECRETWORD" in cut or not any(part in cut for part in ("SECR", "WORD", "ETWO"))


@pytest.mark.parametrize("limit", [4, 5, 10, 99])
def test_errors_without_blanks_are_cut_to_any_limit(limit: int):
    assert len(shorten_middle("x" * 1000, limit)) <= limit


@pytest.mark.parametrize(
    ("names", "wanted"),
    [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c"], "a, b and 1 more")],
)
def test_of_many_names_the_first_are_listed_and_the_others_counted(names, wanted):
    assert list_first(names, 2) == wanted
