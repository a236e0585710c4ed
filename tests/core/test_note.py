"""Notes say what, then where."""

from pulseboard.core.note import Note


def test_a_note_ends_with_its_location():
    assert str(Note("damage", "Skipped 1 record.", "/logs/x", 40)) == "Skipped 1 record. Byte 40 of /logs/x"
    assert str(Note("damage", "Skipped 1 record.", "/logs/x", 0)) == "Skipped 1 record. Byte 0 of /logs/x"


def test_a_note_about_a_whole_file_names_the_file():
    assert str(Note("unreadable", "Cannot be read.", "/logs/x")) == "Cannot be read. /logs/x"
