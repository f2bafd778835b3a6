"""Promises 20 and 21: only a match's referee learns a choice early, and only that referee decides the result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from league import events as e
from league.manager.address_reports import SETTLE_S
from league.protocol.tokens import MANAGER
from league_audit.promises.event_history import (
    MAY_BE_LIES,
    Statement,
    attempt_of,
    choices_of,
    game_of,
    inner,
    of_kind,
    places,
    schedule_of,
    text,
)
from league_audit.promises.evidence import SAME_MOMENT_S, Evidence, Object
from league_audit.promises.promise_findings import (
    Breach,
    call_at,
    event_at,
    no_manager_journal,
)
from league_audit.promises.secrecy import secrets_of


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
    statements = _statements(evidence)
    referees = _referees(evidence)
    for journal in evidence.referees.values():
        begun = {attempt_of(match): match.at for match in of_kind(journal, e.MatchTaken)}
        for secret in secrets_of(journal):
            match_id = secret.attempt.match_id
            # A player may tell its choice before its referee has it.
            since = begun.get(secret.attempt, secret.since)
            for statement in statements.get((secret.player_id, match_id), ()):
                is_early = since <= statement.at < secret.until - SAME_MOMENT_S
                if not is_early or _choice(statement.content) != secret.choice:
                    continue
                # A player that is asked again shows the manager its receipt.
                if statement.to != MANAGER and statement.to not in referees.get(match_id, ()):
                    detail = f"{statement.to} learned what {secret.player_id} chose in {match_id}"
                    yield Breach(detail, call_at(statement.call))


def _referees(evidence: Evidence) -> Mapping[str, set[str]]:
    """All referees that ever got a match, by match."""
    referees: dict[str, set[str]] = {}
    for assigned in of_kind(evidence.manager, e.MatchAssigned):
        referees.setdefault(assigned.match_id, set()).add(assigned.referee_id)
    for referee, journal in evidence.referees.items():
        for match in of_kind(journal, e.MatchTaken):
            referees.setdefault(match.match_id, set()).add(referee)
    return referees


def _choice(content: Object) -> str | None:
    return text(content, "parity_choice") or text(inner(content, "move_data"), "choice")


# --- promise 21: a result counts only if its referee decided it, by what its players answered -------------------------


def undecided(evidence: Evidence) -> Iterator[Breach]:
    yield from _results(evidence)
    yield from _unsigned(evidence)
    yield from _unseen_losses(evidence)
    yield from _unfounded_disputes(evidence)
    yield from _moves(evidence)
    yield from _endings(evidence)


def undecided_unobservable(evidence: Evidence) -> str | None:
    reason = no_manager_journal(evidence)
    if reason is not None:
        return reason
    referees = {result.referee_id for result in of_kind(evidence.manager, e.ResultAccepted)}
    missing = sorted(referee for referee in referees if not evidence.referees.get(referee))
    if missing:
        return f"there is no journal of {', '.join(missing)}"
    return None


def _results(evidence: Evidence) -> Iterator[Breach]:
    """Every result of the manager was decided by its referee, and no impostor decided any."""
    for place, result in places(evidence.manager, e.ResultAccepted):
        referee = result.referee_id
        where = event_at("manager", place)
        # An impostor's result is wrong even if its own journal has it.
        if referee in (evidence.simulator.impostors or ()):
            yield Breach(f"{result.match_id} was decided by {referee}, an impostor", where)
        if result.evidence == e.BY_ADDRESS:
            yield from _by_address(evidence, result, where)
            continue
        journal = evidence.referees.get(referee)
        if not journal:
            continue
        if result.evidence == "by_manager":
            # The manager decided it, from what was handed in (promise 8 looks for that).
            continue
        if referee in evidence.simulator.dishonest and result.evidence in MAY_BE_LIES:
            # Its word is all there is, and nobody calls it more than that.
            continue
        decisions = of_kind(journal, e.MatchDecided)
        if not any(_is_same(decided, result) for decided in decisions):
            yield Breach(f"{result.match_id} counts as {referee} did not decide it", where)


def _by_address(evidence: Evidence, result: e.ResultAccepted, where: str) -> Iterator[Breach]:
    """A result that only an address shows was held for a while, was not disputed, and is of a referee that never
    proved itself. Nobody knows who reported it."""
    attempt = attempt_of(result)
    rules = [event.settings.trust for event in of_kind(evidence.manager, e.LeagueCreated)]
    # An operator may change what a league trusts while it runs.
    rules += [change.trust for change in of_kind(evidence.manager, e.TrustChanged)]
    if "class" not in rules:
        yield Breach(
            f"{result.match_id} counts by an address in a league that trusts tokens only",
            where,
        )
    reports = of_kind(evidence.manager, e.ReportHeld)
    held = [report for report in reports if attempt_of(report) == attempt]
    # A true report had that long to come and contradict it.
    settled = [report.winner for report in held if result.at - report.at >= SETTLE_S]
    if result.winner not in settled:
        yield Breach(f"{result.match_id} counts by an address without being held before", where)
    homes = {member.agent_id: member.origin for member in of_kind(evidence.manager, e.AgentRegistered)}
    for move in of_kind(evidence.manager, e.AgentMoved):
        homes[move.agent_id] = move.origin
    if any(report.origin != homes.get(report.referee_id) for report in held):
        yield Breach(f"{result.match_id} counts by an address that is not its referee's", where)
    disputes = of_kind(evidence.manager, e.ReportDisputed)
    if any(attempt_of(dispute) == attempt for dispute in disputes):
        yield Breach(f"{result.match_id} counts by an address though it is disputed", where)
    for earlier in of_kind(evidence.manager, e.ResultAccepted):
        is_proven = earlier.referee_id == result.referee_id and earlier.evidence != e.BY_ADDRESS
        if is_proven and earlier.at < result.at - SETTLE_S:
            yield Breach(
                f"{result.match_id} counts by an address, though {result.referee_id} has shown a token",
                where,
            )


def _unsigned(evidence: Evidence) -> Iterator[Breach]:
    """No result is called proven that its players did not sign, as far as their journals are at hand."""
    signed = {
        (choice.match_id, choice.attempt, player, choice.turn): choice
        for player, journal in evidence.players.items()
        for choice in of_kind(journal, e.ChoiceGiven)
    }
    game = game_of(evidence.manager)
    schedule = schedule_of(evidence.manager)
    later_proven = {
        attempt_of(later) for later in of_kind(evidence.manager, e.EvidenceFound) if later.evidence == "proven"
    }
    for place, result in places(evidence.manager, e.ResultAccepted):
        if result.evidence != "proven" and attempt_of(result) not in later_proven:
            continue
        for turn, step in enumerate(choices_of(result, game, schedule), start=1):
            for player, choice in step.items():
                if not evidence.players.get(player):
                    continue
                given = signed.get((result.match_id, result.attempt, player, turn))
                if given is None or given.choice != choice or not given.receipt:
                    detail = f"{result.match_id} is called proven, but {player} did not sign {choice} in turn {turn}"
                    yield Breach(detail, event_at("manager", place))


def _unseen_losses(evidence: Evidence) -> Iterator[Breach]:
    """No loss is called confirmed of which only the referee knows: the player signed that it declines, or the manager
    could not reach it either, when it was asked. A referee that asks before a loss has asked about this one."""
    manager = evidence.manager
    questions = list(of_kind(manager, e.LossAllowed))
    asked_about = {(attempt_of(loss), loss.player_id) for loss in questions}
    gone = {(attempt_of(loss), loss.player_id) for loss in questions if loss.reached is False}
    signed = {
        (attempt_of(answer), player)
        for player, journal in evidence.players.items()
        for answer in of_kind(journal, e.InvitationAnswered)
        if answer.receipt and not answer.accepted
    }
    schedule = schedule_of(manager)
    asking: set[str] = set()
    for place, event in enumerate(manager):
        if isinstance(event, e.AgentRegistered | e.TokenRenewed):
            # A referee may register anew in another way.
            asking.discard(event.agent_id)
            if event.asks_before_losses:
                asking.add(event.agent_id)
        if not isinstance(event, e.ResultAccepted) or event.evidence != "loss_confirmed":
            continue
        slot = schedule.get(event.match_id)
        players = slot.players if slot is not None else ()
        for player in sorted({*players} - {event.winner}):
            loss = (attempt_of(event), player)
            is_due = loss in asked_about or event.referee_id in asking
            is_confirmed = loss in gone or loss in signed
            # Without the player's journal nobody can say that it did not sign.
            if is_due and not is_confirmed and evidence.players.get(player):
                detail = (
                    f"the loss of {player} in {event.match_id} is called confirmed, but only {event.referee_id} knows"
                )
                yield Breach(detail, event_at("manager", place))


def _unfounded_disputes(evidence: Evidence) -> Iterator[Breach]:
    """No result becomes disputed by a word alone: a player signed something else, or its referee handed something in
    and then reported something else."""
    manager = evidence.manager
    contradicted = {attempt_of(protest) for protest in of_kind(manager, e.ProtestReceived) if protest.signed}
    contradicted |= {attempt_of(draw) for draw in of_kind(manager, e.DrawReleased)}
    for place, event in enumerate(manager):
        if not isinstance(event, e.EvidenceFound | e.ResultAccepted) or event.evidence != "disputed":
            continue
        if attempt_of(event) not in contradicted:
            yield Breach(
                f"{event.match_id} is disputed by a word alone",
                event_at("manager", place),
            )


def _is_same(decided: e.MatchDecided, result: e.ResultAccepted) -> bool:
    return (
        decided.match_id == result.match_id
        and decided.attempt == result.attempt
        and decided.status == result.status
        and decided.winner == result.winner
        and decided.points == result.points
    )


def _moves(evidence: Evidence) -> Iterator[Breach]:
    """Every choice that counts was said by its player."""
    if evidence.traffic is None:
        return
    statements = _statements(evidence)
    for referee, journal in evidence.referees.items():
        if not evidence.is_recorded(referee):
            continue
        for place, move in places(journal, e.MoveMade):
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
    """Every text in a message: agents by others have fields of their own."""
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
        for event in of_kind(journal, e.MatchDecided)
    }
    for player, journal in evidence.players.items():
        for place, ended in places(journal, e.GameEnded):
            # Without the journal of its referee, a result may be right all the same.
            is_known = evidence.referees.get(ended.referee_id) or evidence.simulator.impostors is not None
            decision = (ended.match_id, ended.status, ended.winner)
            if is_known and ended.trusted and decision not in decisions:
                yield Breach(
                    f"{player} was told a result of {ended.match_id} nobody decided",
                    event_at(player, place),
                )
