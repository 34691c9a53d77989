"""The decoder: every type and limit, every mistake with its place, and what is near a misspelt word."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from waza.kit import yaml
from waza.kit.decode import Decoder, Document, UnknownKeyAdvice, fields_of, format_path, struct_keys

Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Inner = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Words = Annotated[list[Annotated[str, msgspec.Meta(min_length=1)]], msgspec.Meta(min_length=1)]


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str, msgspec.Meta(min_length=1)]
    size: int = 0


class Other(msgspec.Struct, frozen=True, kw_only=True):
    label: str = ""


class Root(msgspec.Struct, frozen=True, kw_only=True, rename={"passes": "pass"}):
    text: str = "default"
    whole: int = 7
    number: float = 0.5
    flag: bool = False
    count: Count = 1
    share: Share = 0.0
    inner: Inner = 0.5
    weight: Annotated[float, msgspec.Meta(ge=-5)] = 1.0
    level: Literal["low", "high", "", "3"] = "low"
    passes: str | None = None
    maybe: Count | None = None
    anything: Any = None
    texts: list[str] = []
    words: Words | None = None
    pair: tuple[int, int] | None = None
    many: tuple[str, ...] = ()
    table: dict[str, int] = {}
    free: dict[str, Any] = {}
    leaf: Leaf | None = None
    leaves: list[Leaf] = []
    mixed: list[Leaf | str] = []
    either: list[str] | str = ""
    _hidden: int = 0


def decoder(text: str, **rules: Any) -> Decoder:
    return Decoder(Document("f.yaml", yaml.load(text.encode())), **rules)


def read(text: str) -> Root:
    found = decoder(text)
    value = found.read(Root)
    assert found.problems == []
    assert value is not None
    return value


def said(text: str) -> list[str]:
    """What is said of a document that cannot be read, without the name of the file."""
    found = decoder(text)
    assert found.read(Root) is None
    return [str(problem).removeprefix("f.yaml:") for problem in found.problems]


class TestValues:
    def test_left_out_keys_and_keys_without_value_have_their_defaults(self):
        assert read("{}") == Root()
        assert read("text:\nwhole: ~\ntexts: null\ntable:\nleaves:\n") == Root()

    @pytest.mark.parametrize(
        "text", ["1.10", "012", "0x1F", "1e3", "true", "yes", "2026-01-31", ".inf", "12:30", "'null'"]
    )
    def test_texts_keep_their_source(self, text):
        assert read(f"text: {text}").text == text.strip("'")
        assert read(f"texts: [{text}]").texts == [text.strip("'")]

    def test_nothing_in_a_list_of_texts_is_an_empty_text(self):
        assert read("texts: [~, '', a]").texts == ["", "", "a"]

    def test_numbers_and_booleans(self):
        value = read("whole: -3\nnumber: 2\nflag: true\ncount: 1000\nshare: 1\nweight: -5.0\n")
        assert (value.whole, value.number, value.flag) == (-3, 2, True)
        assert (value.count, value.share, value.weight) == (1000, 1, -5)
        assert read("whole: 5.0").whole == 5
        assert type(read("whole: 5.0").whole) is int
        assert read("whole: 123456789012345678901234567890").whole == 123456789012345678901234567890

    @pytest.mark.parametrize("word", ["yes", "On", "Y", "TRUE", "'yes'", '"true"'])
    def test_booleans_are_read_in_every_spelling(self, word):
        assert read(f"flag: {word}").flag is True

    @pytest.mark.parametrize("word", ["no", "Off", "N", "FALSE", "'no'"])
    def test_so_are_those_that_switch_off(self, word):
        assert read(f"flag: {word}").flag is False
        assert read(f"text: {word}").text == word.strip("'")  # a text stays one
        assert read(f"anything: {word}").anything in (word.strip("'"), False)

    @pytest.mark.parametrize(
        ("written", "meant"), [("1_000", 1000), ("0b10", 2), ("0o17", 15), ("-0x1F", -31), ("+1_0", 10)]
    )
    def test_numbers_are_read_in_every_notation(self, written, meant):
        assert read(f"whole: {written}").whole == meant
        assert read(f"number: {written}").number == meant
        assert read(f"anything: {written}").anything in (written, meant)

    @pytest.mark.parametrize("written", ["'1_000'", "0b12", "_1", "1k", "0b", "--1"])
    def test_other_texts_stay_texts(self, written):
        assert "must be a whole number, not " in said(f"whole: {written}")[0]

    def test_choices(self):
        assert [read(f"level: {level}").level for level in ("high", "''", "3", "'3'")] == [
            "high",
            "",
            "3",
            "3",
        ]

    def test_optional_ones(self):
        assert read("pass: ~\nmaybe: ~\nleaf: ~\nwords: ~") == Root()
        value = read("pass: well\nmaybe: 3\nleaf: {name: a}\n")
        assert (value.passes, value.maybe, value.leaf) == ("well", 3, Leaf(name="a"))

    def test_anything(self):
        value = read("anything: {a: [1, 1.5, true, ~, x, {b: 1.10}]}\nfree: {k: [v]}")
        assert value.anything == {"a": [1, 1.5, True, None, "x", {"b": 1.1}]}
        assert value.free == {"k": ["v"]}

    def test_collections(self):
        value = read(
            "pair: [1, 2]\nmany: [a, b]\ntable: {x: 1, 2: 3}\nleaves: [{name: a}, {name: b, size: 2}]"
        )
        assert (value.pair, value.many, value.table) == ((1, 2), ("a", "b"), {"x": 1, "2": 3})
        assert value.leaves == [Leaf(name="a"), Leaf(name="b", size=2)]

    def test_unions_go_by_the_kind_of_node(self):
        assert read("mixed: [a, {name: b}, '3']").mixed == ["a", Leaf(name="b"), "3"]
        assert read("either: [a]").either == ["a"]
        assert read("either: a").either == "a"

    def test_a_part_can_be_read_at_its_path(self):
        found = decoder("a: {name: ''}")
        assert isinstance(found.document.root, yaml.Mapping)
        assert found.read(Leaf, found.document.root.entries["a"], ("a",)) is None
        assert [problem.path for problem in found.problems] == ["a.name"]


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("text: [a]", "1:7: text: must be a text, not a list"),
            ("text: {a: b}", "1:7: text: must be a text, not a mapping"),
            ("whole: five", "1:8: whole: must be a whole number, not the text 'five'"),
            ("whole: '5'", "1:8: whole: must be a whole number, not the text '5'"),
            ("whole: 1.5", "1:8: whole: must be a whole number, not the number 1.5"),
            ("whole: true", "1:8: whole: must be a whole number, not the boolean true"),
            ("whole: .inf", "1:8: whole: must be a whole number, not the number .inf"),
            ("number: x", "1:9: number: must be a number, not the text 'x'"),
            ("number: false", "1:9: number: must be a number, not the boolean false"),
            ("number: .nan", "1:9: number: is .nan, but must be a finite number"),
            ("number: -.inf", "1:9: number: is -.inf, but must be a finite number"),
            ("number: 1e400", "1:9: number: is 1e400, but must be a finite number"),
            ("flag: ja", "1:7: flag: must be true or false, not the text 'ja'"),
            ("flag: 1", "1:7: flag: must be true or false, not the number 1"),
            ("count: 5m", "1:8: count: must be a whole number of at least 1, not the text '5m'"),
            ("count: 0", "1:8: count: is 0, but must be at least 1"),
            ("count: 1001", "1:8: count: is 1001, but must be at most 1,000"),
            ("maybe: -1", "1:8: maybe: is -1, but must be at least 1"),
            ("maybe: [1]", "1:8: maybe: must be a whole number, not a list"),
            ("share: 1.01", "1:8: share: is 1.01, but must be at most 1"),
            ("share: -0.1", "1:8: share: is -0.1, but must be at least 0"),
            ("inner: 0", "1:8: inner: is 0, but must be above 0"),
            ("inner: 1", "1:8: inner: is 1, but must be below 1"),
            ("weight: heavy", "1:9: weight: must be a number, not the text 'heavy'"),
            ("weight: -5.5", "1:9: weight: is -5.5, but must be at least -5"),
            ("level: mid", "1:8: level: the text 'mid' is not one of: low, high, 3"),
            ("level: [low]", "1:8: level: a list is not one of: low, high, 3"),
            ("level: true", "1:8: level: the boolean true is not one of: low, high, 3"),
            ("texts: a", "1:8: texts: must be a list, not the text 'a'; start each item with '- '"),
            ("texts: [a, [b]]", "1:12: texts[1]: must be a text, not a list"),
            ("words: []", "1:8: words: has 0 items, but must have at least 1"),
            ("words: [a, ' ']", "1:12: words[1]: must not be empty"),
            ("words: [~]", "1:9: words[0]: must not be empty"),
            ("pair: [1]", "1:7: pair: has 1 item, but must have at least 2"),
            ("pair: [1, 2, 3]", "1:7: pair: has 3 items, but must have at most 2"),
            ("pair: [1, x]", "1:11: pair[1]: must be a whole number, not the text 'x'"),
            ("table: [a]", "1:8: table: must be a mapping, not a list"),
            ("table: {a: x}", "1:12: table.a: must be a whole number, not the text 'x'"),
            ("free: {a: [.nan]}", "1:12: free.a[0]: .nan is not a finite number"),
            ("leaf: x", "1:7: leaf: must be a mapping of keys, not the text 'x'; write keys, such as name:, size:"),
            ("leaf: {}", "1:7: leaf: 'name' is missing"),
            ("leaf: {name: ~}", "1:7: leaf: 'name' is missing"),
            ("leaf: {name: '  '}", "1:14: leaf.name: must not be empty"),
            ("leaves:\n  - name: a\n  - size: x", "3:11: leaves[1].size: must be a whole number, not the text 'x'"),
            ("mixed: [3]", "1:9: mixed[0]: must be a mapping of keys, not the number 3; write keys, such as name:, size:"),
            ("mixed: [[a]]", "1:9: mixed[0]: must be a mapping of keys, not a list; write keys, such as name:, size:"),
            ("[a]", "1:1: must be a mapping of keys, not a list; write keys, such as text:, whole:, number:"),
            ("", "1:1: must be a mapping of keys, not nothing; write keys, such as text:, whole:, number:"),
        ],
    )  # fmt: skip
    def test_each_is_placed_and_worded(self, text, wanted):
        assert wanted in said(text)

    def test_all_of_a_document_are_collected(self):
        assert said("whole: x\nflag: 2\nleaves: [{size: y}, {name: '', sise: 1}]\nnope: 1\n") == [
            "1:8: whole: must be a whole number, not the text 'x'",
            "2:7: flag: must be true or false, not the number 2",
            "3:17: leaves[0].size: must be a whole number, not the text 'y'",
            "3:10: leaves[0]: 'name' is missing",
            "3:28: leaves[1].name: must not be empty",
            "3:32: leaves[1].sise: unknown key 'sise'; did you mean 'size'?",
            "4:1: nope: unknown key 'nope'; known: anything, count, either, flag, free, inner, leaf, leaves, level, many, maybe, mixed, number, pair, pass, share, table, text, texts, weight, whole, words",
        ]

    def test_a_missing_key_is_reported_with_the_stranger_that_is_meant(self):
        assert said("leaf: {nmae: x}") == [
            "1:8: leaf.nmae: unknown key 'nmae'; did you mean 'name'?",
            "1:7: leaf: 'name' is missing; 'nmae' is probably meant",
        ]

    def test_long_values_are_cut(self):
        text = "x" * 100
        assert said(f"whole: {text}") == [f"1:8: whole: must be a whole number, not the text '{'x' * 57}...'"]
        assert said(f"count: {'9' * 100}") == [f"1:8: count: is {'9' * 40}, but must be at most 1,000"]

    def test_huge_whole_numbers_are_no_finite_numbers(self):
        digits = "9" * 320
        assert said(f"number: {digits}") == [f"1:9: number: is {digits[:40]}, but must be a finite number"]

    def test_the_keys_of_python_are_not_those_of_the_file(self):
        assert "unknown key 'passes'; did you mean 'pass'?" in said("passes: a")[0]
        assert "unknown key '_hidden'" in said("_hidden: 1")[0]


class TestUnknownKeys:
    def test_the_rule_says_what_is_made_of_them(self):
        def rule(struct, key, path):
            assert struct is (Root if len(path) == 1 else Leaf)
            return UnknownKeyAdvice(
                "warning" if key.startswith("x-") else "error", f"hint for {format_path(path)}"
            )

        found = decoder("x-a: 1\nleaf: {name: n, x-b: 1}\n", unknown=rule)
        assert found.read(Root) == Root(leaf=Leaf(name="n"))
        assert [str(problem) for problem in found.problems] == [
            "f.yaml:1:1: x-a: warning: unknown key 'x-a', ignored; hint for x-a",
            "f.yaml:2:17: leaf.x-b: warning: unknown key 'x-b', ignored; hint for leaf.x-b",
        ]
        found = decoder("y: 1", unknown=rule)
        assert found.read(Root) is None
        assert [problem.severity for problem in found.problems] == ["error"]


class TestSalvage:
    def test_keys_with_mistakes_have_their_defaults_and_the_rest_is_there(self):
        found = decoder("text: hi\nwhole: x\nleaves: [{name: a, size: y}, {name: b}]\nwords: ['']\nnope: 1\n")
        value, document = found.read_partial(Root)
        assert value == Root(text="hi", leaves=[Leaf(name="a"), Leaf(name="b")], words=[""])
        assert len(found.problems) == 4
        assert document.error_paths == ("whole", "leaves[0].size", "words[0]", "nope")

    def test_a_list_keeps_its_places_with_empty_values_for_what_cannot_be_built(self):
        value, document = decoder("leaves: [{name: a}, {size: 1}, x]\ntable: {a: 1, b: x}\n").read_partial(
            Root
        )
        empty = Leaf(name="")
        assert value == Root(leaves=[Leaf(name="a"), Leaf(name="", size=1), empty], table={"a": 1, "b": 0})
        assert document.error_paths == ("leaves[1]", "leaves[2]", "table.b")
        blank = (["leaves", 1, "name"], ["leaves", 2], ["leaves", 2, "size"], ["table", "b"])
        assert all(document.is_placeholder(*path) for path in blank)
        assert not any(
            document.is_placeholder(*path) for path in (["leaves"], ["leaves", 1], ["leaves", 1, "size"])
        )

    def test_faults_are_those_at_and_below_a_path(self):
        document = Document("f", yaml.load(b"{}"), error_paths=("a.b[1].c", "ab"))
        assert all(
            document.has_error(*path)
            for path in (["a"], ["a", "b"], ["a", "b", 1], ["a", "b", 1, "c"], ["ab"])
        )
        assert not any(
            document.has_error(*path) for path in (["b"], ["a", "b", 10], ["a", "b", 1, "c", "d"], ["a", "c"])
        )

    def test_warnings_are_no_faults(self):
        _, document = decoder("x: 1", unknown=lambda *_: UnknownKeyAdvice("warning", "")).read_partial(Root)
        assert document.error_paths == ()

    @pytest.mark.parametrize("text", ["", "[a]", "text"])
    def test_nothing_where_there_are_no_keys(self, text):
        value, document = decoder(text).read_partial(Root)
        assert value is None
        assert document.error_paths == ("",)


class TestPaths:
    def test_paths_as_people_read_them(self):
        assert format_path(()) == ""
        assert format_path(("graders", 0, "config", "contains", 12)) == "graders[0].config.contains[12]"
        assert format_path((0, "a")) == "[0].a"


class TestStructs:
    def test_fields(self):
        fields = {field.key: field for field in fields_of(Root)}
        assert "_hidden" not in fields
        assert fields["pass"].name == "passes"
        assert not fields["text"].required
        assert [field.required for field in fields_of(Leaf)] == [True, False]

    def test_levels_of_keys(self):
        class Tree(msgspec.Struct):
            name: str = ""
            leaf: Leaf | None = None
            leaves: list[Leaf] = []
            other: dict[str, Other] = {}

        assert struct_keys(Tree, skip=frozenset({Other})) == {
            "name": ("", "leaf", "leaves"),
            "leaf": ("",),
            "size": ("leaf", "leaves"),
            "leaves": ("",),
            "other": ("",),
        }

    def test_a_struct_in_itself_ends(self):
        keys = struct_keys(Nested)
        assert keys == {"inside": ("", "inside")}


class Nested(msgspec.Struct):
    inside: list[Nested] = []
