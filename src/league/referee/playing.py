"""How one match is conducted: `proceed` looks at what has happened and does what is due, at the start of a match, after
each answer, and after a restart.
"""

from __future__ import annotations

from collections.abc import Callable

from league.events import NumberDrawn
from league.games.contract import PLAYER_A, PLAYER_B, Seat
from league.machine import Address
from league.protocol.conventions import convention_of
from league.referee import draw
from league.referee.answers import Question
from league.referee.asking import Asking
from league.referee.assignments import Passes, passes_of
from league.referee.decision import decide
from league.referee.match import Match
from league.referee.office import Office
from league.referee.records import Records
from league.referee.telling import Reporting, Telling


class Playing:
    """`told` is called when the match has given up its place, `settled` when its report has."""

    def __init__(
        self,
        office: Office,
        match: Match,
        records: Records,
        told: Callable[[Playing, float], None],
        settled: Callable[[Playing, float], None],
    ) -> None:
        self.match = match
        self._office, self._records = office, records
        self._told, self._settled = told, settled
        self._passes: Passes = passes_of(office.secrets, match.name)
        self._askings: dict[Seat, Asking] = {}
        self._ending: Telling | Reporting | None = None

    def proceed(self, now: float) -> None:
        """Whatever is due now."""
        match = self.match
        while match.decided is None:
            if match.awaited:
                self._ask(now)
                return
            self._judge(now)
        if self._ending is not None:
            return
        if match.told:
            self._report(now)
        else:
            self._tell(now)

    def asking(self, seat: Seat) -> Asking | None:
        """The question this player has not answered yet."""
        return self._askings.get(seat)

    def question(self, seat: Seat) -> Question:
        """What this player is asked now, and what its answer is held to."""
        office = self._office
        return Question(
            self.match, seat, office.settings.profile, self._passes.answers[seat], office.docket.players
        )  # fmt: skip

    def take_passes(self) -> None:
        """What players are shown, and what they may answer with, has changed."""
        self._passes = passes_of(self._office.secrets, self.match.name)
        for seat, asking in self._askings.items():
            asking.show(self._passes.shown[seat], self._passes.answers[seat])

    def drop(self) -> None:
        """Stop: a newer attempt was given out, or the league is over."""
        for asking in self._askings.values():
            asking.drop()
        self._askings.clear()
        if self._ending is not None:
            self._ending.drop()

    # --- steps --------------------------------------------------------------------------------------------------------

    def _ask(self, now: float) -> None:
        """Everybody who is awaited and not asked yet, at once. Each answer comes back here."""
        new = [seat for seat in self.match.awaited if seat not in self._askings]
        for seat in new:
            to, record = self._address(seat), self._record(seat)
            self._askings[seat] = Asking(self._office, self.question(seat), to, record, self._answered(seat))
        for seat in new:
            asking = self._askings.get(seat)
            if asking is not None:
                asking.ask(now)

    def _answered(self, seat: Seat) -> Callable[[float], None]:
        def settled(now: float) -> None:
            del self._askings[seat]
            self.proceed(now)

        return settled

    def _judge(self, now: float) -> None:
        """Nobody is awaited: chance moves, or the match is decided."""
        match, taken = self.match, self.match.taken
        if match.turn and match.to_move.kind == "chance" and not match.faults:
            seed, index = bytes.fromhex(taken.seed), len(match.numbers)
            number = draw.number(seed, taken.league_id, taken.match_id, taken.attempt, index)
            self._office.happened(NumberDrawn(at=now, **match.named, number=number))
        else:
            self._office.happened(decide(match, now))

    def _tell(self, now: float) -> None:
        to = (self._address(PLAYER_A), self._address(PLAYER_B))
        self._ending = telling = Telling(self._office, self.match, to, self._over)
        telling.tell(now)

    def _over(self, now: float) -> None:
        self._ending = None
        self.proceed(now)
        self._told(self, now)

    def _report(self, now: float) -> None:
        self._ending = reporting = Reporting(self._office, self.match, self._reported)
        reporting.report(now)

    def _reported(self, now: float) -> None:
        self._settled(self, now)

    def _address(self, seat: Seat) -> Address:
        taken = self.match.taken
        endpoint = taken.endpoints[seat]
        known = self._office.docket.conventions.get(endpoint, taken.conventions[seat])
        return Address(taken.players[seat], endpoint, self._passes.shown[seat], convention_of(known))

    def _record(self, seat: Seat) -> dict[str, int]:
        taken = self.match.taken
        return taken.records[seat] or self._records.of(taken.players[seat])
