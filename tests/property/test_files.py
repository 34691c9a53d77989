from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from waza.kit.files import is_inside, safe_join
from waza.kit.line_file import LineFile

LINES = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=6)


@settings(max_examples=60)
@given(LINES, st.integers(min_value=0), LINES)
def test_a_file_cut_anywhere_keeps_its_whole_lines_and_goes_on(
    first: list[bytes], cut: int, then: list[bytes]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        content = b"".join(line + b"\n" for line in first)
        content = content[: cut % (len(content) + 1)]
        path.write_bytes(content)

        with LineFile.open(path) as file:
            offsets = [file.append(line) for line in then]
            found = list(file)
            again = [file.read_at(offset) for offset, _ in found]

        assert [line for _, line in found] == again == first[: content.count(b"\n")] + then
        assert [offset for offset, _ in found][len(found) - len(then) :] == offsets


@given(st.text("ab./\\:C ~\0é"))
def test_what_is_joined_stays_below_the_root(relative: str) -> None:
    root = Path("/nowhere/root")
    try:
        path = safe_join(root, relative)
    except ValueError:
        return
    assert path.is_relative_to(root)
    assert ".." not in path.parts
    assert is_inside(root, path)
