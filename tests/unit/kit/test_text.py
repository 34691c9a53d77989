import pytest

from waza.kit.text import encodable


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
    assert encodable(text) == wanted
    encodable(text).encode("utf-8")
