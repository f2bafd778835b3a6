"""The pages of a match and a player say what `league explain` says, with the draw's proof and the messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest
from msgspec import Raw, structs, to_builtins

from examples.games.nim import league_nim
from league import events as e
from league.features.dashboard.rendering import SITE, SITE_BELOW, Links, Renderer, file_of
from league.features.dashboard.sections import sections_of
from league.features.dashboard.views.answer_times import AnswerLog
from league.features.dashboard.views.board_view import BoardView, PlayView, play_view
from league.features.dashboard.views.league_view import completed, league_view
from league.features.dashboard.views.match_view import match_page
from league.features.dashboard.views.player_view import player_page
from league.features.games import kuhn_poker
from league.features.records.explain import explain
from league.features.records.match_facts import LeagueFacts, MatchFacts
from league.games import registry
from league.machine import LiveMatch
from league.protocol.message.experiment import Provenance
from league.storage.reading import open_for_reading
from tests.support.managed import Managed
from tests.support.referee_rig import Rig
from tests.support.stories import facts_in, journals_of, letters_of, on_disk

AT = 1_750_000_000.0


def test_the_page_of_a_match_tells_what_explain_tells() -> None:
    rig = Rig().given().plays()
    facts = facts_in(journals_of(rig, letters=letters_of(rig)))
    page = match_page(facts)
    html = Renderer(Links()).match(page)
    told = explain(facts)
    assert page.explanation == told
    assert told.draw is not None
    assert told.draw.holds
    assert f'data-seed="{told.draw.seed}"' in html
    assert f'data-label="{told.league_id}|{told.match_id}|1"' in html
    steps = [step for attempt in page.attempts for step in attempt.steps]
    assert len(steps) == sum(len(one.lines) for one in told.attempts)
    lines = [line for attempt in told.attempts for line in attempt.lines]
    assert [step.is_letter for step in steps] == [line.kind == "letter" for line in lines]
    letters = [step for step in steps if step.is_letter]
    assert letters
    assert all(step.from_lane != step.to_lane for step in letters)
    assert any("GAME_INVITATION" in step.body for step in letters)


def test_arrows_go_from_the_sender_to_the_receiver() -> None:
    facts = facts_in(journals_of(Rig().given().plays()))
    records = {referee_id: replace(one, letters={}) for referee_id, one in facts.records.items()}
    attempt = match_page(replace(facts, records=records)).attempts[-1]
    joined = [step for step in attempt.steps if step.text.endswith(" joined.")]
    assert {(step.from_lane, step.to_lane) for step in joined} == {(2, 1), (3, 1)}


def record(kind: Callable[..., e.Event], at: float, **fields: object) -> e.Event:
    return kind(at=AT + at, match_id="R1M1", attempt=1, **fields)


TOLD = [
    record(e.MatchBegun, 0.0),
    record(e.PlayerJoined, 0.2, player_id="P01"),
    record(e.PlayerJoined, 1.0, player_id="P02"),
    record(e.MoveMade, 1.5, player_id="P02", turn=1, choice="even"),
    record(e.MoveMade, 4.0, player_id="P01", turn=1, choice="odd"),
]


def test_answer_times_run_from_the_question_to_the_answer() -> None:
    managed = Managed(players=2, referees=1).fill()
    managed.play("A")
    page = player_page(managed.manager, "P01", TOLD)
    assert page is not None
    assert {what: round(one.median, 6) for what, one in page.times} == {"invitation": 0.2, "choice": 3.0}
    assert player_page(managed.manager, "P99", TOLD) is None
    assert player_page(managed.manager, "REF01", TOLD) is None


def test_the_league_page_says_how_fast_players_answer_and_how_often_they_fail() -> None:
    managed = Managed(players=2, referees=1).fill()
    managed.play("A")
    log = AnswerLog()
    log.add(TOLD)
    failed = {"phase": "choice", "turn": 1, "code": "E001", "detail": "no answer in time", "retry": None}
    log.add([record(e.AttemptFailed, 2.0, player_id="P02", **failed)])
    found = log.of_players()
    assert {one: told.failures for one, told in found.items()} == {"P01": 0, "P02": 1}
    choices = found["P01"].choices
    assert choices is not None
    assert (choices.count, round(choices.median, 6)) == (1, 3.0), "joining a match is not a choice"
    view = completed(league_view(managed.manager), sections_of(managed.manager), found)
    rows = Renderer(Links()).league(view).split('<tr id="agent-')
    assert "<td>3.000 s</td><td>3.000 s</td>" in next(one for one in rows if one.startswith("P01"))
    assert " s</td>" not in next(one for one in rows if one.startswith("REF01"))


def test_results_on_a_page_of_a_player_are_its_own() -> None:
    managed = Managed(players=2, referees=1).fill()
    managed.play("A")
    (match,) = managed.manager.ledger.matches.values()
    pages = {}
    for player in match.players:
        page = player_page(managed.manager, player, ())
        assert page is not None
        pages[player] = page
    winner, loser = match.players
    (won,) = pages[winner].matches
    (lost,) = pages[loser].matches
    assert (won.outcome, won.points, won.opponent.agent_id) == ("won, by the referee's word", (3, 0), loser)
    assert (lost.outcome, lost.points, lost.opponent.agent_id) == ("lost, by the referee's word", (0, 3), winner)
    html = Renderer(Links()).player(pages[loser])
    assert "0 : 3" in html
    assert "won" not in html.partition('class="phase"')[2].partition("</li>")[0]


def test_a_match_says_which_choices_a_language_model_did_not_make() -> None:
    rig = Rig().given().plays()
    facts = facts_in(journals_of(rig))
    assert isinstance(facts.result, e.ResultAccepted)
    fallback = {"provenance": {"P01": {"choices": 1, "fallbacks": 1}, "P02": {"choices": 1}}}
    result = msgspec.structs.replace(facts.result, details={**facts.result.details, **fallback})
    records = {}
    for referee_id, record_of_match in facts.records.items():
        events = [marked(event) for event in record_of_match.events]
        records[referee_id] = replace(record_of_match, events=events)
    html = Renderer(Links()).match(match_page(replace(facts, result=result, records=records)))
    assert "1 of 1 choices of Name of P01" in html
    assert "choices of P02" not in html
    assert "(a fallback: its language model did not choose)." in html


def marked(event: e.Event) -> e.Event:
    if isinstance(event, e.MoveMade) and event.player_id == "P01":
        return msgspec.structs.replace(event, provenance=Provenance(fallbacks=1))
    return event


def test_records_that_were_read_are_not_read_again(tmp_path: Path) -> None:
    one, other = (
        e.MatchRecordKept(at=AT, match_id=match_id, attempt=1, referee_id="REF01", written=Raw(b"[]"))
        for match_id in ("a", "b")
    )
    path = on_disk(tmp_path / "journal.db", [one, e.RoundOpened(at=AT, round_id=1), other])
    with open_for_reading(path) as journal:
        assert journal.of_kind(e.MatchRecordKept) == [(1, one), (3, other)]
        assert journal.of_kind(e.MatchRecordKept, after=1) == [(3, other)]
        assert journal.of_kind(e.MatchRecordKept, after=3) == []


def test_a_fault_is_shown_with_its_clause_and_what_helps() -> None:
    managed = Managed(players=2, referees=1).fill()
    managed.play("-B")
    failed = record(
        e.AttemptFailed, 5.0, player_id="P01", phase="join", turn=0, code="E001", detail="no answer in time", retry=None
    )
    page = player_page(managed.manager, "P01", [failed])
    assert page is not None
    (mistake,) = page.mistakes
    assert mistake.code.startswith("E001")
    assert "JOIN.in_time" in mistake.clause
    assert mistake.hint in Renderer(Links()).player(page).replace("&#39;", "'").replace("&#34;", '"')


@pytest.mark.parametrize("name", ["R1M1", "a b", "../x", "50%", "ü"])
def test_links_of_an_exported_folder_lead_to_its_files(name: str) -> None:
    assert unquote(SITE.match(name)) == f"match/{file_of(name)}"
    assert unquote(SITE_BELOW.player(name)) == f"../player/{file_of(name)}"
    assert "/" not in file_of(name)
    assert unquote(Links().match(name)) == f"/match/{name}"


def ended(moves: object, game: str = "tic_tac_toe") -> MatchFacts:
    """A match whose referee reported these moves."""
    result = e.ResultAccepted(
        at=AT,
        match_id="R1M1",
        attempt=1,
        referee_id="REF01",
        status="WIN",
        winner="P01",
        points={"P01": 3, "P02": 0},
        details={"moves": moves},
        verified=True,
        reported_at="",
    )
    return MatchFacts("R1M1", "cup", game, 1, ("P01", "P02"), "COMPLETED", attempt=1, referee_id="REF01", result=result)


WON = [{"P01": "4"}, {"P02": "0"}, {"P01": "3"}, {"P02": "1"}, {"P01": "5"}]


def played(facts: MatchFacts) -> PlayView:
    view = play_view(facts)
    assert view is not None
    return view


def texts(board: BoardView) -> list[list[str]]:
    """What is in the cells, in words."""
    return [[cell.piece.name or cell.piece.text for cell in row] for row in board.rows]


def test_the_page_of_a_match_shows_the_board_after_every_move() -> None:
    boards = played(ended(WON)).boards
    assert [one.caption for one in boards][:2] == ["Start", "1. P01: 4"]
    assert [one.number for one in boards] == list(range(len(WON) + 1))
    assert texts(boards[-1]) == [["O", "O", ""], ["X", "X", "X"], ["", "", ""]]
    for board in boards[1:]:
        assert sum(cell.is_new for row in board.rows for cell in row) == 1
    html = Renderer(Links()).match(match_page(ended(WON)))
    assert html.count("<table class=") == len(boards)
    assert "<figcaption>5. P01: 5</figcaption>" in html
    winning = [cell.piece.name for row in boards[-1].rows for cell in row if cell.is_winning]
    assert winning == ["X", "X", "X"]
    assert not any(cell.is_winning for board in boards[:-1] for row in board.rows for cell in row)


def test_players_stand_beside_the_board_by_their_names() -> None:
    named = replace(ended(WON), league=LeagueFacts(names={"P01": "Owls", "P02": "Coin"}))
    page = match_page(named)
    view = played(named)
    assert [(seat.player.name, seat.mark and seat.mark.name, seat.points) for seat in view.seats] == [
        ("Owls", "X", 3),
        ("Coin", "O", 0),
    ]
    assert page.headline == "Owls won"
    assert view.note == "Owls has X in the cells 3, 4, 5"
    assert view.boards[1].caption == "1. Owls: 4"
    assert not any("P01" in sentence for sentence in page.why)


def test_a_game_of_others_shows_its_board_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "BUILT_IN", {"nim": league_nim.GAME})
    last = played(ended([{"P01": "3"}, {"P02": "2"}], "nim")).boards[-1]
    assert "".join(texts(last)[0]) == "|" * 10
    assert sum(cell.is_new for cell in last.rows[0]) == 2


@pytest.mark.parametrize(
    ("moves", "shown"),
    [
        ([], 1),
        ([{"P01": "9"}], 1),
        ([{"P01": ["4"]}], 1),
        ([{"P03": "4"}], 1),
        ([{}], 1),
        ([{"P01": "4"}, {"P01": "5"}], 2),
        ([{"P01": "4"}, 9], 2),
    ],
)
def test_moves_that_cannot_be_played_end_the_boards(moves: object, shown: int) -> None:
    assert len(played(ended(moves)).boards) == shown
    assert Renderer(Links()).match(match_page(ended(moves)))


@pytest.mark.parametrize("moves", [None, "4"])
def test_a_result_without_moves_has_no_boards(moves: object) -> None:
    assert play_view(ended(moves)) is None
    assert "figure" not in Renderer(Links()).match(match_page(ended(moves)))


def hidden_cards() -> MatchFacts:
    facts = ended([{"P01": "bet"}, {"P02": "call"}], "kuhn_poker")
    assert isinstance(facts.result, e.ResultAccepted)
    deal = kuhn_poker.DEALS.index(("K", "J"))
    result = structs.replace(facts.result, details={"moves": facts.result.details["moves"], "draws": [deal, deal]})
    return replace(facts, result=result)


def test_hidden_cards_are_on_the_page_after_the_end() -> None:
    boards = played(hidden_cards()).boards
    captions = [board.caption for board in boards]
    assert captions == ["Start", "Chance", "1. P01: bet", "2. P02: call", "Chance"]
    assert [board.number for board in boards] == [0, 0, 1, 2, 2], "chance is no move"
    assert [(hand.seat, hand.faces) for hand in boards[3].picture.hands] == [(0, ("K",)), (1, ("J",))]
    # In the second hand the players have swapped seats, and each keeps its own row.
    assert [(hand.seat, hand.faces) for hand in boards[4].picture.hands] == [(0, ("J",)), (1, ("K",))]


def test_hidden_cards_are_nowhere_before_the_end() -> None:
    rules = kuhn_poker.RULES
    state = rules.draw(rules.start(), kuhn_poker.DEALS.index(("K", "J")))
    state = rules.play(state, {0: "check"})
    shown = kuhn_poker.public_board(state)
    assert [hand.faces for hand in shown.hands] == [("",), ("",)]
    live = LiveMatch(("P01", "P02"), board=to_builtins(shown))
    facts = replace(hidden_cards(), result=None, status="ASSIGNED", live=live)
    html = Renderer(Links()).match(match_page(facts))
    assert html.count("face down") == 2
    assert not re.search(r">\s*[JQK]\s*<", html)
    folded = rules.play(rules.play(state, {1: "bet"}), {0: "fold"})
    assert "against" not in kuhn_poker.public_board(folded).text, "who folds shows no card"
    called = rules.play(rules.play(state, {1: "bet"}), {0: "call"})
    assert [hand.faces for hand in kuhn_poker.public_board(called).hands] == [("K",), ("J",)]


@pytest.mark.parametrize(
    "bets", [(), ("check",), ("bet",), ("check", "bet"), ("bet", "fold"), ("check", "bet", "fold")]
)
def test_what_everybody_sees_does_not_depend_on_hidden_cards(bets: tuple[str, ...]) -> None:
    seen = set()
    for deal in range(len(kuhn_poker.DEALS)):
        state = kuhn_poker.RULES.draw(kuhn_poker.RULES.start(), deal)
        for bet in bets:
            state = kuhn_poker.RULES.play(state, {len(state.current.bets) % 2: bet})
        seen.add(kuhn_poker.public_board(state))
    # Who folds says so, but neither card is shown.
    assert len(seen) == 1


def test_every_game_has_a_page_with_its_moves() -> None:
    throws = ended([{"P01": "rock", "P02": "paper"}], "rock_paper_scissors")
    assert [hand.faces for hand in played(throws).boards[-1].picture.hands] == [("rock",), ("paper",)]
    facts = ended(None, "even_odd")
    assert isinstance(facts.result, e.ResultAccepted)
    details = {"choices": {"P01": "even", "P02": "odd"}, "drawn_number": 4}
    drawn = replace(facts, result=structs.replace(facts.result, details=details))
    assert [hand.faces for hand in played(drawn).boards[-1].picture.hands] == [("even",), ("odd",), ("4",)]


def test_a_live_match_shows_its_board_and_who_is_asked() -> None:
    live = LiveMatch(("P01", "P02"), turns=({"P01": "4"}, {"P02": "0"}), clock={"P01": 61.0, "P02": 59.5})
    facts = replace(ended(WON), result=None, status="ASSIGNED", live=live)
    view = played(facts)
    assert view.is_live
    assert texts(view.boards[-1]) == [["O", "", ""], ["", "X", ""], ["", "", ""]]
    first, second = view.seats
    assert (first.status, first.clock, first.left_s) == ("is thinking", "1:01", 61)
    assert (second.status, second.clock, second.left_s) == ("", "0:59", None)
    piece = Renderer(Links()).part("live", view)
    assert (piece.count("<figure"), piece.count("<li data-at")) == (1, 2), "the last board, and all moves"
    page = Renderer(Links()).match(match_page(facts), "here-1")
    assert 'id="live-R1M1"' in page
    assert "nobody can see" not in page


def test_choices_made_at_once_are_in_the_order_of_the_seats() -> None:
    live = LiveMatch(("P01", "P02"), turns=({"P02": "paper", "P01": "rock"},))
    facts = ended(None, "rock_paper_scissors")
    board = played(replace(facts, result=None, status="ASSIGNED", live=live)).boards[-1]
    assert (board.movers, board.move) == ((0, 1), "rock · paper")
    assert board.caption == "1. P01: rock, P02: paper"


def test_a_choice_that_both_make_at_once_is_not_shown() -> None:
    facts = replace(ended(None, "even_odd"), result=None, status="ASSIGNED", live=LiveMatch(("P01", "P02"), ("P02",)))
    view = played(facts)
    assert [seat.status for seat in view.seats] == ["is thinking", "has chosen"]
    assert not view.has_boards


def test_a_match_that_is_being_played_says_what_the_manager_knows_and_what_it_does_not() -> None:
    given = e.MatchAssigned(at=AT, match_id="R1M1", referee_id="REF01", attempt=1)
    running = replace(ended(WON), result=None, status="ASSIGNED", manager=(given,), league=LeagueFacts(1, 206.0))
    page = match_page(running)
    assert not page.is_over
    assert "given to REF01 at 15:06:40 UTC" in page.pending
    assert "206 s" in page.pending
    assert "nobody can see here who has answered" in Renderer(Links()).match(page)
    assert page.play is None
    assert match_page(ended(WON)).pending == ""
