"""What a result rests on: the manager checks receipts, commitment and seed, and keeps protests."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from league import events as e
from league.games import draw
from league.protocol import tokens
from league.protocol.receipts import Signed, receipt_key, sign
from league.reports import views
from tests.support.managed import LEAGUE, Managed, Object, code_of

DECLARED = {"receipts": "receipt.v1"}


def league_of(*declared: bool) -> Managed:
    """A league of two players, which declare receipts or not, with one open match."""
    league = Managed(players=2)
    league.register("referee", 1)
    for number, signs in enumerate(declared, start=1):
        league.register("player", number, **(DECLARED if signs else {}))
    league.answer_pings()
    league.answer_all()
    return league


def receipt(league: Managed, player: str, choice: str, commitment: str, **changed: Any) -> str:
    opponent = {"P01": "P02", "P02": "P01"}[player]
    fields = {"attempt": 1, "turn": 1, "key": tokens.deriver(league.tokens[player]), **changed}
    signed = Signed(LEAGUE, "R1M1", fields["attempt"], "even_odd", player, opponent, fields["turn"], commitment)
    return sign(receipt_key(fields["key"], player, LEAGUE, "R1M1", fields["attempt"]), signed, choice)


def signed_report(league: Managed, *signers: str, winner: str | None = "A") -> Object:
    report = league.report_of("R1M1", winner)
    details = report["result"]["details"]
    promise = draw.commitment(bytes.fromhex(details["draw_seed"]), LEAGUE, "R1M1", 1)
    details["draw_commitment"] = promise
    details["receipts"] = {
        player: [receipt(league, player, details["choices"][player], promise) if player in signers else None]
        for player in ("P01", "P02")
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
    (result,) = league.of(e.ResultAccepted)
    assert result.evidence == "proven"


@pytest.mark.requirement("EVIDENCE.words")
@pytest.mark.requirement("EVIDENCE.harmless")
@pytest.mark.parametrize("signers", [(), ("P01",), ("P02",)])
def test_a_missing_receipt_leaves_the_referees_word_and_costs_nothing(signers: tuple[str, ...]) -> None:
    league = league_of(True, True)
    assert code_of(league.request(signed_report(league, *signers))) == ""
    unsigned = [player for player in ("P01", "P02") if player not in signers]
    assert (shown(league)["evidence"], shown(league)["unsigned"]) == ("by_referee", unsigned)
    assert shown(league)["points"] == {"P01": 3, "P02": 0}
    assert views.standings(league.manager)["by_word"] == ["R1M1"]


@pytest.mark.requirement("EVIDENCE.proven")
def test_receipts_of_a_player_that_declared_none_do_not_count() -> None:
    league = league_of(True, False)
    league.request(signed_report(league, "P01", "P02"))
    assert (shown(league)["evidence"], shown(league)["unsigned"]) == ("by_referee", ["P02"])


@pytest.mark.requirement("EVIDENCE.harmless")
@pytest.mark.parametrize(
    "change",
    [{"attempt": 2}, {"turn": 2}, {"key": "00" * 32}, {"choice": "even"}, {"commitment": "ab" * 32}],
    ids=str,
)
def test_a_wrong_receipt_is_reported_with_both_names(change: dict[str, Any]) -> None:
    league = league_of(True, True)
    report = signed_report(league, "P01", "P02")
    details = report["result"]["details"]
    fields = {"choice": "odd", "commitment": details["draw_commitment"], **change}
    choice, commitment = fields.pop("choice"), fields.pop("commitment")
    details["receipts"]["P02"] = [receipt(league, "P02", choice, commitment, **fields)]
    assert code_of(league.request(report)) == ""
    assert shown(league)["evidence"] == "by_referee"
    assert shown(league)["doubt"] == "the receipt of P02 does not fit: P02 or REF01 may have spoiled it"


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
@pytest.mark.parametrize("receipts", [7, [], {"P01": 7}, {"P01": [7], "P02": ["x"]}, {"P03": ["x"]}], ids=str)
def test_receipts_of_any_shape_do_no_harm(receipts: Any) -> None:
    league = league_of(True, True)
    report = signed_report(league, "P01", "P02")
    report["result"]["details"]["receipts"] = receipts if isinstance(receipts, dict) else {"P01": receipts}
    assert code_of(league.request(report)) == ""
    assert shown(league)["evidence"] == "by_referee"


@pytest.mark.requirement("EVIDENCE.proven")
def test_a_loss_is_confirmed_if_the_player_signed_that_it_declines() -> None:
    league = league_of(True, True)
    report = signed_report(league, winner="-B")
    details = report["result"]["details"]
    assert code_of(league.request(report)) == ""
    assert shown(league)["evidence"] == "loss_by_referee"
    league = league_of(True, True)
    signed = receipt(league, "P02", "-decline", details["draw_commitment"], turn=0)
    details["faults"]["P02"]["receipt"] = signed
    report["auth_token"] = league.tokens["REF01"]
    assert code_of(league.request(report)) == ""
    assert shown(league)["evidence"] == "loss_confirmed"


def test_a_walkover_is_by_the_manager() -> None:
    league = league_of(True, True)
    league.operate("withdraw", "P02")
    assert shown(league)["evidence"] == "by_manager"


# --- protests ---------------------------------------------------------------------------------------------------------


def protest(league: Managed, player: str, choice: str | None = None, **changed: Any) -> Any:
    promise = draw.commitment(
        bytes.fromhex(league.report_of("R1M1")["result"]["details"]["draw_seed"]), LEAGUE, "R1M1", 1
    )
    claims = None
    if choice is not None:
        claims = [{"turn": 1, "choice": choice, "receipt": receipt(league, player, choice, promise)}]
    params = {"match_id": "R1M1", "attempt": 1, "why": "not so", "receipts": claims, "draw_commitment": promise}
    sent = {name: value for name, value in {**params, **changed}.items() if value is not None}
    return league.query(player, "PROTEST", **sent)


@pytest.mark.requirement("PROTEST.kept")
def test_a_protest_is_kept_and_shown_once_and_changes_nothing() -> None:
    league = league_of(True, True)
    league.request(signed_report(league, "P01"))
    table = views.standings(league.manager)["standings"]
    assert protest(league, "P02", "even").data == {"match_id": "R1M1", "attempt": 1, "recorded": True}
    assert protest(league, "P02", "even", why="really").data["recorded"] is False
    (kept,) = shown(league)["protests"]
    assert (kept["player_id"], kept["why"], kept["signed"]) == ("P02", "not so", {1: "even"})
    assert shown(league)["evidence"] == "by_referee"
    assert views.standings(league.manager)["standings"] == table
    league.restart()
    assert len(shown(league)["protests"]) == 1


@pytest.mark.requirement("PROTEST.kept")
def test_a_receipt_that_is_not_right_proves_nothing() -> None:
    league = league_of(True, False)
    league.request(signed_report(league, "P01"))
    protest(league, "P02", "even")
    (kept,) = shown(league)["protests"]
    assert kept["signed"] == {}


@pytest.mark.requirement("EVIDENCE.harmless")
@pytest.mark.parametrize("first", ["report", "protest"])
def test_two_right_receipts_for_one_turn_make_the_match_disputed(first: str) -> None:
    league = league_of(True, True)
    if first == "protest":
        protest(league, "P02", "even")
    league.request(signed_report(league, "P01", "P02"))
    if first == "report":
        assert shown(league)["evidence"] == "proven"
        protest(league, "P02", "even")
    assert shown(league)["evidence"] == "disputed"
    assert shown(league)["doubt"] == "P02 signed even and odd in turn 1"
    assert shown(league)["winner"] == "P01"
    league.operate("replay-match", "R1M1")
    assert shown(league)["evidence"] is None


def test_a_player_that_agrees_makes_no_dispute() -> None:
    league = league_of(True, True)
    league.request(signed_report(league, "P01", "P02"))
    protest(league, "P02", "odd", why="asked again for turn 1")
    assert shown(league)["evidence"] == "proven"
    assert shown(league)["protests"] == []


def test_that_it_was_asked_again_is_shown_if_the_player_lost_for_that() -> None:
    league = league_of(True, True)
    protest(league, "P02", "odd", why="asked again for turn 1")
    league.request(signed_report(league, winner="-B"))
    (kept,) = shown(league)["protests"]
    assert (kept["why"], kept["signed"]) == ("asked again for turn 1", {1: "odd"})


@pytest.mark.requirement("PROTEST.kept")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"match_id": "R9M9"}, "E014"),
        ({"match_id": None}, "E003"),
        ({"why": None}, "E003"),
        ({"attempt": 2}, "E016"),
        ({"why": "x" * 5000}, "E037"),
    ],
    ids=str,
)
def test_a_wrong_protest_is_refused(changed: dict[str, Any], code: str) -> None:
    league = league_of(True, True)
    answer = protest(league, "P02", **changed)
    assert answer.success is False
    assert answer.error.error_code == code
    assert league.of(e.ProtestReceived) == []


@pytest.mark.requirement("PROTEST.kept")
def test_only_a_player_of_the_match_with_its_own_token_may_protest() -> None:
    league = Managed(players=3)
    league.register("referee", 1)
    for number in (1, 2, 3):
        league.register("player", number, **DECLARED)
    league.answer_pings()
    league.answer_all()
    outsider = next(p for p in ("P01", "P02", "P03") if p not in league.manager.ledger.matches["R1M1"].players)
    for sender in (outsider, "REF01"):
        answer = league.query(sender, "PROTEST", match_id="R1M1", attempt=1, why="not so")
        assert answer.error is not None
        assert answer.error.error_code == "E032"
    player = league.manager.ledger.matches["R1M1"].player_a
    # A token that was issued for name and address alone is for queries only.
    league.register("player", int(player[1:]), **DECLARED)
    answer = league.query(player, "PROTEST", match_id="R1M1", attempt=1, why="not so")
    assert answer.error is not None
    assert answer.error.error_code == "E032"


def test_a_journal_holds_the_digest_of_every_key() -> None:
    league = league_of(True, True)
    for event in league.of(e.AgentRegistered):
        key = league.secrets[f"derive/{event.agent_id}/1"]
        assert event.key_digest == hashlib.sha256(bytes.fromhex(key)).hexdigest()
