"""Third-party text on pages: nothing in it steers, and nothing honest is lost."""

from __future__ import annotations

from league.protocol.safe_text import steady


def test_what_turns_or_steers_text_is_visible_on_pages_and_everything_else_stays() -> None:
    assert steady("Ann\u202etxt.exe") == "Ann\\u202etxt.exe"
    assert steady("\x1b[2Jgone\x9b1m") == "\\x1b[2Jgone\\x9b1m"
    # Families are one picture of several, and people write in all directions.
    assert steady("👩\u200d👩\u200d👧 שלום Ann\nBen") == "👩\u200d👩\u200d👧 שלום Ann\nBen"
