"""A player among referees that repeat themselves, contradict each other, and strangers; with a strategy that fails and
a process that dies: what must hold all the same."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import structs

from league.events import ChoiceGiven, ChoiceRefused, Event, GameEnded, InvitationAnswered
from league.machine import Ask, Step
from league.player.strategies import Considered, NoChoice
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Profile
from league.protocol.message.experiment import Provenance
from league.protocol.message.messages import ChooseParityResponse, GameMoveResponse, LeagueQuery
from tests.support.examples import examples
from tests.support.player_rig import TOKEN, Rig

matches = st.sampled_from(["R1M1", "R1M2", "R2M1"])
attempts = st.sampled_from([None, 1, 1, 2, 3])
referees = st.sampled_from(["REF01", "REF01", "REF02"])
proofs = st.sampled_from([True, True, True, False])
PROVENANCE = Provenance(fallbacks=1, tokens=7)
OUTAGE = NoChoice("no answer", PROVENANCE, is_outage=True)
values = st.sampled_from(
    ["even", "odd", "Odd", "0", None, NoChoice("no idea"), Considered("odd", PROVENANCE), Considered("?"), OUTAGE]
)
codes = st.sampled_from(
    [
        ("E004", "INVALID_PARITY_CHOICE"),
        ("E024", "INVALID_MOVE"),
        ("E001", "TIMEOUT_ERROR"),
        ("E002", "a sentence about something"),
    ]
)

LIFE = ("INIT", "REGISTERED", "ACTIVE", "SHUTDOWN")


class PlayerAmongReferees(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig()
        self.said: list[dict[str, Any]] = []
        self.calls: dict[int, dict[str, Any]] = {}
        """Calls of this process that may still wait, by letter."""
        self.open: dict[str, Ask] = {}
        """Questions the strategy has not answered yet."""
        self.given: dict[tuple[str, str, int], str] = {}
        """What we answered, by match, referee and turn, and nobody took back."""
        self.life = 0

    @initialize(profile=st.sampled_from(["compat", "compat", "strict"]), derived=st.booleans())
    def begin(self, profile: Profile, derived: bool) -> None:
        self.rig = Rig(profile=profile, derived=derived).enrolled()

    # --- what happens -------------------------------------------------------------------------------------------------

    def post(self, fields: dict[str, Any], proven: bool = True) -> None:
        if not proven:
            fields = {**fields, "auth_token": "tok_REF01_forged"}
        self.said.append(fields)
        self.rig.now += 0.5
        letter, step = self.rig.post(fields)
        if fields["message_type"] in ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"):
            self.calls[letter] = fields
        else:
            assert letter in self.rig.replies
        if not proven and self.rig.derived:
            assert TOKEN not in repr(step.replies)
        self.watch(step)

    def watch(self, step: Step) -> None:
        assert all(call.to[0].agent_id == "league_manager" for call in step.outbox)
        for event in step.events:
            self.take_back(event)
        for ask in step.asks:
            assert ask.key not in self.open
            self.open[ask.key] = ask
        for key in step.cancel:
            del self.open[key]
        for reply in step.replies:
            if isinstance(reply.content, ChooseParityResponse | GameMoveResponse):
                self.check_choice(reply.letter_id, reply.content)

    def take_back(self, event: Event) -> None:
        """What may change an answer: a refusal, another attempt, the end."""
        if isinstance(event, ChoiceRefused):
            self.given.pop((event.match_id, event.referee_id, event.turn), None)
        elif isinstance(event, InvitationAnswered | GameEnded):
            for place in [place for place in self.given if place[:2] == (event.match_id, event.referee_id)]:
                del self.given[place]

    def check_choice(self, letter: int, answer: ChooseParityResponse | GameMoveResponse) -> None:
        call = self.calls[letter]
        place = (call["match_id"], call["sender"].partition(":")[2], turn_of(call))
        choice = answer.parity_choice if isinstance(answer, ChooseParityResponse) else answer.move_data.choice
        assert self.given.setdefault(place, choice) == choice
        assert answer.match_id == call["match_id"]

    @rule(match=matches, attempt=attempts, referee=referees, proven=proofs, game=st.sampled_from(["even_odd", "chess"]))
    def a_referee_invites(self, match: str, attempt: int | None, referee: str, proven: bool, game: str) -> None:
        round_id = int(match[1])
        self.post(self.rig.invitation(match, attempt, referee, game_type=game, round_id=round_id), proven)

    @rule(match=matches, attempt=attempts, referee=referees, proven=proofs)
    def a_referee_calls(self, match: str, attempt: int | None, referee: str, proven: bool) -> None:
        self.post(self.rig.call(match, attempt, referee), proven)

    @rule(match=matches, turn=st.integers(1, 3), proven=proofs)
    def a_referee_asks_for_a_move(self, match: str, turn: int, proven: bool) -> None:
        self.post(self.rig.move_call(turn, match_id=match), proven)

    @rule(match=matches, attempt=attempts, referee=referees, proven=proofs, code=codes)
    def a_referee_complains(
        self, match: str, attempt: int | None, referee: str, proven: bool, code: tuple[str, str]
    ) -> None:
        self.post(self.rig.error(code[0], match, attempt, referee, name=code[1]), proven)

    @rule(
        match=matches, attempt=attempts, referee=referees, proven=proofs, winner=st.sampled_from(["P01", "P02", None])
    )
    def a_referee_ends_a_match(
        self, match: str, attempt: int | None, referee: str, proven: bool, winner: str | None
    ) -> None:
        self.post(self.rig.over(match, attempt, referee, winner), proven)

    @rule(number=st.integers(1, 3), kind=st.sampled_from(["announcement", "round_completed", "standings"]))
    def the_manager_tells(self, number: int, kind: str) -> None:
        self.post(getattr(self.rig, kind)(number))

    @rule(proven=proofs, sure=st.integers(0, 9))
    def the_league_ends(self, proven: bool, sure: int) -> None:
        if sure == 0:
            self.post(self.rig.completed(), proven)

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def something_arrives_twice(self, data: st.DataObject) -> None:
        again = data.draw(st.sampled_from(self.said[-6:]))
        self.post(again)
        before = self.rig.player.snapshot()
        self.post(again)
        assert self.rig.player.snapshot() == before

    @precondition(lambda self: self.open)
    @rule(data=st.data(), value=values)
    def the_strategy_answers(self, data: st.DataObject, value: object) -> None:
        key = data.draw(st.sampled_from(sorted(self.open)))
        ask = self.open.pop(key)
        self.rig.player.turn(ask)
        self.watch(self.rig.take(self.rig.player.answered(key, value, self.rig.now)))

    @rule(number=st.integers(0, 3))
    def an_answer_comes_that_nobody_asked_for(self, number: int) -> None:
        assert self.rig.player.answered(f"R1M1/1/choose/1/-{number}", "even", self.rig.now) == Step()

    @rule()
    def the_process_dies_and_starts_again(self) -> None:
        step = self.rig.restart()
        asks = self.rig.derived and self.rig.player.state == "SHUTDOWN"  # whether another league has begun
        assert [type(one.message) for one in step.outbox] == [LeagueQuery] * asks
        assert structs.replace(step, outbox=[]) == Step()
        self.open.clear()
        self.calls = {letter: call for letter, call in self.calls.items() if letter in self.rig.replies}

    # --- what holds ---------------------------------------------------------------------------------------------------

    @invariant()
    def replaying_the_journal_gives_the_same_state(self) -> None:
        assert self.rig.replayed().snapshot() == self.rig.player.snapshot()

    @invariant()
    def only_open_questions_keep_a_letter_waiting(self) -> None:
        waiting = {place(call) for letter, call in self.calls.items() if letter not in self.rig.replies}
        assert waiting == {place_of(ask) for ask in self.open.values()}

    @invariant()
    def history_has_one_row_per_match_that_ended(self) -> None:
        ended = [event for event in self.rig.journal if isinstance(event, GameEnded)]
        rows = list(self.rig.player.history)
        assert sorted(row.match_id for row in rows) == sorted({event.match_id for event in ended})
        for row in rows:
            assert row.attempt == max(event.attempt for event in ended if event.match_id == row.match_id)

    @invariant()
    def an_answer_that_counts_is_in_the_journal(self) -> None:
        kept = {
            (match["match_id"], match["referee_id"], turn): choice
            for match in self.rig.player.snapshot()["matches"]
            for turn, choice in match["answers"]
        }
        given = {
            (event.match_id, event.referee_id, event.turn, event.choice)
            for event in self.rig.journal
            if isinstance(event, ChoiceGiven)
        }
        assert {(*place, choice) for place, choice in kept.items()} <= given
        assert kept == self.given

    @invariant()
    def life_only_goes_forward_but_for_a_match_that_is_played_again(self) -> None:
        now = LIFE.index(self.rig.player.state)
        if now < self.life:
            answered = [event for event in self.rig.journal if isinstance(event, InvitationAnswered)][-1]
            assert (LIFE[self.life], LIFE[now]) == ("SHUTDOWN", "ACTIVE")
            assert answered.trusted
            assert answered.stated_attempt > 1
        self.life = now

    @invariant()
    def nothing_it_writes_down_holds_a_token(self) -> None:
        assert "tok_" not in repr(self.rig.journal[-5:])

    def teardown(self) -> None:
        """When the strategy has answered everything, every letter has its answer."""
        while self.open:
            key, _ = self.open.popitem()
            self.watch(self.rig.take(self.rig.player.answered(key, "even", self.rig.now)))
        assert self.calls.keys() <= self.rig.replies.keys()
        for reply in self.rig.replies.values():
            assert not isinstance(reply, PeerError) or reply.detail


def turn_of(call: dict[str, Any]) -> int:
    turn = call["move_request"]["context"]["turn"] if "move_request" in call else 1
    assert isinstance(turn, int)
    return turn


def place(call: dict[str, Any]) -> tuple[str, str]:
    return call["match_id"], call["sender"]


def place_of(ask: Ask) -> tuple[str, str]:
    call: Any = ask.call
    return call.match_id, call.sender


TestPlayerAmongReferees = PlayerAmongReferees.TestCase
TestPlayerAmongReferees.settings = examples(60, stateful_step_count=40)
