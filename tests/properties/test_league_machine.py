"""The League Manager under any sequence of registrations, reports, failures, orders and restarts: what must hold after
every single step, and that the league can always be played to its end.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from league import events as e
from league.machine import Acknowledged, Blame, Failure, Refusal
from league.manager.league_manager import LeagueManager
from league.protocol.errors import PeerError
from league.protocol.message.messages import (
    LeagueCompleted,
    LeagueStandingsUpdate,
    MatchResultAck,
    RoundAnnouncement,
    RoundCompleted,
)
from league.storage.journal import decode, encode
from tests.support.examples import examples
from tests.support.managed import Managed, Object, agent_of, code_of

WAYS = ("A", "B", None, "-A", "-B", "--")
IN_ORDER = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED")


def place_of(message: object) -> int | None:
    """Where a message stands in the order in which players are told; tables may be told at any time."""
    if isinstance(message, RoundAnnouncement | RoundCompleted):
        return 2 * message.round_id + isinstance(message, RoundCompleted)
    return 10_000 if isinstance(message, LeagueCompleted) else None


class Book:
    """A second bookkeeping, by the simplest rules there are."""

    def __init__(self) -> None:
        self.players: list[str] = []
        self.pairs: dict[str, tuple[str, str]] = {}
        self.held: dict[str, tuple[str, int]] = {}
        self.attempts: Counter[str] = Counter()
        self.in_force: dict[str, tuple[str | None, bool]] = {}
        self.ids: set[str] = set()
        self.ended = 0
        self.withdrawn: set[str] = set()

    def take(self, event: e.Event) -> None:
        handler = getattr(self, f"_{type(event).__name__}", None)
        if handler is not None:
            handler(event)

    def _AgentRegistered(self, event: e.AgentRegistered) -> None:  # noqa: N802 - named after its event
        assert event.agent_id not in self.ids, "ids are never reused"
        self.ids.add(event.agent_id)
        self.players += [event.agent_id] if event.role == "player" else []

    def _ScheduleMade(self, event: e.ScheduleMade) -> None:  # noqa: N802
        assert not self.pairs
        self.pairs = {one.match_id: (one.player_a, one.player_b) for made in event.rounds for one in made}

    def _MatchAssigned(self, event: e.MatchAssigned) -> None:  # noqa: N802
        assert event.attempt == self.attempts[event.match_id] + 1
        assert event.match_id not in self.in_force
        self.attempts[event.match_id] += 1
        self.held[event.match_id] = (event.referee_id, event.attempt)

    def _MatchLost(self, event: e.MatchLost) -> None:  # noqa: N802
        assert self.held.pop(event.match_id)[1] == event.attempt

    def _ResultAccepted(self, event: e.ResultAccepted) -> None:  # noqa: N802
        assert self.held.pop(event.match_id) == (event.referee_id, event.attempt), "from whoever holds the match"
        self._decide(event.match_id, event.winner, event.status == "TECHNICAL_LOSS")
        assert event.points == self.points(event.match_id)

    def _WalkoverDecided(self, event: e.WalkoverDecided) -> None:  # noqa: N802
        self.held.pop(event.match_id, None)
        assert self.withdrawn & set(self.pairs[event.match_id]) == set(event.withdrawn)
        self._decide(event.match_id, event.winner, True)

    def _ResultVoided(self, event: e.ResultVoided) -> None:  # noqa: N802
        del self.in_force[event.match_id]

    def _OrderCarriedOut(self, event: e.OrderCarriedOut) -> None:  # noqa: N802
        if event.order == "withdraw":
            self.withdrawn.add(event.target)

    def _LeagueFinished(self, event: e.LeagueFinished) -> None:  # noqa: N802
        assert set(self.in_force) == set(self.pairs)
        self.ended += 1

    def _LeagueReopened(self, event: e.LeagueReopened) -> None:  # noqa: N802
        self.ended -= 1

    def _decide(self, match_id: str, winner: str | None, technical: bool) -> None:
        assert match_id not in self.in_force, "one result in force per match"
        self.in_force[match_id] = (winner, technical)

    def points(self, match_id: str) -> dict[str, int]:
        winner, technical = self.in_force[match_id]
        nobody = 0 if technical else 1
        return {one: (3 if one == winner else 0) if winner else nobody for one in self.pairs[match_id]}

    def totals(self) -> dict[str, int]:
        totals = dict.fromkeys(self.players, 0)
        for match_id in self.in_force:
            for player, points in self.points(match_id).items():
                totals[player] += points
        return totals

    def played(self) -> Counter[str]:
        return Counter(player for match_id in self.in_force for player in self.pairs[match_id])


class LeagueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.league: Managed
        self.shadow: LeagueManager
        self.book = Book()
        self.reports: list[Object] = []
        self.seen = 0
        self.sent_seen = 0
        self.told: dict[str, int] = {}
        self.versions: dict[str, int] = {}
        self.silent_from: dict[str, int] = {}

    def happened(self, event: e.Event) -> None:
        if isinstance(event, e.OrderCarriedOut) and event.order == "withdraw":
            self.silent_from[event.target] = len(self.league.sent)

    @initialize(
        players=st.integers(2, 6),
        referees=st.integers(1, 3),
        double=st.booleans(),
        lead=st.sampled_from([0.0, 3.0]),
        present=st.booleans(),
    )
    def begin(self, players: int, referees: int, double: bool, lead: float, present: bool) -> None:
        self.league = Managed(players=players, referees=referees, double=double, announcement_lead_s=lead)
        self.league.on_event = self.happened
        self.shadow = LeagueManager(self.league.settings, bytes, {})
        if present:
            self.league.fill()

    # --- registrations ------------------------------------------------------------------------------------------------

    @rule(role=st.sampled_from(["player", "referee"]), number=st.integers(1, 7), wanted=st.integers(0, 9))
    def register(self, role: str, number: int, wanted: int) -> None:
        prefix = "P" if role == "player" else "REF"
        answer = self.league.register(role, number, sender=f"{role}:{prefix}{wanted:02d}")
        assert answer.status in ("ACCEPTED", "REJECTED")
        if answer.status == "ACCEPTED":
            again = self.league.register(role, number)
            assert agent_of(again) == agent_of(answer), "whoever comes back is who it was"

    @rule(number=st.integers(1, 7), changed=st.sampled_from([{"display_name": "Player 1"}, {"version": "x"}]))
    def register_wrongly(self, number: int, changed: dict[str, Any]) -> None:
        league = self.league
        answer = league.request(league.registration("player", number, **changed), origin="10.9.9.9")
        assert code_of(answer) in {"", "E008", "E019", "E020", "E022", "E031", "E044"}
        if not code_of(answer):
            league.tokens["P" + str(getattr(answer, "player_id", ""))[1:]] = str(getattr(answer, "auth_token", ""))

    # --- reports ------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.league.open_matches)
    @rule(data=st.data(), way=st.sampled_from(WAYS))
    def report(self, data: st.DataObject, way: str | None) -> None:
        match_id = data.draw(st.sampled_from(self.league.open_matches))
        report = self.league.report_of(match_id, way)
        self.reports.append(report)
        assert isinstance(self.league.request(report), MatchResultAck)

    @precondition(lambda self: self.league.open_matches)
    @rule(data=st.data())
    def report_wrongly(self, data: st.DataObject) -> None:
        match_id = data.draw(st.sampled_from(self.league.open_matches))
        report = self.league.report_of(match_id)
        for stranger in self.league.tokens.keys() - {report["sender"].partition(":")[2]}:
            if stranger.startswith("REF"):
                foreign = report | {"sender": f"referee:{stranger}", "auth_token": self.league.tokens[stranger]}
                assert code_of(self.league.request(foreign)) == "E016"
        assert code_of(self.league.request(report | {"attempt": 999})) == "E016"
        if match_id not in self.league.open_matches:
            return
        # Who spoke may have been dead, and is back now and has been given the match. With its choices and number the
        # winner would be corrected; after this the match may be another referee's again.
        report = self.league.report_of(match_id)
        unproven = {name: value for name, value in report["result"].items() if name != "details"}
        assert code_of(self.league.request(report | {"result": {**unproven, "winner": "P77"}})) == "E039"

    @precondition(lambda self: self.reports)
    @rule(data=st.data(), other=st.booleans())
    def report_again(self, data: st.DataObject, other: bool) -> None:
        report = dict(data.draw(st.sampled_from(self.reports)))
        if other:
            report["result"] = report["result"] | {"details": {"drawn_number": 2, "choices": {}}}
        report["auth_token"] = self.league.tokens[report["sender"].partition(":")[2]]
        answer = self.league.request(report)
        assert isinstance(answer, PeerError)
        assert answer.code in ("E016", "E017", "E040")

    # --- the network --------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.league.open)
    @rule(data=st.data(), how=st.sampled_from(["well", "badly"]))
    def answer(self, data: st.DataObject, how: str) -> None:
        one = data.draw(st.sampled_from(sorted(self.league.calls(), key=lambda one: (one.key, one.to.agent_id))))
        content = self.league.pong(one.to.agent_id) if how == "well" else Refusal("E099", "no")
        self.league.answer(one, content)
        self.league.answer(one, content)

    @precondition(lambda self: self.league.open)
    @rule(
        data=st.data(), failure=st.sampled_from(Failure), blame=st.sampled_from([Blame.PEER, Blame.PEER, Blame.LOCAL])
    )
    def fail(self, data: st.DataObject, failure: Failure, blame: Blame) -> None:
        one = data.draw(st.sampled_from(sorted(self.league.calls(), key=lambda one: (one.key, one.to.agent_id))))
        self.league.fail(one, failure, blame)

    @rule()
    def everybody_answers(self) -> None:
        self.league.answer_pings()
        self.league.answer_all()

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 25.0, 230.0]), alive=st.booleans())
    def time_passes(self, seconds: float, alive: bool) -> None:
        until = self.league.now + seconds
        while self.league.now < until:
            self.league.wait(min(2.0, until - self.league.now))
            if alive:
                self.league.answer_pings()

    # --- the operator -------------------------------------------------------------------------------------------------

    @rule(order=st.sampled_from(["pause", "resume", "start"]), twice=st.booleans())
    def order(self, order: str, twice: bool) -> None:
        self.give(order, "", twice)

    @rule(data=st.data(), twice=st.booleans())
    def withdraw(self, data: st.DataObject, twice: bool) -> None:
        # Rarely: a league of which everybody was withdrawn is a dull one.
        if data.draw(st.integers(0, 4)) == 0 and self.league.manager.player_ids:
            self.give("withdraw", data.draw(st.sampled_from(self.league.manager.player_ids)), twice)

    @rule(data=st.data(), twice=st.booleans())
    def replay(self, data: st.DataObject, twice: bool) -> None:
        known = [*self.league.manager.parked, *self.league.manager.completed]
        if known:
            self.give("replay-match", data.draw(st.sampled_from(known)), twice)

    def give(self, order: str, target: str, twice: bool) -> None:
        key = f"key-{len(self.league.events)}-{order}"
        answer = self.league.operate(order, target, key=key)
        if twice and answer == Acknowledged():
            before = len(self.league.events)
            assert self.league.operate(order, target, key=key) == Acknowledged()
            assert len(self.league.events) == before

    @rule(data=st.data(), kind=st.sampled_from(["GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_STATUS"]))
    def ask(self, data: st.DataObject, kind: str) -> None:
        if self.league.tokens:
            agent = data.draw(st.sampled_from(sorted(self.league.tokens)))
            answer = self.league.query(agent, kind, player_id="P01")
            assert code_of(answer) in ("", "E005", "E030")

    # --- restarts -----------------------------------------------------------------------------------------------------

    @rule(after=st.sampled_from([0.0, 5.0, 300.0, -50.0]))
    def restart(self, after: float) -> None:
        self.league.restart(after)

    # --- what holds ---------------------------------------------------------------------------------------------------

    @invariant()
    def replay_gives_the_same_state(self) -> None:
        for event in self.league.events[self.seen :]:
            self.shadow.apply(decode(encode(event)))
            self.book.take(event)
        self.seen = len(self.league.events)
        assert self.shadow.snapshot() == self.league.manager.snapshot()

    @invariant()
    def the_table_is_the_fold_of_the_results(self) -> None:
        rows = self.league.manager.standings
        assert {row.player_id: row.points for row in rows} == self.book.totals()
        assert {row.player_id: row.played for row in rows if row.played} == dict(self.book.played())
        assert [row.rank for row in rows] == list(range(1, len(self.book.players) + 1))

    @invariant()
    def what_is_told_is_told_in_order(self) -> None:
        for place, one in enumerate(self.league.sent[self.sent_seen :], start=self.sent_seen):
            agent, message = one.to.agent_id, one.message
            assert place < self.silent_from.get(agent, place + 1), "a withdrawn player is told nothing more"
            if isinstance(message, LeagueStandingsUpdate):
                assert (message.version or 0) >= self.versions.get(agent, 0)
                self.versions[agent] = message.version or 0
            elif agent.startswith("P") or not isinstance(message, RoundAnnouncement):
                number = place_of(message)
                assert number is None or number >= self.told.get(agent, 0)
                self.told[agent] = number or self.told.get(agent, 0)
        self.sent_seen = len(self.league.sent)

    @invariant()
    def the_next_waits_for_the_answer_or_two_seconds(self) -> None:
        for player in self.league.manager.player_ids:
            mine = [one for one in self.league.calls(to=player) if one.kind in IN_ORDER]
            for earlier, later in pairwise(mine):
                # A repetition keeps the pause of its retries.
                is_new = all(self.times_sent(player, one.message) == 1 for one in (earlier, later))
                assert not is_new or later.at - earlier.at >= 2.0 - 1e-6

    def times_sent(self, player: str, message: object) -> int:
        return sum(one.message is message for one in self.league.told(player))

    @invariant()
    def time_is_never_due(self) -> None:
        assert self.league.due > self.league.now - 0.001
        assert self.book.ended <= 1

    def teardown(self) -> None:
        """Whatever happened: if everybody behaves from now on, the league ends."""
        if not hasattr(self, "league"):
            return
        league = self.league
        if league.manager.waiting == "PAUSED":
            league.operate("resume")
        if league.manager.ledger.state == "WAITING_FOR_REGISTRATIONS":
            return
        league.play()
        self.replay_gives_the_same_state()
        self.the_table_is_the_fold_of_the_results()
        assert self.book.ended == 1


LeagueMachine.TestCase.settings = examples(40, stateful_step_count=40)
TestLeagueMachine = LeagueMachine.TestCase
