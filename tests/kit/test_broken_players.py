"""Players with one defect each: the check that names it fails, and no other does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.kit.defects import Defect, broken_by, failed, says, told, warned
from tests.kit.players import Conforming, checked
from tests.support.dialects import text
from tests.support.peer import SPEC, UNSUSPECTING, Received
from tests.support.scripts import (
    ABSENT,
    BANANA,
    HANG,
    HONEST,
    HUGE,
    MATCH_CALLS,
    RESET,
    Object,
    Reaction,
    always,
    on,
    refusal,
)


def refusing(is_disliked: Any, code: str = "E008") -> dict[str, Any]:
    return {"refuses": lambda request: code if is_disliked(request) else None}


def blind(*names: str) -> dict[str, Any]:
    return {"blind": frozenset(names)}


def _timestamp(request: Received) -> str:
    return str(request.message.get("timestamp", ""))


class Fragile(Conforming):
    """Never plays again once it has read something that is no JSON."""

    def _mistake(self, request: Received) -> Any:
        broke = any(not one.call for one in self.received)
        self.refuses = lambda one: "E099" if broke and one.kind in MATCH_CALLS else None
        return super()._mistake(request)


def _in_mcp_content(call: Object, message: Object) -> Object:
    return SPEC.answer(call, text(message))


MOVE = {"move_type": "throw"}
INVITED, CALLED, MOVED = "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"

DEFECTS = (
    # --- HTTP and JSON-RPC
    broken_by("HTTP.post_mcp", script=always(Reaction(status=404, reason="Not Found", body=b""))),
    broken_by("HTTP.status_200", script=on("GAME_OVER", Reaction(status=500, reason="Oops"))),
    broken_by("HTTP.status_200", note="for an error", script=on("make_coffee", Reaction(status=404))),
    broken_by("RPC.echoes_id", script=always(Reaction(rpc={"id": 99}))),
    broken_by("RPC.echoes_id", note="as a string", script=on("GAME_OVER", Reaction(rpc={"id": "7"}))),
    broken_by("RPC.echoes_id", note="without jsonrpc", script=on("GAME_OVER", Reaction(rpc={"jsonrpc": ABSENT}))),
    broken_by("RPC.one_answer", note="no JSON", script=on("ROUND_COMPLETED", BANANA)),
    broken_by("RPC.one_answer", note="both", script=on("ROUND_COMPLETED", Reaction(rpc={"error": {"code": 1}}))),
    broken_by("RPC.one_answer", note="neither", script=on("GAME_OVER", Reaction(rpc={"result": ABSENT}))),
    broken_by("RPC.one_answer", note="reset", script=on("ROUND_COMPLETED", RESET)),
    broken_by("RPC.ping", script=on("ping", refusal(-32601))),
    broken_by("RPC.object", **blind("RPC.object")),
    broken_by("RPC.batch", **blind("RPC.batch")),
    broken_by("RPC.bad_id", **blind("RPC.id")),
    broken_by("RPC.unknown_method", **blind("RPC.method")),
    broken_by("RPC.method_contradicts_type", **blind("E038")),
    broken_by("PLAYER.understands_calls", convention=replace(UNSUSPECTING, answer=_in_mcp_content)),
    broken_by("RPC.one_answer", note="without JSON-RPC", convention=replace(UNSUSPECTING, answer=lambda _, said: said)),
    broken_by("RPC.methods", **refusing(lambda one: one.method == INVITED, "E036")),
    broken_by("RPC.methods", note="of the call", **refusing(lambda one: one.method == "choose_parity", "E036")),
    # --- strict JSON
    *(
        broken_by(name, **blind(name))
        for name in (
            "JSON.utf8",
            "JSON.syntax",
            "JSON.duplicate_keys",
            "JSON.nul",
            "JSON.surrogates",
            "JSON.depth",
            "JSON.large_numbers",
        )
    ),
    broken_by("JSON.no_coercion", **blind("E007")),
    # --- reading
    broken_by("READING.null_is_absent", **blind("E003")),
    broken_by(
        "READING.null_is_absent",
        note="optional",
        **refusing(lambda one: one.kind == INVITED and one.message.get("attempt", 1) is None, "E003"),
    ),
    broken_by("READING.all_timestamp_forms", **refusing(lambda one: _timestamp(one).endswith("+00:00"), "E021")),
    broken_by("READING.clock_not_compared", **refusing(lambda one: _timestamp(one)[:4] in ("2001", "2099"), "E021")),
    broken_by("PLAYER.ignores_unknown_fields", **refusing(lambda one: "mood" in one.message)),
    # --- invitation
    broken_by("JOIN.in_time", script=on(INVITED, HANG), time_scale=5.0),
    broken_by("JOIN.in_time", note="refused", script=on(INVITED, refusal(-32603))),
    broken_by("JOIN.echoes_match_id", "PLAYER.several_matches", **says(INVITED, match_id="R9M9")),
    broken_by(
        "JOIN.echoes_match_id",
        note="another player",
        script=on(INVITED, HONEST, Reaction(fields={"player_id": "P77"})),
    ),
    broken_by("GAME_JOIN_ACK.match_id", **says(INVITED, match_id=ABSENT)),
    broken_by("GAME_JOIN_ACK.player_id", **says(INVITED, player_id="")),
    broken_by("GAME_JOIN_ACK.arrival_timestamp", **says(INVITED, arrival_timestamp="just now")),
    broken_by("GAME_JOIN_ACK.accept", **says(INVITED, accept="yes")),
    broken_by("ENVELOPE", script=on(INVITED, Reaction(rpc={"result": "yes"})), time_scale=4.0),
    broken_by("ENVELOPE.message_type", **says(INVITED, message_type="JOINED")),
    broken_by("ENVELOPE.protocol", **says(INVITED, protocol="league.v1")),
    broken_by("ENVELOPE.sender", **says(INVITED, sender="me")),
    broken_by("ENVELOPE.sender", note="another role", **says(CALLED, sender="referee:REF01")),
    broken_by("ENVELOPE.timestamp", **says(INVITED, timestamp="2025-06-01 10:00")),
    broken_by("ENVELOPE.conversation_id", **says(INVITED, conversation_id=5)),
    broken_by("ENVELOPE.auth_token", **says(CALLED, auth_token=7)),
    # --- choice
    broken_by("CHOICE.in_time", script=on(CALLED, HANG), time_scale=6.0),
    broken_by("CHOICE.echoes_match_id", "PLAYER.several_matches", **says(CALLED, match_id="R9M9")),
    broken_by("CHOOSE_PARITY_RESPONSE.match_id", **says(CALLED, match_id=ABSENT)),
    broken_by("CHOOSE_PARITY_RESPONSE.player_id", **says(CALLED, player_id=1)),
    broken_by("CHOOSE_PARITY_RESPONSE.provenance", **says(CALLED, provenance="a model")),
    broken_by("CHOOSE_PARITY_RESPONSE.signature", **says(CALLED, signature=["abc"])),
    broken_by("CHOOSE_PARITY_RESPONSE.parity_choice", "PLAYER.corrects", **says(CALLED, parity_choice="Even")),
    broken_by(
        "CHOOSE_PARITY_RESPONSE.parity_choice",
        note="by another name",
        **says(CALLED, parity_choice=ABSENT, choice="even"),
    ),
    broken_by(
        "PLAYER.same_answer_to_repeated_call",
        script=on(CALLED, HONEST, Reaction(fields={"parity_choice": "odd"})),
    ),
    broken_by("PLAYER.hears_its_referee_only", blind=frozenset({"E012"})),
    broken_by("PLAYER.plays_again", forgets=False),
    broken_by("MOVE.valid_option", **says(MOVED, move_data={**MOVE, "choice": "lizard"})),
    broken_by("GAME_MOVE_RESPONSE.match_id", **says(MOVED, match_id=ABSENT)),
    broken_by("GAME_MOVE_RESPONSE.player_id", **says(MOVED, player_id=ABSENT)),
    broken_by("GAME_MOVE_RESPONSE.move_data", **says(MOVED, move_data="rock")),
    broken_by("GAME_MOVE_RESPONSE.move_data.move_type", **says(MOVED, move_data={"choice": "rock"})),
    broken_by("GAME_MOVE_RESPONSE.move_data.choice", **says(MOVED, move_data={**MOVE, "choice": 1})),
    broken_by("GAME_MOVE_RESPONSE.move_data.talk", **says(MOVED, move_data={**MOVE, "choice": "rock", "talk": 1})),
    broken_by("GAME_MOVE_RESPONSE.provenance", **says(MOVED, provenance="a model")),
    broken_by("GAME_MOVE_RESPONSE.signature", **says(MOVED, signature="")),
    # --- notifications
    broken_by("BROADCAST.acknowledged", script=on("LEAGUE_STANDINGS_UPDATE", HANG), time_scale=5.0),
    broken_by("BROADCAST.acknowledged", note="refused", script=on("ROUND_COMPLETED", refusal(-32601))),
    broken_by("GAME_OVER.acknowledged", script=on("GAME_OVER", refusal(4005))),
    broken_by("GAME_ERROR.acknowledged", script=on("GAME_ERROR", refusal(-32601))),
    broken_by("LEAGUE_ERROR.acknowledged", script=on("LEAGUE_ERROR", refusal(-32601))),
    broken_by("KEEPING.repetition_harmless", script=on("GAME_OVER", HONEST, refusal(4005))),
    broken_by("ROUND_ANNOUNCEMENT_ACK.status", **says("ROUND_ANNOUNCEMENT", status="OK")),
    broken_by("ROUND_ANNOUNCEMENT_ACK.player_id", **says("ROUND_ANNOUNCEMENT", player_id="")),
    broken_by("ROUND_ANNOUNCEMENT_ACK.round_id", **says("ROUND_ANNOUNCEMENT", round_id=ABSENT)),
    broken_by("STANDINGS_UPDATE_ACK.status", **says("LEAGUE_STANDINGS_UPDATE", status="ok")),
    broken_by("STANDINGS_UPDATE_ACK.player_id", **says("LEAGUE_STANDINGS_UPDATE", player_id=1)),
    broken_by("STANDINGS_UPDATE_ACK.round_id", **says("LEAGUE_STANDINGS_UPDATE", round_id=ABSENT)),
    broken_by("ROUND_COMPLETED_ACK.status", **says("ROUND_COMPLETED", status=ABSENT)),
    broken_by("ROUND_COMPLETED_ACK.player_id", **says("ROUND_COMPLETED", player_id="")),
    broken_by("ROUND_COMPLETED_ACK.round_id", **says("ROUND_COMPLETED", round_id=ABSENT)),
    broken_by("LEAGUE_COMPLETED_ACK.status", **says("LEAGUE_COMPLETED", status="BYE")),
    broken_by("LEAGUE_COMPLETED_ACK.player_id", **says("LEAGUE_COMPLETED", player_id=True)),
    broken_by("GAME_OVER_ACK.status", **says("GAME_OVER", status=1)),
    broken_by("GAME_OVER_ACK.player_id", **says("GAME_OVER", player_id="")),
    broken_by("GAME_OVER_ACK.match_id", **says("GAME_OVER", match_id=ABSENT)),
    broken_by("GAME_ERROR_ACK.status", **says("GAME_ERROR", status="NOTED")),
    broken_by("GAME_ERROR_ACK.player_id", **says("GAME_ERROR", player_id="")),
    broken_by("GAME_ERROR_ACK.match_id", "ACK.own_type", **says("GAME_ERROR", match_id=5)),
    broken_by("LEAGUE_ERROR_ACK.status", **says("LEAGUE_ERROR", status="NOTED")),
    broken_by("LEAGUE_ERROR_ACK.player_id", **says("LEAGUE_ERROR", player_id="")),
    # --- habits
    broken_by("SIZE.replies", script=on("GAME_OVER", HUGE)),
    broken_by(
        "SIZE.from_the_manager",
        script=on("LEAGUE_STANDINGS_UPDATE", HONEST, HONEST, Reaction(status=413, body=b""), HONEST),
    ),
    broken_by("TOKEN.never_shown", leaks=True),
    # --- what is only recommended, or about requests that no document has: a warning, no failure
    broken_by("", "RPC.echoes_id", note="of a ping", script=on("ping", Reaction(rpc={"id": 7}))),
    broken_by("", "RPC.one_answer", "RPC.unknown_method", note="to coffee", script=on("make_coffee", RESET)),
    broken_by("", "BROADCAST.acknowledged", note="empty", script=on("ROUND_COMPLETED", Reaction(body=b""))),
    broken_by("", "PLAYER.answers_in_the_result", note="posted", script=on(MATCH_CALLS, Reaction(posted=True))),
    broken_by("", "RPC.tools_call", note="no tools", **refusing(lambda one: one.method == "tools/call", "E036")),
    broken_by("", "ACK.own_type", note="another type", **says("GAME_OVER", message_type="THANKS")),
    broken_by("", "ACK.own_type", note="another round", **says("ROUND_COMPLETED", round_id=9)),
    broken_by("", "CONVERSATION.echoed", note="own conversation", **says("GAME_OVER", conversation_id="mine")),
    broken_by("", "WRITING.timestamps", note="fractions", **says("GAME_OVER", timestamp="2025-06-01T10:00:00.5Z")),
    broken_by("", "HTTP.origin_and_host", note="any origin", **blind("403")),
    broken_by("", "HTTP.other_statuses", note="any method", **blind("405")),
    broken_by("", "ENVELOPE.sender", note="no sender in a reply", **says("GAME_OVER", sender=ABSENT)),
    broken_by("", "GAME_JOIN_ACK.accept", note="declines", **says(INVITED, accept=False)),
    broken_by("", "JOIN.in_time", note="slow", script=on(INVITED, Reaction(drip=(300, 1.5)), HONEST), time_scale=2.0),
    broken_by(
        "", "PLAYER.corrects", note="does not correct", script=on(CALLED, *[HONEST] * 14, refusal(-32603), HONEST)
    ),
)  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_broken_player_fails_the_check_that_names_its_defect(defect: Defect) -> None:
    report = checked(Conforming("Ada", **defect.player), defect.time_scale)
    assert failed(report) == defect.fails, told(report)
    assert warned(report) == defect.warned, told(report)


def test_a_player_that_ends_at_nonsense_is_named_with_what_ended_it() -> None:
    report = checked(Conforming("Ada", script=on("make_coffee", Reaction(ending="exit"))))
    assert failed(report) == {"PLAYER.survives_nonsense"}, told(report)
    assert "make_coffee" in told(report)


def test_a_player_that_breaks_on_nonsense_does_not_survive_it() -> None:
    assert failed(checked(Fragile("Ada"))) == {"PLAYER.survives_nonsense"}


class Chatty(Conforming):
    """Greets its opponent when a round is announced."""

    def honest(self, request: Received) -> Object:
        for match in request.message.get("matches", ()):
            greeting = self._call(match["player_B_endpoint"], {"message_type": "HELLO"})
            self._tasks.add(self._loop.create_task(greeting))
        return super().honest(request)


class Forgetful(Conforming):
    """Answers every question for the match it was invited to last, unless it is asked long after."""

    def honest(self, request: Received) -> Object:
        answer = super().honest(request)
        asked = str(request.message.get("match_id"))
        both = request.kind == CALLED and asked.startswith("R4M")
        return {**answer, "match_id": asked.replace("R4M", "R5M")} if both else answer


def test_a_player_that_calls_its_opponent_is_found_out() -> None:
    assert failed(checked(Chatty("Ada"))) == {"PLAYER.talks_to_no_player"}


def test_a_player_that_mixes_up_two_matches_is_found_out() -> None:
    report = checked(Forgetful("Ada"))
    assert (failed(report), warned(report)) == ({"CHOICE.echoes_match_id"}, {"PLAYER.several_matches"})
