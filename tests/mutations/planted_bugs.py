"""Deliberate bugs, each a change of one place. A hunt that does not find one of them is no hunt.

`old` must stand exactly once in its file, so that a bug planted in code that has changed since is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass

from league_lab.simulation.runs import Plan


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug. `faults`, `game`, `players`, `dialects`, `outages` and `cheats`: the leagues it shows in; `promise`: the
    one that must find it, if it is not enough that any does; `stateful`: the test that finds it where leagues do not,
    because no promise speaks of it or because the chance would be too small."""

    name: str
    file: str
    old: str
    new: str
    faults: float = 0.3
    game: str = "even_odd"
    players: int = 6
    dialects: float = 0.0
    outages: float = 0.0
    cheats: float = 0.0
    late: int = 0
    promise: int | None = None
    stateful: str = ""

    @property
    def plan(self) -> Plan:
        shares = (self.dialects, self.outages, self.cheats)
        return Plan(self.players, 3, self.faults, self.game, False, *shares, self.late)


BUGS = (
    # --- the pump -----------------------------------------------------------------------------------------------------
    Bug(
        "a reply leaves before its events are durable",
        "agent/pump.py",
        "is_durable = awaited <= self._entries.durable",
        "is_durable = True",
    ),
    Bug(
        "a read shows what may still be lost",
        "agent/pump.py",
        "is_durable = awaited <= self._entries.durable",
        "is_durable = awaited <= self._entries.durable or not step.events",
        stateful="test_pump_machine.py",
    ),
    Bug(
        "after a failed write the machine keeps what was lost",
        "agent/pump.py",
        "        self.storage_down = True\n        self.machine = self._load()",
        "        self.storage_down = True",
    ),
    Bug(
        "after a failed write those who wait are not told",
        "agent/pump.py",
        "actions = Actions(replies, cancel=",
        "actions = Actions(cancel=",
    ),
    Bug(
        "a deadline we overslept is blamed on the peer",
        "agent/pump.py",
        "blame = Blame.LOCAL if is_ours else Blame.PEER",
        "blame = Blame.PEER",
        stateful="test_pump_machine.py",
    ),
    Bug(
        "the answer of one receiver counts for another",
        "agent/pump.py",
        "                self._calls[call.id] = call\n                heapq",
        "                self._calls[call.id] = calls[0] if calls else call\n                heapq",
    ),
    Bug(
        "a letter is answered twice",
        "agent/pump.py",
        "                leaving.replies += (reply,)",
        "                leaving.replies += (reply, reply)",
    ),
    # --- the manager --------------------------------------------------------------------------------------------------
    Bug(
        "the last report wins",
        "manager/scoring.py",
        "            if match.result is not None:\n                raise _already_reported(match, report, details)\n",
        "",
    ),
    Bug(
        "a superseded attempt is taken",
        "manager/scoring.py",
        "if report.attempt not in (None, match.attempt):",
        "if False:",
        stateful="test_league_machine.py",
    ),
    Bug(
        "anybody may report a match",
        "manager/scoring.py",
        "if not is_held or match.referee_id != referee.agent_id:",
        "if not is_held:",
        stateful="test_league_machine.py",
    ),
    Bug(
        "the winner is taken from the report, the points from nowhere",
        "manager/standings.py",
        "return WIN_POINTS if player == self.winner else LOSS_POINTS",
        "return WIN_POINTS if player != self.winner else LOSS_POINTS",
        faults=0.0,
    ),
    Bug(
        "the manager takes any token",
        "manager/roster.py",
        'agent_id, serial = self.verifiers.get(digest, ("", 0))',
        'agent_id, serial = self.verifiers.get(digest, (token.split("_")[1] if "_" in token else "", 1))\n'
        "        if agent_id in self.members:\n"
        "            return self.members[agent_id], self.members[agent_id].serial",
        faults=0.9,
    ),
    Bug(
        "a voided result still counts",
        "manager/ledger.py",
        "self._count(match, match.result, times=-1)",
        "self._count(match, match.result, times=0)",
        faults=0.9,
    ),
    Bug(
        "standings are of yesterday",
        "manager/ledger.py",
        "self._count(match, event)",
        "self._count(match, event, times=min(self.round_of(match).undecided, 1))",
        faults=0.0,
    ),
    Bug(
        "a round begins before the last is over",
        "manager/rounds.py",
        "if current is not None and not current.undecided and",
        "if current is not None and current.undecided < 2 and",
        faults=0.0,
    ),
    Bug(
        "everybody plays somebody, but not everybody everybody",
        "manager/schedule.py",
        "            ahead = turning[(turn + distance) % count]\n"
        "            behind = turning[(turn - distance) % count]\n",
        "            ahead = turning[distance % count]\n            behind = turning[-distance % count]\n",
        faults=0.0,
    ),
    Bug(
        "who comes late is admitted and forgotten",
        "manager/rounds.py",
        "if not ledger.late or ledger.current_round < len(ledger.rounds):",
        "if True:",
        faults=0.0,
        late=2,
    ),
    Bug(
        "an id is given twice",
        "manager/roster.py",
        "        self.next_number[event.role] = number",
        "        self.next_number[event.role] = 1",
        faults=0.0,
    ),
    Bug(
        "who registers again becomes somebody else",
        "manager/registration.py",
        "if member.role != application.role:",
        "if True:",
        stateful="test_league_machine.py",
    ),
    Bug(
        "a round has no final table",
        "manager/broadcasts.py",
        'return member.role == "player" or bulletin.kind == "round_completed"',
        'return bulletin.kind == "round_completed"',
        faults=0.0,
    ),
    Bug(
        "nothing waits for the answer to the message before",
        "manager/broadcasts.py",
        "NEXT_AFTER_S: Final = 2.0",
        "NEXT_AFTER_S: Final = 0.0",
        faults=0.0,
    ),
    Bug(
        "what was overtaken is repeated after what followed it",
        "manager/broadcasts.py",
        "self.context.calls.repeat_no_more(outbound)",
        "pass",
    ),
    Bug(
        "LEAGUE_COMPLETED is said again and again",
        "manager/broadcasts.py",
        "refused_only=row.retries.refused_only",
        "refused_only=False",
        faults=0.6,
    ),
    Bug(
        "a dead referee keeps its matches",
        "manager/heartbeats.py",
        'referee.state == "ACTIVE" and now >= dead_from:\n',
        'referee.state == "ACTIVE" and now < 0:\n',
        faults=0.9,
        players=8,
    ),
    Bug(
        "a lost match is given out under the same attempt",
        "manager/assignments.py",
        "attempt=match.attempt + 1",
        "attempt=max(match.attempt, 1)",
        faults=0.6,
    ),
    Bug(
        "a restart forgets the round being played",
        "manager/rounds.py",
        "self.outages.take_up(self.assignments.dispatch_again, now)",
        "self.outages.take_up(lambda _: None, now)",
        faults=0.9,
    ),
    Bug(
        "who was withdrawn wins by walkover",
        "manager/rounds.py",
        "winner = staying[0] if staying else None",
        "winner = withdrawn[0]",
        faults=0.9,
    ),
    # --- outages ------------------------------------------------------------------------------------------------------
    Bug(
        "who declines to choose has its matches played again for ever",
        "manager/outages.py",
        "if match.held < MOST_HELD and all(map(self._may_decline, players)):",
        "if True:",
        faults=0.6,
        promise=19,
    ),
    Bug(
        "who declines to choose loses at once",
        "manager/outages.py",
        "if match.held < MOST_HELD and all(map(self._may_decline, players)):",
        "if False:",
        faults=0.6,
        promise=19,
    ),
    Bug(
        "the league waits for nobody",
        "manager/outages.py",
        "if _is_half(missing, counted) and self._remaining_s() > 0:",
        "if False:",
        faults=0.0,
        outages=1.0,
    ),
    Bug(
        "who is reported out of reach in an outage loses after all",
        "manager/outages.py",
        'return "the league waits for players that are gone"',
        "return None",
        faults=0.0,
        outages=1.0,
    ),
    Bug(
        "what was lost before an outage was noticed stays lost",
        "manager/outages.py",
        "        for match_id in list(latest_round.out_of_reach):\n",
        "        for match_id in ():\n",
        faults=0.0,
        outages=1.0,
    ),
    Bug(
        "a league that waits for players never goes on",
        "manager/ledger.py",
        "        self.outage = None\n",
        "",
        faults=0.0,
        outages=1.0,
    ),
    Bug(
        "a manager that comes back believes what was lost without it",
        "manager/outages.py",
        "            self.interrupted(referee, AWAY, now)\n",
        "            pass\n",
        faults=0.2,
        outages=1.0,
    ),
    Bug(
        "a round ends before the players were probed",
        "manager/outages.py",
        " or self.on_first_survey is not None or self._survey.is_binding",
        " or self.on_first_survey is not None",
        faults=0.2,
        outages=1.0,
    ),
    # --- the referee --------------------------------------------------------------------------------------------------
    Bug(
        "a restart draws again",
        "referee/conduct.py",
        "seed = bytes.fromhex(assignment.seed)",
        "seed = self._context.chance(32)",
        faults=0.0,
    ),
    Bug(
        "a restart forgets which record the first call showed",
        "referee/conduct.py",
        "        if self.match.turn and not all(assignment.records):\n"
        "            self._show_records(assignment.records, now)\n",
        "        if self.match.turn:\n            self._show_records(({}, {}), now)\n",
        faults=0.8,
        dialects=1.0,
    ),
    Bug(
        "a failed attempt is not counted",
        "calling/engine.py",
        "delivery.failures += 1",
        "delivery.failures = 1",
        faults=0.15,
        players=5,
    ),
    Bug(
        "one failed attempt is enough",
        "calling/engine.py",
        "pause_s = retries.delay_before(delivery.failures)",
        "pause_s = None",
    ),
    Bug(
        "choices are asked for before both have joined",
        "referee/match.py",
        "if first.joined and second.joined:",
        "if first.joined or second.joined:",
        faults=0.0,
    ),
    Bug(
        "the other one is judged before it has answered",
        "referee/conduct.py",
        "        if not self._askings:\n            self.proceed(now)\n",
        "        if self.match.faults:\n            self._decide(now)\n"
        "        elif not self._askings:\n            self.proceed(now)\n",
        stateful="test_match_machine.py",
    ),
    Bug(
        "the fault of one is the fault of the other",
        "referee/conduct.py",
        "return _Verdict(opponent(loser), reason)",
        "return _Verdict(loser, reason)",
    ),
    Bug(
        "a result is decided and never reported",
        "referee/conduct.py",
        "        self._deliveries = [delivery]\n        self._context.calls.deliver([delivery], now)\n",
        "        self._deliveries = [delivery]\n",
        faults=0.0,
        players=3,
    ),
    Bug(
        "a stranger may choose for a player",
        "referee/posted_answers.py",
        'if question.was_received(read.field("conversation_id")) or question.has_full_standing(token):',
        'if question.was_received(read.field("conversation_id")) or token:',
        faults=0.4,
    ),
    # --- who may speak ------------------------------------------------------------------------------------------------
    Bug(
        "a player answers whoever calls",
        "player/player_context.py",
        "        if not self.is_referee(letter, message, sender, match_id, invites_to):\n",
        "        if False:\n",
        faults=0.0,
        cheats=0.5,
        promise=20,
    ),
    Bug(
        "an answer in a request of its own needs no proof",
        "referee/posted_answers.py",
        'if question.was_received(read.field("conversation_id")) or question.has_full_standing(token):',
        "if True:",
        faults=0.0,
        cheats=0.5,
        promise=21,
    ),
    Bug(
        "a manager takes a report from a referee the match was not given to",
        "manager/scoring.py",
        "if not is_held or match.referee_id != referee.agent_id:",
        "if False:",
        faults=0.0,
        cheats=1.0,
        promise=21,
    ),
    Bug(
        "a token got by name alone has full standing",
        "manager/registration.py",
        "queries_only=not comeback.is_proven",
        "queries_only=False",
        faults=0.0,
        cheats=1.0,
        promise=21,
    ),
    Bug(
        "an announcement taken twice is played twice",
        "referee/assigned_matches.py",
        "return (announced.attempt or 1) > context.docket.attempt_of(announced.match_id)",
        "return (announced.attempt or 1) >= context.docket.attempt_of(announced.match_id)",
    ),
    Bug(
        "the errors of one player are told to the other",
        "referee/game_errors.py",
        "            address=lambda: to,\n",
        "            address=lambda: Address(match.taken.players[1 - seat], match.taken.endpoints[1 - seat]),\n",
    ),
)
