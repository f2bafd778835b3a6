"""Which names look alike, and which are nobody's."""

from __future__ import annotations

import pytest

from league.manager.members import names
from league.protocol.errors import PeerError
from tests.support.managed import Managed, code_of, plain

HONEST = (
    "Ann", "Zoë Müller-Lüdenscheidt", "Nguyễn Thị Ánh", "Þórður Guðmundsdóttir", "Łukasz Żółć", "Иван Петров",
    "Олексій",
    "Μαρία Παπαδοπούλου", "Արամ Խաչատրյան", "ნინო ჩხეიძე", "נֹעָה כהן", "محمد عبد الله", "مریم می‌خواهد", "अनन्या शर्मा",
    "অনন্যা রায়", "ਗੁਰਪ੍ਰੀਤ ਸਿੰਘ", "અનન્યા પટેલ", "ଅନନ୍ୟା", "அனன்யா", "అనన్య", "ಅನನ್ಯ", "അനന്യ", "ශ්‍රී ලංකා", "สมชาย ใจดี", "ສົມສັກ",
    "အောင်ဆန်း", "សុខ សាន្ត", "བསྟན་འཛིན", "ᠮᠣᠩᠭᠣᠯ", "ዘነበ ወርቅ", "王小明", "李小龍", "さくら", "サクラ",
    "김철수", "ᏣᎳᎩ", "ߊߡߊߘߎ",
    "Pol", "Polo1", "Al", "Refik", "Ref 1", "Player 1", "Referee 8001", "admiral", "Systematic",
    "Bot-3000", "R2D2", "❤️ Eve", "👩‍💻",
)  # fmt: skip
"""In more than twenty scripts, some with joiners that they are not written right without."""


def shown(league: Managed) -> list[str]:
    """The names of all players, as people read them."""
    return [row.display_name for row in sorted(league.manager.standings, key=lambda row: row.player_id)]


@pytest.mark.requirement("REGISTER.name_lookalike")
def test_honest_names_of_all_scripts_register_and_none_is_taken_for_another() -> None:
    league = Managed(players=len(HONEST) + 1, start="manual")
    given = {name: code_of(league.register("player", place, display_name=name)) for place, name in enumerate(HONEST, 1)}
    assert {name: code for name, code in given.items() if code} == {}


@pytest.mark.requirement("REGISTER.name_lookalike")
@pytest.mark.parametrize(
    ("taken", "other"),
    [
        ("Alice", "Аlice"),  # Cyrillic А
        ("Alice", "Aliсe"),
        ("Alice", "𝐀𝐥𝐢𝐜𝐞"),
        ("Alice", "ALICE"),
        ("Player 1", "Player l"),
        ("Player 1", "Player I"),
        ("Modem", "Modern"),
        ("Bot 0", "Bot O"),
        ("Marie", "Ma\u200drie"),
        ("Heart ❤", "Heart ❤\ufe0f"),
        ("Иван", "Ивaн"),  # Latin a
    ],
)
def test_a_name_that_looks_like_one_that_is_taken_is_refused_in_strict_and_marked_in_compat(
    taken: str, other: str
) -> None:
    league = Managed(profile="strict")
    league.register("player", 1, display_name=taken)
    answer = league.register("player", 2, display_name=other)
    assert code_of(answer) == "E022"
    if names.folded(taken) != names.folded(other):
        compat = Managed()
        compat.register("player", 1, display_name=taken)
        compat.register("player", 2, display_name=other)
        assert shown(compat) == [taken, f"P02 {other}"]
        assert ("P02", "E022", "REGISTER.name_lookalike") in compat.manager.ledger.irregularities.deviations
    assert taken in str(plain(answer)["reason"]) or "is taken" in str(plain(answer)["reason"])
    assert set(plain(answer)["context"]) == {"display_name", "suggestion"}


@pytest.mark.requirement("REGISTER.name_reserved")
@pytest.mark.parametrize(
    "name",
    [
        "league_manager", "League Manager", "lеague-mаnager", "MANAGER", "admin", "Αdmin", "Administrator", "operator",
        "System", "referee", "P01", "Р01", "p1", "PO1", "P٠١", "REF01", "ref2", "A01", "A1", "R1M1", "Ｐ０１",
    ],
)  # fmt: skip
def test_in_strict_nobody_is_called_like_the_manager_or_an_id(name: str) -> None:
    league = Managed(unique_names=False, profile="strict")
    answer = league.register("player", 1, display_name=name)
    assert code_of(answer) == "E022"
    assert str(plain(answer)["reason"]).startswith("nobody is called ")


@pytest.mark.requirement("REGISTER.name_reserved")
@pytest.mark.parametrize("name", ["league_manager", "LEAGUE_MANAGER", "referee:REF01", "player:P01", "Player: me"])
def test_nobody_has_the_name_of_a_sender(name: str) -> None:
    answer = Managed().register("player", 1, display_name=name)
    assert code_of(answer) == "E022"
    assert "a sender of the protocol" in str(plain(answer)["reason"])


def test_a_name_that_is_the_id_of_somebody_else_is_shown_with_its_own_id_as_soon_as_that_one_is_there() -> None:
    league = Managed(players=4)
    for number, name in enumerate(("P03", "P02", "PO4", "admin"), start=1):
        assert code_of(league.register("player", number, display_name=name)) == ""
        if number == 1:
            assert shown(league) == ["P03"]
    assert shown(league) == ["P01 P03", "P02", "P03 PO4", "admin"]


@pytest.mark.requirement("REGISTER.numbered_name")
def test_a_name_that_is_taken_gets_a_number_if_its_holder_is_there() -> None:
    league = Managed(players=4)
    league.holders_answer = True
    answers = [league.register("player", number, display_name="Bot") for number in (1, 2, 3)]
    assert shown(league) == ["Bot", "Bot 2", "Bot 3"]
    assert plain(answers[1])["findings"] == "the name 'Bot' is taken: you are called 'Bot 2' here"
    again = league.register("player", 2, display_name="Bot")
    assert getattr(again, "player_id", "") == "P02"
    assert len(league.manager.player_ids) == 3


@pytest.mark.requirement("REGISTER.numbered_name")
def test_a_name_whose_holder_is_silent_is_refused_and_the_answer_says_what_to_do() -> None:
    league = Managed(players=4)
    league.register("player", 1, display_name="Bot")
    reason = str(plain(league.register("player", 2, display_name="Bot"))["reason"])
    assert "choose another one (--name)" in reason
    assert "only if that was you yourself" in reason
    assert "league readmit P01" in reason
    strict = Managed(players=4, profile="strict")
    strict.holders_answer = True
    strict.register("player", 1, display_name="Bot")
    assert code_of(strict.register("player", 2, display_name="Bot")) == "E022"


@pytest.mark.requirement("REGISTER.errors")
@pytest.mark.parametrize("profile", ["compat", "strict"])
@pytest.mark.parametrize("name", ["<b>Ann</b>", "Ann>", "Ann <3", "[Ann](http://a.example)"])
def test_markup_is_in_no_name(name: str, profile: str) -> None:
    league = Managed(profile=profile)
    assert code_of(league.request(league.registration("player", 1, display_name=name))) == "E008"


def test_a_referee_may_be_called_referee() -> None:
    assert code_of(Managed().register("referee", 1, display_name="Referee")) == ""


@pytest.mark.requirement("REGISTER.errors")
@pytest.mark.parametrize(
    "char", ["\u3164", "\u034f", "\u115f", "\uffa0", "\u2800", "\u200b", "\u202e", "\u2066", "\U000e0041", "\ufe00"]
)
def test_what_cannot_be_seen_is_in_no_name(char: str) -> None:
    league = Managed()
    answer = league.request(league.registration("player", 1, display_name=f"Al{char}ice"))
    assert isinstance(answer, PeerError)
    assert answer.code == "E008"


@pytest.mark.parametrize("name", ["\u200dAlice", "Alice \ufe0f", "\ufe0f"])
def test_a_joiner_has_something_to_join(name: str) -> None:
    league = Managed()
    assert code_of(league.request(league.registration("player", 1, display_name=name))) == "E008"


def test_a_name_is_its_own_look_alike() -> None:
    for name in HONEST:
        assert set(names.skeletons(name)) & set(names.skeletons(name.upper()))


def test_names_that_differ_by_an_accent_do_not_look_alike() -> None:
    assert set(names.skeletons("Benoît")).isdisjoint(names.skeletons("Benoit"))
    assert set(names.skeletons("A=B")).isdisjoint(names.skeletons("AB"))
