"""Promises 20 and 21: only a match's referee learns a choice early, and only that referee decides the result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from league import events as e
from league.features.audit.promises.grounds.event_history import (
    Statement,
    choices_of,
    game_of,
    inner,
    is_handed_in,
    schedule_of,
    text,
    word_of,
)
from league.features.audit.promises.grounds.event_log import Attempt, EventLog, attempt_of
from league.features.audit.promises.grounds.evidence import SAME_MOMENT_S, Evidence, Object
from league.features.audit.promises.grounds.promise_findings import (
    Breach,
    call_at,
    event_at,
    no_manager_journal,
)
from league.features.audit.promises.secrecy import secrets_of
from league.manager.season.address_reports import is_one_machine
from league.protocol.signing.tokens import MANAGER


def _statements(evidence: Evidence) -> Mapping[tuple[str, str], list[Statement]]:
    """What each agent answered or posted, by agent and match."""
    statements: dict[tuple[str, str], list[Statement]] = {}
    for call in evidence.traffic or ():
        sender = evidence.agent(call.sender_node)
        receiver = evidence.agent(call.receiver_node)
        match_id = text(call.message, "match_id") or ""
        question = Statement(receiver, call.sent_at, call.message, call)
        statements.setdefault((sender, match_id), []).append(question)
        if call.accepted:
            answer = Statement(sender, call.answered_at or call.sent_at, call.accepted, call)
            statements.setdefault((receiver, match_id), []).append(answer)
    return statements


# --- promise 20: only the referee of a match learns a choice before both choices are in -------------------------------


def leaks(evidence: Evidence) -> Iterator[Breach]:
    statements = evidence.once(_statements)
    referees = _referees(evidence)
    asked_by_strangers = _asked_by_strangers(evidence)
    for journal in evidence.referees.values():
        begun = {attempt_of(match): match.at for match in journal.of_kind(e.MatchTaken)}
        for secret in secrets_of(journal):
            match_id = secret.attempt.match_id
            if (secret.player_id, match_id) in asked_by_strangers:
                continue
            # A player may tell its choice before its referee has it.
            since = begun.get(secret.attempt, secret.since)
            for statement in statements.get((secret.player_id, match_id), ()):
                is_early = since <= statement.at < secret.until - SAME_MOMENT_S
                if not is_early or _choice(statement.content) != secret.choice:
                    continue
                # The manager learns the choices before a draw.
                if statement.to != MANAGER and statement.to not in referees.get(match_id, ()):
                    detail = f"{statement.to} learned what {secret.player_id} chose in {match_id}"
                    yield Breach(detail, call_at(statement.call))


def _trusts_addresses(evidence: Evidence) -> bool:
    rules: list[str | None] = [event.settings.trust for event in evidence.manager.of_kind(e.LeagueCreated)]
    # An operator may change what a league trusts while it runs.
    for change in evidence.manager.of_kind(e.SettingsChanged):
        rules.append(change.trust)
        if change.settings is not None:
            rules.append(change.settings.trust)
    return "class" in rules


def _asked_by_strangers(evidence: Evidence) -> set[tuple[str, str]]:
    """The players, by match, that answered somebody who might have been the referee: one of theirs shows no tokens."""
    if not _trusts_addresses(evidence):
        return set()
    return {
        (player_id, invited.match_id)
        for player_id, journal in evidence.players.items()
        for invited in journal.of_kind(e.InvitationAnswered)
        if not invited.trusted
    }


def _referees(evidence: Evidence) -> Mapping[str, set[str]]:
    """All referees that ever got a match, by match."""
    referees: dict[str, set[str]] = {}
    for assigned in evidence.manager.of_kind(e.MatchAssigned):
        referees.setdefault(assigned.match_id, set()).add(assigned.referee_id)
    for referee, journal in evidence.referees.items():
        for match in journal.of_kind(e.MatchTaken):
            referees.setdefault(match.match_id, set()).add(referee)
    return referees


def _choice(content: Object) -> str | None:
    return text(content, "parity_choice") or text(inner(content, "move_data"), "choice")


# --- promise 21: a result counts only if its referee decided it, by what its players answered -------------------------


def undecided(evidence: Evidence) -> Iterator[Breach]:
    yield from _results(evidence)
    yield from _unsigned(evidence)
    yield from _unseen_losses(evidence)
    yield from _moves(evidence)
    yield from _endings(evidence)


def undecided_unobservable(evidence: Evidence) -> str | None:
    reason = no_manager_journal(evidence)
    if reason is not None:
        return reason
    referees = {result.referee_id for result in evidence.manager.of_kind(e.ResultAccepted)}
    missing = sorted(referee for referee in referees if not evidence.referees.get(referee))
    if missing:
        return f"there is no journal of {', '.join(missing)}"
    return None


def _results(evidence: Evidence) -> Iterator[Breach]:
    """Every result of the manager was decided by its referee, and no impostor decided any."""
    impostors = evidence.simulator.impostors or ()
    for place, result in evidence.manager.places(e.ResultAccepted):
        referee = result.referee_id
        # An impostor's result is wrong even if its own journal has it.
        if referee in impostors:
            yield Breach(f"{result.match_id} was decided by {referee}, an impostor", event_at("manager", place))
        if result.origin:
            yield from _by_address(evidence, result, event_at("manager", place))
            continue
        journal = evidence.referees.get(referee)
        # The manager may have decided what was handed in.
        if not journal or is_handed_in(evidence.manager, result):
            continue
        if referee in evidence.simulator.dishonest and word_of(evidence.manager, result) != "proven":
            # Its word is all there is, and nobody calls it more than that.
            continue
        decisions = journal.once(_decisions).get(attempt_of(result), ())
        if not any(_is_same(decided, result) for decided in decisions):
            yield Breach(f"{result.match_id} counts as {referee} did not decide it", event_at("manager", place))


def _decisions(journal: EventLog) -> Mapping[Attempt, Sequence[e.MatchDecided]]:
    """A referee's decisions by attempt."""
    decisions: dict[Attempt, list[e.MatchDecided]] = {}
    for decided in journal.of_kind(e.MatchDecided):
        decisions.setdefault(attempt_of(decided), []).append(decided)
    return decisions


def _by_address(evidence: Evidence, result: e.ResultAccepted, where: str) -> Iterator[Breach]:
    """A result that only an address shows is of a referee at that address, which never proved itself. Nobody knows who
    reported it."""
    if not _trusts_addresses(evidence):
        yield Breach(
            f"{result.match_id} counts by an address in a league that trusts tokens only",
            where,
        )
    arrivals = [(event.agent_id, event.origin) for event in evidence.manager.of_kind(e.AgentRegistered)]
    arrivals += [(event.agent_id, event.origin) for event in evidence.manager.of_kind(e.AgentMoved)]
    homes = {origin for agent_id, origin in arrivals if agent_id == result.referee_id}
    # Journals of 0.3.0 do not say where the report came from.
    if result.origin and not any(is_one_machine(result.origin, home) for home in homes):
        yield Breach(f"{result.match_id} counts by an address that is not its referee's", where)
    for earlier in evidence.manager.of_kind(e.ResultAccepted):
        is_proven = earlier.referee_id == result.referee_id and not earlier.origin
        if is_proven and earlier.at < result.at:
            yield Breach(
                f"{result.match_id} counts by an address, though {result.referee_id} has shown a token",
                where,
            )


def _unsigned(evidence: Evidence) -> Iterator[Breach]:
    """No result is called proven that its players did not sign, as far as their journals are at hand."""
    signed = {
        (choice.match_id, choice.attempt, player, choice.turn): choice
        for player, journal in evidence.players.items()
        for choice in journal.of_kind(e.ChoiceGiven)
    }
    game = game_of(evidence.manager)
    schedule = schedule_of(evidence.manager)
    for place, result in evidence.manager.places(e.ResultAccepted):
        if not evidence.players or word_of(evidence.manager, result) != "proven":
            continue
        for turn, step in enumerate(choices_of(result, game, schedule), start=1):
            for player, choice in step.items():
                if not evidence.players.get(player):
                    continue
                given = signed.get((result.match_id, result.attempt, player, turn))
                if given is None or given.choice != choice or not given.signature:
                    detail = f"{result.match_id} is called proven, but {player} did not sign {choice} in turn {turn}"
                    yield Breach(detail, event_at("manager", place))


def _unseen_losses(evidence: Evidence) -> Iterator[Breach]:
    """No loss is the manager's that only the referee saw: the manager could not reach the player either, when it was
    asked. A referee that asks before a loss has asked about this one."""
    manager = evidence.manager
    questions = list(manager.of_kind(e.LossAllowed))
    asked_about = {(attempt_of(loss), loss.player_id) for loss in questions}
    gone = {(attempt_of(loss), loss.player_id) for loss in questions if loss.reached is False}
    schedule = schedule_of(manager)
    asking: set[str] = set()
    for place, event in manager.places(e.AgentRegistered, e.TokenRenewed, e.ResultAccepted):
        if isinstance(event, e.AgentRegistered | e.TokenRenewed):
            # A referee may register anew in another way.
            asking.discard(event.agent_id)
            if event.asks_before_losses:
                asking.add(event.agent_id)
        if not isinstance(event, e.ResultAccepted) or event.status != "TECHNICAL_LOSS":
            continue
        if word_of(manager, event) != "by_manager":
            continue
        slot = schedule.get(event.match_id)
        players = slot.players if slot is not None else ()
        for player in sorted({*players} - {event.winner}):
            loss = (attempt_of(event), player)
            is_due = loss in asked_about or event.referee_id in asking
            if is_due and loss not in gone:
                detail = f"the manager stands for the loss of {player} in {event.match_id}, which only its referee saw"
                yield Breach(detail, event_at("manager", place))


def _is_same(decided: e.MatchDecided, result: e.ResultAccepted) -> bool:
    same_end = decided.status == result.status and decided.winner == result.winner
    return same_end and decided.points == result.points


def _moves(evidence: Evidence) -> Iterator[Breach]:
    """Every choice that counts was said by its player."""
    if evidence.traffic is None:
        return
    statements = evidence.once(_statements)
    for referee, journal in evidence.referees.items():
        if not evidence.is_recorded(referee):
            continue
        for place, move in journal.places(e.MoveMade):
            answers = statements.get((move.player_id, move.match_id), ())
            # Nobody knows who sent a choice that counts by an address: the operator accepts that.
            if not move.by_address and not any(_names(answer.content, move.choice) for answer in answers):
                detail = f"{move.player_id} never answered {move.choice} in {move.match_id}"
                yield Breach(detail, event_at(referee, place))


def _names(content: object, choice: str) -> bool:
    """Whether a choice is said in a message: as a text of its own, or as a word of one."""
    word = re.compile(rf"(?<!\w){re.escape(choice.casefold())}(?!\w)")
    return any(word.search(text) for text in _texts(content))


def _texts(value: object) -> Iterator[str]:
    """Every text in a message: third-party agents have fields of their own."""
    if isinstance(value, str):
        yield value.strip().casefold()
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)


def _endings(evidence: Evidence) -> Iterator[Breach]:
    """Every result that a player believes was decided by a referee."""
    decisions = {
        (event.match_id, event.status, event.winner)
        for journal in evidence.referees.values()
        for event in journal.of_kind(e.MatchDecided)
    }
    for player, journal in evidence.players.items():
        for place, ended in journal.places(e.GameEnded):
            # Without the journal of its referee, a result may be right all the same.
            is_known = evidence.referees.get(ended.referee_id) or evidence.simulator.impostors is not None
            decision = (ended.match_id, ended.status, ended.winner)
            if is_known and ended.trusted and decision not in decisions:
                yield Breach(
                    f"{player} was told a result of {ended.match_id} nobody decided",
                    event_at(player, place),
                )
