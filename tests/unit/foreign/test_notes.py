from waza.foreign.notes import Note, Notes


def test_equal_notes_are_counted_and_keep_their_first_line():
    notes = Notes()
    notes.add("a.jsonl", "record 'blip'", "is not known, and is passed over", line=3)
    notes.add("a.jsonl", "record 'blip'", "is not known, and is passed over", line=9, unchecked=True)
    notes.add("b.jsonl", "record 'blip'", "is not known, and is passed over")
    first, second = notes
    assert first == Note(
        file="a.jsonl",
        what="record 'blip'",
        message="is not known, and is passed over",
        line=3,
        count=2,
        unchecked=True,
    )
    assert str(first) == "a.jsonl:3: record 'blip': is not known, and is passed over (2 times)"
    assert str(second) == "b.jsonl: record 'blip': is not known, and is passed over"
    assert len(notes) == 2
