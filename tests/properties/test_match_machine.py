"""A referee among players, managers and strangers that do whatever comes to mind, and a process that dies at will."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from league import events as e
from league.games import draw
from league.machine import Blame, Failure, Ping, Pong, Refusal
from league.protocol.message.messages import GameMoveCall, GameOver
from league.referee.match import MAX_REFUSED_ANSWERS
from tests.support.checked_draws import verify
from tests.support.examples import examples
from tests.support.referee_rig import (
    CALLS,
    HOSTS,
    LEAGUE,
    LEFT_OUT,
    PLAYERS,
    START,
    Rig,
    Sent,
    announced,
    answer_token,
    of_manager,
    plain,
)

MATCHES = {
    "R1M1": ("P01", "P02", "even_odd"),
    "R1M2": ("P03", "P04", "rock_paper_scissors"),
    "R1M3": ("P05", "P06", "tic_tac_toe"),
    "R1M4": ("P01", "P03", "even_odd"),
}
LIMIT = {"join": 5.0, "move": 30.0}
INSTANT = 1e-6

Wrong = Callable[[Rig, str], dict[str, Any]]
WRONG: list[bytes | Wrong] = [
    b"banana",
    b'{"jsonrpc":"2.0","id":1}',
    lambda rig, player: rig.joining(player, accept="yes"),
    lambda rig, player: rig.joining(player, match_id="R9M9"),
    lambda rig, player: rig.choosing(player, "Even"),
    lambda rig, player: rig.choosing(player, None),
    lambda rig, player: rig.choosing(player, "even", player_id="P02" if player != "P02" else "P01"),
    lambda rig, player: rig.choosing(player, "even", message_type="GAME_OVER"),
    lambda rig, player: rig.joining(player, message_type="CHOOSE_PARITY_RESPONSE"),
]
MERE: list[dict[str, Any]] = [{"status": "ok"}, {}, {"status": "ACKNOWLEDGED", "player_id": "P77"}]
FAILURES = [Failure.REFUSED, Failure.BROKEN, Failure.BUSY, Failure.NOT_UNDERSTOOD]
VERDICTS: list[Refusal | bytes] = [
    *(Refusal(code, "no") for code in ("E012", "E014", "E016", "E017", "E039", "E040", "E041", "E099")),
    b"banana",
    b'{"jsonrpc":"2.0","id":1,"result":{"status":"ok"}}',
]

Some = TypeVar("Some", bound=e.Event)
Place = tuple[str, int, str]
"""A match, its attempt, and a player in it."""


class Watched(Rig):
    """Notes whose call timed out."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.guilty: set[Place] = set()

    def blame(self, sent: Sent) -> None:
        match_id, attempt, *_ = sent.key.split("/")
        if sent.message.type in CALLS:
            self.guilty.add((match_id, int(attempt), sent.to.agent_id))

    def _time_outs(self) -> None:
        for sent in self.under_way.values():
            if sent.deadline <= self.t:
                self.blame(sent)
        super()._time_outs()


class RefereeAmongOthers(RuleBasedStateMachine):
    @initialize(capacity=st.integers(1, 3), profile=st.sampled_from(["compat", "strict"]))
    def begin(self, capacity: int, profile: Any) -> None:
        self.rig = Watched(capacity=capacity, profile=profile)
        self.rig.enrolled()
        self.attempts: Counter[str] = Counter()
        self.checked = self.looked_at = 0
        self.announcements: list[int] = []
        self.league_from = 0
        self.overs_from = 0
        self.ended = False

    # --- the manager --------------------------------------------------------------------------------------------------

    @rule(match_id=st.sampled_from(sorted(MATCHES)), again=st.booleans(), suspended=st.booleans())
    def announces(self, match_id: str, again: bool, suspended: bool) -> None:
        a, b, game_type = MATCHES[match_id]
        if not again or not self.attempts[match_id]:
            self.attempts[match_id] += 1
        more = {"game_type": game_type, "player_B_suspended": suspended}
        announcement = self.rig.announcement(announced(match_id, a, b, self.attempts[match_id], **more))
        # While the referee registers again, the answer waits for that.
        letter, _ = self.rig.hand(announcement, "10.0.0.1")
        self.announcements.append(letter)

    @rule(data=st.data(), answer=st.sampled_from(VERDICTS))
    def answers_a_report(self, data: st.DataObject, answer: Refusal | bytes) -> None:
        self.answer_one(data, ("MATCH_RESULT_REPORT", "REFEREE_REGISTER_REQUEST"), answer)

    def answer_one(self, data: st.DataObject, kinds: tuple[str, ...], answer: Any) -> None:
        found = [one for one in self.rig.under_way.values() if one.message.type in kinds]
        if not found:
            return
        sent = data.draw(st.sampled_from(found))
        if sent.message.type == "REFEREE_REGISTER_REQUEST":
            self.register(sent)
        elif isinstance(answer, Failure):
            self.rig.fail(sent, answer)
        else:
            self.rig.answer(sent, answer)

    def register(self, sent: Sent) -> None:
        """Accept a registration. A manager that did not know our token has begun another league."""
        before = len(self.rig.journal)
        self.rig.answer(sent, self.rig.accepted())
        for place, event in enumerate(self.rig.journal[before:], before):
            if isinstance(event, e.Registered) and event.new_league:
                self.league_from = place
                self.overs_from = len(self.rig.said(GameOver))

    @property
    def journal(self) -> list[e.Event]:
        """The events of the league that is played now."""
        return self.rig.journal[self.league_from :]

    def of(self, kind: type[Some]) -> list[Some]:
        return [event for event in self.journal if isinstance(event, kind)]

    @precondition(lambda self: len(self.rig.journal) > 40 and not self.ended)
    @rule()
    def ends_the_league(self) -> None:
        champion = {"player_id": "P01", "display_name": "Ada", "points": 9}
        totals = {"total_rounds": 1, "total_matches": 1, "champion": champion, "final_standings": []}
        message = {**self.rig.envelope("LEAGUE_COMPLETED"), "auth_token": of_manager(), "league_id": LEAGUE, **totals}
        self.rig.request(message)
        self.ended = self.rig.desk.state == "SHUTDOWN"

    # --- players ------------------------------------------------------------------------------------------------------

    def questions(self, open_only: bool = True) -> list[Sent]:
        asked = self.rig.under_way.values() if open_only else self.rig.sent
        return [one for one in asked if one.message.type in CALLS and self.is_known(one)]

    def is_known(self, sent: Sent) -> bool:
        """False if the call belongs to a league that the manager has forgotten, and so has the referee."""
        match_id, attempt, *_ = sent.key.split("/")
        return (match_id, int(attempt)) in self.rig.desk.matches

    def right_answer(self, sent: Sent, data: st.DataObject | None = None) -> dict[str, Any]:
        player = sent.to.agent_id
        match_id, attempt = sent.key.split("/")[:2]
        named = {"match_id": match_id, "conversation_id": plain(sent.message)["conversation_id"]}
        if sent.message.type == "GAME_INVITATION":
            return self.rig.joining(player, **named, auth_token=LEFT_OUT) | self._token(player, match_id, int(attempt))
        options = sent.message.move_request.valid_options if isinstance(sent.message, GameMoveCall) else ["even", "odd"]
        choice = options[0] if data is None else data.draw(st.sampled_from(options))
        game = self.rig.desk.matches[match_id, int(attempt)].game
        answer = self.rig.envelope(game.wire.response_type, f"player:{player}", **named, player_id=player)
        if game.name == "even_odd":
            answer["parity_choice"] = choice
        else:
            answer["move_data"] = {"move_type": game.wire.move_type, "choice": choice}
        return answer | self._token(player, match_id, int(attempt))

    def _token(self, player: str, match_id: str, attempt: int) -> dict[str, Any]:
        return {"auth_token": answer_token(player, match_id, attempt)}

    @rule(data=st.data(), count=st.integers(1, 3))
    def players_answer_right(self, data: st.DataObject, count: int) -> None:
        for _ in range(count):
            if found := self.questions():
                sent = data.draw(st.sampled_from(found))
                self.rig.answer(sent, self.right_answer(sent, data))

    @precondition(lambda self: self.questions(open_only=False))
    @rule(data=st.data())
    def a_player_answers_late_or_twice(self, data: st.DataObject) -> None:
        sent = data.draw(st.sampled_from(self.questions(open_only=False)[-12:]))
        self.rig.answer(sent, self.right_answer(sent, data))

    @precondition(lambda self: self.questions())
    @rule(data=st.data(), wrong=st.sampled_from(WRONG))
    def a_player_answers_wrong(self, data: st.DataObject, wrong: bytes | Wrong) -> None:
        sent = data.draw(st.sampled_from(self.questions()))
        self.rig.blame(sent)
        self.rig.answer(sent, wrong if isinstance(wrong, bytes) else wrong(self.rig, sent.to.agent_id))

    @precondition(lambda self: self.questions())
    @rule(data=st.data(), mere=st.sampled_from(MERE))
    def a_player_merely_acknowledges(self, data: st.DataObject, mere: dict[str, Any]) -> None:
        sent = data.draw(st.sampled_from(self.questions()))
        self.rig.blame(sent)
        self.rig.answer(sent, mere)

    @precondition(lambda self: self.questions())
    @rule(data=st.data())
    def a_player_declines(self, data: st.DataObject) -> None:
        sent = data.draw(st.sampled_from(self.questions()))
        self.rig.blame(sent)
        self.rig.answer(sent, self.rig.joining(sent.to.agent_id, accept=False, match_id=sent.key.split("/")[0]))

    @precondition(lambda self: self.questions())
    @rule(
        data=st.data(),
        failure=st.sampled_from(FAILURES),
        blame=st.sampled_from([Blame.PEER, Blame.LOCAL]),  # what a match waits for gives way to nothing
        wait=st.sampled_from([None, 0.0, 3.0, 90.0]),
    )
    def a_connection_fails(self, data: st.DataObject, failure: Failure, blame: Blame, wait: float | None) -> None:
        sent = data.draw(st.sampled_from(self.questions()))
        if blame is Blame.PEER:
            self.rig.blame(sent)
        self.rig.fail(sent, failure, blame, wait)

    @rule(data=st.data(), well=st.booleans())
    def hears_of_the_end(self, data: st.DataObject, well: bool) -> None:
        self.answer_one(data, ("GAME_OVER",), {"status": "ok"} if well else Failure.BROKEN)

    @precondition(lambda self: self.questions(open_only=False))
    @rule(data=st.data(), by=st.sampled_from(["token", "conversation", "address", "nothing"]), right=st.booleans())
    def an_answer_comes_as_its_own_request(self, data: st.DataObject, by: str, right: bool) -> None:
        sent = data.draw(st.sampled_from(self.questions(open_only=False)[-6:]))
        answer = self.right_answer(sent, data)
        if not right:
            answer |= {"accept": False, "parity_choice": "Even", "move_data": {"move_type": "x", "choice": "x"}}
        if by != "token":
            answer["auth_token"] = "tok_stolen"
        if by != "conversation":
            answer["conversation_id"] = f"conv-{answer['match_id']}"
        is_wrong = not right or (by == "conversation" and self.rig.settings.profile == "strict")  # E012: its token
        if by in ("token", "conversation") and is_wrong:
            self.rig.blame(sent)
        before = len(self.rig.journal)
        reply = self.rig.request(answer, HOSTS[sent.to.agent_id] if by == "address" else "10.9.9.9")
        if by in ("address", "nothing"):
            assert not isinstance(reply, Pong)
            # At most it is noted that an answer came and was refused.
            notes = self.rig.journal[before:]
            assert len(notes) <= 1
            assert all(isinstance(note, e.AnswerRefused) for note in notes)

    # --- time and fate ------------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.1, 1.0, 2.0, 5.0, 7.0, 31.0]))
    def time_passes(self, seconds: float) -> None:
        self.rig.wait(seconds)

    @rule(seconds=st.sampled_from([3.0, 100.0]))
    def the_process_sleeps(self, seconds: float) -> None:
        """Whatever was due in the meantime is noticed late."""
        self.rig.t += seconds
        for place, sent in list(self.rig.under_way.items()):
            if sent.deadline <= self.rig.t and place in self.rig.under_way:
                self.rig.fail(sent, Failure.TIMEOUT, Blame.LOCAL)
        self.rig.tick()

    @rule()
    def the_process_dies(self) -> None:
        before = self.rig.desk.snapshot()
        assert self.rig.replayed().snapshot() == before
        self.rig.restart()
        # Nobody waits for the answers of a dead process.
        self.announcements.clear()

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def a_replay_gives_the_same_state(self) -> None:
        assert self.rig.replayed().snapshot() == self.rig.desk.snapshot()

    @invariant()
    def no_more_matches_run_than_there_are_places(self) -> None:
        running: set[tuple[str, int]] = set()
        for event in self.journal:
            if isinstance(event, e.MatchBegun):
                running.add((event.match_id, event.attempt))
                assert len(running) <= self.rig.capacity
            elif isinstance(event, e.PlayersTold | e.MatchDropped):
                running.discard((event.match_id, event.attempt))

    @invariant()
    def each_attempt_has_one_seed_one_draw_and_one_decision(self) -> None:
        once = (e.MatchTaken, e.MatchBegun, e.NumberDrawn, e.MatchDecided, e.PlayersTold, e.ReportSettled)
        seen = Counter((type(one), one.match_id, one.attempt) for one in self.journal if isinstance(one, once))
        assert set(seen.values()) <= {1}
        seeds = [one.seed for one in self.of(e.MatchTaken)]
        assert len(seeds) == len(set(seeds))

    @invariant()
    def few_refused_answers_are_noted(self) -> None:
        noted = Counter((note.match_id, note.attempt, note.player_id, note.turn) for note in self.of(e.AnswerRefused))
        assert max(noted.values(), default=0) <= MAX_REFUSED_ANSWERS

    @invariant()
    def nobody_is_called_before_both_have_joined(self) -> None:
        for sent in self.rig.sent[self.looked_at :]:
            match_id, *rest = sent.key.split("/")
            if sent.message.type in CALLS[1:]:
                joined = [one for one in self.of(e.PlayerJoined)
                          if (one.match_id, str(one.attempt)) == (match_id, rest[0])]  # fmt: skip
                assert len(joined) == 2
        self.looked_at = len(self.rig.sent)

    @invariant()
    def every_limit_is_honoured_and_every_fault_is_the_players_own(self) -> None:
        new = self.rig.journal[self.checked :]
        self.checked = len(self.rig.journal)
        for event in new:
            if isinstance(event, e.AttemptFailed) and event.code == "E001":
                name = f"turn{event.turn}" if event.turn else "invite"
                place = f"{event.match_id}/{event.attempt}/{name}/{event.player_id}/"
                last = [one for one in self.rig.sent if one.key.startswith(place) and one.at <= event.at - START][-1]
                assert event.at - START >= last.at + LIMIT[event.phase] - INSTANT
            elif isinstance(event, e.PlayerFaulted):
                assert (event.match_id, event.attempt, event.player_id) in self.rig.guilty

    @invariant()
    def results_are_what_happened(self) -> None:
        for decided in self.of(e.MatchDecided):
            about = (decided.match_id, decided.attempt)
            faults = [one.player_id for one in self.of(e.PlayerFaulted) if (one.match_id, one.attempt) == about]
            assert (decided.status == "TECHNICAL_LOSS") == bool(faults)
            assert sorted(decided.details["faults"]) == sorted(faults)
            if faults:
                left = [one for one in MATCHES[decided.match_id][:2] if one not in faults]
                assert decided.winner == (left[0] if left else None)
            assert sum(decided.points.values()) == (0 if len(faults) == 2 else 2 if decided.status == "DRAW" else 3)

    @invariant()
    def players_are_told_what_was_decided_and_its_draw_can_be_checked(self) -> None:
        decided = {(one.match_id, one.attempt): one for one in self.of(e.MatchDecided)}
        matches = {(taken.match_id, taken.attempt): taken for taken in self.of(e.MatchTaken)}
        for over in self.rig.said(GameOver)[self.overs_from :]:
            shown = plain(over)["game_result"]
            told = decided[over.match_id, shown["attempt"]]
            assert (shown["status"], shown["winner_player_id"]) == (told.status, told.winner)
            taken = matches[over.match_id, shown["attempt"]]
            promised = draw.commitment(bytes.fromhex(taken.seed), LEAGUE, over.match_id, taken.attempt)
            drawn = shown.get("drawn_number")
            assert verify(promised, shown["draw_seed"], LEAGUE, over.match_id, taken.attempt, drawn)

    @invariant()
    def a_ping_lists_what_is_not_settled(self) -> None:
        settled = {(one.match_id, one.attempt) for one in self.journal
                   if isinstance(one, e.ReportSettled | e.MatchDropped)}  # fmt: skip
        taken = {(one.match_id, one.attempt) for one in self.of(e.MatchTaken)}
        answer = self.rig.request(Ping())
        assert isinstance(answer, Pong)
        assert set(answer.matches or ()) == taken - settled

    def teardown(self) -> None:
        """When everybody behaves again, every match comes to its end."""
        if not hasattr(self, "rig"):
            return
        for _ in range(400):
            is_answered = all(letter in self.rig.replies for letter in self.announcements)
            if is_answered and not self.rig.request(Ping()).matches:  # type: ignore[union-attr] # a Pong
                return
            for sent in list(self.rig.under_way.values()):
                if sent.message.type in CALLS and self.is_known(sent):
                    self.rig.answer(sent, self.right_answer(sent))
                elif sent.message.type == "REFEREE_REGISTER_REQUEST":
                    self.register(sent)
                elif sent.message.type not in (*CALLS, "GAME_ERROR"):
                    self.rig.answer(sent, {"status": "ok"})
            self.rig.wait(1.0)
        raise AssertionError("a match does not end, or an announcement has no answer")


assert set(PLAYERS) >= {player for a, b, _ in MATCHES.values() for player in (a, b)}
TestRefereeAmongOthers = RefereeAmongOthers.TestCase
TestRefereeAmongOthers.settings = examples(60, stateful_step_count=50)
