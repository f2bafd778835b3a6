"""Deliberate bugs, each a change of one place. A hunt that does not find one of them is no hunt.

`old` must stand exactly once in its file, so that a bug planted in code that has changed since is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from league.features.lab.simulation.runs import Plan


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug. `faults`, `game`, `players`, `dialects`, `outages`, `cheats`, `trust` and `rogues`: the leagues it shows
    in; `promise`: the one that must find it, if it is not enough that any does; `stateful`: the test, by its path from
    tests/properties, that finds it where leagues do not, because no promise speaks of it or because the chance would be
    too small; `first_seed`: the league that the hunt begins with, where none before shows the bug."""

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
    trust: Literal["tokens", "class"] = "tokens"
    rogues: float = 0.0
    promise: int | None = None
    stateful: str = ""
    first_seed: int = 1

    @property
    def plan(self) -> Plan:
        shares = (self.dialects, self.outages, self.cheats)
        return Plan(self.players, 3, self.faults, self.game, False, *shares, self.late, self.trust, self.rogues)


BUGS = (
    # --- intervals ----------------------------------------------------------------------------------------------------
    Bug(
        "an interval excludes its mean",
        "features/statistics/methods/strata.py",
        "return min(low, played.mean), max(high, played.mean)",
        "return low, high",
        stateful="../statistics/test_strata.py",
    ),
    Bug(
        "matches that are equal by luck make a mean certain",
        "features/statistics/methods/strata.py",
        "variance = (stratum + lender.weighing(1) + unseen).variance",
        "variance = (stratum + unseen).variance",
        stateful="../statistics/test_strata.py",
    ),
    # --- tournaments --------------------------------------------------------------------------------------------------
    Bug(
        "the seed of a series depends on places in a list",
        "features/experiments/playing/plan.py",
        "            self.strategies[first].digest,\n            self.strategies[second].digest,\n",
        "            str(first),\n            str(second),\n",
        stateful="../experiments/test_seeds.py",
    ),
    Bug(
        "the digest of a strategy leaves out what its file imports",
        "features/experiments/playing/sources.py",
        "waiting += _neighbour(folder, module)",
        "pass",
        stateful="../experiments/test_seeds.py",
    ),
    # --- transcripts --------------------------------------------------------------------------------------------------
    Bug(
        "a letter that stays loses its body with the first that had it",
        "storage/transcripts/pruning.py",
        "yield from ((step, ()) for step in _BEQUEATH)",
        "yield from ()",
        stateful="../unit/storage/transcripts/test_transcript.py",
    ),
    Bug(
        "a pruned transcript passes for a whole one",
        "storage/transcripts/pruning.py",
        "yield _ADD_REMARK, (at, remark.encode())",
        "pass",
        stateful="../unit/storage/transcripts/test_transcript.py",
    ),
    # --- the operator's referee ---------------------------------------------------------------------------------------
    Bug(
        "a referee that shows the enrolment key later stays a stranger",
        "manager/staffing/assignments.py",
        "if referee.as_referee.has_shown_key or not referee.as_referee.came_openly\n",
        "if not referee.as_referee.came_openly\n",
        stateful="../unit/manager/staffing/test_assignments.py",
    ),
    Bug(
        "a referee that came in openly never looks for the key",
        "membership.py",
        "if self._membership.agreement.derived_tokens and self._finds_new_key(member.league_id):",
        "if False:",
        stateful="../unit/test_membership.py",
    ),
    Bug(
        "a member gives up when its second registration is refused by a third-party manager",
        "membership.py",
        "if not member.is_registered or member.agreement.derived_tokens:",
        "if True:",
        stateful="../unit/test_membership.py",
    ),
    # --- secrets of the operator --------------------------------------------------------------------------------------
    Bug(
        "the old admin token still counts after a rotation",
        "manager/members/secret_rotation.py",
        "changed[OPERATOR] = tokens.verifier(secret)",
        "changed[OPERATOR] = secrets[OPERATOR]",
        stateful="../interaction/test_orders.py",
    ),
    Bug(
        "the operator can go back to a replaced token",
        "manager/orders.py",
        "if secrets.get(name) == order.secret or is_retired(secrets, name, order.secret):",
        "if secrets.get(name) == order.secret:",
        stateful="../interaction/test_orders.py",
    ),
    # --- choices of language models -----------------------------------------------------------------------------------
    Bug(
        "a fallback counts in a league that refuses it",
        "referee/questions/asking.py",
        "elif assignment.fallbacks_refused and answer.provenance is not None and answer.provenance.fallbacks:",
        "elif False:",
        stateful="../unit/referee/test_manager_report.py",
    ),
    Bug(
        "the digest of a match leaves conversations out",
        "protocol/message/experiment.py",
        "digest = self.conversation_sha256 or other.conversation_sha256\n        if self.conversation_sha256 and",
        "digest = self.conversation_sha256 or other.conversation_sha256\n        if False and",
        stateful="../unit/referee/test_manager_report.py",
    ),
    Bug(
        "an outage becomes a choice of the model",
        "features/minds/asking.py",
        "            self.outage = reply.detail\n",
        "",
        stateful="../minds/test_llm.py",
    ),
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
        "        if can_read:\n            self.go_back()",
        "        self.is_stale = False",
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
        "                self._open.calls[call.id] = call\n                heapq",
        "                self._open.calls[call.id] = calls[0] if calls else call\n                heapq",
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
        "manager/season/scoring.py",
        "raise self._already_reported(match, match.result, report, details, now, origin)",
        "pass",
    ),
    Bug(
        "a superseded attempt is taken",
        "manager/season/scoring.py",
        "if report.attempt not in (None, match.attempt):",
        "if False:",
        stateful="test_league_machine.py",
    ),
    Bug(
        "anybody may report a match",
        "manager/season/scoring.py",
        "if not is_held or match.referee_id != referee.agent_id:",
        "if not is_held:",
        stateful="test_league_machine.py",
    ),
    Bug(
        "the winner is taken from the report, the points from nowhere",
        "manager/season/standings.py",
        "return WIN_POINTS if player == self.winner else LOSS_POINTS",
        "return WIN_POINTS if player != self.winner else LOSS_POINTS",
        faults=0.0,
    ),
    Bug(
        "the manager takes any token",
        "manager/state/roster.py",
        'agent_id, serial = self.verifiers.get(digest, ("", 0))',
        'agent_id, serial = self.verifiers.get(digest, (token.split("_")[1] if "_" in token else "", 1))\n'
        "        if agent_id in self.members:\n"
        "            return self.members[agent_id], self.members[agent_id].credentials.serial",
        faults=0.9,
    ),
    Bug(
        "a voided result still counts",
        "manager/state/ledger.py",
        "self._count(match, match.result, times=-1)",
        "self._count(match, match.result, times=0)",
        faults=0.9,
    ),
    Bug(
        "standings are of yesterday",
        "manager/state/ledger.py",
        "self._count(match, event)",
        "self._count(match, event, times=min(self.round_of(match).undecided, 1))",
        faults=0.0,
    ),
    Bug(
        "a round begins before the last is over",
        "manager/season/rounds.py",
        "if current is not None and not current.undecided and",
        "if current is not None and current.undecided < 2 and",
        faults=0.0,
    ),
    Bug(
        "everybody plays somebody, but not everybody everybody",
        "manager/season/schedule.py",
        "            ahead = turning[(turn + distance) % count]\n"
        "            behind = turning[(turn - distance) % count]\n",
        "            ahead = turning[distance % count]\n            behind = turning[-distance % count]\n",
        faults=0.0,
    ),
    Bug(
        "who comes late is admitted and forgotten",
        "manager/season/rounds.py",
        "if not ledger.roster.late or ledger.current_round < len(ledger.rounds):",
        "if True:",
        faults=0.0,
        late=2,
    ),
    Bug(
        "an id is given twice",
        "manager/state/roster.py",
        "        self.next_number[event.role] = number",
        "        self.next_number[event.role] = 1",
        faults=0.0,
    ),
    Bug(
        "who registers again becomes somebody else",
        "manager/members/registration.py",
        "if member.role != application.role:",
        "if True:",
        stateful="test_league_machine.py",
    ),
    Bug(
        "a round has no final table",
        "manager/telling/broadcasts.py",
        'return member.role == "player" or bulletin.kind == "round_completed"',
        'return bulletin.kind == "round_completed"',
        faults=0.0,
    ),
    Bug(
        "nothing waits for the answer to the message before",
        "manager/telling/broadcasts.py",
        "NEXT_AFTER_S: Final = 2.0",
        "NEXT_AFTER_S: Final = 0.0",
        faults=0.0,
    ),
    Bug(
        "what was overtaken is repeated after what followed it",
        "manager/telling/broadcasts.py",
        "self.context.calls.repeat_no_more(outbound)",
        "pass",
    ),
    Bug(
        "LEAGUE_COMPLETED is said again and again",
        "manager/telling/broadcasts.py",
        "refused_only=row.retries.refused_only",
        "refused_only=False",
        faults=0.6,
    ),
    Bug(
        "a dead referee keeps its matches",
        "manager/staffing/leases.py",
        'referee.state == "ACTIVE" and is_dead:\n',
        'referee.state == "ACTIVE" and now < 0:\n',
        stateful="../unit/manager/staffing/test_leases.py",
    ),
    Bug(
        "a lost match is given out under the same attempt",
        "manager/staffing/assignments.py",
        "attempt = match.attempt + 1",
        "attempt = max(match.attempt, 1)",
        faults=0.6,
    ),
    Bug(
        "a restart forgets the round being played",
        "manager/season/rounds.py",
        "self.assignments.dispatch_again(now)",
        "pass",
        faults=0.9,
    ),
    Bug(
        "who was withdrawn wins by walkover",
        "manager/season/rounds.py",
        "winner = staying[0] if staying else None",
        "winner = withdrawn[0]",
        faults=0.9,
    ),
    # --- silent players -----------------------------------------------------------------------------------------------
    Bug(
        "a match waits for a player again and again",
        "manager/fairness/patience.py",
        "if had_its_own or player.attendance.own_pauses >= OWN_PAUSES:",
        "if had_its_own:",
        faults=0.3,
        promise=19,
    ),
    Bug(
        "a match waits for ever for many players",
        "manager/fairness/patience.py",
        " and player.attendance.outage_pauses < outage_minutes:",
        ":",
        stateful="../unit/manager/fairness/test_patience.py",
    ),
    Bug(
        "a match waits for nobody",
        "manager/fairness/patience.py",
        "        cause = self._cause(question, is_reached)\n",
        "        cause = None\n",
        faults=0.0,
        outages=1.0,
        promise=19,
    ),
    Bug(
        "nobody is seen to be silent with others",
        "manager/fairness/patience.py",
        "        if len(silent) < FEWEST or 3 * len(silent) < len(players):\n",
        "        if True:\n",
        faults=0.1,
        outages=1.0,
        promise=19,
    ),
    Bug(
        "whatever a player lost without being asked about is believed",
        "manager/fairness/patience.py",
        "        if losers - match.current.allowed.keys() and self._ledger.is_running:\n",
        "        if False:\n",
        stateful="../unit/manager/fairness/test_patience.py",
    ),
    Bug(
        "a referee decides without asking",
        "referee/questions/charges.py",
        "            return code in MAY_WAIT\n",
        "            return False\n",
        faults=0.3,
        promise=19,
    ),
    Bug(
        "a referee that was killed decides what it had asked about",
        "referee/questions/asking.py",
        "            self._lose(FinalFault(last.code, last.detail, is_reached), now, failed_at=last.at)\n",
        "            self._charges.fault = FinalFault(last.code, last.detail, is_reached)\n"
        "            self._decided(now)\n",
        faults=0.4,
        outages=1.0,
        promise=19,
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
        "a referee deals the cards it likes",
        "referee/conduct.py",
        "            number = draw.event(seed, assignment.league_id, match_id, attempt, index, weights)\n",
        "            number = 0\n",
        faults=0.0,
        game="kuhn_poker",
        promise=4,
    ),
    Bug(
        "points by margin are counted like wins",
        "manager/season/standings.py",
        "        if self.score is not None:\n            return self.score[player]\n",
        "",
        faults=0.0,
        game="kuhn_poker",
        promise=5,
    ),
    Bug(
        "a restart forgets which record the first call showed",
        "referee/conduct.py",
        "        if self.match.turn and not all(assignment.records):\n"
        "            self._show_records(assignment.records, now)\n",
        "        if self.match.turn:\n            self._show_records(({}, {}), now)\n",
        faults=0.8,
        dialects=1.0,
        first_seed=14,
    ),
    Bug(
        "a failed attempt is not counted",
        "calling/engine.py",
        "delivery.failures += 1",
        "delivery.failures = 1",
        faults=0.15,
        players=5,
        first_seed=19,
    ),
    Bug(
        "one failed attempt is enough",
        "calling/engine.py",
        "pause_s = retries.delay_before(delivery.failures, failure is Failure.REFUSED)",
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
        "referee/decision.py",
        "return _Verdict(opponent(loser), reason)",
        "return _Verdict(loser, reason)",
    ),
    Bug(
        "a result is decided and never reported",
        "referee/manager_report.py",
        "        self._delivery = delivery\n        self._context.calls.deliver([delivery], now)\n",
        "        self._delivery = delivery\n",
        faults=0.0,
        players=3,
    ),
    Bug(
        "a stranger may choose for a player",
        "referee/questions/posted_answers.py",
        'if question.was_received(read.field("conversation_id")) or question.has_full_standing(token):',
        'if question.was_received(read.field("conversation_id")) or token:',
        faults=0.4,
        first_seed=11,
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
        "referee/questions/posted_answers.py",
        'if question.was_received(read.field("conversation_id")) or question.has_full_standing(token):',
        "if True:",
        faults=0.0,
        cheats=0.5,
        promise=21,
    ),
    Bug(
        "a manager takes a report from a referee the match was not given to",
        "manager/season/scoring.py",
        "if not is_held or match.referee_id != referee.agent_id:",
        "if False:",
        faults=0.0,
        cheats=1.0,
        promise=21,
    ),
    Bug(
        "a report without a token counts from any address",
        "manager/season/address_reports.py",
        "if not is_one_machine(origin, referee.origin):",
        "if False:",
        faults=1.0,
        trust="class",
        promise=21,
    ),
    Bug(
        "a token got by name alone has full standing",
        "manager/members/registration.py",
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
        "referee/questions/game_errors.py",
        "            address=lambda: to,\n",
        "            address=lambda: Address(match.taken.players[1 - seat], match.taken.endpoints[1 - seat]),\n",
    ),
    # --- evidence -----------------------------------------------------------------------------------------------------
    Bug(
        "a result is proven that its players did not sign",
        "games/evidence.py",
        "    if wrong:\n",
        "    if False:\n",
        stateful="../unit/manager/fairness/test_proofs.py",
    ),
    Bug(
        "what players said in a long match is forgotten when it is checked",
        "games/evidence.py",
        'return {**details, "talk": talk} if talk else details',
        "return details",
        stateful="../unit/manager/fairness/test_long_evidence.py",
    ),
    Bug(
        "a long match has no choices",
        "games/moves.py",
        'details.get("draws") or [], players):\n            if position.moves:\n',
        'details.get("draws") or [], players):\n            if False:\n',
        stateful="../unit/manager/fairness/test_long_evidence.py",
    ),
    Bug(
        "a manager that was killed never asks for a record again",
        "manager/season/scoring.py",
        "        if not self._ledger.controls.closed:\n            for match in",
        "        if False:\n            for match in",
        stateful="../unit/manager/fairness/test_long_evidence.py",
    ),
    Bug(
        "a referee that comes back has no time for its match",
        "manager/staffing/leases.py",
        "        # Its matches go on where they were.\n        self._renew(referee, now)\n",
        "",
        stateful="../unit/manager/staffing/test_leases.py",
    ),
    Bug(
        "a seed that was picked afterwards proves a draw",
        "games/draw.py",
        "if promised != commitment(seed, league_id, match_id, attempt, share_commitment):",
        "if False:",
        stateful="../unit/player/playing/test_signing.py",
    ),
    Bug(
        "a player chooses again after an error about a legal choice",
        "player/playing/matches.py",
        "        if not answer.final:\n",
        "        if True:\n",
        stateful="../unit/player/playing/test_signing.py",
    ),
    Bug(
        "a player signs for an attempt that it forgot",
        "player/playing/signing.py",
        "if not is_proven or not match.signs:",
        "if not is_proven:",
        stateful="../unit/player/playing/test_signing.py",
    ),
    Bug(
        "a referee learns the share for other choices, too",
        "manager/fairness/draws.py",
        "elif not _is_same(released, request):",
        "elif False:",
        stateful="../unit/manager/fairness/test_draws.py",
    ),
    Bug(
        "a match that is decided is played again when its referee is lost",
        "manager/staffing/assignments.py",
        "        if self.draws.is_decided(match):\n",
        "        if False:\n",
        faults=0.0,
        rogues=1.0,
        promise=12,
    ),
    Bug(
        "choices are handed in before they are durable",
        "referee/conduct.py",
        "        if not self._match.draws.is_requested:\n",
        "        if False:\n",
        promise=13,
        first_seed=75,
    ),
    Bug(
        "an answer without its token counts for a player that signs",
        "referee/conduct.py",
        "is_strict or match.taken.signs[seat],",
        "is_strict,",
        stateful="../unit/referee/test_drawing.py",
    ),
    # --- dishonest referees and rewritten journals ----------------------------------------------------------
    Bug(
        "a result that does not follow from the choices is called proven",
        "games/evidence.py",
        '            if name != "moves" and self._details.get(name) != value:\n',
        "            if False:\n",
        stateful="../games/test_evidence.py",
    ),
    Bug(
        "the seed need not open the commitment",
        "games/draw.py",
        "if promised != commitment(seed, league_id, match_id, attempt, share_commitment):",
        "if False:",
        stateful="../games/test_draw.py",
    ),
    Bug(
        "a loss is called confirmed though the player was in reach",
        "manager/fairness/proofs.py",
        "            return is_same and allowed.reached is False\n",
        "            return is_same\n",
        promise=21,
    ),
    Bug(
        "a match that the manager decided is decided again",
        "manager/league_manager.py",
        "LEAVING_PLAY = (ResultAccepted, WalkoverDecided, MatchLost)\n",
        "LEAVING_PLAY = (WalkoverDecided, MatchLost)\n",
        stateful="../unit/manager/fairness/test_draws.py",
    ),
    Bug(
        "a loss that nobody was asked about is called confirmed",
        "manager/fairness/proofs.py",
        "if referee is not None and referee.as_referee.asks_before_losses:",
        "if False:",
        stateful="../unit/manager/fairness/test_patience.py",
    ),
    Bug(
        "nobody compares a stored result with what its players signed",
        "features/audit/promises/checking.py",
        "    breaches = list(promise.breaches(evidence))\n",
        "    breaches: list[Breach] = []\n",
        faults=0.0,
        rogues=1.0,
        promise=21,
    ),
    Bug(
        # Every number follows, and every result is proven: only the friends of a referee that leaks its seed show it.
        "the manager's share of a draw changes nothing",
        "games/draw.py",
        "return hashlib.sha256(seed + share).digest()",
        "return seed",
        stateful="../lab/simulation/test_rogue_referees.py::test_a_leaked_number_wins_unless_the_draw_is_shared",
    ),
)
