"""The scenarios that the kit runs against a player. What they show is judged afterwards, from the record."""

# Theory of operation
#
# A scenario is a short script: it sends messages and looks at the answers only to decide what to send next. It never
# judges. Each probe carries a label ("call again", "timestamp: …"); the checks find their evidence by these labels.
#
# SCENARIOS lists them in the order in which they run, and the order matters:
#   registration   the player gets its id; without it, the player names its id in its first answer
#   dialect        finds the form in which the player understands an invitation; sets record.convention once
#   match …        right messages, played as a referee plays them; only these need an answered invitation
#   signing        referees that lie, for players that declared a key (signing.py)
#   malformed      wrong text, wrong requests, wrong HTTP (malformed.py), after everything right has been seen
#   afterwards     does it still play?
#   end            LEAGUE_COMPLETED comes last, because some agents exit then
# The run stops as soon as nobody listens any more.
#
# Each scenario plays its own match (numbers below), so that none depends on what another left behind. A match that the
# player joined is always ended with GAME_OVER: a player may wait for that before it joins another.

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from league.agent.probing import probe, words_at
from league.features.kit.driver.conventions import DOCUMENTED, FORMS, CallForm, Object
from league.features.kit.driver.kit import Kit
from league.features.kit.driver.messages import EVEN_ODD, number_in
from league.features.kit.driver.record import Probe
from league.features.kit.driver.templates import with_words
from league.features.kit.scenarios import leading, malformed, refereeing, registering, signing
from league.machine import Failure
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.wire.jsonrpc import MANAGER_LIMIT
from league.transport.http_client import HttpClient

Scenario = Callable[[Kit], Awaitable[None]]
PROBING_S: Final = 20.0
STRANGE_TOKEN: Final = "tok_P02_somebody_else"
UNREAD: Final = (-32700, -32600, -32601)
"""JSON-RPC's numbers for a request that was not understood as one."""
REPEATS: Final = 5
"""A player that chooses anew each time is detected in all but one of 32 runs."""
OTHER_GAME: Final = "rock_paper_scissors"
LONGEST_TABLE: Final = 100

# The matches, by the number of their round.
ORDINARY: Final = 1
READINGS: Final = 2
WRONG_CHOICE: Final = 3
ONE_OF_TWO: Final = 4
OTHER_OF_TWO: Final = 5
OTHER_MATCH: Final = 6
AFTERWARDS: Final = malformed.INVITED + 1
# signing.py has the numbers after this one.


class _Attempt(NamedTuple):
    """A form of calling, the requests made in it, and the invitation among them."""

    form: CallForm
    probes: list[Probe]
    invitation: Probe

    def closeness(self) -> tuple[bool, bool, int]:
        """How close the form came to a join. A bare acknowledgement may answer anything; of the others, a form is
        closest if the message was read and refused, least if the request was not understood."""
        refusal = self.invitation.parsed.error
        if refusal is None:
            reading = int(self.invitation.trouble in (None, Failure.TIMEOUT))
        else:
            reading = 0 if refusal.number is None or refusal.number in UNREAD else 2
        return _is_join(self.invitation), self.invitation.is_answered, reading


# --- dialect ----------------------------------------------------------------------------------------------------------


async def ping(kit: Kit) -> None:
    await kit.send_document("ping", _ping(kit.next_id()))
    await kit.send_document("ping with a string as id", _ping("kit-1"))


def _ping(request_id: int | str) -> Object:
    return {"jsonrpc": "2.0", "id": request_id, "method": "ping"}


async def dialect(kit: Kit) -> None:
    """Probe the player as a manager does, and invite it in each form until one is understood. Only the requests in that
    form are judged."""
    client = HttpClient()
    try:
        await _find_form(kit, client)
    finally:
        await client.close()


async def _find_form(kit: Kit, client: HttpClient) -> None:
    record = kit.record
    target = kit.options.target
    limit_s = PROBING_S / kit.options.time_scale
    record.findings = await probe(target, client, limit_s)
    before = record.probes
    attempts: list[_Attempt] = []
    for form in FORMS:
        kit.form = replace(form)
        record.probes = []
        if form.convention is Convention.TOOLS:
            words = await words_at(target, client, limit_s)
            kit.form.tools = words.tools or ()
            kit.form.session = words.session
        await announce(kit, ORDINARY)
        invitation = await invite(kit, ORDINARY, "invitation")
        attempts.append(_Attempt(kit.form, record.probes, invitation))
        # No dialect explains silence.
        is_silent = invitation.trouble in (Failure.TIMEOUT, Failure.REFUSED)
        if is_silent or _is_join(invitation):
            break
    best = max(attempts, key=_Attempt.closeness)
    kit.form = best.form
    record.probes = [*before, *best.probes]
    record.tried = [probe for attempt in attempts if attempt is not best for probe in attempt.probes]
    if best.invitation.is_answered:
        record.convention = kit.form.convention
        _learn_id(kit, best.invitation)


def _learn_id(kit: Kit, invitation: Probe) -> None:
    """Take the id of a player that did not register with the kit from its first answer."""
    player_id = invitation.answer.get("player_id")
    if kit.record.member is None and isinstance(player_id, str) and player_id:
        kit.writer.player_id = player_id
    kit.writer.names_player = True


# --- matches ----------------------------------------------------------------------------------------------------------


async def announce(kit: Kit, number: int) -> Probe:
    return await kit.say("announcement", "ROUND_ANNOUNCEMENT", number)


async def invite(kit: Kit, number: int, label: str) -> Probe:
    return await kit.say(label, "GAME_INVITATION", number)


async def call(kit: Kit, number: int, label: str) -> Probe:
    return await kit.say(label, "CHOOSE_PARITY_CALL", number)


def _chooses(kit: Kit) -> bool:
    """Does the player answer calls? One that was silent once would take its whole time limit each time."""
    calls = kit.record.of("call")
    return not calls or calls[0].is_answered


async def leave(kit: Kit, *numbers: int, game: str = EVEN_ODD) -> None:
    """End these matches: a player may play one match at a time and wait for its end. One that did not answer GAME_OVER
    gets it only once."""
    endings = kit.record.of("game over", "match left")
    if endings and not endings[-1].is_readable:
        return
    for number in numbers:
        await kit.say("match left", "CALLED_OFF", number, plain=False, game=game)


async def leave_all(kit: Kit) -> None:
    """End every match the player joined: the next referee would find it busy otherwise."""
    joined = [probe.message for probe in kit.record.of_kind("GAME_INVITATION") if probe.has_joined]
    # One joined a match without an id, if it reads null as absent where it must not.
    games = {message["match_id"]: message["game_type"] for message in joined if message["match_id"]}
    if kit.record.convention is not None and kit.record.played & MALFORMED:
        # A player that accepts malformed messages may have joined this match.
        games[kit.writer.match_id(malformed.INVITED)] = EVEN_ODD
    ended = {probe.message["match_id"] for probe in kit.record.of_kind("GAME_OVER")}
    for match_id, game in games.items():
        if match_id not in ended:
            await leave(kit, number_in(match_id), game=game)


async def match(kit: Kit) -> None:
    """Play an ordinary match, in which every message comes more than once."""
    if kit.record.convention is None or not kit.record.of("invitation")[-1].has_joined:
        return
    await invite(kit, ORDINARY, "invitation again")
    choice = await _first_call(kit)
    if not choice.is_answered:
        await leave(kit, ORDINARY)
        return
    for _ in range(REPEATS):
        await call(kit, ORDINARY, "call again")
    # Somebody who is not the referee of the match asks for the choice, too.
    question = kit.writer.write("CHOOSE_PARITY_CALL", ORDINARY)
    await kit.send_message("call of a stranger", {**question, "auth_token": STRANGE_TOKEN}, plain=False)
    del question["auth_token"]
    await kit.send_message("call of a stranger", question, plain=False)
    result = kit.writer.game_over(ORDINARY, "odd" if choice.answer.get("parity_choice") == "odd" else "even")
    await kit.send_message("game over", result)
    await kit.send_message("game over again", result, plain=False)


async def played_again(kit: Kit) -> None:
    """Void the ordinary match: its next attempt has a new token and conversation, as every attempt has."""
    endings = kit.record.of("game over")
    if not endings or not endings[0].is_answered:
        return
    invitation = kit.writer.write("GAME_INVITATION", ORDINARY, attempt=2)
    if (await kit.send_message("invitation to play again", invitation, plain=False)).has_joined:
        await kit.say("call to play again", "CHOOSE_PARITY_CALL", ORDINARY, plain=False, attempt=2)
    await kit.say("match left", "CALLED_OFF", ORDINARY, plain=False, attempt=2)


async def _first_call(kit: Kit) -> Probe:
    """Call by each verb in use, and by the message type: a player need not know them all."""
    choice = await call(kit, ORDINARY, "call")
    if choice.parsed.error is None or kit.form.convention is not Convention.SPEC:
        return choice
    row = EXCHANGES["CHOOSE_PARITY_CALL"]
    for name in (*row.other_methods, row.message_type):
        kit.form.verbs = {row.message_type: name}
        retry = await call(kit, ORDINARY, "call")
        if retry.is_answered:
            kit.record.set_aside(choice)
            return retry
        kit.record.set_aside(retry)
    kit.form.verbs = {}
    return choice


async def notifications(kit: Kit) -> None:
    """Send the manager's messages between matches, some of them twice."""
    first = await kit.say("standings", "LEAGUE_STANDINGS_UPDATE", ORDINARY)
    if first.is_answered:
        await kit.send_message("standings again", first.message, plain=False)
        # A table just under the size that players must take: the longest one, and padding that nobody reads.
        table = kit.writer.standings(ORDINARY + 1, LONGEST_TABLE)
        padding = "x" * (MANAGER_LIMIT - 200 * LONGEST_TABLE)
        await kit.send_message("large standings", {**table, "padding": padding}, plain=False)
    await kit.say("announcement again", "ROUND_ANNOUNCEMENT", ORDINARY, plain=False)
    await kit.say("round completed", "ROUND_COMPLETED", ORDINARY)
    await kit.say("league error", "LEAGUE_ERROR", plain=False)


async def correction(kit: Kit) -> None:
    """Call a choice wrong; the next call needs a valid one."""
    await announce(kit, WRONG_CHOICE)
    if not (await invite(kit, WRONG_CHOICE, "invitation to be corrected")).has_joined:
        return
    if _chooses(kit):
        choice = await call(kit, WRONG_CHOICE, "call to be corrected")
        if choice.is_answered:
            parity = choice.answer.get("parity_choice", "even")
            await kit.say("game error", "GAME_ERROR", WRONG_CHOICE, choice=parity)
            await call(kit, WRONG_CHOICE, "corrected call")
    await leave(kit, WRONG_CHOICE)


async def two_matches(kit: Kit) -> None:
    """Play two matches at once, with both calls open at the same time."""
    numbers = (ONE_OF_TWO, OTHER_OF_TWO)
    for number in numbers:
        await announce(kit, number)
    joins = await asyncio.gather(*(invite(kit, number, "invitation of two") for number in numbers))
    if all(join.has_joined for join in joins) and _chooses(kit):
        await asyncio.gather(*(call(kit, number, "call of two") for number in numbers))
    await leave(kit, *(number for number, join in zip(numbers, joins, strict=True) if join.has_joined))


async def other_game(kit: Kit) -> None:
    """Play a game with moves, if the player knows one."""
    member = kit.record.member
    games = [OTHER_GAME] if member is None else member.meta.get("game_types")
    if not isinstance(games, list) or OTHER_GAME not in games:
        return
    say = partial(kit.say, number=OTHER_MATCH, plain=False, game=OTHER_GAME)
    await say("announcement of another game", "ROUND_ANNOUNCEMENT")
    if (await say("invitation to another game", "GAME_INVITATION")).has_joined:
        await say("move call", "GAME_MOVE_CALL", options=["rock", "paper", "scissors"])
        await leave(kit, OTHER_MATCH, game=OTHER_GAME)


# --- reading ----------------------------------------------------------------------------------------------------------


async def readings(kit: Kit) -> None:
    """Write one invitation in forms that a player must understand, and in some that it must refuse."""
    await announce(kit, READINGS)
    plain = kit.writer.write("GAME_INVITATION", READINGS)
    date, _, clock = plain["timestamp"].rstrip("Z").partition("T")
    words = {"date": date, "compact date": date.replace("-", ""), "time": clock}
    for label, changes in malformed.variants("readings").items():
        await kit.send_message(label, {**plain, **with_words(changes, words.get)}, plain=False)


async def methods(kit: Kit) -> None:
    """Call by every method name a request may have, if the player is called by method."""
    if kit.form.convention in DOCUMENTED:
        await _by_all_names(kit)
    await leave(kit, READINGS)


async def _by_all_names(kit: Kit) -> None:
    for kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "LEAGUE_STANDINGS_UPDATE"):
        joins = kit.record.of("unknown fields", "optional null", "method")
        tables = kit.record.of("standings")
        if kind == "CHOOSE_PARITY_CALL" and not (any(join.has_joined for join in joins) and _chooses(kit)):
            continue
        if kind == "LEAGUE_STANDINGS_UPDATE" and not any(table.is_answered for table in tables):
            continue
        row = EXCHANGES[kind]
        names = [row.method, *row.other_methods, kind, kind.lower()]
        if kind == "GAME_INVITATION":
            names.append(kind.title())
        for name in names:
            message = kit.writer.write(kind, READINGS)
            await kit.send_message(f"method: {name}", message, plain=False, form=CallForm(), method=name)
    invitation = kit.writer.write("GAME_INVITATION", READINGS)
    asked = await kit.send_message("tools/call", invitation, plain=False, form=CallForm(Convention.TOOLS))
    if not _is_join(asked):
        # No document has tools/call: a player that acknowledges it, or refuses it, breaks no other clause by that.
        kit.record.set_aside(asked)


def _is_join(probe: Probe) -> bool:
    has_type = probe.answer.get("message_type") == "GAME_JOIN_ACK"
    return probe.is_answered and (has_type or isinstance(probe.accept, bool))


# --- the end ----------------------------------------------------------------------------------------------------------


async def afterwards(kit: Kit) -> None:
    """See whether the player still plays after malformed requests."""
    await leave_all(kit)
    await kit.send_document("ping afterwards", _ping(kit.next_id()))
    await announce(kit, AFTERWARDS)
    invitation = await invite(kit, AFTERWARDS, "invitation afterwards")
    if invitation.has_joined and _chooses(kit):
        await call(kit, AFTERWARDS, "call afterwards")


async def end(kit: Kit) -> None:
    """Send LEAGUE_COMPLETED; some agents exit then."""
    await leave_all(kit)
    await kit.say("league completed", "LEAGUE_COMPLETED", AFTERWARDS)


SCENARIOS: Final[Mapping[str, Scenario]] = {
    scenario.__name__: scenario
    for scenario in (
        registering.registration,
        ping,
        dialect,
        match,
        played_again,
        notifications,
        readings,
        methods,
        correction,
        two_matches,
        other_game,
        signing.signing,
        malformed.strict_json,
        malformed.requests,
        malformed.http,
        afterwards,
        end,
        refereeing.refereeing,
        leading.leading,
    )
}
"""Every scenario, in the order in which they are run; the last two are for referees and managers."""

MALFORMED: Final = frozenset({"strict_json", "requests", "http"})
"""Scenarios with a malformed invitation, which no player should accept."""
FOR_EVERYBODY: Final = MALFORMED | {"registration", "ping", "dialect", "notifications", "end", "refereeing", "leading"}
"""Scenarios that need no answered invitation."""


async def run_scenarios(kit: Kit, names: frozenset[str]) -> None:
    """Run these scenarios; stop as soon as nobody listens any more."""
    record = kit.record
    for name, scenario in SCENARIOS.items():
        is_unanswered = record.convention is None and "dialect" in record.played
        if name not in names or (name not in FOR_EVERYBODY and is_unanswered):
            continue
        await scenario(kit)
        record.played.add(name)
        if record.probes and (record.is_gone or not record.is_reached):
            break
    else:
        await leave_all(kit)
    record.discard_after_exit()
