"""Shared draws: the share leaves once, for choices and a seed that are stored; from then on the match is decided."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from league import events as e
from league.games import draw
from league.protocol.message.messages import DrawResponse, RoundAnnouncement
from league.reading import views
from tests.support.managed import LEAGUE, Managed, Object, code_of

SEED = bytes(range(32))


def league_of(referees: int = 1, players: int = 2, **meta: Any) -> Managed:
    league = Managed(players=players, referees=referees)
    for number in range(1, referees + 1):
        league.register("referee", number, **{"draw_scheme": "shared.v2", **meta})
    for number in range(1, players + 1):
        league.register("player", number)
    league.answer_pings()
    league.answer_all()
    return league


def promise(league: Managed) -> str:
    """The manager's promise, as the referee of R1M1 got it."""
    referee = league.manager.ledger.matches["R1M1"].referee_id or ""
    sent = league.told(referee, "ROUND_ANNOUNCEMENT")[-1].message
    assert isinstance(sent, RoundAnnouncement)
    return sent.matches[0].share_commitment or ""


def request(league: Managed, **changed: Any) -> Object:
    match = league.manager.ledger.matches["R1M1"]
    return {
        **league.envelope("DRAW_REQUEST", f"referee:{match.referee_id}"),
        "auth_token": league.tokens[match.referee_id or ""],
        "league_id": LEAGUE,
        "match_id": "R1M1",
        "attempt": match.attempt,
        "choices": {"P01": "even", "P02": "odd"},
        "draw_seed": SEED.hex(),
        "draw_commitment": draw.commitment(SEED, LEAGUE, "R1M1", match.attempt, promise(league)),
        **changed,
    }


def report(league: Managed, share: str, **changed: Any) -> Object:
    """The report that follows from the draw."""
    match = league.manager.ledger.matches["R1M1"]
    number = draw.number(draw.mixed(SEED, bytes.fromhex(share)), LEAGUE, "R1M1", match.attempt)
    winner = "A" if number % 2 == 0 else "B"
    message = league.report_of("R1M1", winner)
    message["result"]["details"] |= {
        "choices": {"P01": "even", "P02": "odd"},
        "drawn_number": number,
        "draw_seed": SEED.hex(),
        "draw_commitment": draw.commitment(SEED, LEAGUE, "R1M1", match.attempt, match.current.share_commitment),
        "draw_share": share,
        "share_commitment": match.current.share_commitment,
        **changed,
    }
    return message


@pytest.mark.requirement("DRAW.shared")
def test_the_share_is_promised_with_the_assignment_and_released_once_for_a_stored_request() -> None:
    league = league_of()
    promised = promise(league)
    answer = league.request(request(league))
    assert isinstance(answer, DrawResponse)
    assert draw.commitment(bytes.fromhex(answer.draw_share), LEAGUE, "R1M1", 1) == promised
    (released,) = league.of(e.DrawReleased)
    assert (released.draw_share, released.handed_in) == (
        answer.draw_share,
        {"choices": {"P01": "even", "P02": "odd"}},
    )
    league.restart()
    again = league.request(request(league))
    assert isinstance(again, DrawResponse)
    assert again.draw_share == answer.draw_share
    assert len(league.of(e.DrawReleased)) == 1


@pytest.mark.requirement("DRAW.shared")
def test_the_journal_does_not_hold_the_share_before_it_is_released() -> None:
    league = league_of()
    share = league.secrets["share/R1M1/1"]
    assert all(share not in repr(event) for event in league.events)


@pytest.mark.requirement("DRAW.shared")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"draw_seed": bytes(32).hex()}, "E039"),
        ({"draw_seed": "no seed"}, "E039"),
        ({"draw_commitment": draw.commitment(SEED, LEAGUE, "R1M1", 1)}, "E039"),
        ({"choices": {"P01": "even"}}, "E039"),
        ({"choices": {"P01": "even", "P02": "Odd"}}, "E039"),
        ({"choices": {"P01": "even", "P03": "odd"}}, "E039"),
        ({"attempt": 2}, "E016"),
        ({"match_id": "R9M9"}, "E014"),
    ],
    ids=str,
)
def test_a_wrong_request_gets_no_share(changed: dict[str, Any], code: str) -> None:
    league = league_of()
    assert code_of(league.request(request(league, **changed))) == code
    assert league.of(e.DrawReleased) == []


def test_nobody_else_gets_a_share() -> None:
    league = league_of()
    player = {"sender": "player:P01", "auth_token": league.tokens["P01"]}
    assert code_of(league.request(request(league, **player))) != ""
    assert league.of(e.DrawReleased) == []


@pytest.mark.requirement("DRAW.shared")
def test_a_different_request_is_a_conflict_and_the_match_is_doubted() -> None:
    league = league_of()
    answer = league.request(request(league))
    assert isinstance(answer, DrawResponse)
    assert code_of(league.request(request(league, choices={"P01": "odd", "P02": "even"}))) == "E040"
    assert code_of(league.request(report(league, answer.draw_share))) == ""
    match = views.match(league.manager, "R1M1") or {}
    assert match["evidence"] == "by_referee"
    assert "handed in two different draws" in match["doubt"]


@pytest.mark.requirement("DRAW.shared")
def test_the_report_that_follows_is_accepted() -> None:
    league = league_of()
    answer = league.request(request(league))
    assert isinstance(answer, DrawResponse)
    assert code_of(league.request(report(league, answer.draw_share))) == ""
    (result,) = league.of(e.ResultAccepted)
    assert result.verified


@pytest.mark.requirement("DRAW.shared")
@pytest.mark.parametrize(
    "changed",
    [
        {"choices": {"P01": "odd", "P02": "even"}},
        {"drawn_number": None, "status": "TECHNICAL_LOSS", "faults": {"P01": {"code": "E001"}}},
        {"draw_seed": bytes(32).hex()},
    ],
    ids=["choices", "loss", "seed"],
)
def test_a_report_that_says_something_else_is_refused_and_the_manager_decides(changed: dict[str, Any]) -> None:
    league = league_of()
    answer = league.request(request(league))
    assert isinstance(answer, DrawResponse)
    right = report(league, answer.draw_share)["result"]["winner"]
    assert code_of(league.request(report(league, answer.draw_share, **changed))) == "E040"
    (result,) = league.of(e.ResultAccepted)
    assert result.winner == right
    match = views.match(league.manager, "R1M1") or {}
    assert match["evidence"] == "by_referee"
    assert "handed in two different draws" in match["doubt"]


@pytest.mark.requirement("DRAW.shared")
def test_a_match_that_was_decided_after_a_wrong_report_is_not_decided_again() -> None:
    league = league_of(referees=2, players=4)
    answer = league.request(request(league))
    assert isinstance(answer, DrawResponse)
    assert code_of(league.request(report(league, answer.draw_share, draw_seed=bytes(32).hex()))) == "E040"
    # The other match of the round goes on until every lease has run out.
    for _ in range(200):
        league.answer_pings()
        league.wait(5)
    assert [result.match_id for result in league.of(e.ResultAccepted)] == ["R1M1"]
    assert league.of(e.MatchLost), "the lease of the other match has run out"


@pytest.mark.requirement("DRAW.shared")
def test_a_match_whose_referee_is_lost_after_the_draw_is_decided_and_not_played_again() -> None:
    league = league_of(referees=2)
    answer = league.request(request(league))
    assert isinstance(answer, DrawResponse)
    lost = league.manager.ledger.matches["R1M1"].referee_id or ""
    league.restart()
    for _ in range(600):
        league.answer_pings(but=[lost])
        league.answer_all(but=[lost])
        if league.of(e.ResultAccepted):
            break
        league.wait(1)
    (result,) = league.of(e.ResultAccepted)
    assert result.attempt == 1
    assert result.winner == report(league, answer.draw_share)["result"]["winner"]
    assert len(league.of(e.MatchAssigned)) == 1


@pytest.mark.parametrize(
    ("game", "scheme", "is_shared"),
    [
        ("even_odd", "shared.v2", True),
        ("even_odd", "shared.v1", True),
        ("even_odd", None, False),
        ("kuhn_poker", "shared.v2", True),
        ("kuhn_poker", "shared.v1", False),
        ("tic_tac_toe", "shared.v2", True),
    ],
    ids=str,
)
def test_draws_are_shared_in_every_game_if_the_referee_can(game: str, scheme: str | None, is_shared: bool) -> None:
    league = Managed(players=2, game_type=game)
    answer = league.register("referee", 1, draw_scheme=scheme, game_types=[game])
    for number in (1, 2):
        league.register("player", number, game_types=[game])
    league.answer_pings()
    league.answer_all()
    assert getattr(answer, "draw_scheme", None) == (scheme if is_shared else None)
    assert bool(promise(league)) is is_shared
    if not is_shared:
        refused = request(league, draw_commitment=draw.commitment(SEED, LEAGUE, "R1M1", 1))
        assert code_of(league.request(refused)) == "E023"


# --- games in which choices follow ------------------------------------------------------------------------------------


def dealing(referees: int = 2) -> Managed:
    """A league of Kuhn poker, in which the cards are dealt before anybody chooses."""
    league = Managed(players=2, referees=referees, game_type="kuhn_poker")
    for number in range(1, referees + 1):
        league.register("referee", number, draw_scheme="shared.v2", game_types=["kuhn_poker"])
    for number in (1, 2):
        league.register("player", number, game_types=["kuhn_poker"])
    league.answer_pings()
    league.answer_all()
    return league


def dealt(league: Managed, **changed: Any) -> Any:
    return league.request(request(league, **{"choices": {"P01": None, "P02": None}, "moves": [], **changed}))


@pytest.mark.requirement("DRAW.shared")
def test_the_cards_are_dealt_with_a_share_before_anybody_chooses() -> None:
    league = dealing()
    assert code_of(dealt(league, moves=[{"P01": "bet"}])) == "E039"
    answer = dealt(league)
    assert isinstance(answer, DrawResponse)
    assert draw.commitment(bytes.fromhex(answer.draw_share), LEAGUE, "R1M1", 1) == promise(league)


@pytest.mark.requirement("DRAW.shared")
def test_a_match_that_is_lost_after_its_cards_were_dealt_is_played_again_and_known_to_be() -> None:
    league = dealing()
    assert isinstance(dealt(league), DrawResponse)
    lost = league.manager.ledger.matches["R1M1"].referee_id or ""
    first = promise(league)
    for _ in range(600):
        league.answer_pings(but=[lost])
        league.answer_all(but=[lost])
        if len(league.of(e.MatchAssigned)) > 1:
            break
        league.wait(1)
    again = league.of(e.MatchAssigned)[-1]
    assert again.attempt == 2
    assert again.share_commitment not in ("", first)
    assert league.of(e.ResultAccepted) == []
    assert league.manager.ledger.matches["R1M1"].first_drawn == 1


# --- which referee gets a match ---------------------------------------------------------------------------------------


def named_by(seed: int, referees: int = 3, players: int = 6, **meta: Any) -> dict[str, str]:
    """The referees that this seed draws for the matches of a league."""
    league = Managed(players=players, referees=referees, secrets={"assignment_seed": f"{seed:064x}"})
    for number in range(1, referees + 1):
        league.register("referee", number, **meta)
    for number in range(1, players + 1):
        league.register("player", number)
    league.answer_pings()
    (named,) = league.of(e.RefereesNamed)
    return named.referees


@pytest.mark.requirement("ASSIGNMENT.by_lot")
def test_the_seed_alone_decides_which_referee_gets_which_match() -> None:
    assert named_by(1) == named_by(1)
    drawn = {named_by(seed)["R1M1"] for seed in range(20)}
    assert drawn == {"REF01", "REF02", "REF03"}


@pytest.mark.requirement("ASSIGNMENT.by_lot")
def test_a_round_is_shared_out_evenly() -> None:
    for seed in range(5):
        referees = named_by(seed)
        for round_id in range(1, 6):
            of_round = [referee for match_id, referee in referees.items() if match_id.startswith(f"R{round_id}M")]
            assert sorted(of_round) == ["REF01", "REF02", "REF03"]


@pytest.mark.requirement("ASSIGNMENT.by_lot")
def test_a_referee_that_came_in_openly_never_gets_more_than_its_even_share() -> None:
    league = Managed(players=6, referees=2)
    league.register("referee", 1, max_concurrent_matches=10, enrolment_key=None)
    league.register("referee", 2, max_concurrent_matches=1)
    for number in range(1, 7):
        league.register("player", number)
    league.answer_pings()
    (named,) = league.of(e.RefereesNamed)
    assert league.manager.ledger.roster.members["REF01"].as_referee.came_openly
    for round_id in range(1, 6):
        of_round = [referee for match_id, referee in named.referees.items() if match_id.startswith(f"R{round_id}M")]
        assert of_round.count("REF01") == 2


@pytest.mark.requirement("ASSIGNMENT.by_lot")
def test_every_registration_is_answered_with_the_digest_of_the_seed() -> None:
    league = Managed(players=2, secrets={"assignment_seed": "ab" * 32})
    digest = hashlib.sha256(bytes.fromhex("ab" * 32)).hexdigest()
    for role in ("referee", "player"):
        assert league.register(role, 1).assignment_digest == digest
    league.restart()
    assert league.register("player", 2).assignment_digest == digest


def test_a_new_league_has_a_seed_of_its_own_which_is_no_event() -> None:
    league = Managed(players=2)
    assert all(league.secrets["assignment_seed"] not in repr(event) for event in league.events)
