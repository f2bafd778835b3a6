"""What a result rests on: the manager checks signatures, promises and seed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from league import events as e
from league.games import draw
from league.games.evidence import SUSPICIOUS, AssignedMatch
from league.hosting import narration
from league.protocol.signing.keys import sign
from league.reading import views
from tests.support.managed import LEAGUE, Managed, Object, code_of
from tests.support.player_keys import key_of, signature, statement


def league_of(*declared: bool) -> Managed:
    """A league of two players, which declare a key or not, with one open match."""
    league = Managed(players=2)
    league.register("referee", 1, draw_scheme="shared.v2")
    for number, signs in enumerate(declared, start=1):
        declared_key = {"public_key": key_of(f"P{number:02}").public} if signs else {}
        league.register("player", number, **declared_key)
    league.answer_pings()
    league.answer_all()
    return league


def played(league: Managed) -> AssignedMatch:
    """The match as its players know it."""
    match = league.manager.ledger.matches["R1M1"]
    key = league.manager.ledger.manager_key
    return AssignedMatch(
        LEAGUE, "R1M1", 1, match.players, match.current.share_commitment, match.referee_id or "", manager_key=key
    )


def drawn(seed: bytes, share: str) -> int:
    return draw.number(draw.mixed(seed, bytes.fromhex(share)), LEAGUE, "R1M1", 1)


def signed_report(league: Managed, *signers: str, winner: str | None = "A") -> Object:
    report = league.report_of("R1M1", winner)
    details = report["result"]["details"]
    share = league.secrets["share/R1M1/1"]
    commitment = league.manager.ledger.matches["R1M1"].current.share_commitment
    seeds = (bytes([byte] * 32) for byte in range(256))
    right = (seed for seed in seeds if drawn(seed, share) == details["drawn_number"] or details["drawn_number"] is None)
    seed = next(right)
    promise = draw.commitment(seed, LEAGUE, "R1M1", 1, commitment)
    details |= {"draw_seed": seed.hex(), "draw_share": share}
    details["draw_commitment"] = promise
    details["signatures"] = {
        player: signature(played(league), "even_odd", player, promise, [details["choices"][player]])
        for player in signers
    }
    return report


def shown(league: Managed) -> Object:
    match = views.match(league.manager, "R1M1")
    assert match is not None
    assert "verified" not in match
    return match


@pytest.mark.requirement("EVIDENCE.proven")
def test_a_result_that_both_signed_is_proven() -> None:
    league = league_of(True, True)
    assert code_of(league.request(signed_report(league, "P01", "P02"))) == ""
    assert (shown(league)["evidence"], shown(league)["unsigned"], shown(league)["doubt"]) == ("proven", [], "")
    assert views.standings(league.manager)["by_word"] == []
    (judged,) = league.of(e.ResultJudged)
    assert judged.evidence == "proven"
    league.restart()
    assert shown(league)["evidence"] == "proven"


@pytest.mark.requirement("EVIDENCE.proven")
def test_nobody_says_what_a_result_rests_on_before_its_round_is_over() -> None:
    league = Managed(players=4)
    league.register("referee", 1, draw_scheme="shared.v2")
    for number in range(1, 5):
        league.register("player", number)
    league.answer_pings()
    league.answer_all()
    first, second = sorted(league.open_matches)
    league.report(first)
    assert (views.match(league.manager, first) or {})["evidence"] is None
    league.report(second)
    assert (views.match(league.manager, first) or {})["evidence"] == "by_referee"
    kinds = [type(event) for event in league.journal]
    assert kinds.index(e.ResultJudged) < kinds.index(e.RoundFinished)


@pytest.mark.requirement("EVIDENCE.words")
@pytest.mark.requirement("EVIDENCE.harmless")
@pytest.mark.parametrize("signers", [(), ("P01",), ("P02",)])
def test_a_missing_signature_leaves_the_referees_word_and_costs_nothing(signers: tuple[str, ...]) -> None:
    league = league_of(True, True)
    assert code_of(league.request(signed_report(league, *signers))) == ""
    unsigned = [player for player in ("P01", "P02") if player not in signers]
    assert (shown(league)["evidence"], shown(league)["unsigned"]) == ("by_referee", unsigned)
    assert shown(league)["points"] == {"P01": 3, "P02": 0}
    assert views.standings(league.manager)["by_word"] == ["R1M1"]


@pytest.mark.requirement("EVIDENCE.proven")
def test_signatures_of_a_player_that_declared_no_key_do_not_count() -> None:
    league = league_of(True, False)
    league.request(signed_report(league, "P01", "P02"))
    assert (shown(league)["evidence"], shown(league)["unsigned"]) == ("by_referee", ["P02"])


@pytest.mark.requirement("EVIDENCE.harmless")
def test_two_players_that_sign_and_a_match_without_signatures_are_suspicious() -> None:
    league = league_of(True, True)
    assert code_of(league.request(signed_report(league))) == ""
    assert shown(league)["doubt"] == SUSPICIOUS
    assert shown(league)["points"] == {"P01": 3, "P02": 0}


@pytest.mark.requirement("EVIDENCE.harmless")
@pytest.mark.parametrize(
    "change",
    [
        {"attempt": 2},
        {"match_id": "R1M2"},
        {"league_id": "another"},
        {"opponent_id": "P03"},
        {"game_type": "tic_tac_toe"},
        {"choices": ("even",)},
        {"choices": ("odd", "odd")},
        {"draw_commitment": "ab" * 32},
        {"share_commitment": "ab" * 32},
        {"manager_key": "ab" * 32},
        {"views": "ab" * 32},
        {"type": "league.v2 round"},
    ],
    ids=str,
)
def test_a_wrong_signature_is_reported_with_both_names(change: dict[str, Any]) -> None:
    league = league_of(True, True)
    report = signed_report(league, "P01", "P02")
    details = report["result"]["details"]
    right = statement(played(league), "even_odd", "P02", details["draw_commitment"], ["odd"])
    details["signatures"]["P02"] = sign(key_of("P02"), structs.replace(right, **change))
    assert code_of(league.request(report)) == ""
    assert shown(league)["evidence"] == "by_referee"
    assert shown(league)["doubt"] == "the signature of P02 does not fit: P02 or REF01 may have spoiled it"


@pytest.mark.requirement("EVIDENCE.proven")
def test_another_key_than_the_declared_one_proves_nothing() -> None:
    league = league_of(True, True)
    report = signed_report(league, "P01", "P02")
    details = report["result"]["details"]
    what = (details["draw_commitment"], ["odd"])
    details["signatures"]["P02"] = signature(played(league), "even_odd", "P02", *what, key=key_of("somebody"))
    league.request(report)
    assert shown(league)["evidence"] == "by_referee"


@pytest.mark.requirement("EVIDENCE.proven")
def test_a_swapped_choice_is_not_proven() -> None:
    league = league_of(True, True)
    report = signed_report(league, "P01", "P02")
    report["result"]["details"]["choices"] = {"P01": "odd", "P02": "even"}
    report["result"] |= {"winner": "P02", "score": {"P01": 0, "P02": 3}}
    assert code_of(league.request(report)) == ""
    assert shown(league)["evidence"] == "by_referee"


@pytest.mark.requirement("EVIDENCE.proven")
@pytest.mark.parametrize("number", [2, 6])
def test_a_seed_that_was_ground_after_the_choices_is_not_proven(number: int) -> None:
    league = league_of(True, True)
    report = signed_report(league, "P01", "P02")
    details = report["result"]["details"]
    # The referee shows another seed, which gives another number, and keeps the commitment that the players signed.
    details |= {
        "drawn_number": number,
        "draw_seed": league.report_of("R1M1")["result"]["details"]["draw_seed"][:-2] + "00",
    }
    assert code_of(league.request(report)) == ""
    assert shown(league)["evidence"] == "by_referee"
    assert "not fixed before" in shown(league)["doubt"]


@pytest.mark.requirement("EVIDENCE.proven")
@pytest.mark.parametrize("signatures", [{"P01": 7}, {"P01": "x" * 86, "P02": "é" * 86}, {"P03": ["x"]}, {}], ids=repr)
def test_signatures_of_any_shape_do_no_harm(signatures: Any) -> None:
    league = league_of(True, True)
    report = signed_report(league, "P01", "P02")
    report["result"]["details"]["signatures"] = signatures
    assert code_of(league.request(report)) == ""
    assert shown(league)["evidence"] == "by_referee"


@pytest.mark.requirement("EVIDENCE.words")
def test_a_loss_that_only_the_referee_saw_is_by_its_word() -> None:
    league = league_of(True, True)
    assert code_of(league.request(signed_report(league, winner="-B"))) == ""
    assert (shown(league)["evidence"], shown(league)["doubt"]) == ("by_referee", "nobody else saw the technical loss")


def test_a_walkover_is_by_the_manager() -> None:
    league = league_of(True, True)
    league.operate("withdraw", "P02")
    assert shown(league)["evidence"] == "by_manager"


@pytest.mark.requirement("PROTEST.ignored")
def test_a_protest_of_an_older_player_is_acknowledged_and_ignored() -> None:
    league = league_of(True, True)
    league.request(signed_report(league, "P01", "P02"))
    before = len(league.journal)
    answer = league.query("P02", "PROTEST", match_id="R1M1", attempt=1, why="not so", draw_commitment="ab" * 32)
    assert (answer.success, answer.data) == (True, {"match_id": "R1M1", "recorded": False})
    assert (len(league.journal), shown(league)["evidence"]) == (before, "proven")


# --- keys -------------------------------------------------------------------------------------------------------------


def keys_in(league: Managed) -> dict[str, str]:
    return {player.agent_id: player.credentials.public_key for player in league.manager.ledger.roster.of_role("player")}


@pytest.mark.requirement("LEAGUE_REGISTER_REQUEST.player_meta.public_key")
def test_an_assignment_is_stored_with_the_keys_in_force() -> None:
    league = league_of(True, False)
    (assigned,) = league.of(e.MatchAssigned)
    assert assigned.keys == {"P01": key_of("P01").public}


@pytest.mark.parametrize(
    "key", ["00" * 32, "01" + "00" * 31, "ab" * 31, key_of("P01").public.upper(), "a key"], ids=lambda key: key[:8]
)
def test_a_key_that_is_none_is_ignored_and_its_author_told(key: str) -> None:
    league = Managed(players=2)
    answer = league.register("player", 1, public_key=key)
    assert (answer.status, keys_in(league)) == ("ACCEPTED", {"P01": ""})
    assert "public_key is ignored" in (answer.findings or "")


def test_whoever_knows_only_name_and_address_does_not_replace_a_key() -> None:
    league = league_of(True, True)
    before = keys_in(league)
    own = league.tokens["P01"]
    answer = league.register("player", 1, public_key=key_of("somebody").public)
    assert keys_in(league) == before
    assert "your results rest on the referee's word" in (answer.findings or "")
    assert 'P01 "Player 1" came back without its journal, with another signing key: ' in told(league)
    answer = league.register("player", 1, auth_token=own, public_key=key_of("P01 again").public)
    assert keys_in(league) != before
    assert (answer.findings, told(league)) == (None, "")


def told(league: Managed) -> str:
    """What the manager says of the newest registration."""
    return narration.MANAGER[e.TokenRenewed](league.manager, league.of(e.TokenRenewed)[-1])
